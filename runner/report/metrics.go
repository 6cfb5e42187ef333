package report

import (
	"fmt"
	"math"
	"slices"

	"github.com/runplan/runplan/internal/phrase"
	"github.com/runplan/runplan/internal/ui"
	"github.com/runplan/runplan/runner"
)

// Metrics say how well decisions were, over one run or many. What cannot be known is nil, or left out.
type Metrics struct {
	Runs      int       `json:"runs"`
	Merged    int       `json:"merged"`        // batches
	First     int       `json:"first_attempt"` // those of them that merged at the first attempt
	GivenUp   int       `json:"given_up"`
	Escalated int       `json:"escalated"` // batches that ended with another tier than they were routed to
	Saved     int       `json:"escalated_merged"`
	Empty     int       `json:"empty_batches"`
	Calls     int       `json:"empty_batch_calls"` // of agents, on those
	SpeedUps  []SpeedUp `json:"speed_ups"`         // of the team runs that are done

	Context ContextTimes `json:"context"`

	Retries   int `json:"plain_retries"` // attempts after a failed one, by a single agent
	Successes int `json:"plain_retry_successes"`

	durations Times
}

// ContextTimes sets attempts whose brief had a context block against attempts whose brief had none (MET-04). Only those
// count that came to a candidate.
type ContextTimes struct {
	With    Times `json:"with"`
	Without Times `json:"without"`
}

// Times are how long things took.
type Times struct {
	N        int    `json:"n"`
	MedianMS *int64 `json:"median_ms"` // nil: nothing is known

	all []int64 // sorted
}

func (t *Times) add(ms int64) {
	at, _ := slices.BinarySearch(t.all, ms)
	t.all = slices.Insert(t.all, at, ms)
	t.N, t.MedianMS = len(t.all), &t.all[len(t.all)/2]
}

// of says the median for people, and of how many.
func (t Times) of(what string) string {
	if t.MedianMS == nil {
		return noData
	}
	return fmt.Sprintf("%s, the median of %s", ui.Duration(millis(*t.MedianMS)), phrase.Count(t.N, what))
}

// SpeedUp sets what was predicted of a team against what came out.
type SpeedUp struct {
	Run       string   `json:"run"`
	Plan      string   `json:"plan"`
	Predicted *float64 `json:"predicted"`
	Real      float64  `json:"real"`
	Off       *float64 `json:"off_percent"`
}

// withinPercent is how far a prediction may be off (MET-06).
const withinPercent = 20

// Add takes up a run with its events.
func (m *Metrics) Add(s runner.Summary, events []runner.Event) {
	m.Runs++
	for _, b := range s.Batches {
		from, to := escalation(b)
		switch runner.Status(b.State) {
		case runner.Passed:
			m.Merged++
			m.durations.add(b.DurationMS)
			if b.Attempts == 1 {
				m.First++
			}
			if from != to {
				m.Saved++
			}
		case runner.Failed:
			m.GivenUp++
		case runner.Skipped:
			m.Empty++
			m.Calls += b.Attempts
		}
		if from != to && runner.Status(b.State) != runner.Skipped {
			m.Escalated++
		}
	}
	if real := realSpeedUp(s); real > 0 {
		x := SpeedUp{Run: s.Run, Plan: s.Plan, Real: real}
		if s.SpeedUp > 0 {
			predicted, off := s.SpeedUp, math.Abs(real-s.SpeedUp)/s.SpeedUp*100
			x.Predicted, x.Off = &predicted, &off
		}
		m.SpeedUps = append(m.SpeedUps, x)
	}
	r := retries{failed: map[string]bool{}, moved: map[string]bool{}, seen: map[string]int{}, open: map[string]bool{}, cups: map[string]bool{}}
	for _, e := range events {
		r.apply(e)
		m.Context.apply(e)
	}
	m.Retries += r.tries
	m.Successes += r.successes
}

func (c *ContextTimes) apply(e runner.Event) {
	switch {
	case e.Kind != runner.Executed || e.Outcome != runner.OutcomeOK || e.Context == nil:
	case *e.Context > 0:
		c.With.add(e.DurationMS)
	default:
		c.Without.add(e.DurationMS)
	}
}

// retries counts attempts after a failure that were not sampled. One that was made because others' work got in the way
// is none, and of one that was cut off nothing is known.
type retries struct {
	tries, successes int
	failed           map[string]bool // the last attempt of a batch failed by its own fault
	moved            map[string]bool // its candidate was put on top of others' work
	seen             map[string]int  // the last attempt that was begun
	open             map[string]bool // that attempt is a retry, and its end is not known yet
	cups             map[string]bool
}

func (r *retries) apply(e runner.Event) {
	b := e.Batch
	fail := func() {
		if r.open[b] {
			r.tries++
		}
		r.failed[b], r.open[b] = true, false
	}
	switch {
	case e.Kind == runner.RunResumed:
		clear(r.failed) // whoever resumed it may have put something right
	case e.Candidate > 0:
	case e.Kind == runner.Sampled:
		r.cups[b] = e.Outcome == runner.OutcomeOK
		if r.cups[b] {
			r.failed[b] = false
		}
	case e.Kind == runner.Judged:
		r.cups[b] = e.Outcome == runner.OutcomeUndecided
	case e.Kind == runner.Dispatched && runner.KindOf(e.Command) == runner.Execute && !r.cups[b] && e.Attempt > r.seen[b]:
		r.seen[b], r.open[b], r.failed[b] = e.Attempt, r.failed[b], false
	case e.Kind == runner.Executed && e.Outcome == runner.OutcomeOK:
		r.moved[b] = false
	case e.Kind == runner.Rebased:
		r.moved[b] = true
		if e.Outcome == runner.OutcomeConflict {
			r.open[b] = false
		}
	case e.Kind == runner.Gated && e.Outcome == runner.OutcomeFailed && r.moved[b]: // whose failure that was shows when it is tried alone
	case e.Kind == runner.Tried && e.Outcome == runner.OutcomeOK:
		r.open[b] = false
	case e.Kind == runner.Tried && e.Outcome == runner.OutcomeFailed:
		fail()
	case e.Kind == runner.Executed && slices.Contains([]runner.Outcome{runner.OutcomeFailed, runner.OutcomeUnchanged, runner.OutcomeTimedOut}, e.Outcome),
		e.Kind == runner.Gated && e.Outcome == runner.OutcomeFailed, e.Kind == runner.Committed && e.Outcome == runner.OutcomeFailed:
		fail()
	case e.Kind == runner.Merged && e.Outcome == runner.OutcomeOK && r.open[b]:
		r.tries, r.successes, r.open[b] = r.tries+1, r.successes+1, false
	}
}

const noData = "no data"

// Lines are the metrics for people.
func (m Metrics) Lines() []string {
	out := []string{fmt.Sprintf("runs: %d", m.Runs)}
	say := func(format string, args ...any) { out = append(out, fmt.Sprintf(format, args...)) }
	if m.Merged+m.GivenUp == 0 {
		say("attempts: %s", noData)
		say("escalations: %s", noData)
	} else {
		say("attempts: %s merged, %d of them at the first attempt; %d given up", phrase.Count(m.Merged, "batch"), m.First, m.GivenUp)
		say("escalations: %s, %d of them merged", phrase.Count(m.Escalated, "batch"), m.Saved)
	}
	if m.Empty == 0 {
		say("agent calls on empty or skipped batches: %s", noData)
	} else {
		say("agent calls on empty or skipped batches: %d (of %d such %s)", m.Calls, m.Empty, phrase.Noun(m.Empty, "batch"))
	}
	out = append(out, m.speed()...)
	say("batch duration: %s", m.durations.of("merged batch"))
	say("attempts with a context block: %s", m.Context.With.of("attempt"))
	say("attempts without one: %s", m.Context.Without.of("attempt"))
	return out
}

func (m Metrics) speed() []string {
	if len(m.SpeedUps) == 0 {
		return []string{"speed-up of team runs: " + noData}
	}
	known, within := 0, 0
	var rows []string
	for _, x := range m.SpeedUps {
		row := fmt.Sprintf("  %s %s: real %s, predicted ", short(x.Run), ui.Sanitize(x.Plan), times(x.Real))
		if x.Off == nil {
			rows = append(rows, row+noData)
			continue
		}
		known++
		if *x.Off <= withinPercent {
			within++
		}
		rows = append(rows, row+fmt.Sprintf("%s, off by %.0f %%", times(*x.Predicted), *x.Off))
	}
	head := fmt.Sprintf("speed-up of team runs: within %d %% of what was predicted in %d of %d", withinPercent, within, known)
	if known == 0 {
		head = "speed-up of team runs: " + noData + " on predictions"
	}
	return append([]string{head}, rows...)
}
