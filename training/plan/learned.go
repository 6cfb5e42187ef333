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

// Learned summarizes the three learning stores (FAIL-07): how batches failed, which prompt variants won, and how
// accurately routing predicted the speed-up of teams.
type Learned struct {
	Failures []Failure `json:"failure_patterns"` // most frequent first
	Variants []Variant `json:"variants"`         // by name
	Routing  Routing   `json:"routing"`
}

// Failure is a failure pattern of a kind of batch.
type Failure struct {
	Title     string `json:"batch_title_pattern"`
	Type      string `json:"failure_type"`
	Frequency int    `json:"frequency"`
	Fixed     bool   `json:"fixed"` // a later attempt passed, and its fix is known
}

// Variant is the result of one prompt variant.
type Variant struct {
	Name   string `json:"variant"`
	Tried  int    `json:"tried"`
	Passed int    `json:"passed"`
	Won    int    `json:"won"`
}

// Routing is the accuracy of predicted speed-ups (ROUTE-17).
type Routing struct {
	Runs int      `json:"runs"` // runs with both figures
	Near int      `json:"near"` // predicted within a fifth
	Off  *float64 `json:"off"`  // mean relative error; null: no such run
}

// nearEnough is the largest accepted error of a prediction, in percent (MET-06).
const nearEnough = 20

// mostFailures is the highest number of listed failures.
const mostFailures = 12

// FromStores adds data of the learning stores from since on. The zero time adds all.
func (e *Evidence) FromStores(patterns []failures.Pattern, outcomes []sampling.Outcome, teams []report.SpeedUp,
	since time.Time) {
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
			continue // there was no prediction
		}
		l.Routing.Runs++
		l.Routing.Near += one(*t.Off <= nearEnough)
		sum += *t.Off / 100
	}
	if l.Routing.Runs > 0 {
		l.Routing.Off = new(round(sum / float64(l.Routing.Runs)))
	}
	e.Learned = l
}
