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

// limits is what a run knows of the limits of its agents. A limit is one of the account, not of a batch: nobody works
// on that agent until it is over.
type limits struct {
	now  time.Time // of the last fact that told of one's end
	of   map[string]limit
	hits map[string]int // by agent: limits and outages that it met since it last did something
	met  int            // limits of this run so far
}

// limit is one that an agent met.
type limit struct {
	number int
	until  time.Time // zero: nobody knows
	reason string
	outage bool // of the provider, and no limit of the account
}

// handed is the agent that a batch is taken from, and why.
type handed struct{ agent, why string }

// mostWaits bounds how often a limit is waited for in a row: after so many wrong reset times
// the reset time is treated as unknown.
const mostWaits = 5

// skew is what is waited where a limit is said to be over already: the clocks of the two differ.
const skew = time.Minute

// shared tells whether limits are known by agent. Older journals have no agent list: there
// each batch meets the limit, and waits, by itself.
func (m *Machine) shared() bool { return len(m.info.Agents) > 0 }

// pass moves the time on. The machine has no clock but the facts.
func (l *limits) pass(at time.Time) {
	if at.After(l.now) {
		l.now = at
	}
}

// on tells whether an agent is known to be limited.
func (l *limits) on(agent string) bool {
	x, ok := l.of[agent]
	return ok && (x.until.IsZero() || l.now.Before(x.until))
}

// meet takes up that an agent met a limit or an outage. Those who were at work beside each other meet the same one; the
// last time that any of them tells is when it ends.
func (m *Machine) meet(agent string, e Event) {
	l := &m.limits
	if l.of == nil {
		l.of, l.hits = map[string]limit{}, map[string]int{}
	}
	old, again := l.of[agent], l.on(agent)
	if again && !e.RetryAt.After(old.until) { // no time is before any other
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
		if wait := m.backoff(agent, hits, e.Outage); wait > 0 {
			x.until = l.now.Add(wait)
			x.reason = fmt.Sprintf("%s; when it ends is not known, wait %d is for %s", e.Reason, hits, wait)
		}
	case !x.until.IsZero() && !x.until.After(l.now):
		x.until = l.now.Add(time.Duration(hits) * skew)
	}
	l.of[agent] = x
}

// backoff returns how long is waited where nobody says when a limit or an outage ends: 0 is not at all. It doubles from one
// wait to the next, up to a maximum, and differs by up to a tenth from run to run, so that runs which met the same limit
// do not all come back in the same second. An outage is waited for also in a run that stops at limits, a few times.
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

// over takes up that a limit was waited for.
func (l *limits) over(c Command) {
	if x, ok := l.of[c.Agent]; ok && !x.until.IsZero() && !x.until.After(c.Until) {
		delete(l.of, c.Agent)
	}
}

// free returns the agent that is to work next: the first that is not known to be limited. It is "" in runs that do not
// list theirs.
func (m *Machine) free() (agent string, ok bool) {
	for _, a := range m.info.Agents {
		if !m.limits.on(a.Name) {
			return a.Name, true
		}
	}
	return "", !m.shared()
}

// barred tells whether a batch waits for something by itself. A limit that is known by agent holds up all batches alike.
func (m *Machine) barred(t *track) bool {
	return t.parked != nil && !(m.shared() && t.parked.Outcome == OutcomeLimited)
}

// heldUp returns the batches that could begin, had no agent met a limit.
func (m *Machine) heldUp() []start {
	if _, ok := m.free(); ok || m.width <= m.atWork(Execute) || m.overBudget() != "" {
		return nil
	}
	return slices.DeleteFunc(m.starts(), func(s start) bool { return s.base == "" })
}

// pause waits for the limit that ends first, while there is work that no agent may be given.
func (m *Machine) pause() []Command {
	var c Command
	if len(m.heldUp()) > 0 {
		for _, a := range m.info.Agents {
			if x := m.limits.of[a.Name]; (m.info.OnLimit == "wait" || x.outage) && !x.until.IsZero() && (c.ID == "" || x.until.Before(c.Until)) {
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

// waiting returns the command that waits for a limit to end, for all batches.
func (m *Machine) waiting() Command {
	for _, c := range m.out {
		if c.Kind == Wait && c.Batch == "" {
			return c
		}
	}
	return Command{}
}

// limited says why no agent may be given what is due, or nil.
func (m *Machine) limited() *Stop {
	held := m.heldUp()
	if len(held) == 0 {
		return nil
	}
	t := held[0].track
	for _, s := range held {
		if s.parked != nil { // it met the limit, the others only heard of it
			t = s.track
			break
		}
	}
	return &Stop{OutcomeLimited, fmt.Sprintf("batch %s: %s", t.Number, m.whyLimited())}
}

// whyLimited tells what the agents say of their limits.
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

// Pause is a run in which nothing can go on before a limit is over.
type Pause struct {
	Until  time.Time
	Reason string
}

// Paused reports whether nothing is under way but waiting for limits to end.
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

// forget drops what a run that goes on need not heed any more: what is over, and what nobody knows the end of. Where
// all agents are limited and nobody wants to wait, whoever goes on wants it tried.
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

// take takes work from agents that are gone, or known to be limited: a run that goes on gives it to another.
func (m *Machine) take(t *track) {
	lost := func(id string) bool {
		c, ok := m.out[id]
		return ok && c.Kind == Execute && c.Agent != "" && (!m.knows(c.Agent) || m.limits.on(c.Agent))
	}
	if lost(t.out) {
		delete(m.out, t.out)
		t.out = ""
	}
	if t.cup == nil {
		return
	}
	for _, n := range t.cup.entrants {
		if lost(n.out) {
			delete(m.out, n.out)
			n.out = ""
		}
	}
}

// by names who is to carry out c, and whom it is taken from.
func (c Command) by(agent string, from handed) Command {
	c.Agent = agent
	if from.agent != "" && from.agent != agent {
		c.Instead = fmt.Sprintf("%s met a limit: %s", from.agent, from.why)
	}
	return c
}
