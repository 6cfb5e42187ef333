// Package runner decides what a run does next.
//
// [Machine] is the whole logic: pure, without clock, disk, goroutines or randomness. It takes facts ([Event]) and
// returns commands ([Command]). A driver performs the commands. It writes each fact to the journal before it applies
// the fact to the machine. To resume a run, read its events, Apply each, and dispatch the Pending commands.
//
// The control flow is data: each batch follows the transition table of [DefaultLoop]. queue.go holds the merge
// queue, schedule.go assigns work to agents, and attempt.go decides what follows a failure.
package runner

import (
	"errors"
	"fmt"
	"slices"

	"github.com/runplan/runplan/gates"
	"github.com/runplan/runplan/internal/lists"
)

// Machine folds events into commands.
type Machine struct {
	loop   Loop
	info   Info
	run    State // state of the run itself until its batches start
	tracks []*track
	byKey  map[string]*track
	out    map[string]Command // issued commands without a report
	// maximum of concurrent agents; less than the run's workers after a failed concurrent start
	width   int
	single  bool             // candidates could not start concurrently
	tip     string           // commit of the run branch
	queue   []*track         // candidates waiting for the run branch, next to land first
	chain   []*track         // part of the queue in which each candidate is based on its predecessors; from the last check
	merging *track           // the batch that is being committed and merged
	before  *gates.TestCount // of the tip; nil while unknown
	costs   costs
	limits  limits
	lost    []Event // of the batches that the last event put back
	stop    *Stop
	lands   []string  // tips that were due to land, without consecutive duplicates
	final   lastWord  // of the final review
	asking  *question // whether the run may land
	agreed  string    // tip that a person approved for landing
	landed  Outcome
	why     string // reason of a refused landing

	took func(Transition) // called for each transition; nil outside tests
}

// Stop says why a run starts no further work.
type Stop struct {
	Outcome Outcome // cancelled, limited, needs_human or error
	Reason  string
}

// Status is the progress of a batch.
type Status string

// The statuses of a batch.
const (
	Waiting Status = "waiting"
	Working Status = "working"
	Passed  Status = "merged"
	Skipped Status = "skipped"
	Failed  Status = "failed"
)

// track is the state of one batch in the loop. Every batch has one from the start, so it is small: rare state is
// behind pointers.
type track struct {
	*BatchInfo
	rank   int64 // weight of the longest chain of batches that begins with this one
	status Status
	state  State
	reason string
	out    string             // id of its running command, "" if none
	issued map[string]Command // commands of the current attempt, by id

	attempt   int // 1-based over the life of the run, so that command ids never repeat
	candidate int // within the attempt
	tries     int // attempts of the current allowance; a resume grants a new one
	rebuilt   int // attempts caused by other batches' changes; part of the allowance
	tier      string
	parked    *Stop  // its agent waits for a time or a person
	waits     int    // number of waits of this batch alone for a limit
	from      handed // the agent that met a limit in this attempt
	failure   string // tree and findings of the last failure
	hopeless  bool   // the last attempt failed in a way that a repetition does not change
	after     int    // seq of the last failure

	alone      bool        // its agent started while no other could
	tournament *tournament // running tournament, nil if none
	base       string      // base of the attempt, or the commit with the same tree that replaced it on the run branch
	on         []string    // needs that were unmerged at the start; base contains their candidates
	made       candidate

	onto    string // commit below the candidate
	placed  bool   // whether a candidate on onto exists, in stands
	stands  candidate
	gated   bool    // its gates passed there; a review may still be due
	looked  reviews // reviews of the candidate as the agent made it
	verdict verdict
	red     *Event // failure behind a red verdict; nil otherwise
	sound   bool   // its gates passed on the agent's own base
	suspect *Event // failure on top of other batches' changes while the culprit is unknown

	doubt    string    // why a review asks a person about the candidate
	unagreed string    // why the gates do
	asking   *question // the question whether it may be merged
	approved string    // tree that a person approved
	again    string    // why the question is asked again
	denied   Event     // the last denial; zero if there was none

	asked   bool // whether gates ran on this candidate, with before
	before  *gates.TestCount
	tests   *gates.TestCount // of the candidate
	changes int              // how often hooks changed the candidate on the same base
	final   string           // the commit to merge
}

// candidate is an agent's result as a commit without hooks. A driver may omit the commit if it never builds on
// candidates.
type candidate struct{ commit, tree string }

// verdict records the gates' result for a candidate on its current base.
type verdict string

const (
	open  verdict = ""
	green verdict = "green"
	red   verdict = "red" // final once nothing unmerged is below the candidate
)

// New returns the machine of a run. Errors name invalid agents, and batches with missing or circular dependencies.
func New(info Info) (*Machine, error) {
	m := &Machine{
		loop: DefaultLoop(), info: info, run: StateLoad, tip: info.Base, width: info.Workers,
		byKey: map[string]*track{}, out: map[string]Command{},
	}
	if info.LoopVersion < oldestLoop || info.LoopVersion > m.loop.Version {
		return nil,
			fmt.Errorf("%w: the run has version %d, but this runplan supports versions %d to %d; finish it with the runplan "+
				"that started it, or start it again", ErrLoopVersion, info.LoopVersion, oldestLoop, m.loop.Version)
	}
	if info.Workers < 1 || info.MaxAttempts < 1 {
		return nil, fmt.Errorf("workers %d and max_attempts %d must be at least 1", info.Workers, info.MaxAttempts)
	}
	for i, a := range info.Agents {
		if a.Name == "" || slices.ContainsFunc(info.Agents[:i], func(b AgentInfo) bool { return a.Name == b.Name }) {
			return nil, fmt.Errorf("agent %d of the run: the name %q is invalid or repeated", i+1, a.Name)
		}
	}
	for i := range info.Batches {
		b := &info.Batches[i]
		if b.Key == "" {
			return nil, fmt.Errorf("batch %s %q has no key", b.Number, b.Title)
		}
		if m.byKey[b.Key] != nil {
			return nil, fmt.Errorf("the batch key %q is repeated", b.Key)
		}
		t := &track{BatchInfo: b, status: Waiting, tier: b.Tier}
		if b.Skip != "" {
			t.status, t.reason = Skipped, b.Skip
		}
		m.tracks = append(m.tracks, t)
		m.byKey[b.Key] = t
	}
	if err := m.checkNeeds(); err != nil {
		return nil, err
	}
	m.rank()
	return m, nil
}

// ErrLoopVersion reports that a journal was written by another version of the loop.
var ErrLoopVersion = errors.New("loop version")

// checkNeeds rejects unknown and circular needs: they would block the run forever.
func (m *Machine) checkNeeds() error {
	const visiting, visited = 1, 2
	mark := map[string]int{}
	var visit func(t *track) error
	visit = func(t *track) error {
		switch mark[t.Key] {
		case visited:
			return nil
		case visiting:
			return fmt.Errorf("batch %s depends on itself through other batches", t.Key)
		}
		mark[t.Key] = visiting
		defer func() { mark[t.Key] = visited }()
		for _, n := range t.Needs {
			dep := m.byKey[n]
			if dep == nil {
				return fmt.Errorf("batch %s needs batch %s, which does not exist", t.Key, n)
			}
			if err := visit(dep); err != nil {
				return err
			}
		}
		return nil
	}
	errs := lists.Map(m.tracks, visit)
	return errors.Join(errs...)
}

// Start begins the run. The caller that made the [Info] has already loaded, parsed, checked and routed the plan,
// so the batches start at once.
func (m *Machine) Start() []Command {
	if m.run != StateLoad {
		return nil
	}
	for _, on := range m.info.intake() {
		to, ok := m.next(m.run, on)
		if !ok {
			m.fault(fmt.Sprintf("the run: the loop has no transition from %s on %s", m.run, on))
			break
		}
		m.run = to
	}
	return m.schedule()
}

// intake returns the triggers of the states that a run passes before its batches.
func (i Info) intake() []Trigger {
	walk := []Trigger{OnDone, OnDone, OnDone, OnSkipped, OnDone} // load, parse, preflight, index, route
	if i.Indexed {
		walk[3] = OnDone
	}
	if i.Round == 0 {
		return append(walk, OnSkipped)
	}
	for range i.Round - 1 {
		walk = append(walk, OnFailed, OnDone) // plan_review refused a plan, plan_refine drafted the next one
	}
	return append(walk, OnDone)
}

// Apply applies one fact. A report on a command that is not running changes nothing.
func (m *Machine) Apply(e Event) []Command {
	m.lost = nil
	switch e.Kind {
	case StopAsked:
		if m.stop == nil {
			m.stop = &Stop{e.Outcome, e.Reason}
		}
		return nil
	case RunResumed:
		return m.resume(e)
	case Spent:
		m.costs.add(e)
		return nil
	case Reopened:
		return m.reopen(e)
	case PlanChanged:
		return m.replan(e)
	case ApprovalGiven, ApprovalDenied:
		m.limits.pass(e.At)
		return m.answered(e)
	case Sampled, Executed, Rebased, Gated, Tried, Judged, Reviewed, ApprovalAsked, Committed, Merged, Landed, Waited:
		return m.report(e)
	}
	return nil
}

// report applies the end of a command.
func (m *Machine) report(e Event) []Command {
	c, ok := m.out[e.Command]
	if !ok || reportOf(c.Kind) != e.Kind || !answers(c.Kind, e.Outcome) {
		return nil
	}
	delete(m.out, c.ID)
	m.limits.pass(e.At)
	t := m.byKey[c.Batch]
	n := t.entrant(c)
	switch {
	case n != nil:
		n.out = ""
	case t != nil:
		t.out = ""
	}
	if c.Kind == Review || c.Kind == Fidelity {
		m.costs.review(e)
	}
	if c.Kind == Execute {
		m.costs.add(e)
		if e.Outcome == OutcomeOK || e.Outcome == OutcomeFailed || e.Outcome == OutcomeUnchanged ||
			e.Outcome == OutcomeTimedOut {
			delete(m.limits.hits, c.Agent)
		}
	}
	switch {
	case e.Outcome == OutcomeUnstarted && !t.alone:
		m.width, m.single = 1, true // an agent that cannot start in parallel may start alone (TEAM-10)
	case e.Outcome == OutcomeUnstarted:
		if m.stop == nil {
			m.stop = &Stop{OutcomeError, e.Reason}
		}
	case e.Outcome == OutcomeError, e.Outcome == OutcomeCancelled:
		// The code is not to blame: the same command is due when the run resumes.
		if m.stop == nil {
			m.stop = &Stop{e.Outcome, e.Reason}
		}
	case e.Outcome == OutcomeLimited, e.Outcome == OutcomeHuman:
		return append(m.park(t, n, c, e), m.schedule()...)
	case c.Kind == Review && t == nil:
		m.finalReviewed(c, e)
	case c.Kind == Ask && t == nil:
		m.asking = &question{c, e.At}
	case c.Kind == LandRun:
		m.landed, m.why = e.Outcome, e.Reason
	case c.Kind == Sample:
		m.sampled(t, e)
	case c.Kind == Judge:
		m.judged(t, e)
	case n != nil:
		m.competed(t, n, e)
	case c.Kind == Execute:
		m.executed(t, e)
	case c.Kind == Rebase:
		m.rebased(t, e)
	case c.Kind == Gate:
		m.gated(t, e)
	case c.Kind == Trial:
		m.tried(t, e)
	case c.Kind == Review, c.Kind == Fidelity:
		m.reviewed(t, c, e)
	case c.Kind == Ask:
		t.asking = &question{c, e.At}
	case c.Kind == Commit:
		m.committed(t, e)
	case c.Kind == Merge:
		m.merged(t, e)
	case c.Kind == Wait && t == nil:
		m.limits.over(c)
	case c.Kind == Wait:
		t.parked = nil
	}
	return m.schedule()
}

// reports are the events that answer commands.
var reports = map[CommandKind]EventKind{
	Execute: Executed, Sample: Sampled, Judge: Judged, Rebase: Rebased, Gate: Gated, Trial: Tried, Commit: Committed,
	Merge: Merged, Wait: Waited, Review: Reviewed, Fidelity: Reviewed, Ask: ApprovalAsked, LandRun: Landed,
}

func reportOf(k CommandKind) EventKind { return reports[k] }

// answers reports whether o is a valid outcome of a command of kind k. The machine ignores invalid outcomes.
func answers(k CommandKind, o Outcome) bool {
	switch o {
	case OutcomeOK, OutcomeError, OutcomeCancelled:
		return true
	case OutcomeFailed:
		return k == Execute || k == Gate || k == Trial || k == Commit || k == Sample || k == Judge || k == Fidelity
	case OutcomeUndecided:
		return k == Judge || k == Review
	case OutcomeShallow, OutcomeComplex:
		return k == Review
	case OutcomeSkipped:
		return k == Review || k == Fidelity
	case OutcomeUnchanged, OutcomeTimedOut, OutcomeLimited, OutcomeHuman, OutcomeUnstarted:
		return k == Execute
	case OutcomeChanged:
		return k == Commit
	case OutcomeConflict:
		return k == Rebase
	case OutcomeMoved:
		return k == Merge
	case OutcomeRefused:
		return k == LandRun || k == Sample
	}
	return false
}

// fire moves t along the transition for the trigger on. If the loop has none, that is a bug of this package: the run
// stops with an error.
func (m *Machine) fire(t *track, on Trigger) {
	to, ok := m.next(t.state, on)
	if !ok {
		m.fault(fmt.Sprintf("batch %s: the loop has no transition from %q on %q", t.Key, t.state, on))
		return
	}
	t.state = to
}

// fault stops the run because of a bug of this package.
func (m *Machine) fault(what string) {
	m.stop = &Stop{OutcomeError, "internal error: " + what}
}

// next looks up a transition in the loop.
func (m *Machine) next(from State, on Trigger) (State, bool) {
	to, ok := m.loop.Next(from, on)
	if ok && m.took != nil {
		m.took(Transition{from, on, to})
	}
	return to, ok
}

// issue issues a command of a batch. A command that was issued before gets the same id again; every other command
// gets a new one.
func (m *Machine) issue(t *track, c Command) Command {
	c.Batch, c.Attempt = t.Key, t.attempt
	for ; ; t.candidate++ {
		c.ID = fmt.Sprintf("%s/r%d-c%d/%s", t.Key, t.attempt, t.candidate, c.Kind)
		if old, known := t.issued[c.ID]; !known || old.same(c) {
			break
		}
	}
	m.out[c.ID], t.issued[c.ID], t.out = c, c, c.ID
	return c
}

// withdraw cancels the running commands of t. Their reports change nothing.
func (m *Machine) withdraw(t *track) {
	delete(m.out, t.out)
	t.out, t.asking = "", nil
	if t.tournament != nil {
		for _, n := range t.tournament.entrants {
			delete(m.out, n.out)
			n.out = ""
		}
	}
}

// model returns the model for the agent of t: the requested one until a failure moves the batch to another tier.
// Fallback agents have their own models.
func (m *Machine) model(t *track, agent string) string {
	if i := slices.IndexFunc(m.info.Agents, func(a AgentInfo) bool { return a.Name == agent }); i > 0 {
		return m.info.Agents[i].Models[t.tier]
	}
	if t.Model != "" && t.tier == t.Tier {
		return t.Model
	}
	return m.info.Models[t.tier]
}

// wait returns a batch to its state before the start. Its attempt numbers are kept.
func (m *Machine) wait(t *track) {
	m.withdraw(t)
	m.leave(t)
	t.status, t.state, t.reason = Waiting, "", ""
	t.tries, t.rebuilt, t.waits, t.parked = 0, 0, 0, nil
	t.hopeless = false
	t.failure, t.final, t.tier, t.on, t.tournament, t.from, t.suspect = "", "", t.Tier, nil, nil, handed{}, nil
	t.forget()
}
