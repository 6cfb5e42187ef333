package report

import (
	"bytes"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/joshdk/go-junit"

	"github.com/runplan/runplan/gates"
	"github.com/runplan/runplan/internal/schema"
)

func sample() Run {
	return Run{Version: "1.2.3", Base: "abc", Verdict: gates.Verdict{Status: gates.Errored, Reports: []gates.Report{
		{Gate: "lint:go", Status: gates.Warn, Duration: 1200 * time.Millisecond, Findings: []gates.Finding{
			{Rule: "vet", Path: "a b/ü.go", Line: 3, Col: 4, Severity: gates.Warning, Message: "unreachable <code> & more",
				Fix: "remove it"},
			{Rule: "gofmt", Path: "a:b.go", Severity: gates.Note, Message: "not formatted"},
		}},
		{Gate: "tests:go", Status: gates.Fail, Tests: &gates.TestCount{Passed: 2, Failed: 1}, Findings: []gates.Finding{
			{Rule: "test", Path: "x_test.go", Line: 7, Severity: gates.Error, Test: "x.TestSum",
				Message: "TestSum: got 1%,\nwant 2\x01::error::not a command"},
			{Rule: "test", Path: "x_test.go", Line: 9, Severity: gates.Warning, Test: "x.TestOld", Known: true,
				Message: "TestOld: red | `before` @all"},
			{Rule: "exit", Severity: gates.Error, Message: "exit 1\xff"},
		}},
		{Gate: "types", Status: gates.Skipped, Note: "mypy is not installed"},
		{Gate: "custom", Status: gates.Errored, Note: "could not run: exit 127"},
		{Gate: "secrets", Status: gates.Pass},
	}}}
}

func written(t *testing.T, write func(w *bytes.Buffer) error) string {
	t.Helper()
	var b bytes.Buffer
	if err := write(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// SARIF reports are valid by the schema of SARIF 2.1.0. testdata has the schema as published by OASIS.
func TestSARIFIsValid(t *testing.T) {
	text, err := os.ReadFile("testdata/sarif-schema-2.1.0.json")
	if err != nil {
		t.Fatal(err)
	}
	sarif, err := schema.Compile(text)
	if err != nil {
		t.Fatal(err)
	}
	for name, run := range map[string]Run{"all there is": sample(), "nothing": {}} {
		log := written(t, func(b *bytes.Buffer) error { return SARIF(b, run) })
		if err := sarif.Check([]byte(log)); err != nil {
			t.Errorf("%s: %v\n%s", name, err, log)
		}
	}
	// The schema has to refuse invalid reports.
	for _, bad := range []string{
		`{"version":"2.1.0","runs":[{"tool":{"driver":{"name":"x"}},"results":[{"message":{"text":"m"},"level":"dreadful"}]}]}`,
		`{"version":"2.1.0","runs":[{"tool":{"driver":{"name":"x"}},"surprise":1}]}`,
		`{"version":"2.1.0","runs":[{"results":[]}]}`,
	} {
		if err := sarif.Check([]byte(bad)); err == nil || !strings.Contains(err.Error(), "meet the schema") {
			t.Errorf("passes as valid: %s", bad)
		}
	}
}

func TestSARIFContents(t *testing.T) {
	text := written(t, func(b *bytes.Buffer) error { return SARIF(b, sample()) })
	for _, want := range []string{
		`"uri": "a%20b/%C3%BC.go"`, `"uri": "./a:b.go"`, `"startLine": 3`, `"ruleId": "tests/test"`,
		`"baselineState": "unchanged"`,
		`"executionSuccessful": false`, `types was skipped: mypy is not installed`, `custom: could not run: exit 127`,
	} {
		if !strings.Contains(text, want) {
			t.Errorf("lacks %s:\n%s", want, text)
		}
	}
}

// A third-party reader understands the JUnit report.
func TestJUnitIsReadable(t *testing.T) {
	text := written(t, func(b *bytes.Buffer) error { return JUnit(b, sample()) })
	suites, err := junit.Ingest([]byte(text))
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	type figures struct{ Tests, Passed, Failed, Skipped, Errored int }
	got := map[string]figures{}
	for _, s := range suites {
		s.Aggregate()
		got[s.Name] = figures{s.Totals.Tests, s.Totals.Passed, s.Totals.Failed, s.Totals.Skipped, s.Totals.Error}
	}
	want := map[string]figures{
		"lint:go": {1, 1, 0, 0, 0}, "tests:go": {2, 0, 2, 0, 0}, "types": {1, 0, 0, 1, 0}, "custom": {1, 0, 0, 0, 1},
		"secrets": {1, 1, 0, 0, 0},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("%s\n%s", d, text)
	}
	for _, s := range suites {
		if s.Name == "tests:go" &&
			(s.Tests[0].Name != "x.TestSum" || s.Tests[0].Properties["file"] != "x_test.go" ||
				!strings.Contains(s.Tests[0].Error.Error(), "want 2")) {
			t.Errorf("%+v", s.Tests[0])
		}
	}
}

func TestGitHub(t *testing.T) {
	got := written(t, func(b *bytes.Buffer) error { return GitHub(b, sample()) })
	want := `::error file=x_test.go,line=7,title=tests/test::TestSum: got 1%25,%0Awant 2` + "\x01" + `::error::not a command
::error title=tests/exit::exit 1` + "\ufffd" + `
::error title=gate custom::could not run: exit 127
::warning file=a b/ü.go,line=3,col=4,title=lint/vet::unreachable <code> & more%0Afix: remove it
::warning file=x_test.go,line=9,title=tests/test::known: TestOld: red | ` + "`before`" + ` @all
::notice file=a%3Ab.go,title=lint/gofmt::not formatted
`
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	for l := range strings.Lines(got) {
		if !strings.HasPrefix(l, "::") {
			t.Errorf("a line is not a command: %q", l)
		}
	}
}

func TestSummary(t *testing.T) {
	got := written(t, func(b *bytes.Buffer) error { return Summary(b, sample()) })
	for _, want := range []string{
		"## runplan gate: error\n", "| tests:go | fail | 2 passed, 1 failed, 0 skipped | 0.0s |",
		"unreachable &lt;code&gt; &amp; more",
		"| known | tests/test | TestOld: red \\| \\`before\\` @\u200ball |",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("lacks %q:\n%s", want, got)
		}
	}
}
