package runner

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/runplan/runplan/agents"
	"github.com/runplan/runplan/gates"
)

// repo is a model of a git repository with just enough detail to detect whether a run damages it.
type repo struct {
	commits map[string]commit
	tests   map[string]int      // by tree
	branch  []string            // the run branch, oldest first
	gated   map[string]bool     // by batch and tree
	allowed map[string]int      // how often each batch may stand on the branch
	clash   map[string][]string // batches whose changes exclude each other unless one knows of the other
	aware   map[string][]string // what each change knew of
	landed  string

	looked  map[string]Outcome // by command kind and change: what reviews said
	agreed  map[string]bool    // by batch and tree, or by commit: what a person agreed to
	finally map[string]Event   // the final review, by commit
}

type commit struct {
	parent, tree, batch string
}

func newRepo(info Info) *repo {
	r := &repo{
		commits: map[string]commit{info.Base: {tree: "0"}}, tests: map[string]int{"0": 10},
		branch: []string{info.Base}, gated: map[string]bool{}, allowed: map[string]int{},
		clash: map[string][]string{}, aware: map[string][]string{},
		looked: map[string]Outcome{}, agreed: map[string]bool{}, finally: map[string]Event{},
	}
	for _, b := range info.Batches {
		r.allowed[b.Key] = 1
	}
	return r
}

func (r *repo) tip() string { return r.branch[len(r.branch)-1] }

// commit commits change on top of parent. The last digit of a change is the number of tests that it adds.
func (r *repo) commit(parent, change, batch string) string {
	return r.commitTree(parent, r.commits[parent].tree+"+"+change, batch)
}

// commitTree commits a tree.
func (r *repo) commitTree(parent, tree, batch string) string {
	n := 10
	for _, change := range strings.Split(tree, "+")[1:] {
		n += int(change[len(change)-1] - '0')
	}
	r.tests[tree] = n
	id := fmt.Sprintf("k%d", len(r.commits))
	r.commits[id] = commit{parent, tree, batch}
	return id
}

// change returns the difference between a commit and its parent, or the whole tree if they are unrelated.
func (r *repo) change(id string) string {
	c := r.commits[id]
	return strings.TrimPrefix(c.tree, r.commits[c.parent].tree+"+")
}

// held returns the batches whose changes a tree contains.
func held(tree string) map[string]bool {
	in := map[string]bool{}
	for _, change := range strings.Split(tree, "+")[1:] {
		in[batchOf(change)] = true
	}
	return in
}

func batchOf(change string) string { return change[:strings.Index(change, ".")+1] }

// broken returns the names of two conflicting changes in a tree of which neither was made with knowledge of the
// other, or "".
func (r *repo) broken(tree string) string {
	in := held(tree)
	for _, change := range strings.Split(tree, "+")[1:] {
		for _, other := range r.clash[batchOf(change)] {
			if in[other] && !r.knows(tree, change, other) {
				return batchOf(change) + " and " + other
			}
		}
	}
	return ""
}

// knows reports whether one of two changes was made with knowledge of the other.
func (r *repo) knows(tree, change, other string) bool {
	if slices.Contains(r.aware[change], other) {
		return true
	}
	for _, c := range strings.Split(tree, "+")[1:] {
		if batchOf(c) == other && slices.Contains(r.aware[c], batchOf(change)) {
			return true
		}
	}
	return false
}

// merge moves the branch as git would, and returns an error if a run must not request this merge.
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
	if k.tree != r.commits[c.Base].tree+"+"+r.change(c.Commit) || strings.Count(r.change(c.Commit), "+") > 0 {
		return "", fmt.Errorf("%s adds more than its batch to the run branch", c.ID)
	}
	if clash := r.broken(k.tree); clash != "" {
		return "", fmt.Errorf("%s breaks the run branch: %s exclude each other", c.ID, clash)
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
		return "", fmt.Errorf("%s is merge %d of its batch, %d are allowed", c.ID, n, r.allowed[c.Batch])
	}
	return OutcomeOK, nil
}

// count returns how often a batch is on the branch.
func (r *repo) count(batch string) int {
	n := 0
	for _, id := range r.branch {
		if r.commits[id].batch == batch {
			n++
		}
	}
	return n
}

// history returns a commit and all its ancestors.
func (r *repo) history(tip string) map[string]bool {
	in := map[string]bool{}
	for ; tip != ""; tip = r.commits[tip].parent {
		in[tip] = true
	}
	return in
}

// land moves the user's branch forward, never backward.
func (r *repo) land(tip string) {
	if !r.history(r.landed)[tip] {
		r.landed = tip
	}
}

// complete reports whether all batches on the run branch have landed.
func (r *repo) complete() bool {
	in := r.history(r.landed)
	return !slices.ContainsFunc(r.branch, func(id string) bool { return r.commits[id].batch != "" && !in[id] })
}

// world executes commands, with random failures.
type world struct {
	*repo
	rand   *rand.Rand
	clock  time.Time
	needs  map[string][]string
	honest bool // from now on all goes well

	changes int
	passers map[string][]int // candidates that passed their gates, by batch and attempt
}

func (w *world) sample(e *Event) {
	switch {
	case w.chance(20):
		e.Outcome = OutcomeRefused
	case w.chance(10):
		e.Outcome, e.Reason = OutcomeFailed, "hopeless"
	default:
		e.Outcome, e.AtOnce = OutcomeOK, 1+w.rand.IntN(3)
		for n := range 1 + w.rand.IntN(4) {
			e.Slots = append(e.Slots, Slot{Number: n + 1, Variant: fmt.Sprint("v", n)})
		}
	}
}

func (w *world) judge(c Command, e *Event) {
	passers := w.passers[fmt.Sprint(c.Batch, c.Attempt)]
	if len(passers) > 0 {
		e.Candidate = passers[w.rand.IntN(len(passers))]
	}
	switch {
	case w.chance(33):
		e.Outcome = OutcomeUndecided
	case len(passers) > 0:
		e.Outcome = OutcomeOK
	default:
		e.Outcome, e.Fingerprint = OutcomeFailed, fmt.Sprint(w.rand.IntN(2))
	}
}

func (w *world) chance(percent int) bool { return !w.honest && w.rand.IntN(100) < percent }

// work executes c and returns its event. A failure can come before or after the work.
func (w *world) work(c Command) (Event, error) {
	e := Event{Kind: reportOf(c.Kind), Command: c.ID, Batch: c.Batch, Attempt: c.Attempt}
	trouble := w.chance(6)
	if trouble && w.chance(50) {
		w.trouble(c, &e)
		return e, nil
	}
	var err error
	switch c.Kind {
	case Execute:
		w.execute(c, &e)
	case Sample:
		w.sample(&e)
	case Judge:
		w.judge(c, &e)
	case Rebase:
		w.rebase(c, &e)
	case Gate, Trial:
		w.gate(c, &e)
	case Commit:
		w.commitOn(c, &e)
	case Merge:
		err = w.mergeOn(c, &e)
	case Wait, Ask:
		e.Outcome, e.Commit, e.Tree = OutcomeOK, c.Commit, c.Tree
	case Review, Fidelity:
		w.review(c, &e)
	case LandRun:
		e.Outcome = OutcomeOK
		if w.chance(30) {
			e.Outcome = OutcomeRefused
		} else {
			w.land(c.Commit)
		}
	}
	if trouble {
		w.trouble(c, &e)
	}
	return e, err
}

func (w *world) trouble(c Command, e *Event) {
	outcomes := []Outcome{OutcomeError, OutcomeCancelled}
	if c.Kind == Execute {
		outcomes = append(outcomes, OutcomeLimited, OutcomeHuman, OutcomeUnstarted)
	}
	if e.Outcome = outcomes[w.rand.IntN(len(outcomes))]; e.Outcome == OutcomeLimited {
		w.limit(e)
	}
}

// review sets a random verdict on a change.
func (w *world) review(c Command, e *Event) {
	e.Outcome, e.Commit, e.Tree = OutcomeOK, c.Commit, c.Tree
	if w.chance(20) {
		cost := float64(w.rand.IntN(2)) / 4
		e.Usage = &agents.Usage{CostUSD: &cost}
	}
	if c.Batch == "" {
		sure := w.rand.IntN(101)
		e.Review = &ReviewInfo{Verdict: []string{"pass", "block"}[w.rand.IntN(2)], Confidence: &sure}
		return
	}
	outcomes := []Outcome{OutcomeSkipped, OutcomeShallow, OutcomeComplex, OutcomeUndecided}
	if c.Kind == Fidelity {
		outcomes = []Outcome{OutcomeSkipped, OutcomeFailed}
	}
	if w.chance(30) {
		e.Outcome, e.Fingerprint = outcomes[w.rand.IntN(len(outcomes))], fmt.Sprint(w.rand.IntN(2))
	}
}

// limit makes the agent of an attempt meet a limit, usually with a correct end time.
func (w *world) limit(e *Event) {
	e.Outcome = OutcomeLimited
	if w.chance(80) {
		e.RetryAt = w.clock.Add(time.Duration(w.rand.IntN(40)-2) * time.Second)
	}
}

func (w *world) execute(c Command, e *Event) {
	cost := float64(w.rand.IntN(3)) / 4
	e.Usage = &agents.Usage{CostUSD: &cost}
	if w.chance(3) {
		e.Usage = nil
	}
	switch {
	case w.chance(6):
		e.Outcome, e.Tree = OutcomeFailed, fmt.Sprint(w.rand.IntN(3))
	case w.chance(4):
		e.Outcome = OutcomeUnchanged
	case w.chance(12):
		w.limit(e)
	case w.chance(3):
		e.Outcome = OutcomeTimedOut
	default:
		change := fmt.Sprintf("%s%d.%d", c.Batch, w.changes, w.rand.IntN(4))
		w.changes++
		if w.chance(30) {
			change = fmt.Sprintf("%s%d", c.Batch, w.rand.IntN(4)) // few, so that attempts are alike at times
		}
		for other := range held(w.commits[c.Base].tree) {
			w.aware[change] = append(w.aware[change], other)
		}
		slices.Sort(w.aware[change])
		e.Outcome, e.Base, e.Commit = OutcomeOK, c.Base, w.commit(c.Base, change, c.Batch)
		e.Tree = w.commits[e.Commit].tree
	}
}

// rebase puts the change of a candidate on top of another commit, or reports a random conflict.
func (w *world) rebase(c Command, e *Event) {
	e.Base = c.Base
	if w.chance(12) {
		e.Outcome = OutcomeConflict
		return
	}
	e.Outcome, e.Commit = OutcomeOK, w.commit(c.Base, w.change(c.Commit), c.Batch)
	e.Tree = w.commits[e.Commit].tree
}

func (w *world) gate(c Command, e *Event) {
	e.Outcome, e.Tree = OutcomeOK, c.Tree
	if w.chance(12) || w.broken(c.Tree) != "" {
		e.Outcome, e.Fingerprint = OutcomeFailed, fmt.Sprint(w.rand.IntN(2))
		return
	}
	w.gated[c.Batch+" "+c.Tree] = true
	if c.Slot != nil {
		key := fmt.Sprint(c.Batch, c.Attempt)
		w.passers[key] = append(w.passers[key], c.Slot.Number)
	}
	e.Tests = &gates.TestCount{Passed: w.tests[c.Tree]}
}

// commitOn commits the gated tree in one commit. A hook may change the tree.
func (w *world) commitOn(c Command, e *Event) {
	change := w.change(c.Commit)
	e.Base = c.Base
	switch {
	case w.chance(5):
		e.Outcome, e.Tree = OutcomeFailed, c.Tree
	case w.chance(10):
		hooked := c.Batch + "~" + change[len(c.Batch):]
		w.aware[hooked] = w.aware[change]
		e.Outcome, e.Commit = OutcomeChanged, w.commit(c.Base, hooked, c.Batch)
	default:
		e.Outcome, e.Commit = OutcomeOK, w.commitTree(c.Base, c.Tree, c.Batch)
	}
	if e.Commit != "" {
		e.Tree = w.commits[e.Commit].tree
	}
}

func (w *world) mergeOn(c Command, e *Event) (err error) {
	if w.chance(5) {
		w.branch = append(w.branch, w.commit(w.tip(), "outside.0", "")) // somebody else
	}
	e.Outcome, err = w.merge(c, w.needs[c.Batch])
	e.Base, e.Commit = w.tip(), c.Commit
	return err
}
