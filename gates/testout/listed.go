package testout

import (
	"slices"
	"strings"

	"github.com/runplan/runplan/internal/lazyre"
)

// listed are runners that print a line with the name and the result of each test, and a summary below them.
var listed = []struct{ line, sum *lazyre.Regexp }{
	{lazyre.New(`^\s*\d+/\d+ +Test +#\d+: (?P<name>\S+) [. ]*(?P<is>\S.*?) +[\d.]+ sec`), // ctest
		lazyre.New(`^\d+% tests passed, \d+ tests? failed out of \d+`)},
	{lazyre.New(`^\s*\d+/\d+ (?P<name>\S.*?) +(?P<is>OK|[A-Z]*FAIL|[A-Z]*PASS|SKIP|TIMEOUT|ERROR) +[\d.]+s\b`), // meson
		lazyre.New(`^Ok: +\d+ *$`)},
	{lazyre.New(`^(?P<is>X?PASS|X?FAIL|SKIP|ERROR): (?P<name>\S.*)$`), lazyre.New(`^# TOTAL: +\d+$`)}, // automake
	{lazyre.New(`^ +(?P<is>passed|failed|FAILED|skipped|aborted|quit) +\d+/\d+ +(?P<name>\S+)`), // ert
		lazyre.New(`^Ran \d+ tests, \d+ results as expected, \d+ unexpected`)},
	{lazyre.New(`^(?:> )? *\[(?P<is>OK|FAIL|SKIP)\] +(?P<group>\S.*?) +\d+ +(?P<name>\S.*?)\.?$`), // alcotest
		lazyre.New(`\. \d+ tests? run\.$`)},
}

// statuses are the words of listed for results that are not failures.
var statuses = map[string]Status{"Passed": Passed, "OK": Passed, "EXPECTEDFAIL": Passed, "PASS": Passed, "XFAIL": Passed,
	"passed": Passed, "failed": Passed, // ert writes an expected failure in small letters
	"***Skipped": Skipped, "***Not Run (Disabled)": Skipped, "SKIP": Skipped, "skipped": Skipped}

// Listed reads ctest, `meson test`, `make check` of automake, ert of Emacs, and alcotest.
func Listed(lines []string) Result {
	var r Result
	for _, runner := range listed {
		cases, ended, at := newCases(), false, runner.line.Re()
		var bad []Failure
		for i, l := range lines {
			ended = ended || runner.sum.MatchString(l)
			m := runner.line.FindStringSubmatch(l)
			if m == nil {
				continue
			}
			name, is := m[at.SubexpIndex("name")], m[at.SubexpIndex("is")]
			status, ok := statuses[is]
			if !ok {
				status = Failed
			}
			c := Case{Name: name, Status: status}
			if group := at.SubexpIndex("group"); group > 0 {
				c.Group = m[group]
			}
			if _, again := cases.at[c.Key()]; !ok && !again { // meson repeats the failed ones
				below := lines[i+1 : min(i+6, len(lines))]
				if next := slices.IndexFunc(below, runner.line.MatchString); next >= 0 {
					below = below[:next]
				}
				bad = append(bad, Failure{Name: name, Message: strings.Trim(is, "*") + "\n" + firstText(below, 3)})
			}
			cases.add(c)
		}
		if !ended || len(cases.list) == 0 {
			continue
		}
		cases.fill(&r)
		r.Known = true
		for _, f := range bad {
			r.fail(f)
		}
	}
	return r
}

var (
	proveSum = lazyre.New(`^Files=\d+, Tests=(\d+), `)
	proveBad = lazyre.New(`^(\S+) +\(Wstat: \d+(?: \(.*?\))? Tests: \d+ Failed: (\d+)\)$`)
	proveAt  = lazyre.New(`^#\s+at (\S+) line (\d+)\.$`)
)

// Prove reads `prove`, which does not name the tests of a file. With -v it prints them in TAP. It also lists files in
// which no test failed, but one passed that was not expected to.
func Prove(lines []string) Result {
	var r Result
	failed := 0
	for i, l := range lines {
		m := proveBad.FindStringSubmatch(l)
		if m != nil && (m[2] != "0" || i+1 == len(lines) || !strings.HasPrefix(lines[i+1], "  TODO passed:")) {
			failed += max(1, number(m[2]))
			f := Failure{Name: m[1], Path: m[1], Message: m[2] + " failed"}
			for i, l := range lines {
				if at := proveAt.FindStringSubmatch(l); at != nil && at[1] == m[1] && i > 0 {
					f.Line, f.Message = number(at[2]), strings.TrimLeft(lines[i-1], "# ")
					break
				}
			}
			r.fail(f)
		}
		if m := proveSum.FindStringSubmatch(l); m != nil {
			r.total(max(number(m[1]), failed), failed, 0)
		}
	}
	return r.summed()
}
