package runner

import (
	"cmp"
	"fmt"
	"slices"
)

// RunStatus is how a run stands.
type RunStatus string

// The statuses of a run.
const (
	RunActive  RunStatus = "running"
	RunPaused  RunStatus = "paused" // nothing can go on before a limit of its agents is over
	RunDone    RunStatus = "done"
	RunFailed  RunStatus = "failed"
	RunStopped RunStatus = "stopped"

	RunDiscarded RunStatus = "discarded" // given up by a person: nothing goes on with it
)

// Over reports whether nothing can go on with a run.
func (s RunStatus) Over() bool { return s == RunDone || s == RunDiscarded }

// Live tells whether a run is under way.
func (s RunStatus) Live() bool { return s == RunActive || s == RunPaused }

// Result is how a run ended, or stopped.
type Result struct {
	Status RunStatus
	Stop   *Stop  // with RunStopped
	Reason string // with RunFailed
	Tip    string // commit of the run branch
}

// Done reports whether nothing is under way and nothing can start.
func (m *Machine) Done() (Result, bool) {
	if len(m.out) > 0 || m.run == StateLoad {
		return Result{Status: RunActive, Tip: m.tip}, false
	}
	r := Result{Tip: m.tip}
	switch {
	case m.settled() && !m.finalDue() && (m.landed == OutcomeOK || !m.toLand()):
		r.Status = RunDone // whoever asked to stop asked too late
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

// halted says what keeps a run from going on that nobody stopped and in which nothing failed.
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

// View is what is known of one batch.
type View struct {
	BatchInfo
	Status    Status
	State     State
	Attempt   int
	Tier      string
	Base      string   // commit below the candidate, or the one that its agent started from
	On        []string // batches that are not merged and whose candidates its agent started from
	Commit    string   // the one commit once merged, else the candidate
	Reason    string   // why it was skipped or failed
	Competing []Slot   // candidates of a tournament that is under way
	Parked    Outcome  // what its agent waits for: limited (time) or needs_human; "" while it does not
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
	if t.cup != nil {
		for _, n := range t.cup.entrants {
			v.Competing = append(v.Competing, n.slot)
		}
	}
	if t.parked != nil {
		v.Parked = t.parked.Outcome
	}
	return v
}

// commit is the one commit once there is one, else the candidate where it stands.
func (t *track) commit() string { return cmp.Or(t.final, t.stands.commit) }

// why says why a batch was skipped, has failed or waits.
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

// Width is how many agents may be at work at the same time: the run's workers, or one once agents could not be started
// beside each other.
func (m *Machine) Width() int { return m.width }

// Tip returns the commit that the run branch is at.
func (m *Machine) Tip() string { return m.tip }
