package local

import (
	"context"
	"path/filepath"
	"slices"

	"github.com/runplan/runplan/gates"
	"github.com/runplan/runplan/gates/promise"
	"github.com/runplan/runplan/planparse"
	"github.com/runplan/runplan/runner"
	"github.com/runplan/runplan/runner/room"
)

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
