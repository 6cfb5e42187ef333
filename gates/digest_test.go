package gates

import (
	"fmt"
	"strings"
	"testing"
)

// The first errors and the totals at the end fit into the limit, however many errors there are.
func TestTellingStaysWithinLimit(t *testing.T) {
	var b strings.Builder
	for i := range 200 {
		fmt.Fprintf(&b, "step %d\n\nerror: case %d is wrong\n", i, i)
	}
	out := b.String() + "12 passed, 200 failed\n"
	for _, limit := range []int{200, 1000, 4000} {
		got := telling(out, limit)
		if len(got) > limit || len(got) < limit/2 || !strings.Contains(got, "case 0 is wrong") ||
			!strings.Contains(got, "12 passed, 200 failed") || strings.Contains(got, "case 150 ") {
			t.Errorf("limit %d: %d bytes\n%s", limit, len(got), got)
		}
	}
}

// A section shows a gate with all that explains its failure; findings come first, the worst of them before others.
func TestSectionOfDigest(t *testing.T) {
	exit := 2
	f := func(s Severity, path string, line int, msg string) Finding {
		return Finding{Rule: "r", Severity: s, Path: path, Line: line, Message: msg}
	}
	failed := Report{Gate: "g", Status: Fail, Command: "run it", Exit: &exit, Note: "a note", Tests: &TestCount{1, 2, 3},
		Proof: &Proof{Missing: []string{"TestA"}}, Output: strings.Repeat("error: output\n", 10),
		Findings: []Finding{f(Note, "a", 1, "small"), f(Error, "b", 0, "big\nsecond"), f(Warning, "", 0, "middle")}}
	want := "## g: FAILED\n$ run it  (exit 2)\ntests: 1 passed, 2 failed, 3 skipped\na note\nmissing: TestA\n" +
		"- b: big\n    second [r]\n- middle [r]\n- a:1: small [r]\noutput:\n" + strings.Repeat("error: output\n", 10)
	if got := section(failed, 2000); got != want {
		t.Errorf("%s", got)
	}
	warned := failed
	warned.Status, warned.Exit = Warn, nil
	if got := section(warned, 2000); !strings.HasPrefix(got, "## g: warning\n$ run it\n") || strings.Contains(got,
		"output") {
		t.Errorf("a warning shows no output: %s", got)
	}
	many := Report{Gate: "g", Status: Fail}
	for range 50 {
		many.Findings = append(many.Findings, f(Error, "file.go", 7, "too many of them"))
	}
	line := len("- file.go:7: too many of them [r]\n")
	if got := section(many, 1000); !strings.Contains(got, fmt.Sprintf("- … and %d more\n", 50-strings.Count(got,
		"file.go"))) ||
		len(got) > 1000 || len(got) < 1000-2*line {
		t.Errorf("%d bytes: %s", len(got), got)
	}
	many.Output = strings.Repeat("error: output\n", 100)
	got := section(many, 1000)
	findings, output, ok := strings.Cut(got, "output:\n")
	if !ok || len(findings) > 667+line || len(findings) < 667-2*line || len(output) < 200 {
		t.Errorf("findings leave a third of the room: %d and %d bytes", len(findings), len(output))
	}
	if got := section(Report{Gate: "g", Status: Fail, Output: "error: output"}, 100); strings.Contains(got, "output") {
		t.Errorf("output does not fit and must be missing: %s", got)
	}
	long := Finding{Rule: "r", Message: "m", Test: "TestA", Fix: "do it"}
	if got := findingLine(long); got != "- m (test TestA) [r]\n    fix: do it\n" {
		t.Error(got)
	}
	long.Message = "TestA is red"
	if got := findingLine(long); got != "- TestA is red [r]\n    fix: do it\n" {
		t.Error(got)
	}
}

// Gates share the room of a digest; what one leaves, the next gets.
func TestDigestSharesRoom(t *testing.T) {
	big := func(name string, s Status) Report {
		r := Report{Gate: name, Status: s}
		for range 100 {
			r.Findings = append(r.Findings, Finding{Rule: "r", Severity: Error, Message: "a finding of " + name})
		}
		return r
	}
	got := Digest(Verdict{Reports: []Report{{Gate: "ok", Status: Pass}, big("one", Fail), {Gate: "small",
		Status: Fail}, big("two", Warn)}}, 3000)
	one, two := strings.Count(got, "finding of one"), strings.Count(got, "finding of two")
	if len(got) > 3000 || len(got) < 2800 || two <= one || one < 20 || !strings.HasSuffix(got, "ok passed\n") ||
		strings.Index(got, "## small") < strings.Index(got, "## one") {
		t.Errorf("%d bytes, %d and %d findings", len(got), one, two)
	}
	if got := Digest(Verdict{Reports: []Report{big("one", Fail), big("two", Fail)}}, 0); len(got) > defaultDigest ||
		len(got) < defaultDigest-200 {
		t.Errorf("%d bytes", len(got))
	}
}

// Lines that explain a failure are shown with one line before and four after them; a gap is marked.
func TestTellingLines(t *testing.T) {
	noise := func(n int, name string) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, "%s %d\n", name, i)
		}
		return b.String()
	}
	got := telling(noise(100, "before")+"error: it broke\n"+noise(100, "after")+"0 errors\n"+noise(100, "end"), 400)
	want := "…\nbefore 99\nerror: it broke\nafter 0\nafter 1\nafter 2\nafter 3\n…\nend 97\nend 98\nend 99\n"
	if got != want {
		t.Errorf("%s", got)
	}
	if got, want := telling(noise(100, "x"), 60), "…\nx 95\nx 96\nx 97\nx 98\nx 99\n"; got != want {
		t.Errorf("without an error the end is shown: %s", got)
	}
	if got := telling("a \t\nb\n\n", 4); got != "a\nb" {
		t.Errorf("%q", got)
	}
	for text, want := range map[string]string{"a\nerror: b\nc\n": "error: b", "a\nc\n": "c", "": "",
		"unknown flag: --rm\nUsage: x\nmake: *** [Makefile:2: test] Error 125\n": "unknown flag: --rm",
		"make: *** [Makefile:2: test] Error 1\n": "make: *** [Makefile:2: " +
			"test] Error 1",
		"x: y failed\nmake[1]: *** [t] Error 1\n\u2009ELIFECYCLE\u2009 Test failed. See above\n":    "x: y failed",
		"Error: b failed\n    at checkExecSyncError (node:child_process:891:11)\n    at c.js:5:3\n": "Error: b failed",
		"a.js\n  1:1  error  b  c\n\n✖ 2 problems (2 errors, 0 warnings)\n":                         "1:1  error  b  c",
		"error: b\nAs a reminder, you're using offline mode, which can cause failures\n":            "error: b",
		"ESLint couldn't find b.\n\nIf you need help, please stop by\nhttps://example.org/help\n":   "ESLint couldn't find b.",
		"error: b\n0 errors\n": "error: b", "error: b\nassert c\nassert d\n": "assert d",
		" ERROR  Refusing to run b\nSet it if this is unexpected.\n": "ERROR  Refusing to run b"} {
		if got := lastTelling(text); got != want {
			t.Errorf("%q: %q", text, got)
		}
	}
	for text, want := range map[string]string{"short": "short", "a long line\nnext line": "a long line\n",
		"one very long line!": "one very long l…"} {
		if got := cutLines(text, 18); got != want {
			t.Errorf("%q", got)
		}
	}
}
