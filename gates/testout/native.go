package testout

import (
	"cmp"
	"strings"

	"github.com/runplan/runplan/internal/lazyre"
	"github.com/runplan/runplan/internal/lists"
)

var (
	cargoSum   = lazyre.New(`^test result: (?:ok|FAILED)\. (\d+) passed; (\d+) failed; (\d+) ignored;`)
	cargoPanic = lazyre.New(`^thread '(.+?)'(?: \(\d+\))? panicked at (?:'(.*)', )?([^\s:]+):(\d+):(\d+):?$`)
	cargoCase  = lazyre.New(`^test (.+?)(?: - should panic)?( - compile)? \.\.\. (ok|FAILED|ignored)\b`)
	cargoRuns  = lazyre.New(`^\s+(?:Running (?:unittests )?(\S+\.rs)\b|Doc-tests (\S+)$)`)
	cargoErr   = lazyre.New(`^error(?:\[\w+\])?: (.+)$`)
	cargoAt    = lazyre.New(`^\s*--> (.+):(\d+):(\d+)$`)
	mvnSum     = lazyre.New(`^(?:\[\w+\]\s+)?Tests run: (\d+), Failures: (\d+), Errors: (\d+), Skipped: (\d+)\s*$`)
	mvnBad     = lazyre.New(`^\[ERROR\]\s+(\w+)\.(\w+):(\d+)(?:->\S+)? (.+)$`)
	antClass   = lazyre.New(`^\s*\[junit\] Testsuite: (\S+)$`)
	antSum     = lazyre.New(`^\s*\[junit\] Tests run: (\d+), Failures: (\d+), Errors: (\d+), Skipped: (\d+), Time `)
	antCase    = lazyre.New(`^\s*\[junit\] Testcase: (\S+) took `)
	antIs      = lazyre.New(`^\s*\[junit\] \s*(FAILED|Caused an ERROR|SKIPPED)`)
	mvnBuild   = lazyre.New(`^\[ERROR\] (/?[^\s:]+\.(?:java|kt)):\[(\d+),(\d+)\] (.+)$`)
)

// Cargo reads `cargo test`, whose targets each print their own totals.
func Cargo(lines []string) Result {
	var r Result
	named, group := newCases(), ""
	for i, l := range lines {
		if m := cargoRuns.FindStringSubmatch(l); m != nil {
			group = m[1] + m[2]
		}
		if m := cargoCase.FindStringSubmatch(l); m != nil {
			status := map[string]Status{"ok": Passed, "FAILED": Failed, "ignored": Skipped}[m[3]]
			if m[2] != "" && status == Passed {
				status = Skipped // an example that is only compiled
			}
			named.add(Case{Name: m[1], Group: group, Status: status})
		}
		if m := cargoSum.FindStringSubmatch(l); m != nil {
			r.count(number(m[1]), number(m[2]), number(m[3]))
		}
		if m := cargoPanic.FindStringSubmatch(l); m != nil {
			msg := cmp.Or(m[2], firstText(lines[i+1:min(i+4, len(lines))], 3))
			r.fail(Failure{Name: m[1], Path: m[3], Line: number(m[4]), Col: number(m[5]), Message: msg})
		}
		if m := cargoErr.FindStringSubmatch(l); m != nil && i+1 < len(lines) {
			if at := cargoAt.FindStringSubmatch(lines[i+1]); at != nil {
				r.fail(Failure{
					Name: "build", Path: at[1], Line: number(at[2]), Col: number(at[3]), Message: m[1], Build: true,
				})
			}
		}
	}
	if r.Known {
		r.Cases = named.list
	}
	return r
}

// Maven reads the totals of surefire. It ignores lines with the time of one class, which the totals include.
func Maven(lines []string) Result {
	var r Result
	for _, l := range lines {
		l = strings.TrimRight(l, " \t")
		if m := mvnSum.FindStringSubmatch(l); m != nil {
			r.total(number(m[1]), number(m[2])+number(m[3]), number(m[4]))
		}
		if m := mvnBad.FindStringSubmatch(l); m != nil {
			r.fail(Failure{Name: m[1] + "." + m[2], Line: number(m[3]), Message: m[4]})
		}
		r.broken(mvnBuild, l)
	}
	return r
}

// Ant reads its junit task. A class has its sum once for each formatter, and its tests with the plain one.
func Ant(lines []string) Result {
	var r Result
	named, class := newCases(), ""
	for i, l := range lines {
		if m := antClass.FindStringSubmatch(l); m != nil {
			class = m[1]
		}
		if m := antSum.FindStringSubmatch(l); m != nil && l != lines[max(0, i-1)] {
			r.total(number(m[1]), number(m[2])+number(m[3]), number(m[4]))
		}
		m := antCase.FindStringSubmatch(l)
		if m == nil {
			continue
		}
		c := Case{Name: m[1], Group: class, Status: Passed}
		switch is := antIs.FindStringSubmatch(lines[min(i+1, len(lines)-1)]); {
		case is != nil && is[1] == "SKIPPED":
			c.Status = Skipped
		case is != nil:
			c.Status = Failed
			text := lists.Map(lines[min(i+2, len(lines)):min(i+3, len(lines))],
				func(l string) string { return strings.Replace(l, "[junit]", "", 1) })
			r.fail(Failure{Name: m[1], Group: class, Message: firstText(text, 1)})
		}
		named.add(c)
	}
	if r.Known {
		r.Cases = named.list
	}
	return r
}
