// Package runner decides what a run does next.
//
// [Machine] is the whole of the logic: pure, without clock, disk, goroutine or chance. It takes facts
// ([Event]) and answers with wishes ([Command]). A driver carries the wishes out through the [Work] port,
// writes each fact to the journal first and feeds it back. To resume a run is therefore to read its events,
// Apply each, and dispatch what is Pending.
//
// The control flow is data: each batch walks the table of [DefaultLoop] and takes no way that is not in it.
package runner

import (
	"errors"
	"fmt"
	"strings"

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
	held   map[string]Command // due, but the run is stopping
	tip    string             // commit of the run branch
	lane   *track             // the batch that is landing; one at a time
	before *gates.TestCount   // of the last batch that passed; nil while unknown
	stop   *Stop
	lands  []string // tips that were due to land, each other than the one before
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

// track is one batch on its way through the loop.
type track struct {
	BatchInfo
	status    Status
	state     State
	attempt   int    // 1-based over the life of the run, so that command ids never repeat
	candidate int    // within the attempt
	tries     int    // attempts of the present allowance; a resume grants a new one
	base      string // commit that the candidate stands on
	onto      string // commit that the one commit is made for
	commit    string // the candidate
	tree      string
	final     string // the one commit
	failure   string // tree and findings of the last failure
	after     int    // seq of the last failure
	conflicts int
	changes   int              // how often hooks changed the candidate while its base stayed
	before    *gates.TestCount // of the base
	tests     *gates.TestCount // of the candidate
	reason    string
}

// New makes the machine of a run. Errors name batches that need what is not there.
func New(info Info) (*Machine, error) {
	m := &Machine{
		loop: DefaultLoop(), info: info, run: StateLoad, tip: info.Base,
		byKey: map[string]*track{}, out: map[string]Command{}, held: map[string]Command{},
	}
	if info.LoopVersion != m.loop.Version {
		return nil, fmt.Errorf("run of loop version %d cannot go on under version %d: finish it with the runplan that started it, or start it anew",
			info.LoopVersion, m.loop.Version)
	}
	if info.Workers < 1 || info.MaxAttempts < 1 {
		return nil, fmt.Errorf("workers %d and max_attempts %d have to be at least 1", info.Workers, info.MaxAttempts)
	}
	for _, b := range info.Batches {
		if b.Key == "" {
			return nil, fmt.Errorf("batch %s %q has no key", b.Number, b.Title)
		}
		if m.byKey[b.Key] != nil {
			return nil, fmt.Errorf("batch key %q stands twice", b.Key)
		}
		t := &track{BatchInfo: b, status: Waiting}
		if b.Skip != "" {
			t.status, t.reason = Skipped, b.Skip
		}
		m.tracks = append(m.tracks, t)
		m.byKey[b.Key] = t
	}
	return m, m.checkNeeds()
}

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
	switch e.Kind {
	case StopAsked:
		if m.stop == nil {
			m.stop = &Stop{e.Outcome, e.Reason}
		}
		return nil
	case RunResumed:
		return m.resume(e)
	case Reopened:
		return m.reopen(e)
	case Executed, Gated, Committed, Merged, Landed:
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
	switch e.Outcome {
	case OutcomeError, OutcomeLimited, OutcomeHuman, OutcomeCancelled:
		// Nobody's code is to blame: the same command is due again once the run goes on.
		m.held[c.ID] = c
		if m.stop == nil {
			m.stop = &Stop{e.Outcome, e.Reason}
		}
		return nil
	}
	if c.Kind == LandRun {
		m.landed, m.why = e.Outcome, e.Reason
		return nil
	}
	t := m.byKey[c.Batch]
	var cmds []Command
	switch c.Kind {
	case Execute:
		cmds = m.executed(t, e)
	case Gate:
		cmds = m.gated(t, e)
	case Commit:
		cmds = m.committed(t, e)
	case Merge:
		cmds = m.merged(t, e)
	}
	return append(cmds, m.schedule()...)
}

func reportOf(k CommandKind) EventKind {
	switch k {
	case Execute:
		return Executed
	case Gate:
		return Gated
	case Commit:
		return Committed
	case Merge:
		return Merged
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
		return k != Merge && k != LandRun
	case OutcomeUnchanged, OutcomeTimedOut, OutcomeLimited, OutcomeHuman:
		return k == Execute
	case OutcomeChanged, OutcomeConflict:
		return k == Commit
	case OutcomeMoved:
		return k == Merge
	case OutcomeRefused:
		return k == LandRun
	}
	return false
}

func (m *Machine) executed(t *track, e Event) []Command {
	if e.Outcome != OutcomeOK {
		return m.failed(t, e)
	}
	t.commit, t.tree = e.Commit, e.Tree
	return m.fire(t, OnDone)
}

func (m *Machine) gated(t *track, e Event) []Command {
	if e.Outcome != OutcomeOK {
		return m.failed(t, e)
	}
	t.tests = e.Tests
	return m.fire(t, OnDone)
}

func (m *Machine) committed(t *track, e Event) []Command {
	switch e.Outcome {
	case OutcomeOK:
		t.final = e.Commit
		return m.fire(t, OnDone)
	case OutcomeChanged:
		if t.base != t.onto {
			t.base, t.before, t.changes = t.onto, m.before, 0
		} else if t.changes++; t.changes > m.info.MaxAttempts {
			return m.failed(t, e) // a hook that never leaves the tree alone
		}
		t.commit, t.tree = e.Commit, e.Tree
		t.candidate++
		return m.fire(t, OnChanged)
	case OutcomeConflict:
		t.conflicts++
		if t.conflicts <= m.info.MaxAttempts {
			t.after, t.failure = e.Seq, ""
			m.nextAttempt(t)
			return m.fire(t, OnConflict)
		}
	}
	return m.failed(t, e)
}

func (m *Machine) merged(t *track, e Event) []Command {
	if e.Outcome == OutcomeMoved {
		m.found(e.Base)
		t.candidate++
		return m.fire(t, OnMoved)
	}
	m.tip = e.Commit
	if t.tests != nil {
		m.before = t.tests
	}
	return m.fire(t, OnDone)
}

// found takes note of where the run branch is. Where nobody but the machine moved it, that is no news; how
// many tests there are elsewhere is not known.
func (m *Machine) found(tip string) {
	if tip != "" && tip != m.tip {
		m.tip, m.before = tip, nil
	}
}

// failed takes a failure to the debug state, which decides what comes of it.
func (m *Machine) failed(t *track, e Event) []Command {
	same := t.failure != "" && t.failure == failureOf(e)
	t.failure, t.after, t.reason = failureOf(e), e.Seq, e.Reason
	if same {
		t.reason = "stuck: two attempts in a row left the same tree and the same findings; " + e.Reason
		t.tries = m.info.MaxAttempts
	}
	return m.fire(t, OnFailed)
}

// failureOf is what two failures have to share to count as no progress.
func failureOf(e Event) string {
	return strings.Join([]string{string(e.Kind), string(e.Outcome), e.Tree, e.Fingerprint}, "\x00")
}

// fire takes the way that the loop has for t from its state, and enters the new state.
func (m *Machine) fire(t *track, on Trigger) []Command {
	to, ok := m.next(t.state, on)
	if !ok {
		return nil
	}
	if m.lane == t && to != StateCommit && to != StateMerge {
		m.lane = nil
	}
	t.state = to
	return m.enter(t)
}

// next looks a way up in the loop.
func (m *Machine) next(from State, on Trigger) (State, bool) {
	to, ok := m.loop.Next(from, on)
	if ok && m.took != nil {
		m.took(Transition{from, on, to})
	}
	return to, ok
}

// enter does what a state asks for: a command, or at once the next way where nothing is configured.
func (m *Machine) enter(t *track) []Command {
	switch t.state {
	case StateRetrieve:
		return m.fire(t, OnSkipped)
	case StateBrief:
		return m.fire(t, OnDone)
	case StateEdit:
		t.base, t.before, t.changes = m.tip, m.before, 0
		t.commit, t.tree = "", ""
		return m.issue(t, Command{Kind: Execute, Base: t.base, After: t.after, Before: t.before})
	case StateGate:
		return m.issue(t, Command{Kind: Gate, Base: t.base, Commit: t.commit, Tree: t.tree, Before: t.before})
	case StateFidelityReview:
		return m.fire(t, OnSkipped)
	case StateSelfReview:
		return m.fire(t, OnGreen)
	case StatePublish:
		if !m.ready(t) {
			t.wait() // what it stands on was reopened while it merged
			return nil
		}
		if m.lane != nil {
			return nil // schedule takes it up once the lane is free
		}
		m.lane = t
		return m.fire(t, OnDone)
	case StateCommit:
		t.onto = m.tip
		return m.issue(t, Command{Kind: Commit, Base: t.onto, Commit: t.commit, Tree: t.tree})
	case StateMerge:
		return m.issue(t, Command{Kind: Merge, Base: t.onto, Commit: t.final, Tree: t.tree})
	case StateLearn:
		t.status, t.reason = Passed, ""
		return m.fire(t, OnDone)
	case StateDebug:
		if t.tries >= m.info.MaxAttempts {
			t.status = Failed
			return m.fire(t, OnExhausted)
		}
		m.nextAttempt(t)
		return m.fire(t, OnAgain)
	}
	return nil
}

func (m *Machine) nextAttempt(t *track) {
	t.attempt++
	t.tries++
	t.candidate = 0
}

// issue hands a command out, or holds it while the run is stopping.
func (m *Machine) issue(t *track, c Command) []Command {
	c.Batch, c.Attempt = t.Key, t.attempt
	c.ID = fmt.Sprintf("%s/r%d-c%d/%s", t.Key, t.attempt, t.candidate, c.Kind)
	if m.stop != nil {
		m.held[c.ID] = c
		return nil
	}
	m.out[c.ID] = c
	return []Command{c}
}
