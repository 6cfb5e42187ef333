package host

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/runplan/runplan/temporal/shared"
)

// A host tells that it is alive on a clock, whatever its agent says or does not, and with it what was pushed last: at
// first what the try before told, later what was pushed since.
func TestAPulseTellsWhatWasPushedLast(t *testing.T) {
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

// A worker tells of each step that is in the shared repository: what others put there before it begins, and what it put
// there itself.
func TestAWorkerTellsWhatIsPushed(t *testing.T) {
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
