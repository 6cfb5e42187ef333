package sampling

import (
	"fmt"
	"math"

	"github.com/runplan/runplan/internal/lists"
	"github.com/runplan/runplan/internal/phrase"
)

// Rate is a success rate with its 95 % Wilson interval.
type Rate struct {
	Tries     int     `json:"tries"`
	Successes int     `json:"successes"`
	Low       float64 `json:"low"` // 0 to 1
	High      float64 `json:"high"`
}

// NewRate returns a rate with its interval. Without tries the rate is unknown, and the interval is 0 to 1.
func NewRate(successes, tries int) Rate {
	r := Rate{Tries: tries, Successes: successes, High: 1}
	if tries <= 0 {
		return r
	}
	const z = 1.959963984540054
	n, p := float64(tries), float64(successes)/float64(tries)
	middle := (p + z*z/(2*n)) / (1 + z*z/n)
	half := z / (1 + z*z/n) * math.Sqrt(p*(1-p)/n+z*z/(4*n*n))
	r.Low, r.High = max(0, middle-half), min(1, middle+half)
	return r
}

// String is "14 of 20 (70 %, 48 to 85 %)", or "no data".
func (r Rate) String() string {
	if r.Tries <= 0 {
		return "no data"
	}
	return fmt.Sprintf("%d of %d (%.0f %%, %.0f to %.0f %%)", r.Successes, r.Tries, r.value()*100, r.Low*100, r.High*100)
}

func (r Rate) value() float64 { return float64(r.Successes) / float64(r.Tries) }

// Retries counts plain retries: attempts after a failure without a tournament.
type Retries struct{ Tries, Successes int }

// Comparison measures the benefit of sampling (SAMP-20, MET-07).
type Comparison struct {
	Sampling  Rate `json:"sampling"`  // of tournaments after a failed attempt
	Retry     Rate `json:"retry"`     // of plain retries after a failed attempt
	First     Rate `json:"first"`     // of tournaments from the start: critical batches, and batches requested by a flag
	Synthesis Rate `json:"synthesis"` // of round 2
	Ungrouped int  `json:"ungrouped"` // uncounted outcomes without a tournament
}

// Rates makes the comparison. A tournament succeeds if one of its candidates, or its synthesis, passed. Only
// tournaments after a failure are compared with retries, because a batch that failed once is harder than one that was
// not tried yet.
func Rates(outcomes []Outcome, retries Retries) Comparison {
	won, retry := map[string]bool{}, map[string]bool{} // by tournament
	var c Comparison
	for _, o := range outcomes {
		k := o.tournament()
		if k == "" {
			c.Ungrouped++
			continue
		}
		won[k] = won[k] || o.Won
		retry[k] = retry[k] || o.Trigger == OnRetry || o.Attempt > 1
	}
	var after, first Retries
	for k := range won {
		of := &first
		if retry[k] {
			of = &after
		}
		if of.Tries++; won[k] {
			of.Successes++
		}
	}
	syntheses := lists.Filter(outcomes, func(o Outcome) bool { return o.Kind == KindSynthesis })
	c.Sampling, c.First = NewRate(after.Successes, after.Tries), NewRate(first.Successes, first.Tries)
	c.Retry = NewRate(retries.Successes, retries.Tries)
	c.Synthesis = NewRate(lists.Count(syntheses, func(o Outcome) bool { return o.Won }), len(syntheses))
	return c
}

// Difference returns how much more often sampling succeeds than a plain retry, with the 95 % interval after Newcombe.
// It returns false if one of them has no tries.
func (c Comparison) Difference() (middle, low, high float64, ok bool) {
	s, r := c.Sampling, c.Retry
	if s.Tries <= 0 || r.Tries <= 0 {
		return 0, 0, 0, false
	}
	p, q := s.value(), r.value()
	middle = p - q
	return middle, middle - math.Hypot(p-s.Low, r.High-q), middle + math.Hypot(s.High-p, q-r.Low), true
}

// Lines formats the comparison for people.
func (c Comparison) Lines() []string {
	out := []string{
		"after a failed attempt, sampling: " + c.Sampling.String(),
		"after a failed attempt, plain retry: " + c.Retry.String(),
	}
	switch d, low, high, ok := c.Difference(); {
	case !ok:
		out = append(out, "sampling against plain retry: no data to compare")
	case low > 0:
		out = append(out, fmt.Sprintf("sampling succeeds more often, by %.0f points (%.0f to %.0f)", d*100, low*100,
			high*100))
	case high < 0:
		out = append(out, fmt.Sprintf("sampling succeeds less often, by %.0f points (%.0f to %.0f)", -d*100, -high*100,
			-low*100))
	default:
		out = append(out, fmt.Sprintf("too few to distinguish them: the difference is %+.0f points (%+.0f to %+.0f)", d*100,
			low*100, high*100))
	}
	if c.First.Tries > 0 {
		out = append(out, "sampled from the start: "+c.First.String())
	}
	if c.Synthesis.Tries > 0 {
		out = append(out, "synthesis: "+c.Synthesis.String())
	}
	if c.Ungrouped > 0 {
		out = append(out, fmt.Sprintf("%s of unknown tournaments not counted", phrase.Count(c.Ungrouped, "outcome")))
	}
	return out
}
