package runner

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/runplan/runplan/gates"
)

// repo is a model of a repository: just enough of git to tell whether a run did it harm.
type repo struct {
	commits map[string]commit
	tests   map[string]int  // by tree
	branch  []string        // the run branch, oldest first
	gated   map[string]bool // by batch and tree
	allowed map[string]int  // how often each batch may stand on the branch
	landed  string
}

type commit struct {
	parent, tree, batch string
}

func newRepo(info Info) *repo {
	r := &repo{
		commits: map[string]commit{info.Base: {tree: "0"}}, tests: map[string]int{"0": 10},
		branch: []string{info.Base}, gated: map[string]bool{}, allowed: map[string]int{},
	}
	for _, b := range info.Batches {
		r.allowed[b.Key] = 1
	}
	return r
}

func (r *repo) tip() string { return r.branch[len(r.branch)-1] }

// commit makes a commit of change on top of parent. A change brings as many tests as its last digit says.
func (r *repo) commit(parent, change, batch string) string {
	base := r.commits[parent].tree
	tree := base + "+" + change
	r.tests[tree] = r.tests[base] + int(change[len(change)-1]-'0')
	id := fmt.Sprintf("k%d", len(r.commits))
	r.commits[id] = commit{parent, tree, batch}
	return id
}

// change is what a commit did to its parent.
func (r *repo) change(id string) string {
	c := r.commits[id]
	return c.tree[len(r.commits[c.parent].tree)+1:]
}

// merge moves the branch as git would, and complains if a run must not have asked for it.
func (r *repo) merge(c Command, needs []string) (Outcome, error) {
	if slices.Contains(r.branch, c.Commit) {
		return OutcomeOK, nil // it was done before, and nobody wrote it down
	}
	if r.tip() != c.Base {
		return OutcomeMoved, nil
	}
	k := r.commits[c.Commit]
	if k.parent != c.Base {
		return "", fmt.Errorf("%s puts %s on %s, but it was made for %s", c.ID, c.Commit, c.Base, k.parent)
	}
	if !r.gated[c.Batch+" "+k.tree] {
		return "", fmt.Errorf("%s merges a tree that no gate has seen", c.ID)
	}
	for _, n := range needs {
		if r.count(n) == 0 {
			return "", fmt.Errorf("%s merges before batch %s, which it needs", c.ID, n)
		}
	}
	r.branch = append(r.branch, c.Commit)
	if n := r.count(c.Batch); n > r.allowed[c.Batch] {
		return "", fmt.Errorf("%s merges for time %d, %d are allowed", c.ID, n, r.allowed[c.Batch])
	}
	return OutcomeOK, nil
}

// count tells how often a batch stands on the branch.
func (r *repo) count(batch string) int {
	n := 0
	for _, id := range r.branch {
		if r.commits[id].batch == batch {
			n++
		}
	}
	return n
}

// history is all that a commit stands on, and the commit.
func (r *repo) history(tip string) map[string]bool {
	in := map[string]bool{}
	for ; tip != ""; tip = r.commits[tip].parent {
		in[tip] = true
	}
	return in
}

// land moves the user's branch forward, never back.
func (r *repo) land(tip string) {
	if !r.history(r.landed)[tip] {
		r.landed = tip
	}
}

// complete tells whether all batches on the run branch have landed.
func (r *repo) complete() bool {
	in := r.history(r.landed)
	return !slices.ContainsFunc(r.branch, func(id string) bool { return r.commits[id].batch != "" && !in[id] })
}

// world does what commands ask for, well or badly.
type world struct {
	*repo
	rand   *rand.Rand
	needs  map[string][]string
	honest bool // from now on all goes well

	rebases bool // commits on another base are tried; else they are conflicts
}

func (w *world) chance(percent int) bool { return !w.honest && w.rand.IntN(100) < percent }

// work carries c out and reports. Trouble may come before the work or after it.
func (w *world) work(c Command) (Event, error) {
	e := Event{Kind: reportOf(c.Kind), Command: c.ID, Batch: c.Batch, Attempt: c.Attempt}
	trouble := w.chance(6)
	if trouble && w.chance(50) {
		e.Outcome = w.trouble(c)
		return e, nil
	}
	var err error
	switch c.Kind {
	case Execute:
		w.execute(c, &e)
	case Gate:
		w.gate(c, &e)
	case Commit:
		w.commitOn(c, &e)
	case Merge:
		err = w.mergeOn(c, &e)
	case LandRun:
		e.Outcome = OutcomeOK
		if w.chance(30) {
			e.Outcome = OutcomeRefused
		} else {
			w.land(c.Commit)
		}
	}
	if trouble {
		e.Outcome = w.trouble(c)
	}
	return e, err
}

func (w *world) trouble(c Command) Outcome {
	outcomes := []Outcome{OutcomeError, OutcomeCancelled}
	if c.Kind == Execute {
		outcomes = append(outcomes, OutcomeLimited, OutcomeHuman)
	}
	return outcomes[w.rand.IntN(len(outcomes))]
}

func (w *world) execute(c Command, e *Event) {
	switch {
	case w.chance(6):
		e.Outcome, e.Tree = OutcomeFailed, fmt.Sprint(w.rand.IntN(3))
	case w.chance(4):
		e.Outcome = OutcomeUnchanged
	case w.chance(3):
		e.Outcome = OutcomeTimedOut
	default:
		change := fmt.Sprintf("%s%d", c.Batch, w.rand.IntN(4)) // few, so that attempts are alike at times
		e.Outcome, e.Base, e.Commit = OutcomeOK, c.Base, w.commit(c.Base, change, c.Batch)
		e.Tree = w.commits[e.Commit].tree
	}
}

func (w *world) gate(c Command, e *Event) {
	e.Outcome, e.Tree = OutcomeOK, c.Tree
	if w.chance(12) {
		e.Outcome, e.Fingerprint = OutcomeFailed, fmt.Sprint(w.rand.IntN(2))
		return
	}
	w.gated[c.Batch+" "+c.Tree] = true
	e.Tests = &gates.TestCount{Passed: w.tests[c.Tree]}
}

// commitOn replays the candidate on the base that c names. What stands on another base than the candidate is
// another tree, so the gates have to look again.
func (w *world) commitOn(c Command, e *Event) {
	change := w.change(c.Commit)
	e.Base = c.Base
	switch moved := w.commits[c.Commit].parent != c.Base; {
	case w.chance(5):
		e.Outcome, e.Tree = OutcomeFailed, c.Tree
	case moved && (!w.rebases || w.chance(30)):
		e.Outcome = OutcomeConflict
	case w.chance(10):
		e.Outcome, e.Commit = OutcomeChanged, w.commit(c.Base, c.Batch+"~"+change[len(c.Batch):], c.Batch)
	case moved:
		e.Outcome, e.Commit = OutcomeChanged, w.commit(c.Base, change, c.Batch)
	default:
		e.Outcome, e.Commit = OutcomeOK, w.commit(c.Base, change, c.Batch)
	}
	if e.Commit != "" {
		e.Tree = w.commits[e.Commit].tree
	}
}

func (w *world) mergeOn(c Command, e *Event) (err error) {
	if w.chance(5) {
		w.branch = append(w.branch, w.commit(w.tip(), "outside0", "")) // somebody else
	}
	e.Outcome, err = w.merge(c, w.needs[c.Batch])
	e.Base, e.Commit = w.tip(), c.Commit
	return err
}
