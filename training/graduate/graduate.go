// Package graduate says when an adapter has learnt enough that not each of its generations has to be reviewed (TRAIN-29, TRAIN-30). It
// takes three things at once, in two training cycles in a row. What there is too little of is unknown, and unknown has not been met.
package graduate

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/runplan/runplan/gates/blueprint"
)

// The criteria, and the baseline that they are measured by.
const (
	Generations   = 10   // the last ones, over which divergence is averaged
	MostDivergent = 0.15 // their mean divergence
	Baseline      = 0.12 // divergence of code that people and large models write, for comparison
	FirstPass     = 0.80 // share of generations that are promoted without modification
	Sample        = 5    // generations whose own assessment is compared with the reviewer's
	Agreement     = 0.90 // share of the discrepancy classes in which they agree
	Cycles        = 2    // in a row
	AuditEvery    = 5    // once graduated, the cold reviewer looks at one in so many
)

// Generation is one unit that the adapter wrote, with what the cold reviewer said of it and what became of it.
type Generation struct {
	Unit       string                  `json:"unit"`
	At         time.Time               `json:"at"`
	Divergence float64                 `json:"divergence"`
	Promoted   *bool                   `json:"promoted_first"` // as it was written; null: not decided yet
	Reviewer   []blueprint.Discrepancy `json:"-"`
	Self       []blueprint.Discrepancy `json:"-"`
	SelfKnown  bool                    `json:"self_assessed"` // the adapter reviewed it itself
}

// Figure is one criterion in one cycle.
type Figure struct {
	Name  string   `json:"name"`
	Value *float64 `json:"value"` // null: unknown
	Of    int      `json:"of"`    // generations that it rests on
	Needs string   `json:"needs"`
	Met   bool     `json:"met"`
	Why   string   `json:"why,omitempty"`
}

// Cycle is how one version of the adapter did.
type Cycle struct {
	Version     int      `json:"version"`
	Generations int      `json:"generations"`
	Figures     []Figure `json:"figures"`
	Met         bool     `json:"met"`
}

// slack takes away what binary fractions add at a border.
const slack = 1e-9

// Judge measures the generations of one cycle, in the order in which they were made. The sample is drawn with the seed, so that
// nobody chooses it.
func Judge(version int, list []Generation, seed uint64) Cycle {
	list = slices.Clone(list)
	slices.SortStableFunc(list, func(a, b Generation) int { return cmp.Or(a.At.Compare(b.At), cmp.Compare(a.Unit, b.Unit)) })
	c := Cycle{Version: version, Generations: len(list), Figures: []Figure{divergence(list), firstPass(list), agreement(list, seed)}}
	c.Met = !slices.ContainsFunc(c.Figures, func(f Figure) bool { return !f.Met })
	return c
}

func divergence(list []Generation) Figure {
	f := Figure{Name: "divergence", Of: min(len(list), Generations), Needs: fmt.Sprintf("at most %.2f over the last %d (baseline about %.2f)", MostDivergent, Generations, Baseline)}
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
		f.Why = "nothing was decided yet"
		return f
	}
	return f.measured(float64(good)/float64(f.Of), func(v float64) bool { return v >= FirstPass-slack })
}

// agreement compares, in a random sample, the classes of discrepancies that the reviewer found with those that the adapter found in
// its own work. A class is a dimension with a severity, such as critical in contract; finding none alike is agreement.
func agreement(list []Generation, seed uint64) Figure {
	f := Figure{Name: "agreement", Needs: fmt.Sprintf("at least %.0f %% of discrepancy classes in a sample of %d", 100*Agreement, Sample)}
	var both []Generation
	for _, g := range list {
		if g.SelfKnown {
			both = append(both, g)
		}
	}
	f.Of = min(len(both), Sample)
	if len(both) < Sample {
		f.Why = fmt.Sprintf("%d generations were assessed by the adapter itself as well", len(both))
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
		for _, c := range a {
			if slices.Contains(b, c) {
				alike++
			}
		}
		all += len(a)
		for _, c := range b {
			if !slices.Contains(a, c) {
				all++
			}
		}
	}
	return f.measured(float64(alike)/float64(all), func(v float64) bool { return v >= Agreement-slack })
}

func classes(list []blueprint.Discrepancy) []string {
	var out []string
	for _, d := range list {
		if c := d.Dimension + " " + string(d.Severity); d.Severity != blueprint.Observation && !slices.Contains(out, c) {
			out = append(out, c)
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

// Graduated tells whether the last training cycles met all criteria, so many in a row. A version in between that was never judged breaks
// the row.
func Graduated(cycles []Cycle) bool {
	if len(cycles) < Cycles {
		return false
	}
	for _, c := range cycles[len(cycles)-Cycles:] {
		if !c.Met {
			return false
		}
	}
	return true
}

// AuditDue tells whether the cold reviewer looks at a generation, counted from 1 since the adapter graduated. Before that it looks at
// each.
func AuditDue(graduated bool, generation int) bool {
	return !graduated || generation%AuditEvery == 0
}
