package page

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/runplan/runplan/runner"
	"github.com/runplan/runplan/runner/story"
)

// Of a long run only the latest spans are kept, and the dropped ones are counted.
func TestLanesKeepLatestSpans(t *testing.T) {
	const maxSpans = 400
	l := story.NewCourse()
	l.Max = maxSpans
	at := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	for i := range maxSpans + 3 {
		id := fmt.Sprintf("%d/r1-c0/execute", i)
		for _, k := range []runner.EventKind{runner.Dispatched, runner.Executed} {
			at = at.Add(time.Second)
			l.Apply(runner.Event{Kind: k, Command: id, Batch: fmt.Sprint(i), At: at, Outcome: runner.OutcomeOK})
		}
		if want := min(i+1, maxSpans); len(l.Spans) != want || l.Dropped != max(0, i+1-maxSpans) {
			t.Fatalf("after %d: %d kept, %d dropped", i+1, len(l.Spans), l.Dropped)
		}
	}
	if first := l.Spans[0].Batch; first != "3" {
		t.Errorf("the first one kept is of batch %s", first)
	}
	svg := string(lanes(&l, nil, 0))
	if !strings.Contains(svg, fmt.Sprintf("%d pieces of work in 1 lanes", maxSpans)) {
		t.Errorf("%.300s", svg)
	}
}
