package runner

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// For any order of events and failures, a run violates no invariant and comes to an end.
func TestSimulation(t *testing.T) {
	runs := uint64(4_000)
	if testing.Short() {
		runs = 500
	}
	var next, events, crashes, switches, waits, answers atomic.Uint64
	var taken sync.Map                                 // Transition → true
	defer debug.SetGCPercent(debug.SetGCPercent(1600)) // or a fifth of the time would be collection; 300 MB
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for seed := next.Add(1); seed <= runs && !t.Failed(); seed = next.Add(1) {
				s, err := simulate(seed, sound)
				if err != nil {
					t.Errorf("seed %d: %v\n%s", seed, err, s)
				}
				for _, tr := range s.taken {
					taken.Store(tr, true)
				}
				events.Add(uint64(len(s.journal)))
				crashes.Add(uint64(s.crashes))
				switches.Add(uint64(s.met.switches))
				waits.Add(uint64(s.met.waits))
				answers.Add(uint64(s.answers))
			}
		})
	}
	wg.Wait()
	t.Logf(
		"%d runs, %d events, %d crashes; %d times another agent took over, %d limits were waited for, %d answers of a person",
		runs, events.Load(), crashes.Load(), switches.Load(), waits.Load(), answers.Load())
	for _, tr := range DefaultLoop().Transitions {
		if _, ok := taken.Load(tr); !ok {
			t.Errorf("no run takes the transition from %s on %s to %s", tr.From, tr.On, tr.To)
		}
	}
	if answers.Load() < runs/5 {
		t.Error("too few people were asked for a valid test")
	}
	if switches.Load() < runs/20 || waits.Load() < runs/20 {
		t.Error("too few limits were met for a valid test")
	}
}

// sim is one simulated run with random failures.
type sim struct {
	*audit
	*world
	build   build
	d       decider
	journal []Event
	replies [][]Command // to each event
	running []Command   // what the driver is at
	told    []string    // where the run branch was and is, as far as the machine can know
	crashes int
	answers int
	spent   float64
	untold  map[string]bool // batches that are gone from the branch, which was not reported yet
	met     meetings
}

// simulate runs a random plan with a random sequence of events.
func simulate(seed uint64, b build) (*sim, error) {
	r := rand.New(rand.NewPCG(seed, 20))
	info := randomInfo(r)
	s := &sim{world: &world{repo: newRepo(info), rand: r, clock: at(0), needs: map[string][]string{},
		passers: map[string][]int{}}, build: b, told: []string{info.Base}}
	s.audit = newAudit(info, s.fits)
	for _, i := range info.Batches {
		s.needs[i.Key] = slices.DeleteFunc(slices.Clone(i.Needs), func(k string) bool {
			return info.Batches[s.place[k]].Skip != ""
		})
	}
	var err error
	for range r.IntN(2 * len(info.Batches)) {
		x, y := info.Batches[r.IntN(len(info.Batches))].Key, info.Batches[r.IntN(len(info.Batches))].Key
		if x != y {
			s.clash[x] = append(s.clash[x], y)
		}
	}
	if s.d, err = b(info, s.took); err != nil {
		return s, err
	}
	if s.running, err = s.start(s.d); err != nil {
		return s, err
	}
	for range r.IntN(20 * (1 + len(info.Batches))) {
		if res, _ := s.d.Done(); res.Status == RunDone && r.IntN(4) == 0 {
			break
		}
		if err := s.step(); err != nil {
			return s, err
		}
	}
	return s, s.finish()
}

func randomInfo(r *rand.Rand) Info {
	n := 1 + r.IntN(6)
	if r.IntN(8) == 0 {
		n = 1 + r.IntN(25)
	}
	info := Info{
		Base: "k0", LoopVersion: LoopVersion, Workers: 1 + r.IntN(4), MaxAttempts: 1 + r.IntN(3),
		Land: []string{"branch", "ff"}[r.IntN(2)], Speculate: r.IntN(3) > 0, Escalate: r.IntN(2) == 0,
		Resample: r.IntN(3) == 0, StopAtFirst: r.IntN(2) == 0, Indexed: n%2 == 0, Round: n % 4,
		OnLimit: []string{"exit", "wait"}[r.IntN(2)], UnknownCost: []string{"stop", "allow"}[r.IntN(2)],
	}
	if r.IntN(2) == 0 { // reviews and people change the course of so much that runs without them are checked as well
		info.Review, info.FinalReview = []string{"", "programs", "all"}[r.IntN(3)], []string{"", "all"}[r.IntN(2)]
		info.Fidelity, info.LandBar = r.IntN(3) == 0, []int{0, 60}[r.IntN(2)]
	}
	for i := range r.IntN(4) { // none is an earlier run, when agents were not listed
		info.Agents = append(info.Agents, AgentInfo{Name: fmt.Sprint("agent", i)})
	}
	if r.IntN(4) == 0 {
		info.MaxCostUSD = float64(r.IntN(n*2)+1) / 4
	}
	for i := range n {
		b := BatchInfo{Key: fmt.Sprintf("b%d.", i), Number: fmt.Sprint(i)}
		if r.IntN(10) == 0 {
			b.Skip = "empty"
		}
		for range r.IntN(3) {
			if k := r.IntN(i + 1); k < i {
				b.Needs = append(b.Needs, info.Batches[k].Key)
				if r.IntN(2) == 0 {
					b.Early = append(b.Early, info.Batches[k].Key)
				}
			}
		}
		if r.IntN(5) == 0 {
			b.Sample = 1 + r.IntN(3)
		}
		b.ExpectMS = int64(r.IntN(3))
		b.Approve = r.IntN(8) == 0
		info.Batches = append(info.Batches, b)
	}
	r.Shuffle(n, func(i, j int) { info.Batches[i], info.Batches[j] = info.Batches[j], info.Batches[i] })
	return info
}

// step performs one random action.
func (s *sim) step() error {
	switch p := s.rand.IntN(100); {
	case p < 3:
		return s.crash()
	case p < 5:
		return s.post(Event{Kind: StopAsked, Outcome: OutcomeCancelled})
	case p < 9 && len(s.journal) > 0: // late and repeated
		e := s.journal[s.rand.IntN(len(s.journal))]
		if e.Command == "" {
			e = Event{Kind: Merged, Command: "no/r1-c0/merge", Outcome: OutcomeOK, Commit: "k99"}
		}
		return s.post(e)
	case p < 11 && len(s.running) > 0: // nonsense
		c := s.running[s.rand.IntN(len(s.running))]
		return s.post(Event{Kind: reportOf(c.Kind), Command: c.ID, Batch: c.Batch, Outcome: "what"})
	case p < 12:
		return s.reopen()
	case len(s.d.Waiting()) > 0 && (p < 16 || len(s.running) == 0 && p < 60):
		return s.answer()
	case len(s.running) == 0:
		return s.resume()
	}
	return s.finishOne()
}

// answer lets a person answer a pending question: with yes, with no, or for a different tree.
func (s *sim) answer() error {
	asked := s.d.Waiting()
	a := asked[s.rand.IntN(len(asked))]
	s.answers++
	switch {
	case s.chance(25):
		return s.post(a.No("ada", "no"))
	case s.chance(25):
		a.Tree, a.Commit = a.Tree+"?", a.Commit+"?"
	}
	return s.post(a.Yes("ada", ""))
}

// finishOne ends a command that is in progress and reports its result.
func (s *sim) finishOne() error {
	i := s.rand.IntN(len(s.running))
	c := s.running[i]
	s.running = slices.Delete(s.running, i, i+1)
	e, err := s.work(c)
	if err != nil {
		return err
	}
	if c.Kind == Wait && e.Outcome == OutcomeOK && c.Until.After(s.clock) {
		s.clock = c.Until
	}
	return s.post(e)
}

// post appends e to the journal and passes it to the machine.
func (s *sim) post(e Event) error {
	e.Seq = len(s.journal) + 1
	s.clock = s.clock.Add(time.Duration(s.rand.IntN(3)) * time.Second)
	e.At = s.clock
	s.journal = append(s.journal, e)
	s.hear(e)
	switch {
	case e.Kind == Merged && s.due(e) && e.Outcome == OutcomeOK:
		s.told = append(s.told, e.Commit)
	case e.Kind == Merged && s.due(e) && e.Outcome == OutcomeMoved,
		e.Kind == Reopened && e.Base != "" && s.views[e.Batch].Status == Passed:
		s.told = append(s.told, e.Base)
	case e.Kind == RunResumed && e.Commit != "":
		s.told = append(s.told, e.Commit)
	}
	if c, due := s.out[e.Command]; due && c.Kind == Execute && s.due(e) && e.Usage != nil {
		s.spent += *e.Usage.CostUSD
	}
	s.met.hear(s.out[e.Command], e, s.due(e), s.info)
	cmds, err := s.apply(s.d, e)
	for _, c := range cmds {
		if err == nil {
			err = s.met.fits(c, s.clock, s.info.Agents)
		}
	}
	s.replies = append(s.replies, cmds)
	s.running = append(s.running, cmds...)
	// A cancelled command may have been executed anyway; its result is not reported.
	s.running = slices.DeleteFunc(s.running, func(c Command) bool {
		_, on := s.out[c.ID]
		if !on && s.chance(50) {
			_, werr := s.work(c)
			err = errors.Join(err, werr)
		}
		return !on
	})
	return err
}

// hear records the results of reviews and the answers of persons, to check later that the machine respects them.
func (s *sim) hear(e Event) {
	switch c := s.out[e.Command]; {
	case e.Kind == Reviewed && s.due(e) && c.Batch == "" && e.Outcome == OutcomeOK:
		s.finally[c.Commit] = e
	case e.Kind == Reviewed && s.due(e) && c.Batch != "":
		s.looked[string(c.Kind)+" "+s.change(c.Commit)] = e.Outcome
	case e.Kind == ApprovalGiven && e.Batch == "":
		s.agreed[e.Commit] = true
	case e.Kind == ApprovalGiven:
		s.agreed[e.Batch+" "+e.Tree] = true
	}
	if u := e.Usage; e.Kind == Reviewed && s.due(e) && u != nil && u.CostUSD != nil {
		s.spent += *u.CostUSD
	}
}

// vouched reports a candidate that is about to be merged without the review, blueprint check or approval that it
// needs.
func (s *sim) vouched(c Command) error {
	change := s.change(c.Commit)
	said := s.looked["review "+change]
	switch b := s.info.Batches[s.place[c.Batch]]; {
	case s.info.Review != "" && said != OutcomeOK && said != OutcomeSkipped && said != OutcomeUndecided:
		return fmt.Errorf("commits a change that no review let through: %q", said)
	case s.info.Review == "" && said != "":
		return errors.New("was reviewed without a request")
	case s.info.Fidelity && s.looked["fidelity "+change] != OutcomeOK && s.looked["fidelity "+change] != OutcomeSkipped:
		return errors.New("commits a change that was not held against its blueprint")
	case (b.Approve || said == OutcomeUndecided) && !s.agreed[c.Batch+" "+c.Tree]:
		return fmt.Errorf("commits tree %s, to which no person agreed", c.Tree)
	}
	return nil
}

// resume resumes the run, in most cases with the current tip of its branch.
func (s *sim) resume() error {
	e := Event{Kind: RunResumed}
	if s.honest { // anyone who wants it done lifts the limit
		job := s.info
		job.MaxCostUSD = 0
		e.Job = &job
	}
	if s.rand.IntN(4) > 0 {
		e.Commit = s.tip()
	}
	return s.post(e)
}

// fits reports a command that does not match the state of the repository.
func (s *sim) fits(c Command) error {
	k := s.commits[c.Commit]
	under := s.commits[c.Base].tree
	switch c.Kind {
	case Wait:
		if c.Batch == "" && !slices.ContainsFunc(s.d.Batches(),
			func(v View) bool { return v.Status == Waiting || v.Status == Working }) {
			return errors.New("waits although nothing is held up")
		}
		return nil
	case Sample, Judge:
		return nil
	case Review, Fidelity, Ask:
		if c.Batch == "" && c.Commit != s.tipTold() {
			return fmt.Errorf("is about %s, but the run branch is at %s", c.Commit, s.tipTold())
		}
		if c.Kind == Ask && c.Batch != "" &&
			(k.tree != c.Tree || under != s.commits[s.tipTold()].tree || !s.gated[c.Batch+" "+c.Tree]) {
			return fmt.Errorf("asks about %s on %s, which is not what would be merged now", c.Tree, c.Base)
		}
		return nil
	case Execute:
		in := held(under)
		for _, n := range s.needs[c.Batch] {
			if s.untold[n] {
				continue
			}
			if !in[n] {
				return fmt.Errorf("starts on %s, which lacks %s", under, n)
			}
			if !slices.Contains(c.On, n) && s.count(n) == 0 {
				return fmt.Errorf("starts on %s, which is not merged, and does not say so", n)
			}
		}
		if len(c.On) > 0 && !s.info.Speculate {
			return fmt.Errorf("starts on %v, but speculation is not allowed", c.On)
		}
		for _, n := range c.On {
			if !slices.Contains(s.info.Batches[s.place[c.Batch]].Early, n) {
				return fmt.Errorf("starts on %s before it is merged, which it must not", n)
			}
		}
		if len(c.On) == 0 && c.Slot == nil && under != s.commits[s.tipTold()].tree {
			return fmt.Errorf("starts from %s, but the run branch is at %s", c.Base, s.tipTold())
		}
		if max := s.info.MaxCostUSD; max > 0 && s.spent >= max && !s.honest {
			return fmt.Errorf("starts an agent with %v spent of %v", s.spent, max)
		}
		return nil
	case Rebase:
		if s.commits[k.parent].tree != s.commits[c.From].tree || k.tree != c.Tree {
			return fmt.Errorf("rebases %s with tree %s from %s, but it is %v", c.Commit, c.Tree, c.From, k)
		}
		return nil
	case Gate:
		if s.commits[k.parent].tree != under || k.tree != c.Tree {
			return fmt.Errorf("gates %s with tree %s on %s, but it is %v", c.Commit, c.Tree, c.Base, k)
		}
		if n := s.tests[under]; c.Before != nil && c.Before.Passed != n {
			return fmt.Errorf("compares with %d tests, but there were %d", c.Before.Passed, n)
		}
		if !s.info.Speculate && c.Slot == nil && under != s.commits[s.tipTold()].tree {
			return fmt.Errorf("gates on %s, but the run branch is at %s and speculation is not allowed", c.Base, s.tipTold())
		}
		return nil
	case Trial:
		if s.commits[k.parent].tree != under || k.tree != c.Tree || len(c.On) > 0 {
			return fmt.Errorf("tries %s with tree %s on %s, but its agent made %v", c.Commit, c.Tree, c.Base, k)
		}
		return nil
	case Merge:
		if k.parent != c.Base || k.tree != c.Tree {
			return fmt.Errorf("merges %s with tree %s on %s, but it is %v; no gate has seen that", c.Commit, c.Tree, c.Base, k)
		}
		return nil
	case LandRun:
		for _, v := range s.views {
			if v.Status != Passed && v.Status != Skipped {
				return fmt.Errorf("lands before all is merged: batch %s is %s", v.Key, v.Status)
			}
		}
		if c.Commit != s.tipTold() {
			return fmt.Errorf("lands %s, but the run branch is at %s", c.Commit, s.tipTold())
		}
		last, reviewed := s.finally[c.Commit]
		if s.info.FinalReview != "" && !reviewed {
			return errors.New("lands without a final review")
		}
		sure := reviewed && last.Review.Verdict == VerdictPass && *last.Review.Confidence >= s.info.LandBar
		if s.info.LandBar > 0 && !sure && !s.agreed[c.Commit] {
			return errors.New("lands below the bar, to which no person agreed")
		}
		return nil
	case Commit:
		if !s.gated[c.Batch+" "+c.Tree] || k.tree != c.Tree {
			return fmt.Errorf("commits a tree that no gate has seen")
		}
		if err := s.vouched(c); err != nil {
			return err
		}
	}
	if c.Base != s.tipTold() {
		return fmt.Errorf("%ss on %s, but the run branch is at %s", c.Kind, c.Base, s.tipTold())
	}
	return nil
}

func (s *sim) tipTold() string { return s.told[len(s.told)-1] }

// reopen simulates the loss of merged work: the receipt of one batch, or the last commits of the run branch.
func (s *sim) reopen() error {
	i := s.rand.IntN(len(s.branch))
	if key := s.commits[s.branch[i]].batch; key != "" && s.chance(50) {
		if s.views[key].Status == Passed {
			s.allowed[key]++
		}
		return s.post(Event{Kind: Reopened, Batch: key})
	}
	gone := slices.Clone(s.branch[i+1:])
	s.branch = s.branch[:i+1]
	s.untold = map[string]bool{}
	for _, id := range gone {
		s.untold[s.commits[id].batch] = true
	}
	for _, id := range gone {
		delete(s.untold, s.commits[id].batch)
		if key := s.commits[id].batch; key != "" {
			if err := s.post(Event{Kind: Reopened, Batch: key, Base: s.tip()}); err != nil {
				return err
			}
		}
	}
	return nil
}

// crash drops all state that is not in the journal and resumes from the journal. Running commands may have finished
// without a report in the journal.
func (s *sim) crash() error {
	s.crashes++
	for _, c := range s.running {
		if s.chance(50) {
			if _, err := s.work(c); err != nil {
				return err
			}
		}
	}
	d, err := s.replay()
	if err != nil {
		return err
	}
	s.d = d
	if s.chance(20) {
		if err := s.reopen(); err != nil {
			return err
		}
	}
	if err := s.resume(); err != nil {
		return err
	}
	s.running = s.d.Pending()
	return nil
}

// replay rebuilds the machine from the journal. The result must equal the lost machine.
func (s *sim) replay() (decider, error) {
	d, err := s.build(s.info, nil)
	if err != nil {
		return nil, err
	}
	d.Start()
	for i, e := range s.journal {
		if len(s.journal)%16 == 0 { // at times as it lies on disk
			b, err := e.Encode()
			if err != nil {
				return nil, err
			}
			e = Event{}
			if err := json.Unmarshal(b, &e); err != nil {
				return nil, err
			}
		}
		if cmds := d.Apply(e); !slices.EqualFunc(cmds, s.replies[i], sameCommand) {
			return nil, fmt.Errorf("replay: event %d is answered with %v, it was %v", i+1, cmds, s.replies[i])
		}
	}
	switch {
	case !slices.EqualFunc(d.Pending(), s.d.Pending(), sameCommand):
		return nil, fmt.Errorf("replay: pending is\n%+v\nit was\n%+v", d.Pending(), s.d.Pending())
	case !slices.EqualFunc(d.Batches(), s.d.Batches(), sameView):
		return nil, fmt.Errorf("replay: batches are\n%+v\nthey were\n%+v", d.Batches(), s.d.Batches())
	case d.Tip() != s.d.Tip():
		return nil, fmt.Errorf("replay: the tip is %s, it was %s", d.Tip(), s.d.Tip())
	}
	return d, nil
}

// finish makes everything succeed from now on and waits for the end of the run.
func (s *sim) finish() error {
	s.honest = true
	n := len(s.info.Batches)
	resumes := 0
	for limit := len(s.journal) + 100 + 50*n + 20*n*n; len(s.journal) < limit; {
		var err error
		switch res, done := s.d.Done(); {
		case len(s.running) > 0:
			err = s.finishOne()
		case !done:
			return errors.New("the run hangs")
		case res.Status == RunDone:
			return s.ended()
		case len(s.d.Waiting()) > 0 && res.Status == RunStopped && res.Stop.Outcome == OutcomeHuman && s.rand.IntN(2) == 0:
			err = s.answer() // a person may come before the run goes on, or after
		case res.Status == RunStopped && res.Stop.Outcome == OutcomeHuman && res.Stop.Reason == "" && len(s.d.Waiting()) > 0:
			return errors.New("the run waits and does not say what for")
		default:
			if len(s.d.Waiting()) > 0 {
				if err := s.answer(); err != nil {
					return err
				}
				continue
			}
			if resumes++; resumes > 2+n {
				return fmt.Errorf("the run does not end: %s %s", res.Status, res.Reason)
			}
			err = s.resume()
		}
		if err != nil {
			return err
		}
	}
	return errors.New("the run does not end")
}

// ended checks the state that a finished run leaves.
func (s *sim) ended() error {
	merged := false
	for _, v := range s.d.Batches() {
		switch n := s.count(v.Key); {
		case v.Status == Skipped && v.Skip != "" && n == 0:
		case v.Status == Passed && n > 0:
			merged = true
		default:
			return fmt.Errorf("the run is done, but batch %s is %s and stands on the branch %d times", v.Key, v.Status, n)
		}
	}
	if merged && s.info.Land == "ff" && !s.complete() {
		return fmt.Errorf("the run is done, but %s has landed and does not hold all of %v", s.landed, s.branch)
	}
	_, err := s.replay()
	return err
}

// String describes the run for a person who investigates a failure.
func (s *sim) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "workers %d, attempts %d, land %s, speculate %v, clash %v\n", s.info.Workers, s.info.MaxAttempts,
		s.info.Land, s.info.Speculate, s.clash)
	for _, i := range s.info.Batches {
		fmt.Fprintf(&b, "  %s needs %v early %v %s\n", i.Key, i.Needs, i.Early, i.Skip)
	}
	for i, e := range s.journal {
		fmt.Fprintf(&b, "%d %s %s %s %s base=%s commit=%s ->", e.Seq, e.Kind, e.Command, e.Batch, e.Outcome, e.Base, e.Commit)
		if i < len(s.replies) {
			for _, c := range s.replies[i] {
				fmt.Fprintf(&b, " %s", c.ID)
			}
		}
		b.WriteString("\n")
	}
	return b.String()
}
