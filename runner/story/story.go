// Package story derives the timeline of a run from its events and draws it, for the report and the page. A span is a
// period in which one batch was edited, checked, merged, or waited for a limit. The spans give the commands that run now,
// and the working time and waiting time of a batch and of the run. Pauses between the sessions of a run do not count.
// [Contests] tells whether a command belongs to a candidate that competes with others, and [Attempts] has the attempts at
// each batch, with the reports of their gates.
package story

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/runplan/runplan/runner"
)

// Span is a period of one activity for a batch.
type Span struct {
	Command   string // its id
	Batch     string
	Attempt   int
	Agent     string // that was asked to do it
	Candidate int    // in a tournament
	Variant   string
	Kind      string // one of the kinds
	From, To  int64  // milliseconds since the start of the run, without the pauses between sessions
	End       Ending
	Reason    string
	Early     []string // keys of the batches on whose candidates it began
	Merged    bool     // it ended with the merge
}

// The kinds of spans.
const (
	Edit  = "edit"
	Check = "check"
	Land  = "land"
	Wait  = "wait" // for the limit of an agent
)

// Off reports whether the work of the span was stopped before its end.
func (s Span) Off() bool { return s.End == CalledOff || s.End == CutShort }

// Ending says how a span ended.
type Ending string

// The endings.
const (
	Ended     Ending = "ended"
	WentBad   Ending = "failed"
	CalledOff Ending = "cancelled"
	CutShort  Ending = "cut short" // by a limit, or by the end of a session
)

func spanKind(k runner.CommandKind) string {
	switch k {
	case runner.Execute:
		return Edit
	case runner.Rebase, runner.Gate, runner.Trial:
		return Check
	case runner.Commit, runner.Merge:
		return Land
	case runner.Wait:
		return Wait
	}
	return ""
}

// Course collects the spans of a run from its events. The board, the report and the page use it.
type Course struct {
	Spans   []Span // that are over
	Dropped int    // spans that were dropped because of Max
	Max     int    // maximum number of spans; 0 keeps all
	Now     int64  // time since the start, as of the last event
	Total   int64  // time until the end of the last span; set by End

	last     time.Time
	open     map[string]Span // by command id
	contests Contests
	held     map[string]int64 // batches whose agent met a limit, and the time

	working map[string]string // batch of each command that works, by command id
	clocks  map[string]Clock  // by batch; "" is the run
}

// NewCourse returns an empty course.
func NewCourse() Course {
	return Course{open: map[string]Span{}, contests: Contests{}, held: map[string]int64{},
		working: map[string]string{}, clocks: map[string]Clock{}}
}

// Open returns the spans of a batch that have not ended, or with "" of all, in the order of batches and candidates.
func (c *Course) Open(batch string) []Span {
	return slices.SortedFunc(func(yield func(Span) bool) {
		for _, s := range c.open {
			if (batch == "" || s.Batch == batch) && !yield(s) {
				return
			}
		}
	}, func(a, b Span) int { return cmp.Or(cmp.Compare(a.Batch, b.Batch), a.Candidate-b.Candidate) })
}

// End completes the spans after the last event and sorts them by their start.
func (c *Course) End() {
	c.cut()
	c.Total = c.Now
	for _, s := range c.Spans {
		c.Total = max(c.Total, s.To)
	}
	slices.SortStableFunc(c.Spans, func(a, b Span) int { return int(a.From - b.From) })
}

func (c *Course) keep(s Span) {
	c.Spans = append(c.Spans, s)
	if n := len(c.Spans) - c.Max; c.Max > 0 && n > 0 {
		c.Spans, c.Dropped = slices.Delete(c.Spans, 0, n), c.Dropped+n
	}
}

// Apply adds an event. Events come in the order of the journal.
func (c *Course) Apply(e runner.Event) {
	before := c.Now
	switch {
	case e.At.IsZero(), e.Kind.Afterwards():
	case e.Kind == runner.RunResumed:
		c.cut() // at the time of the last event
		c.last = e.At
	case c.last.IsZero():
		c.last = e.At
	default:
		c.Now += max(0, e.At.Sub(c.last).Milliseconds())
		c.last = e.At
	}
	c.tick(e, c.Now-before)
	if e.Kind == runner.RunFinished {
		c.cut()
	}
	c.contests.Apply(e)
	kind := spanKind(runner.KindOf(e.Command))
	if kind == "" || e.Batch == "" || e.Command == "" {
		return
	}
	s, known := c.open[e.Command]
	delete(c.open, e.Command)
	if !known {
		s = Span{Command: e.Command, Batch: e.Batch, Attempt: e.Attempt, Agent: e.Agent, Kind: kind, From: max(0, c.Now-e.DurationMS), Early: e.On}
	}
	s.To, s.Reason = c.Now, e.Reason
	if e.Kind == runner.Executed && e.DurationMS > 0 { // before, the agent waited for the tests of the base
		s.From = max(s.From, c.Now-e.DurationMS)
	}
	switch {
	case kind == Wait:
		delete(c.held, e.Batch) // the batch waits separately, with its own span
	case kind == Edit && !c.contests[e.Batch]:
		c.waited(e.Batch, s.From)
	}
	if e.Kind == runner.Dispatched {
		s.Early = nil
		if kind == Edit {
			s.Early = e.On
		}
		s.Candidate = c.contests.Candidate(e)
		c.open[e.Command] = s
		return
	}
	if e.Candidate > 0 {
		s.Candidate, s.Variant = e.Candidate, e.Variant
	}
	if kind == Edit && e.Outcome == runner.OutcomeLimited && e.Candidate == 0 {
		c.held[e.Batch] = c.Now
	}
	s.End = endingOf(e)
	s.Merged = e.Kind == runner.Merged && e.Outcome == runner.OutcomeOK
	if e.Kind != runner.Withdrawn || known {
		c.keep(s)
	}
}

// shortWait is the minimum length of a wait span, in milliseconds. A shorter delay is a change of agents or an
// immediate retry.
const shortWait = 1000

// waited ends the wait of a batch for its agent's limit.
func (c *Course) waited(batch string, until int64) {
	since, held := c.held[batch]
	delete(c.held, batch)
	if held && until-since >= shortWait {
		c.keep(Span{Batch: batch, Kind: Wait, From: since, To: until, End: Ended})
	}
}

// cut ends all open spans.
func (c *Course) cut() {
	for _, batch := range slices.Sorted(maps.Keys(c.held)) {
		c.waited(batch, c.Now)
		c.held[batch] = c.Now // the wait continues in the next session
	}
	for _, id := range slices.Sorted(maps.Keys(c.open)) {
		s := c.open[id]
		s.To, s.End = c.Now, CutShort
		c.keep(s)
	}
	clear(c.open)
}

func endingOf(e runner.Event) Ending {
	switch {
	case e.Kind == runner.Withdrawn:
		return CalledOff
	case e.Outcome == runner.OutcomeCancelled, e.Outcome == runner.OutcomeLimited, e.Outcome == runner.OutcomeHuman:
		return CutShort
	case e.Outcome == runner.OutcomeOK, e.Outcome == runner.OutcomeMoved, e.Outcome == runner.OutcomeChanged:
		return Ended
	}
	return WentBad
}

// Tick returns a round duration as the step of a scale. A scale of length d gets at most about ten steps.
func Tick(d time.Duration) time.Duration {
	for _, s := range []time.Duration{
		100 * time.Millisecond, 200 * time.Millisecond, 500 * time.Millisecond, time.Second, 2 * time.Second, 5 * time.Second,
		10 * time.Second, 15 * time.Second, 30 * time.Second,
		time.Minute, 2 * time.Minute, 5 * time.Minute, 10 * time.Minute, 15 * time.Minute, 30 * time.Minute,
		time.Hour, 2 * time.Hour, 4 * time.Hour, 8 * time.Hour,
	} {
		if d/s <= 9 {
			return s
		}
	}
	day := 24 * time.Hour
	return day * max(1, d/(9*day)+1)
}

// Clock separates the working time of a batch or run from its waiting time. Times are milliseconds since the start of
// the run, without the pauses between sessions. Concurrent work counts once.
type Clock struct {
	First, Last int64 // of the first and of the last step
	Working     int64
}

// Waited returns the time without work between the first and the last step; 0 if it is under a second.
func (c Clock) Waited() time.Duration {
	ms := c.Last - c.First - c.Working
	if ms < shortWait {
		return 0
	}
	return time.Duration(ms) * time.Millisecond
}

// Clock returns the clock of a batch; "" returns the clock of the run.
func (c *Course) Clock(batch string) Clock {
	if batch == "" {
		return Clock{Last: c.Now, Working: c.clocks[""].Working}
	}
	return c.clocks[batch]
}

// works reports whether a command is work. The others wait: for the end of a limit, or for a person.
func works(e runner.Event) bool {
	kind := runner.KindOf(e.Command)
	return kind != runner.Wait && kind != runner.Ask
}

// tick adds an event to the clocks. delta is the time since the last one.
func (c *Course) tick(e runner.Event, delta int64) {
	if delta > 0 && len(c.working) > 0 {
		busy := map[string]bool{"": true}
		for _, batch := range c.working {
			busy[batch] = true
		}
		for batch := range busy {
			c.work(batch, delta)
		}
	}
	if e.Kind == runner.RunResumed || e.Kind == runner.RunFinished {
		clear(c.working) // the process of what was running is gone
	}
	if e.Command == "" {
		return
	}
	if e.Batch != "" {
		b, known := c.clocks[e.Batch]
		if !known {
			b.First = c.Now
		}
		b.Last = c.Now
		c.clocks[e.Batch] = b
	}
	if e.Kind == runner.Dispatched && works(e) {
		c.working[e.Command] = e.Batch
	} else {
		delete(c.working, e.Command)
	}
}

func (c *Course) work(batch string, ms int64) {
	b := c.clocks[batch]
	b.Working += ms
	c.clocks[batch] = b
}
