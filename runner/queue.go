package runner

import (
	"cmp"
	"slices"

	"github.com/runplan/runplan/gates"
)

// The merge queue tests what will be merged: each candidate on top of everything ahead of it. What is ahead
// may still be under test, so that a chain of candidates is tested at the same time; the run branch moves
// only to a commit whose tree was found good on exactly what is below it.
//
// A candidate that is red steps aside, and those behind it stand on what is ahead of it. Whose fault it was
// is known when nothing unmerged is below it any more.

// executed takes what an agent left into the queue.
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

// put lets the candidate of t stand on commit onto. What was known of it elsewhere is void.
func (m *Machine) put(t *track, onto string) {
	t.onto, t.stands, t.placed, t.verdict, t.red = onto, candidate{}, false, open, nil
	t.asked, t.gated, t.before, t.tests, t.final = false, false, nil, nil, ""
	if onto == t.base {
		t.stands, t.placed = t.made, true
	}
}

// move puts a candidate on top of something else than before.
func (m *Machine) move(t *track, onto string) {
	if t.asking != nil || t.approved != "" {
		t.approved = ""
		t.again = "the run branch has moved, which makes another tree of it"
	}
	if reviewing(t) { // of what it changes, wherever it stands
		m.put(t, onto)
		t.changes = 0
		return
	}
	m.withdraw(t)
	if m.lane == t {
		m.lane = nil
	}
	m.put(t, onto)
	t.changes = 0
	if t.state != StateGate {
		m.fire(t, OnMoved)
	}
}

// leave takes t out of the queue.
func (m *Machine) leave(t *track) {
	m.queue = slices.DeleteFunc(m.queue, func(q *track) bool { return q == t })
	if m.lane == t {
		m.lane = nil
	}
}

// line brings the queue forward as far as it goes without news.
func (m *Machine) line() []Command {
	var cmds []Command
	m.admit()
	m.chain = m.place()
	var head *track
	if i := slices.IndexFunc(m.chain, func(t *track) bool { return !m.beside(t) }); i >= 0 {
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
		case !t.placed && t != head && m.beside(t) && head != nil: // which will move the run branch once more
		case !t.placed:
			cmds = append(cmds, m.issue(t, Command{Kind: Rebase, Base: t.onto, From: t.base, Commit: t.made.commit, Tree: t.made.tree}))
		case t.verdict == open:
			if m.gating() < m.info.Workers {
				cmds = append(cmds, m.ask(t))
			}
		case m.beside(t):
			if t.asking == nil && (t.approved == "" || t.approved != t.stands.tree) {
				cmds = append(cmds, m.propose(t))
			}
		case m.lane == nil && t == head:
			m.lane = t
			m.fire(t, OnDone)
			cmds = append(cmds, m.land(t))
		}
	}
	return append(cmds, m.trials()...)
}

// place puts each candidate on what is ahead of it, and returns those that stand where they should, in their
// order. Without speculation that is the first at most.
func (m *Machine) place() []*track {
	for {
		m.ground()
		placed, settled := m.walk()
		if settled {
			return placed
		}
	}
}

// walk is one go of place. A red candidate at the head is taken out, after which nothing is settled.
func (m *Machine) walk() (placed []*track, settled bool) {
	below, head := m.tip, true
	for _, t := range m.queue {
		if m.beside(t) {
			switch {
			case slices.ContainsFunc(t.on, func(n string) bool { return !m.done(n) }), m.tip == "":
				continue // nobody stands beside the queue on what is still in it
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

// onRed tells whether t was made on a candidate that is red. Where that one goes, t goes too.
func (m *Machine) onRed(t *track) bool {
	return slices.ContainsFunc(t.on, func(n string) bool {
		return m.byKey[n].verdict == red && slices.Contains(m.queue, m.byKey[n])
	})
}

// shortOfTests tells whether t was gated while nobody knew how many tests there were below it, and has fewer.
func (m *Machine) shortOfTests(t *track) bool {
	return t.verdict == green && m.lane != t && t.before == nil && t.tests != nil && m.before != nil && t.tests.Passed < m.before.Passed
}

// ask has the gates look at a candidate.
func (m *Machine) ask(t *track) Command {
	if !t.asked {
		t.asked, t.before = true, m.testsBelow(t)
	}
	return m.issue(t, Command{Kind: Gate, Base: t.onto, Commit: t.stands.commit, Tree: t.stands.tree, Before: t.before, On: m.below(t)})
}

// testsBelow is how many tests there are below a candidate, nil while nobody knows.
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

// below lists the batches whose candidates t stands on.
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

// leftToPerson says why the gates leave a candidate to a person; "" where they do not.
func leftToPerson(reports []gates.Report) string {
	for _, r := range reports {
		if r.Proof != nil && r.Proof.Asks != "" {
			return r.Gate + ": " + r.Proof.Asks
		}
	}
	return ""
}

// blame takes a red candidate out of the queue: nothing but the run branch is below it. Whose fault it was, where others merged
// meanwhile, is known once it was gated where its agent made it.
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

// clash has t built anew on top of what it does not go together with: its agent could not know of that.
func (m *Machine) clash(t *track, e Event) {
	t.rebuilt++
	t.after, t.failure = e.Seq, ""
	m.nextAttempt(t)
	m.fire(t, OnConflict)
}

// trials has the suspects gated, each alone on what its agent began on.
func (m *Machine) trials() []Command {
	var cmds []Command
	for _, t := range m.tracks {
		if t.suspect != nil && t.out == "" && m.gating() < m.info.Workers {
			cmds = append(cmds, m.issue(t, Command{Kind: Trial, Base: t.base, Commit: t.made.commit, Tree: t.made.tree}))
		}
	}
	return cmds
}

// tried takes the verdict on a suspect: a failure of its own, or one together with what others merged.
func (m *Machine) tried(t *track, e Event) {
	together := *t.suspect
	t.suspect = nil
	if e.Outcome == OutcomeOK {
		m.clash(t, together)
		return
	}
	m.failed(t, e)
}

// land hands out what is next for the candidate in the lane.
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
			m.failed(t, e) // a hook that never leaves the tree alone
			return
		}
		t.base, t.made, t.sound = t.onto, candidate{e.Commit, e.Tree}, false
		again := ""
		if t.approved != "" {
			again = "a hook of the repository has changed the files since"
		}
		t.forget()
		t.again, m.lane = again, nil
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
		m.before = t.tests // where no gate counted, the last count is the one to keep (RUN-07)
	}
	// What stood on the candidate stands on the commit: the tree is the same.
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

// found takes note of where the run branch is. Where nobody but the machine moved it, that is no news; how
// many tests there are elsewhere is not known.
func (m *Machine) found(tip string) {
	if tip != "" && tip != m.tip {
		m.tip, m.before = tip, nil
	}
}

// ground puts back the batches that stand on work which is not there any more.
func (m *Machine) ground() {
	for again := true; again; {
		again = false
		for _, t := range m.tracks {
			// A merge that was asked for may have happened already.
			if t.status == Working && t.state != StateMerge && !m.grounded(t) || t.status == Failed && m.misled(t) {
				m.lose(t)
				m.wait(t)
				again = true
			}
		}
	}
}

// Lost is a batch that was put back because candidates on which it began did not hold (TEAM-04).
type Lost struct {
	Batch   string // key
	Attempt int
	On      []string // those candidates, by key
	Doing   string   // what becomes of its work, for people
}

// Lost returns what the last event put back.
func (m *Machine) Lost() []Lost { return m.lost }

func (m *Machine) lose(t *track) {
	on := slices.DeleteFunc(slices.Clone(t.on), m.done)
	if len(on) == 0 { // it began on what was merged
		return
	}
	doing := "its candidate is dropped"
	switch c := m.out[t.out]; {
	case c.Kind == Execute, t.cup != nil:
		doing = "its agent is stopped"
	case c.Kind == Gate:
		doing = "its gates are stopped and its candidate is dropped"
	case t.status == Failed:
		doing = "its failure does not count"
	}
	m.lost = append(m.lost, Lost{t.Key, t.attempt, on, doing})
}

func (m *Machine) grounded(t *track) bool {
	ahead := m.queue
	if i := slices.Index(m.queue, t); i >= 0 {
		ahead = m.queue[:i]
	}
	for _, n := range t.Needs {
		if !m.done(n) && (!slices.Contains(t.on, n) || !slices.Contains(ahead, m.byKey[n])) {
			return false
		}
	}
	return true
}

// misled tells whether a batch failed on candidates that did not hold: what it can do without them is not known.
func (m *Machine) misled(t *track) bool {
	return slices.ContainsFunc(t.on, func(n string) bool { return !m.done(n) && !slices.Contains(m.queue, m.byKey[n]) })
}

// done tells whether nothing has to be waited for.
func (m *Machine) done(key string) bool {
	s := m.byKey[key].status
	return s == Passed || s == Skipped
}
