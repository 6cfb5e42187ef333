package logged

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/runplan/runplan/runner/journal"
	"github.com/runplan/runplan/training"
)

// batches yields the results of agents for the batches of all runs, oldest run first.
func (b *build) batches(ctx context.Context) error {
	if !b.wants(training.ExecuteCode) {
		return nil
	}
	return b.each(ctx, func(r *run, m *batch, p *proof) error { return b.batch(ctx, r, m, p) })
}

// each calls of for each selected batch with a proof, oldest run first, and refuses the attempts at all other batches.
func (b *build) each(ctx context.Context, of func(*run, *batch, *proof) error) error {
	for _, sr := range b.runs {
		if sr.Started.Before(b.Since) {
			continue
		}
		r, err := b.factsOf(ctx, sr.ID)
		if err != nil {
			return err
		}
		for _, info := range r.info.Batches {
			m := r.batches[info.Key]
			if m == nil || len(m.attempts) == 0 || !b.wantsTask(r.id+"/"+info.Key) {
				continue
			}
			p, err := b.prove(ctx, r, info.Key)
			if err == nil {
				err = of(r, m, p)
			}
			for _, a := range m.attempts { // err is a refusal only if there is no proof
				if err := b.refuse(a.where(), err); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// entry is an attempt that becomes an example.
type entry struct {
	*attempt
	brief string
	change
}

// batch yields the attempts at one batch: the merged one, failed ones before it, and losers of its tournament.
func (b *build) batch(ctx context.Context, r *run, m *batch, p *proof) error {
	after, err := b.became(ctx, r.id, p)
	if err != nil {
		return err
	}
	won := m.winner()
	order := slices.DeleteFunc(slices.Clone(m.attempts), func(a *attempt) bool { return a == won })
	if won != nil { // an old journal does not record it
		order = slices.Insert(order, 0, won)
	}
	var winner *entry
	for _, a := range order {
		e, err := b.entry(ctx, a, p, a == won)
		if err == nil {
			if a == won {
				winner = e
			}
			err = b.outcome(r, m, p, e, winner, after)
		}
		if err := b.refuse(a.where(), err); err != nil {
			return err
		}
	}
	return nil
}

// outcome yields the examples of one attempt.
func (b *build) outcome(r *run, m *batch, p *proof, e, winner *entry, after aftermath) error {
	where := e.where()
	ex := training.Example{
		Stage: training.ExecuteCode, Prompt: []training.Message{{Role: "user", Content: e.brief}}, Completion: e.edits,
		Origin: training.Origin{
			Run: r.id, Batch: m.key, Task: r.id + "/" + m.key, Receipt: p.sum, Commit: p.head, Parent: p.base,
			Files: training.SortedFiles(e.files),
			Model: cmp.Or(e.made.Model, e.made.Agent), At: e.made.At,
		},
	}
	if e == winner {
		ex.Signals = append([]training.Signal{training.Known("gates", 1, e.score())}, after.signals()...)
		ex.Quality = after.worth(new(1.0))
		ex.Positive = !after.reverted()
		return b.emit(where, ex)
	}
	failed := e.passed == nil || !*e.passed
	if failed {
		ex.Signals = []training.Signal{training.Known("gates", 0, cmp.Or(e.score(), e.said()))}
		if e.passed == nil { // the agent gave up or was stopped
			ex.Signals = []training.Signal{{Name: "gates", Note: e.said()}}
		}
		ex.Quality = new(0.0)
		if err := b.emit(where, ex); err != nil {
			return err
		}
	}
	switch {
	case !e.lost || winner == nil || winner.made.Attempt != e.made.Attempt:
		if failed {
			return nil
		}
		return superseded
	case after.reverted():
		return undone
	case winner.edits == e.edits:
		return alike
	}
	pair := ex
	pair.Prompt, pair.Completion, pair.Rejected, pair.Positive = []training.Message{{Role: "user", Content: winner.brief}},
		winner.edits, e.edits, true
	pair.Quality = after.worth(new(1.0))
	pair.Signals = append([]training.Signal{training.Known("gates", 1, winner.score()),
		{Name: "rejected", Value: verdictOf(e.passed), Note: e.score()}}, after.signals()...)
	pair.Origin.Model, pair.Origin.At = cmp.Or(winner.made.Model, winner.made.Agent), winner.made.At
	pair.Origin.Files = training.SortedFiles(slices.Concat(winner.files, e.files))
	return b.emit(where, pair)
}

// verdictOf returns a verdict as the value of a signal; nil is unknown.
func verdictOf(passed *bool) *float64 {
	switch {
	case passed == nil:
		return nil
	case *passed:
		return new(1.0)
	}
	return new(0.0)
}

func (e *entry) score() string { return e.scores[e.made.Candidate] }

// said describes the end of the attempt in the terms of the journal.
func (e *entry) said() string {
	return strings.TrimSuffix(fmt.Sprintf("%s: %s", e.made.Outcome, e.made.Reason), ": ")
}

// entry finds the brief and the change of an attempt.
func (b *build) entry(ctx context.Context, a *attempt, p *proof, won bool) (*entry, error) {
	brief, err := b.brief(a)
	if err != nil {
		return nil, err
	}
	e := &entry{attempt: a, brief: brief}
	if won { // the receipt proves the merged code, after formatters and rebases
		e.change, err = b.between(ctx, p.base, p.head)
	} else {
		e.change, err = b.made(ctx, a.made)
	}
	return e, err
}

// brief reads what the agent was asked.
func (b *build) brief(a *attempt) (string, error) {
	text, err := b.Journal.Attached(a.made, journal.BriefFile, journal.MaxFile)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		err = noBrief
	case errors.Is(err, journal.ErrFileChanged):
		err = fileChanged
	}
	return string(text), err
}
