package runner

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/runplan/runplan/gates"
	"github.com/runplan/runplan/internal/checksum"
	"github.com/runplan/runplan/internal/lists"
)

// Recorder records a run for its driver: it numbers and dates events, applies them to the [Machine], and adds events
// for readers of the journal. It is pure like the machine, so all drivers write the same journal for the same
// outcomes. The caller supplies the clock.
type Recorder struct {
	machine *Machine
	run     string
	now     func() time.Time
	seq     int
	told    map[string]Status // batch statuses that readers know
	behind  bool              // events were replayed, whose changes readers know already
}

// Step holds the consequences of one fact.
type Step struct {
	Events    []Event   // for the journal, all or none, before any other action
	Commands  []Command // to start
	CalledOff []Command // running commands to cancel
	Note      string    // text for a separate note; "" adds none
}

// NewRecorder returns the recorder of a run with an empty journal.
func NewRecorder(run string, m *Machine, now func() time.Time) *Recorder {
	return &Recorder{machine: m, run: run, now: now, told: map[string]Status{}}
}

// Machine returns the machine of the run.
func (s *Recorder) Machine() *Machine { return s.machine }

// Seq returns the number of the last event.
func (s *Recorder) Seq() int { return s.seq }

// Recall applies an event that is already in the journal.
func (s *Recorder) Recall(e Event) {
	if e.Kind == RunStarted {
		s.machine.Start()
	}
	s.machine.Apply(e)
	s.seq, s.behind = e.Seq, true
}

// Begin starts a new run.
func (s *Recorder) Begin(info Info) Step {
	started := s.stamp(Event{Kind: RunStarted, Job: &info})
	return s.step(started, s.machine.Start(), nil)
}

// Fold applies a fact. underWay lists the commands that the driver has started, but not reported on.
func (s *Recorder) Fold(e Event, underWay []Command) Step {
	if s.behind {
		s.changed(func(string, Status) {})
		s.behind = false
	}
	e = s.stamp(e)
	width := s.machine.Width()
	step := s.step(e, s.machine.Apply(e), underWay)
	if s.machine.Width() < width {
		step.Note = fmt.Sprintf("%san agent could not start in parallel with others (%s), so one works at a time from now on",
			FallbackNote, e.Reason)
	}
	return step
}

// step collects the events to write and the commands to start.
func (s *Recorder) step(e Event, cmds []Command, underWay []Command) Step {
	out := Step{Events: []Event{e}, Commands: cmds}
	for _, e := range s.machine.Lost() {
		out.Events = append(out.Events, s.stamp(e))
	}
	out.CalledOff = s.calledOff(cmds, underWay)
	for _, c := range out.CalledOff {
		out.Events = append(out.Events,
			s.stamp(Event{Kind: Withdrawn, Command: c.ID, Batch: c.Batch, Attempt: c.Attempt, On: c.On,
				Reason: WithdrawnReason}))
	}
	s.changed(func(key string, st Status) {
		if e, ok := s.change(key, st); ok {
			out.Events = append(out.Events, s.stamp(e))
		}
	})
	for _, c := range cmds {
		out.Events = append(out.Events, s.stamp(c.dispatched()))
	}
	return out
}

// WithdrawnReason is the reason in the journal for a cancelled command.
const WithdrawnReason = "cancelled: its base no longer exists"

// calledOff lists the running commands that the machine no longer waits for, sorted by id. A command that the
// machine issues again under the same id counts as cancelled.
func (s *Recorder) calledOff(next, underWay []Command) []Command {
	if len(underWay) == 0 {
		return nil
	}
	pending := map[string]bool{}
	for _, c := range s.machine.Pending() {
		pending[c.ID] = !slices.ContainsFunc(next, func(a Command) bool { return a.ID == c.ID })
	}
	out := lists.Filter(underWay, func(c Command) bool { return !pending[c.ID] })
	slices.SortFunc(out, func(a, b Command) int { return strings.Compare(a.ID, b.ID) })
	return out
}

// changed calls f for each batch whose status differs from the recorded one.
func (s *Recorder) changed(f func(key string, st Status)) {
	s.machine.EachStatus(func(key string, st Status) {
		old, known := s.told[key]
		s.told[key] = st
		if known && old == st || !known && st == Waiting {
			return
		}
		f(key, st)
	})
}

// change returns the event that reports the new status of a batch.
func (s *Recorder) change(key string, st Status) (Event, bool) {
	v, _ := s.machine.Batch(key)
	e := Event{Batch: key, Title: v.Title, Attempt: v.Attempt, Commit: v.Commit, Reason: v.Reason}
	switch st {
	case Working:
		e.Kind = BatchStarted
	case Passed:
		e.Kind = BatchPassed
	case Failed:
		e.Kind = BatchFailed
	case Skipped:
		e.Kind = BatchSkipped
	default:
		return Event{}, false
	}
	return e, true
}

func (s *Recorder) stamp(e Event) Event {
	s.seq++
	e.Seq, e.At, e.Run = s.seq, s.now().UTC(), s.run
	return e
}

// dispatched returns the event that reports the dispatch of c.
func (c Command) dispatched() Event {
	return Event{
		Kind: Dispatched, Command: c.ID, Batch: c.Batch, Attempt: c.Attempt, Base: c.Base, On: c.On, Tier: c.Tier,
		Model: c.Model, Agent: c.Agent, Reason: c.Instead, RetryAt: c.Until,
	}
}

// Report fills in the fields that make e the report on c.
func (c Command) Report(e Event) Event {
	if c.Slot != nil {
		e.Candidate, e.Variant = c.Slot.Number, c.Slot.Variant
	}
	e.Kind, e.Command, e.Batch, e.Attempt = reportOf(c.Kind), c.ID, c.Batch, c.Attempt
	return e
}

// Asked returns the report on a command that asks a person. It only records the question: the answer arrives as a post.
func (c Command) Asked() Event {
	return c.Report(Event{Outcome: OutcomeOK, Base: c.Base, Commit: c.Commit, Tree: c.Tree, Reason: c.Why})
}

// Spending returns the event with the cost of an agent if its work on c is ignored.
func (c Command) Spending(e Event) Event {
	return Event{Kind: Spent, Batch: c.Batch, Attempt: c.Attempt, Agent: e.Agent, Model: e.Model, Usage: e.Usage,
		Critique: e.Critique, Reason: c.ID}
}

// Ending returns the last event of a session with result r.
func (r Result) Ending() Event {
	last := Event{Kind: RunFinished, Outcome: OutcomeOK, Commit: r.Tip, Reason: r.Reason}
	switch r.Status {
	case RunFailed:
		last.Outcome = OutcomeFailed
	case RunStopped:
		last.Outcome, last.Reason = r.Stop.Outcome, r.Stop.Reason
	}
	return last
}

// Outside reports whether events of kind k may come from outside the run, from a person.
func (k EventKind) Outside() bool {
	return k == ApprovalGiven || k == ApprovalDenied || k == StopAsked || k == Note
}

// Heard returns the journal event for a person's post. resuming means that the run is about to resume.
func (m *Machine) Heard(e Event, resuming bool) Event {
	if v, ok := m.Batch(e.Batch); ok {
		e.Attempt = v.Attempt
	}
	switch {
	case e.Kind == StopAsked && resuming: // a resume overrides an earlier request to stop
		e = Event{Kind: Note, Post: e.Post, Reason: "a request to stop arrived after the run had stopped"}
	case e.Kind == ApprovalDenied: // the brief of the next attempt shows this report
		e.Reports = []gates.Report{{
			Gate: "approval", Status: gates.Fail, Note: "a person did not agree to the change",
			Findings: []gates.Finding{{Rule: "approval", Severity: gates.Error, Message: e.Reason}},
		}}
		e.Fingerprint = Fingerprint(e.Reason)
	}
	return e
}

// Fingerprint returns a short hash of a text.
func Fingerprint(text string) string {
	return checksum.SHA256(text)[:16]
}
