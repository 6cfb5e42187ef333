// Package ledger lists the cost of each attempt of a run, from the events of the journal.
//
// Unknown costs are counted separately and are not zero: a sum with unknown costs is a lower bound. Costs of
// subscriptions and of local models are separate from billed costs.
package ledger

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/runplan/runplan/agents"
	"github.com/runplan/runplan/internal/phrase"
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
		if e.Attempted() {
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

// Sum is the sum of several attempts. An amount is nil until one value of its kind is known.
type Sum struct {
	Attempts  int      `json:"attempts"`
	Unknown   int      `json:"unknown"`    // attempts of unknown cost
	BilledUSD *float64 `json:"billed_usd"` // reported or computed; a lower bound if there are unknown attempts
	PlanUSD   *float64 `json:"plan_usd"`   // list price of calls that a subscription pays
	Local     int      `json:"local"`      // attempts on local models, without cost

	Sources []SourceSum `json:"sources"`

	Input      int64 `json:"input_tokens"`
	Output     int64 `json:"output_tokens"`
	CacheRead  int64 `json:"cache_read_tokens"`
	CacheWrite int64 `json:"cache_write_tokens"`
	Uncounted  int   `json:"uncounted"` // attempts without token counts
}

// SourceSum is the part of a [Sum] with one source of costs.
type SourceSum struct {
	Source   agents.Source `json:"source"`
	Attempts int           `json:"attempts"`
	CostUSD  *float64      `json:"cost_usd"` // null if unknown
}

// Group is the sum of the lines with the same key.
type Group struct {
	Key string `json:"key"`
	Sum
}

// Add returns the sum of lines.
func Add(lines []Line) Sum {
	s := Sum{Sources: []SourceSum{}}
	s.Add(lines)
	return s
}

// Add adds lines.
func (s *Sum) Add(lines []Line) {
	s.Attempts += len(lines)
	for _, l := range lines {
		ss := s.source(l.Source)
		ss.Attempts++
		if l.CostUSD != nil {
			plus(&ss.CostUSD, *l.CostUSD)
		}
		switch {
		case l.CostUSD == nil:
			s.Unknown++
		case l.Source == agents.SourceLocal:
			s.Local++
		case l.Source == agents.SourcePlan:
			plus(&s.PlanUSD, *l.CostUSD)
		default:
			plus(&s.BilledUSD, *l.CostUSD)
		}
		if l.Input == nil && l.Output == nil {
			s.Uncounted++
		}
		for _, c := range []struct {
			to   *int64
			from *int64
		}{{&s.Input, l.Input}, {&s.Output, l.Output}, {&s.CacheRead, l.CacheRead}, {&s.CacheWrite, l.CacheWrite}} {
			if c.from != nil {
				*c.to += *c.from
			}
		}
	}
}

// source returns the part of s with a source of costs.
func (s *Sum) source(source agents.Source) *SourceSum {
	order := []agents.Source{agents.SourceReported, agents.SourceComputed, agents.SourcePlan, agents.SourceLocal,
		agents.SourceUnknown}
	i, found := slices.BinarySearchFunc(s.Sources, source, func(x SourceSum, source agents.Source) int {
		return cmp.Compare(slices.Index(order, x.Source), slices.Index(order, source))
	})
	if !found {
		s.Sources = slices.Insert(s.Sources, i, SourceSum{Source: source})
	}
	return &s.Sources[i]
}

// plus adds and rounds to a millionth of a dollar, to remove the error of binary fractions.
func plus(to **float64, v float64) {
	if *to != nil {
		v += **to
	}
	v = math.Round(v*1e6) / 1e6
	*to = &v
}

// Keys returns the valid keys of [By].
func Keys() []string { return []string{"batch", "agent", "model", "purpose", "day"} }

// By groups lines by key, the most expensive group first. Lines without a value are in the group "unknown".
func By(lines []Line, key string) ([]Group, error) {
	of := map[string]func(Line) string{
		"batch":   func(l Line) string { return l.Batch },
		"agent":   func(l Line) string { return l.Agent },
		"model":   func(l Line) string { return l.Model },
		"purpose": func(l Line) string { return string(l.Purpose) },
		"day":     func(l Line) string { return l.At.Format("2006-01-02") },
	}[key]
	if of == nil {
		return nil, fmt.Errorf("lines cannot be grouped by %q; use %s", key, strings.Join(Keys(), ", "))
	}
	parts := map[string][]Line{}
	var names []string
	for _, l := range lines {
		name := cmp.Or(of(l), "unknown")
		if parts[name] == nil {
			names = append(names, name)
		}
		parts[name] = append(parts[name], l)
	}
	out := []Group{}
	for _, name := range names {
		out = append(out, Group{name, Add(parts[name])})
	}
	slices.SortStableFunc(out, func(a, b Group) int {
		if key == "day" {
			return cmp.Compare(a.Key, b.Key)
		}
		none := new(float64)
		return cmp.Compare(*cmp.Or(b.Known(), none), *cmp.Or(a.Known(), none))
	})
	return out, nil
}

// Known returns the sum of all known costs, those that a subscription pays among them; nil if none is known.
func (s Sum) Known() *float64 {
	var sum *float64
	for _, x := range s.Sources {
		if x.CostUSD != nil {
			plus(&sum, *x.CostUSD)
		}
	}
	return sum
}

// Dollars formats an amount, with four digits below 10 cents.
func Dollars(v float64) string {
	if v > 0 && v < 0.1 {
		return fmt.Sprintf("$%.4f", v)
	}
	return fmt.Sprintf("$%.2f", v)
}

// String formats s in one line.
func (s Sum) String() string {
	var parts []string
	if s.BilledUSD != nil {
		parts = append(parts, Dollars(*s.BilledUSD)+" billed")
	}
	if s.PlanUSD != nil {
		parts = append(parts, Dollars(*s.PlanUSD)+" at list prices, paid by a subscription")
	}
	if s.Local > 0 {
		parts = append(parts, phrase.Count(s.Local, "attempt")+" without cost, on this machine")
	}
	if s.Unknown > 0 {
		parts = append(parts, phrase.Count(s.Unknown, "attempt")+" of unknown cost")
	}
	if len(parts) == 0 {
		return "nothing yet"
	}
	return strings.Join(parts, " + ")
}
