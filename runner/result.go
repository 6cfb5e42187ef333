package runner

import "fmt"

// RunStatus is how a run stands.
type RunStatus string

// The statuses of a run.
const (
	RunActive  RunStatus = "running"
	RunDone    RunStatus = "done"
	RunFailed  RunStatus = "failed"
	RunStopped RunStatus = "stopped"
)

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
	case m.settled() && (m.landed == OutcomeOK || !m.toLand()):
		r.Status = RunDone // whoever asked to stop asked too late
	case m.stop != nil:
		r.Status, r.Stop = RunStopped, m.stop
	case m.landed != "":
		r.Status, r.Reason = RunFailed, "landing: "+m.why
	default:
		r.Status = RunFailed
		for _, t := range m.tracks {
			if t.status == Failed {
				r.Reason = fmt.Sprintf("batch %s: %s", t.Number, t.reason)
				break
			}
		}
	}
	return r, true
}

// View is what is known of one batch.
type View struct {
	BatchInfo
	Status  Status
	State   State
	Attempt int
	Base    string
	Commit  string // the one commit once merged, else the candidate
	Reason  string // why it was skipped or failed
}

// Batches returns the batches in plan order.
func (m *Machine) Batches() []View {
	out := make([]View, len(m.tracks))
	for i, t := range m.tracks {
		out[i] = t.view()
	}
	return out
}

func (t *track) view() View {
	c := t.commit
	if t.final != "" {
		c = t.final
	}
	return View{BatchInfo: t.BatchInfo, Status: t.status, State: t.state, Attempt: t.attempt, Base: t.base, Commit: c, Reason: t.reason}
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
	return t.view(), true
}

// Tip returns the commit that the run branch is at.
func (m *Machine) Tip() string { return m.tip }
