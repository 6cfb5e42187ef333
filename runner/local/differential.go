package local

import (
	"cmp"
	"context"
	"path/filepath"
	"slices"

	"github.com/runplan/runplan/gates"
	"github.com/runplan/runplan/gates/differential"
	"github.com/runplan/runplan/gates/mutants"
	"github.com/runplan/runplan/gates/promise"
	"github.com/runplan/runplan/planparse"
	"github.com/runplan/runplan/runner"
	"github.com/runplan/runplan/runner/room"
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

// promising returns the settings of the gates with the settings that compare a batch with the plan's promises.
func (w *work) promising(b *planparse.Batch, o promise.Options) gates.Settings {
	s := w.GateConfig
	if s.Promises.Off {
		return s
	}
	o.Severity, o.Timeout, o.Literal, o.Project = s.Promises.Severity, s.Promises.Timeout, literal(w.Agent),
		filepath.Base(w.Repo.Root)
	s.More = append(slices.Clone(s.More), promise.Gates(b, o)...)
	return s
}

// commandsOf lists the commands of a tree's test gates, and detects them at the first call.
func (w *work) commandsOf(dir string) func() []string {
	return func() []string {
		var out []string
		for _, g := range w.suitesOf(dir) {
			out = append(out, g.Info().Command)
		}
		return out
	}
}

// redBefore returns a function that reports whether a test gate of a tree failed on the base. Without gates.baseline,
// old failures count, so it is nil.
func (w *work) redBefore(base *Baseline, dir string) func(context.Context) bool {
	if !w.Baseline {
		return nil
	}
	return func(ctx context.Context) bool {
		for _, g := range w.suitesOf(dir) {
			if rep, err := base.look(ctx, g.Info()); err == nil && rep.Status == gates.Fail {
				return true
			}
		}
		return false
	}
}

// apart returns a function that creates a room of the candidate for the commands of the plan at its first call. The
// commands may write to the tree, which no other gate should see. leave releases the room.
func (w *work) apart(c runner.Command) (take func(context.Context, gates.Subject) (string, []string, error),
	leave func()) {
	var taken *room.Room
	take = func(ctx context.Context, s gates.Subject) (string, []string, error) {
		rooms, err := w.sealed(ctx)
		if err != nil {
			return "", nil, err
		}
		if taken == nil {
			if taken, err = rooms.Take(ctx, c.Base, c.Tree); err != nil {
				return "", nil, err
			}
		}
		return taken.Dir, envOf(taken.Env, s.Env), nil
	}
	return take, func() {
		if taken != nil {
			taken.Release()
		}
	}
}
