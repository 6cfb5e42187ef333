package gates

import (
	"context"
	"slices"
	"strings"

	"github.com/runplan/runplan/gates/testout"
	"github.com/runplan/runplan/internal/lazyre"
	"github.com/runplan/runplan/internal/lists"
	"github.com/runplan/runplan/internal/phrase"
)

// judge compares the runner's results for the planted tests with the expected ones, and returns its answer without
// them. exact says that the call asked for a report that a runner writes only after it has run all tests.
func (b *bed) judge(ctx context.Context, w *Look, raw testout.Result, out ran, exact bool) (testout.Result, ran) {
	res, planted := b.strip(raw)
	red := 0
	for _, status := range planted {
		if status == testout.Failed {
			red++
		}
	}
	switch {
	case exact && !raw.Exact && out.ok():
		w.lies(
			"the test runner exited with status 0 without a report of its tests: something ended the process or replaced " +
				"the runner")
		return res, out
	case red > 0 && out.ok() && !b.ignores:
		w.lies("a planted test failed, but the test runner exited with status 0")
		return res, out
	}
	b.compare(ctx, w, res, planted)
	exits := b.exits
	if exits == nil {
		exits = func(exit, _ int) bool { return exit == 1 }
	}
	if red > 0 && res.Failed == 0 && len(res.Failures) == 0 && out.signal == "" && exits(out.exit, red) {
		out.exit = 0
	}
	if b.ignores && out.ok() && res.Failed > 0 {
		out.exit = 1
	}
	return res, out
}

// compare checks each planted pair.
func (b *bed) compare(ctx context.Context, w *Look, res testout.Result, planted map[string]testout.Status) {
	why := ""
	told := map[string]bool{}
	lie := func(p plant, what string) {
		if msg := p.place + ": " + what; !told[msg] && len(told) < 10 {
			told[msg] = true
			w.lies("%s", msg)
		}
	}
	good := 0
	for _, p := range b.plants {
		fail, pass := planted[p.fail], planted[p.pass]
		near := slices.ContainsFunc(res.Cases, func(c testout.Case) bool { return c.Status != testout.Skipped && p.like(c) })
		switch {
		case fail == testout.Passed:
			lie(p, "a planted test that must fail was reported as passed")
		case fail == testout.Failed && p.fine != nil && p.fine():
			lie(p, "a planted test failed, but the runner reported that all passed")
		case fail == testout.Failed && pass == testout.Passed:
			good++
		case fail == testout.Failed && pass == testout.Failed:
			why = p.place + ": a planted test that must pass failed"
		case near && p.unsure != "":
			why = p.place + ": " + p.unsure
		case near && len(res.Failures) > 0 && (p.fine == nil || !p.fine()):
			why = p.place + ": the run ended before the planted tests"
		case near:
			lie(p, "tests were reported as run, but the planted tests next to them did not run")
		case p.fine != nil && p.fine() && b.ranBefore(ctx, w, p):
			lie(p, "it was reported as passed, but ran neither its own tests nor the planted ones")
		}
	}
	switch {
	case len(told) > 0:
	case why != "":
		w.uncalibrated(why)
	case good == 0:
		w.uncalibrated("the planted tests did not run")
	case w.rep.Proof == nil:
		w.rep.Proof = &Proof{Calibration: Calibrated}
	}
}

// ranBefore reports whether tests ran at the place on the base. If that is unknown, it returns true.
func (b *bed) ranBefore(ctx context.Context, w *Look, p plant) bool {
	if w.subject.BaseTests == nil {
		return true
	}
	before, err := w.subject.BaseTests(ctx, w.rep.Gate)
	return err != nil || slices.ContainsFunc(before,
		func(c testout.Case) bool { return c.Status != testout.Skipped && p.like(c) })
}

// strip removes the planted tests from a result, and returns how each of them ended.
func (b *bed) strip(raw testout.Result) (testout.Result, map[string]testout.Status) {
	planted := map[string]testout.Status{}
	res := raw
	res.Cases, res.Failures = nil, nil
	for _, c := range raw.Cases {
		if !b.own(c.Name) && !b.own(c.Group) {
			res.Cases = append(res.Cases, c)
			continue
		}
		for _, p := range b.plants {
			for _, name := range []string{p.fail, p.pass} {
				// A fixture that pytest applies to each test repeats the planted ones too: "test_planted[native]".
				if plain, _, _ := strings.Cut(c.Name, "["); strings.HasSuffix(c.Name, name) || strings.HasSuffix(plain, name) {
					planted[name] = worse(planted[name], c.Status, name == p.fail)
				}
			}
		}
		switch c.Status {
		case testout.Passed:
			res.Passed = max(0, res.Passed-1)
		case testout.Failed:
			res.Failed = max(0, res.Failed-1)
		case testout.Skipped:
			res.Skipped = max(0, res.Skipped-1)
		}
	}
	res.Failures = lists.Filter(raw.Failures, func(f testout.Failure) bool {
		return !slices.ContainsFunc([]string{f.Name, f.ID, f.Path, f.Group, f.Message}, b.own)
	})
	return res, planted
}

var (
	// frameLine matches lines around a runner's output for one test.
	frameLine = lazyre.New(`^\s*(?:[=_⎯-]{8,}|Traceback \(most recent call last\):|Failures:|failures:)?\s*$`)
	// errorLine matches the line that pytest prints below the traceback of a test.
	errorLine = lazyre.New(`^\S+\.py:\d+: \w+$`)
	// totalLine matches the summary lines of test runners.
	totalLine = lazyre.New(`^(?:=+ )?\d+ (?:failed|passed)\b.* in [\d.]+s|^Ran \d+ tests? in |^(?:FAILED|OK)(?: \(.*\))?$|^(?:Tests|Test Suites|Snapshots|Time):\s|` +
		`^\s+(?:Test Files|Tests|Start at|Duration)\s{2,}|^\s+\d+ (?:passing|failing|pending)\b|^test result: |^\d+ examples?, |^\d+ runs, |^(?:#|ℹ) \w+ [\d.]+$|^(?:\[\w+\]\s+)?Tests run: `)
)

// clean removes the output about planted tests.
func (b *bed) clean(text string) string {
	if !b.own(text) {
		return text
	}
	lines := strings.Split(text, "\n")
	gone := lists.Map(lines, func(l string) bool { return b.own(l) || totalLine.MatchString(l) })
	for i := range lines { // downwards, then upwards: frames around removed lines
		gone[i] = gone[i] || i > 0 && gone[i-1] && (frameLine.MatchString(lines[i]) || errorLine.MatchString(lines[i]))
	}
	for i := len(lines) - 2; i >= 0; i-- {
		gone[i] = gone[i] || gone[i+1] && frameLine.MatchString(lines[i])
	}
	var out strings.Builder
	for i, l := range lines {
		if !gone[i] {
			out.WriteString(l)
			if i < len(lines)-1 {
				out.WriteByte('\n')
			}
		}
	}
	return out.String()
}

// totals describes the test counts in words.
func totals(r testout.Result) string {
	return phrase.Count(r.Passed, "test") + " passed, " + phrase.Count(r.Failed, "test") + " failed, " +
		phrase.Count(r.Skipped, "test") + " skipped\n"
}

// worse returns the more significant of two results of one planted test. A test that ran outranks a skipped one, and an
// unexpected result outranks the expected one.
func worse(a, b testout.Status, fails bool) testout.Status {
	wrong := testout.Failed
	if fails {
		wrong = testout.Passed
	}
	switch {
	case a == wrong || b == "" || b == testout.Skipped && a != "":
		return a
	}
	return b
}
