package runner

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/runplan/runplan/agents"
	"github.com/runplan/runplan/gates"
)

// at returns a time in a test's run: the given number of seconds after its start.
func at(seconds int) time.Time {
	return time.Date(2026, 5, 4, 9, 0, seconds, 0, time.UTC)
}

// folded returns the summary of a run of the plan with these events. An event without a time occurs one second after
// the previous event.
func folded(t *testing.T, plan string, events ...Event) Summary {
	t.Helper()
	info := plans(Info{
		Plan: "plan.md", Title: "A plan", Slug: "plan", Branch: "runplan/plan/main", BaseBranch: "main", Agent: "claude",
		Mode: "headless", Workers: 1, MaxAttempts: 3, Land: "branch",
	}, plan)
	var f Fold
	now := at(0)
	for i, e := range append([]Event{{Kind: RunStarted, Job: &info}}, events...) {
		e.Seq, e.Run = i+1, "run"
		if e.At.IsZero() {
			e.At = now.Add(time.Second)
		}
		now = e.At
		if err := f.Apply(e); err != nil {
			t.Fatal(err)
		}
	}
	return f.Summary()
}

func cost(usd float64) *agents.Usage { return &agents.Usage{CostUSD: &usd} }

// merged returns the events of a batch that succeeds, with the given number of tests at the end.
func merged(batch string, tests int) []Event {
	id := batch + "/r1-c0/"
	return []Event{
		{Kind: BatchStarted, Batch: batch},
		{Kind: Executed, Command: id + "execute", Batch: batch, Outcome: OutcomeOK, Agent: "claude", Usage: cost(0.5),
			DurationMS: 700},
		{Kind: Gated, Command: id + "gate", Batch: batch, Outcome: OutcomeOK, Tests: &gates.TestCount{Passed: tests},
			DurationMS: 200},
		{Kind: Committed, Command: id + "commit", Batch: batch, Outcome: OutcomeOK, Commit: "k" + batch, DurationMS: 30},
		{Kind: Merged, Command: id + "merge", Batch: batch, Outcome: OutcomeOK, Commit: "k" + batch, Receipt: "r.json",
			DurationMS: 4},
	}
}

func TestSummary(t *testing.T) {
	got := folded(t, "a b:a c!empty", append(merged("a", 12), Event{Kind: BatchStarted, Batch: "b"})...)
	half, twelve := 0.5, 12
	want := Summary{
		Run: "run", Plan: "plan.md", Title: "A plan", Slug: "plan", Branch: "runplan/plan/main", Base: "base",
		BaseBranch: "main",
		Commit:     "ka", Agent: "claude", Mode: "headless", Workers: 1, Land: "branch", Status: RunActive,
		Started: at(1), Updated: at(7), DurationMS: 6000,
		Batches: []BatchSummary{
			{
				Key: "a", Number: "1", Title: "Batch a", State: "merged", Attempts: 1, Agent: "claude", Commit: "ka",
				DurationMS: 934, CostUSD: &half, TestsAfter: &twelve, Receipt: "r.json", Started: at(2),
			},
			{
				Key: "b", Number: "2", Title: "Batch b", State: "edit", Attempts: 1, TestsBefore: &twelve, Needs: []string{"a"},
				Started: at(7),
			},
			{Key: "c", Number: "3", Title: "Batch c", State: "skipped", Reason: "empty"},
		},
	}
	if diff := cmp.Diff(want, got, cmpopts.IgnoreUnexported(BatchSummary{})); diff != "" {
		t.Error(diff)
	}
}

func TestSummaryOfBatches(t *testing.T) {
	executed := func(id string, o Outcome, u *agents.Usage) Event {
		return Event{Kind: Executed, Command: id, Batch: "a", Outcome: o, Usage: u}
	}
	tests := map[string]struct {
		plan   string
		events []Event
		want   []string // states
		check  func(s Summary) any
		value  any
	}{
		"a batch running is in a state of the loop": {
			plan:   "a b",
			events: merged("a", 1)[:3],
			want:   []string{"commit", "edit"},
		},
		"a batch that starts is shown before any other event about it": {
			plan:   "a b",
			events: merged("a", 1),
			want:   []string{"merged", "edit"},
		},
		"a failed batch is running again after a resume": {
			plan: "a",
			events: []Event{
				executed("a/r1-c0/execute", OutcomeUnchanged, nil), executed("a/r2-c0/execute", OutcomeUnchanged, nil),
				{Kind: RunResumed},
			},
			want:  []string{"edit"},
			check: func(s Summary) any { return s.Batches[0].Attempts }, value: 3,
		},
		"attempts add up": {
			plan: "a",
			events: []Event{
				executed("a/r1-c0/execute", OutcomeFailed, cost(1)), executed("a/r2-c0/execute", OutcomeTimedOut, cost(0.25)),
			},
			want:  []string{"edit"},
			check: func(s Summary) any { return []any{s.Batches[0].Attempts, *s.Batches[0].CostUSD} }, value: []any{3, 1.25},
		},
		"a partly unknown cost is unknown": {
			plan: "a",
			events: []Event{
				executed("a/r1-c0/execute", OutcomeFailed, nil), executed("a/r2-c0/execute", OutcomeTimedOut, cost(0.25)),
			},
			want:  []string{"edit"},
			check: func(s Summary) any { return s.Batches[0].CostUSD == nil }, value: true,
		},
		"a later unknown cost makes the sum unknown": {
			plan: "a",
			events: []Event{
				executed("a/r1-c0/execute", OutcomeFailed, cost(1)),
				executed("a/r2-c0/execute", OutcomeTimedOut, &agents.Usage{}),
			},
			want:  []string{"edit"},
			check: func(s Summary) any { return s.Batches[0].CostUSD == nil }, value: true,
		},
		"a batch that did not merge does not set the tests of the next": {
			plan: "a b",
			events: append(merged("a", 12)[:3],
				Event{Kind: Committed, Command: "a/r1-c0/commit", Batch: "a", Outcome: OutcomeFailed},
				Event{Kind: BatchStarted, Batch: "b"}),
			want:  []string{"edit", "edit"},
			check: func(s Summary) any { return s.Batches[1].TestsBefore == nil }, value: true,
		},
		"the gates are those of the last attempt": {
			plan: "a",
			events: append(merged("a", 1)[:2], Event{
				Kind: Gated, Command: "a/r1-c0/gate", Batch: "a", Outcome: OutcomeFailed,
				Reports: []gates.Report{{Gate: "vet", Status: gates.Fail, Note: "red", Findings: []gates.Finding{{}, {}}}},
			}),
			want:  []string{"edit"},
			check: func(s Summary) any { return s.Batches[0].Gates },
			value: []GateResult{{Gate: "vet", Status: gates.Fail, Note: "red", Findings: 2}},
		},
		"time between sessions does not count": {
			plan: "a",
			events: []Event{
				{Kind: StopAsked, Outcome: OutcomeCancelled, At: at(5)}, {Kind: RunFinished, Outcome: OutcomeCancelled, At: at(6)},
				{Kind: RunResumed, At: at(50)}, {Kind: Note, At: at(53)},
			},
			want:  []string{"edit"},
			check: func(s Summary) any { return []any{s.DurationMS, s.Status, s.Started, s.Updated} },
			value: []any{int64(8000), RunActive, at(1), at(53)},
		},
		"a stopped run says why": {
			plan:   "a",
			events: []Event{{Kind: RunFinished, Outcome: OutcomeLimited, Reason: "five hours"}},
			want:   []string{"edit"},
			check:  func(s Summary) any { return []any{s.Status, s.Stop, s.Reason} },
			value:  []any{RunStopped, OutcomeLimited, "five hours"},
		},
		"a failed run says why": {
			plan:   "a",
			events: []Event{{Kind: RunFinished, Outcome: OutcomeFailed, Reason: "batch 1: red"}},
			want:   []string{"edit"},
			check:  func(s Summary) any { return []any{s.Status, s.Stop, s.Reason} },
			value:  []any{RunFailed, Outcome(""), "batch 1: red"},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			s := folded(t, tt.plan, tt.events...)
			var got []string
			for _, b := range s.Batches {
				got = append(got, b.State)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error(diff)
			}
			if tt.check != nil {
				if diff := cmp.Diff(tt.value, tt.check(s)); diff != "" {
					t.Error(diff)
				}
			}
		})
	}
}

func TestFold(t *testing.T) {
	tests := map[string]struct {
		event Event
		fails bool
	}{
		"what comes before the start is not checked": {Event{Kind: Merged, Batch: "a"}, false},
		"a start without its job is an error":        {Event{Kind: RunStarted}, true},
		"a run of another loop is an error":          {Event{Kind: RunStarted, Job: &Info{LoopVersion: 7}}, true},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			var f Fold
			if err := f.Apply(tt.event); (err != nil) != tt.fails {
				t.Error(err)
			}
			if diff := cmp.Diff(Summary{}, f.Summary(), cmpopts.IgnoreUnexported(BatchSummary{})); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// A candidate has passed only after its gates passed, not when its agent is done; its score follows later.
func TestStoppedTournamentSummary(t *testing.T) {
	sampled := Event{Kind: Sampled, Command: "a/r1-c0/sample", Batch: "a", Outcome: OutcomeOK,
		Slots: []Slot{{Number: 1, Variant: "vanilla"}, {Number: 2, Variant: "minimal-change"}}}
	dispatched := func(kind CommandKind) Event {
		return Event{Kind: Dispatched, Command: "a/r1-c1/" + string(kind), Batch: "a", Candidate: 1}
	}
	executed := Event{Kind: Executed, Command: "a/r1-c1/execute", Batch: "a", Candidate: 1, Outcome: OutcomeOK,
		Usage: cost(0.4)}
	gated := Event{Kind: Gated, Command: "a/r1-c1/gate", Batch: "a", Candidate: 1, Outcome: OutcomeOK}
	stopped := Event{Kind: RunFinished, Outcome: OutcomeLimited, Reason: "the cost limit"}
	for name, c := range map[string]struct {
		events []Event
		want   string
	}{
		"before the agent began": {[]Event{stopped}, "waiting"},
		"while the agent worked": {[]Event{dispatched(Execute), stopped}, "waiting"},
		"before the gates":       {[]Event{dispatched(Execute), executed, stopped}, "edited"},
		"while the gates ran":    {[]Event{dispatched(Execute), executed, dispatched(Gate), stopped}, "edited"},
		"the gates were stopped": {[]Event{executed,
			{Kind: Gated, Command: "a/r1-c1/gate", Batch: "a", Candidate: 1, Outcome: OutcomeCancelled}, stopped}, "edited"},
		"after the gates": {[]Event{executed, gated, stopped}, "passed"},
		"what it cost comes last": {[]Event{executed,
			{Kind: Spent, Command: "a/r1-c1/execute", Batch: "a", Candidate: 1, Usage: cost(0.1)}, stopped}, "edited"},
	} {
		t.Run(name, func(t *testing.T) {
			sum := folded(t, "a", append([]Event{{Kind: BatchStarted, Batch: "a"}, sampled}, c.events...)...)
			one := sum.Batches[0].Candidates[0]
			if one.State != c.want || one.Score != nil {
				t.Errorf("candidate 1 is %s with score %v, want %s without one", one.State, one.Score, c.want)
			}
		})
	}
}

// An agent that never started adds nothing to a cost, neither zero nor an unknown amount; without another attempt the
// cost is unknown. An agent that worked without reporting its cost makes the sum unknown.
func TestUnstartedAgentHasNoCost(t *testing.T) {
	for outcome, skipped := range map[Outcome]bool{OutcomeUnstarted: true, OutcomeError: true, OutcomeCancelled: true,
		OutcomeFailed: false} {
		event := Event{Kind: Executed, Batch: "a", Attempt: 1, Agent: "claude", Outcome: outcome}
		s := folded(t, "a", Event{Kind: BatchStarted, Batch: "a"}, event)
		if got := s.Batches[0].CostUSD; got != nil {
			t.Errorf("%s: the cost is %v, want unknown", outcome, *got)
		}
		s = folded(t, "a", Event{Kind: BatchStarted, Batch: "a"}, event,
			Event{Kind: Executed, Batch: "a", Attempt: 1, Agent: "claude", Outcome: OutcomeOK, Usage: cost(0.5)})
		if got := s.Batches[0].CostUSD; (got != nil) != skipped || skipped && *got != 0.5 {
			t.Errorf("%s and an attempt of $0.50: the cost is %v", outcome, got)
		}
	}
}

// The cost of a batch includes the critiques of its agent's steps. Reviews of the whole run have their own cost, and
// one without a price makes it unknown.
func TestSummaryHasCostOfCritiquesAndReviews(t *testing.T) {
	final := func(usage *agents.Usage) Event {
		return Event{Kind: Reviewed, Command: "run/review", Outcome: OutcomeOK, Review: &ReviewInfo{}, Usage: usage}
	}
	events := append(merged("a", 1), final(cost(0.25)), final(nil))
	events[1].Critique = &CritiqueCost{Usage: *cost(0.125)}
	s := folded(t, "a", events...)
	if got := s.Batches[0].CostUSD; got == nil || *got != 0.625 {
		t.Errorf("the batch cost %v, want 0.625", got)
	}
	if s.ReviewCostUSD == nil || *s.ReviewCostUSD != 0.25 {
		t.Errorf("the final review cost %v, want 0.25", s.ReviewCostUSD)
	}
	if s = folded(t, "a", append(events, final(&agents.Usage{}))...); s.ReviewCostUSD != nil {
		t.Errorf("the final review cost %v, want unknown", *s.ReviewCostUSD)
	}
}

// A summary as JSON has each field, with null for what is unknown.
func TestSummaryJSONHasNull(t *testing.T) {
	unknown, err := json.Marshal(BatchSummary{Key: "a"})
	if err != nil {
		t.Fatal(err)
	}
	for _, field := range []string{"agent", "model", "commit", "cost_usd", "tests_before", "tests_after"} {
		if !strings.Contains(string(unknown), `"`+field+`":null`) {
			t.Errorf("%s is not null in %s", field, unknown)
		}
	}
	known, err := json.Marshal(BatchSummary{Agent: "x", Model: "y", Commit: "z"})
	if err != nil || !strings.Contains(string(known), `"agent":"x","model":"y","commit":"z"`) {
		t.Errorf("%s, %v", known, err)
	}
}

func TestTally(t *testing.T) {
	s := folded(t, "a b!empty c:a d:c", append(merged("a", 1), Event{Kind: BatchStarted, Batch: "c"})...)
	if got := s.Tally(); got != (Tally{Merged: 1, Skipped: 1, Working: 1, Waiting: 1}) || got.ToGo() != 2 {
		t.Errorf("%+v, %d to go", got, got.ToGo())
	}
	s.Batches[2].State = string(Failed)
	if got := s.Tally(); got.Failed != 1 || got.ToGo() != 1 {
		t.Errorf("%+v, %d to go", got, got.ToGo())
	}
}

// The summary shows who works on a batch, its reviews and the end of the run.
func TestSummaryShowsReviewsAndEnd(t *testing.T) {
	sure := 80
	pass := func(note string) *ReviewInfo {
		return &ReviewInfo{Verdict: VerdictPass, Confidence: &sure, Note: note}
	}
	review := func(batch, command, note string, usage *agents.Usage) Event {
		return Event{Kind: Reviewed, Batch: batch, Command: command, Outcome: OutcomeOK, Review: pass(note), Usage: usage}
	}
	unpriced := folded(t, "a", append(merged("a", 1)[:2], review("a", "a/r1-c0/review", "", nil))...)
	if got := unpriced.Batches[0].CostUSD; got == nil || *got != 0.5 {
		t.Errorf("a review without an agent changes the cost to %v", got)
	}
	s := folded(t, "a", append(merged("a", 1)[:2],
		review("a", "a/r1-c0/fidelity", "design", cost(0.25)), review("a", "a/r1-c0/review", "code", nil),
		Event{Kind: Reviewed, Batch: "a", Command: "a/r1-c0/review", Outcome: OutcomeSkipped},
		Event{Kind: Spent, Batch: "a", Usage: cost(0.125)}, review("", "run/review", "all", nil),
		Event{Kind: Waited, Batch: "a", DurationMS: 5000},
		Event{Kind: Dispatched, Batch: "a", Command: "a/r1-c0/gate"},
		Event{Kind: RunFinished, Outcome: OutcomeOK, At: at(30)}, Event{Kind: Undone, Commit: "u", At: at(90)})...)
	b := s.Batches[0]
	if b.Fidelity == nil || b.Fidelity.Note != "design" || b.Review == nil || b.Review.Note != "code" ||
		s.Review == nil ||
		s.Review.Note != "all" {
		t.Errorf("reviews %+v, %+v and %+v", b.Fidelity, b.Review, s.Review)
	}
	if *b.CostUSD != 0.875 || b.DurationMS != 700 || b.Agent != "claude" {
		t.Errorf("%s worked %d ms for %v $", b.Agent, b.DurationMS, *b.CostUSD)
	}
	if s.Status != RunDone || s.Undone != "u" || s.DurationMS != 29_000 || s.Updated != at(90) {
		t.Errorf("%s, undone by %q after %d ms, updated %s", s.Status, s.Undone, s.DurationMS, s.Updated)
	}
	s = folded(t, "a b", Event{Kind: Dispatched, Batch: "a", Command: "a/r1-c0/execute", Agent: "codex", Model: "m"},
		Event{Kind: Discarded, Reason: "not needed"})
	if b := s.Batches[0]; b.Agent != "codex" || b.Model != "m" || s.Status != RunDiscarded || s.Reason != "not needed" {
		t.Errorf("%s with %s; %s: %s", b.Agent, b.Model, s.Status, s.Reason)
	}
}

// A candidate without points shows why, and the winner's agent is that of the batch.
func TestSummaryOfCandidates(t *testing.T) {
	of := func(kind EventKind, number int, o Outcome) Event {
		return Event{Kind: kind, Batch: "a", Candidate: number, Variant: "x", Outcome: o, Agent: "agent", Model: "model"}
	}
	s := folded(t, "a+2", Event{Kind: BatchStarted, Batch: "a"},
		of(Executed, 2, OutcomeOK), of(Gated, 2, OutcomeOK), of(Executed, 3, OutcomeUnchanged),
		Event{Kind: Executed, Batch: "a", Candidate: 4, Outcome: OutcomeCancelled, Agent: "last"},
		Event{Kind: Judged, Batch: "a", Command: "a/r1-c2/judge", Outcome: OutcomeOK, Candidate: 2,
			Scores: []CandScore{{Candidate: 2, Score: 5}, {Candidate: 3, Void: "no change", Score: 3}}})
	var got []string
	for _, c := range s.Batches[0].Candidates {
		got = append(got, fmt.Sprintf("%d %s %s %s scored=%v %q %s",
			c.Number, c.Variant, c.Kind, c.State, c.Score != nil, c.Reason,
			c.Agent))
	}
	want := []string{`2 x x won scored=true "" agent`, `3 x x void scored=false "no change" agent`, `4    scored=false "" last`}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error("-want +got:\n", diff)
	}
	if b := s.Batches[0]; b.Agent != "agent" || b.Model != "model" {
		t.Errorf("the batch is the work of %s with %s", b.Agent, b.Model)
	}
}
