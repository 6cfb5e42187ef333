package feedback

import (
	"context"
	"strings"
	"testing"

	"github.com/runplan/runplan/llm"
)

// A person can close rejected or unwanted feedback by hand, with a reason. Only its regression test closes merged
// feedback (FIX-04, FIX-23).
func TestCloseByHand(t *testing.T) {
	for name, tt := range map[string]struct {
		bring func(b *bench)
		ok    bool
	}{
		"pending":       {func(*bench) {}, true},
		"a change open": {func(b *bench) { b.process(PROpen) }, true},
		"rejected": {func(b *bench) {
			b.Stages.Triage = func(context.Context, Item) (Triage, error) {
				return Triage{Class: OutOfScope, RootCause: "r"},
					nil
			}
			b.process(Rejected)
		}, true},
		"closed": {func(b *bench) { b.process(PROpen); b.merged = Merged{Commit: "m"}; b.process(Closed) }, false},
		"the test fails on the merged commit": {func(b *bench) {
			b.process(PROpen)
			b.merged, b.green = Merged{Commit: "m"}, false
			if _, err := b.Process(t.Context(), ""); err == nil {
				t.Error("no error")
			}
		}, false},
	} {
		b := newBench(t)
		tt.bring(b)
		if _, err := b.Close(t.Context(), Owner{}, "one", "  "); err == nil {
			t.Errorf("%s: closed without a reason", name)
		}
		i, err := b.Close(t.Context(), Owner{}, "one", "not\nneeded")
		if tt.ok && (err != nil || i.Status != Closed || !strings.HasSuffix(i.Notes[len(i.Notes)-1].Text, "not needed")) {
			t.Errorf("%s: %s %v", name, i.Status, err)
		}
		if _, no := refused(err); !tt.ok && !no {
			t.Errorf("%s: %s %v", name, i.Status, err)
		}
		if tt.ok {
			if out := b.process(""); out.Moved {
				t.Errorf("%s: it goes on: %+v", name, out)
			}
		}
	}
}

// A row that fails is reported and does not block other rows. If no row can continue, the failure is the error
// (FIX-02).
func TestFailingRowDoesNotBlockOthers(t *testing.T) {
	b := newBench(t)
	b.enqueue("two")
	triage := b.Stages.Triage
	b.Stages.Triage = func(ctx context.Context, i Item) (Triage, error) {
		if i.ID == "one" {
			return Triage{}, &llm.AnswerError{Model: "m"}
		}
		return triage(ctx, i)
	}
	out := b.process(PROpen)
	if out.Item.ID != "two" || len(out.PassedOver) != 1 || !strings.Contains(out.PassedOver[0].Error(), "feedback one") {
		t.Errorf("%s %v", out.Item.ID, out.PassedOver)
	}
	if out, err := b.Process(t.Context(), ""); err == nil || out.Item.ID != "one" || len(out.PassedOver) > 0 {
		t.Errorf("%+v %v", out, err)
	}
}

// The next process retries a deferred notification until it succeeds, and then never again (FIX-22).
func TestDeferredNotificationIsRetried(t *testing.T) {
	b := newBench(t)
	if _, err := Enqueue(t.Context(), b.Store,
		Words{ID: "two", Body: "it is wrong", Severity: "critical", URL: "https://github.com/a/b/pull/1", Source: "test",
			At: b.Now()}); err != nil {
		t.Fatal(err)
	}
	notified := func() int { return strings.Count(strings.Join(b.calls, " "), "notify") }
	if b.process(PROpen); notified() != 1 {
		t.Error("one process tried it more than once", b.calls)
	}
	next := func() Outcome {
		b.Driver = &Driver{Store: b.Store, Stages: b.Stages, Now: b.Now}
		out, err := b.Process(t.Context(), "two")
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	if out := next(); out.Moved || notified() != 2 {
		t.Errorf("moved %v, %v", out.Moved, b.calls)
	}
	b.Stages.Notify = func(context.Context, Item, Published) (Notice, error) { return Notice{Where: "there"}, nil }
	if out := next(); !out.Moved || out.Item.Notes[len(out.Item.Notes)-1].Stage != StageNotify {
		t.Errorf("%+v", out)
	}
	if out := next(); out.Moved {
		t.Error("reported twice")
	}
}
