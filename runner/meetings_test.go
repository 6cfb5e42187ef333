package runner

import (
	"fmt"
	"slices"
	"time"
)

// meetings tracks the limits of agents, as an independent reader of the events would.
type meetings struct {
	until map[string]time.Time // of each agent that is limited; zero if unknown
	hits  map[string]int       // by agent, since it last did something
	last  map[string]string    // agent of each batch, attempt and candidate
	turns map[string]int       // how often these went to another agent
	met   int                  // limits, and resumes

	switches, waits int // for the record
}

// hear processes an event that the machine gets. c is the command that e reports on.
func (m *meetings) hear(c Command, e Event, due bool, info Info) {
	if m.until == nil {
		m.until, m.hits, m.last, m.turns = map[string]time.Time{}, map[string]int{}, map[string]string{}, map[string]int{}
	}
	if e.Kind == RunResumed {
		m.resumed(e.At, info)
		return
	}
	if !due || c.Agent == "" {
		return
	}
	switch {
	case c.Kind == Execute && e.Outcome == OutcomeLimited:
		m.met++
		until, on := m.until[c.Agent]
		on = on && (until.IsZero() || e.At.Before(until))
		switch {
		case on && !e.RetryAt.After(until): // no time is before any other
			return
		case !on:
			m.hits[c.Agent]++
		}
		at := e.RetryAt
		if !at.IsZero() && !at.After(e.At) {
			at = e.At.Add(time.Duration(m.hits[c.Agent]) * time.Minute)
		}
		if m.hits[c.Agent] > 5 {
			at = time.Time{}
		}
		m.until[c.Agent] = at
	case c.Kind == Execute && says(e.Outcome):
		m.hits[c.Agent] = 0
	case c.Kind == Wait && e.Outcome == OutcomeOK:
		m.waits++
	}
}

func says(o Outcome) bool {
	return slices.Contains([]Outcome{OutcomeOK, OutcomeFailed, OutcomeUnchanged, OutcomeTimedOut}, o)
}

// resumed forgets the limits that a resumed run may test again.
func (m *meetings) resumed(now time.Time, info Info) {
	m.met++
	clear(m.hits)
	all := true
	for _, a := range info.Agents {
		if until := m.until[a.Name]; !until.After(now) {
			delete(m.until, a.Name)
			all = false
		}
	}
	if all && info.OnLimit != "wait" {
		clear(m.until)
	}
}

func (m *meetings) limited(agent string, now time.Time) bool {
	until, on := m.until[agent]
	return on && (until.IsZero() || now.Before(until))
}

// fits returns an error if a command names an agent that must not get it.
func (m *meetings) fits(c Command, now time.Time, agents []AgentInfo) error {
	if c.Kind != Execute || len(agents) == 0 {
		return nil
	}
	i := slices.IndexFunc(agents, func(a AgentInfo) bool { return a.Name == c.Agent })
	if i < 0 {
		return fmt.Errorf("%s is given to %q, but the agents are %v", c.ID, c.Agent, agents)
	}
	if m.limited(c.Agent, now) {
		return fmt.Errorf("%s is given to %s, which is known to be limited", c.ID, c.Agent)
	}
	for _, a := range agents[:i] {
		if !m.limited(a.Name, now) {
			return fmt.Errorf("%s is given to %s, although %s is not limited", c.ID, c.Agent, a.Name)
		}
	}
	who := fmt.Sprint(c.Batch, c.Attempt, c.Slot != nil)
	if c.Slot != nil {
		who += fmt.Sprint(c.Slot.Number)
	}
	if was := m.last[who]; was != "" && was != c.Agent {
		// A batch can change agents twice for each limit: an agent that met a limit gets work again when the limit
		// ends.
		m.switches++
		if m.turns[who]++; m.turns[who] > 2*m.met {
			return fmt.Errorf("%s changes agents for the %dth time, after %d limits", c.ID, m.turns[who], m.met)
		}
	}
	m.last[who] = c.Agent
	return nil
}
