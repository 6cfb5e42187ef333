package runner

// resume lets a stopped run go on: what was held is due, and failed batches get a new allowance.
func (m *Machine) resume(e Event) []Command {
	m.stop = nil
	m.found(e.Commit) // somebody may have added to the run branch meanwhile
	var cmds []Command
	for _, t := range m.tracks {
		for _, c := range m.ofTrack(m.held, t.Key) {
			delete(m.held, c.ID)
			m.out[c.ID] = c
			cmds = append(cmds, c)
		}
		if t.status == Failed {
			t.wait()
		}
	}
	for _, c := range m.ofTrack(m.held, "") {
		delete(m.held, c.ID)
		m.out[c.ID] = c
		cmds = append(cmds, c)
	}
	if m.landed != OutcomeOK {
		m.landed, m.why = "", ""
	}
	return append(cmds, m.schedule()...)
}

// reopen makes a merged batch due again, because its receipt no longer verifies.
func (m *Machine) reopen(e Event) []Command {
	t := m.byKey[e.Batch]
	if t == nil || t.status != Passed {
		return nil
	}
	m.found(e.Base)
	t.wait()
	t.after = 0
	// What was under way on top of it has lost its ground.
	for again := true; again; {
		again = false
		for _, d := range m.tracks {
			if d.status == Working && d.state != StateMerge && !m.ready(d) {
				for _, c := range append(m.ofTrack(m.out, d.Key), m.ofTrack(m.held, d.Key)...) {
					delete(m.out, c.ID)
					delete(m.held, c.ID)
				}
				if m.lane == d {
					m.lane = nil
				}
				d.wait()
				again = true
			}
		}
	}
	m.landed, m.why = "", ""
	for _, set := range []map[string]Command{m.out, m.held} {
		for _, c := range m.ofTrack(set, "") {
			delete(set, c.ID)
		}
	}
	return m.schedule()
}

// wait puts a batch back to where it has not begun. Its attempts stay counted.
func (t *track) wait() {
	t.status, t.state, t.tries, t.conflicts, t.failure, t.final = Waiting, "", 0, 0, "", ""
}
