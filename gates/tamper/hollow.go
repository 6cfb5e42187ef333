package tamper

import (
	"slices"
	"strings"

	"github.com/runplan/runplan/gates"
	"github.com/runplan/runplan/gates/testcode"
	"github.com/runplan/runplan/internal/language"
	"github.com/runplan/runplan/planparse"
)

// mostHollow limits how many tests of one file are named; the rest is counted.
const mostHollow = 10

// hollow finds new tests that cannot fail. A test that calls nothing, or asserts only that true is true, only raises
// the count of tests. A test that only calls something may fail in that call, so it is only a hint.
func (j judge) hollow(f gates.File, list []testcode.Unit) {
	var empty, mute []testcode.Unit
	for _, u := range list {
		if why := u.Vacuous(language.OfTest(f.Path)); why != "" && !u.Hollow {
			j.find("tamper/new-test-empty", gates.Error, f.Path, u.Line, "make it fail if the code does not do what it should",
				"the new test %s cannot fail: %s", u.Name, why)
		}
	}
	for _, u := range list {
		switch {
		// the compiler runs it
		case u.Hollow && language.OfTest(f.Path) == language.Node && typeAssertion.MatchString(u.Text):
		// a note about a future test: the runner counts it as skipped
		case u.Hollow && u.Skips > 0 && j.s.Batch.Key == "":
		case u.Hollow:
			empty = append(empty, u)
		case u.Mute && u.Asserts == 0 && u.Trivial == 0:
			mute = append(mute, u)
		}
	}
	const fix = "add a check that can fail, or remove the test"
	for i, u := range empty {
		sev := gates.Error
		if j.spelled(f.Path, u) {
			sev = gates.Warning
		}
		if i == mostHollow {
			j.find("tamper/new-test-empty", sev, f.Path, u.Line, fix, "%d more new tests check nothing", len(empty)-i)
			break
		}
		j.find("tamper/new-test-empty", sev, f.Path, u.Line, fix, "the new test %s checks nothing", u.Name)
	}
	for i, u := range mute {
		if i == mostHollow {
			j.find("tamper/new-test-asserts-nothing", gates.Note, f.Path, u.Line, "", "%d more new tests have no assertion",
				len(mute)-i)
			break
		}
		j.find("tamper/new-test-asserts-nothing", gates.Note, f.Path, u.Line, "",
			"the new test %s has no assertion: it fails only if the code that it calls fails", u.Name)
	}
}

// spelled reports whether the plan itself contains the test, in a block of the batch.
func (j judge) spelled(path string, u testcode.Unit) bool {
	return slices.ContainsFunc(j.s.Batch.Blocks, func(b planparse.Block) bool {
		if !strings.Contains(b.Text, u.Bare()) {
			return false
		}
		have, ok := testcode.Read(path, b.Text).Find(u.Name)
		return ok && have.Hollow
	})
}
