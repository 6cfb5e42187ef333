package sampling

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The intervals match published examples: Wilson 1927, and Newcombe 1998 (method 10, his example (a)).
func TestRateIntervals(t *testing.T) {
	near := func(a, b float64) bool { return math.Abs(a-b) < 0.00005 }
	for _, c := range []struct {
		won, n    int
		low, high float64
	}{{81, 263, 0.2553, 0.3662}, {0, 20, 0, 0.1611}, {1, 29, 0.0061, 0.1718}, {10, 10, 0.7225, 1}, {0, 0, 0, 1}} {
		if r := NewRate(c.won, c.n); !near(r.Low, c.low) || !near(r.High, c.high) {
			t.Errorf("%d of %d: %.4f to %.4f, want %.4f to %.4f", c.won, c.n, r.Low, r.High, c.low, c.high)
		}
	}
	c := Comparison{Sampling: NewRate(56, 70), Retry: NewRate(48, 80)}
	if d, low, high, ok := c.Difference(); !ok || !near(d, 0.2) || !near(low, 0.0524) || !near(high, 0.3339) {
		t.Errorf("%.4f, %.4f to %.4f", d, low, high)
	}
}

// tournament returns one outcome for each candidate.
func tournament(run string, attempt int, trigger Trigger, won ...bool) []Outcome {
	var out []Outcome
	for i, w := range won {
		out = append(out, Outcome{BatchType: "t", Variant: Vanilla, Won: w, Timestamp: testTime, Run: run, Batch: "4",
			Attempt: attempt, Round: 1, Candidate: i + 1, Trigger: trigger})
	}
	return out
}

// SAMP-20: each tournament counts once, and only tournaments after a failed attempt are compared with plain retries.
func TestRates(t *testing.T) {
	var all []Outcome
	all = append(all, tournament("a", 2, OnRetry, false, true, false)...)
	all = append(all, tournament("b", 2, OnRetry, false, false, false)...)
	all = append(all, tournament("c", 2, OnFlag, true, false)...)
	all = append(all, tournament("d", 1, OnCritical, false, false)...)
	all = append(all, Outcome{BatchType: "t", Variant: Synthesis, Kind: KindSynthesis, Won: true, Run: "d", Batch: "4",
		Attempt: 1, Round: 2, Candidate: 3, Timestamp: testTime})
	all = append(all, Outcome{BatchType: "t", Variant: Vanilla, Won: true, Timestamp: testTime})
	got := Rates(all, Retries{Tries: 4, Successes: 1})
	want := Comparison{Sampling: NewRate(2, 3), Retry: NewRate(1, 4), First: NewRate(1, 1), Synthesis: NewRate(1, 1),
		Ungrouped: 1}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	lines := []string{
		"after a failed attempt, sampling: 2 of 3 (67 %, 21 to 94 %)",
		"after a failed attempt, plain retry: 1 of 4 (25 %, 5 to 70 %)",
		"too few to distinguish them: the difference is +42 points (-23 to +76)",
		"sampled from the start: 1 of 1 (100 %, 21 to 100 %)",
		"synthesis: 1 of 1 (100 %, 21 to 100 %)",
		"1 outcome of unknown tournaments not counted",
	}
	if diff := cmp.Diff(lines, got.Lines()); diff != "" {
		t.Error(diff)
	}
}

func TestComparisonLines(t *testing.T) {
	for want, c := range map[string]Comparison{
		"sampling against plain retry: no data to compare": {Sampling: NewRate(0, 0),
			Retry: NewRate(3, 9)},
		"sampling succeeds more often, by 60 points (47 to 69)": {Sampling: NewRate(80, 100),
			Retry: NewRate(20, 100)},
		"sampling succeeds less often, by 60 points (47 to 69)": {Sampling: NewRate(20, 100),
			Retry: NewRate(80, 100)},
		"too few to distinguish them: the difference is +0 points (-57 to +57)": {Sampling: NewRate(1, 2),
			Retry: NewRate(1, 2)},
		"too few to distinguish them: the difference is +100 points (-12 to +100)": {Sampling: NewRate(1, 1),
			Retry: NewRate(0, 1)},
	} {
		if got := c.Lines()[2]; got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
	if _, _, _, ok := (Comparison{Sampling: NewRate(3, 9), Retry: NewRate(0, 0)}).Difference(); ok {
		t.Error("a comparison without retries")
	}
	if got := Rates(nil, Retries{}).Lines(); got[0] != "after a failed attempt, sampling: no data" ||
		got[1] != "after a failed attempt, plain retry: no data" || len(got) != 3 {
		t.Error(got)
	}
}
