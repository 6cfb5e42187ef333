package runner

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

// Each invariant of the simulation detects the bug that it is meant for.
func TestSimulationDetectsPlantedBugs(t *testing.T) {
	tests := map[string]struct {
		build build
		want  string
	}{
		"a machine that ignores needs": {with(func(i *Info) {
			for b := range i.Batches {
				i.Batches[b].Needs = nil
			}
		}, nil), "which lacks"},
		"a machine that lacks a transition": {with(nil, func(m *Machine, e Event) []Command {
			m.loop.Transitions = slices.DeleteFunc(m.loop.Transitions,
				func(t Transition) bool { return t.From == StateEdit && t.On == OnFailed })
			return m.Apply(e)
		}), "internal error: batch "},
		"a machine that takes on one batch too many": {with(func(i *Info) { i.Workers++ }, nil), "workers"},
		"a machine that hands commands out twice": {with(nil, func(m *Machine, e Event) []Command {
			cmds := m.Apply(e)
			return append(cmds, cmds...)
		}), "handed out twice"},
		"a machine that starts a merged batch again": {with(nil, func(m *Machine, e Event) []Command {
			cmds := m.Apply(e)
			if t := m.byKey[e.Batch]; t != nil && e.Kind == Merged && t.status == Passed && t.attempt == 1 {
				cmds = append(cmds, m.reopen(Event{Batch: e.Batch})...)
			}
			return cmds
		}), "are allowed"},
		"a machine that lets two batches land at once": {with(nil, func(m *Machine, e Event) []Command {
			m.merging = nil
			if n := len(m.queue); n > 1 {
				m.queue[0], m.queue[n-1] = m.queue[n-1], m.queue[0]
			}
			return m.Apply(e)
		}), "at the same time"},
		"a machine that continues work on a lost base": {with(nil, func(m *Machine, e Event) []Command {
			cmds := m.Apply(e)
			for _, t := range m.tracks {
				if len(t.on) > 0 {
					t.Needs = nil
				}
			}
			return cmds
		}), "which it needs"},
		"a machine that lands a tree that was gated on another base": {with(nil, func(m *Machine, e Event) []Command {
			for _, q := range m.queue {
				if q.verdict == green {
					q.onto = m.tip
				}
			}
			return m.Apply(e)
		}), "adds more than its batch"},
		"a machine that believes a candidate before its gates": {with(nil, func(m *Machine, e Event) []Command {
			if e.Kind == Gated && e.Outcome == OutcomeFailed {
				e.Outcome = OutcomeOK
			}
			return m.Apply(e)
		}), "no gate has seen"},
		"a machine that speculates although it is not allowed": {with(func(i *Info) { i.Speculate = true }, nil),
			"speculation is not allowed"},
		"a machine that spends more than it may": {with(func(i *Info) { i.MaxCostUSD = 0 }, nil), "spent of"},
		"a machine that cancels valid work": {with(nil, func(m *Machine, e Event) []Command {
			cmds := m.Apply(e)
			for _, t := range m.tracks {
				if e.Kind == Gated && t.out != "" && m.out[t.out].Kind == Execute {
					m.withdraw(t)
				}
			}
			return cmds
		}), "for no reason"},
		"a machine that merges what a hook changed without another gate": {with(nil, func(m *Machine, e Event) []Command {
			if e.Outcome == OutcomeChanged && m.out[e.Command].Kind == Commit {
				e.Outcome, m.byKey[e.Batch].stands.tree = OutcomeOK, e.Tree
			}
			return m.Apply(e)
		}), "no gate has seen"},
		"a machine that believes an old tip": {with(nil, func(m *Machine, e Event) []Command {
			tip := m.tip
			cmds := m.Apply(e)
			m.tip = tip
			return cmds
		}), "but the run branch is at"},
		"a machine that acts on repeated reports": {with(nil, func(m *Machine, e Event) []Command {
			if t := m.byKey[e.Batch]; t != nil && t.out == "" {
				if c, ok := t.issued[e.Command]; ok {
					m.out[c.ID], t.out = c, c.ID
				}
			}
			return m.Apply(e)
		}), "changed the machine"},
		"a machine that uses an id for two commands": {with(nil, func(m *Machine, e Event) []Command {
			if t := m.byKey[e.Batch]; t != nil && e.Outcome == OutcomeFailed {
				t.attempt = 0
			}
			return m.Apply(e)
		}), "two commands have the ID"},
		"a machine that takes a short cut": {with(nil, func(m *Machine, e Event) []Command {
			for i, t := range m.loop.Transitions {
				if t.From == StateEdit && t.On == OnDone {
					m.loop.Transitions[i].To = StatePublish
				}
			}
			return m.Apply(e)
		}), "the table does not have"},
		"a machine that remembers what the journal does not know": {forgetful, "replay"},
		"a machine that lands too early": {with(nil, func(m *Machine, e Event) []Command {
			cmds := m.Apply(e)
			if m.toLand() && m.stop == nil && m.landed == "" && m.info.Land == "ff" && m.out["run/land"].ID == "" {
				c := Command{ID: "run/land", Kind: LandRun, Base: m.info.Base, Commit: m.tip}
				m.out[c.ID] = c
				cmds = append(cmds, c)
			}
			return cmds
		}), "before all is merged"},
		"a machine that forgets the limits of its agents": {with(nil, func(m *Machine, e Event) []Command {
			m.limits.of = nil
			return m.Apply(e)
		}), "which is known to be limited"},
		"a machine that takes the next agent for no reason": {with(nil, func(m *Machine, e Event) []Command {
			for _, a := range m.info.Agents[:min(1, len(m.info.Agents))] {
				if m.limits.of == nil {
					m.limits.of, m.limits.hits = map[string]limit{}, map[string]int{}
				}
				m.limits.of[a.Name] = limit{reason: "it feels like it"}
			}
			return m.Apply(e)
		}), "is not limited"},
		"a machine that waits for an unneeded command": {with(nil, func(m *Machine, e Event) []Command {
			cmds := m.Apply(e)
			if m.settled() && len(m.out) == 0 && m.shared() && m.info.Land == "branch" {
				c := Command{ID: fmt.Sprintf("run/l%d/wait", e.Seq), Kind: Wait, Agent: m.info.Agents[0].Name,
					Until: e.At.Add(time.Hour)}
				m.out[c.ID] = c
				cmds = append(cmds, c)
			}
			return cmds
		}), "waits although nothing is held up"},
		"a machine that asks no person": {with(func(i *Info) {
			for b := range i.Batches {
				i.Batches[b].Approve = false
			}
		}, nil), "to which no person agreed"},
		"a machine that takes an approval for any tree": {with(nil, func(m *Machine, e Event) []Command {
			if e.Kind == ApprovalGiven {
				for _, a := range m.Waiting() {
					if a.Command == e.Command {
						e.Tree, e.Commit = a.Tree, a.Commit
					}
				}
			}
			return m.Apply(e)
		}), "changed the machine"},
		"a machine that keeps an approval when the tree has become another one": {with(nil,
			func(m *Machine, e Event) []Command {
				for _, t := range m.tracks {
					if t.again != "" && t.stands.tree != "" {
						t.approved = t.stands.tree
					}
				}
				return m.Apply(e)
			}), "to which no person agreed"},
		"a machine that believes a review that found something": {with(nil, func(m *Machine, e Event) []Command {
			if e.Kind == Reviewed && (e.Outcome == OutcomeShallow || e.Outcome == OutcomeComplex) {
				e.Outcome = OutcomeOK
			}
			return m.Apply(e)
		}), "no review let through"},
		"a machine that passes on what a review leaves to a person": {with(nil, func(m *Machine, e Event) []Command {
			if e.Kind == Reviewed && e.Outcome == OutcomeUndecided {
				e.Outcome = OutcomeSkipped
			}
			return m.Apply(e)
		}), "to which no person agreed"},
		"a machine that lands without a final review": {with(func(i *Info) { i.FinalReview = "" }, nil),
			"without a final review"},
		"a machine that lowers the bar": {with(func(i *Info) { i.LandBar = 0 }, nil), "below the bar"},
		"a machine that calls off reviews": {with(nil, func(m *Machine, e Event) []Command {
			cmds := m.Apply(e)
			for _, t := range m.tracks {
				if e.Kind == Merged && m.out[t.out].Kind == Review {
					m.withdraw(t)
				}
			}
			return cmds
		}), "for no reason"},
		"a machine that never continues": {with(nil, func(m *Machine, e Event) []Command {
			if e.Kind == RunResumed {
				return nil
			}
			return m.Apply(e)
		}), "does not end"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			heard := map[string]int{}
			for seed := uint64(1); seed <= 500; seed++ {
				_, err := simulate(seed, tt.build)
				if err != nil && strings.Contains(err.Error(), tt.want) {
					return
				}
				if err != nil {
					heard[err.Error()]++
				}
			}
			t.Errorf("500 runs passed without the error %q; got %v", tt.want, heard)
		})
	}
}

// broken is a machine that handles one event incorrectly.
type broken struct {
	*Machine
	apply func(*Machine, Event) []Command
}

func (b broken) Apply(e Event) []Command { return b.apply(b.Machine, e) }

// with returns a builder of broken machines: with a changed job, or with another Apply.
func with(bend func(*Info), apply func(*Machine, Event) []Command) build {
	if apply == nil {
		apply = (*Machine).Apply
	}
	return func(info Info, took func(Transition)) (decider, error) {
		info.Batches = slices.Clone(info.Batches)
		if bend != nil {
			bend(&info)
		}
		m, err := New(info)
		if err != nil {
			return nil, err
		}
		m.took = took
		return broken{m, apply}, nil
	}
}

// forgetful builds machines that count attempts differently when they replay a journal.
func forgetful(info Info, took func(Transition)) (decider, error) {
	m, err := New(info)
	if err != nil {
		return nil, err
	}
	if took == nil { // a replay
		for _, t := range m.tracks {
			t.attempt = 1
		}
	}
	m.took = took
	return m, nil
}
