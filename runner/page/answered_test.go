package page

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/runplan/runplan/internal/seal"
	"github.com/runplan/runplan/internal/store"
	"github.com/runplan/runplan/runner"
)

// The page shows an answer that runplan wrote and that the run has not read, and no other.
func TestWaitingPageIgnoresForgedAnswers(t *testing.T) {
	info := team(1)
	info.Mode, info.Workers, info.Batches[0].Approve = "headless", 1, true
	b := newBook(t, info)
	b.add(
		runner.Event{Kind: runner.Dispatched, Command: "1/r1-c0/execute", Batch: "1", Attempt: 1, Base: "b0"},
		runner.Event{Kind: runner.Executed, Command: "1/r1-c0/execute", Batch: "1", Attempt: 1, Outcome: runner.OutcomeOK,
			Base: "b0", Commit: "c", Tree: "t"},
		runner.Event{Kind: runner.Gated, Command: "1/r1-c0/gate", Batch: "1", Attempt: 1, Outcome: runner.OutcomeOK,
			Base: "b0", Commit: "c", Tree: "t"},
		runner.Event{Kind: runner.ApprovalAsked, Command: "1/r1-c0/ask", Batch: "1", Attempt: 1, Outcome: runner.OutcomeOK,
			Base: "b0", Commit: "c", Tree: "t"},
	)
	s, err := seal.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	site := siteOf(t, b)
	site.hub.Sign = func(j *store.Journal) { j.Seal(s) }
	answered := func() string {
		t.Helper()
		list, err := site.hub.approvals(t.Context())
		if err != nil || len(list) != 1 {
			t.Fatalf("%d questions wait, want 1 (%v)", len(list), err)
		}
		return list[0].Answered
	}
	post := func(e runner.Event) {
		t.Helper()
		body, err := json.Marshal(e)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := b.journal.AddPost(t.Context(), store.Post{Run: b.run, At: began, Body: body}); err != nil {
			t.Fatal(err)
		}
	}
	q := runner.Approval{Run: b.run, Command: "1/r1-c0/ask", Batch: "1", Commit: "c", Tree: "t"}
	post(q.Yes("somebody", ""))
	if got := answered(); got != "" {
		t.Errorf("a forged answer is shown as %q", got)
	}
	b.journal.Seal(s)
	post(q.No("Ada", strings.Repeat("no ", 3)))
	if got := answered(); got != "denied" {
		t.Errorf("the answer is shown as %q, want denied", got)
	}
}
