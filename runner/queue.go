package runner

import (
	"cmp"
	"slices"

	"github.com/runplan/runplan/gates"
)

// The merge queue tests each candidate on top of all candidates ahead of it. Those may still be under test
// themselves, so a chain of candidates is tested at the same time. The run branch moves only to a commit whose
// tree passed on exactly its parent.
//
// A red candidate is skipped, and those behind it move to a base without it. When nothing unmerged is below a red
// candidate, the queue decides whether the candidate itself caused the failure.

// executed adds the candidate of t to the queue, or records the failure of its agent.
func (m *Machine) executed(t *track, e Event) {
	if e.Outcome != OutcomeOK {
		m.failed(t, e)
		return
	}
	t.made, t.changes, t.waits, t.sound = candidate{e.Commit, e.Tree}, 0, 0, false
	t.forget()
	m.put(t, t.base)
	m.queue = append(m.queue, t)
	m.fire(t, OnDone)
}

// put places the candidate of t on commit onto. Its results on another base become invalid.
func (m *Machine) put(t *track, onto string) {
	t.onto, t.stands, t.placed, t.verdict, t.red = onto, candidate{}, false, open, nil
	t.asked, t.gated, t.before, t.tests, t.final = false, false, nil, nil, ""
	if onto == t.base {
		t.stands, t.placed = t.made, true
	}
}

// move moves a candidate to a new base.
func (m *Machine) move(t *track, onto string) {
	if t.asking != nil || t.approved != "" {
		t.approved = ""
		t.again = "the run branch has moved, so other code would be merged"
	}
	if reviewing(t) { // the review is of its change, which is the same on every base
		m.put(t, onto)
		t.changes = 0
		return
	}
	m.withdraw(t)
	if m.merging == t {
		m.merging = nil
	}
	m.put(t, onto)
	t.changes = 0
	if t.state != StateGate {
		m.fire(t, OnMoved)
	}
}

// leave removes t from the queue.
func (m *Machine) leave(t *track) {
	m.queue = slices.DeleteFunc(m.queue, func(q *track) bool { return q == t })
	if m.merging == t {
		m.merging = nil
	}
}

// line advances the queue as far as possible without new events.
func (m *Machine) line() []Command {
	var cmds []Command
	m.admit()
	m.chain = m.place()
	var head *track
	if i := slices.IndexFunc(m.chain, func(t *track) bool { return !m.needsApproval(t) }); i >= 0 {
		head = m.chain[i]
	}
	for _, t := range m.chain {
		switch {
		case t.out != "" || t.verdict == red:
		case reviewing(t):
			if m.atWork(Review)+m.atWork(Fidelity) < m.info.Workers {
				cmds = append(cmds, m.review(t))
			}
		case t.state == StateCommit || t.state == StateMerge:
			cmds = append(cmds, m.land(t))
		case !t.placed && t != head && m.needsApproval(t) && head != nil:
			// the head moves the run branch first, so a rebase now would be wasted
		case !t.placed:
			cmds = append(cmds, m.issue(t,
				Command{Kind: Rebase, Base: t.onto, From: t.base, Commit: t.made.commit, Tree: t.made.tree}))
		case t.verdict == open:
			if m.gating() < m.info.Workers {
				cmds = append(cmds, m.ask(t))
			}
		case m.needsApproval(t):
			if t.asking == nil && (t.approved == "" || t.approved != t.stands.tree) {
				cmds = append(cmds, m.propose(t))
			}
		case m.merging == nil && t == head:
			m.merging = t
			m.fire(t, OnDone)
			cmds = append(cmds, m.land(t))
		}
	}
	return append(cmds, m.trials()...)
}

// place places each candidate on those ahead of it, and returns the ones on their correct base, in queue order.
// Without speculation, that is at most the first.
func (m *Machine) place() []*track {
	for {
		m.resetLostBases()
		placed, settled := m.walk()
		if settled {
			return placed
		}
	}
}

// walk is one iteration of place. If it removes a red candidate at the head, it returns settled false.
func (m *Machine) walk() (placed []*track, settled bool) {
	below, head := m.tip, true
	for _, t := range m.queue {
		if m.needsApproval(t) {
			switch {
			case slices.ContainsFunc(t.on, func(n string) bool { return !m.done(n) }), m.tip == "":
				continue // a candidate outside of the queue cannot be based on queued ones
			case t.onto != m.tip, m.shortOfTests(t):
				m.move(t, m.tip)
			case t.verdict == red:
				m.blame(t)
				return nil, false
			}
			placed = append(placed, t)
			continue
		}
		switch {
		case !head && !m.info.Speculate, below == "":
			continue
		case t.state == StateMerge, t.state == StateCommit && t.out != "":
		case m.onRed(t), m.onHeld(t, placed):
			continue
		case t.onto != below, head && m.shortOfTests(t):
			m.move(t, below)
		case head && t.verdict == red:
			m.blame(t)
			return nil, false
		}
		head = false
		placed = append(placed, t)
		if t.verdict != red {
			below = t.stands.commit
		}
	}
	return placed, true
}

// onRed reports whether t was made on a queued red candidate. If that one is removed, t is removed too.
func (m *Machine) onRed(t *track) bool {
	return slices.ContainsFunc(t.on, func(n string) bool {
		return m.byKey[n].verdict == red && slices.Contains(m.queue, m.byKey[n])
	})
}

// shortOfTests reports whether t passed its gates while the test count below was unknown, but has fewer passed tests.
func (m *Machine) shortOfTests(t *track) bool {
	return t.verdict == green && m.merging != t && t.before == nil && t.tests != nil && m.before != nil &&
		t.tests.Passed < m.before.Passed
}

// ask issues the gates of a candidate.
func (m *Machine) ask(t *track) Command {
	if !t.asked {
		t.asked, t.before = true, m.testsBelow(t)
	}
	return m.issue(t, Command{Kind: Gate, Base: t.onto, Commit: t.stands.commit, Tree: t.stands.tree, Before: t.before,
		On: m.below(t)})
}

// testsBelow returns the test count of the commit below a candidate, nil if unknown.
func (m *Machine) testsBelow(t *track) *gates.TestCount {
	if t.onto == m.tip {
		return m.before
	}
	for _, q := range m.queue {
		if q.stands.commit == t.onto && q.verdict == green {
			return q.tests
		}
	}
	return nil
}

// below lists the batches whose unmerged candidates are below t.
func (m *Machine) below(t *track) []string {
	if t.onto == m.tip {
		return nil
	}
	var keys []string
	for _, q := range m.queue {
		if q == t {
			break
		}
		if q.verdict != red {
			keys = append(keys, q.Key)
		}
	}
	return keys
}

func (m *Machine) rebased(t *track, e Event) {
	if e.Outcome == OutcomeConflict {
		t.verdict, t.red = red, &e
		return
	}
	t.stands, t.placed = candidate{e.Commit, e.Tree}, true
}

func (m *Machine) gated(t *track, e Event) {
	if e.Outcome != OutcomeOK {
		t.verdict, t.red = red, &e
		return
	}
	t.sound = t.sound || t.onto == t.base
	t.gated, t.tests = true, e.Tests
	t.unagreed = leftToPerson(e.Reports)
	m.fire(t, OnDone)
	m.pass(t)
}

// leftToPerson returns why the gates defer a candidate to a person; "" if they do not.
func leftToPerson(reports []gates.Report) string {
	for _, r := range reports {
		if r.Proof != nil && r.Proof.Asks != "" {
			return r.Gate + ": " + r.Proof.Asks
		}
	}
	return ""
}

// blame removes a red candidate that stands directly on the run branch from the queue. If others merged since it was
// made, a trial on its own base then decides whether it caused the failure itself.
func (m *Machine) blame(t *track) {
	m.leave(t)
	switch e := *t.red; {
	case t.onto == t.base || t.rebuilt >= m.info.MaxAttempts:
		m.failed(t, e)
	case e.Kind == Gated && !t.sound && m.info.LoopVersion >= trialLoop:
		t.suspect = &e
	default:
		m.clash(t, e)
	}
}

// clash starts a new attempt at t on top of the changes it conflicts with. Its agent could not know of them.
func (m *Machine) clash(t *track, e Event) {
	t.rebuilt++
	t.after, t.failure = e.Seq, ""
	m.nextAttempt(t)
	m.fire(t, OnConflict)
}

// trials issues a gate run for each suspect, alone on its agent's base.
func (m *Machine) trials() []Command {
	var cmds []Command
	for _, t := range m.tracks {
		if t.suspect != nil && t.out == "" && m.gating() < m.info.Workers {
			cmds = append(cmds, m.issue(t, Command{Kind: Trial, Base: t.base, Commit: t.made.commit, Tree: t.made.tree}))
		}
	}
	return cmds
}

// tried applies the verdict on a suspect: its own failure, or a conflict with what others merged.
func (m *Machine) tried(t *track, e Event) {
	together := *t.suspect
	t.suspect = nil
	if e.Outcome == OutcomeOK {
		m.clash(t, together)
		return
	}
	m.failed(t, e)
}

// land issues the commit or the merge of a candidate.
func (m *Machine) land(t *track) Command {
	if t.state == StateCommit {
		return m.issue(t, Command{Kind: Commit, Base: t.onto, Commit: t.stands.commit, Tree: t.stands.tree})
	}
	return m.issue(t, Command{Kind: Merge, Base: t.onto, Commit: t.final, Tree: t.stands.tree})
}

func (m *Machine) committed(t *track, e Event) {
	switch e.Outcome {
	case OutcomeOK:
		t.final = e.Commit
		m.fire(t, OnDone)
	case OutcomeChanged:
		if t.changes++; t.changes > m.info.MaxAttempts {
			m.leave(t)
			m.failed(t, e) // the hook changes the files on every commit
			return
		}
		t.base, t.made, t.sound = t.onto, candidate{e.Commit, e.Tree}, false
		again := ""
		if t.approved != "" {
			again = "a hook of the repository has changed the files since"
		}
		t.forget()
		t.again, m.merging = again, nil
		m.put(t, t.base)
		m.fire(t, OnChanged)
	default:
		m.leave(t)
		m.failed(t, e)
	}
}

func (m *Machine) merged(t *track, e Event) {
	if e.Outcome == OutcomeMoved {
		m.found(e.Base)
		m.move(t, m.tip)
		return
	}
	m.leave(t)
	m.tip = cmp.Or(e.Commit, t.final)
	if t.tests != nil {
		m.before = t.tests // without a new count, the last one stays (RUN-07)
	}
	// Candidates on this one are now based on its commit, which has the same tree.
	for _, q := range m.tracks {
		if c := t.stands.commit; c != "" && q.status == Working {
			if q.onto == c {
				q.onto = m.tip
			}
			if q.base == c {
				q.base = m.tip
			}
		}
	}
	m.fire(t, OnDone)
	t.status, t.reason, t.issued = Passed, "", nil
	m.fire(t, OnDone)
}

// found records the commit of the run branch. If another process moved the branch, its test count is unknown.
func (m *Machine) found(tip string) {
	if tip != "" && tip != m.tip {
		m.tip, m.before = tip, nil
	}
}

// resetLostBases withdraws the attempts whose base contains a failed candidate.
func (m *Machine) resetLostBases() {
	for again := true; again; {
		again = false
		for _, t := range m.tracks {
			// The merge may already have happened.
			if t.status == Working && t.state != StateMerge && !m.grounded(t) || t.status == Failed && m.misled(t) {
				m.lose(t)
				m.wait(t)
				again = true
			}
		}
	}
}

// Lost returns an event for each batch that the last event put back: its attempt was cancelled, because it was based on
// candidates that failed (TEAM-04).
func (m *Machine) Lost() []Event { return m.lost }

func (m *Machine) lose(t *track) {
	on := slices.DeleteFunc(slices.Clone(t.on), m.done)
	if len(on) == 0 { // it was based only on merged commits
		return
	}
	doing := "its candidate is dropped"
	switch c := m.out[t.out]; {
	case c.Kind == Execute, t.tournament != nil:
		doing = "its agent is stopped"
	case c.Kind == Gate:
		doing = "its gates are stopped and its candidate is dropped"
	case t.status == Failed:
		doing = "its failure does not count"
	}
	m.lost = append(m.lost, Event{Kind: BatchPutBack, Batch: t.Key, Attempt: t.attempt, On: on, Reason: doing})
}

func (m *Machine) grounded(t *track) bool {
	ahead := m.queue
	if i := slices.Index(m.queue, t); i >= 0 {
		ahead = m.queue[:i]
	}
	return !slices.ContainsFunc(t.Needs, func(n string) bool {
		return !m.done(n) && (!slices.Contains(t.on, n) || !slices.Contains(ahead, m.byKey[n]))
	})
}

// misled reports whether a batch failed on candidates that failed themselves. It may succeed without them.
func (m *Machine) misled(t *track) bool {
	return slices.ContainsFunc(t.on, func(n string) bool { return !m.done(n) && !slices.Contains(m.queue, m.byKey[n]) })
}

func (m *Machine) done(key string) bool {
	s := m.byKey[key].status
	return s == Passed || s == Skipped
}
