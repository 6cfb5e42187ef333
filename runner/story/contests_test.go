package story

import (
	"testing"

	"github.com/runplan/runplan/runner"
)

// The number in the id of a command is a candidate only during a tournament, which may have a second round.
func TestContestsKnowWhoACommandIsFor(t *testing.T) {
	c := Contests{}
	second := runner.Event{Kind: runner.Dispatched, Batch: "a", Command: "a/r1-c2/execute"}
	for n, step := range []struct {
		event runner.Event
		want  int
	}{
		{runner.Event{Kind: runner.Sampled, Batch: "a", Outcome: runner.OutcomeRefused}, 0},
		{runner.Event{Kind: runner.Sampled, Batch: "b", Outcome: runner.OutcomeOK}, 0},
		{runner.Event{Kind: runner.Sampled, Batch: "a", Outcome: runner.OutcomeOK}, 2},
		{runner.Event{Kind: runner.Gated, Batch: "a", Outcome: runner.OutcomeFailed, Candidate: 1}, 2},
		{runner.Event{Kind: runner.Judged, Batch: "a", Outcome: runner.OutcomeUndecided}, 2},
		{runner.Event{Kind: runner.Judged, Batch: "a", Outcome: runner.OutcomeOK, Candidate: 2}, 0},
	} {
		c.Apply(step.event)
		if got := c.Candidate(second); got != step.want {
			t.Errorf("after step %d the command is for candidate %d, want %d", n, got, step.want)
		}
	}
}
