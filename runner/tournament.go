package runner

import (
	"fmt"
	"slices"

	"github.com/runplan/runplan/gates"
)

// tournament is several candidates of one batch that compete (SAMP-02). Each is made and gated on the same base,
// outside of the merge queue; the winner enters the queue.
type tournament struct {
	entrants []*entrant
	atOnce   int              // of them to be worked on at the same time
	base     string           // base of all candidates, "" until the first one starts
	before   *gates.TestCount // tests of the base
}

// entrant is one candidate.
type entrant struct {
	slot   Slot
	out    string // id of its running command, "" if none
	made   *candidate
	ended  bool
	passed bool
	tests  *gates.TestCount
	from   handed // the agent that met a limit while it was made
}

// entrant finds whose command c is, nil for one of the batch itself.
func (t *track) entrant(c Command) *entrant {
	if t == nil || t.tournament == nil || c.Slot == nil {
		return nil
	}
	i := slices.IndexFunc(t.tournament.entrants, func(n *entrant) bool { return n.slot.Number == c.Slot.Number })
	if i < 0 {
		return nil
	}
	return t.tournament.entrants[i]
}

// sampled starts the chosen candidates, or a single attempt if there are none.
func (m *Machine) sampled(t *track, e Event) {
	switch {
	case e.Outcome == OutcomeFailed:
		t.tries = m.info.MaxAttempts // no other attempt could help
		m.failed(t, e)
	case e.Outcome == OutcomeOK && len(e.Slots) > 0:
		t.tournament = &tournament{atOnce: max(1, e.AtOnce)}
		for _, s := range e.Slots {
			t.tournament.entrants = append(t.tournament.entrants, &entrant{slot: s})
		}
	default:
		m.fire(t, OnSkipped)
	}
}

// due lists the candidates of t that an agent may start. All have the base of the first one.
func (m *Machine) due(t *track) []start {
	base, on, ok := t.tournament.base, t.on, true
	if base == "" {
		base, on, ok = m.startable(t)
	}
	var starts []start
	atWork := 0
	for _, n := range t.tournament.entrants {
		switch {
		case n.made != nil && !n.ended && m.info.StopAtFirst:
			return nil // this one may be it
		case n.out != "" && m.out[n.out].Kind == Execute:
			atWork++
		case n.out == "" && n.made == nil && !n.ended:
			starts = append(starts, start{t, n, base, on})
		}
	}
	if !ok {
		return nil
	}
	return starts[:max(0, min(len(starts), t.tournament.atOnce-atWork))]
}

// enter assigns a candidate to an agent.
func (m *Machine) enter(s start, agent string) Command {
	t := s.track
	if t.tournament.base == "" {
		t.tournament.base, t.base, t.on = s.base, s.base, s.on
		if t.base == m.tip {
			t.tournament.before = m.before
		}
	}
	t.alone, t.parked = max(m.width, m.crowd()) == 1, nil
	c := Command{Kind: Execute, Base: t.tournament.base, On: t.on, After: t.after, Tier: t.tier, Model: m.model(t, agent),
		Before: t.tournament.before, Left: m.costLeft()}
	return m.issueFor(t, s.n, c.by(agent, s.n.from))
}

// issueFor issues a command of a candidate. The number of a candidate is that of its slot, so a changed command, for
// example for another agent, gets an id with an additional number.
func (m *Machine) issueFor(t *track, n *entrant, c Command) Command {
	slot := n.slot
	c.Batch, c.Attempt, c.Slot = t.Key, t.attempt, &slot
	c.ID = fmt.Sprintf("%s/r%d-c%d/%s", t.Key, t.attempt, slot.Number, c.Kind)
	for again := 1; ; again++ {
		if old, known := t.issued[c.ID]; !known || old.same(c) {
			break
		}
		c.ID = fmt.Sprintf("%s/r%d.%d-c%d/%s", t.Key, t.attempt, again, slot.Number, c.Kind)
	}
	m.out[c.ID], t.issued[c.ID], n.out = c, c, c.ID
	return c
}

// competed records the progress of a candidate.
func (m *Machine) competed(t *track, n *entrant, e Event) {
	switch {
	case e.Outcome != OutcomeOK:
		n.ended = true
	case e.Kind == Executed:
		n.made = &candidate{e.Commit, e.Tree}
	default:
		n.ended, n.passed, n.tests = true, true, e.Tests
		if m.info.StopAtFirst {
			for _, o := range t.tournament.entrants {
				delete(m.out, o.out)
				o.out, o.ended = "", true
			}
		}
	}
}

// compete advances tournaments: the candidates, their gates, and the winner.
func (m *Machine) compete() []Command {
	var cmds []Command
	for _, t := range m.tracks {
		if t.status != Working || t.out != "" || t.state != StateSample && t.state != StateSynthesize {
			continue
		}
		if t.tournament == nil {
			if t.state == StateSample {
				cmds = append(cmds, m.issue(t, Command{Kind: Sample, After: t.after, Tier: t.tier}))
			}
			continue
		}
		ended := true
		for _, n := range t.tournament.entrants {
			ended = ended && n.ended
			if n.made != nil && !n.ended && n.out == "" && m.gating() < m.info.Workers {
				cmds = append(cmds, m.issueFor(t, n,
					Command{Kind: Gate, Base: t.tournament.base, Commit: n.made.commit, Tree: n.made.tree, Before: t.tournament.before,
						On: t.on}))
			}
		}
		if ended {
			t.candidate = len(t.tournament.entrants)
			cmds = append(cmds, m.issue(t, Command{Kind: Judge, Base: t.tournament.base}))
		}
	}
	return cmds
}

// SynthesisVariant names the candidate of the second round, which is made of the others (SAMP-08).
const SynthesisVariant = "synthesis"

// judged applies the winner. Without a clear winner, it starts a synthesis of the candidates.
func (m *Machine) judged(t *track, e Event) {
	i := slices.IndexFunc(t.tournament.entrants, func(n *entrant) bool { return n.slot.Number == e.Candidate && n.passed })
	switch {
	case e.Outcome == OutcomeUndecided && t.state == StateSample:
		number := len(t.tournament.entrants) + 1
		t.tournament.entrants = append(t.tournament.entrants,
			&entrant{slot: Slot{Number: number, Variant: SynthesisVariant, Kind: SynthesisVariant, Digest: true}})
		m.fire(t, OnUndecided)
	case e.Outcome == OutcomeOK && i >= 0:
		m.win(t, t.tournament.entrants[i])
	default:
		t.tournament = nil
		t.tries = m.info.MaxAttempts // neither a candidate nor a synthesis would do, so one more attempt won't (SAMP-09)
		m.failed(t, e)
	}
}

// win puts a candidate into the merge queue. If it is already on its future base, its gate results count.
func (m *Machine) win(t *track, n *entrant) {
	t.made, t.changes, t.waits, t.sound = *n.made, 0, 0, true
	m.put(t, t.base)
	t.forget()
	t.gated, t.tests, t.asked, t.before = true, n.tests, true, t.tournament.before
	t.tournament = nil
	if m.shared() {
		t.parked = nil // another candidate may have met a limit
	}
	m.queue = append(m.queue, t)
	m.fire(t, OnDone)
	m.fire(t, OnDone)
	m.pass(t)
}

// CandidateSummary is one candidate of a batch's last tournament.
type CandidateSummary struct {
	Number  int         `json:"number"`
	Variant string      `json:"variant"`
	Kind    string      `json:"kind,omitempty"` // why it got its variant
	State   string      `json:"state"`          // waiting, edited, passed, failed, won, or void
	Score   *int        `json:"score"`          // null until it is judged
	Terms   []ScoreTerm `json:"terms,omitempty"`
	Reason  string      `json:"reason,omitempty"`
	Agent   string      `json:"agent,omitempty"` // that made it
	Model   string      `json:"model,omitempty"`

	gated *Event
}

// tournament applies a tournament event. It reports whether the event is about a candidate only.
func (b *BatchSummary) tournament(e Event) (alone bool) {
	switch {
	case e.Kind == Sampled:
		b.Candidates, b.Sampling = nil, e.Reason
		for _, s := range e.Slots {
			b.Candidates = append(b.Candidates,
				&CandidateSummary{Number: s.Number, Variant: s.Variant, Kind: s.Kind, State: "waiting"})
		}
	case e.Kind == Judged:
		b.judged(e)
	case e.Candidate > 0:
		c := b.candidate(e.Candidate, e.Variant)
		if e.Kind == Executed {
			c.Agent, c.Model = e.Agent, e.Model
		}
		switch e.Outcome {
		case OutcomeOK:
			c.State = "edited"
			if e.Kind == Gated {
				c.State, c.gated = "passed", &e
			}
		case OutcomeFailed, OutcomeUnchanged, OutcomeTimedOut:
			c.State, c.Reason = "failed", e.Reason
		}
		return true
	}
	return false
}

func (b *BatchSummary) candidate(number int, variant string) *CandidateSummary {
	i := slices.IndexFunc(b.Candidates, func(c *CandidateSummary) bool { return c.Number == number })
	if i < 0 {
		b.Candidates = append(b.Candidates, &CandidateSummary{Number: number, Variant: variant, Kind: variant})
		i = len(b.Candidates) - 1
	}
	return b.Candidates[i]
}

func (b *BatchSummary) judged(e Event) {
	b.Sampling = e.Reason
	for _, s := range e.Scores {
		c := b.candidate(s.Candidate, s.Variant)
		score := s.Score
		c.Score, c.Terms = &score, s.Terms
		if s.Void != "" {
			c.State, c.Reason, c.Score = "void", s.Void, nil
		}
	}
	if e.Outcome != OutcomeOK {
		return
	}
	if c := b.candidate(e.Candidate, ""); c.gated != nil {
		c.State = "won"
		if c.Agent != "" {
			b.Agent, b.Model = c.Agent, c.Model
		}
		b.gated(*c.gated)
	}
}

// gated applies the gate results of the candidate to land.
func (b *BatchSummary) gated(e Event) {
	b.Gates = slices.Grow([]GateResult(nil), len(e.Reports))
	for _, r := range e.Reports {
		b.Gates = append(b.Gates,
			GateResult{r.Gate, r.Status, r.Note, r.Tests, r.Quiet, len(r.Findings), r.Said(), r.Command, r.Proof})
	}
	if e.Tests != nil {
		b.TestsAfter = new(e.Tests.Passed)
	}
	if n := gates.OnBase(e.Reports); n != nil {
		b.TestsBefore = n
	}
}
