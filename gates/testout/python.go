package testout

import (
	"cmp"
	"strings"

	"github.com/runplan/runplan/internal/lazyre"
)

var (
	pytestSum  = lazyre.New(`^(?:=+ )?((?:no tests ran|\d+ [a-z ]+)(?:, \d+ [a-z ]+)*) in [\d.]+s`)
	pytestBad  = lazyre.New(`^(FAILED|ERROR) (\S+?\.py)(?:::(\S.*?))?(?: - (.*))?$`)
	unitRan    = lazyre.New(`^Ran (\d+) tests? in `)
	unitEnd    = lazyre.New(`^(OK|FAILED|NO TESTS RAN)(?: \((.*)\))?$`)
	unitHead   = lazyre.New(`^(FAIL|ERROR): (\S+)(?: \(([\w.<>]+)\))?(.*)$`)
	unitFrame  = lazyre.New(`^\s+File "(.+)", line (\d+)`)
	unitFigure = lazyre.New(`(failures|errors|skipped|expected failures|unexpected successes)=(\d+)`)
)

// Pytest reads pytest's closing lines. An expected failure counts as skipped, an error as failed.
func Pytest(lines []string) Result {
	var r Result
	at := map[string][]int{} // lines of failures by file, in order
	for _, l := range lines {
		if m := pyPlace.FindStringSubmatch(l); m != nil {
			at[m[1]] = append(at[m[1]], number(m[2]))
		}
		if m := pytestBad.FindStringSubmatch(l); m != nil {
			f := Failure{Name: m[3], Path: m[2], Message: cmp.Or(m[4], strings.ToLower(m[1])),
				Build: m[1] == "ERROR" && m[3] == ""}
			if f.Build {
				f.Name = m[2]
			}
			if rest := at[m[2]]; len(rest) > 0 {
				f.Line, at[m[2]] = rest[0], rest[1:]
			}
			r.fail(f)
		}
		if m := pytestSum.FindStringSubmatch(strings.TrimSpace(l)); m != nil {
			r.Known = r.countWords(m[1]) || strings.HasPrefix(m[1], "no tests ran") || r.Known
		}
	}
	return r.summed()
}

// Unittest reads the output of Python's unittest. Failed subtests count as the one test that contains them, as in
// "Ran N tests".
func Unittest(lines []string) Result {
	var r Result
	ran, bad := -1, map[string]bool{}
	for i, l := range lines {
		if m := unitHead.FindStringSubmatch(l); m != nil && i > 0 && strings.HasPrefix(lines[i-1], "=====") {
			bad[m[2]+m[3]] = true
			r.fail(unitFailure(m, lines[i+1:]))
		}
		if m := unitRan.FindStringSubmatch(l); m != nil {
			ran = number(m[1])
		}
		m := unitEnd.FindStringSubmatch(strings.TrimSpace(l))
		if m == nil || ran < 0 {
			continue
		}
		figures := map[string]int{}
		for _, f := range unitFigure.FindAllStringSubmatch(m[2], -1) {
			figures[f[1]] = number(f[2])
		}
		r.total(ran, min(len(bad), figures["failures"]+figures["errors"])+figures["unexpected successes"],
			figures["skipped"]+figures["expected failures"])
		ran, bad = -1, map[string]bool{}
	}
	return r.summed()
}

func unitFailure(head, below []string) Failure {
	f := Failure{Name: head[2] + head[4], Build: strings.Contains(head[3], "_FailedTest")}
	if f.Build {
		f.Name = head[2]
	} else if head[3] != "" {
		f.Name = head[3] + head[4]
		if !strings.HasSuffix(head[3], "."+head[2]) { // before Python 3.11 the name is not repeated
			f.Name = head[3] + "." + head[2] + head[4]
		}
	}
	if len(below) > 1 && !strings.HasPrefix(below[0], "-----") && strings.HasPrefix(below[1], "-----") {
		below = below[1:] // the first line of the test's own description
	}
	for i, l := range below[:min(len(below), 200)] {
		if strings.HasPrefix(l, "=====") || (i > 0 && strings.HasPrefix(l, "-----")) {
			break
		}
		if m := unitFrame.FindStringSubmatch(l); m != nil && !strings.Contains(m[1], "/unittest/") {
			f.Path, f.Line = m[1], number(m[2])
		}
		if l != "" && l[0] != ' ' && l[0] != '-' && !strings.HasPrefix(l, "Traceback") {
			f.Message = strings.TrimSpace(f.Message + "\n" + l)
		}
	}
	return f
}
