package mutants

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/runplan/runplan/gates"
	"github.com/runplan/runplan/internal/phrase"
)

// Least is the shortest budget that [Options.Share] may give. In Go, one run that records the lines took 4 seconds of
// processor time on a package of stretchr/testify, and each mutant needs one more build and run.
const Least = 10 * time.Second

// wholeRuns is the minimum number of runs of the whole suite that a mutant needs, if only the whole suite can say that
// it survives: one records the lines, one shows that the suite passes without the mutant, and one runs on the mutant.
const wholeRuns = 3

// judging is the budget of a gate that may fail the batch, unless another one is set.
const judging = time.Minute

var errSpent = errors.New("the time budget of the mutants is spent")

// spent reports whether ctx ended because its time budget is spent.
func spent(ctx context.Context) bool { return context.Cause(ctx) == errSpent }

// within returns the options with their budget, or why nothing is tried. earlier are the reports of the gates that ran
// before.
func (o Options) within(earlier []gates.Report) (_ Options, why string) {
	if o.Share <= 0 {
		o.Budget = cmp.Or(max(0, o.Budget), judging)
		return o, ""
	}
	took := suiteTime(earlier, "")
	o.Budget = took * time.Duration(o.Share) / 100
	if o.Bar > 0 {
		o.Budget, o.Share = max(o.Budget, judging), 0
		return o, ""
	}
	if o.Budget < Least {
		return o, fmt.Sprintf("%d %% of the time of the test suites (%s) is less than %s", o.Share, shown(took), Least)
	}
	return o, ""
}

// short returns why the budget is too short for mutants in a language, or "". A budget that the user set is never too
// short.
func (o Options) short(earlier []gates.Report, lang gates.Language) string {
	if o.Share <= 0 || lang == gates.LangGo {
		return "" // a few packages decide
	}
	took := suiteTime(earlier, lang)
	switch {
	case took == 0:
		return fmt.Sprintf("no test suite for %s ran", lang)
	case o.Budget < wholeRuns*took:
		return fmt.Sprintf("the budget of %s is less than %d runs of the test suite for %s (%s), which decides",
			o.shown(), wholeRuns, lang, shown(took))
	}
	return ""
}

// suiteTime returns how long the test gates of a language took, or all test gates if lang is "". A cached result took no
// time.
func suiteTime(earlier []gates.Report, lang gates.Language) (sum time.Duration) {
	for _, r := range earlier {
		ran := r.Status == gates.Pass || r.Status == gates.Warn
		if ran && gates.IsSuite(r.Gate) && (lang == "" || isSuiteOf(r.Gate, lang)) {
			sum += r.Duration
		}
	}
	return sum
}

// isSuiteOf reports whether a gate runs the tests of a language.
func isSuiteOf(gate string, lang gates.Language) bool {
	return strings.HasPrefix(gate+":", "tests:"+string(lang)+":")
}

// untried says that n mutants are left.
func (o Options) untried(n int) string {
	return fmt.Sprintf("%s not tried: the budget of %s is spent", phrase.Count(n, "mutant"), o.shown())
}

// leave skips the gate, because its budget is spent. With a threshold that is an error: a change that was not judged must
// not pass.
func (o Options) leave(l *gates.Look, why string) error {
	if o.Bar > 0 {
		return fmt.Errorf("judge the tests by mutants: %s; set a longer [gates.mutants] budget", why)
	}
	l.Skip("%s", why)
	return nil
}

// shown returns the budget for people.
func (o Options) shown() string { return shown(o.Budget) }

func shown(d time.Duration) string {
	if d > time.Second {
		return d.Round(100 * time.Millisecond).String()
	}
	return d.Round(time.Millisecond).String()
}
