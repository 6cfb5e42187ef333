package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestPeerReportsAreCounted(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"mutants/a.py.meta": `{"exit_code_by_key": {"a": 0, "b": 1, "c": 33, "d": null, "e": 36, "f": 37}}`,
		"reports/mutation/mutation.json": `{"files": {"a.js": {"mutants": [{"status": "Killed"}, {"status": "Timeout"},
			{"status": "Survived"}, {"status": "NoCoverage"}, {"status": "CompileError"}]}}}`,
	} {
		at := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(at, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want := count{killed: 2, survived: 1, untested: 1, invalid: 1}
	const said = "Starting...\n      KILLED ARITHMETIC_BASE at a.go:1:2\n   TIMED OUT INVERT_LOOPCTRL at a.go:2:2\n" +
		"       LIVED CONDITIONALS_BOUNDARY at a.go:3:3\n NOT COVERED CONDITIONALS_BOUNDARY at a.go:4:3\n" +
		"  NOT VIABLE ARITHMETIC_BASE at a.go:5:5\nKilled: 1, Lived: 1\n"
	for name, read := range map[string]func() (count, error){
		"gremlins": func() (count, error) { return gremlins("", "", said) },
		"mutmut":   func() (count, error) { return mutmut(dir, "a.py", "") },
		"stryker":  func() (count, error) { return stryker(dir, "a.js", "") },
	} {
		if got, err := read(); err != nil || got != want {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
}

// docs/gates.md contains the table that the judged mutants produce.
func TestDocsContainJudgedShares(t *testing.T) {
	var table strings.Builder
	if err := shares(&table, filepath.Join("testdata", "judged.jsonl")); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "gates.md"))
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(text), table.String()) {
		t.Errorf("docs/gates.md lacks the shares of testdata/judged.jsonl:\n%s", table.String())
	}
}

func TestJudgementNeedsReason(t *testing.T) {
	for _, line := range []string{`{"verdict": "killable"}`, `{"verdict": "perhaps", "why": "x"}`} {
		at := filepath.Join(t.TempDir(), "judged.jsonl")
		if err := os.WriteFile(at, []byte(line), 0o644); err != nil {
			t.Fatal(err)
		}
		if err := shares(&strings.Builder{}, at); err == nil {
			t.Errorf("%s has been accepted", line)
		}
	}
}
