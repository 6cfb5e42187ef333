package runner

import (
	"cmp"
	"context"
	"fmt"
	"slices"
)

// RunStatus is the status of a run.
type RunStatus string

// The statuses of a run.
const (
	RunActive  RunStatus = "running"
	RunPaused  RunStatus = "paused" // all agents are limited; the run continues when a limit ends
	RunDone    RunStatus = "done"
	RunFailed  RunStatus = "failed"
	RunStopped RunStatus = "stopped"

	RunDiscarded RunStatus = "discarded" // given up by a person; it cannot resume
)

// Over reports whether a run can never resume.
func (s RunStatus) Over() bool { return s == RunDone || s == RunDiscarded }

// Live reports whether a run is active or paused.
func (s RunStatus) Live() bool { return s == RunActive || s == RunPaused }

// Result is the end of a run.
type Result struct {
	Status RunStatus
	Stop   *Stop  // with RunStopped
	Reason string // with RunFailed
	Tip    string // commit of the run branch
}

// Done reports whether no command is running and none can start, with the result.
func (m *Machine) Done() (Result, bool) {
	if len(m.out) > 0 || m.run == StateLoad {
		return Result{Status: RunActive, Tip: m.tip}, false
	}
	r := Result{Tip: m.tip}
	switch {
	case m.settled() && !m.finalDue() && (m.landed == OutcomeOK || !m.toLand()):
		r.Status = RunDone // a stop request after the last step has no effect
	case m.stop != nil:
		r.Status, r.Stop = RunStopped, m.stop
	case m.landed != "":
		r.Status, r.Reason = RunFailed, "landing: "+m.why
	default:
		r.Status = RunFailed
		if i := slices.IndexFunc(m.tracks, func(t *track) bool { return t.status == Failed }); i >= 0 {
			r.Reason = fmt.Sprintf("batch %s: %s", m.tracks[i].Number, m.tracks[i].reason)
		} else if stop := m.halted(); stop != nil {
			r.Status, r.Stop = RunStopped, stop
		}
	}
	return r, true
}

// halted returns why a run cannot continue although it was not stopped and no batch failed.
func (m *Machine) halted() *Stop {
	if asked := m.Waiting(); len(asked) > 0 {
		a := asked[0]
		why := "the landing waits for a person: " + a.Question
		if a.Batch != "" {
			why = fmt.Sprintf("batch %s waits for a person: %s", a.Number, a.Question)
		}
		if more := len(asked) - 1; more > 0 {
			why += fmt.Sprintf(" (and %d more)", more)
		}
		return &Stop{OutcomeHuman, why}
	}
	for _, t := range m.tracks {
		if m.barred(t) {
			return &Stop{t.parked.Outcome, fmt.Sprintf("batch %s: %s", t.Number, t.parked.Reason)}
		}
	}
	if stop := m.limited(); stop != nil {
		return stop
	}
	if why := m.overBudget(); why != "" {
		return &Stop{OutcomeLimited, why}
	}
	return nil
}

// View is the state of one batch.
type View struct {
	BatchInfo
	Status    Status
	State     State
	Attempt   int
	Tier      string
	Base      string   // commit below the candidate, or the start commit of its agent
	On        []string // unmerged batches whose candidates its agent started from
	Commit    string   // the merged commit, else the candidate
	Reason    string   // why it was skipped or failed
	Competing []Slot   // candidates of a running tournament
}

// Batches returns the batches in plan order.
func (m *Machine) Batches() []View {
	out := make([]View, len(m.tracks))
	for i, t := range m.tracks {
		out[i] = m.view(t)
	}
	return out
}

func (m *Machine) view(t *track) View {
	v := View{
		BatchInfo: *t.BatchInfo, Status: t.status, State: t.state, Attempt: t.attempt, Tier: t.tier,
		Base: t.base, Commit: t.commit(), Reason: t.why(),
	}
	for _, n := range t.on {
		if !m.done(n) {
			v.On = append(v.On, n)
		}
	}
	if t.tournament != nil {
		for _, n := range t.tournament.entrants {
			v.Competing = append(v.Competing, n.slot)
		}
	}
	return v
}

// commit returns the final commit if there is one, else the candidate on its current base.
func (t *track) commit() string { return cmp.Or(t.final, t.stands.commit) }

// why returns the reason why a batch was skipped, failed or waits.
func (t *track) why() string {
	if t.parked != nil {
		return t.parked.Reason
	}
	return t.reason
}

// EachStatus calls f for each batch in plan order.
func (m *Machine) EachStatus(f func(key string, s Status)) {
	for _, t := range m.tracks {
		f(t.Key, t.status)
	}
}

// Batch returns one batch.
func (m *Machine) Batch(key string) (View, bool) {
	t := m.byKey[key]
	if t == nil {
		return View{}, false
	}
	return m.view(t), true
}

// Width returns the maximum number of concurrent agents: the run's workers, or one if agents could not start
// concurrently.
func (m *Machine) Width() int { return m.width }

// Tip returns the commit of the run branch.
func (m *Machine) Tip() string { return m.tip }

// Progress receives signs of life of running work. Its lines are only for people: they are not facts and not in the
// journal.
type Progress func(batch, text string)

// Engine is the interface of a driver for the command line and other front ends.
type Engine interface {
	// Start runs j until it has ended or stopped. It is idempotent by run id: a run in the journal continues.
	Start(ctx context.Context, run string, j Info) (Result, error)
	// Post adds a fact from outside: a stop, an approval, a note.
	Post(ctx context.Context, run string, e Event) error
}

// Filter selects runs. Zero fields select all.
type Filter struct {
	Run    string // id, or a unique beginning of it
	Slug   string
	Latest bool // only the newest
}
