package judge

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/runplan/runplan/gates"
	"github.com/runplan/runplan/gates/cache"
	"github.com/runplan/runplan/gates/differential"
	"github.com/runplan/runplan/gates/held"
	"github.com/runplan/runplan/gates/mutants"
	"github.com/runplan/runplan/gates/testout"
	"github.com/runplan/runplan/internal/cli"
	"github.com/runplan/runplan/internal/cli/rulebook"
	"github.com/runplan/runplan/internal/language"
	"github.com/runplan/runplan/internal/lists"
	"github.com/runplan/runplan/patterns"
	"github.com/runplan/runplan/runner/local"
)

// cached wraps the gates with the result cache and the reaper.
func (x *Inspection) cached(ctx context.Context) ([]gates.Gate, error) {
	list := underReaper(x.Gates, x.Reaper)
	l := x.Project.Layout
	if _, err := os.Stat(l.Root); err != nil || x.Options.noCache || x.hidden {
		return list, nil
	}
	s, err := x.Project.Seal()
	if err != nil {
		return list, nil // without a key no cache entry can be verified later, so nothing is cached
	}
	x.store = cache.Store{Dir: l.GateCache(), Seal: s}
	complete, err := x.store.Complete(ctx, x.Project.Repo, x.Subject.Tree)
	if err != nil {
		return nil, err
	}
	if !complete {
		return list, nil
	}
	settings, err := json.Marshal(x.Settings)
	if err != nil {
		return nil, fmt.Errorf("write the settings of the gates: %w", err)
	}
	place := cache.Place{
		Root: x.Project.Repo.Root, Ignored: x.ignored, Self: cli.Self(), Programs: []string{x.Project.Config.Gates.AstGrep},
		Env:  x.Project.Environ,
		More: []string{string(settings), fmt.Sprint(x.Options.all), x.Project.Config.Digest},
	}
	if p, ok := x.Project.Getenv(patterns.EnvVar); ok {
		place.Programs = append(place.Programs, p)
	}
	place.Roots = lists.Map(x.Settings.Projects(place.Root), func(p gates.Project) string { return p.Root })
	for _, layer := range rulebook.RuleLayers(x.Project.App, place.Root) {
		place.More = append(place.More, contents(layer.Lessons), contents(layer.Patterns))
	}
	x.around = cache.Surroundings(place)
	for i, g := range list {
		list[i] = cache.Around(g, x.store, x.around)
	}
	return list, nil
}

// contents returns a cache key for a folder of rules. It covers the contents of files, not their dates.
func contents(dir string) string {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return ""
	}
	sum := sha256.New()
	for _, e := range entries {
		data, err := os.ReadFile(filepath.Join(dir, e.Name()))
		fmt.Fprintf(sum, "%q %d %t\n", e.Name(), len(data), err == nil)
		sum.Write(data)
	}
	return dir + " " + hex.EncodeToString(sum.Sum(nil))
}

// readRules reads the project's and user's own rules for the selected gates. An error in them is reported before
// anything runs. Built-in rules are read later.
func (x *Inspection) readRules(list []gates.Gate) error {
	for _, g := range list {
		if name := g.Info().Name; x.Rules.HasOwn(name) && !cache.Known(g, x.Subject) {
			if err := x.Rules.Read(name); err != nil {
				return err
			}
		}
	}
	return nil
}

// baseline returns the baseline for failing gates. It returns nil if it was not requested or there is no base.
func (x *Inspection) baseline() (*local.Baseline, error) {
	if !x.Options.Baseline || x.Subject.Base == "" {
		return nil, nil
	}
	return x.baselineOf(x.Subject)
}

func (x *Inspection) baselineOf(subject gates.Subject) (*local.Baseline, error) {
	reaper, err := x.Reaper.get()
	if err != nil {
		return nil, err
	}
	subject.Reaper = reaper
	return &local.Baseline{
		Home: x.Project.CacheDir(), Environ: x.Project.Environ,
		Repo: x.Project.Repo, Layout: x.Project.Layout, Settings: x.Settings, Subject: subject,
		Setup: x.Project.WorkspaceSetup(reaper), Note: x.Project.Warn, Recall: x.recorded,
		Remember: func(info gates.Info, s gates.Subject, r gates.Report) {
			if k := x.recordKey(info, s); k != "" && info.Pure {
				_ = x.store.Put(k, r) // without the entry, the base is checked again
			}
		},
	}, nil
}

// room implements [gates.Room] with the dependencies of the base.
func (x *Inspection) room(ctx context.Context, s gates.Subject) (string, []string, func(), error) {
	b, err := x.baselineOf(s)
	if err != nil {
		return "", nil, nil, err
	}
	return b.Lend(ctx, s.Tree)
}

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
		Room:  x.room,
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
	return x.recorded(x.Gates[at].Info(), s)
}

// recorded returns the stored report of a gate about a whole tree.
func (x *Inspection) recorded(info gates.Info, s gates.Subject) (gates.Report, bool) {
	if k := x.recordKey(info, s); k != "" {
		return x.store.Get(k)
	}
	return gates.Report{}, false
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
				x.Project.Warn(err.Error())
			}
		}
	}
}

type regressionOptions struct {
	files   []string
	command string
	runs    int
}

func (o regressionOptions) check() error {
	switch {
	case len(o.files) == 0 && (o.command != "" || o.runs != differential.DefaultRuns):
		return cli.Usage(errors.New("--regression-command and --regression-runs need --regression"),
			"name the test: --regression PATH")
	case o.runs < 1:
		return cli.Usage(errors.New("--regression-runs is the number of runs on each side, 1 or more"), "")
	}
	return nil
}

// regression returns the gate that runs the regression test on the working tree. It returns nothing if it was not
// requested.
func (x *Inspection) regression() []gates.Gate {
	o := x.Options.regression
	if len(o.files) == 0 {
		return nil
	}
	return []gates.Gate{differential.New(differential.Options{Files: o.files, Shell: o.command, Runs: o.runs,
		Base: x.room})}
}

// defaultMutantsBudget is the default time limit for "runplan gate --mutants".
const defaultMutantsBudget = time.Minute

type mutantOptions struct {
	asked  bool
	budget time.Duration
	bar    int
}

func (o mutantOptions) check() error {
	switch {
	case !o.asked && (o.bar != 0 || o.budget != defaultMutantsBudget):
		return cli.Usage(errors.New("--mutants-budget and --mutants-bar need --mutants"), "")
	case o.budget <= 0:
		return cli.Usage(errors.New("--mutants-budget must be more than 0"), "for example: --mutants-budget 2m")
	case o.bar < 0 || o.bar > 100:
		return cli.Usage(errors.New("--mutants-bar is a percentage from 0 to 100"), "")
	}
	return nil
}

func (x *Inspection) mutants() []gates.Gate {
	o := x.Options.mutants
	if !o.asked {
		return nil
	}
	return []gates.Gate{mutants.New(mutants.Options{Tree: x.room, Budget: o.budget, Bar: o.bar, Program: x.Rules.Program})}
}
