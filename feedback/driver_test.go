package feedback

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/runplan/runplan/gates"
	"github.com/runplan/runplan/gates/review"
	"github.com/runplan/runplan/internal/store"
)

// bench is a driver with scripted stages and its own store.
type bench struct {
	*Driver
	t      *testing.T
	calls  []string
	small  Plan
	merged Merged
	green  bool
	signed bool
}

func newBench(t *testing.T) *bench {
	t.Helper()
	s, err := store.OpenFeedback(t.Context(), filepath.Join(t.TempDir(), "feedback.sqlite"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	at := time.Date(2026, 5, 4, 9, 0, 0, 0, time.UTC)
	b := &bench{t: t, green: true,
		small: Plan{Class: ToolFix, RootCause: "r", Change: "c", Files: []string{"a.go"}, Test: Test{Path: "a_test.go"},
			LineEstimate: 5}}
	b.Driver = &Driver{Store: s, Now: func() time.Time { at = at.Add(time.Second); return at }}
	say := func(what string) { b.calls = append(b.calls, what) }
	b.Stages = Stages{
		Triage: func(context.Context, Item) (Triage, error) {
			say("triage")
			return Triage{Class: ToolFix, RootCause: "r", ConfidencePct: 90}, nil
		},
		Localise: func(context.Context, Item, Triage) (Places, error) { say("localise"); return Places{Base: "b"}, nil },
		Plan: func(_ context.Context, i Item, w PlanRequest) (Plan, error) {
			say(fmt.Sprintf("plan %d (%d refused)", w.Round, len(w.Refused)))
			p := b.small
			p.FeedbackID, p.Round = i.ID, w.Round
			p.Digest = p.digest()
			return p, nil
		},
		Ask: func(_ context.Context, _ Item, p Plan) (Asked, error) {
			say("ask")
			return Asked{Plan: p.Digest, Inbox: 3}, nil
		},
		Agreed: func(context.Context, Item, Plan) (string, error) { return map[bool]string{true: "ada"}[b.signed], nil },
		Fix: func(_ context.Context, i Item, p Plan) (Fix, error) {
			say("fix")
			return Fix{Run: "run", Base: "base", Tip: fmt.Sprintf("tip%d", p.Round), Branch: Branch(i.ID), Into: "dev",
				Lines: 5}, nil
		},
		Differential: func(_ context.Context, _ Item, _ Plan, f Fix) (Differential, error) {
			say("differential")
			return Differential{f.Base, f.Tip, gates.Report{Status: gates.Pass}}, nil
		},
		Review: func(context.Context, Item, Triage, Plan, Fix, Differential) (Reviewed, error) {
			say("review")
			return Reviewed{Verdict: review.OK, ConfidencePct: 90}, nil
		},
		Publish: func(_ context.Context, _ Item, c Change) (Published, error) {
			say("publish")
			return Published{Branch: c.Fix.Branch, Base: "dev", URL: "https://x/pull/1"}, nil
		},
		Notify: func(context.Context, Item, Published) (Notice, error) {
			say("notify")
			return Notice{Deferred: true, Why: "w"}, nil
		},
		Merged: func(context.Context, Item, Plan, Fix, Published) (Merged, error) { return b.merged, nil },
		Verify: func(_ context.Context, _ Item, p Plan, m Merged) (Checked, error) {
			say("verify")
			return Checked{Commit: m.Commit, Test: p.Test.Path, Green: b.green, Note: "n"}, nil
		},
		Alarm: func(context.Context, Item, Checked) error { say("alarm"); return nil },
		Learn: func(context.Context, Item, Lesson) error { say("learn"); return nil },
	}
	b.enqueue("one")
	return b
}

func (b *bench) enqueue(id string) {
	b.t.Helper()
	if _, err := Enqueue(b.t.Context(), b.Store,
		Words{ID: id, Body: "it is wrong", Severity: "high", Source: "test", At: b.Now()}); err != nil {
		b.t.Fatal(err)
	}
}

func (b *bench) process(want Status) Outcome {
	b.t.Helper()
	out, err := b.Process(b.t.Context(), "")
	if err != nil || out.Item.Status != want {
		b.t.Fatalf("it is %q (%v), want %q\n%s", out.Item.Status, err, want, strings.Join(b.calls, "\n"))
	}
	return out
}

// A small job runs each stage once and in order, from the feedback to its end (FIX-01, FIX-04).
func TestDriveRunsEachStageOnce(t *testing.T) {
	b := newBench(t)
	if out := b.process(PROpen); !out.Waits.Human || !out.Moved {
		t.Errorf("%+v", out.Waits)
	}
	if out := b.process(PROpen); out.Moved {
		t.Error("the status changed without a merge")
	}
	b.merged = Merged{Commit: "merged", How: "git"}
	out := b.process(Closed)
	want := "triage localise plan 1 (0 refused) fix differential review publish notify verify learn"
	if got := strings.Join(b.calls, " "); got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
	// The row contains the whole history: read back, it is the same.
	row, err := b.Store.Get(t.Context(), "one")
	if err != nil {
		t.Fatal(err)
	}
	again, err := Read(row)
	if err != nil || len(again.Notes) != len(out.Item.Notes) {
		t.Fatal(err)
	}
	if out := b.process(""); out.Item.ID != "" {
		t.Errorf("a closed item was checked: %+v", out)
	}
}

// If a process is killed before or after any of its writes, the next process reaches the same end. It does not repeat
// a stage whose result was recorded.
func TestDriveSurvivesKillAtEachWrite(t *testing.T) {
	whole := newBench(t)
	whole.small.LineEstimate, whole.signed, whole.merged = 500, true, Merged{Commit: "merged", How: "git"}
	end := whole.process(Closed)
	killed := errors.New("killed")
	for n := 1; n < len(end.Item.Notes); n++ {
		for _, after := range []bool{false, true} {
			b := newBench(t)
			b.small, b.signed, b.merged = whole.small, true, whole.merged
			// The context is cancelled after the n-th write, or the process panics before it.
			ctx, kill := context.WithCancelCause(t.Context())
			writes := 0
			b.Say = func(Item, string) {
				if writes++; writes == n && after {
					kill(killed)
				}
			}
			if !after {
				inner := b.Now
				b.Now = func() time.Time {
					if writes == n-1 {
						panic(killed)
					}
					return inner()
				}
				func() {
					defer func() {
						if p := recover(); p != nil && p != killed { //nolint:errorlint // the very value
							panic(p)
						}
					}()
					b.Process(ctx, "")
				}()
				b.Now = inner
			} else if _, err := b.Process(ctx, ""); !errors.Is(err, killed) && n < len(end.Item.Notes)-1 {
				t.Fatalf("write %d: %v", n, err)
			}
			kill(nil)
			b.Say = nil
			out, err := b.Process(t.Context(), "one")
			if err != nil || out.Item.Status != Closed || len(out.Item.Notes) != len(end.Item.Notes) {
				t.Fatalf("killed at write %d (after: %v): %s, %d notes, %v", n, after, out.Item.Status, len(out.Item.Notes), err)
			}
			for k, note := range out.Item.Notes {
				if want := end.Item.Notes[k]; note.Stage != want.Stage || note.To != want.To ||
					string(note.Data) != string(want.Data) {
					t.Errorf("killed at write %d (after: %v): note %d is %s %s, want %s %s", n, after, k, note.To, note.Stage, want.To,
						want.Stage)
				}
			}
			if extra := len(b.calls) - len(whole.calls); after && extra != 0 || extra > 1 {
				t.Errorf("killed at write %d (after: %v): stages were done again: %v", n, after, b.calls)
			}
		}
	}
}

// Feedback whose class is uncertain is rejected as out of scope, and nothing is planned (FIX-08).
func TestDriveRejectsOutOfScopeFeedback(t *testing.T) {
	b := newBench(t)
	b.Stages.Triage = func(context.Context, Item) (Triage, error) {
		return settle(Triage{Class: ToolFix, RootCause: "r", ConfidencePct: 59})
	}
	out := b.process(Rejected)
	if s, err := out.Item.tell(); err != nil || !s.triage.Escalated || s.triage.Said != ToolFix || len(b.calls) != 0 {
		t.Errorf("%+v %v %v", s.triage, b.calls, err)
	}
}

// A stage that could not run is an error and leaves the row unchanged, so that the next process can continue
// (FIX-09).
func TestStageErrorLeavesRowUnchanged(t *testing.T) {
	gone := errors.New("gone")
	for name, breakIt := range map[string]func(*bench){
		"triage": func(b *bench) {
			b.Stages.Triage = func(context.Context, Item) (Triage, error) { return Triage{}, gone }
		},
		"plan": func(b *bench) {
			b.Stages.Plan = func(context.Context, Item, PlanRequest) (Plan, error) { return Plan{}, gone }
		},
		"fix": func(b *bench) { b.Stages.Fix = func(context.Context, Item, Plan) (Fix, error) { return Fix{}, gone } },
		"differential": func(b *bench) {
			b.Stages.Differential = func(context.Context, Item, Plan, Fix) (Differential, error) { return Differential{}, gone }
		},
		"publish": func(b *bench) {
			b.Stages.Publish = func(context.Context, Item, Change) (Published, error) {
				return Published{},
					blocked("", "no push")
			}
		},
	} {
		b := newBench(t)
		keep := b.Stages
		breakIt(b)
		_, err := b.Process(t.Context(), "")
		if err == nil {
			t.Errorf("%s: no error", name)
		}
		b.Stages = keep
		b.process(PROpen)
	}
}

// A fix that is refused is planned again, up to three times in all, and each plan gets the refusals of the plans
// before it (FIX-15).
func TestRefusedFixGetsThreeRounds(t *testing.T) {
	for name, at := range map[string]func(*bench){
		"fix": func(b *bench) {
			b.Stages.Fix = func(context.Context, Item, Plan) (Fix, error) { return Fix{}, refuse("", "the fix is empty") }
		},
		"differential": func(b *bench) {
			b.Stages.Differential = func(context.Context, Item, Plan, Fix) (Differential, error) {
				return Differential{}, refuse("", "passes on both")
			}
		},
		"review": func(b *bench) {
			b.Stages.Review = func(context.Context, Item, Triage, Plan, Fix, Differential) (Reviewed, error) {
				return Reviewed{Verdict: review.Block}, nil
			}
		},
	} {
		b := newBench(t)
		at(b)
		out := b.process(Rejected)
		var plans []string
		for _, c := range b.calls {
			if strings.HasPrefix(c, "plan") {
				plans = append(plans, c)
			}
		}
		if got := strings.Join(plans, "; "); got != "plan 1 (0 refused); plan 2 (1 refused); plan 3 (2 refused)" {
			t.Errorf("%s: %s", name, got)
		}
		if last := out.Item.Notes[len(out.Item.Notes)-1]; !strings.Contains(last.Text, "that was plan 3 of 3") {
			t.Errorf("%s: %s", name, last.Text)
		}
	}
	// The second plan can succeed.
	b := newBench(t)
	b.Stages.Differential = func(_ context.Context, _ Item, p Plan, f Fix) (Differential, error) {
		if p.Round == 1 {
			return Differential{}, refuse("", "flaky")
		}
		return Differential{f.Base, f.Tip, gates.Report{Status: gates.Pass}}, nil
	}
	out := b.process(PROpen)
	if s, err := out.Item.tell(); err != nil || s.rounds != 2 || s.fix.Tip != "tip2" || len(s.refusals) != 1 {
		t.Errorf("%+v %v", s, err)
	}
}

// A large job stays in triaged and waits for an approval (C-40); a signature lets it continue.
func TestLargeJobWaitsForApproval(t *testing.T) {
	b := newBench(t)
	b.small.LineEstimate = MaxLines + 1
	out := b.process(Triaged)
	if out.Item.Approval != Waiting || !out.Waits.Human {
		t.Errorf("%q %+v", out.Item.Approval, out.Waits)
	}
	if out := b.process(Triaged); out.Moved {
		t.Error("it was asked twice")
	}
	b.enqueue("two") // what waits does not keep others from going on
	b.small.LineEstimate = MaxLines
	if out := b.process(PROpen); out.Item.ID != "two" {
		t.Error(out.Item.ID)
	}
	b.signed = true
	if out := b.process(PROpen); out.Item.ID != "one" || out.Item.Approval != Given {
		t.Errorf("%s %s", out.Item.ID, out.Item.Approval)
	}
}

// An approval in a row does not count without its signature: a repository that contains rows cannot approve its own
// jobs.
func TestUnsignedApprovalDoesNotCount(t *testing.T) {
	b := newBench(t)
	b.small.LineEstimate = MaxLines + 1
	out := b.process(Triaged)
	forged, _, err := b.note(t.Context(), out.Item, Triaged, Given, StageApproval, "ada approved it", Asked{By: "ada"})
	if err != nil {
		t.Fatal(err)
	}
	if out := b.process(Triaged); !out.Waits.Human {
		t.Errorf("%+v", out)
	}
	b = newBench(t)
	b.small.LineEstimate = MaxLines + 1
	out = b.process(Triaged)
	if forged, _, err = b.note(t.Context(), out.Item, InFix, Given, StageStart, "it begins", nil); err != nil {
		t.Fatal(err)
	}
	var in *Blocked
	if got, err := b.Process(t.Context(), forged.ID); !errors.As(err, &in) || got.Moved {
		t.Errorf("%+v %v", got, err)
	}
	for _, c := range b.calls {
		if c == "fix" {
			t.Error("the fix was run")
		}
	}
}

// If the inbox is not available, the request for approval is deferred with a warning, and the next process tries
// again (FIX-14).
func TestMissingInboxDefersApproval(t *testing.T) {
	b := newBench(t)
	b.small.Class = Architectural
	ask := b.Stages.Ask
	b.Stages.Ask = func(context.Context, Item, Plan) (Asked, error) { return Asked{}, fmt.Errorf("%w: full", ErrNoInbox) }
	if out := b.process(Triaged); out.Item.Approval != Deferred ||
		!strings.Contains(out.Item.Notes[len(out.Item.Notes)-1].Text, "warning") {
		t.Errorf("%+v", out.Item)
	}
	if out := b.process(Triaged); out.Moved {
		t.Error("the same result was recorded twice")
	}
	b.Stages.Ask = ask
	if out := b.process(Triaged); out.Item.Approval != Waiting {
		t.Errorf("%+v", out.Item.Approval)
	}
}

// A change that is larger than planned and exceeds the limit needs an approval, and the next plan gets the measured
// number of lines.
func TestLargerChangeNeedsApproval(t *testing.T) {
	b := newBench(t)
	lines := MaxLines + 1
	fix := b.Stages.Fix
	b.Stages.Fix = func(ctx context.Context, i Item, p Plan) (Fix, error) {
		f, err := fix(ctx, i, p)
		f.Lines = lines
		return f, err
	}
	var told []Refused
	plan := b.Stages.Plan
	b.Stages.Plan = func(ctx context.Context, i Item, w PlanRequest) (Plan, error) {
		told = w.Refused
		b.small.LineEstimate = 5
		for _, r := range w.Refused {
			b.small.LineEstimate = max(b.small.LineEstimate, r.Lines)
		}
		return plan(ctx, i, w)
	}
	if out := b.process(Triaged); out.Item.Approval != Waiting || len(told) != 1 || told[0].Lines != lines {
		t.Errorf("%q %+v", out.Item.Approval, told)
	}
	b = newBench(t)
	lines = MaxLines
	b.process(PROpen)
}

// If the regression test fails on the merged commit, the driver raises an alarm and does not close the feedback. It
// checks another commit on the branch again (FIX-23).
func TestFailedRegressionTestRaisesAlarm(t *testing.T) {
	b := newBench(t)
	b.process(PROpen)
	b.merged, b.green = Merged{Commit: "m1"}, false
	_, err := b.Process(t.Context(), "")
	var alarm *Alarm
	if !errors.As(err, &alarm) || b.calls[len(b.calls)-1] != "alarm" {
		t.Fatalf("%v %v", err, b.calls)
	}
	n := len(b.calls)
	if out := b.process(PROpen); out.Moved || len(b.calls) != n ||
		!strings.Contains(out.Waits.For, "its regression test fails there") {
		t.Errorf("%+v", out)
	}
	b.merged, b.green = Merged{Commit: "m2"}, true
	b.process(Closed)
}

// A change request that is closed without a merge rejects the feedback.
func TestClosedChangeRequestRejectsFeedback(t *testing.T) {
	b := newBench(t)
	b.process(PROpen)
	b.merged = Merged{Closed: true}
	b.process(Rejected)
}

// Without gh the fix branch remains and is watched: a merge by hand is verified as well.
func TestPublishWithoutGhKeepsBranch(t *testing.T) {
	b := newBench(t)
	publish := b.Stages.Publish
	b.Stages.Publish = func(context.Context, Item, Change) (Published, error) {
		return Published{Branch: Branch("one"), Base: "dev", Note: "gh is not installed"}, nil
	}
	if out := b.process(InFix); !out.Waits.Human || !strings.Contains(out.Waits.For, "gh is not installed") {
		t.Errorf("%+v", out.Waits)
	}
	if out := b.process(InFix); out.Moved {
		t.Error("the same result was recorded twice")
	}
	if i, err := b.RecordPR(t.Context(), "one", "https://x/a/b/pull/4"); err != nil || i.Status != PROpen {
		t.Errorf("%s %v", i.Status, err)
	}
	b = newBench(t)
	b.Stages.Publish = func(context.Context, Item, Change) (Published, error) { return Published{Note: "no remote"}, nil }
	b.process(InFix)
	b.Stages.Publish, b.merged = publish, Merged{Commit: "by hand"}
	b.process(Closed)
}
