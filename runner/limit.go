package runner

import (
	"fmt"
	"hash/fnv"
	"slices"
	"strings"
	"time"
)

// AgentInfo is an agent that may work on the batches of a run.
type AgentInfo struct {
	Name   string            `json:"name"`
	Models map[string]string `json:"models,omitempty"` // model of each tier
}

// limits holds the known limits of the run's agents. A limit belongs to the account, not to a batch: no batch uses
// that agent until the limit ends.
type limits struct {
	now  time.Time // time of the latest event
	of   map[string]limit
	hits map[string]int // by agent: limits and outages since its last success
	met  int            // number of limits in this run
}

// limit is a limit that an agent met.
type limit struct {
	number int
	until  time.Time // zero if unknown
	reason string
	outage bool // an outage of the provider, not a limit of the account
}

// handed names the agent that a batch moves away from, and the reason.
type handed struct{ agent, why string }

// mostWaits limits how often a run waits for a limit in a row. After that many wrong reset times, the reset time is
// treated as unknown.
const mostWaits = 5

// skew is the wait for a limit that should already be over: the clocks of provider and machine differ.
const skew = time.Minute

// shared reports whether limits are known by agent. Older journals have no agent list: in those runs each batch
// meets the limit and waits separately.
func (m *Machine) shared() bool { return len(m.info.Agents) > 0 }

// pass advances the time. The machine's only clock is the time of its events.
func (l *limits) pass(at time.Time) {
	if at.After(l.now) {
		l.now = at
	}
}

// on reports whether an agent is known to be limited.
func (l *limits) on(agent string) bool {
	x, ok := l.of[agent]
	return ok && (x.until.IsZero() || l.now.Before(x.until))
}

// meet records that an agent met a limit or an outage. Concurrent batches of an agent meet the same limit; its end
// is the latest time that any of them reports.
func (m *Machine) meet(agent string, e Event) {
	l := &m.limits
	if l.of == nil {
		l.of, l.hits = map[string]limit{}, map[string]int{}
	}
	old, again := l.of[agent], l.on(agent)
	if again && !e.RetryAt.After(old.until) { // an unknown time is the zero time, before any other
		return
	}
	if !again {
		l.hits[agent]++
	}
	l.met++
	x := limit{l.met, e.RetryAt, e.Reason, e.Outage}
	switch hits := l.hits[agent]; {
	case hits > mostWaits || x.until.IsZero():
		x.until = time.Time{}
		if wait := m.backoff(agent, hits, e.Outage); wait != 0 {
			x.until = l.now.Add(wait)
			x.reason = fmt.Sprintf("%s; its end is unknown, wait %d takes %s", e.Reason, hits, wait)
		}
	case !x.until.IsZero() && !x.until.After(l.now):
		x.until = l.now.Add(time.Duration(hits) * skew)
	}
	l.of[agent] = x
}

// backoff returns the wait for a limit or outage whose end is unknown; 0 means no wait. It doubles with each wait
// up to a maximum. It differs by up to a tenth between runs, so that they do not all retry in the same second. A
// run that stops at limits still waits for an outage a few times.
func (m *Machine) backoff(agent string, hits int, outage bool) time.Duration {
	first, most := m.info.BackoffMS, max(m.info.BackoffMS, m.info.MaxBackoffMS)
	if first <= 0 || m.info.OnLimit != "wait" && (!outage || hits > mostWaits) {
		return 0
	}
	ms := first
	for n := 1; n < hits && ms < most; n++ {
		ms *= 2
	}
	ms = min(ms, most)
	sum := fnv.New32a()
	fmt.Fprintf(sum, "%s %s %d", m.info.Base, agent, hits)
	ms -= ms * int64(sum.Sum32()%11) / 100
	return time.Duration(ms) * time.Millisecond
}

// over removes a limit that the run waited for.
func (l *limits) over(c Command) {
	if x, ok := l.of[c.Agent]; ok && !x.until.IsZero() && !x.until.After(c.Until) {
		delete(l.of, c.Agent)
	}
}

// free returns the agent to use next: the first one without a known limit. It is "" in runs without an agent list.
func (m *Machine) free() (agent string, ok bool) {
	for _, a := range m.info.Agents {
		if !m.limits.on(a.Name) {
			return a.Name, true
		}
	}
	return "", !m.shared()
}

// barred reports whether a batch waits on its own. A limit of an agent affects all batches.
func (m *Machine) barred(t *track) bool {
	return t.parked != nil && !(m.shared() && t.parked.Outcome == OutcomeLimited)
}

// heldUp returns the batches that could start if no agent had met a limit.
func (m *Machine) heldUp() []start {
	if _, ok := m.free(); ok || max(m.width, m.crowd()) <= m.atWork(Execute) || m.overBudget() != "" {
		return nil
	}
	return slices.DeleteFunc(m.starts(), func(s start) bool { return s.base == "" })
}

// pause waits for the limit that ends first, while work is due and all agents are limited.
func (m *Machine) pause() []Command {
	var c Command
	if len(m.heldUp()) > 0 {
		for _, a := range m.info.Agents {
			if x := m.limits.of[a.Name]; (m.info.OnLimit == "wait" || x.outage) && !x.until.IsZero() &&
				(c.ID == "" || x.until.Before(c.Until)) {
				c = Command{ID: fmt.Sprintf("run/l%d/wait", x.number), Kind: Wait, Agent: a.Name, Until: x.until}
			}
		}
	}
	old := m.waiting()
	if old.ID != "" && old.same(c) {
		return nil
	}
	delete(m.out, old.ID)
	if c.ID == "" {
		return nil
	}
	m.out[c.ID] = c
	return []Command{c}
}

// waiting returns the command that waits for a limit on behalf of all batches.
func (m *Machine) waiting() Command {
	for _, c := range m.out {
		if c.Kind == Wait && c.Batch == "" {
			return c
		}
	}
	return Command{}
}

// limited returns why no agent can do the due work, or nil.
func (m *Machine) limited() *Stop {
	held := m.heldUp()
	if len(held) == 0 {
		return nil
	}
	t := held[0].track
	for _, s := range held {
		if s.parked != nil { // this batch met the limit; the others only wait for it
			t = s.track
			break
		}
	}
	return &Stop{OutcomeLimited, fmt.Sprintf("batch %s: %s", t.Number, m.whyLimited())}
}

// whyLimited joins the limit reasons of all agents.
func (m *Machine) whyLimited() string {
	var why []string
	for _, a := range m.info.Agents {
		text := m.limits.of[a.Name].reason
		if len(m.info.Agents) > 1 {
			text = a.Name + ": " + text
		}
		why = append(why, text)
	}
	return strings.Join(why, "; ")
}

// Pause describes a run that cannot continue until a limit ends.
type Pause struct {
	Until  time.Time
	Reason string
}

// Paused reports whether all running commands wait for limits to end.
func (m *Machine) Paused() (Pause, bool) {
	var p Pause
	for _, c := range m.Pending() {
		if c.Kind != Wait {
			return Pause{}, false
		}
		if !p.Until.IsZero() && !c.Until.Before(p.Until) {
			continue
		}
		p.Until = c.Until
		if t := m.byKey[c.Batch]; t != nil && t.parked != nil {
			p.Reason = fmt.Sprintf("batch %s: %s", t.Number, t.parked.Reason)
		} else if s := m.limited(); s != nil {
			p.Reason = s.Reason
		}
	}
	return p, !p.Until.IsZero()
}

// forget drops the limits that no longer matter to a resumed run: those that are over or have an unknown end. If
// all agents are limited and the run does not wait at limits, it drops all: a resume asks for another try.
func (m *Machine) forget() {
	m.limits.hits = map[string]int{}
	for agent, x := range m.limits.of {
		if x.until.IsZero() || !m.limits.on(agent) || !m.knows(agent) {
			delete(m.limits.of, agent)
		}
	}
	if _, ok := m.free(); !ok && m.info.OnLimit != "wait" {
		clear(m.limits.of)
	}
}

func (m *Machine) knows(agent string) bool {
	return slices.ContainsFunc(m.info.Agents, func(a AgentInfo) bool { return a.Name == agent })
}

// take cancels the work of agents that are limited or no longer available. A resumed run gives it to another agent.
func (m *Machine) take(t *track) {
	lost := func(id string) bool {
		c, ok := m.out[id]
		return ok && c.Kind == Execute && c.Agent != "" && (!m.knows(c.Agent) || m.limits.on(c.Agent))
	}
	if lost(t.out) {
		delete(m.out, t.out)
		t.out = ""
	}
	if t.tournament == nil {
		return
	}
	for _, n := range t.tournament.entrants {
		if lost(n.out) {
			delete(m.out, n.out)
			n.out = ""
		}
	}
}

// by sets the agent of c and records the agent that it replaces.
func (c Command) by(agent string, from handed) Command {
	c.Agent = agent
	if from.agent != "" && from.agent != agent {
		c.Instead = fmt.Sprintf("%s met a limit: %s", from.agent, from.why)
	}
	return c
}
