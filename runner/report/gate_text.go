package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/runplan/runplan/gates"
	"github.com/runplan/runplan/internal/cells"
	"github.com/runplan/runplan/internal/lists"
	"github.com/runplan/runplan/internal/phrase"
	"github.com/runplan/runplan/internal/ui"
	"github.com/runplan/runplan/runner"
	"github.com/runplan/runplan/runner/story"
)

func toneOf(s gates.Status) ui.Tone {
	switch s {
	case gates.Pass:
		return ui.Good
	case gates.Fail:
		return ui.Bad
	case gates.Warn:
		return ui.Warn
	}
	return ui.Muted
}

func testCount(t *gates.TestCount, before *int) string {
	switch {
	case t == nil:
		return ""
	case t.Failed > 0:
		return fmt.Sprintf("%d of %d failed", t.Failed, t.Total())
	}
	return fmt.Sprintf("%d%s", t.Passed, delta(t.Passed, before))
}

// suiteBefore returns before, the sum of the tests that passed at the base, if only one gate counts tests. Otherwise it
// returns nil, because no count of a single gate compares with the sum.
func suiteBefore(all []runner.GateResult, before *int) *int {
	if lists.Count(all, func(g runner.GateResult) bool { return g.Tests != nil }) > 1 {
		return nil
	}
	return before
}

func resultOf(r gates.Report) runner.GateResult {
	return runner.GateResult{Gate: r.Gate, Status: r.Status, Note: r.Note, Tests: r.Tests, Findings: len(r.Findings)}
}

// gateText formats the result of a gate: "tests pass 12 (+3)", "format skipped (no formatter)".
func gateText(g runner.GateResult, before *int) string {
	s := ui.Sanitize(g.Gate) + " " + ui.Sanitize(string(g.Status))
	if g.Tests != nil && g.Tests.Failed > 0 {
		s += fmt.Sprintf(" %d of %d", g.Tests.Failed, g.Tests.Total())
	} else if n := testCount(g.Tests, before); n != "" {
		s += " " + n
	} else if g.Findings > 0 {
		what := "finding"
		if g.Status == gates.Pass { // whatever is more than a note warns at least
			what = "note"
		}
		s += " (" + phrase.Count(g.Findings, what) + ")"
	}
	if g.Note != "" && g.Status != gates.Pass {
		s += " (" + ui.Sanitize(g.Note) + ")"
	}
	return s
}

// fewGates is the maximum number of gates that are always shown one by one.
const fewGates = 3

// telling separates the gates to show one by one (failures, warnings, tests, skips, in this order) from those that
// simply passed. It is for places with little room.
func telling(all []runner.GateResult) (apart []runner.GateResult, passed []string) {
	all = slices.DeleteFunc(slices.Clone(all), func(g runner.GateResult) bool { return g.Quiet })
	if len(all) <= fewGates {
		return all, nil
	}
	rank := map[gates.Status]int{gates.Fail: 0, gates.Warn: 1, gates.Pass: 2, gates.Skipped: 3}
	for _, g := range all {
		if g.Status == gates.Pass && g.Tests == nil && g.Findings == 0 {
			passed = append(passed, ui.Sanitize(g.Gate))
			continue
		}
		apart = append(apart, g)
	}
	if len(passed) < 2 {
		return all, nil
	}
	slices.SortStableFunc(apart, func(a, b runner.GateResult) int { return rank[a.Status] - rank[b.Status] })
	return apart, passed
}

func place(f gates.Finding) string { return ui.Sanitize(phrase.Place(f.Path, f.Line, f.Col)) }

// saidOf returns the warnings of a report that no other line shows.
func saidOf(r gates.Report) []string {
	if r.Gate == story.OutsideGate { // already shown when it was recorded
		return nil
	}
	return r.Said()
}

func trouble(o runner.Outcome) ui.Tone {
	switch o {
	case runner.OutcomeLimited, runner.OutcomeHuman, runner.OutcomeCancelled:
		return ui.Warn
	}
	return ui.Bad
}

// wentWrong describes a failure with its first finding.
func (p *Printer) wentWrong(e runner.Event) string {
	var s string
	switch e.Outcome {
	case runner.OutcomeTimedOut:
		s = fmt.Sprintf("failed attempt %d: timed out", e.Attempt)
	case runner.OutcomeHuman:
		return parking(e, e.At, p.Zone, ui.Sanitize(e.Reason))
	case runner.OutcomeLimited:
		s = parking(e, e.At, p.Zone, ui.Sanitize(e.Reason))
		if e.RetryAt.IsZero() {
			what, why, told := strings.Cut(s, ":")
			if s = "parked (" + what + ")"; told {
				s += ":" + why
			}
			return s
		}
		return "parked " + s
	case runner.OutcomeCancelled:
		return "interrupted, resumable"
	case runner.OutcomeError:
		s = "error"
	case runner.OutcomeUnstarted:
		s = "the agent could not be started"
	default:
		s = fmt.Sprintf("failed attempt %d", e.Attempt)
	}
	if e.Reason != "" {
		s += ": " + e.Reason
	}
	return s + firstWords(e, e.Reason) + lastWords(e)
}

// firstWords returns the first finding of a failure, unless the text has its message.
func firstWords(e runner.Event, text string) string {
	f, ok := firstFinding(e.Reports)
	if !ok || says(text, f) {
		return ""
	}
	return " - " + strings.TrimSpace(place(f)+" "+ui.Sanitize(f.Message))
}

// says reports whether text has the message of f.
func says(text string, f gates.Finding) bool {
	return strings.Contains(ui.Sanitize(text), ui.Sanitize(f.Message))
}

// maxLastWords limits the displayed part of an agent's last line.
const maxLastWords = 160

// lastWords returns the last line that an agent printed before it failed. Often only this line has the cause, such
// as a missing sign-in or program.
func lastWords(e runner.Event) string {
	if e.Kind != runner.Executed || len(e.Reports) == 0 || e.Reports[0].Gate != "agent" {
		return ""
	}
	var last string
	for line := range strings.Lines(e.Reports[0].Output) {
		if line = strings.TrimSpace(ui.Sanitize(line)); line != "" {
			last = line
		}
	}
	if last == "" || strings.Contains(e.Reason, last) {
		return ""
	}
	return "; its last output: " + cells.Cut(last, maxLastWords, "…")
}

// firstFinding returns the first finding of a failed gate, errors before the rest.
func firstFinding(reports []gates.Report) (gates.Finding, bool) {
	for _, only := range []bool{true, false} {
		for _, r := range reports {
			if r.Status != gates.Fail {
				continue
			}
			for _, f := range r.Findings {
				if !only || f.Severity == gates.Error {
					return f, f.Message != ""
				}
			}
		}
	}
	return gates.Finding{}, false
}
