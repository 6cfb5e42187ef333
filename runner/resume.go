package runner

import "slices"

// resume continues a stopped run: interrupted work is due, and failed batches get a new allowance. The event may
// change the limits of the run.
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
	m.found(e.Commit) // another process may have added commits to the run branch
	for _, t := range m.tracks {
		if t.status == Failed {
			m.wait(t)
		}
		if c := m.out[t.out]; m.shared() && c.Kind == Wait { // in an older journal each batch waited separately
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
			m.withdraw(t) // the new settings do not wait
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

// reopen makes a merged batch due again, because its receipt no longer verifies. Attempts of batches based on it are
// withdrawn.
func (m *Machine) reopen(e Event) []Command {
	t := m.byKey[e.Batch]
	if t == nil || t.status != Passed {
		return nil
	}
	m.limits.pass(e.At)
	m.found(e.Base)
	m.wait(t)
	t.after = 0
	m.resetLostBases()
	m.unland()
	return m.schedule()
}

// unland cancels the landing, because the run has work again.
func (m *Machine) unland() {
	m.landed, m.why = "", ""
	for id, c := range m.out {
		if c.Kind == LandRun || c.Batch == "" && (c.Kind == Review || c.Kind == Ask) {
			delete(m.out, id)
		}
	}
}

// replan applies a plan that changed while the run was stopped. Merged work stays, even if its batch changed in the
// plan. Batches that were removed from the plan are skipped. An invalid event changes nothing.
func (m *Machine) replan(e Event) []Command {
	if e.Job == nil {
		return nil
	}
	next, err := New(*e.Job)
	if err != nil {
		return nil
	}
	for _, t := range m.tracks {
		if next.byKey[t.Key] == nil {
			return nil // a changed plan must list every known batch
		}
	}
	m.info.Title, m.info.Plan, m.info.PlanDigest = e.Job.Title, e.Job.Plan, e.Job.PlanDigest
	m.info.Batches, m.info.Keys = next.info.Batches, next.info.Keys
	for i, n := range next.tracks {
		t := m.byKey[n.Key]
		if t == nil {
			m.byKey[n.Key] = n
			continue
		}
		next.tracks[i], t.BatchInfo, t.rank = t, n.BatchInfo, 0
		again := slices.Contains(e.Anew, t.Key)
		switch {
		case t.status == Passed:
		case n.Skip != "":
			m.wait(t)
			t.status, t.reason = Skipped, n.Skip
		case again || t.status == Skipped || t.status == Waiting:
			m.wait(t)
		}
		if again && t.status == Waiting {
			t.after = 0
		}
	}
	m.tracks = next.tracks
	m.rank()
	m.resetLostBases()
	if !m.settled() {
		m.unland()
	}
	return m.schedule()
}
