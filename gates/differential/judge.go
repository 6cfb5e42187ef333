package differential

import (
	"fmt"
	"strings"

	"github.com/runplan/runplan/gates"
	"github.com/runplan/runplan/internal/phrase"
)

// judge derives the result from the two sides.
func (c *compared) judge(base, now side, fix []gates.File) {
	if last := base.runs[len(base.runs)-1]; last.Command != "" {
		c.Note("%s, %s", told(base), told(now))
	}
	c.Show(now.output)
	if w, ok := now.outcome(); ok && w == gates.RunPassed {
		c.Show(base.output)
	}
	before, fine := c.usable(base, fix)
	after, too := c.usable(now, nil)
	if !fine || !too {
		return
	}
	switch {
	case before == gates.RunPassed && after == gates.RunPassed:
		c.refuse(RulePassesBoth,
			"the regression test passes on the base, without the fix, as well as on the candidate: it does not show what was "+
				"wrong",
			"make it fail because of the bug; a test that cannot fail proves nothing")
	case before != gates.RunPassed && after != gates.RunPassed:
		c.refuse(RuleFailsBoth, fmt.Sprintf(
			"the regression test fails on the candidate as well as on the base: the fix does not fix what it tests%s",
			because(now.why())),
			"fix the bug, or correct the test")
	case before == gates.RunPassed:
		c.refuse(RuleInverted, fmt.Sprintf(
			"the regression test passes on the base and fails on the candidate: the change breaks what it tests%s",
			because(now.why())),
			"fix what the change broke")
	}
}

// told describes one side: "base: failed 3 of 3 runs (TestAdd)".
func told(s side) string {
	w, same := s.outcome()
	if !same {
		var parts []string
		for _, w := range []gates.RunOutcome{gates.RunPassed, gates.RunFailed, gates.RunBroken, gates.RunEmpty,
			gates.RunSkipped, gates.RunHidFailures} {
			if n := s.count(w); n > 0 {
				parts = append(parts, fmt.Sprintf("%s %d", w, n))
			}
		}
		return fmt.Sprintf("%s: %s of %d runs", s.name, strings.Join(parts, ", "), len(s.runs))
	}
	text := fmt.Sprintf("%s: %s in %d of %d runs", s.name, w, len(s.runs), len(s.runs))
	if names, ok := s.always(); ok && len(names) > 0 {
		text += " (" + phrase.Few(names, 3) + ")"
	}
	return text
}

// usable reports whether the result of a side is meaningful: its runs agree, and a test ran in them. Otherwise it
// records a finding.
func (c *compared) usable(s side, fix []gates.File) (gates.RunOutcome, bool) {
	w, same := s.outcome()
	if same && w == gates.RunFailed {
		_, same = s.always()
	}
	if !same {
		c.refuse(RuleFlaky, fmt.Sprintf(
			"the regression test is flaky on the %s: of %d runs it passed in %d and failed in %d%s",
			s.name, len(s.runs), s.count(gates.RunPassed), s.count(gates.RunFailed), because(s.why())),
			"make the test independent of time, order and chance")
		return w, false
	}
	switch w {
	case gates.RunSkipped:
		c.refuse(RuleSkipped, fmt.Sprintf(
			"the regression test is skipped on the %s, at least in part: a skip is neither a pass nor a failure", s.name),
			"make it run; if the file has other tests, name the regression test: "+c.test.Path+"::NAME")
		return w, false
	case gates.RunEmpty:
		c.refuse(RuleIdle, fmt.Sprintf("no test of %s ran on the %s", c.test.Path, s.name),
			"write a test that its runner finds")
		return w, false
	case gates.RunHidFailures:
		c.refuse(RuleHidden, fmt.Sprintf("the regression test fails on the %s, but its command exits with status 0%s",
			s.name, because(s.why())), "make the command fail when a test fails")
		return w, false
	case gates.RunBroken:
		return c.blind(s, fix)
	}
	return w, true
}

// blind decides about a test that did not build or load. That is not a failing test: its result is unknown. One cause
// is accepted with a warning: the test misses only names that the fix itself adds, so it could never build without the
// fix.
func (c *compared) blind(s side, fix []gates.File) (gates.RunOutcome, bool) {
	run := s.runs[0]
	names := missing(run.Text)
	if len(names) > 0 && len(fix) > 0 {
		if absent := notAdded(names, fix); len(absent) == 0 {
			c.Find(gates.Finding{
				Rule: RuleOnlyNames, Path: c.test.Path, Severity: gates.Warning,
				Message: fmt.Sprintf(
					"the regression test does not build on the base, because names that the fix adds are missing (%s): that it "+
						"would have failed "+
						"there for the right reason is not proven", strings.Join(names, ", ")),
				Fix: "where possible, use only names that the base has",
			})
			return gates.RunFailed, true
		}
	}
	c.refuse(RuleBlind, fmt.Sprintf("the regression test did not run on the %s, which is not a failing test%s", s.name,
		because(run.Why)),
		"write it so that it builds on both sides, and fails in its assertions")
	return gates.RunBroken, false
}

// because formats the cause as the end of a sentence, on one line.
func because(why string) string {
	if why = phrase.Line(why); why == "" {
		return ""
	}
	return ": " + phrase.Cut(why, 300)
}
