package testcode

import (
	"strings"

	"github.com/runplan/runplan/internal/language"
	"github.com/runplan/runplan/internal/lazyre"
	"github.com/runplan/runplan/internal/lists"
	"github.com/runplan/runplan/internal/phrase"
)

var (
	pyDef       = lazyre.New(`^(\s*)(?:async\s+)?def\s+(\w+)\s*\(`)
	pyClass     = lazyre.New(`^(\s*)class\s+(\w+)`)
	pyAssert    = lazyre.New(`(?:^|[\s;:])assert\b|\.assert\w*\(|\bself\.fail\(|\bpytest\.(?:fail|approx)\b|\b(?:raises|warns|deprecated_call)\(|\b(?:assert|check|verify|expect|ensure)\w*\(`)
	pyTrivial   = lazyre.New(`(?:^|[\s;:])assert\s*\(?\s*(?:True|1|not\s+False|1\s*==\s*1|True\s+is\s+True|.*\bor\s+True)\s*\)?\s*(?:,.*)?$|\.assertTrue\(\s*True\b|\.assertFalse\(\s*False\b|\.assertEqual\(\s*(\d+)\s*,\s*(\d+)\s*\)`)
	pySkipMark  = lazyre.New(`@\s*(?:pytest\.mark\.|mark\.|unittest\.)?(?:skip\w*|xfail|expectedFailure)\b`)
	pySkipCall  = lazyre.New(`\bpytest\.(?:skip|xfail)\(|\bself\.skipTest\(|\braise\s+(?:unittest\.)?SkipTest\b`)
	pyLoop      = lazyre.New(`^\s*(?:async\s+)?for\s|\bsubTest\(|parametrize`)
	pyNothing   = lazyre.New(`^\s*(?:pass|\.\.\.|return(?:\s+(?:None|True))?|[rRbBuU]?["'][\s"']*)\s*;?\s*$`)
	pyModule    = lazyre.New(`^pytestmark\s*=.*(?:skip|xfail)|^pytest\.skip\(|^__test__\s*=\s*False|^\s+__test__\s*=\s*False|^collect_ignore(?:_glob)?\b|^raise\s+(?:unittest\.)?SkipTest`)
	pyForgives  = lazyre.New(`(?m)\b(?:rep|report|result|res|outcome)\.(?:outcome|longrepr|wasxfail)\s*=[^=]|\.force_result\(|\.excinfo\s*=\s*None\b`)
	pyHook      = lazyre.New(`^\s*def\s+(pytest_(?:collection_modifyitems|ignore_collect|runtest_\w+|pyfunc_call|report_(?:teststatus|collectionfinish)|sessionfinish|collection_finish|exception_interact|cmdline_main|unconfigure|collect_file|pycollect_\w+|terminal_summary|make_collect_report|assertrepr_compare))\b`)
	pyExit      = lazyre.New(`\bos\._exit\(|\batexit\.register\(|\bsys\.exit\(\s*0?\s*\)`)
	pyDeadBlock = lazyre.New(`^(\s*)(?:if\s+(?:False|0|not\s+True)\s*:|while\s+False\s*:)`)
)

// readPython reads pytest functions and unittest classes by their indentation.
func readPython(text string) Sheet {
	var s Sheet
	code := Mask(text, language.Python)
	lines, source := strings.Split(code, "\n"), strings.Split(text, "\n")
	type group struct {
		indent int
		name   string
		skips  int
	}
	var groups []group
	var marks []string // decorators of the next declaration
	marked := 0        // line of the first one
	for i := 0; i < len(lines) && len(s.Units) < maxUnits; i++ {
		l := lines[i]
		if strings.TrimSpace(l) == "" {
			continue
		}
		for len(groups) > 0 && indentOf(l) <= groups[len(groups)-1].indent {
			groups = groups[:len(groups)-1]
		}
		if strings.HasPrefix(strings.TrimSpace(l), "@") {
			if len(marks) == 0 {
				marked = i
			}
			marks = append(marks, l)
			i = closingLine(lines, i)
			continue
		}
		skips := lists.Count(marks, pySkipMark.MatchString)
		if m := pyClass.FindStringSubmatch(l); m != nil {
			groups = append(groups, group{indentOf(l), m[2], skips})
			marks = nil
			continue
		}
		if m := pyHook.FindStringSubmatch(l); m != nil {
			s.disable(i+1, m[1]+" changes the runner: it may hide failures")
			if pyForgives.MatchString(strings.Join(lines[i:], "\n")) {
				s.disable(i+1, m[1]+Forgives)
			}
		}
		if pyModule.MatchString(l) {
			s.disable(i+1, strings.TrimSpace(l)+" turns tests off")
		}
		if pyExit.MatchString(l) {
			s.disable(i+1, strings.TrimSpace(l)+" ends the runner, or changes how it ends")
		}
		m := pyDef.FindStringSubmatch(l)
		if m == nil {
			marks = nil
			continue
		}
		if !strings.HasPrefix(m[2], "test") {
			marks = nil
			continue
		}
		body, end := pyBody(lines, i)
		u := pyUnit(body)
		u.Name, u.Line, u.Skips = m[2], i+1, u.Skips+skips
		if len(marks) == 0 {
			marked = i
		}
		u.Text = strings.Join(source[marked:min(end, len(source))], "\n")
		for _, mark := range marks {
			if pyLoop.MatchString(mark) {
				u.Loops++
			}
			if strings.Contains(mark, "fixture") { // it is named test_client but is not a test
				u.Hollow, u.Mute = false, false
			}
		}
		for k := len(groups) - 1; k >= 0; k-- {
			u.Name = groups[k].name + GroupMark + u.Name
			u.Skips += groups[k].skips
		}
		s.add(u)
		marks = nil
		i = end - 1
	}
	return s
}

func indentOf(l string) int {
	n := 0
	for _, r := range l {
		switch r {
		case ' ':
			n++
		case '\t':
			n += 8
		default:
			return n
		}
	}
	return n
}

// opened counts the brackets that a line opens and does not close.
func opened(line string) (n int) {
	for _, r := range line {
		switch r {
		case '(', '[', '{':
			n++
		case ')', ']', '}':
			n--
		}
	}
	return n
}

// closingLine returns the line on which the brackets opened at at are closed; at itself if there are none.
func closingLine(lines []string, at int) int {
	depth := 0
	for i := at; i < len(lines); i++ {
		if depth += opened(lines[i]); depth <= 0 {
			return i
		}
	}
	return at
}

// pyBody returns the lines of the function that begins at line at, and the line after it.
func pyBody(lines []string, at int) (body []string, end int) {
	indent := indentOf(lines[at])
	// The signature ends at a colon outside of its brackets.
	depth, i := 0, at
	for ; i < len(lines); i++ {
		if depth += opened(lines[i]); depth <= 0 {
			break
		}
	}
	if i >= len(lines) {
		return nil, len(lines)
	}
	if _, rest, ok := strings.Cut(lines[i][strings.LastIndexByte(lines[i], ')')+1:], ":"); ok &&
		strings.TrimSpace(rest) != "" {
		body = append(body, rest) // def test_x(): pass
	}
	depth = 0
	for i++; i < len(lines); i++ {
		l := lines[i]
		if strings.TrimSpace(l) == "" {
			continue
		}
		if text := strings.TrimSpace(l); depth <= 0 && indentOf(l) <= indent && !strings.HasPrefix(text, `"""`) &&
			!strings.HasPrefix(text, "'''") {
			break // and not the end of a multi-line string
		}
		depth += opened(l)
		body = append(body, l)
	}
	return body, i
}

func pyUnit(body []string) Unit {
	u := Unit{Empty: true, Hollow: pyHollow(body), Mute: true}
	first, dead := -1, -1
	for _, l := range body {
		in := indentOf(l)
		if first < 0 {
			first = in
		}
		if dead >= 0 {
			if in > dead {
				continue
			}
			dead = -1
		}
		if m := pyDeadBlock.FindStringSubmatch(l); m != nil {
			dead = in
			continue
		}
		if pySkipCall.MatchString(l) {
			u.Skips++
		}
		if pyLoop.MatchString(l) {
			u.Loops++
		}
		if !pyNothing.MatchString(l) {
			u.Empty = false
			u.Lines = append(u.Lines, phrase.Line(l))
		}
		switch {
		case trivialPython(l):
			u.Trivial++
		case pyAssert.MatchString(l):
			u.Asserts += max(1, strings.Count(l, ";assert")+len(pyAssert.FindAllString(l, -1)))
		}
		if in == first && strings.HasPrefix(strings.TrimSpace(l), "return") {
			break // the following lines are never reached
		}
	}
	return u
}

func trivialPython(l string) bool {
	m := pyTrivial.FindStringSubmatch(l)
	if m == nil {
		left, right, ok := strings.Cut(strings.TrimSpace(l), "==")
		a, is := strings.CutPrefix(left, "assert ")
		return is && ok && strings.TrimSpace(a) == strings.TrimSpace(right) && !strings.Contains(a, `"`) &&
			!strings.Contains(a, "'") && !strings.Contains(a, "(")
	}
	return m[1] == m[2]
}
