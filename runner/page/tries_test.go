package page

import (
	"fmt"
	"strings"
	"testing"

	"github.com/runplan/runplan/agents"
	"github.com/runplan/runplan/gates"
	"github.com/runplan/runplan/runner"
)

// attemptsOf returns the attempts at batch 1 as its page shows them.
func attemptsOf(t *testing.T, b *book) []try {
	t.Helper()
	s := siteOf(t, b)
	f, _, err := s.frame(t.Context(), b.run, "1")
	if err != nil {
		t.Fatal(err)
	}
	list, _, err := s.tries(t.Context(), f)
	if err != nil {
		t.Fatal(err)
	}
	return list
}

func wordsOf(list []try) string {
	var out []string
	for _, x := range list {
		out = append(out, fmt.Sprintf("%d.%d %s", x.Number, x.Candidate, x.Word))
	}
	return strings.Join(out, ", ")
}

// contest adds a tournament of three candidates, whose first one wins. Before its verdict it returns the words of the
// page while the candidates are checked.
func contest(t *testing.T, b *book) (checking string) {
	t.Helper()
	event := func(kind runner.EventKind, command string, candidate int, o runner.Outcome) runner.Event {
		return runner.Event{Kind: kind, Command: "1/r1-" + command, Batch: "1", Attempt: 1, Candidate: candidate, Outcome: o}
	}
	b.add(event(runner.Dispatched, "c0/sample", 0, ""))
	held := event(runner.Sampled, "c0/sample", 0, runner.OutcomeOK)
	held.Slots = []runner.Slot{{Number: 1, Variant: "x"}, {Number: 2, Variant: "y"}, {Number: 3, Variant: "z"}}
	b.add(held)
	for n := 1; n <= 3; n++ {
		b.add(event(runner.Dispatched, fmt.Sprintf("c%d/execute", n), 0, ""))
		done := event(runner.Executed, fmt.Sprintf("c%d/execute", n), n, runner.OutcomeOK)
		done.Agent, done.Base, done.Commit, done.Tree = "a", "b0", fmt.Sprint("c", n), fmt.Sprint("t", n)
		b.add(done)
	}
	b.add(event(runner.Dispatched, "c2/gate", 0, ""))
	checking = wordsOf(attemptsOf(t, b))
	for n := 1; n <= 3; n++ {
		o := runner.OutcomeOK
		if n == 3 {
			o = runner.OutcomeFailed
		}
		gated := event(runner.Gated, fmt.Sprintf("c%d/gate", n), n, o)
		gated.Base, gated.Commit, gated.Tree = "b0", fmt.Sprint("c", n), fmt.Sprint("t", n)
		b.add(gated)
	}
	b.add(event(runner.Dispatched, "c3/judge", 0, ""))
	judged := event(runner.Judged, "c3/judge", 1, runner.OutcomeOK)
	judged.Scores = []runner.CandScore{{Candidate: 1, Passed: true, Score: 9}, {Candidate: 2, Passed: true, Score: 5},
		{Candidate: 3}}
	b.add(judged)
	return checking
}

// During and after a tournament each candidate has its own state: being chosen or not does not depend on their order.
func TestCandidatesHaveTheirOwnStates(t *testing.T) {
	b := newBook(t, team(1))
	if got, want := contest(t, b), "1.1 edited, 1.2 checking, 1.3 edited"; got != want {
		t.Errorf("while they are checked: %s, want %s", got, want)
	}
	if got, want := wordsOf(attemptsOf(t, b)), "1.1 won, 1.2 passed, 1.3 failed"; got != want {
		t.Errorf("at the end: %s, want %s", got, want)
	}
}

// A person's denial is about the winner's landing, not about the last candidate.
func TestDenialIsNotAboutLastCandidate(t *testing.T) {
	b := newBook(t, team(1))
	contest(t, b)
	q := runner.Approval{Command: "1/r1-c4/ask", Batch: "1", Commit: "c1", Tree: "t1"}
	denied := q.No("Ada", "too big")
	denied.Attempt = 1
	b.add(denied)
	got := attemptsOf(t, b)
	if words, want := wordsOf(got), "1.1 won, 1.2 passed, 1.3 failed, 1.0 denied"; words != want {
		t.Fatalf("%s, want %s", words, want)
	}
	if last := got[len(got)-1]; last.Reason != "Ada: too big" {
		t.Errorf("the reason is %q", last.Reason)
	}
}

// The cost of an attempt is that of the ledger: an agent that never started has none, one that did not report its cost
// has an unknown one, and repeated work adds up.
func TestAttemptCostsAreThoseOfLedger(t *testing.T) {
	b := newBook(t, team(1))
	done := func(attempt int, o runner.Outcome, u *agents.Usage) {
		id := fmt.Sprintf("1/r%d-c0/execute", attempt)
		b.add(runner.Event{Kind: runner.Dispatched, Command: id, Batch: "1", Attempt: attempt},
			runner.Event{Kind: runner.Executed, Command: id, Batch: "1", Attempt: attempt, Outcome: o, Agent: "a", Usage: u})
	}
	dollar := 1.0
	done(1, runner.OutcomeUnstarted, nil)
	done(2, runner.OutcomeFailed, nil)
	done(3, runner.OutcomeLimited, &agents.Usage{CostUSD: &dollar, Source: agents.SourceReported})
	done(3, runner.OutcomeOK, &agents.Usage{CostUSD: &dollar, Source: agents.SourceReported})
	for i, want := range []string{none, "unknown", "$2.00"} {
		if got := attemptsOf(t, b)[i].Cost; got != want {
			t.Errorf("attempt %d cost %s, want %s", i+1, got, want)
		}
	}
}

// A change outside of the workspace stays on the page of the batch after the gates have run.
func TestBatchPageShowsChangesOutside(t *testing.T) {
	b := newBook(t, team(1))
	moved := gates.Report{Gate: "outside", Status: gates.Warn, Findings: []gates.Finding{{Message: "a tag was moved"}}}
	b.add(
		runner.Event{Kind: runner.Executed, Command: "1/r1-c0/execute", Batch: "1", Attempt: 1, Outcome: runner.OutcomeOK,
			Reports: []gates.Report{moved}},
		runner.Event{Kind: runner.Gated, Command: "1/r1-c1/gate", Batch: "1", Attempt: 1, Outcome: runner.OutcomeOK,
			Reports: []gates.Report{{Gate: "tests", Status: gates.Pass}}})
	html := get(t, b.pages(Waiting{}), "GET", "/run/"+b.run+"/batch/1", 200)
	for _, want := range []string{"a tag was moved", "tests"} {
		if !strings.Contains(html, want) {
			t.Errorf("the page does not show %q", want)
		}
	}
}
