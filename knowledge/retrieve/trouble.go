package retrieve

import (
	"slices"
	"strings"

	"github.com/runplan/runplan/internal/lazyre"
)

// Trouble is an error in the text of a task: a message, or a frame of a stack trace.
type Trouble struct {
	Kind    string `json:"kind"` // python, go, javascript, pytest or compiler
	Message string `json:"message,omitempty"`
	File    string `json:"file,omitempty"` // as written
	Line    int    `json:"line,omitempty"`
	Symbol  string `json:"symbol,omitempty"`
}

var (
	pyFrameRE  = lazyre.New(`^\s*File "([^"]+)", line (\d{1,7})(?:, in (\S+))?`)
	messageRE  = lazyre.New(`^\s*(?:E\s+)?(?:Uncaught )?([A-Za-z_][\w.]*(?:Error|Exception|Warning|Interrupt))(?:: (.*))?$`)
	goPanicRE  = lazyre.New(`^(?:panic|fatal error): (.+)$`)
	goFrameRE  = lazyre.New(`^\s+(\S+\.go):(\d{1,7})(?: \+0x[0-9a-f]+)?\s*$`)
	goFuncRE   = lazyre.New(`^(?:[\w./\-]+/)?[\w\-]+\.(?:\(\*?(\w+)\)\.)?(\w+)\(.*\)\s*$`)
	jsFrameRE  = lazyre.New(`^\s*at (?:(?:async )?(?:new )?([\w$.<>]+)[^(]*\()?(?:file://)?([^\s():]+(?::[\\/][^\s():]+)?):(\d{1,7}):\d{1,7}\)?\s*$`)
	compilerRE = lazyre.New(`^\s*([\w./\\@\-]+\.\w{1,5}):(\d{1,7})(?::\d{1,7})?:\s+(\S.*)$`)
	tsErrorRE  = lazyre.New(`^\s*([\w./\\@\-]+\.[cm]?[jt]sx?)\((\d{1,7}),\d{1,7}\): (error .*)$`)
	pytestRE   = lazyre.New(`^(?:FAILED|ERROR) (\S+?\.py)(?:::(\S+))?(?: - (.*))?`)
	goTestRE   = lazyre.New(`^\s*--- FAIL: (\w+)`)
)

// takeErrors extracts stack traces and messages with their files and names. It returns the other lines: code that a
// trace quotes, and prose.
func (c *clues) takeErrors(text string) (prose, code string) {
	var b, quoted strings.Builder
	caller, held := "", "" // function of the next frame: Go prints it before the file
	frame := false
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\r\n")
		t, ok := readTrouble(line, caller)
		if held != "" && !(ok && t.Kind == "go") {
			b.WriteString(held + "\n") // not a frame
		}
		caller, held = "", ""
		if !ok && (frame && strings.HasPrefix(line, " ") || strings.HasPrefix(line, "Traceback (most recent call last)")) {
			quoted.WriteString(line + "\n")
			continue
		}
		frame = ok && t.Kind == "python" && t.File != ""
		if m := goFuncRE.FindStringSubmatch(line); !ok && m != nil {
			caller, held = strings.TrimPrefix(m[1]+"."+m[2], "."), line
			continue
		}
		if !ok {
			b.WriteString(line + "\n")
			continue
		}
		if len(c.Errors) < maxClues && !slices.Contains(c.Errors, t) {
			c.Errors = append(c.Errors, t)
		}
		if t.File != "" {
			c.addPlace(place{strings.ReplaceAll(t.File, `\`, "/"), t.Line})
		}
		if t.Symbol != "" && t.Symbol != "<module>" && nameRE.MatchString(t.Symbol) {
			c.addName(spoken{t.Symbol, true})
		}
	}
	return b.String() + held, quoted.String()
}

func readTrouble(line, caller string) (t Trouble, ok bool) {
	// Most lines are prose, so test for typical characters before running the expressions.
	if !strings.ContainsAny(line, `:("`) && !strings.HasPrefix(line, "FAILED") && !strings.HasPrefix(line, "ERROR") &&
		!messageRE.MatchString(line) {
		return t, false
	}
	if m := pyFrameRE.FindStringSubmatch(line); m != nil {
		return Trouble{Kind: "python", File: m[1], Line: atoi(m[2]), Symbol: m[3]}, true
	}
	if m := pytestRE.FindStringSubmatch(line); m != nil {
		return Trouble{Kind: "pytest", File: m[1], Symbol: plainTest(m[2]), Message: m[3]}, true
	}
	if m := jsFrameRE.FindStringSubmatch(line); m != nil {
		return Trouble{Kind: "javascript", File: m[2], Line: atoi(m[3]), Symbol: m[1]}, true
	}
	if m := tsErrorRE.FindStringSubmatch(line); m != nil {
		return Trouble{Kind: "compiler", File: m[1], Line: atoi(m[2]), Message: m[3]}, true
	}
	if m := goFrameRE.FindStringSubmatch(line); m != nil {
		return Trouble{Kind: "go", File: m[1], Line: atoi(m[2]), Symbol: caller}, true
	}
	if m := goPanicRE.FindStringSubmatch(line); m != nil {
		return Trouble{Kind: "go", Message: strings.TrimSpace(m[1])}, true
	}
	if m := goTestRE.FindStringSubmatch(line); m != nil {
		return Trouble{Kind: "go", Symbol: m[1], Message: strings.TrimSpace(line)}, true
	}
	if m := compilerRE.FindStringSubmatch(line); m != nil {
		return Trouble{Kind: "compiler", File: m[1], Line: atoi(m[2]), Message: m[3]}, true
	}
	if m := messageRE.FindStringSubmatch(line); m != nil {
		kind := "python"
		if strings.Contains(line, "Uncaught") || m[1] == "TypeError" && strings.Contains(m[2], "undefined") {
			kind = "javascript"
		}
		return Trouble{Kind: kind, Message: strings.TrimSuffix(m[1]+": "+m[2], ": ")}, true
	}
	return t, false
}

// plainTest returns the name of a test without parameters: TestA::test_b[1-2] gives TestA.test_b.
func plainTest(id string) string {
	id, _, _ = strings.Cut(id, "[")
	return strings.ReplaceAll(id, "::", ".")
}
