package ledger

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/runplan/runplan/agents"
	"github.com/runplan/runplan/internal/phrase"
)

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
		return cmp.Compare(b.known(), a.known())
	})
	return out, nil
}

func (s Sum) known() float64 {
	sum := 0.0
	for _, v := range []*float64{s.BilledUSD, s.PlanUSD} {
		if v != nil {
			sum += *v
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
