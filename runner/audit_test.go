package runner

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// decider is the interface that the simulation drives: the real machine, or a broken one that the simulation must
// detect.
type decider interface {
	Start() []Command
	Apply(Event) []Command
	Pending() []Command
	Done() (Result, bool)
	Batches() []View
	Waiting() []Approval
	Tip() string
}

// build creates a decider that calls took for each transition.
type build func(info Info, took func(Transition)) (decider, error)

// sound creates the real machine.
func sound(info Info, took func(Transition)) (decider, error) {
	m, err := New(info)
	if err != nil {
		return nil, err
	}
	m.took = took
	return m, nil
}

// audit observes a decider from outside: the events it gets, the commands it issues, and the state it reports.
type audit struct {
	info  Info
	place map[string]int      // of each batch in the plan
	table map[Transition]bool // the ways that there are
	taken []Transition
	seen  map[string]Command  // all that was ever wished for
	out   map[string]Command  // not yet reported on
	check func(Command) error // looks at a command that was never wished for before
	views map[string]View     // as of the last look
	stray error               // a way that is not in the table
}

func newAudit(info Info, check func(Command) error) *audit {
	a := &audit{
		info: info, check: check, place: map[string]int{}, table: map[Transition]bool{},
		seen: map[string]Command{}, out: map[string]Command{}, views: map[string]View{},
	}
	for i, b := range info.Batches {
		a.place[b.Key] = i
	}
	for _, t := range DefaultLoop().Transitions {
		a.table[t] = true
	}
	return a
}

func (a *audit) took(t Transition) {
	a.taken = append(a.taken, t)
	if !a.table[t] && a.stray == nil {
		a.stray = fmt.Errorf("took a transition that the table does not have: %v", t)
	}
}

// due reports whether e answers a command that is in progress. Any other report must change nothing.
func (a *audit) due(e Event) bool {
	c, ok := a.out[e.Command]
	return ok && reportOf(c.Kind) == e.Kind && answers(c.Kind, e.Outcome)
}

// asks reports whether e answers a pending question.
func asks(d decider, e Event) bool {
	return slices.ContainsFunc(d.Waiting(), func(w Approval) bool {
		return w.Command == e.Command && w.Batch == e.Batch && w.Tree == e.Tree && w.Commit == e.Commit
	})
}

// start starts the run.
func (a *audit) start(d decider) ([]Command, error) {
	cmds := d.Start()
	return cmds, a.look(d, cmds)
}

// apply passes e to d and returns an error if d violates a rule.
func (a *audit) apply(d decider, e Event) ([]Command, error) {
	switch e.Kind {
	case Sampled, Executed, Rebased, Gated, Tried, Judged, Reviewed, ApprovalAsked, Committed, Merged, Landed, Waited:
		if !a.due(e) {
			return nil, a.ignores(d, e)
		}
		delete(a.out, e.Command)
	case ApprovalGiven, ApprovalDenied:
		if !asks(d, e) {
			return nil, a.ignores(d, e)
		}
	}
	cmds := d.Apply(e)
	if err := a.withdraw(d, e); err != nil {
		return nil, fmt.Errorf("%s %s %s: %w", e.Kind, e.Command, e.Outcome, err)
	}
	if err := a.look(d, cmds); err != nil {
		return nil, fmt.Errorf("%s %s %s: %w", e.Kind, e.Command, e.Outcome, err)
	}
	return cmds, nil
}

// withdraw removes cancelled commands and returns an error if one was cancelled without a reason, such as a lost
// base.
func (a *audit) withdraw(d decider, e Event) error {
	pending := map[string]bool{}
	for _, c := range d.Pending() {
		pending[c.ID] = true
	}
	for id, c := range a.out {
		if pending[id] {
			continue
		}
		delete(a.out, id)
		lost := e.Kind == Reopened || e.Kind == RunResumed && (e.Commit != "" || c.Agent != "")
		switch c.Kind {
		case Rebase, Gate, Wait, Sample, Judge, Ask: // the queue before it changed
		case Review, Fidelity: // of what a batch changes, wherever it stands
			if c.Batch != "" && !slices.ContainsFunc(d.Batches(),
				func(v View) bool { return v.Key == c.Batch && v.Status == Waiting }) && !lost {
				return fmt.Errorf("%s was cancelled for no reason", id)
			}
		case Execute:
			lost = lost || len(c.On) > 0 || c.Slot != nil && a.info.StopAtFirst && e.Kind == Gated
			fallthrough
		default:
			if !lost {
				return fmt.Errorf("%s was cancelled for no reason", id)
			}
		}
	}
	return nil
}

func (a *audit) atWork(k CommandKind) int {
	n := 0
	for _, c := range a.out {
		if c.Kind == k {
			n++
		}
	}
	return n
}

// ignores returns an error if a report without a matching command changes anything.
func (a *audit) ignores(d decider, e Event) error {
	pending, views, tip := d.Pending(), d.Batches(), d.Tip()
	cmds := d.Apply(e)
	if len(cmds) > 0 || !slices.EqualFunc(pending, d.Pending(), sameCommand) ||
		!slices.EqualFunc(views, d.Batches(), sameView) || tip != d.Tip() {
		return fmt.Errorf("a report on an unknown command changed the machine: %s %s %s", e.Kind, e.Command, e.Outcome)
	}
	return nil
}

// look checks the new commands and the state of d after them.
func (a *audit) look(d decider, cmds []Command) error {
	for _, v := range d.Batches() {
		a.views[v.Key] = v
	}
	for _, c := range cmds {
		if _, ok := a.out[c.ID]; ok {
			return fmt.Errorf("%s is handed out twice", c.ID)
		}
		old, again := a.seen[c.ID]
		if again && !sameCommand(old, c) {
			return fmt.Errorf("two commands have the ID %s: %+v, %+v", c.ID, old, c)
		}
		a.out[c.ID], a.seen[c.ID] = c, c
		if n := a.atWork(Gate) + a.atWork(Trial); n > a.info.Workers {
			return fmt.Errorf("%d gates at once, but there are %d workers", n, a.info.Workers)
		}
		if n := a.atWork(c.Kind); c.Kind == Execute && n > max(a.info.Workers, a.info.Candidates) {
			return fmt.Errorf("%d times %s at once, but there are %d workers", n, c.Kind, a.info.Workers)
		}
		if n := a.atWork(Review) + a.atWork(Fidelity); n > max(1, a.info.Workers) {
			return fmt.Errorf("%d reviews at once, but there are %d workers", n, a.info.Workers)
		}
		if !again && a.check != nil {
			if err := a.check(c); err != nil {
				return fmt.Errorf("%s: %w", c.ID, err)
			}
		}
	}
	if a.stray != nil {
		return a.stray
	}
	if res, _ := d.Done(); res.Stop != nil && strings.HasPrefix(res.Stop.Reason, "internal error") {
		return errors.New(res.Stop.Reason)
	}
	return a.pending(d)
}

// pending checks that d lists exactly the commands in progress, in plan order.
func (a *audit) pending(d decider) error {
	pending := d.Pending()
	if len(pending) != len(a.out) {
		return fmt.Errorf("%d commands are in progress, but %d are pending", len(a.out), len(pending))
	}
	landing, last := 0, -1
	for _, c := range pending {
		if o, ok := a.out[c.ID]; !ok || !sameCommand(o, c) {
			return fmt.Errorf("%s is pending, but was not handed out like this", c.ID)
		}
		place, ok := a.place[c.Batch]
		if !ok {
			place = len(a.place)
		}
		place *= 100
		if c.Slot != nil {
			place += c.Slot.Number
		}
		if place <= last {
			return fmt.Errorf("%s is pending out of order", c.ID)
		}
		last = place
		if c.Kind == Commit || c.Kind == Merge {
			landing++
		}
	}
	if landing > 1 {
		return fmt.Errorf("%d batches land at the same time", landing)
	}
	if _, done := d.Done(); done != (len(pending) == 0) {
		return fmt.Errorf("done is %v with %d commands pending", done, len(pending))
	}
	return nil
}

func sameCommand(a, b Command) bool { return a.same(b) }

func sameView(a, b View) bool {
	return a.Key == b.Key && a.Status == b.Status && a.State == b.State && a.Attempt == b.Attempt &&
		a.Base == b.Base && a.Commit == b.Commit && a.Reason == b.Reason
}
