package judge

import (
	"errors"
	"fmt"
	"time"

	"github.com/runplan/runplan/gates"
	"github.com/runplan/runplan/gates/differential"
	"github.com/runplan/runplan/gates/mutants"
	"github.com/runplan/runplan/internal/cli"
	"github.com/runplan/runplan/internal/ui"
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

// defaultMutantsBudget is the default time limit for "runplan gate --mutants".
const defaultMutantsBudget = time.Minute

// mutantOptions holds the flags of gate for mutation testing.
type mutantOptions struct {
	asked  bool
	budget time.Duration
	bar    int
}

// check rejects invalid values, and flags without --mutants.
func (o mutantOptions) check() error {
	switch {
	case !o.asked && (o.bar != 0 || o.budget != defaultMutantsBudget):
		return cli.Usage(errors.New("--mutants-budget and --mutants-bar need --mutants"), "")
	case o.budget <= 0:
		return cli.Usage(errors.New("--mutants-budget must be more than 0"), "for example: --mutants-budget 2m")
	case o.bar < 0 || o.bar > 100:
		return cli.Usage(errors.New("--mutants-bar is a percentage from 0 to 100"), "")
	}
	return nil
}

// mutants returns the mutation gate if it was requested.
func (x *Inspection) mutants() []gates.Gate {
	o := x.Options.mutants
	if !o.asked {
		return nil
	}
	tree := local.CandidateOf(x.baselineOf, x.warn)
	return []gates.Gate{mutants.New(mutants.Options{Tree: tree, Budget: o.budget, Bar: o.bar, Program: x.Rules.Program})}
}

// warn prints a warning.
func (x *Inspection) warn(text string) { fmt.Fprintf(x.App.Stderr, "warning: %s\n", ui.Sanitize(text)) }
