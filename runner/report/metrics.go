package report

import (
	"fmt"
	"math"
	"slices"

	"github.com/runplan/runplan/internal/phrase"
	"github.com/runplan/runplan/internal/ui"
	"github.com/runplan/runplan/runner"
	"github.com/runplan/runplan/runner/story"
)

// Metrics measure the quality of decisions, over one run or several. Unknown values are nil or omitted.
type Metrics struct {
	Runs      int       `json:"runs"`
	Merged    int       `json:"merged"`        // batches
	First     int       `json:"first_attempt"` // batches that merged at the first attempt
	GivenUp   int       `json:"given_up"`
	Escalated int       `json:"escalated"` // batches that ended on another tier than routed
	Saved     int       `json:"escalated_merged"`
	Empty     int       `json:"empty_batches"`
	Calls     int       `json:"empty_batch_calls"` // agent calls on those batches
	SpeedUps  []SpeedUp `json:"speed_ups"`         // of finished team runs

	Context ContextTimes `json:"context"`

	Retries   int `json:"plain_retries"` // attempts after a failed one, by a single agent
	Successes int `json:"plain_retry_successes"`

	durations Times
}

// ContextTimes compares attempts with and without a context block in the brief (MET-04). Only attempts with a
// candidate count.
type ContextTimes struct {
	With    Times `json:"with"`
	Without Times `json:"without"`
}

// Times is a set of durations.
type Times struct {
	N        int    `json:"n"`
	MedianMS *int64 `json:"median_ms"` // nil if unknown

	all []int64 // sorted
}

func (t *Times) add(ms int64) {
	at, _ := slices.BinarySearch(t.all, ms)
	t.all = slices.Insert(t.all, at, ms)
	t.N, t.MedianMS = len(t.all), &t.all[len(t.all)/2]
}

func (t Times) of(what string) string {
	if t.MedianMS == nil {
		return noData
	}
	return fmt.Sprintf("%s, the median of %s", ui.Duration(millis(*t.MedianMS)), phrase.Count(t.N, what))
}

// SpeedUp compares the predicted with the real speed-up of a team run.
type SpeedUp struct {
	Run       string   `json:"run"`
	Plan      string   `json:"plan"`
	Predicted *float64 `json:"predicted"`
	Real      float64  `json:"real"`
	Off       *float64 `json:"off_percent"`
}

// withinPercent is the accepted error of a prediction (MET-06).
const withinPercent = 20

// Add adds a run with its events.
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
	r := retries{failed: map[string]bool{}, moved: map[string]bool{}, seen: map[string]int{}, open: map[string]bool{},
		contests: story.Contests{}}
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

// retries counts attempts after a failure, without tournaments. It ignores attempts caused by others' merges, and
// interrupted ones.
type retries struct {
	tries, successes int
	failed           map[string]bool // the last attempt of a batch failed on its own
	moved            map[string]bool // its candidate was rebased on others' work
	seen             map[string]int  // the last attempt started
	open             map[string]bool // that attempt is a retry without a known result
	contests         story.Contests
}

func (r *retries) apply(e runner.Event) {
	b := e.Batch
	fail := func() {
		if r.open[b] {
			r.tries++
		}
		r.failed[b], r.open[b] = true, false
	}
	r.contests.Apply(e)
	switch {
	case e.Kind == runner.RunResumed:
		clear(r.failed) // the user may have corrected the cause
	case e.Candidate > 0:
	case e.Kind == runner.Sampled:
		r.failed[b] = r.failed[b] && !r.contests[b]
	case e.Kind == runner.Dispatched && runner.KindOf(e.Command) == runner.Execute && !r.contests[b] &&
		e.Attempt > r.seen[b]:
		r.seen[b], r.open[b], r.failed[b] = e.Attempt, r.failed[b], false
	case e.Kind == runner.Executed && e.Outcome == runner.OutcomeOK:
		r.moved[b] = false
	case e.Kind == runner.Rebased:
		r.moved[b] = true
		if e.Outcome == runner.OutcomeConflict {
			r.open[b] = false
		}
	case e.Kind == runner.Gated && e.Outcome == runner.OutcomeFailed && r.moved[b]: // a trial then finds the cause
	case e.Kind == runner.Tried && e.Outcome == runner.OutcomeOK:
		r.open[b] = false
	case e.Kind == runner.Tried && e.Outcome == runner.OutcomeFailed:
		fail()
	case e.Kind == runner.Executed &&
		slices.Contains([]runner.Outcome{runner.OutcomeFailed, runner.OutcomeUnchanged, runner.OutcomeTimedOut}, e.Outcome),
		e.Kind == runner.Gated && e.Outcome == runner.OutcomeFailed, e.Kind == runner.Committed &&
			e.Outcome == runner.OutcomeFailed:
		fail()
	case e.Kind == runner.Merged && e.Outcome == runner.OutcomeOK && r.open[b]:
		r.tries, r.successes, r.open[b] = r.tries+1, r.successes+1, false
	}
}

const noData = "no data"

// Lines formats the metrics for people.
func (m Metrics) Lines() []string {
	out := []string{fmt.Sprintf("runs: %d", m.Runs)}
	say := func(format string, args ...any) { out = append(out, fmt.Sprintf(format, args...)) }
	if m.Merged+m.GivenUp == 0 {
		say("attempts: %s", noData)
		say("escalations: %s", noData)
	} else {
		say("attempts: %s merged, %d of them at the first attempt; %d given up", phrase.Count(m.Merged, "batch"), m.First,
			m.GivenUp)
		say("escalations: %s, %d of them merged", phrase.Count(m.Escalated, "batch"), m.Saved)
	}
	if m.Empty == 0 {
		say("agent calls on empty or skipped batches: %s", noData)
	} else {
		say("agent calls on empty or skipped batches: %d (%d %s)", m.Calls, m.Empty, phrase.Noun(m.Empty, "batch"))
	}
	out = append(out, m.speed()...)
	say("batch duration: %s", m.durations.of("merged batch"))
	say("attempts with a context block: %s", m.Context.With.of("attempt"))
	say("attempts without a context block: %s", m.Context.Without.of("attempt"))
	return out
}

func (m Metrics) speed() []string {
	if len(m.SpeedUps) == 0 {
		return []string{"speed-up of team runs: " + noData}
	}
	known, within := 0, 0
	var rows []string
	for _, x := range m.SpeedUps {
		predicted := noData
		if x.Off != nil {
			known++
			if *x.Off <= withinPercent {
				within++
			}
			predicted = fmt.Sprintf("%s, off by %.0f %%", times(*x.Predicted), *x.Off)
		}
		rows = append(rows, fmt.Sprintf("  %s %s: real %s, predicted %s", short(x.Run), ui.Sanitize(x.Plan), times(x.Real),
			predicted))
	}
	head := fmt.Sprintf("speed-up of team runs: within %d %% of the prediction in %d of %d", withinPercent, within,
		known)
	if known == 0 {
		head = "speed-up of team runs: " + noData + " on predictions"
	}
	return append([]string{head}, rows...)
}
