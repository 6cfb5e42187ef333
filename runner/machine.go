// Package runner decides what a run does next.
//
// [Machine] is the whole of the logic: pure, without clock, disk, goroutine or chance. It takes facts
// ([Event]) and answers with wishes ([Command]). A driver carries the wishes out through the [Work] port,
// writes each fact to the journal first and feeds it back. To resume a run is therefore to read its events,
// Apply each, and dispatch what is Pending.
//
// The control flow is data: each batch walks the table of [DefaultLoop] and takes no way that is not in it.
// What a batch left is put into the merge queue (queue.go), agents are given work in schedule.go, and what
// comes after a failure is decided in attempt.go.
package runner

import (
	"errors"
	"fmt"
	"slices"

	"github.com/runplan/runplan/gates"
)

// Machine folds events into commands.
type Machine struct {
	loop   Loop
	info   Info
	run    State // where the run itself stands, until its batches start
	tracks []*track
	byKey  map[string]*track
	out    map[string]Command // handed out, not yet reported on
	width  int                // agents at work at the same time; less than the run's workers once agents could not be started side by side
	single bool               // candidates could not be started side by side
	tip    string             // commit of the run branch
	queue  []*track           // candidates on their way to the run branch, the first to land first
	chain  []*track           // the part of the queue in which each stands on those before it, as of the last look
	lane   *track             // the one that is being committed and merged
	before *gates.TestCount   // of the tip; nil while unknown
	costs  costs
	limits limits
	lost   []Lost // what the last event put back
	stop   *Stop
	lands  []string  // tips that were due to land, each other than the one before
	final  lastWord  // of the final review
	asking *question // whether the run may land
	agreed string    // tip that a person lets land
	landed Outcome
	why    string // reason of a refused landing

	took func(Transition) // watches the ways taken; nil outside tests
}

// Stop says why a run takes on no more work.
type Stop struct {
	Outcome Outcome // cancelled, limited, needs_human or error
	Reason  string
}

// Status is how far a batch is.
type Status string

// The statuses of a batch.
const (
	Waiting Status = "waiting"
	Working Status = "working"
	Passed  Status = "merged"
	Skipped Status = "skipped"
	Failed  Status = "failed"
)

// track is one batch on its way through the loop. There is one for each batch from the beginning, so it is kept small:
// what a few have at a time is behind pointers.
type track struct {
	*BatchInfo
	rank   int64 // weight of the longest chain of batches that begins with this one
	status Status
	state  State
	reason string
	out    string             // id of its command that is under way, "" while there is none
	issued map[string]Command // of the present attempt, by id

	attempt   int // 1-based over the life of the run, so that command ids never repeat
	candidate int // within the attempt
	tries     int // attempts of the present allowance; a resume grants a new one
	rebuilt   int // attempts that began because others' work got in the way; within the allowance
	tier      string
	parked    *Stop  // its agent has to wait for something: time, or a person
	waits     int    // how often it waited for a limit by itself
	from      handed // the agent that met a limit in this attempt
	failure   string // tree and findings of the last failure
	after     int    // seq of the last failure

	alone bool        // whether its agent was started while no other could be
	cup   *tournament // under way, nil while there is none
	base  string      // the same commit, or the one with the same tree that took its place on the run branch
	on    []string    // needs that were not merged then, and whose candidates base holds
	made  candidate

	onto    string // commit below the candidate
	placed  bool   // whether it stands there, as stands
	stands  candidate
	gated   bool    // its gates are green there; a review may be due still
	looked  reviews // of the candidate as it was made
	verdict verdict
	red     *Event // why the verdict is red; nil while it is not
	sound   bool   // its gates were green where its agent made it
	suspect *Event // why it was red on what others merged, while nobody knows whose fault that was

	doubt    string    // why a review leaves the candidate to a person
	unagreed string    // why the gates do
	asking   *question // whether it may be merged
	approved string    // tree that a person agreed to
	again    string    // why the next question is not the first

	asked   bool // whether gates were asked about this candidate, with before
	before  *gates.TestCount
	tests   *gates.TestCount // of the candidate
	changes int              // how often hooks changed the candidate while its base stayed
	final   string           // the one commit
}

// candidate is what an agent left, as a commit that no hook has seen. A driver that never needs to build on
// a candidate may leave the commit out.
type candidate struct{ commit, tree string }

// verdict is what is known of a candidate where it stands.
type verdict string

const (
	open  verdict = ""
	green verdict = "green"
	red   verdict = "red" // believed once nothing unmerged is below the candidate
)

// New makes the machine of a run. Errors name batches that need what is not there.
func New(info Info) (*Machine, error) {
	m := &Machine{
		loop: DefaultLoop(), info: info, run: StateLoad, tip: info.Base, width: info.Workers,
		byKey: map[string]*track{}, out: map[string]Command{},
	}
	if info.LoopVersion < oldestLoop || info.LoopVersion > m.loop.Version {
		return nil, fmt.Errorf("%w: the run is of version %d, this runplan knows versions %d to %d; finish it with the runplan that started it, or start it anew",
			ErrLoopVersion, info.LoopVersion, oldestLoop, m.loop.Version)
	}
	if info.Workers < 1 || info.MaxAttempts < 1 {
		return nil, fmt.Errorf("workers %d and max_attempts %d have to be at least 1", info.Workers, info.MaxAttempts)
	}
	for i, a := range info.Agents {
		if a.Name == "" || slices.ContainsFunc(info.Agents[:i], func(b AgentInfo) bool { return a.Name == b.Name }) {
			return nil, fmt.Errorf("agent %d of the run: %q is no name, or stands twice", i+1, a.Name)
		}
	}
	for i := range info.Batches {
		b := &info.Batches[i]
		if b.Key == "" {
			return nil, fmt.Errorf("batch %s %q has no key", b.Number, b.Title)
		}
		if m.byKey[b.Key] != nil {
			return nil, fmt.Errorf("batch key %q stands twice", b.Key)
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

// ErrLoopVersion says that a journal was written by another version of the loop.
var ErrLoopVersion = errors.New("loop version")

// checkNeeds refuses unknown and circular needs, which would leave a run waiting for ever.
func (m *Machine) checkNeeds() error {
	const visiting, visited = 1, 2
	mark := map[string]int{}
	var visit func(t *track) error
	visit = func(t *track) error {
		switch mark[t.Key] {
		case visited:
			return nil
		case visiting:
			return fmt.Errorf("batch %s needs itself through other batches", t.Key)
		}
		mark[t.Key] = visiting
		defer func() { mark[t.Key] = visited }()
		for _, n := range t.Needs {
			dep := m.byKey[n]
			if dep == nil {
				return fmt.Errorf("batch %s needs batch %s, which is not there", t.Key, n)
			}
			if err := visit(dep); err != nil {
				return err
			}
		}
		return nil
	}
	var errs []error
	for _, t := range m.tracks {
		errs = append(errs, visit(t))
	}
	return errors.Join(errs...)
}

// Start begins the run. The plan was loaded, parsed, looked over and routed by whoever made the [Info];
// nothing but the batches is left to be done.
func (m *Machine) Start() []Command {
	if m.run != StateLoad {
		return nil
	}
	for _, t := range []Trigger{OnDone, OnDone, OnDone, OnSkipped, OnDone, OnSkipped} {
		m.run, _ = m.next(m.run, t)
	}
	return m.schedule()
}

// Apply folds one fact. It is total: a report on a command that is not under way changes nothing.
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

// report folds the end of a command.
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
		if e.Outcome == OutcomeOK || e.Outcome == OutcomeFailed || e.Outcome == OutcomeUnchanged || e.Outcome == OutcomeTimedOut {
			delete(m.limits.hits, c.Agent)
		}
	}
	switch {
	case e.Outcome == OutcomeUnstarted && !t.alone:
		m.width, m.single = 1, true // an agent that cannot be started beside others may be started alone (TEAM-10)
	case e.Outcome == OutcomeUnstarted:
		if m.stop == nil {
			m.stop = &Stop{OutcomeError, e.Reason}
		}
	case e.Outcome == OutcomeError, e.Outcome == OutcomeCancelled:
		// Nobody's code is to blame: the same is due again once the run goes on.
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

func reportOf(k CommandKind) EventKind {
	switch k {
	case Execute:
		return Executed
	case Sample:
		return Sampled
	case Judge:
		return Judged
	case Rebase:
		return Rebased
	case Gate:
		return Gated
	case Trial:
		return Tried
	case Commit:
		return Committed
	case Merge:
		return Merged
	case Wait:
		return Waited
	case Review, Fidelity:
		return Reviewed
	case Ask:
		return ApprovalAsked
	default:
		return Landed
	}
}

// answers tells whether o is an answer to a command of kind k. A driver that says something else has said
// nothing.
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

// fire takes the way that the loop has for t from its state.
func (m *Machine) fire(t *track, on Trigger) {
	if to, ok := m.next(t.state, on); ok {
		t.state = to
	}
}

// next looks a way up in the loop.
func (m *Machine) next(from State, on Trigger) (State, bool) {
	to, ok := m.loop.Next(from, on)
	if ok && m.took != nil {
		m.took(Transition{from, on, to})
	}
	return to, ok
}

// issue hands a command of a batch out. What was asked for before has the same id again; anything else has
// one of its own.
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

// withdraw calls off what is under way for t. A report on it will change nothing.
func (m *Machine) withdraw(t *track) {
	delete(m.out, t.out)
	t.out, t.asking = "", nil
	if t.cup != nil {
		for _, n := range t.cup.entrants {
			delete(m.out, n.out)
			n.out = ""
		}
	}
}

// model is what the agent of t is told to use: what was asked for by name, until a failure moves the batch to another
// tier. Another agent has models of its own.
func (m *Machine) model(t *track, agent string) string {
	if i := slices.IndexFunc(m.info.Agents, func(a AgentInfo) bool { return a.Name == agent }); i > 0 {
		return m.info.Agents[i].Models[t.tier]
	}
	if t.Model != "" && t.tier == t.Tier {
		return t.Model
	}
	return m.info.Models[t.tier]
}

// wait puts a batch back to where it has not begun. Its attempts stay counted.
func (m *Machine) wait(t *track) {
	m.withdraw(t)
	m.leave(t)
	t.status, t.state, t.reason = Waiting, "", ""
	t.tries, t.rebuilt, t.waits, t.parked = 0, 0, 0, nil
	t.failure, t.final, t.tier, t.on, t.cup, t.from, t.suspect = "", "", t.Tier, nil, nil, handed{}, nil
	t.forget()
}
