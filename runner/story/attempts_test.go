package story

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/runplan/runplan/gates"
	"github.com/runplan/runplan/runner"
)

// attempts applies events to attempt 1 at batch "a", and returns its only attempt.
func attempts(t *testing.T, events ...runner.Event) *Attempt {
	t.Helper()
	var l Attempts
	for _, e := range events {
		e.Batch, e.Attempt = "a", 1
		l.Apply(e)
	}
	if list := l.Of("a"); len(list) != 1 {
		t.Fatalf("%d attempts, want 1", len(list))
	}
	return l.Of("a")[0]
}

func gated(o runner.Outcome, reason string, reports ...string) runner.Event {
	e := runner.Event{Kind: runner.Gated, Outcome: o, Reason: reason, DurationMS: 10}
	for _, name := range reports {
		e.Reports = append(e.Reports, gates.Report{Gate: name})
	}
	return e
}

// The last step that decides something is the result. A repeated step and a review without objections decide nothing.
func TestAttemptEndsWithDecidingStep(t *testing.T) {
	type result struct {
		Step    runner.EventKind
		Outcome runner.Outcome
		Reason  string
	}
	review := func(o runner.Outcome) runner.Event {
		return runner.Event{Kind: runner.Reviewed, Command: "a/r1-c2/review", Outcome: o, Reason: "text"}
	}
	red := gated(runner.OutcomeFailed, "tests: 1 failed", "tests")
	for name, tt := range map[string]struct {
		events []runner.Event
		want   result
	}{
		"red gates": {[]runner.Event{red}, result{runner.Gated, runner.OutcomeFailed, "tests: 1 failed"}},
		"red alone": {[]runner.Event{red, {Kind: runner.Tried, Outcome: runner.OutcomeFailed, Reason: "vet"}},
			result{runner.Tried, runner.OutcomeFailed, "vet"}},
		"green alone": {[]runner.Event{red, {Kind: runner.Tried, Outcome: runner.OutcomeOK}},
			result{runner.Tried, runner.OutcomeConflict, "green alone, but red together with changes merged meanwhile"}},
		"a repeated merge": {[]runner.Event{gated(runner.OutcomeOK, ""), {Kind: runner.Merged, Outcome: runner.OutcomeMoved}},
			result{runner.Gated, runner.OutcomeOK, ""}},
		"a good review": {[]runner.Event{gated(runner.OutcomeOK, ""), review(runner.OutcomeOK)},
			result{runner.Gated, runner.OutcomeOK, ""}},
		"a bad review": {[]runner.Event{gated(runner.OutcomeOK, ""), review(runner.OutcomeComplex)},
			result{runner.Reviewed, runner.OutcomeComplex, "text"}},
		"a review that met a limit, and was repeated": {[]runner.Event{gated(runner.OutcomeOK, ""),
			review(runner.OutcomeLimited), review(runner.OutcomeOK)}, result{runner.Reviewed, runner.OutcomeOK, ""}},
		"an agent that begins again": {[]runner.Event{
			{Kind: runner.Executed, Outcome: runner.OutcomeLimited, Reason: "429"},
			{Kind: runner.Dispatched, Command: "a/r1-c1/execute"}}, result{runner.Dispatched, "", ""}},
	} {
		a := attempts(t, tt.events...)
		if d := cmp.Diff(tt.want, result{a.Step, a.Outcome, a.Reason}); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
}

// An attempt has the time of all its steps, and the reports of the last gates. Changes outside of the workspace stay.
func TestAttemptKeepsTimeAndChangesOutside(t *testing.T) {
	executed := runner.Event{Kind: runner.Executed, Outcome: runner.OutcomeOK, DurationMS: 1000,
		Reports: []gates.Report{{Gate: OutsideGate}}}
	a := attempts(t, executed, gated(runner.OutcomeFailed, "", "lint", "tests"),
		runner.Event{Kind: runner.Tried, Outcome: runner.OutcomeFailed, DurationMS: 5, Reports: []gates.Report{{Gate: "vet"}}},
		runner.Event{Kind: runner.Reviewed, Outcome: runner.OutcomeOK, DurationMS: 200})
	if a.DurationMS != 1215 {
		t.Errorf("it took %d ms, want 1215", a.DurationMS)
	}
	var names []string
	for _, r := range a.Reports {
		names = append(names, r.Gate)
	}
	if d := cmp.Diff([]string{OutsideGate, "vet"}, names); d != "" {
		t.Error(d)
	}
}
