package plan_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/runplan/runplan/runner/failures"
	"github.com/runplan/runplan/runner/report"
	"github.com/runplan/runplan/sampling"
	"github.com/runplan/runplan/training/plan"
)

// FAIL-07: the evidence comes from three learning stores; an entry that is too old or has no prediction does not
// count.
func TestLearningStores(t *testing.T) {
	day := time.Date(2026, 1, 2, 0, 0, 0, 0, time.UTC)
	var e plan.Evidence
	e.FromStores(
		[]failures.Pattern{{Title: "old", Type: "x", Frequency: 9, LastSeen: "2026-01-01"},
			{Title: "b", Type: "x", Frequency: 1, LastSeen: "2026-01-02"},
			{Title: "a", Type: "x", Frequency: 2, LastSeen: "2026-01-02", WinningFix: "y"}},
		[]sampling.Outcome{{Variant: "v", Won: true, Passed: true, Timestamp: day},
			{Variant: "v", Passed: true, Timestamp: day}, {Variant: "v", Won: true, Timestamp: day.Add(-1)}},
		[]report.SpeedUp{{Real: 2}, {Real: 2, Off: ptr(20.0)}, {Real: 3, Off: ptr(50.0)}}, day)
	want := plan.Learned{
		Failures: []plan.Failure{{Title: "a", Type: "x", Frequency: 2, Fixed: true}, {Title: "b", Type: "x", Frequency: 1}},
		Variants: []plan.Variant{{Name: "v", Tried: 2, Passed: 2, Won: 1}},
		Routing:  plan.Routing{Runs: 2, Near: 1, Off: ptr(0.35)},
	}
	if diff := cmp.Diff(want, plan.Analyse(e).Learned); diff != "" {
		t.Error(diff)
	}
	e.FromStores(nil, nil, nil, time.Time{})
	if l := e.Learned; l.Failures == nil || l.Variants == nil || l.Routing.Off != nil {
		t.Errorf("empty stores: %+v", l)
	}
}
