package judge

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"

	"github.com/runplan/runplan/gates"
	"github.com/runplan/runplan/gates/cache"
	"github.com/runplan/runplan/gates/held"
	"github.com/runplan/runplan/gates/testout"
	"github.com/runplan/runplan/internal/language"
	"github.com/runplan/runplan/runner/local"
)

// compareTests lets the gates compare the tests that run with those of the base, by name. An earlier gate on the
// base's tree recorded its tests. With a baseline and without a record, the suite runs on the base if the change
// touches files that decide which tests run. Without a baseline, the names are read from the changed files.
func (x *Inspection) compareTests(b *local.Baseline) {
	if x.Subject.Base == "" || x.from.Tree == x.Subject.Tree {
		return
	}
	decides := sync.OnceValues(func() (bool, error) { return x.decidesTests(context.Background()) })
	x.Subject.BaseTests = func(ctx context.Context, gate string) ([]testout.Case, error) {
		if rep, ok := x.recordOf(gate); ok {
			return rep.BaseCases(), nil
		}
		if yes, err := decides(); err != nil || !yes {
			return nil, err
		}
		if b == nil {
			return nil, errors.New("no gate has run on it; --baseline runs its tests")
		}
		return b.Tests(ctx, gate)
	}
	if b != nil {
		x.Subject.BaseSuites = func(ctx context.Context) ([]string, error) {
			names, err := b.Suites(ctx)
			return slices.DeleteFunc(names, func(name string) bool { return !x.Options.chooses(name) }), err
		}
	}
}

// holdTests lets the gates run the tests of the base on the code of the change, if the user gave --mutants or the
// settings decide about changed expectations. Call done when the gates have ended.
func (x *Inspection) holdTests() (done func()) {
	decided := x.Settings.ChangedTests == gates.ChangedApprove || x.Settings.ChangedTests == gates.ChangedFail
	if x.Subject.BaseTests == nil || !x.Options.mutants.asked && !decided {
		return func() {}
	}
	x.Subject.ChangedTests = x.Settings.ChangedTests
	runner := held.New(held.Options{
		Repo:  x.Project.Repo,
		Gates: func(dir string) []gates.Gate { return gates.Suites(dir, x.Settings.Whole()) },
		Room: func(ctx context.Context, tree string) (string, []string, func(), error) {
			s := x.Subject
			s.Tree = tree
			return local.CandidateOf(x.baselineOf, x.warn)(ctx, s)
		},
	}, x.Subject)
	x.Subject.Held = runner.Run
	return runner.Close
}

// decidesTests reports whether the change touches files that decide which tests run. New tests do not count.
func (x *Inspection) decidesTests(ctx context.Context) (bool, error) {
	changes, err := x.Subject.Diff.Changes(ctx)
	return slices.ContainsFunc(changes, func(c gates.Change) bool {
		return local.DecidesTests(c.Path) && (c.Status != gates.Added || language.OfTest(c.Path) == "")
	}), err
}

// recordOf returns a gate's earlier report about the base's tree.
func (x *Inspection) recordOf(gate string) (gates.Report, bool) {
	at := slices.IndexFunc(x.Gates, func(g gates.Gate) bool { return g.Info().Name == gate })
	if at < 0 {
		return gates.Report{}, false
	}
	s := x.Subject
	s.Tree = x.from.Tree
	key := x.recordKey(x.Gates[at].Info(), s)
	if key == "" {
		return gates.Report{}, false
	}
	return x.store.Get(key)
}

// recordKey returns the cache key for the report of a gate about a whole tree. It does not depend on the change.
func (x *Inspection) recordKey(info gates.Info, s gates.Subject) string {
	s.Base, s.Changed = "", nil
	if k := cache.Key(info, s, x.around); k != "" {
		return "base-" + k
	}
	return ""
}

// recordTests stores the tests that ran on this tree, for changes that start from it.
func (x *Inspection) recordTests(v gates.Verdict) {
	for _, r := range v.Reports {
		if !gates.IsSuite(r.Gate) || r.Status != gates.Pass || r.Cases == nil || strings.HasPrefix(r.Note, cache.Note) {
			continue
		}
		at := slices.IndexFunc(x.Gates, func(g gates.Gate) bool { return g.Info().Name == r.Gate })
		if at < 0 || !x.Gates[at].Info().Pure {
			continue
		}
		if k := x.recordKey(x.Gates[at].Info(), x.Subject); k != "" {
			if err := x.store.Put(k, r); err != nil {
				x.warn(err.Error())
			}
		}
	}
}
