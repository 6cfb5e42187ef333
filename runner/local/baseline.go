package local

import (
	"cmp"
	"context"
	"errors"
	"path/filepath"
	"slices"
	"sync"

	"github.com/runplan/runplan/gates"
	"github.com/runplan/runplan/gates/baseline"
	"github.com/runplan/runplan/gates/differential"
	"github.com/runplan/runplan/gates/mutants"
	"github.com/runplan/runplan/gates/promise"
	"github.com/runplan/runplan/gates/suite"
	"github.com/runplan/runplan/gates/testout"
	"github.com/runplan/runplan/internal/git"
	"github.com/runplan/runplan/internal/lists"
	"github.com/runplan/runplan/planparse"
	"github.com/runplan/runplan/runner/journal"
	"github.com/runplan/runplan/runner/room"
)

// Baseline runs gates on the base commit of a change, in a room that it creates when needed. [Baseline.Close] releases
// the room.
type Baseline struct {
	Repo     *git.Repo
	Layout   journal.Layout
	Home     string // folder of runplan's own files, outside of the repository
	Setup    Setup
	Environ  []string // of the programs in the room
	Note     func(string)
	Settings gates.Settings
	Subject  gates.Subject // as the gates saw the change

	// Recall and Remember, if set, cache reports of gates about a tree.
	Recall   func(info gates.Info, s gates.Subject) (gates.Report, bool)
	Remember func(info gates.Info, s gates.Subject, r gates.Report)
	// Learn, if set, gets the reports of test suites about the change itself, before they are compared with the base. The
	// change may be the base of the next one.
	Learn func(info gates.Info, s gates.Subject, r gates.Report)

	rooms *Rooms // nil: created when needed
	mine  bool   // the baseline created the rooms and must close them
	mu    sync.Mutex
	room  *room.Room
	gates []gates.Gate
	tree  string
	err   error // why there is no room

	// plain is for gates that need only the files of the tree, in a room without dependencies and set-up, which can
	// take minutes.
	plain *Baseline
}

// At returns a name of the base for people.
func (b *Baseline) At() string { return b.Subject.Base[:min(len(b.Subject.Base), 10)] }

// Around wraps the gates so that existing findings count as known.
func (b *Baseline) Around(list []gates.Gate) []gates.Gate {
	out := make([]gates.Gate, len(list))
	for i, g := range list {
		out[i] = g
		if info := g.Info(); info.Kind == gates.Static && !info.Compares && !info.Scoped {
			out[i] = baseline.Around(knowing{g, b}, b.At(),
				func(ctx context.Context, _ string) (gates.Report, error) { return b.look(ctx, info) })
		}
	}
	return out
}

// knowing runs a gate that gets the names of the tests that failed on the base.
type knowing struct {
	gates.Gate
	base *Baseline
}

func (k knowing) Check(ctx context.Context, s gates.Subject) (gates.Report, error) {
	info := k.Info()
	s.FailedBefore = func(ctx context.Context) []string { return k.base.failed(ctx, info) }
	rep, err := k.Gate.Check(ctx, s)
	if err == nil && k.base.Learn != nil && s.Tree != "" && rep.Status != gates.Skipped && gates.IsSuite(info.Name) {
		k.base.Learn(info, s, rep)
	}
	return rep, err
}

// failed returns the tests of a gate that fail on the base, if they are known without running the gate.
func (b *Baseline) failed(ctx context.Context, gate gates.Info) []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.Recall == nil {
		return nil
	}
	s, err := b.onBase(ctx)
	if err != nil {
		return nil
	}
	rep, _ := b.Recall(gate, s)
	var tests []string
	for _, f := range rep.Findings {
		if f.Test != "" {
			tests = append(tests, f.Test)
		}
	}
	return tests
}

// onBase returns the subject for the base, and finds its tree. The caller holds the lock.
func (b *Baseline) onBase(ctx context.Context) (gates.Subject, error) {
	s := b.Subject
	if b.tree == "" {
		if b.tree, b.err = b.Repo.TreeOf(ctx, b.Subject.Base); b.err != nil {
			return s, b.err
		}
	}
	s.Tree, s.Changed, s.Diff, s.Before, s.Dir = b.tree, nil, nil, nil, ""
	return s, nil
}

// fresh runs the gate like look, but without cached results, for callers that need the gate's effect on the room.
func (b *Baseline) fresh(ctx context.Context, now gates.Info) (gates.Report, error) {
	recall := b.Recall
	b.Recall = nil
	defer func() { b.Recall = recall }()
	return b.look(ctx, now)
}

// look runs a gate on the base, or returns its cached report.
func (b *Baseline) look(ctx context.Context, now gates.Info) (gates.Report, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	s, err := b.onBase(ctx)
	if err != nil {
		return gates.Report{}, err
	}
	if b.Recall != nil {
		if r, ok := b.Recall(now, s); ok {
			return r, nil
		}
	}
	if now.Command == "" && !gates.IsSuite(now.Name) && b.rooms == nil && !b.Setup.none {
		return b.withoutSetup().look(ctx, now)
	}
	if err := b.open(ctx); err != nil {
		return gates.Report{}, err
	}
	s.Dir, s.Env, s.Sealed = b.room.Dir, envOf(b.room.Env, b.Subject.Env), true
	if s.LogDir != "" {
		s.LogDir = filepath.Join(s.LogDir, "base")
	}
	for _, g := range b.gates {
		if g.Info().Name != now.Name {
			continue
		}
		var planted planted
		s.Planted = planted.note
		s.BaseTests = func(context.Context, string) ([]testout.Case, error) { return nil, nil }
		v, err := gates.Run(ctx, []gates.Gate{g}, s, nil)
		if err != nil {
			return gates.Report{}, err
		}
		if d, err := b.room.Check(ctx); err == nil {
			b.rooms.Expect(withoutSource(planted.off(d)))
		}
		if b.Remember != nil {
			b.Remember(now, s, v.Reports[0])
		}
		return v.Reports[0], nil
	}
	return gates.Report{}, baseline.ErrNoGate
}

// withoutSetup returns the baseline for gates that need only the files of the tree. The caller holds the lock.
func (b *Baseline) withoutSetup() *Baseline {
	if b.plain == nil {
		b.plain = &Baseline{Repo: b.Repo, Layout: b.Layout, Home: b.Home, Setup: Setup{none: true}, Environ: b.Environ,
			Note: b.Note, Settings: b.Settings, Subject: b.Subject, Remember: b.Remember}
	}
	return b.plain
}

// Tests returns the names of a gate's tests on the base. It is nil if the gate reports no names, and empty if the base
// does not have the suite.
func (b *Baseline) Tests(ctx context.Context, gate string) ([]testout.Case, error) {
	rep, err := b.look(ctx, gates.Info{Name: gate})
	if errors.Is(err, baseline.ErrNoGate) {
		return []testout.Case{}, nil
	}
	return rep.BaseCases(), err
}

// Suites returns the names of the test gates of the base.
func (b *Baseline) Suites(ctx context.Context) ([]string, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.rooms == nil && !b.Setup.none {
		return b.withoutSetup().Suites(ctx)
	}
	if err := b.open(ctx); err != nil {
		return nil, err
	}
	var names []string
	for _, g := range b.gates {
		if info := g.Info(); gates.IsSuite(info.Name) && info.Command != "" { // without a command there is no suite to run
			names = append(names, info.Name)
		}
	}
	return names, nil
}

// open creates a room of the base, once. The caller holds the lock.
func (b *Baseline) open(ctx context.Context) error {
	if b.room != nil || b.err != nil {
		return b.err
	}
	if _, err := b.onBase(ctx); err != nil {
		return err
	}
	if b.rooms == nil {
		if b.rooms, b.err = NewRooms(ctx, b.Home, b.Repo, b.Layout, b.Setup, b.Environ, b.Note); b.err != nil {
			return b.err
		}
		b.mine = true
	}
	if b.room, b.err = b.rooms.Take(ctx, b.Subject.Base, b.tree); b.err != nil {
		return b.err
	}
	b.gates = suite.All(b.room.Dir, b.Settings.Whole())
	return nil
}

// Close releases the room.
func (b *Baseline) Close(ctx context.Context) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	var err error
	if b.plain != nil {
		err = b.plain.Close(ctx)
	}
	if b.room != nil {
		b.room.Release()
		b.room = nil
	}
	if !b.mine {
		return err
	}
	b.mine = false
	rooms := b.rooms
	b.rooms = nil
	return errors.Join(err, rooms.Close(ctx))
}

// Lend returns the folder and the environment of a room with the base's dependencies and the files of tree; "" means
// the base's tree. The caller may write to it. done closes b.
func (b *Baseline) Lend(ctx context.Context, tree string) (dir string, env []string, done func(), err error) {
	b.tree = tree
	done = func() { // also if ctx has ended
		if err := b.Close(context.WithoutCancel(ctx)); err != nil {
			b.Note(err.Error())
		}
	}
	if err := b.open(ctx); err != nil {
		return "", nil, done, err
	}
	return b.room.Dir, envOf(b.room.Env, b.Subject.Env), done, nil
}

// asked returns the gates that the batch or the settings add to the project's own. Their trees are rooms on base.
func (w *work) asked(b *planparse.Batch, base string) []gates.Gate {
	var list []gates.Gate
	if len(b.Regression) > 0 {
		list = append(list, differential.New(differential.Options{Files: b.Regression, Base: w.room(base)}))
	}
	if w.Mutants.Budget > 0 || w.Mutants.Share > 0 || b.Mutants > 0 {
		o := w.Mutants
		o.Bar = cmp.Or(b.Mutants, o.Bar)
		o.Tree = w.room(base)
		list = append(list, mutants.New(o))
	}
	return list
}

// promising adds to the settings of the gates what the promise gates need to compare a batch with the plan.
func (w *work) promising(b *planparse.Batch, o promise.Options) gates.Settings {
	s := w.GateConfig
	if s.Promises.Off {
		return s
	}
	o.Severity, o.Timeout, o.Literal, o.Project = s.Promises.Severity, s.Promises.Timeout, literal(w.Agent),
		filepath.Base(w.Repo.Root)
	o.Preamble = w.Plan.Preamble
	if at := slices.IndexFunc(w.Plan.Batches, func(other planparse.Batch) bool { return other.Key == b.Key }); at > 0 {
		o.Earlier = w.Plan.Batches[:at]
	}
	s.More = append(slices.Clone(s.More), promise.Gates(b, o)...)
	return s
}

// commandsOf lists the commands of a tree's test gates, and detects them at the first call.
func (w *work) commandsOf(dir string) func() []string {
	return func() []string {
		return lists.Map(w.suitesOf(dir), func(g gates.Gate) string { return g.Info().Command })
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
func (w *work) apart(base string) (take func(context.Context, gates.Subject) (string, []string, error), leave func()) {
	var at string
	var env []string
	var done func()
	take = func(ctx context.Context, s gates.Subject) (_ string, _ []string, err error) {
		if done == nil {
			at, env, done, err = w.room(base)(ctx, s)
		}
		return at, env, err
	}
	return take, func() {
		if done != nil {
			done()
		}
	}
}
