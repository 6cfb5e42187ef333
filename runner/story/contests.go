package story

import "github.com/runplan/runplan/runner"

// Contests holds the batches for which candidates compete.
type Contests map[string]bool

// Apply adds an event. A tournament without a clear winner has a second round.
func (c Contests) Apply(e runner.Event) {
	switch e.Kind {
	case runner.Sampled:
		c[e.Batch] = e.Outcome == runner.OutcomeOK
	case runner.Judged:
		c[e.Batch] = e.Outcome == runner.OutcomeUndecided
	}
}

// Candidate returns the candidate that a dispatched command is for; 0 outside of tournaments, where the number in the
// id of a command has another meaning.
func (c Contests) Candidate(e runner.Event) int {
	if !c[e.Batch] {
		return 0
	}
	return runner.CandidateOf(e.Command)
}
