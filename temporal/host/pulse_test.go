package host

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/runplan/runplan/temporal/shared"
)

// A host sends heartbeats at fixed intervals, whatever its agent prints. Each contains the last push: first the one
// that the previous try reported, later the newer ones.
func TestHeartbeatContainsLastPush(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		before, since := shared.Pushed{Ref: "refs/runplan/r/done/1", Commit: "a"},
			shared.Pushed{Ref: "refs/runplan/r/done/2", Commit: "b"}
		var told []shared.Pushed
		p := newPulse(before, time.Minute, func(s shared.Pushed) { told = append(told, s) })
		time.Sleep(2*time.Minute + time.Second) // none at once
		p.mark(since)
		time.Sleep(time.Minute)
		p.stop()
		synctest.Wait()
		time.Sleep(time.Hour)
		if want := []shared.Pushed{before, before, since}; !slices.Equal(told, want) {
			t.Errorf("%v, not %v", told, want)
		}
	})
}

// A worker reports each step that is in the shared repository: the steps of other workers before it starts, and its
// own.
func TestWorkerReportsPushedSteps(t *testing.T) {
	b := newBench(t)
	var told []string
	mark := func(s shared.Pushed) { told = append(told, s.Ref) }
	w, _, err := b.Open(t.Context(), run)
	if err != nil {
		t.Fatal(err)
	}
	for seq := 1; seq <= 2; seq++ {
		if _, err := w.Perform(t.Context(), shared.Order{Seq: seq, Command: land(seq).Command}, mark); err != nil {
			t.Fatal(err)
		}
	}
	ref := "refs/runplan/" + run + "/done/"
	if want := []string{"", ref + "1", ref + "1", ref + "2"}; !slices.Equal(told, want) {
		t.Errorf("%q, not %q", told, want)
	}
}
