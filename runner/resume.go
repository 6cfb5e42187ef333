package runner

// resume lets a stopped run go on: what was cut short is due, and failed batches get a new allowance. The
// limits of a run may be others than before.
func (m *Machine) resume(e Event) []Command {
	m.stop, m.width, m.single = nil, m.info.Workers, false
	if j := e.Job; j != nil && j.Workers > 0 {
		m.info.Workers, m.width, m.info.Candidates = j.Workers, j.Workers, j.Candidates
		m.info.OnLimit, m.info.MaxCostUSD, m.info.UnknownCost = j.OnLimit, j.MaxCostUSD, j.UnknownCost
		m.info.BackoffMS, m.info.MaxBackoffMS = j.BackoffMS, j.MaxBackoffMS
		if len(j.Agents) > 0 {
			m.info.Agents, m.info.Agent, m.info.Models = j.Agents, j.Agent, j.Models
		}
	}
	m.limits.pass(e.At)
	m.found(e.Commit) // somebody may have added to the run branch meanwhile
	for _, t := range m.tracks {
		if t.status == Failed {
			m.wait(t)
		}
		if c := m.out[t.out]; m.shared() && c.Kind == Wait { // the run began when each batch waited by itself
			m.meet(m.info.Agents[0].Name, Event{RetryAt: c.Until, Reason: t.parked.Reason})
			m.withdraw(t)
		}
		if !m.barred(t) {
			continue
		}
		if m.out[t.out].Kind == Wait {
			if m.info.OnLimit == "wait" {
				continue
			}
			m.withdraw(t) // nobody is to wait any more
		}
		t.parked, t.waits = nil, 0
	}
	m.forget()
	for _, t := range m.tracks {
		m.take(t)
	}
	if m.landed != OutcomeOK {
		m.landed, m.why = "", ""
	}
	return m.schedule()
}

// reopen makes a merged batch due again, because its receipt no longer verifies. What was under way on top of
// it has lost its ground.
func (m *Machine) reopen(e Event) []Command {
	t := m.byKey[e.Batch]
	if t == nil || t.status != Passed {
		return nil
	}
	m.limits.pass(e.At)
	m.found(e.Base)
	m.wait(t)
	t.after = 0
	m.ground()
	m.landed, m.why = "", ""
	for id, c := range m.out {
		if c.Kind == LandRun || c.Batch == "" && (c.Kind == Review || c.Kind == Ask) {
			delete(m.out, id)
		}
	}
	return m.schedule()
}
