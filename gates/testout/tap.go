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
	tapSub  = lazyre.New(`^\s*# Subtest: (.+)$`)
	tapTime = lazyre.New(`\s+# time=[\d.]+m?s$`) // of tap, and another one in each run
	tapPlan = lazyre.New(`^1\.\.(\d+)(?:\s*#.*)?$`)
	tapBail = lazyre.New(`^Bail out!\s*(.*)$`)
	batsAt  = lazyre.New(`[( ]in test file (.+), line (\d+)\)|\(from function .* in (?:test )?file (.+), line (\d+)`)
	batsEnd = lazyre.New(`^(\d+) tests?, (\d+) failures?(?:, (\d+) skipped)?`)
	batsBad = lazyre.New(`^ ✗ (.+)$`)
)

// TAP reads the Test Anything Protocol: bats, prove, tape, tap, node --test and many shell suites. A skipped test and a
// failing TODO are neither passed nor failed; a planned test without a result has failed. Of subtests, the innermost
// count, and not the file or the group that contains them; lines below a test that no "# Subtest" announces are its
// assertions.
func TAP(lines []string) Result {
	var r Result
	plans, planned, seen := 0, 0, 0
	versioned, cases := false, newCases()
	for _, l := range lines {
		if tapPlan.MatchString(l) {
			plans++
			planned += number(tapPlan.FindStringSubmatch(l)[1])
		}
		versioned = versioned || strings.HasPrefix(l, "TAP version")
	}
	open := tapTests{{}}
	for i, l := range lines {
		if m := tapBail.FindStringSubmatch(l); m != nil && (plans > 0 || versioned || seen > 0) {
			r.Failed++
			r.fail(Failure{Name: "Bail out!", Message: "the suite bailed out: " + m[1]})
			continue
		}
		if m := tapSub.FindStringSubmatch(l); m != nil {
			open = append(open, tapTest{name: m[1]})
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
		name = tapTime.ReplaceAllString(name, "")
		named := name != ""
		name = cmp.Or(name, "test "+m[3])
		status := Passed
		switch {
		case mark == "skip", mark == "todo" && m[2] == "not ok":
			status = Skipped
		case m[2] == "not ok":
			status = Failed
		}
		top := m[1] == ""
		if top {
			seen++
		}
		test, announced := open.end(name, top)
		in := &open[len(open)-1]
		fails := test.fails
		if test.tests == 0 || status == Failed && !fails { // it contains none, or failed by itself
			fails = status == Failed
			f := tapFailure(name, lines[i+1:])
			if !top && !announced && (status != Skipped || !named || len(open) == 1) {
				if fails && in.assertion == nil {
					in.assertion = &f
				}
				continue
			}
			if a := test.assertion; a != nil {
				f.Path, f.Line, f.Col, f.Message = a.Path, a.Line, a.Col, a.Name+": "+a.Message
			}
			if fails {
				r.fail(f)
			}
			r.add(status, 1)
			cases.add(Case{Name: name, Group: open.group(), Status: status})
		}
		in.tests++
		in.fails = in.fails || fails
	}
	r.Known, r.Cases = seen > 0 || plans > 0, cases.list
	if missing := planned - seen; plans > 0 && missing > 0 {
		r.Failed += missing
		r.fail(Failure{Name: "plan",
			Message: fmt.Sprintf("%s planned, but %d ran", phrase.Count(planned, "test was", "tests were"), seen)})
	}
	return r
}

// tapTest is a test whose subtests or assertions are being read.
type tapTest struct {
	name      string
	tests     int  // that it contains
	fails     bool // one of those
	assertion *Failure
}

// tapTests are the open tests, each in the one before; the first is the suite.
type tapTests []tapTest

// end removes and returns the test of a line with a result, and reports whether a "# Subtest" announced it. A line at
// the top ends all.
func (t *tapTests) end(name string, top bool) (tapTest, bool) {
	at := len(*t) - 1
	if top {
		at = min(at, 1)
	}
	if at == 0 || !top && (*t)[at].name != name {
		return tapTest{}, false
	}
	test := (*t)[at]
	for _, inner := range (*t)[at+1:] {
		test.tests += inner.tests
		test.fails = test.fails || inner.fails
		test.assertion = cmp.Or(test.assertion, inner.assertion)
	}
	*t = (*t)[:at]
	return test, true
}

// group joins the names of the open tests.
func (t tapTests) group() string {
	var names []string
	for _, test := range t[1:] {
		names = append(names, test.name)
	}
	return strings.Join(names, " > ")
}

// tapFailure reads the lines below a "not ok": a YAML block, or the comments that bats writes.
func tapFailure(name string, below []string) Failure {
	f := Failure{Name: name}
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
		}
	}
	f.Message = cmp.Or(f.Message, firstText(notes, 4), "not ok")
	return f
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
