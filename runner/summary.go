package runner

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/runplan/runplan/agents"
	"github.com/runplan/runplan/gates"
	"github.com/runplan/runplan/internal/lists"
)

// Summary is a run as people and scripts see it, computed from its events.
type Summary struct {
	Run        string         `json:"run"`
	Plan       string         `json:"plan"`
	Title      string         `json:"title"`
	Slug       string         `json:"slug"`
	Branch     string         `json:"branch"`
	Base       string         `json:"base"`
	BaseBranch string         `json:"base_branch,omitempty"`
	Commit     string         `json:"commit"` // the commit of the run branch
	Agent      string         `json:"agent"`
	Mode       string         `json:"mode"`
	Workers    int            `json:"workers"`
	Score      int            `json:"score"`              // parallelism score of the plan
	SpeedUp    float64        `json:"speed_up,omitempty"` // as predicted
	Land       string         `json:"land"`
	Status     RunStatus      `json:"status"`
	Stop       Outcome        `json:"stop,omitempty"` // with status stopped: cancelled, limited, needs_human, error
	Reason     string         `json:"reason,omitempty"`
	Undone     string         `json:"undone,omitempty"` // commit that reverts the landed changes of the run
	Until      time.Time      `json:"until,omitzero"`   // with status paused: the end of the limit that is waited for
	Started    time.Time      `json:"started"`
	Updated    time.Time      `json:"updated"`
	DurationMS int64          `json:"duration_ms"` // wall time of all sessions of the run
	Batches    []BatchSummary `json:"batches"`
	Waiting    []Approval     `json:"waiting,omitempty"` // open questions to a person
	Review     *ReviewInfo    `json:"review,omitempty"`  // review of the whole run; nil without one
	// of all reviews of the whole run, which belong to no batch; nil if no reviewer was asked, or while it is unknown
	ReviewCostUSD *float64 `json:"review_cost_usd,omitempty"`

	// effect on the batches for each accepted change of the plan
	PlanChanges []gates.Report    `json:"plan_changes,omitempty"`
	Keys        map[string]string `json:"-"` // as [Info.Keys]
	Ended       []string          `json:"-"` // keys of the merged and failed batches, in the order of their end
	// file with the last accepted plan, relative to .runplan; "" for the plan at the start
	PlanCopy string `json:"-"`
}

// BatchSummary is one batch of a [Summary]. Pointers are nil while a figure is unknown.
type BatchSummary struct {
	Key         string   `json:"key"`
	Number      string   `json:"number"`
	Title       string   `json:"title"`
	State       string   `json:"state"` // waiting, merged, skipped, failed, or the state of the loop it is in
	Attempts    int      `json:"attempts"`
	Agent       string   `json:"agent,omitempty"`
	Model       string   `json:"model,omitempty"`
	Commit      string   `json:"commit,omitempty"`
	DurationMS  int64    `json:"duration_ms"`
	CostUSD     *float64 `json:"cost_usd"`
	TestsBefore *int     `json:"tests_before"`
	TestsAfter  *int     `json:"tests_after"`
	Class       string   `json:"class,omitempty"` // kind of work (ROUTE-12)
	Tier        string   `json:"tier,omitempty"`  // that its agent was last started with
	// its tier in the routing plan, by the name in the configuration
	Routed string       `json:"routed,omitempty"`
	Needs  []string     `json:"needs,omitempty"`
	Gates  []GateResult `json:"gates,omitempty"` // of the last attempt

	Candidates []*CandidateSummary `json:"candidates,omitempty"` // of the last tournament
	Sampling   string              `json:"sampling,omitempty"`   // why there was a tournament, or none, and the winner
	Review     *ReviewInfo         `json:"review,omitempty"`     // of the last attempt
	Fidelity   *ReviewInfo         `json:"fidelity,omitempty"`   // review of its blueprints, if a reviewer was asked
	Receipt    string              `json:"receipt,omitempty"`
	ReceiptSum string              `json:"-"` // SHA-256 of the receipt, as the merge recorded it
	Reason     string              `json:"reason,omitempty"`
	Started    time.Time           `json:"started,omitzero"`

	costUnknown bool
}

// MarshalJSON writes null for unknown values, so that the JSON always has each field.
func (b BatchSummary) MarshalJSON() ([]byte, error) {
	type plain BatchSummary
	known := func(s string) *string {
		if s == "" {
			return nil
		}
		return &s
	}
	return json.Marshal(struct {
		plain
		Agent  *string `json:"agent"`
		Model  *string `json:"model"`
		Commit *string `json:"commit"`
	}{plain(b), known(b.Agent), known(b.Model), known(b.Commit)})
}

// Batch returns the batch with a key, or the zero value.
func (s Summary) Batch(key string) BatchSummary {
	return lists.First(s.Batches, func(b BatchSummary) bool { return b.Key == key })
}

// Tally counts the batches of a run by their state.
type Tally struct{ Merged, Skipped, Failed, Waiting, Working int }

// ToGo returns the number of batches that have not ended.
func (t Tally) ToGo() int { return t.Waiting + t.Working }

// Tally counts the batches of the run.
func (s Summary) Tally() (t Tally) {
	for _, b := range s.Batches {
		switch Status(b.State) {
		case Passed:
			t.Merged++
		case Skipped:
			t.Skipped++
		case Failed:
			t.Failed++
		case Waiting:
			t.Waiting++
		default:
			t.Working++
		}
	}
	return t
}

// GateResult is the short form of a gate's report.
type GateResult struct {
	Gate     string           `json:"gate"`
	Status   gates.Status     `json:"status"`
	Note     string           `json:"note,omitempty"`
	Tests    *gates.TestCount `json:"tests,omitempty"`
	Quiet    bool             `json:"quiet,omitempty"` // it was skipped, and is not listed as such
	Findings int              `json:"findings,omitempty"`
	Said     []string         `json:"said,omitempty"` // its warnings, in words
	Command  string           `json:"command,omitempty"`
	Proof    *gates.Proof     `json:"proof,omitempty"` // of a test suite
}

// Fold turns the events of one run into its [Summary], one event at a time. The zero Fold is ready.
type Fold struct {
	machine *Machine
	driven  bool // the machine is the driver's, who feeds it
	sum     Summary
	byKey   map[string]int
	session time.Time // start of the session that the last event belongs to
	before  *int      // tests of the last batch that passed

	reviewUnpriced bool // the cost of a review of the whole run is unknown
}

// FoldOf returns the fold of a driver. It reads the driver's own machine, which must apply each event before the fold
// does.
func FoldOf(m *Machine) Fold { return Fold{machine: m, driven: true} }

// Apply adds one event, in the order of the journal.
func (f *Fold) Apply(e Event) error {
	if e.Kind == RunStarted {
		if err := f.start(e); err != nil {
			return err
		}
	}
	if f.byKey == nil {
		return nil
	}
	if !f.driven {
		f.machine.Apply(e)
	}
	s := &f.sum
	if e.Kind == PlanChanged && e.Job != nil {
		f.replan(e)
	}
	if e.Kind == RunResumed {
		f.session = e.At
		s.Status, s.Stop, s.Reason = RunActive, "", ""
	} else if !e.At.IsZero() && !e.Kind.Afterwards() {
		s.DurationMS += e.At.Sub(f.session).Milliseconds()
		f.session = e.At
	}
	s.Updated, s.Commit = e.At, f.machine.Tip()
	if e.Kind == RunFinished {
		s.Status, s.Stop, s.Reason, s.Until = RunDone, "", e.Reason, time.Time{}
		switch e.Outcome {
		case OutcomeOK:
		case OutcomeFailed:
			s.Status = RunFailed
		default:
			s.Status, s.Stop = RunStopped, e.Outcome
		}
	}
	switch e.Kind {
	case Discarded:
		s.Status, s.Stop, s.Reason, s.Until = RunDiscarded, "", e.Reason, time.Time{}
	case Undone:
		s.Undone = e.Commit
	case BatchPassed, BatchFailed, Reopened:
		s.Ended = lists.Filter(s.Ended, func(key string) bool { return key != e.Batch })
		if e.Kind != Reopened {
			s.Ended = append(s.Ended, e.Batch)
		}
	}
	if s.Status.Live() {
		s.Status, s.Reason, s.Until = RunActive, "", time.Time{}
		if p, ok := f.machine.Paused(); ok {
			s.Status, s.Reason, s.Until = RunPaused, p.Reason, p.Until
		}
	}
	for i, t := range f.machine.tracks {
		s.Batches[i].stand(t)
	}
	s.Waiting = nil
	for _, a := range f.machine.Waiting() {
		if s.Status.Over() {
			break // the answer has no effect
		}
		s.Waiting = append(s.Waiting, a.of(s.Run))
	}
	if e.Kind == Reviewed && e.Batch == "" {
		s.Review = cmp.Or(e.Review, s.Review)
		if e.Usage != nil {
			addCost(&s.ReviewCostUSD, &f.reviewUnpriced, e.Usage)
		}
	}
	if i, ok := f.byKey[e.Batch]; ok {
		f.batch(&s.Batches[i], e)
	}
	return nil
}

func (f *Fold) start(e Event) error {
	if e.Job == nil {
		return fmt.Errorf("event %d starts run %s, but does not describe the run", e.Seq, e.Run)
	}
	if !f.driven {
		m, err := New(*e.Job)
		if err != nil {
			return err
		}
		m.Start()
		f.machine = m
	}
	f.session, f.byKey = e.At, map[string]int{}
	j := e.Job
	f.sum = Summary{
		Run: e.Run, Plan: j.Plan, Title: j.Title, Slug: j.Slug, Branch: j.Branch, Base: j.Base, BaseBranch: j.BaseBranch,
		Commit: j.Base, Agent: j.Agent, Mode: j.Mode, Workers: j.Workers, Score: j.Score, SpeedUp: j.SpeedUp, Land: j.Land,
		Status: RunActive, Started: e.At, Updated: e.At,
	}
	f.batches(j.Batches)
	return nil
}

// batches lists the batches of a run, and keeps the known data about them.
func (f *Fold) batches(list []BatchInfo) {
	known := f.sum.Batches
	f.sum.Batches = make([]BatchSummary, 0, len(list))
	for _, b := range list {
		s := BatchSummary{State: string(Waiting)}
		if i, ok := f.byKey[b.Key]; ok {
			s = known[i]
		} else if b.Skip != "" {
			s.State, s.Reason = string(Skipped), b.Skip
		}
		s.Key, s.Number, s.Title, s.Needs, s.Class, s.Tier, s.Routed = b.Key, b.Number, b.Title, b.Needs, b.Class, b.Tier,
			cmp.Or(b.Label, b.Tier)
		f.sum.Batches = append(f.sum.Batches, s)
	}
	f.byKey = lists.Index(f.sum.Batches, func(b BatchSummary) string { return b.Key })
}

// replan applies the batches of a changed plan, in the machine's order. It does nothing if the machine rejected them.
func (f *Fold) replan(e Event) {
	f.sum.PlanChanges = append(f.sum.PlanChanges, e.Reports...)
	if len(f.machine.tracks) != len(e.Job.Batches) {
		return
	}
	f.batches(f.machine.info.Batches)
	f.sum.Title, f.sum.Keys, f.sum.PlanCopy = e.Job.Title, e.Job.Keys, e.Log
}

// stand copies the state of a batch from the machine. An event of one batch may move others, so this is done for each
// batch at each event: it makes no copies.
func (b *BatchSummary) stand(t *track) {
	b.State = string(t.status)
	if t.status == Working {
		b.State = string(t.state)
	}
	b.Attempts, b.Reason, b.Commit, b.Tier = t.attempt, t.why(), t.commit(), t.tier
}

func (f *Fold) batch(b *BatchSummary, e Event) {
	alone := b.tournament(e)
	switch e.Kind {
	case BatchStarted:
		b.Started = e.At
		b.TestsBefore = f.before
	case Dispatched:
		if e.Agent != "" {
			b.Agent, b.Model = e.Agent, e.Model
		}
	case Spent:
		b.cost(e)
	case Executed:
		b.Agent, b.Model = e.Agent, e.Model
		b.cost(e)
	case Reviewed:
		if e.Usage != nil {
			b.cost(e)
		}
		switch {
		case e.Review == nil:
		case strings.HasSuffix(e.Command, "/"+string(Fidelity)):
			b.Fidelity = e.Review
		default:
			b.Review = e.Review
		}
	case Gated:
		if !alone {
			b.gated(e)
		}
	case Merged:
		if e.Receipt != "" {
			b.Receipt, b.ReceiptSum = e.Receipt, e.Fingerprint
		}
		if e.Outcome == OutcomeOK {
			if f.before != nil {
				b.TestsBefore = f.before // count of the final base, which may differ from the first one
			}
			if b.TestsAfter != nil {
				f.before = b.TestsAfter
			}
		}
	}
	if e.Kind != Waited { // waiting is not work
		b.DurationMS += e.DurationMS
	}
}

// cost adds the usage of a command: that of its agent or reviewer, and that of the critique of its steps.
func (b *BatchSummary) cost(e Event) {
	if e.Kind != Executed || e.Attempted() {
		addCost(&b.CostUSD, &b.costUnknown, e.Usage)
	}
	if e.Critique != nil {
		addCost(&b.CostUSD, &b.costUnknown, &e.Critique.Usage)
	}
}

// addCost adds up known costs. One usage without a price makes the sum unknown, which is not zero.
func addCost(sum **float64, unknown *bool, u *agents.Usage) {
	if *unknown = *unknown || u == nil || u.CostUSD == nil; *unknown {
		*sum = nil
		return
	}
	total := *u.CostUSD
	if *sum != nil {
		total += **sum
	}
	*sum = &total
}

// Summary returns the current summary.
func (f *Fold) Summary() Summary { return f.sum }
