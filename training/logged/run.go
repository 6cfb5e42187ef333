package logged

import (
	"context"
	"fmt"
	"slices"

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
	number, candidate int
	variant           string
	made              runner.Event   // event that records the agent's work
	passed            *bool          // gate verdict; nil: no gate ran
	won               bool           // it won its tournament
	lost              bool           // another candidate won its tournament
	scores            map[int]string // scores of its tournament
}

// name names the attempt in messages and signals.
func (a *attempt) name() string {
	if a.candidate > 0 {
		return fmt.Sprintf("attempt %d, candidate %d", a.number, a.candidate)
	}
	return fmt.Sprintf("attempt %d", a.number)
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
		if a := b.attempt(ev.Attempt, ev.Candidate); a != nil && ev.Outcome.Tells() {
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

func (b *batch) attempt(number, candidate int) *attempt {
	i := slices.IndexFunc(b.attempts, func(a *attempt) bool { return a.number == number && a.candidate == candidate })
	if i < 0 {
		return nil
	}
	return b.attempts[i]
}

// executed adds an attempt. A repetition after a crash replaces the first.
func (b *batch) executed(ev runner.Event) {
	a := &attempt{number: ev.Attempt, candidate: ev.Candidate, variant: ev.Variant, made: ev}
	a.made.Reports, a.made.Job = nil, nil // large and unused
	if i := slices.IndexFunc(b.attempts,
		func(o *attempt) bool { return o.number == a.number && o.candidate == a.candidate }); i >= 0 {
		b.attempts[i] = a
		return
	}
	b.attempts = append(b.attempts, a)
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
		if a.number != ev.Attempt || a.candidate == 0 {
			continue
		}
		a.won, a.lost, a.scores = a.candidate == ev.Candidate, a.candidate != ev.Candidate, scores
	}
}

// winner returns the merged attempt: the winner of its tournament, else the last one that passed.
func (b *batch) winner() *attempt {
	for _, a := range slices.Backward(b.attempts) {
		if a.candidate > 0 && a.won || a.candidate == 0 && a.passed != nil && *a.passed {
			return a
		}
	}
	return nil
}
