package logged

import (
	"context"
	"fmt"
	"slices"

	"github.com/runplan/runplan/internal/lists"
	"github.com/runplan/runplan/runner"
	"github.com/runplan/runplan/runner/journal"
)

// run holds the data of a run that examples need.
type run struct {
	id      string
	info    runner.Info
	batches map[string]*batch
}

// batch is one batch of the run.
type batch struct {
	key      string
	merged   *runner.Event // nil: not merged, or undone
	attempts []*attempt    // in order of their start
}

// attempt is one attempt at a batch, alone or as a candidate of a tournament.
type attempt struct {
	made   runner.Event   // event that records the agent's work
	passed *bool          // gate verdict; nil: no gate ran
	won    bool           // it won its tournament
	lost   bool           // another candidate won its tournament
	scores map[int]string // scores of its tournament
}

// name names the attempt in messages and signals.
func (a *attempt) name() string {
	if a.made.Candidate > 0 {
		return fmt.Sprintf("attempt %d, candidate %d", a.made.Attempt, a.made.Candidate)
	}
	return fmt.Sprintf("attempt %d", a.made.Attempt)
}

// where names the batch, the run and the attempt.
func (a *attempt) where() string {
	return fmt.Sprintf("batch %s of run %s, %s", a.made.Batch, a.made.Run, a.name())
}

// factsOf reads the events of a run.
func (b *build) factsOf(ctx context.Context, id string) (*run, error) {
	return b.facts.Load(id, func() (*run, error) {
		r := &run{id: id, batches: map[string]*batch{}}
		for ev, err := range journal.Events(ctx, b.Journal.Journal, id, 0) {
			if err != nil {
				return nil, unreadable("events of run "+id, err)
			}
			r.add(ev)
		}
		return r, nil
	})
}

func (r *run) add(ev runner.Event) {
	if ev.Job != nil {
		r.info = *ev.Job
	}
	if ev.Batch == "" {
		return
	}
	b := r.batches[ev.Batch]
	if b == nil {
		b = &batch{key: ev.Batch}
		r.batches[ev.Batch] = b
	}
	switch ev.Kind {
	case runner.Executed:
		if ev.Outcome.Tells() {
			b.executed(ev)
		}
	case runner.Gated:
		if a := b.attempt(ev); a != nil && ev.Outcome.Tells() {
			a.passed = new(ev.Outcome == runner.OutcomeOK)
		}
	case runner.Judged:
		b.judged(ev)
	case runner.Merged:
		if ev.Outcome == runner.OutcomeOK {
			b.merged = new(ev)
		}
	case runner.Reopened:
		b.merged = nil
	}
}

// attempt finds the attempt that an event reports on.
func (b *batch) attempt(ev runner.Event) *attempt {
	return lists.First(b.attempts, func(a *attempt) bool {
		return a.made.Attempt == ev.Attempt && a.made.Candidate == ev.Candidate
	})
}

// executed adds an attempt. A repetition after a crash replaces the first.
func (b *batch) executed(ev runner.Event) {
	a := b.attempt(ev)
	if a == nil {
		a = &attempt{}
		b.attempts = append(b.attempts, a)
	}
	ev.Reports, ev.Job = nil, nil // large and unused
	*a = attempt{made: ev}
}

// judged records the winner of a tournament.
func (b *batch) judged(ev runner.Event) {
	if ev.Outcome != runner.OutcomeOK {
		return
	}
	scores := map[int]string{}
	for _, s := range ev.Scores {
		scores[s.Candidate] = fmt.Sprintf("%s, score %d", s.Variant, s.Score)
		if s.Void != "" {
			scores[s.Candidate] = fmt.Sprintf("%s, %s", s.Variant, s.Void)
		}
	}
	for _, a := range b.attempts {
		if a.made.Attempt == ev.Attempt && a.made.Candidate > 0 {
			a.won = a.made.Candidate == ev.Candidate
			a.lost, a.scores = !a.won, scores
		}
	}
}

// winner returns the merged attempt: the winner of its tournament, else the last attempt that passed.
func (b *batch) winner() *attempt {
	for _, a := range slices.Backward(b.attempts) {
		if a.won || a.made.Candidate == 0 && a.passed != nil && *a.passed {
			return a
		}
	}
	return nil
}
