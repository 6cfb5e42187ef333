package run

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/runplan/runplan/internal/cli"
	"github.com/runplan/runplan/internal/cli/prepare"
	"github.com/runplan/runplan/internal/cli/watch"
	"github.com/runplan/runplan/runner"
)

// full is a writer to a full disk.
type full struct{ tries int }

func (f *full) Write([]byte) (int, error) {
	f.tries++
	return 0, errors.New("no space left on device")
}

// If events cannot be printed, runplan reports it once, and the run continues.
func TestPrintFailureIsReportedOnce(t *testing.T) {
	var out full
	var told bytes.Buffer
	v := newView(&cli.App{Stdout: &out, Stderr: &told}, prepare.RunOptions{JSON: true})
	v.Event(runner.Event{Kind: runner.RunStarted})
	v.Event(runner.Event{Kind: runner.RunFinished})
	if out.tries != 2 {
		t.Errorf("%d events were printed", out.tries)
	}
	if got := told.String(); strings.Count(got, "print the events: no space left on device") != 1 ||
		!strings.Contains(got, "runplan log --json has all of them") {
		t.Errorf("told %q", got)
	}
	if err := watch.PrintJSONLine(&cli.App{Stdout: &out}, 1); err == nil {
		t.Error("a failed print must be an error")
	}
}
