package local

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/runplan/runplan/internal/redact"
	"github.com/runplan/runplan/internal/store"
	"github.com/runplan/runplan/planparse"
	"github.com/runplan/runplan/runner"
	"github.com/runplan/runplan/runner/journal"
)

// Events posted from outside are in the journal once and in order, however often the run checks for them.
func TestPostedEventsAreRecordedOnce(t *testing.T) {
	ctx := t.Context()
	j, err := store.OpenJournal(ctx, filepath.Join(t.TempDir(), "raw.sqlite"))
	if err != nil {
		t.Fatal(err)
	}
	defer j.Close()
	if err := j.AddRun(ctx, store.Run{ID: "r", Slug: "s", Plan: "p.md", PlanText: []byte("# p\n"),
		Started: time.Now()}); err != nil {
		t.Fatal(err)
	}
	m, err := runner.New(runner.Info{Base: "b", LoopVersion: runner.LoopVersion, Workers: 1, MaxAttempts: 1})
	if err != nil {
		t.Fatal(err)
	}
	plan, err := planparse.Parse("p.md", []byte("# p\n\n## Batch 1: a\n\nDo it.\n"))
	if err != nil {
		t.Fatal(err)
	}
	layout := journal.LayoutOf(t.TempDir())
	if err := layout.Make(); err != nil {
		t.Fatal(err)
	}
	var seen []runner.Event
	open := func() *session {
		e := New(Config{Journal: j, Plan: plan, Layout: layout, Now: time.Now,
			Observe: func(ev runner.Event) { seen = append(seen, ev) }})
		s := &session{Engine: e, run: "r", machine: m,
			work: &work{redact: redact.New([]string{"API_TOKEN=tok-4kQ7vTz2LmW9x"})}, stopping: make(chan struct{}),
			recorder: runner.NewRecorder("r", m, time.Now), jobs: map[string]*job{}}
		for ev, err := range journal.Events(ctx, e.Journal, "r", 0) {
			if err != nil {
				t.Fatal(err)
			}
			s.recorder.Recall(ev)
			s.heard = max(s.heard, ev.Post)
		}
		return s
	}
	a := runner.Approval{Command: "1/r1-c0/ask", Batch: "1", Tree: "t"}
	for _, ev := range []runner.Event{a.No("ada", "it has tok-4kQ7vTz2LmW9x in it"),
		{Kind: runner.StopAsked, Outcome: runner.OutcomeCancelled, Reason: "enough"}} {
		if err := Post(ctx, j, "r", ev); err != nil {
			t.Fatal(err)
		}
	}
	if err := Post(ctx, j, "r", runner.Event{Kind: runner.Merged}); err == nil {
		t.Error("another process may report that a batch is merged")
	}
	if err := Post(ctx, j, "r", a.Yes("ada", strings.Repeat("x", mostSaidInPost))); err == nil {
		t.Error("a post has no length limit")
	}
	if waiting, err := journal.Unheard(ctx, j, "r"); err != nil || len(waiting) != 2 {
		t.Errorf("%d wait, %v", len(waiting), err)
	}
	if _, err := open().hear(ctx, true); err != nil { // a run goes on: anyone who wanted it to stop did so before
		t.Fatal(err)
	}
	if len(seen) != 2 || seen[0].Kind != runner.ApprovalDenied || seen[1].Kind != runner.Note || seen[0].Post == 0 ||
		seen[1].Post <= seen[0].Post {
		t.Fatalf("%+v", seen)
	}
	if strings.Contains(seen[0].Reason+seen[0].Reports[0].Findings[0].Message, "tok-") || seen[0].By != "ada" {
		t.Errorf("%+v", seen[0])
	}
	if waiting, err := journal.Unheard(ctx, j, "r"); err != nil || len(waiting) != 0 {
		t.Errorf("%d wait, %v", len(waiting), err)
	}
	if _, err := open().hear(ctx, false); err != nil || len(seen) != 2 {
		t.Errorf("a post was processed twice: %d, %v", len(seen), err)
	}
}
