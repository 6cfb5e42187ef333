package planparse

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A heading that almost opens a batch or a task is reported with what to correct. It is an error if the plan consists
// of such units, because one of them would be lost.
func TestNearUnits(t *testing.T) {
	for line, want := range map[string]string{
		"### Taks 2: b":         `error near-miss-heading write Task 2`,
		"### Tsk 2: b":          `error near-miss-heading write Task 2`,
		"### Batc 2: b":         `error near-miss-heading write Batch 2`,
		"### Bahtc 2: b":        `error near-miss-heading write Batch 2`,
		"### Phas 2: b":         ``, // the plan has no phases
		"### Test 2: b":         ``,
		"### Mask 2: b":         ``,
		"### Bench 2: b":        ``,
		"### Taks: b":           ``,
		"### Taks 2":            ``,
		"### Task two: b":       `error near-miss-heading write Task 2:`,
		"### Task zwölf: b":     `error near-miss-heading write Task 12:`,
		"### Task second: b":    `error near-miss-heading write Task 2:`,
		"### Task_2: b":         `error near-miss-heading put a space before its number`,
		"### Task/2: b":         `error near-miss-heading put a space before its number`,
		"### Task_b: b":         ``,
		"### Task_":             ``,
		"### Batch: b":          `error near-miss-heading it has no number; write Batch 1:`,
		"### Batch:":            ``,
		"### Phase: b":          ``,
		"###Task 2: b":          `error near-miss-heading put a space after "###" to make it a heading`,
		"#Task 2: b":            `error near-miss-heading put a space after "#" to make it a heading`,
		"##More about it":       `warning near-miss-heading put a space after "##" to make it a heading`,
		"#More about it":        ``, // a tag
		"##!/bin/sh":            ``,
		"##1. b":                `warning near-miss-heading put a space after "##" to make it a heading`,
		"#######Task 2: b":      ``,
		"##":                    ``,
		"##Phase 2: b":          `warning near-miss-heading put a space after "##" to make it a heading`,
		"\t### Task 2: b":       `warning near-miss-heading indented by four spaces or a tab`,
		"### Task 2 (done): b":  ``,
		"### Task 2 do it":      `warning near-miss-heading put a colon after the number`,
		"### Batch 2 do it":     `info near-miss-heading put a colon after the number`,
		"### Task 2 notes":      `info near-miss-heading is read as a note about task 2`,
		"### Batch 2 summary":   ``,
		"### Tasks for later":   ``,
		"### Unrelated section": ``,
	} {
		p := parse(t, in("# P", "## Batch 1: A", "### Task 1: a", "text", "", line, "", "more"))
		var got []string
		for _, d := range p.Diagnostics {
			if strings.HasPrefix(d.Code, "near-miss") {
				got = append(got, fmt.Sprintf("%d %s %s %s", d.Line, d.Severity, d.Code, d.Message))
			}
		}
		severity, rest, _ := strings.Cut(want, " near-miss-heading ")
		switch {
		case want == "" && len(got) == 0:
		case want == "", len(got) != 1, !strings.HasPrefix(got[0], "6 "+severity+" near-miss-heading "),
			!strings.Contains(got[0], rest):
			t.Errorf("%q: got %q, want %q", line, got, want)
		}
	}
}

// In a plan of phases, a misspelt phase is an error, and a misspelt task only a warning.
func TestNearPhases(t *testing.T) {
	p := parse(t, in("# P", "## Phase 1: A", "text", "## Pahse 2: B", "text", "## Taks 3: C", "text"))
	var got []string
	for _, d := range p.Diagnostics {
		got = append(got, fmt.Sprintf("%d %s %s", d.Line, d.Severity, d.Code))
	}
	if diff := cmp.Diff([]string{"4 error near-miss-heading", "6 warning near-miss-heading"}, got); diff != "" {
		t.Error("-want +got:\n", diff)
	}
}

// A unit whose number only a fence has is reported, unless the fence is marked as an example.
func TestUnitsInFences(t *testing.T) {
	for name, c := range map[string]struct {
		in    []string
		codes string
	}{
		"a number that the plan lacks": {[]string{"'''", "### Task 3: c", "'''"}, "fenced-heading@5"},
		"a number that the plan has":   {[]string{"'''", "### Task 2: c", "'''"}, ""},
		"an example with a language":   {[]string{"'''markdown", "### Task 3: c", "'''"}, ""},
		"a heading of the first level": {[]string{"'''", "# Task 3: c", "'''"}, ""},
		"another kind of unit":         {[]string{"'''", "### Batch 3: c", "'''"}, ""},
		"no number":                    {[]string{"'''", "### Task: c", "'''"}, ""},
		"two of them": {[]string{"'''", "text", "### Task 3: c", "### Task 4: d", "'''"},
			"fenced-heading@6 fenced-heading@7"},
		"an indented one in a list item": {[]string{"- x", "  '''", "  ### Task 3: c", "  '''"}, "fenced-heading@6"},
	} {
		p := parse(t, in(append([]string{"# P", "### Task 1: A", "text"}, append(c.in, "### Task 2: B", "text")...)...))
		if got := codes(p); got != c.codes {
			t.Errorf("%s: got %q, want %q", name, got, c.codes)
		}
	}
}

// One heading of a higher level than all others of its kind is reported.
func TestOddLevels(t *testing.T) {
	for name, c := range map[string]struct {
		levels string
		codes  string
	}{
		"the second of three": {"### ## ###", "odd-level@4"}, "the first of three": {"## ### ###", "odd-level@2"},
		"two are higher": {"### ## ##", ""}, "two alone": {"### ##", ""}, "all equal": {"### ### ###", ""},
		"one is lower": {"## ## ###", ""}, "three levels": {"### #### ##", "odd-level@6"},
		"a note is higher": {"### ### ### ##!", ""},
	} {
		lines := []string{"# P"}
		for i, level := range strings.Fields(c.levels) {
			level, note := strings.CutSuffix(level, "!")
			lines = append(lines, fmt.Sprintf("%s Task %d%s A", level, i+1,
				map[bool]string{false: ":", true: " notes on"}[note]),
				"text")
		}
		var got []string
		for _, d := range parse(t, in(lines...)).Diagnostics {
			if d.Code == "odd-level" {
				got = append(got, fmt.Sprintf("%s@%d", d.Code, d.Line))
			}
		}
		if strings.Join(got, " ") != c.codes {
			t.Errorf("%s: got %q, want %q", name, got, c.codes)
		}
	}
}

// A batch that is deeper than the others names the batch that it is a part of.
func TestNestedBatchNamesOuter(t *testing.T) {
	for plan, want := range map[string]string{
		in("## Batch 1: A", "### Batch 2: B"): "part of batch 1",
		in("### Batch 2: B", "## Batch 1: A"): "part of batch (none)",
	} {
		if d := parse(t, plan).Diagnostics; len(d) == 0 || !strings.HasSuffix(d[0].Message, want) {
			t.Errorf("got %+v, want %q", d, want)
		}
	}
}

// An unknown key that is similar to a known one is reported: as an error in the form of runplan, and as a hint in
// prose.
func TestNearKeys(t *testing.T) {
	for line, want := range map[string]string{
		"depend_on: 1": "error did you mean depends_on?", "dependson: 1": "error did you mean depends_on?",
		"requires_batches: 1": "error did you mean depends_on?",
		"context_files: a.go": "error did you mean context_refs?", "critcal: true": "error did you mean critical?",
		"test_frist: true": "error did you mean test_first?", "parallelsafe: true": "error did you mean parallel_safe?",
		"mutant: 70": "error did you mean mutants?", "aprove: true": "error did you mean approve?",
		"whem: x": "", "note: x": "", "**Critcal:** true": "info did you mean critical?",
	} {
		p := parse(t, in("# P", "## Batch 1: A", "text", "## Batch 2: B", line, "", "text"))
		var got string
		for _, d := range p.Diagnostics {
			if d.Code == "unknown-key" {
				got += fmt.Sprintf("%d %s %s", d.Line, d.Severity, d.Message)
			}
		}
		severity, rest, _ := strings.Cut(want, " ")
		if want == "" && got != "" || want != "" && (!strings.HasPrefix(got, "5 "+severity+" ") ||
			!strings.HasSuffix(got, rest)) {
			t.Errorf("%q: got %q, want %q", line, got, want)
		}
	}
}

// Two letters that are swapped count as one slip. Words of any length can be compared.
func TestDistance(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want int
	}{
		{"task", "task", 0}, {"taks", "task", 1}, {"tsk", "task", 1}, {"tack", "task", 1}, {"atks", "task", 2},
		{"a", "abcd", 3}, {"", "", 0}, {"ü", "u", 1},
	} {
		if got := distance(c.a, c.b); got != c.want {
			t.Errorf("%q and %q: %d, want %d", c.a, c.b, got, c.want)
		}
	}
	if long := strings.Repeat("a", 1<<20); distance(long, long+"b") < 3 {
		t.Error("very long words are near")
	}
}
