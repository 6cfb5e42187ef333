package feedback

import (
	"context"
	"fmt"

	"github.com/runplan/runplan/gates"
	"github.com/runplan/runplan/gates/differential"
	"github.com/runplan/runplan/internal/git"
	"github.com/runplan/runplan/internal/phrase"
)

// Trees runs regression tests in scratch trees, with the gate that the run of the fix used.
type Trees struct {
	Repo *git.Repo
	// common gate input: environment, limits, redaction
	Subject gates.Subject
	// makes a tree of a commit, set up like a workspace
	Tree func(ctx context.Context, commit string) (dir string, done func(), err error)
}

// Both implements [Differ].
func (t Trees) Both(ctx context.Context, base, tip, test string) (gates.Report, error) {
	dir, done, err := t.Tree(ctx, tip)
	defer done()
	if err != nil {
		return gates.Report{}, err
	}
	s := t.Subject
	s.Dir, s.Base = dir, base
	before, err := t.Repo.TreeOf(ctx, base)
	if err != nil {
		return gates.Report{}, err
	}
	if s.Tree, err = t.Repo.TreeOf(ctx, tip); err != nil {
		return gates.Report{}, err
	}
	s.Diff = gates.GitDiff(t.Repo, before, s.Tree)
	changes, err := s.Diff.Changes(ctx)
	if err != nil {
		return gates.Report{}, err
	}
	for _, c := range changes {
		s.Changed = append(s.Changed, c.Path)
	}
	g := differential.New(differential.Options{
		Files: []string{test}, Base: func(ctx context.Context, s gates.Subject) (string, func(),
			error) {
			return t.Tree(ctx, s.Base)
		},
	})
	return g.Check(ctx, s)
}

// One implements [Differ].
func (t Trees) One(ctx context.Context, commit, test string) (gates.Report, error) {
	dir, done, err := t.Tree(ctx, commit)
	defer done()
	if err != nil {
		return gates.Report{}, err
	}
	s := t.Subject
	s.Dir, s.Base = dir, commit
	if s.Tree, err = t.Repo.TreeOf(ctx, commit); err != nil {
		return gates.Report{}, err
	}
	path, only := differential.Split(test)
	info := gates.Info{Name: "regression", Kind: gates.Static, Cost: gates.Costly, Blocking: true, Command: test}
	g := gates.New(info, func(ctx context.Context, l *gates.Look) error {
		if _, ok, err := AtCommit(t.Repo, commit)(ctx, path); err != nil {
			return err
		} else if !ok {
			l.Find(gates.Finding{Rule: differential.RuleNoTest, Path: path, Severity: gates.Error,
				Message: "the regression test no longer exists"})
			return nil
		}
		return l.Single(ctx, gates.Single{Path: path, Only: only}, 1, func(run gates.SingleRun) bool {
			l.Show(run.Text)
			if run.Outcome != gates.RunPassed {
				l.Find(gates.Finding{Rule: "regression", Path: path, Severity: gates.Error,
					Message: fmt.Sprintf("it %s%s", run.Outcome, phrase.After(oneLine(run.Why))), Test: only})
			}
			return false
		})
	})
	return g.Check(ctx, s)
}
