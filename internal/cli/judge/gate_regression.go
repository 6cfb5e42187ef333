package judge

import (
	"errors"

	"github.com/runplan/runplan/gates"
	"github.com/runplan/runplan/gates/differential"
	"github.com/runplan/runplan/internal/cli"
	"github.com/runplan/runplan/runner/local"
)

// regressionOptions holds the flags of gate for the differential check.
type regressionOptions struct {
	files   []string
	command string
	runs    int
}

// check rejects flags that have no effect.
func (o regressionOptions) check() error {
	switch {
	case len(o.files) == 0 && (o.command != "" || o.runs != differential.DefaultRuns):
		return cli.Usage(errors.New("--regression-command and --regression-runs need --regression"),
			"name the test: --regression PATH")
	case o.runs < 1:
		return cli.Usage(errors.New("--regression-runs is the number of runs on each side, 1 or more"), "")
	}
	return nil
}

// regression returns the gate that runs the regression test on the working tree. It returns nothing if it was not
// requested.
func (x *Inspection) regression() []gates.Gate {
	o := x.Options.regression
	if len(o.files) == 0 {
		return nil
	}
	scratch := local.ScratchOf(x.baselineOf, x.warn)
	return []gates.Gate{differential.New(
		differential.Options{Files: o.files, Shell: o.command, Runs: o.runs, Base: scratch})}
}
