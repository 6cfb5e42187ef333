// Package graduate decides whether an adapter is so good that some of its generations need no review (TRAIN-29,
// TRAIN-30). The adapter must meet three criteria in two consecutive training cycles. A criterion with too little data
// is unknown and does not count as met.
package graduate

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/runplan/runplan/gates/blueprint/lifecycle"
	"github.com/runplan/runplan/internal/lists"
)

// The criteria and the baseline.
const (
	Generations   = 10   // number of last generations in the mean divergence
	MostDivergent = 0.15 // highest mean divergence
	Baseline      = 0.12 // divergence of code by people and large models, for comparison
	FirstPass     = 0.80 // least share of generations promoted unchanged
	Sample        = 5    // generations whose self-assessment is compared with the review
	Agreement     = 0.90 // least share of discrepancy classes in agreement
	Cycles        = 2    // consecutive cycles
	AuditEvery    = 5    // after graduation, one generation in this many is reviewed
)

// Generation is one unit that the adapter wrote, with its review and its outcome.
type Generation struct {
	Unit       string                  `json:"unit"`
	At         time.Time               `json:"at"`
	Divergence float64                 `json:"divergence"`
	Promoted   *bool                   `json:"promoted_first"` // promoted unchanged; null: undecided
	Reviewer   []lifecycle.Discrepancy `json:"-"`
	Self       []lifecycle.Discrepancy `json:"-"`
	SelfKnown  bool                    `json:"self_assessed"` // a self-assessment exists
}

// Figure is the value of one criterion in one cycle.
type Figure struct {
	Name  string   `json:"name"`
	Value *float64 `json:"value"` // null: unknown
	Of    int      `json:"of"`    // number of generations in Value
	Needs string   `json:"needs"`
	Met   bool     `json:"met"`
	Why   string   `json:"why,omitempty"`
}

// Cycle is the result of one version of the adapter.
type Cycle struct {
	Version     int      `json:"version"`
	Generations int      `json:"generations"`
	Figures     []Figure `json:"figures"`
	Met         bool     `json:"met"`
}

// slack is the tolerance for floating-point errors at a threshold.
const slack = 1e-9

// Judge computes the criteria of one cycle from its generations in order. The seed selects the sample, so that nobody
// can choose it.
func Judge(version int, list []Generation, seed uint64) Cycle {
	list = slices.Clone(list)
	slices.SortStableFunc(list,
		func(a, b Generation) int { return cmp.Or(a.At.Compare(b.At), cmp.Compare(a.Unit, b.Unit)) })
	c := Cycle{Version: version, Generations: len(list),
		Figures: []Figure{divergence(list), firstPass(list), agreement(list, seed)}}
	c.Met = !slices.ContainsFunc(c.Figures, func(f Figure) bool { return !f.Met })
	return c
}

func divergence(list []Generation) Figure {
	f := Figure{Name: "divergence", Of: min(len(list), Generations),
		Needs: fmt.Sprintf("at most %.2f over the last %d (baseline about %.2f)", MostDivergent, Generations, Baseline)}
	if len(list) < Generations {
		f.Why = fmt.Sprintf("there are %d generations", len(list))
		return f
	}
	sum := 0.0
	for _, g := range list[len(list)-Generations:] {
		sum += g.Divergence
	}
	return f.measured(sum/Generations, func(v float64) bool { return v <= MostDivergent+slack })
}

func firstPass(list []Generation) Figure {
	f := Figure{Name: "first_pass", Needs: fmt.Sprintf("at least %.0f %% promoted without modification", 100*FirstPass)}
	good := 0
	for _, g := range list {
		if g.Promoted == nil {
			continue
		}
		f.Of++
		if *g.Promoted {
			good++
		}
	}
	if f.Of == 0 {
		f.Why = "no decision was made yet"
		return f
	}
	return f.measured(float64(good)/float64(f.Of), func(v float64) bool { return v >= FirstPass-slack })
}

// agreement compares the discrepancy classes in reviews and self-assessments, in a random sample. A class is a
// dimension with a severity, such as critical in contract. No discrepancy in both also counts as agreement.
func agreement(list []Generation, seed uint64) Figure {
	f := Figure{Name: "agreement",
		Needs: fmt.Sprintf("at least %.0f %% of discrepancy classes in a sample of %d", 100*Agreement, Sample)}
	both := lists.Filter(list, func(g Generation) bool { return g.SelfKnown })
	f.Of = min(len(both), Sample)
	if len(both) < Sample {
		f.Why = fmt.Sprintf("the adapter itself also assessed %d generations", len(both))
		return f
	}
	r := rand.New(rand.NewPCG(seed, 0x67726164))
	r.Shuffle(len(both), func(i, j int) { both[i], both[j] = both[j], both[i] })
	alike, all := 0, 0
	for _, g := range both[:Sample] {
		a, b := classes(g.Reviewer), classes(g.Self)
		if len(a) == 0 && len(b) == 0 {
			alike, all = alike+1, all+1
			continue
		}
		shared := lists.Count(b, func(c string) bool { return slices.Contains(a, c) })
		alike += shared
		all += len(a) + len(b) - shared
	}
	return f.measured(float64(alike)/float64(all), func(v float64) bool { return v >= Agreement-slack })
}

func classes(list []lifecycle.Discrepancy) []string {
	var out []string
	for _, d := range list {
		if d.Severity != lifecycle.Observation {
			out = lists.Add(out, d.Dimension+" "+string(d.Severity))
		}
	}
	return out
}

func (f Figure) measured(v float64, met func(float64) bool) Figure {
	f.Met = met(v)
	v = math.Round(v*1e6) / 1e6
	f.Value = &v
	return f
}

// Graduated reports whether the last [Cycles] cycles met all criteria. A version without a result in between breaks
// the sequence.
func Graduated(cycles []Cycle) bool {
	return len(cycles) >= Cycles &&
		!slices.ContainsFunc(cycles[len(cycles)-Cycles:], func(c Cycle) bool { return !c.Met })
}

// AuditDue reports whether the cold reviewer reviews a generation. Generations count from 1 since graduation. Before
// graduation all are reviewed.
func AuditDue(graduated bool, generation int) bool {
	return !graduated || generation%AuditEvery == 0
}
