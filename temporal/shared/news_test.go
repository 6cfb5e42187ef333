package shared

import (
	"testing"

	"github.com/runplan/runplan/runner"
)

// A worker must fetch after another worker has reported a result or somebody has resumed the run; its own results are
// already here.
func TestResultsOfOthersAreNews(t *testing.T) {
	handed := runner.Event{Seq: 3, Kind: runner.Dispatched, Command: "1/r1-c0/execute"}
	report := runner.Event{Seq: 4, Kind: runner.Executed, Command: handed.Command}
	for name, tt := range map[string]struct {
		own    int // order that was carried out here
		events []runner.Event
		want   bool
	}{
		"an order":           {0, []runner.Event{handed}, false},
		"a report of ours":   {3, []runner.Event{handed, report}, false},
		"a report of others": {0, []runner.Event{handed, report}, true},
		"a repeated command": {3,
			[]runner.Event{handed, {Seq: 5, Kind: runner.Dispatched, Command: handed.Command}, report}, true},
		"a run that another machine resumed": {0, []runner.Event{{Seq: 9, Kind: runner.RunResumed}}, true},
		"additional notes for people": {0,
			[]runner.Event{{Seq: 9, Kind: runner.BatchStarted, Batch: "1"}, {Seq: 10, Kind: runner.Note}}, false},
	} {
		t.Run(name, func(t *testing.T) {
			n := news{orders: map[string]int{}, own: map[int]bool{}}
			if tt.own > 0 {
				n.did(tt.own)
			}
			for _, e := range tt.events {
				n.hear(e)
			}
			if got := n.take(); got != tt.want {
				t.Errorf("news: %v", got)
			}
			if n.take() {
				t.Error("a second take returns true")
			}
			if n.missed(); !n.take() {
				t.Error("after a failed fetch, take must return true again")
			}
		})
	}
}
