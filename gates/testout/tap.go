package testout

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/runplan/runplan/internal/lazyre"
	"github.com/runplan/runplan/internal/phrase"
)

var (
	tapLine = lazyre.New(`^(\s*)(not ok|ok)\b(?:\s+(\d+))?(\s+-)?[ \t:]*(.*)$`)
	tapHash = lazyre.New(`(?i)(?:^|\s)#\s*(skip|todo)\S*(?:\s+(.*))?$`)
	tapTime = lazyre.New(`\s+# time=[\d.]+m?s$`) // of tap, and another one in each run
	tapPlan = lazyre.New(`^1\.\.(\d+)(?:\s*#.*)?$`)
	tapBail = lazyre.New(`^Bail out!\s*(.*)$`)
	batsAt  = lazyre.New(`[( ]in test file (.+), line (\d+)\)|\(from function .* in (?:test )?file (.+), line (\d+)`)
	batsEnd = lazyre.New(`^(\d+) tests?, (\d+) failures?(?:, (\d+) skipped)?`)
	batsBad = lazyre.New(`^ ✗ (.+)$`)
)

// TAP reads the Test Anything Protocol: bats, prove, tape, node --test and many shell suites. A skipped test and a
// failing TODO are neither passed nor failed; a planned test without a result has failed.
func TAP(lines []string) Result {
	var r Result
	plans, planned, seen := 0, 0, 0
	versioned, named := false, newCases()
	for _, l := range lines {
		if tapPlan.MatchString(l) {
			plans++
			planned += number(tapPlan.FindStringSubmatch(l)[1])
		}
		versioned = versioned || strings.HasPrefix(l, "TAP version")
	}
	for i, l := range lines {
		if m := tapBail.FindStringSubmatch(l); m != nil && (plans > 0 || versioned || seen > 0) {
			r.Failed++
			r.fail(Failure{Name: "Bail out!", Message: "the suite bailed out: " + m[1]})
			continue
		}
		m := tapLine.FindStringSubmatch(l)
		// "ok" alone is a common word: without a plan a number or a dash must follow.
		if m == nil || (plans == 0 && !versioned && m[3] == "" && m[4] == "") {
			continue
		}
		name, mark := m[5], ""
		if h := tapHash.FindStringSubmatchIndex(name); h != nil {
			mark = strings.ToLower(name[h[2]:h[3]])
			name = strings.TrimSpace(name[:h[0]])
		}
		name = cmp.Or(tapTime.ReplaceAllString(name, ""), "test "+m[3])
		status := Passed
		switch {
		case mark == "skip", mark == "todo" && m[2] == "not ok":
			status = Skipped
		case m[2] == "not ok":
			status = Failed
			if f, container := tapFailure(name, lines[i+1:]); !container {
				r.fail(f)
			}
		}
		if m[1] == "" {
			seen++
			r.add(status, 1)
			named.add(Case{Name: name, Status: status})
		}
	}
	r.Known, r.Cases = seen > 0 || plans > 0, named.list
	if missing := planned - seen; plans > 0 && missing > 0 {
		r.Failed += missing
		r.fail(Failure{Name: "plan",
			Message: fmt.Sprintf("%s planned, but %d ran", phrase.Count(planned, "test was", "tests were"), seen)})
	}
	return r
}

// tapFailure reads the lines below a "not ok": a YAML block, or the comments that bats writes. It also reports whether
// the test is only the container of tests that failed.
func tapFailure(name string, below []string) (f Failure, container bool) {
	f = Failure{Name: name}
	var notes []string
	for i, l := range below[:min(len(below), 60)] {
		t := strings.TrimSpace(l)
		if tapLine.MatchString(l) || tapPlan.MatchString(t) || t == "..." {
			break
		}
		if c, ok := strings.CutPrefix(l, "#"); ok {
			if strings.HasPrefix(c, " Subtest:") {
				break
			}
			switch m := batsAt.FindStringSubmatch(c); {
			case m == nil:
				notes = append(notes, c)
			case f.Path == "": // the first is the innermost
				f.Path, f.Line = m[1]+m[3], number(m[2]+m[4])
			}
			continue
		}
		key, val, ok := strings.Cut(t, ": ")
		if !ok {
			continue
		}
		if strings.HasPrefix(val, "|") || strings.HasPrefix(val, ">") {
			val = firstText(below[i+1:min(i+4, len(below))], 2)
		}
		val = strings.Trim(val, `'"`)
		switch key {
		case "location", "at":
			if f.Path == "" {
				f.Path, f.Line, f.Col = place(val)
			}
		case "file":
			f.Path = val
		case "line":
			f.Line = number(val)
		case "error", "message":
			f.Message = cmp.Or(f.Message, val)
		case "failureType":
			container = val == "subtestsFailed"
		}
	}
	f.Message = cmp.Or(f.Message, firstText(notes, 4), "not ok")
	return f, container
}

var placeEnd = lazyre.New(`^(?:file://)?(.+?):(\d+)(?::(\d+))?$`)

// place splits "path:line:col".
func place(s string) (file string, line, col int) {
	m := placeEnd.FindStringSubmatch(s)
	if m == nil {
		return "", 0, 0
	}
	return m[1], number(m[2]), number(m[3])
}

// BatsPretty reads the terminal output of bats.
func BatsPretty(lines []string) Result {
	var r Result
	for i, l := range lines {
		if m := batsBad.FindStringSubmatch(l); m != nil {
			f := Failure{Name: m[1], Message: "failed"}
			below := lines[i+1 : min(i+4, len(lines))]
			for j, n := range below {
				if at := batsAt.FindStringSubmatch(n); at != nil {
					f.Path, f.Line = at[1]+at[3], number(at[2]+at[4])
					f.Message = firstText(below[j+1:], 1)
				}
			}
			r.fail(f)
		}
		if m := batsEnd.FindStringSubmatch(l); m != nil {
			r.total(number(m[1]), number(m[2]), number(m[3]))
		}
	}
	return r
}
