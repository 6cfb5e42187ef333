package runner

import "fmt"

// schedule starts what may start: the landing lane first, then waiting batches in plan order, and the
// landing of the run once all is merged.
func (m *Machine) schedule() []Command {
	if m.stop != nil {
		return nil
	}
	var cmds []Command
	for _, t := range m.tracks {
		if t.status == Working && t.state == StatePublish && m.lane == nil {
			cmds = append(cmds, m.enter(t)...)
		}
	}
	room := m.info.Workers - m.working()
	for _, t := range m.tracks {
		if room <= 0 {
			break
		}
		if t.status == Waiting && m.ready(t) {
			room--
			t.status, t.state, t.tries = Working, StateRetrieve, 0
			m.nextAttempt(t)
			cmds = append(cmds, m.enter(t)...)
		}
	}
	if m.landed == "" && len(m.out) == 0 && m.settled() && m.toLand() {
		if n := len(m.lands); n == 0 || m.lands[n-1] != m.tip {
			m.lands = append(m.lands, m.tip)
		}
		c := Command{ID: "run/land", Kind: LandRun, Base: m.info.Base, Commit: m.tip}
		if n := len(m.lands); n > 1 {
			c.ID = fmt.Sprintf("run/r%d/land", n)
		}
		m.out[c.ID] = c
		cmds = append(cmds, c)
	}
	return cmds
}

func (m *Machine) working() int {
	n := 0
	for _, t := range m.tracks {
		if t.status == Working {
			n++
		}
	}
	return n
}

func (m *Machine) ready(t *track) bool {
	for _, n := range t.Needs {
		if s := m.byKey[n].status; s != Passed && s != Skipped {
			return false
		}
	}
	return true
}

func (m *Machine) settled() bool {
	for _, t := range m.tracks {
		if t.status != Passed && t.status != Skipped {
			return false
		}
	}
	return true
}

// toLand tells whether there is something to bring somewhere once all is merged.
func (m *Machine) toLand() bool {
	if m.info.Land == "" || m.info.Land == "branch" {
		return false
	}
	for _, t := range m.tracks {
		if t.status == Passed {
			return true
		}
	}
	return false
}

// Pending returns what was handed out and not yet reported on, in plan order: what to dispatch after a
// replay.
func (m *Machine) Pending() []Command {
	var cmds []Command
	for _, t := range m.tracks {
		cmds = append(cmds, m.ofTrack(m.out, t.Key)...)
	}
	return append(cmds, m.ofTrack(m.out, "")...)
}

// ofTrack returns the commands of one batch, or with key "" those of the run. There is at most one under way.
func (m *Machine) ofTrack(set map[string]Command, key string) []Command {
	for _, c := range set {
		if c.Batch == key {
			return []Command{c}
		}
	}
	return nil
}
