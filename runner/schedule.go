package runner

import (
	"cmp"
	"maps"
	"slices"
)

// schedule issues all commands that are possible now: first those that bring candidates to the run branch, then work
// for agents, and the landing of the run once everything is merged.
func (m *Machine) schedule() []Command {
	if m.stop != nil {
		return nil
	}
	cmds := m.line()
	cmds = append(cmds, m.compete()...)
	cmds = append(cmds, m.give()...)
	cmds = append(cmds, m.pause()...)
	if len(m.out) == 0 && m.settled() {
		cmds = append(cmds, m.close()...)
	}
	return cmds
}

// start is a batch that an agent may work on now, or a candidate of one.
type start struct {
	*track
	n    *entrant // nil outside of a tournament
	base string   // "" while it does not exist yet: then a worker is reserved for it
	on   []string // unmerged needs whose candidates base contains
}

// give assigns work to free agents. Started batches come first, then the batch with the longest known chain of
// dependents.
func (m *Machine) give() []Command {
	busy := m.atWork(Execute)
	agent, free := m.free()
	if busy >= max(m.width, m.crowd()) || !free {
		return nil // without a look at each batch
	}
	starts := m.starts()
	slices.SortStableFunc(starts, func(a, b start) int {
		return cmp.Or(
			-cmp.Compare(bit(a.status == Working), bit(b.status == Working)),
			-cmp.Compare(a.rank, b.rank),
			cmp.Compare(bit(len(a.on) > 0), bit(len(b.on) > 0)),
		)
	})
	var cmds []Command
	for _, s := range starts {
		if m.overBudget() != "" || m.feelsItsWay() {
			break
		}
		most := m.width
		if s.n != nil {
			most = max(most, m.crowd())
		}
		if busy >= most {
			continue
		}
		busy++
		switch {
		case s.n != nil:
			cmds = append(cmds, m.enter(s, agent))
		case s.base != "":
			cmds = append(cmds, m.begin(s, agent))
		}
	}
	return cmds
}

// starts lists what agents could work on now, in plan order.
func (m *Machine) starts() []start {
	var starts []start
	for _, t := range m.tracks {
		if t.tournament != nil && !m.barred(t) {
			starts = append(starts, m.due(t)...)
			continue
		}
		due := t.status == Waiting || t.status == Working && t.state == StateEdit && t.out == "" && !m.barred(t)
		if !due {
			continue
		}
		if base, on, ok := m.startable(t); ok {
			starts = append(starts, start{t, nil, base, on})
		} else if m.soon(t) {
			starts = append(starts, start{track: t})
		}
	}
	return starts
}

func bit(b bool) int {
	if b {
		return 1
	}
	return 0
}

// begin gives a batch to an agent.
func (m *Machine) begin(s start, agent string) Command {
	t := s.track
	if t.status == Waiting {
		t.status, t.state, t.tries = Working, StateRetrieve, 1
		m.nextAttempt(t)
		m.fire(t, OnDone)
		if t.Sample > 0 {
			m.fire(t, OnSample)
			t.on = s.on
			return m.issue(t, Command{Kind: Sample, After: t.after, Tier: t.tier})
		}
		m.fire(t, OnDone)
	}
	t.base, t.on, t.alone, t.reason, t.parked = s.base, s.on, m.width == 1, "", nil
	c := Command{Kind: Execute, Base: t.base, On: t.on, After: t.after, Tier: t.tier, Model: m.model(t, agent),
		Left: m.costLeft()}.by(agent, t.from)
	if t.base == m.tip {
		c.Before = m.before
	}
	return m.issue(t, c)
}

// startable reports whether t may start now, and on which base. It may start on unmerged candidates if the plan's
// files allow that (TEAM-04): the last of them in the queue then contains the others too.
func (m *Machine) startable(t *track) (base string, on []string, ok bool) {
	for _, n := range t.Needs {
		if m.done(n) {
			continue
		}
		if !m.info.Speculate || !slices.Contains(t.Early, n) || !m.holds(m.byKey[n]) {
			return "", nil, false
		}
		on = append(on, n)
	}
	base = m.tip
	for _, q := range m.chain {
		if slices.Contains(on, q.Key) {
			base = q.stands.commit
		}
	}
	return base, on, true
}

// soon reports whether t can start as soon as its needed candidates are rebased, which takes little time and no
// gate. A free worker should rather wait for t than take work that fewer batches wait for.
func (m *Machine) soon(t *track) bool {
	for _, n := range t.Needs {
		q := m.byKey[n]
		if m.done(n) || m.info.Speculate && slices.Contains(t.Early, n) && (m.holds(q) || m.out[q.out].Kind == Rebase) {
			continue
		}
		return false
	}
	return t.status == Waiting
}

// holds reports whether other batches may build on the candidate of t.
func (m *Machine) holds(t *track) bool {
	return t.verdict != red && !m.needsApproval(t) && t.stands.commit != "" && slices.Contains(m.chain, t)
}

// atWork counts the commands of a kind that are in progress.
func (m *Machine) atWork(k CommandKind) int {
	n := 0
	for _, c := range m.out {
		if c.Kind == k {
			n++
		}
	}
	return n
}

// rank weighs each batch by the longest chain of batches that begins with it, in milliseconds where that is
// known. A batch of unknown length counts as long as the average of the others.
func (m *Machine) rank() {
	known, sum := int64(0), int64(0)
	for _, t := range m.tracks {
		if t.ExpectMS > 0 {
			known, sum = known+1, sum+t.ExpectMS
		}
	}
	usual := int64(1000)
	if known > 0 {
		usual = max(1, sum/known)
	}
	behind := map[string][]*track{}
	for _, t := range m.tracks {
		for _, n := range t.Needs {
			behind[n] = append(behind[n], t)
		}
	}
	var visit func(t *track) int64
	visit = func(t *track) int64 {
		if t.rank > 0 {
			return t.rank
		}
		for _, b := range behind[t.Key] {
			t.rank = max(t.rank, visit(b))
		}
		if t.status != Skipped {
			t.rank += cmp.Or(t.ExpectMS, usual)
		}
		t.rank = max(t.rank, 1)
		return t.rank
	}
	for _, t := range m.tracks {
		visit(t)
	}
}

func (m *Machine) settled() bool {
	return !slices.ContainsFunc(m.tracks, func(t *track) bool { return t.status != Passed && t.status != Skipped })
}

// toLand reports whether the run must land after all merges.
func (m *Machine) toLand() bool {
	return m.info.Land != "" && m.info.Land != "branch" && m.anyMerged()
}

// Pending returns the commands without a report, in plan order. They must be dispatched after a replay. There is at
// most one command of a batch, of a candidate that competes for it, and of the run itself.
func (m *Machine) Pending() []Command {
	var cmds []Command
	for _, t := range m.tracks {
		if t.out != "" {
			cmds = append(cmds, m.out[t.out])
		}
		if t.tournament != nil {
			for _, n := range t.tournament.entrants {
				if n.out != "" {
					cmds = append(cmds, m.out[n.out])
				}
			}
		}
	}
	for _, id := range slices.Sorted(maps.Keys(m.out)) {
		if c := m.out[id]; c.Batch == "" {
			cmds = append(cmds, c)
		}
	}
	return cmds
}

// crowd returns the maximum number of concurrent agents if candidates compete; 0 if agents could not start
// concurrently.
func (m *Machine) crowd() int {
	if m.width < m.info.Workers || m.single {
		return 0
	}
	return m.info.Candidates
}

func (m *Machine) gating() int { return m.atWork(Gate) + m.atWork(Trial) }
