package local

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/runplan/runplan/gates"
	"github.com/runplan/runplan/gates/baseline"
	"github.com/runplan/runplan/gates/held"
	"github.com/runplan/runplan/gates/testout"
	"github.com/runplan/runplan/internal/lists"
	"github.com/runplan/runplan/internal/phrase"
	"github.com/runplan/runplan/internal/proc"
	"github.com/runplan/runplan/internal/recent"
)

// mostCases limits the cached test names of the newer generation; the older generation has the same limit.
const mostCases = 200_000

// reports caches the reports of gates, by tree and gate.
type reports = recent.Shared[string, gates.Report]

func newReports() *reports {
	return recent.NewShared[string](mostCases/4, func(r gates.Report) int { return 1 + len(r.Cases) + len(r.Findings) })
}

// proofs caches which tests ran on recent trees, by gate. The tree of one batch is the base of the next.
type proofs struct {
	*recent.Shared[string, map[string][]testout.Case]
}

func newProofs() proofs {
	return proofs{recent.NewShared[string](mostCases, func(m map[string][]testout.Case) int {
		n := 1
		for _, c := range m {
			n += len(c)
		}
		return n
	})}
}

// remember stores the tests of a tree whose gates passed.
func (p proofs) remember(tree string, v gates.Verdict) {
	if !v.OK() {
		return
	}
	known := map[string][]testout.Case{}
	for _, r := range v.Reports {
		if r.Cases != nil {
			known[r.Gate] = r.BaseCases()
		}
	}
	p.Put(tree, known)
}

// prove adds the data for the pipeline's comparison of tests to a subject: the tests of the base by name, and the
// base's tests on the candidate's code. done releases the used resources.
func (w *work) prove(s gates.Subject, base *Baseline) (gates.Subject, func()) {
	runner := held.New(held.Options{Repo: w.Repo, Room: w.room(s.Base), Gates: w.suitesOf, Decides: w.pool.setup.runs}, s)
	s.ChangedTests = w.GateConfig.ChangedTests
	s.BaseTests = func(ctx context.Context, gate string) ([]testout.Case, error) {
		tree, err := w.Repo.TreeOf(ctx, s.Base)
		if err != nil {
			return nil, err
		}
		if known, ok := w.proofs.Get(tree); ok && known[gate] != nil {
			return known[gate], nil
		}
		return base.Tests(ctx, gate)
	}
	s.BaseCount = func(ctx context.Context, gate string) *gates.TestCount {
		rep, err := base.look(ctx, gates.Info{Name: gate})
		if err != nil {
			return nil
		}
		return rep.Tests
	}
	s.BaseSuites = func(ctx context.Context) ([]string, error) {
		if tree, err := w.Repo.TreeOf(ctx, s.Base); err == nil {
			if known, ok := w.proofs.Get(tree); ok {
				return slices.Collect(maps.Keys(known)), nil
			}
		}
		return base.Suites(ctx)
	}
	s.Held = runner.Run
	return s, runner.Close
}

// suitesOf returns the test gates of a tree. They run no matter which files changed, because their tree is not a
// candidate.
func (w *work) suitesOf(dir string) []gates.Gate {
	settings := w.GateConfig.Whole()
	settings.More = nil
	return gates.Suites(dir, settings)
}

// room lends rooms of the run with HEAD at the commit base.
func (w *work) room(base string) gates.Room {
	return func(ctx context.Context, s gates.Subject) (string, []string, func(), error) {
		rooms, err := w.sealed(ctx)
		if err == nil && s.Tree == "" {
			s.Tree, err = w.Repo.TreeOf(ctx, base)
		}
		if err != nil {
			return "", nil, nil, err
		}
		rm, err := rooms.Take(ctx, base, s.Tree)
		if err != nil {
			return "", nil, nil, err
		}
		return rm.Dir, envOf(rm.Env, s.Env), rm.Release, nil
	}
}

// learnBase finds the tests of a commit while an agent works on it, because its gates need them. The first agent of a
// run waits for the result, so that the user learns of failures at the base before any cost. It returns how long the
// agent waited, and an error if the program of a suite is not installed, because then no batch can pass. Other
// missing parts, such as packages, scripts and settings, may come with a batch. It calls waits when a wait begins.
func (w *work) learnBase(ctx context.Context, commit string, waits func()) (time.Duration, error) {
	if commit == "" || literal(w.Agent) {
		return 0, nil
	}
	begun := w.Now()
	w.awaitBase(ctx, commit, waits)
	if first, broken := w.firstBase.Load(), w.baseError.Load(); broken != nil && first != nil && *first == commit {
		return 0, fmt.Errorf("no agent was started, because no batch could pass: %w", *broken)
	}
	return w.Now().Sub(begun), nil
}

func (w *work) awaitBase(ctx context.Context, commit string, waits func()) {
	ended := make(chan struct{})
	was, begun := w.learning.LoadOrStore(commit, ended)
	if !begun {
		rooms, err := w.sealed(ctx)
		if err != nil {
			close(ended)
			return // the next user of rooms reports the error
		}
		first := w.firstBase.CompareAndSwap(nil, &commit)
		w.background.Go(func() {
			defer close(ended)
			w.learn(ctx, rooms, commit, first)
		})
	}
	if first := w.firstBase.Load(); first == nil || *first != commit {
		return
	}
	waits()
	select {
	case <-was.(chan struct{}):
		return
	case <-time.After(patience):
		w.Note("testing the base first: the agent starts when the failures without its change are known")
	case <-ctx.Done():
		return
	}
	select {
	case <-was.(chan struct{}):
	case <-ctx.Done():
	}
}

// patience limits how long the first agent waits without a message.
const patience = 3 * time.Second

// learn runs the suites on a commit. With tell, it notes the failures.
func (w *work) learn(ctx context.Context, rooms *Rooms, commit string, tell bool) {
	tree, err := w.Repo.TreeOf(ctx, commit)
	if err != nil {
		return
	}
	if _, known := w.proofs.Get(tree); known {
		return
	}
	base := w.baseline(w.on(commit))
	base.rooms = rooms
	defer base.Close(context.WithoutCancel(ctx))
	var red []redAt
	for _, g := range w.suitesOf(w.Repo.Root) {
		if ctx.Err() != nil {
			return
		}
		rep, err := base.look(ctx, g.Info())
		if errors.Is(err, proc.ErrNotFound) && tell && ctx.Err() == nil {
			w.baseError.Store(&err)
		}
		if err != nil || rep.Status != gates.Fail {
			continue
		}
		for _, f := range rep.Findings {
			if f.Severity == gates.Error {
				red = append(red, redAt{g.Info(), f, rep.Tests == nil || rep.Tests.Passed > 0})
			}
		}
	}
	if tell && len(red) > 0 {
		w.Note(w.redact.String(w.redWords(base.At(), red)))
	}
}

type redAt struct {
	gate     gates.Info
	finding  gates.Finding
	suiteRan bool // other tests of the same suite passed, or the gate is a linter
}

// redWords describes the failures at the base and the batches that must correct them.
func (w *work) redWords(at string, red []redAt) string {
	name := func(f gates.Finding) string {
		if f.Rule == gates.RuleBuild && f.Path != "" && f.Message != "" {
			return f.Path + ": " + phrase.Fit(f.Message, 200) // for example: a package is not installed
		}
		return cmp.Or(f.Test, f.Path, phrase.Fit(f.Message, 200))
	}
	list := func(found []redAt) string {
		var names []string
		for _, r := range found {
			if n := name(r.finding); !slices.Contains(names, n) {
				names = append(names, n)
			}
		}
		return phrase.Few(names, 5)
	}
	text := fmt.Sprintf("%s at the base, %s, before any change; ", phrase.Count(len(red), "failure", "failures"), at)
	all := ": " + list(red)
	var answers []string
	rest := red
	if nameless := slices.DeleteFunc(slices.Clone(red),
		func(r redAt) bool {
			return baseline.Tells(r.finding) || r.suiteRan && baseline.Unbuilt(r.finding)
		}); len(nameless) > 0 {
		who := "each batch"
		if !slices.ContainsFunc(nameless, func(r redAt) bool { return !r.gate.Nested() }) {
			who = "each batch that changes files of the same project"
		}
		return text + who + " fails until this failure is corrected, because it names no test: " + list(nameless)
	}
	for _, info := range w.info.Batches {
		b, ok := w.Plan.Batch(info.Key)
		if !ok || info.Skip != "" {
			continue
		}
		s := gates.Subject{Batch: *b}
		its := lists.Filter(red, func(r redAt) bool { return s.Answers(r.gate, r.finding) })
		rest = lists.Filter(rest, func(r redAt) bool { return !s.Answers(r.gate, r.finding) })
		if len(its) > 0 {
			answers = append(answers, fmt.Sprintf("batch %s must correct %s, which it names", info.Key, list(its)))
		}
	}
	switch {
	case !w.Baseline:
		return text + "gates.baseline is off, so each batch must correct all these failures" + all
	case len(answers) == 0:
		return text + "no batch names these failures, so no batch corrects them" + all
	}
	if len(rest) > 0 {
		answers = append(answers, "the rest is excused: "+list(rest))
	}
	return text + strings.Join(answers, "; ")
}
