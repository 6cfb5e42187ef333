// Package report shows a run to people: as lines while it goes on ([Printer]), as a live board ([Board]), as
// the table of runplan status ([Status]), and as a report that stays ([Markdown], [HTML], with the picture of
// [SVG]).
//
// All of it is drawn from a [runner.Summary] and from events, and from nothing else: no clock, no disk. What
// is not known is called unknown and never 0; a check that was skipped is shown as skipped, with the reason.
// Titles, reasons and findings come from plans, agents and tools, so each one is cleaned and escaped here.
package report

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/runplan/runplan/internal/phrase"
	"github.com/runplan/runplan/internal/ui"
	"github.com/runplan/runplan/runner"
)

// none stands where there is nothing to tell, as opposed to unknown.
const none = "–"

// face is the state of a batch as it is shown.
type face struct {
	word string
	tone ui.Tone
}

// faceOf tells how batch b of run s looks. A batch under way is busy only while its run is.
func faceOf(s runner.Summary, b runner.BatchSummary) face {
	active := s.Status.Live()
	switch runner.Status(b.State) {
	case runner.Passed:
		return face{"merged", ui.Good}
	case runner.Skipped:
		return face{"skipped", ui.Muted}
	case runner.Failed:
		return face{"failed", ui.Bad}
	case runner.Waiting:
		if s.Status == runner.RunFailed {
			return face{"not run", ui.Idle}
		}
		return face{"waiting", ui.Idle}
	}
	if slices.ContainsFunc(s.Waiting, func(a runner.Approval) bool { return a.Batch == b.Key }) {
		return face{"to approve", ui.Warn}
	}
	if !active {
		return face{"stopped", ui.Warn}
	}
	return face{stateWord(runner.State(b.State)), ui.Busy}
}

// stateWord says what happens in a state of the loop.
func stateWord(s runner.State) string {
	switch s {
	case runner.StateRetrieve, runner.StateBrief:
		return "briefing"
	case runner.StateEdit:
		return "editing"
	case runner.StateSample:
		return "sampling"
	case runner.StateSynthesize:
		return "combining"
	case runner.StateDebug:
		return "debugging"
	case runner.StateGate:
		return "checking"
	case runner.StateSelfReview, runner.StateFidelityReview:
		return "reviewing"
	case runner.StatePublish:
		return "queued"
	case runner.StateCommit:
		return "committing"
	case runner.StateMerge, runner.StateLearn:
		return "merging"
	}
	return strings.ReplaceAll(ui.Sanitize(string(s)), "_", " ")
}

// outcomeOf says how a run stands, in a few words.
func outcomeOf(s runner.Summary) face {
	switch s.Status {
	case runner.RunDone:
		if s.Undone != "" {
			return face{"done, undone by " + short(s.Undone), ui.Warn}
		}
		return face{"done", ui.Good}
	case runner.RunDiscarded:
		return face{"discarded", ui.Idle}
	case runner.RunFailed:
		return face{"failed", ui.Bad}
	case runner.RunStopped:
		return face{"stopped (" + stopWord(s.Stop) + ")", ui.Warn}
	case runner.RunPaused:
		return face{"paused", ui.Warn}
	}
	return face{"running", ui.Busy}
}

func stopWord(o runner.Outcome) string {
	switch o {
	case runner.OutcomeCancelled:
		return "interrupted"
	case runner.OutcomeLimited:
		return "a limit is reached"
	case runner.OutcomeHuman:
		return "a person is needed"
	case runner.OutcomeError:
		return "a tool could not run"
	}
	return strings.ReplaceAll(ui.Sanitize(string(o)), "_", " ")
}

// figures are the sums of a run.
type figures struct {
	total, merged, skipped, failed, waiting, working int
	attempts                                         int
	cost                                             float64
	priced, unpriced                                 int // batches that ran, by whether their cost is known
	before, after                                    *int
}

func figuresOf(s runner.Summary) figures {
	f := figures{total: len(s.Batches)}
	for _, b := range s.Batches {
		f.attempts += b.Attempts
		switch runner.Status(b.State) {
		case runner.Passed:
			f.merged++
			// In which order batches merged is not known here, but no merge takes tests away.
			if n := b.TestsAfter; n != nil && (f.after == nil || *n > *f.after) {
				f.after = n
			}
		case runner.Skipped:
			f.skipped++
		case runner.Failed:
			f.failed++
		case runner.Waiting:
			f.waiting++
		default:
			f.working++
		}
		if n := b.TestsBefore; n != nil && (f.before == nil || *n < *f.before) {
			f.before = n
		}
		switch {
		case !ran(b):
		case b.CostUSD == nil:
			f.unpriced++
		default:
			f.priced++
			f.cost += *b.CostUSD
		}
	}
	return f
}

// money is the cost of the whole run.
func (f figures) money() string {
	switch {
	case f.priced+f.unpriced == 0:
		return none
	case f.unpriced == 0:
		return phrase.Money(f.cost)
	case f.priced == 0:
		return "unknown"
	}
	return fmt.Sprintf("%s + unknown", phrase.Money(f.cost))
}

// ran reports whether an agent has come back from batch b, so that there is something to pay for.
func ran(b runner.BatchSummary) bool {
	return b.CostUSD != nil || b.Agent != "" || b.Attempts > 1 || b.Attempts == 1 && settled(b)
}

func settled(b runner.BatchSummary) bool {
	s := runner.Status(b.State)
	return s == runner.Passed || s == runner.Failed
}

func (f figures) counts() string {
	parts := []string{fmt.Sprintf("%d merged", f.merged), fmt.Sprintf("%d skipped", f.skipped), fmt.Sprintf("%d failed", f.failed)}
	if n := f.total - f.merged - f.skipped - f.failed; n > 0 {
		parts = append(parts, fmt.Sprintf("%d to go", n))
	}
	return strings.Join(parts, ", ")
}

// brief is what there is to count, for places with little room.
func (f figures) brief() string {
	parts := []string{fmt.Sprintf("%d merged", f.merged)}
	for _, x := range []struct {
		n    int
		word string
	}{{f.skipped, "skipped"}, {f.failed, "failed"}, {f.total - f.merged - f.skipped - f.failed, "to go"}} {
		if x.n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", x.n, x.word))
		}
	}
	return strings.Join(parts, ", ")
}

// costOf is the cost of one batch.
func costOf(b runner.BatchSummary) string {
	switch {
	case b.CostUSD != nil:
		return phrase.Money(*b.CostUSD)
	case !ran(b):
		return none
	}
	return "unknown"
}

func agentOf(b runner.BatchSummary) string { return agentName(b.Agent, b.Model) }

func agentName(agent, model string) string {
	agent, model = ui.Sanitize(agent), ui.Sanitize(model)
	if model != "" {
		return agent + "/" + model
	}
	return agent
}

// commitOf is the commit of a merged batch. What is not merged has at most a candidate, which nobody can use.
func commitOf(b runner.BatchSummary) string {
	if b.State != string(runner.Passed) {
		return ""
	}
	return short(b.Commit)
}

// testsOf shows tests before and after.
func testsOf(before, after *int) string {
	switch {
	case before == nil && after == nil:
		return none
	case before == nil:
		return fmt.Sprintf("%d", *after)
	case after == nil:
		return fmt.Sprintf("%d→?", *before)
	}
	return fmt.Sprintf("%d→%d", *before, *after)
}

// delta shows what n tests are compared with those before.
func delta(n int, before *int) string {
	if before == nil || n == *before {
		return ""
	}
	return fmt.Sprintf(" (%+d)", n-*before)
}

// skipping tells that a batch is left out, and why.
func skipping(why string) string {
	if why = ui.Sanitize(why); strings.HasPrefix(why, "(") {
		return "skipped " + why
	}
	return "skipped, " + why
}

func short(commit string) string {
	return ui.Cut(ui.Sanitize(commit), 7, "")
}

func millis(ms int64) time.Duration { return time.Duration(ms) * time.Millisecond }

// titleOf is what a run is called.
func titleOf(s runner.Summary) string {
	if t := ui.Sanitize(s.Title); t != "" {
		return t
	}
	return ui.Sanitize(s.Plan)
}
