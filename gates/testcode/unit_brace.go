package testcode

import (
	"strings"

	"github.com/runplan/runplan/internal/language"
	"github.com/runplan/runplan/internal/lazyre"
)

var (
	rustTest   = lazyre.New(`#\[(?:\w+::)?test\b[^\]]*\]((?:\s*#\[[^\]]*\])*)\s*(?:pub\s+)?(?:async\s+)?fn\s+(\w+)[^{;]*\{`)
	rustAssert = lazyre.New(`\b(?:assert\w*|panic|unreachable|prop_assert\w*)!\s*\(|\.(?:unwrap|expect|unwrap_err)\(|\?;|\b(?:assert|check|verify|expect|ensure)_\w+\(`)
	rustTrue   = lazyre.New(`\bassert!\s*\(\s*true\s*[,)]|\bassert_eq!\s*\(\s*(?:1\s*,\s*1|true\s*,\s*true)\s*[,)]`)
	javaTest   = lazyre.New(`((?:@\w+(?:\([^)]*\))?\s+)*)@(?:Test|ParameterizedTest|RepeatedTest)\b(?:\([^)]*\))?\s*((?:@\w+(?:\([^)]*\))?\s+)*)(?:(?:public|private|protected|static|final|suspend)\s+)*(?:fun|[\w<>\[\]]+)\s+([\w\x60 ]+?)\s*\([^)]*\)[^{;]*\{`)
	javaAssert = lazyre.New(`\b(?:assert|verify|expect|fail|check)\w*\s*\(|\.should\w*\b`)
	javaTrue   = lazyre.New(`\bassertTrue\s*\(\s*true\s*[,)]|\bassertFalse\s*\(\s*false\s*[,)]|\bassertEquals\s*\(\s*1\s*,\s*1\s*\)|\bassertThat\s*\(\s*true\s*\)`)
	braceLoop  = lazyre.New(`\bfor\b|\.forEach\b`)
)

func readRust(text string) Sheet {
	var s Sheet
	code := Mask(text, language.Rust)
	for _, m := range rustTest.FindAllStringSubmatchIndex(code, maxUnits) {
		u := braceUnit(code[m[1]:Matching(code, m[1]-1)], rustAssert, rustTrue)
		u.Name, u.Line = code[m[4]:m[5]], LineAt(code, m[0])
		u.Text = text[m[1]:Matching(code, m[1]-1)]
		if strings.Contains(code[m[2]:m[3]], "ignore") {
			u.Skips++
		}
		s.add(u)
	}
	return s
}

func readJava(text string) Sheet {
	var s Sheet
	code := Mask(text, language.Java)
	for _, m := range javaTest.FindAllStringSubmatchIndex(code, maxUnits) {
		u := braceUnit(code[m[1]:Matching(code, m[1]-1)], javaAssert, javaTrue)
		u.Name, u.Line = strings.Trim(code[m[6]:m[7]], "` "), LineAt(code, m[0])
		u.Text = text[m[0]:Matching(code, m[1]-1)]
		u.Hollow = u.Hollow && u.Name != "contextLoads" // Spring: it checks that the container starts
		marks := code[m[2]:m[3]] + code[m[4]:m[5]]
		if strings.Contains(marks, "@Disabled") || strings.Contains(marks, "@Ignore") {
			u.Skips++
			u.Hollow = false // the annotation marks it as not run
		}
		s.add(u)
	}
	return s
}

func braceUnit(body string, assert, trivial *lazyre.Regexp) Unit {
	u := Unit{Lines: squeeze(body), Loops: len(braceLoop.FindAllString(body, -1))}
	u.Empty = len(u.Lines) == 0
	u.Hollow = u.Empty
	u.Trivial = len(trivial.FindAllString(body, -1))
	u.Asserts = max(0, len(assert.FindAllString(body, -1))-u.Trivial)
	return u
}
