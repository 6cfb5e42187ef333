package ledger

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/runplan/runplan/agents"
	"github.com/runplan/runplan/runner"
)

func usd(v float64) *float64 { return &v }
func tokens(n int64) *int64  { return &n }

// used returns an attempt event that reports usage.
func used(kind runner.EventKind, batch string, attempt int, source agents.Source, cost *float64) runner.Event {
	return runner.Event{
		Kind: kind, Batch: batch, Attempt: attempt, Agent: "a", Model: "m", Outcome: runner.OutcomeOK,
		At:    time.Date(2026, 1, attempt, 0, 0, 0, 0, time.UTC),
		Usage: &agents.Usage{InputTokens: tokens(10), OutputTokens: tokens(1), CostUSD: cost, Source: source},
	}
}

func ledgerOf(events ...runner.Event) []Line {
	var l Ledger
	l.Event(runner.Event{Kind: runner.RunStarted,
		Job: &runner.Info{Batches: []runner.BatchInfo{{Key: "k1", Number: "1", Title: "One"}}}})
	for _, e := range events {
		l.Event(e)
	}
	return l.Lines
}

func TestAttemptLinesShowPurpose(t *testing.T) {
	sampled := runner.Event{Kind: runner.Sampled, Batch: "k1", Attempt: 3, Outcome: runner.OutcomeOK}
	again := sampled // a resumed run asks again and is refused; the tournament of before stays one
	again.Outcome = runner.OutcomeRefused
	candidate := used(runner.Executed, "k1", 3, agents.SourceReported, usd(1))
	candidate.Candidate = 2
	off := used(runner.Spent, "k1", 3, agents.SourceReported, usd(1))
	off.Reason = "k1/r3-c4/execute"
	late := used(runner.Spent, "k2", 1, agents.SourceReported, usd(1))
	late.Reason = "k2/r1-c1/execute" // rebuilt, but no tournament
	var got []string
	for _, l := range ledgerOf(
		used(runner.Executed, "k1", 1, agents.SourceReported, usd(1)),
		used(runner.Executed, "k1", 2, agents.SourceReported, usd(1)), sampled, again, candidate, off, late,
		runner.Event{Kind: runner.Gated, Batch: "k1", Attempt: 1}, runner.Event{Kind: runner.Note},
	) {
		got = append(got, strings.TrimSpace(
			strings.Join([]string{l.Batch, l.Title, string(l.Purpose), string(l.Outcome), strings.Repeat("c", l.Candidate)},
				" ")))
	}
	want := []string{"1 One work ok", "1 One fix ok", "1 One sample ok cc", "1 One sample cancelled cccc",
		"k2  work cancelled"}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

// Each agent that was running has a line, whether or not it reported its cost; an agent that did not run has none.
func TestLedgerOmitsIdleAgents(t *testing.T) {
	for _, tt := range []struct {
		name  string
		event runner.Event
		line  bool
	}{
		{"could not be started", runner.Event{Outcome: runner.OutcomeUnstarted}, false},
		{"no workspace", runner.Event{Outcome: runner.OutcomeError}, false},
		{"broke after its work", runner.Event{Outcome: runner.OutcomeError, Usage: &agents.Usage{}}, true},
		{"stopped before its start", runner.Event{Outcome: runner.OutcomeCancelled}, false},
		{"stopped in the middle", runner.Event{Outcome: runner.OutcomeCancelled, Log: "logs/x"}, true},
		{"no reported data", runner.Event{Outcome: runner.OutcomeFailed}, true},
	} {
		tt.event.Kind = runner.Executed
		lines := ledgerOf(tt.event)
		if got := len(lines) == 1; got != tt.line {
			t.Errorf("%s: a line: %v", tt.name, got)
		}
		for _, l := range lines {
			if l.CostUSD != nil || l.Source != agents.SourceUnknown {
				t.Errorf("%s: %+v", tt.name, l)
			}
		}
	}
}

func TestSumCountsUnknownCosts(t *testing.T) {
	lines := ledgerOf(
		used(runner.Executed, "k1", 1, agents.SourceReported, usd(0.1)),
		used(runner.Executed, "k1", 2, agents.SourceComputed, usd(0.2)),
		used(runner.Executed, "k1", 3, agents.SourcePlan, usd(5)), used(runner.Executed, "k1", 4, agents.SourceLocal, usd(0)),
		used(runner.Executed, "k1", 5, agents.SourceUnknown, nil), used(runner.Executed, "k1", 6, "", usd(0)),
		runner.Event{Kind: runner.Executed, Batch: "k1", Attempt: 7, Outcome: runner.OutcomeFailed},
	)
	s := Add(lines)
	want := Sum{
		Attempts: 7, Unknown: 2, BilledUSD: usd(0.3), PlanUSD: usd(5), Local: 2, Input: 60, Output: 6, Uncounted: 1,
		Sources: []SourceSum{
			{agents.SourceReported, 1, usd(0.1)}, {agents.SourceComputed, 1, usd(0.2)}, {agents.SourcePlan, 1, usd(5)},
			{agents.SourceLocal, 2, usd(0)}, {agents.SourceUnknown, 2, nil},
		},
	}
	if d := cmp.Diff(want, s); d != "" {
		t.Error(d)
	}
	if got := s.String(); got != "$0.30 billed + $5.00 at list prices, paid by a subscription + 2 attempts without "+
		"cost, on "+
		"this machine + 2 attempts of unknown cost" {
		t.Error(got)
	}
	only := Add(lines[4:5])
	if only.BilledUSD != nil || only.String() != "1 attempt of unknown cost" {
		t.Errorf("only unknown cost: %+v, %s", only, only)
	}
	if none := Add(nil); none.String() != "nothing yet" || none.BilledUSD != nil {
		t.Errorf("nothing: %+v", none)
	}
}

func TestGroups(t *testing.T) {
	a, b := used(runner.Executed, "k1", 1, agents.SourceReported, usd(1)),
		used(runner.Executed, "k2", 2, agents.SourcePlan, usd(3))
	b.Model, b.Agent = "", "b"
	lines := ledgerOf(a, b)
	for key, want := range map[string]string{"batch": "k2 1", "agent": "b a", "model": "unknown m", "purpose": "fix work",
		"day": "2026-01-01 2026-01-02"} {
		groups, err := By(lines, key)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, g := range groups {
			if g.Attempts != 1 {
				t.Errorf("%s %s: %+v", key, g.Key, g.Sum)
			}
			got = append(got, g.Key)
		}
		if strings.Join(got, " ") != want {
			t.Errorf("by %s: %q, want %q", key, got, want)
		}
	}
	if _, err := By(lines, "weather"); err == nil || !strings.Contains(err.Error(), "batch, agent") {
		t.Errorf("got %v", err)
	}
}
