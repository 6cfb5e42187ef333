package local

import (
	"cmp"
	"context"

	"github.com/runplan/runplan/gates"
	"github.com/runplan/runplan/gates/differential"
	"github.com/runplan/runplan/gates/mutants"
	"github.com/runplan/runplan/planparse"
)

// Scratch creates a room of the base that the caller may write to. To run gates on the base, use a separate [Baseline].
func (b *Baseline) Scratch(ctx context.Context) (string, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if err := b.open(ctx); err != nil {
		return "", err
	}
	return b.room.Dir, nil
}

// ScratchOf makes scratch trees of the base for [differential.New]. Each comes from a separate [Baseline] for the
// subject.
func ScratchOf(make func(s gates.Subject) (*Baseline, error), note func(string)) differential.Base {
	return func(ctx context.Context, s gates.Subject) (string, func(), error) {
		dir, _, done, err := scratch(ctx, make, note, s, "")
		return dir, done, err
	}
}

// scratch copies a tree, "" for that of the base, into a room with the base's dependencies.
func scratch(ctx context.Context, make func(s gates.Subject) (*Baseline, error), note func(string), s gates.Subject,
	tree string) (dir string, env []string, done func(), err error) {
	b, err := make(s)
	if err != nil {
		return "", nil, func() {}, err
	}
	b.tree = tree
	done = func() { // also after the time of ctx
		if err := b.Close(context.WithoutCancel(ctx)); err != nil {
			note(err.Error())
		}
	}
	dir, err = b.Scratch(ctx)
	if err == nil {
		env = envOf(b.room.Env, s.Env)
	}
	return dir, env, done, err
}

// asked returns the gates that the batch or the settings add to the project's own.
func (w *work) asked(b *planparse.Batch) []gates.Gate {
	list := w.regression(b)
	if w.Mutants.Budget > 0 || w.Mutants.Share > 0 || b.Mutants > 0 {
		o := w.Mutants
		o.Bar = cmp.Or(b.Mutants, o.Bar)
		o.Tree = CandidateOf(func(s gates.Subject) (*Baseline, error) { return w.baseline(s), nil }, w.Note)
		list = append(list, mutants.New(o))
	}
	return list
}

// regression returns the gate for the regression test that the batch names, or none.
func (w *work) regression(b *planparse.Batch) []gates.Gate {
	if len(b.Regression) == 0 {
		return nil
	}
	scratch := ScratchOf(func(s gates.Subject) (*Baseline, error) { return w.baseline(s), nil }, w.Note)
	return []gates.Gate{differential.New(differential.Options{Files: b.Regression, Base: scratch})}
}

// CandidateOf makes scratch copies of the candidate's tree for [mutants.New], in a room with the base's dependencies.
func CandidateOf(make func(s gates.Subject) (*Baseline, error), note func(string)) mutants.Tree {
	return func(ctx context.Context, s gates.Subject) (string, []string, func(), error) {
		return scratch(ctx, make, note, s, s.Tree)
	}
}
