package report

import (
	"fmt"
	"slices"

	"github.com/runplan/runplan/gates"
	"github.com/runplan/runplan/internal/phrase"
	"github.com/runplan/runplan/internal/ui"
	"github.com/runplan/runplan/runner"
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

// testCount formats the test count of a gate.
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
	counting := 0
	for _, g := range all {
		if g.Tests != nil {
			counting++
		}
	}
	if counting > 1 {
		return nil
	}
	return before
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

// place formats the position of a finding.
func place(f gates.Finding) string { return ui.Sanitize(phrase.Place(f.Path, f.Line, f.Col)) }

// saidOf returns the warnings of a report that no other line shows.
func saidOf(r gates.Report) []string {
	if r.Gate == OutsideGate { // already shown when it was recorded
		return nil
	}
	return r.Said()
}
