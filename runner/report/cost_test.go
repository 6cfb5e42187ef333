package report

import (
	"strings"
	"testing"

	"github.com/runplan/runplan/runner"
)

// The total cost of a run includes its final review. If that is unknown, the total says so.
func TestTotalIncludesFinalReview(t *testing.T) {
	one, half := 1.0, 0.5
	s := runner.Summary{Status: runner.RunDone, ReviewCostUSD: &half, Review: &runner.ReviewInfo{Reviewers: []string{"r"}},
		Batches: []runner.BatchSummary{{Key: "a", State: string(runner.Passed), Attempts: 1, CostUSD: &one}}}
	if got := totals(s); !strings.Contains(got, "cost $1.50") {
		t.Errorf("got %q", got)
	}
	s.ReviewCostUSD = nil
	if got := totals(s); !strings.Contains(got, "cost $1.00, unknown for the final review") {
		t.Errorf("got %q", got)
	}
	s.Batches[0].CostUSD = nil
	if got := totals(s); !strings.Contains(got, "cost unknown") {
		t.Errorf("got %q", got)
	}
}
