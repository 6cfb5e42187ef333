// Package ledger lists the cost of each attempt of a run, from the events of the journal.
//
// Unknown costs are counted separately and are not zero: a sum with unknown costs is a lower bound. Costs of
// subscriptions and of local models are separate from billed costs.
package ledger

import (
	"cmp"
	"strconv"
	"strings"
	"time"

	"github.com/runplan/runplan/agents"
	"github.com/runplan/runplan/runner"
)

// Purpose is the purpose of an attempt.
type Purpose string

// The purposes.
const (
	Work   Purpose = "work"   // the first attempt at a batch
	Fix    Purpose = "fix"    // a later attempt, after a failure
	Sample Purpose = "sample" // a candidate of a tournament

	Critique Purpose = "critique" // checking the steps of an attempt
	Review   Purpose = "review"   // a review of an attempt or of the run
)

// Line is the entry of one attempt. Nil fields are unknown.
type Line struct {
	Run       string         `json:"run"`
	At        time.Time      `json:"at"` // end of the attempt
	Batch     string         `json:"batch"`
	Title     string         `json:"title,omitempty"`
	Attempt   int            `json:"attempt"`
	Candidate int            `json:"candidate,omitempty"` // of a tournament, from 1
	Purpose   Purpose        `json:"purpose"`
	Agent     string         `json:"agent"`
	Model     string         `json:"model,omitempty"` // "" if the agent chose it
	Tier      string         `json:"tier,omitempty"`
	Outcome   runner.Outcome `json:"outcome"`
	Calls     int            `json:"calls,omitempty"` // of a critique

	DurationMS int64         `json:"duration_ms"`
	Input      *int64        `json:"input_tokens"`
	Output     *int64        `json:"output_tokens"`
	CacheRead  *int64        `json:"cache_read_tokens"`
	CacheWrite *int64        `json:"cache_write_tokens"`
	Reasoning  *int64        `json:"reasoning_tokens"` // the reasoning part of the output
	CostUSD    *float64      `json:"cost_usd"`
	Source     agents.Source `json:"source"`
}

// Ledger collects the lines of one run from its events, in journal order.
type Ledger struct {
	Lines   []Line
	titles  map[string]string
	numbers map[string]string
	sampled map[string]bool // attempts that were tournaments
}

// Event adds one event.
func (l *Ledger) Event(e runner.Event) {
	if l.titles == nil {
		l.titles, l.numbers, l.sampled = map[string]string{}, map[string]string{}, map[string]bool{}
	}
	if e.Job != nil {
		for _, b := range e.Job.Batches {
			l.titles[b.Key], l.numbers[b.Key] = b.Title, b.Number
		}
	}
	switch e.Kind {
	case runner.Sampled:
		l.sampled[attemptOf(e)] = l.sampled[attemptOf(e)] || e.Outcome == runner.OutcomeOK
	case runner.Executed:
		if Attempted(e) {
			l.Lines = append(l.Lines, l.line(e, e.Outcome))
		}
		l.critique(e, e.Outcome)
	case runner.Reviewed:
		if e.Usage != nil {
			line := l.line(e, e.Outcome)
			line.Purpose, line.Batch = Review, cmp.Or(line.Batch, "run")
			if e.Review != nil {
				line.Agent = strings.Join(e.Review.Reviewers, ", ")
			}
			l.Lines = append(l.Lines, line)
		}
	case runner.Spent: // its command was cancelled, but its cost counts
		if e.Candidate == 0 && l.sampled[attemptOf(e)] && runner.KindOf(e.Reason) == runner.Execute {
			e.Candidate = runner.CandidateOf(e.Reason)
		}
		l.Lines = append(l.Lines, l.line(e, runner.OutcomeCancelled))
		l.critique(e, runner.OutcomeCancelled)
	}
}

// critique adds the cost of checking the steps of an attempt, which the agent's own usage does not include.
func (l *Ledger) critique(e runner.Event, outcome runner.Outcome) {
	c := e.Critique
	if c == nil {
		return
	}
	e.Usage, e.Agent, e.Model, e.Tier, e.DurationMS = &c.Usage, "critic", c.Model, "", 0
	if c.Usage.ModelMS != nil {
		e.DurationMS = *c.Usage.ModelMS
	}
	line := l.line(e, outcome)
	line.Purpose, line.Calls = Critique, c.Calls
	l.Lines = append(l.Lines, line)
}

// Attempted reports whether an agent really worked in an executed event. An agent that never started has no cost.
func Attempted(e runner.Event) bool {
	switch {
	case e.Usage != nil:
		return true
	case e.Outcome == runner.OutcomeUnstarted, e.Outcome == runner.OutcomeError:
		return false
	case e.Outcome == runner.OutcomeCancelled:
		return e.Log != "" // the log is named just before the agent starts
	}
	return true
}

func attemptOf(e runner.Event) string { return e.Batch + " " + strconv.Itoa(e.Attempt) }

func (l *Ledger) line(e runner.Event, outcome runner.Outcome) Line {
	out := Line{
		Run: e.Run, At: e.At, Batch: cmp.Or(l.numbers[e.Batch], e.Batch), Title: l.titles[e.Batch], Attempt: e.Attempt,
		Candidate: e.Candidate,
		Purpose:   purposeOf(e), Agent: e.Agent, Model: e.Model, Tier: e.Tier, Outcome: outcome, DurationMS: e.DurationMS,
		Source: agents.SourceUnknown,
	}
	u := e.Usage
	if u == nil {
		return out
	}
	out.Input, out.Output, out.CacheRead, out.CacheWrite, out.Reasoning = u.InputTokens, u.OutputTokens, u.CacheReadTokens,
		u.CacheWriteTokens, u.ReasoningTokens
	if out.CostUSD = u.CostUSD; u.CostUSD != nil {
		// An agent without a model reports no source; its cost is known to be zero.
		out.Source = cmp.Or(u.Source, agents.SourceLocal)
	}
	return out
}

func purposeOf(e runner.Event) Purpose {
	switch {
	case e.Candidate > 0:
		return Sample
	case e.Attempt > 1:
		return Fix
	}
	return Work
}
