package plan

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/runplan/runplan/runner/failures"
	"github.com/runplan/runplan/runner/report"
	"github.com/runplan/runplan/sampling"
)

// Learned is what the three learning stores of earlier runs say (FAIL-07): how batches failed, which variants of prompts won, and how
// well routing predicted what a team saves.
type Learned struct {
	Failures []Failure `json:"failure_patterns"` // the most frequent first
	Variants []Variant `json:"variants"`         // by name
	Routing  Routing   `json:"routing"`
}

// Failure is a kind of batch that fails in one way.
type Failure struct {
	Title     string `json:"batch_title_pattern"`
	Type      string `json:"failure_type"`
	Frequency int    `json:"frequency"`
	Fixed     bool   `json:"fixed"` // a later attempt passed, and what it did is known
}

// Variant is how the candidates of one prompt variant did.
type Variant struct {
	Name   string `json:"variant"`
	Tried  int    `json:"tried"`
	Passed int    `json:"passed"`
	Won    int    `json:"won"`
}

// Routing is how well the speed-up of teams was predicted (ROUTE-17).
type Routing struct {
	Runs int      `json:"runs"` // of which both figures are known
	Near int      `json:"near"` // predicted within a fifth
	Off  *float64 `json:"off"`  // mean share by which it was off; null: no such run
}

// nearEnough is how far off a prediction may be, in percent (MET-06).
const nearEnough = 20

// mostFailures bounds how many kinds of failure are told.
const mostFailures = 12

// FromStores adds what the learning stores know. What is from before since does not count; the zero time takes all.
func (e *Evidence) FromStores(patterns []failures.Pattern, outcomes []sampling.Outcome, teams []report.SpeedUp, since time.Time) {
	l := Learned{Failures: []Failure{}, Variants: []Variant{}}
	for _, p := range patterns {
		if since.IsZero() || p.LastSeen >= since.UTC().Format(time.DateOnly) {
			l.Failures = append(l.Failures, Failure{p.Title, p.Type, p.Frequency, p.WinningFix != ""})
		}
	}
	slices.SortStableFunc(l.Failures, func(a, b Failure) int {
		return cmp.Or(cmp.Compare(b.Frequency, a.Frequency), cmp.Compare(a.Title, b.Title), cmp.Compare(a.Type, b.Type))
	})
	l.Failures = l.Failures[:min(len(l.Failures), mostFailures)]
	byName := map[string]Variant{}
	for _, o := range outcomes {
		if o.Timestamp.Before(since) {
			continue
		}
		v := byName[o.Variant]
		byName[o.Variant] = Variant{o.Variant, v.Tried + 1, v.Passed + one(o.Passed), v.Won + one(o.Won)}
	}
	for _, name := range slices.Sorted(maps.Keys(byName)) {
		l.Variants = append(l.Variants, byName[name])
	}
	sum := 0.0
	for _, t := range teams {
		if t.Off == nil {
			continue // nothing was predicted
		}
		l.Routing.Runs++
		l.Routing.Near += one(*t.Off <= nearEnough)
		sum += *t.Off / 100
	}
	if l.Routing.Runs > 0 {
		off := round(sum / float64(l.Routing.Runs))
		l.Routing.Off = &off
	}
	e.Learned = l
}
