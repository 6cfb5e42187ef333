package testcode

import (
	"path"
	"strings"

	"github.com/runplan/runplan/internal/lazyre"
	"github.com/runplan/runplan/internal/phrase"
)

var (
	batsTest  = lazyre.New(`^\s*@test\s+(.+?)\s*\{\s*(.*)$`)
	shTest    = lazyre.New(`^(?:function\s+)?(test_?\w*)\s*\(\)\s*\{?`)
	shAssert  = lazyre.New(`\b(?:assert|refute|expect|check|verify)\w*\b|\bfail(?:ed|ure)?\b|\bdie\b|(?:^|[\s;!(])\[\[?\s|(?:^|[\s;!(])test\s|\b(?:diff|cmp|grep)\b|\b(?:exit|return)\s+(?:[1-9]|"?\$)`)
	shTrivial = lazyre.New(`\|\|\s*(?:true|:)\s*(?:$|[;#)])|^\s*(?:true|:|\[\[?\s+(?:1|true)\s+\]\]?|\[\s+1\s+(?:=|-eq)\s+1\s+\])\s*$|\bassert_?\w*\s+true\s*$|\bset\s+\+e\b`)
	shSkip    = lazyre.New(`^\s*(?:skip|startSkipping)\b|;\s*skip\b|&&\s*skip\b`)
	shOver    = lazyre.New(`^(?:exit|return)(?:\s+0)?\s*(?:#.*)?$`)
	shLoop    = lazyre.New(`^\s*(?:for|while)\s`)
	shNothing = lazyre.New(`^\s*(?:#.*|:|true|return(?:\s+0)?|\}|\{|echo\b[^|&;>]*)?\s*$`)
	txCheck   = lazyre.New(`^(?:\[[^\]]*\]\s*)*!?\s*(?:stdout|stderr|cmp\w*|grep|exists|exits|unchanged|notrace|noprocs|clean|jsonlines|waitfor|issorted|golden)\b|^(?:\[[^\]]*\]\s*)*!\s`)
	txSkip    = lazyre.New(`^(?:\[[^\]]*\]\s*)*(?:skip|stop)\b`)
	txFile    = lazyre.New(`^-- .+ --$`)
)

func readBats(text string) Sheet {
	var s Sheet
	lines := strings.Split(text, "\n")
	for i := 0; i < len(lines) && len(s.Units) < maxUnits; i++ {
		m := batsTest.FindStringSubmatch(lines[i])
		if m == nil {
			continue
		}
		var body []string
		at := i
		if rest := strings.TrimSuffix(strings.TrimSpace(m[2]), "}"); rest != "" {
			body = append(body, rest)
		}
		if !strings.HasSuffix(strings.TrimSpace(lines[i]), "}") {
			for i++; i < len(lines) && !strings.HasPrefix(lines[i], "}") && batsTest.FindString(lines[i]) == ""; i++ {
				body = append(body, lines[i])
			}
		}
		u := shellUnit(body, true)
		u.Name, u.Line = strings.Trim(m[1], `"'`), at+1
		s.add(u)
	}
	return s
}

// readShell reads a script as one test, and its test_… functions as separate tests.
func readShell(file, text string) Sheet {
	var s Sheet
	lines := strings.Split(text, "\n")
	for i, l := range lines {
		if m := shTest.FindStringSubmatch(l); m != nil && len(s.Units) < maxUnits {
			var body []string
			for _, b := range lines[i+1:] {
				if strings.HasPrefix(b, "}") {
					break
				}
				body = append(body, b)
			}
			u := shellUnit(body, false)
			u.Name, u.Line = m[1], i+1
			s.add(u)
		}
	}
	u := shellUnit(lines, false)
	u.Name, u.Line = path.Base(file), 1
	s.add(u)
	return s
}

// shellUnit reads lines of shell. In a bats test, each command is an assertion.
func shellUnit(lines []string, strict bool) Unit {
	u := Unit{Empty: true, Text: strings.Join(lines, "\n")}
	for _, l := range lines {
		if shOver.MatchString(l) {
			break // the following lines are never reached
		}
		if strings.HasPrefix(strings.TrimSpace(l), "#") || strings.TrimSpace(l) == "" {
			continue
		}
		u.Lines = append(u.Lines, phrase.Line(l))
		if !shNothing.MatchString(l) {
			u.Empty = false
		}
		if shSkip.MatchString(l) {
			u.Skips++
		}
		if shLoop.MatchString(l) {
			u.Loops++
		}
		switch {
		case shTrivial.MatchString(l):
			u.Trivial++
		case shAssert.MatchString(l):
			u.Asserts++
		case strict && !shNothing.MatchString(l) && strings.HasPrefix(strings.TrimSpace(l), "run "):
			u.Asserts++
		}
	}
	return u
}

// readScript reads a testscript as one test.
func readScript(file, text string) Sheet {
	u := Unit{Name: path.Base(file), Line: 1, Empty: true}
	for l := range strings.Lines(text) {
		l = strings.TrimRight(l, "\n")
		if txFile.MatchString(l) {
			break
		}
		if strings.TrimSpace(l) == "" || strings.HasPrefix(l, "#") {
			continue
		}
		u.Empty = false
		u.Lines = append(u.Lines, phrase.Line(l))
		switch {
		case txSkip.MatchString(l):
			u.Skips++
		case txCheck.MatchString(l):
			u.Asserts++
		}
	}
	u.Text = strings.Join(u.Lines, "\n")
	var s Sheet
	s.add(u)
	return s
}
