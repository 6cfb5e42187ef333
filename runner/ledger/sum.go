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

// Sum is the sum of some attempts. Amounts are nil until one of their kind is known.
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
	s := Sum{Attempts: len(lines), Sources: []SourceSum{}}
	by := map[agents.Source]*SourceSum{}
	for _, l := range lines {
		ss := by[l.Source]
		if ss == nil {
			ss = &SourceSum{Source: l.Source}
			by[l.Source] = ss
		}
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
	for _, source := range []agents.Source{agents.SourceReported, agents.SourceComputed, agents.SourcePlan,
		agents.SourceLocal, agents.SourceUnknown} {
		if ss := by[source]; ss != nil {
			ss.CostUSD = round(ss.CostUSD)
			s.Sources = append(s.Sources, *ss)
		}
	}
	s.BilledUSD, s.PlanUSD = round(s.BilledUSD), round(s.PlanUSD)
	return s
}

func plus(to **float64, v float64) {
	if *to == nil {
		*to = new(float64)
	}
	**to += v
}

// round rounds to a millionth of a dollar, to remove the error of binary fractions.
func round(v *float64) *float64 {
	if v == nil {
		return nil
	}
	r := math.Round(*v*1e6) / 1e6
	return &r
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
		parts = append(parts, Dollars(*s.PlanUSD)+" at list prices, paid by a plan")
	}
	if s.Local > 0 {
		parts = append(parts, phrase.Count(s.Local, "attempt")+" without a bill, on this machine")
	}
	if s.Unknown > 0 {
		parts = append(parts, phrase.Count(s.Unknown, "attempt")+" of unknown cost")
	}
	if len(parts) == 0 {
		return "nothing yet"
	}
	return strings.Join(parts, " + ")
}
