package host

import (
	"testing"

	"github.com/runplan/runplan/runner"
	"github.com/runplan/runplan/temporal/shared"
)

// A worker that executes a whole run alone fetches once. It fetches again if other workers reported results, or if
// the command may have been given to a worker before.
func TestWorkerFetchesResultsOfOthers(t *testing.T) {
	b := newBench(t)
	b.info.Land = "branch"
	w, _, err := b.Open(t.Context(), run)
	if err != nil {
		t.Fatal(err)
	}
	perform := func(seq int, first bool) error {
		_, err := w.Perform(t.Context(), shared.Order{Seq: seq, Command: land(seq).Command, First: first},
			func(shared.Pushed) {})
		return err
	}
	if err := perform(101, true); err != nil {
		t.Fatal(err)
	}
	cut := func(cut bool) { // with it, fetching fails
		if cut {
			b.team.Git(t, "-C", "worker", "config", "remote.origin.uploadpack", "false")
		} else {
			b.team.Git(t, "-C", "worker", "config", "--unset", "remote.origin.uploadpack")
		}
	}
	if err := w.Take(t.Context(), b.events[:1]); err != nil {
		t.Fatal(err)
	}
	cut(true)
	if err := perform(102, true); err != nil {
		t.Errorf("it fetched, although no other host changed anything: %v", err)
	}
	if err := perform(103, false); err == nil {
		t.Error("it did not ask the shared repository for results of other hosts")
	}
	cut(false)
	if err := perform(104, true); err != nil {
		t.Fatal(err)
	}
	cut(true)
	theirs := runner.Event{Seq: 2, Run: run, Kind: runner.Executed, Command: "1/r1-c0/execute", Batch: "1", Attempt: 1,
		Outcome: runner.OutcomeOK}
	if err := w.Take(t.Context(), []runner.Event{theirs}); err != nil {
		t.Fatal(err)
	}
	for seq := 105; seq < 107; seq++ { // once more: what could not be fetched is not forgotten
		if err := perform(seq, true); err == nil {
			t.Error("it did not fetch what others had reported")
		}
	}
	cut(false)
	if err := perform(107, true); err != nil {
		t.Error(err)
	}
}
