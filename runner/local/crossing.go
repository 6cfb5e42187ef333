package local

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/runplan/runplan/gates"
	"github.com/runplan/runplan/gates/held"
	"github.com/runplan/runplan/gates/testout"
	"github.com/runplan/runplan/internal/language"
	"github.com/runplan/runplan/internal/lists"
	"github.com/runplan/runplan/internal/phrase"
	"github.com/runplan/runplan/runner"
	"github.com/runplan/runplan/sampling"
)

// crossBudget limits the time for running candidates' tests on each other. If the tests of an author did not run on all
// trees in this time, all of them are omitted, so that every candidate is judged by the same tests.
const crossBudget = 10 * time.Minute

// crossing runs the tests of each candidate that passed on the code of the other candidates and of the base.
type crossing struct {
	w     *work
	c     runner.Command
	base  string // tree
	cands []sampling.Candidate
	until time.Time
	tests []sampling.CrossTest
}

// cross adds evidence to the candidates that passed, if at least two of them have different trees and the project has a
// test suite. first is the attempt before the tournament. The next round of the same tournament gets the same evidence.
func (w *work) cross(ctx context.Context, c runner.Command, cands []sampling.Candidate, first runner.Event) error {
	key := fmt.Sprintf("%s %d", c.Batch, c.Attempt)
	var evidence map[int]sampling.Evidence
	if known, ok := w.crossed.Load(key); ok {
		evidence = known.(map[int]sampling.Evidence)
	} else {
		var err error
		if evidence, err = w.evidence(ctx, c, cands, first); err != nil {
			return err
		}
		w.crossed.Store(key, evidence)
	}
	for i := range cands {
		e, ok := evidence[cands[i].Number]
		if !ok {
			continue
		}
		cands[i].Measure.Evidence = &e
		var err error
		if cands[i].Score, err = w.Sampling.Scorer.Score(cands[i].Measure); err != nil {
			return err
		}
	}
	return nil
}

func (w *work) evidence(ctx context.Context, c runner.Command, cands []sampling.Candidate,
	first runner.Event) (map[int]sampling.Evidence, error) {
	x := &crossing{w: w, c: c, until: w.Now().Add(crossBudget)}
	var numbers []int
	for _, cand := range cands {
		if cand.Void == "" && cand.Measure.Passed && cand.Tree != "" {
			x.cands, numbers = append(x.cands, cand), append(numbers, cand.Number)
		}
	}
	trees := lists.SetBy(x.cands, func(cand sampling.Candidate) string { return cand.Tree })
	if len(trees) < 2 || len(w.suitesOf(w.Repo.Root)) == 0 {
		return nil, nil
	}
	var err error
	if x.base, err = w.Repo.TreeOf(ctx, c.Base); err != nil {
		return nil, fmt.Errorf("compare the candidates of batch %s: %w", c.Batch, err)
	}
	authors := slices.Clone(x.cands)
	if first.Base == c.Base { // number 0 marks the tests of an author that does not compete
		authors = append(authors, sampling.Candidate{Tree: first.Tree})
	}
	for _, author := range authors {
		tested, err := x.changesTests(ctx, author)
		if err != nil {
			return nil, err
		}
		if !tested {
			continue
		}
		whole, err := x.author(ctx, author)
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if err != nil {
			w.Note(fmt.Sprintf("the tests of %s of batch %s are ignored: %s", nameOf(author), c.Batch, phrase.Line(err.Error())))
			continue
		}
		if !whole {
			w.Note(fmt.Sprintf("the tests of %s of batch %s are ignored: %s were not enough to run them on the other candidates",
				nameOf(author), c.Batch, crossBudget))
		}
	}
	return sampling.Weigh(numbers, x.tests), nil
}

func nameOf(author sampling.Candidate) string {
	if author.Number == 0 {
		return "the attempt before the tournament"
	}
	return fmt.Sprintf("candidate %d", author.Number)
}

// changesTests reports whether a candidate added or changed a test file.
func (x *crossing) changesTests(ctx context.Context, author sampling.Candidate) (bool, error) {
	entries, err := x.w.Repo.Compare(x.c.Base, author.Tree).Entries(ctx)
	if err != nil {
		return false, fmt.Errorf("find the tests of %s: %w", nameOf(author), err)
	}
	for _, e := range entries {
		if _, now := e.Blobs(); now != "" && language.IsTest(e.Path) {
			return true, nil
		}
	}
	return false, nil
}

// author runs one candidate's tests on the base and on the other candidates. whole is false if the time was too short.
func (x *crossing) author(ctx context.Context, author sampling.Candidate) (whole bool, err error) {
	var found []sampling.CrossTest
	for _, g := range x.w.suitesOf(x.w.Repo.Root) {
		gate := g.Info().Name
		own, err := x.cases(ctx, author, gate)
		if err != nil {
			return false, err
		}
		if len(own) == 0 {
			continue
		}
		before, late, err := x.run(ctx, author, x.base, gate)
		if err != nil || late {
			return false, err
		}
		there, err := x.cases(ctx, sampling.Candidate{Tree: x.base}, gate)
		if err != nil {
			return false, err
		}
		old := lists.SetBy(there, func(c testout.Case) string { return c.Key() })
		// A candidate passes its own tests, or it would have failed. The attempt before the tournament may have failed one of
		// its tests.
		own = slices.DeleteFunc(own, func(c testout.Case) bool {
			return c.Status != testout.Passed && (author.Number > 0 || c.Status != testout.Failed) || before[c.Key()] &&
				old[c.Key()]
		})
		at := len(found)
		for _, c := range own {
			t := sampling.CrossTest{Author: author.Number, Name: strings.TrimSpace(c.Group + " " + c.Name),
				Base: before[c.Key()]}
			if author.Number > 0 {
				t.Passes = []int{author.Number}
			}
			found = append(found, t)
		}
		if len(own) == 0 {
			continue
		}
		for _, other := range x.cands {
			if other.Number == author.Number { // passes its own tests
				continue
			}
			passed := map[string]bool{}
			if other.Tree != author.Tree {
				if passed, late, err = x.run(ctx, author, other.Tree, gate); err != nil || late {
					return false, err
				}
			}
			for i, c := range own {
				if other.Tree == author.Tree || passed[c.Key()] {
					found[at+i].Passes = append(found[at+i].Passes, other.Number)
				}
			}
		}
	}
	x.tests = append(x.tests, found...)
	return true, nil
}

// cases returns the tests of a suite that ran in the gates of a candidate.
func (x *crossing) cases(ctx context.Context, author sampling.Candidate, gate string) ([]testout.Case, error) {
	if known, ok := x.w.proofs.Get(author.Tree); ok {
		return slices.Clone(known[gate]), nil
	}
	base := x.w.baseline(x.w.on(x.c.Base))
	base.tree = author.Tree
	defer base.Close(context.WithoutCancel(ctx))
	rep, err := base.look(ctx, gates.Info{Name: gate})
	return slices.Clone(rep.BaseCases()), err
}

// run runs a candidate's tests on the code of another tree, and returns the tests that passed. A test file that does
// not build there has not passed.
func (x *crossing) run(ctx context.Context, author sampling.Candidate, tree, gate string) (passed map[string]bool,
	late bool, err error) {
	if x.w.Now().After(x.until) {
		return nil, true, nil
	}
	s := x.w.on(author.Tree)
	s.Tree, s.Sealed = tree, true
	runner := held.New(held.Options{Repo: x.w.Repo, Room: x.w.room(x.c.Base), Gates: x.w.suitesOf,
		Decides: x.w.pool.setup.runs}, s)
	defer runner.Close()
	out, err := runner.Run(ctx, gate)
	if err != nil {
		return nil, false, err
	}
	passed = map[string]bool{}
	if out.Nothing { // both have the same tests, and that tree passes its own
		known, err := x.cases(ctx, sampling.Candidate{Tree: tree}, gate)
		out.Cases = known
		if err != nil {
			return nil, false, err
		}
	}
	if len(out.Left) > 0 && tree != x.base {
		return passed, false, nil
	}
	for _, c := range out.Cases {
		if c.Status == testout.Passed {
			passed[c.Key()] = true
		}
	}
	return passed, false, nil
}
