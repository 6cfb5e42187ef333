package runner

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/runplan/runplan/gates"
)

// Scribe keeps the books of a run for its driver: it numbers and dates what happens, has the [Machine] decide, and adds
// what readers of the journal are told beside it. Like the machine it is pure, so that each driver writes the same
// journal of the same outcomes. The clock is handed in.
type Scribe struct {
	machine *Machine
	run     string
	now     func() time.Time
	seq     int
	told    map[string]Status // what readers know of the batches
	behind  bool              // events were read back, of which readers were told then
}

// Step is what comes of one fact.
type Step struct {
	Events    []Event   // for the journal, all or none, before anything else is done
	Commands  []Command // to be carried out
	CalledOff []Command // of those that were under way
	Note      string    // what is worth a note of its own; "" is nothing
}

// NewScribe returns the scribe of a run, whose journal is empty as far as it knows.
func NewScribe(run string, m *Machine, now func() time.Time) *Scribe {
	return &Scribe{machine: m, run: run, now: now, told: map[string]Status{}}
}

// Machine is what decides.
func (s *Scribe) Machine() *Machine { return s.machine }

// Seq is the number of the last event.
func (s *Scribe) Seq() int { return s.seq }

// Recall takes up an event that is in the journal already.
func (s *Scribe) Recall(e Event) {
	if e.Kind == RunStarted {
		s.machine.Start()
	}
	s.machine.Apply(e)
	s.seq, s.behind = e.Seq, true
}

// Begin starts a new run.
func (s *Scribe) Begin(info Info) Step {
	started := s.stamp(Event{Kind: RunStarted, Job: &info})
	return s.step(started, s.machine.Start(), nil)
}

// Fold takes up a fact. underWay are the commands that the driver has begun and that nobody has reported on.
func (s *Scribe) Fold(e Event, underWay []Command) Step {
	if s.behind {
		s.changed(func(string, Status) {})
		s.behind = false
	}
	e = s.stamp(e)
	width := s.machine.Width()
	step := s.step(e, s.machine.Apply(e), underWay)
	if s.machine.Width() < width {
		step.Note = fmt.Sprintf("%san agent could not be started beside others (%s), so one works at a time from now on", FallbackNote, e.Reason)
	}
	return step
}

// step collects what is to be written and done.
func (s *Scribe) step(e Event, cmds []Command, underWay []Command) Step {
	out := Step{Events: []Event{e}, Commands: cmds}
	for _, l := range s.machine.Lost() {
		out.Events = append(out.Events, s.stamp(Event{Kind: BatchPutBack, Batch: l.Batch, Attempt: l.Attempt, On: l.On, Reason: l.Doing}))
	}
	out.CalledOff = s.calledOff(cmds, underWay)
	for _, c := range out.CalledOff {
		out.Events = append(out.Events, s.stamp(Event{Kind: Withdrawn, Command: c.ID, Batch: c.Batch, Attempt: c.Attempt, On: c.On, Reason: WithdrawnReason}))
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

// WithdrawnReason is what readers are told of a command that was called off.
const WithdrawnReason = "called off: what it stood on is not there any more"

// calledOff lists those of the commands under way that the machine does not wait for any more, sorted by id. What it asks
// for anew under the same name counts as called off before.
func (s *Scribe) calledOff(anew, underWay []Command) []Command {
	if len(underWay) == 0 {
		return nil
	}
	pending := map[string]bool{}
	for _, c := range s.machine.Pending() {
		pending[c.ID] = !slices.ContainsFunc(anew, func(a Command) bool { return a.ID == c.ID })
	}
	var out []Command
	for _, c := range underWay {
		if !pending[c.ID] {
			out = append(out, c)
		}
	}
	slices.SortFunc(out, func(a, b Command) int { return strings.Compare(a.ID, b.ID) })
	return out
}

// changed calls f for each batch that stands otherwise than readers know.
func (s *Scribe) changed(f func(key string, st Status)) {
	s.machine.EachStatus(func(key string, st Status) {
		old, known := s.told[key]
		s.told[key] = st
		if known && old == st || !known && st == Waiting {
			return
		}
		f(key, st)
	})
}

// change is the event that tells readers how a batch stands now.
func (s *Scribe) change(key string, st Status) (Event, bool) {
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

func (s *Scribe) stamp(e Event) Event {
	s.seq++
	e.Seq, e.At, e.Run = s.seq, s.now().UTC(), s.run
	return e
}

// dispatched is the event that tells readers that c was handed out.
func (c Command) dispatched() Event {
	return Event{
		Kind: Dispatched, Command: c.ID, Batch: c.Batch, Attempt: c.Attempt, Base: c.Base, On: c.On, Tier: c.Tier, Model: c.Model,
		Agent: c.Agent, Reason: c.Instead, RetryAt: c.Until,
	}
}

// Report makes e the report on c.
func (c Command) Report(e Event) Event {
	if c.Slot != nil {
		e.Candidate, e.Variant = c.Slot.Number, c.Slot.Variant
	}
	e.Kind, e.Command, e.Batch, e.Attempt = reportOf(c.Kind), c.ID, c.Batch, c.Attempt
	return e
}

// Asked is the report on a command that asks a person: the fact is all, and who answers posts it.
func (c Command) Asked() Event {
	return c.Report(Event{Outcome: OutcomeOK, Base: c.Base, Commit: c.Commit, Tree: c.Tree, Reason: c.Why})
}

// Spending is what an agent cost whose work on c nobody takes up.
func (c Command) Spending(e Event) Event {
	return Event{Kind: Spent, Batch: c.Batch, Attempt: c.Attempt, Agent: e.Agent, Model: e.Model, Usage: e.Usage, Critique: e.Critique, Reason: c.ID}
}

// Ending is the last event of a go at a run that came to r.
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

// Outside tells which events may come from outside of a run: what a person says.
func (k EventKind) Outside() bool {
	return k == ApprovalGiven || k == ApprovalDenied || k == StopAsked || k == Note
}

// Heard is what a person said, as the journal has it. With resuming, the run is about to go on.
func (m *Machine) Heard(e Event, resuming bool) Event {
	if v, ok := m.Batch(e.Batch); ok {
		e.Attempt = v.Attempt
	}
	switch {
	case e.Kind == StopAsked && resuming: // whoever goes on with it wants it to go on
		e = Event{Kind: Note, Post: e.Post, Reason: "a wish to stop was heard after the run had stopped"}
	case e.Kind == ApprovalDenied: // so that the brief of the next attempt has it
		e.Reports = []gates.Report{{
			Gate: "approval", Status: gates.Fail, Note: "a person did not agree to the change",
			Findings: []gates.Finding{{Rule: "approval", Severity: gates.Error, Message: e.Reason}},
		}}
		e.Fingerprint = Fingerprint(e.Reason)
	}
	return e
}

// Fingerprint is a short name of a text.
func Fingerprint(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:8])
}
