package report

import (
	"strings"
	"testing"

	"github.com/runplan/runplan/gates"
	"github.com/runplan/runplan/runner"
	"github.com/runplan/runplan/runner/story"
)

// A change outside of the workspace is in the report although the gates failed afterwards, and a candidate that is
// green alone has a conflict.
func TestFailuresShowChangesOutsideAndConflicts(t *testing.T) {
	step := func(kind runner.EventKind, o runner.Outcome, reports ...gates.Report) runner.Event {
		return runner.Event{Kind: kind, Batch: "a", Attempt: 1, Outcome: o, Reports: reports}
	}
	list := failures(runner.BatchSummary{Key: "a"}, pastOf([]runner.Event{
		step(runner.Executed, runner.OutcomeOK, gates.Report{Gate: story.OutsideGate, Status: gates.Warn}),
		step(runner.Gated, runner.OutcomeFailed, gates.Report{Gate: "vet", Status: gates.Fail},
			gates.Report{Gate: "lint", Status: gates.Pass}),
		step(runner.Tried, runner.OutcomeOK),
	}).of("a"))
	if len(list) != 1 || len(list[0].Gates) != 2 || !strings.HasPrefix(list[0].Gates[0].Name, "outside") {
		t.Fatalf("got %+v", list)
	}
	if want := "attempt 1 conflict after 0s"; list[0].Head != want {
		t.Errorf("got %q, want %q", list[0].Head, want)
	}
}
