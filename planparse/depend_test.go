package planparse

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A batch is named after its number, or after its title without one. The name is unique and fits in a git ref.
func TestKeysOfBatches(t *testing.T) {
	for number, want := range map[string]string{
		"3": "3", "3+4": "3-4", "1.2": "1.2", "a..b": "a-b", ".x.": "x", "-": "", "": "", "x.lock": "x-lock",
		"X.LOCK": "X-lock",
		"ü":      "", "1/2": "1-2", strings.Repeat("a", 41): strings.Repeat("a", 40), strings.Repeat("a",
			39) + "-b": strings.Repeat("a", 39),
	} {
		if got := refSafe(number); got != want {
			t.Errorf("number %q: %q, want %q", number, got, want)
		}
	}
	for title, want := range map[string]string{
		"Read the file": "read-the-file", "": "part", "Größe 3": "gr-e-3", "…": "part", "A_b": "a-b",
		"a long title of many words": "a-long-title-of-many-wor", "exactly twenty-four char": "exactly-twenty-four-char",
		"three and twenty words! a": "three-and-twenty-words-a",
	} {
		if got := slug(title); got != want {
			t.Errorf("title %q: %q, want %q", title, got, want)
		}
	}
	p := parse(t, in("### Task 1: A", "### Task 1: B", "### Task 1: C", "### Task 2: D", "### Task: E", "### Task: E"))
	var got []string
	for _, b := range p.Batches {
		got = append(got, b.Key)
	}
	if diff := cmp.Diff([]string{"1", "1-2", "1-3", "2", "e", "e-2"}, got); diff != "" {
		t.Error("-want +got:\n", diff)
	}
	var said []string
	for _, d := range p.Diagnostics {
		if d.Code == "duplicate-id" {
			said = append(said, fmt.Sprintf("%d %s %s", d.Line, d.Severity, d.Message))
		}
	}
	if diff := cmp.Diff([]string{"2 warning number 1 was used before, at line 1; this one is called 1-2",
		"3 warning number 1 was used before, at line 1; this one is called 1-3"}, said); diff != "" {
		t.Error("-want +got:\n", diff)
	}
	if got := codes(parse(t, in("## Batch 1: A", "### Task 1: a", "### Task 1: b", "### Task 1: c", "### Task: d",
		"### Task: e"))); got != "duplicate-id@3 unnumbered-task@5 unnumbered-task@6" {
		t.Errorf("tasks with the same number are reported once: %q", got)
	}
}

// The batch of each name that a plan may use for another batch.
func TestNamesOfDependencies(t *testing.T) {
	for value, want := range map[string]string{
		"1": "1", "01": "1", "batch-1": "1", "Batch 1": "1", "BATCH_01": "1", "`1`": "1", "\"1\"": "1", "1.": "1",
		"Task 7": "2", "task-7": "2", "task: 7": "2", "1, 2": "1 2", "[1, 2]": "1 2", "1, 1": "1", "1-2": "1 2",
		"batch 1-2": "1 2",
		"2-1":       "", "1-9": "", "none": "", "None.": "", "n/a": "", "-": "", "keine": "", "无": "",
		"Tasks 1 to 3": "", "(none)": "", "none, really": "",
	} {
		p := parse(t, in("# P", "## Batch 1: A", "### Task 5: a", "## Batch 2: B", "### Task 7: b", "## Batch 3: C",
			"depends_on: "+value, "### Task 9: c"))
		if got := strings.Join(p.Batches[2].DependsOn, " "); got != want {
			t.Errorf("%q: depends on %q, want %q (%s)", value, got, want, codes(p))
		}
	}
}

// References in prose name batches where they can, and are reported where they cannot.
func TestReferencesInProse(t *testing.T) {
	for value, c := range map[string]struct{ want, codes string }{
		"Task 1 and Task 2":                  {"1 2", ""},
		"Tasks 1, 2":                         {"1 2", ""},
		"Tasks 1 & 2":                        {"1 2", ""},
		"Task Groups 1 and 2":                {"1 2", ""},
		"tasks 1–2":                          {"1 2", ""},
		"after Task 1 (and Task 2 if there)": {"1 2", ""},
		"Task 1 GREEN; then go":              {"1", ""},
		"Task 1, the design":                 {"1", ""},
		"None (can run beside Task 1)":       {"", ""},
		"nothing":                            {"", ""},
		"the design":                         {"", "unread-dependency@7"},
		"Task 9":                             {"", "unread-dependency@7"},
		"Task 3":                             {"", ""}, // itself
		"任务1":                                {"1", ""},
		"Task A of the design":               {"", "unread-dependency@7"},
		"Task 01":                            {"1", ""},
	} {
		p := parse(t, in("# P", "### Task 1: A", "text", "### Task 2: B", "text", "### Task 3: C",
			"**Depends on:** "+value, "",
			"text"))
		if got := strings.Join(p.Batches[2].DependsOn, " "); got != c.want || codes(p) != c.codes {
			t.Errorf("%q: depends on %q (%s), want %q (%s)", value, got, codes(p), c.want, c.codes)
		}
	}
}

// The report of a cycle shows only the batches in it, and points at the line that closes it.
func TestCycles(t *testing.T) {
	for name, c := range map[string]struct {
		needs [4]string
		want  string
	}{
		"of two":                {[4]string{"2", "1", "none", "none"}, "2: batches wait for each other: 1 → 2 → 1"},
		"behind another batch":  {[4]string{"2", "3", "2", "none"}, "4: batches wait for each other: 2 → 3 → 2"},
		"of the last ones":      {[4]string{"none", "none", "4", "3"}, "6: batches wait for each other: 3 → 4 → 3"},
		"two ways to one batch": {[4]string{"2, 3", "4", "4", "none"}, ""},
		"a batch on itself":     {[4]string{"1", "none", "none", "none"}, "2: batch 1 depends on itself"},
		"a batch that is not there": {[4]string{"none", "7", "none", "none"},
			`4: batch 2 depends on "7", which is not a batch of this plan`},
	} {
		var lines []string
		for i, need := range c.needs {
			lines = append(lines, fmt.Sprintf("## Batch %d: A", i+1), "depends_on: "+need)
		}
		var got []string
		for _, d := range parse(t, in(lines...)).Errors() {
			got = append(got, fmt.Sprintf("%d: %s", d.Line, d.Message))
		}
		if strings.Join(got, "; ") != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// The keys of a batch have effect below its heading, in the form of runplan or in bold; an invalid value is an error
// in the form of runplan, and a warning in prose.
func TestKeysBelowHeading(t *testing.T) {
	type effect struct {
		Critical, Approve, Parallel, First bool
		When                               string
		Estimate                           int64
		Refs                               string
	}
	for line, c := range map[string]struct {
		want  effect
		codes string
	}{
		"critical: yes":                       {effect{Critical: true}, ""},
		"Critical: on":                        {effect{Critical: true}, ""},
		"critical: 1":                         {effect{Critical: true}, ""},
		"critical: off":                       {effect{}, ""},
		"critical: maybe":                     {effect{}, "error malformed-header"},
		"**Critical:** maybe":                 {effect{}, "warning malformed-header"},
		"**Critical:** it must not break now": {effect{}, ""},
		"**Critical:** true # yes":            {effect{}, "warning malformed-header"},
		"**Critical**: true":                  {effect{Critical: true}, ""},
		"**Critical** true":                   {effect{}, ""},
		"- critical: true":                    {effect{Critical: true}, ""},
		"critical:true":                       {effect{}, ""},
		"the critical: true":                  {effect{}, ""},
		"approve: true":                       {effect{Approve: true}, ""},
		"parallel-safe: true":                 {effect{Parallel: true}, ""},
		"test-first: true":                    {effect{First: true}, ""},
		"estimate: 90s":                       {effect{Estimate: 90_000}, ""},
		"estimate: `2m`":                      {effect{Estimate: 120_000}, ""},
		"**Estimate:** 5":                     {effect{}, ""},
		"estimate: 5":                         {effect{}, "warning unread-estimate"},
		"when: anything":                      {effect{When: "anything"}, ""},
		"**When:** !env.CI":                   {effect{When: "!env.CI"}, ""},
		"**When:** true":                      {effect{When: "true"}, ""},
		"**When:** a < b":                     {effect{When: "a < b"}, ""},
		"**When:** later":                     {effect{}, "warning unread-condition"},
		"context_refs: a.go, b.go":            {effect{Refs: "a.go b.go"}, ""},
		"context: a.go":                       {effect{Refs: "a.go"}, ""},
		"**Context:** a.go":                   {effect{}, ""},
		"context_refs: /etc/x":                {effect{}, "warning path-outside-workspace"},
		"**Status:** x **Critical:** true":    {effect{Critical: true}, ""},
		"**Status:** x | **Approve:** true":   {effect{Approve: true}, ""},
		"critical: true\napprove: true":       {effect{Critical: true, Approve: true}, ""},
		"critical: true\n\napprove: true":     {effect{Critical: true, Approve: true}, ""},
		"text\napprove: true":                 {effect{}, ""},
		"text\ntest_first: true":              {effect{}, "warning stray-key"},
		"text\ntest_frist: true":              {effect{}, "warning stray-key"},
		"text\nsome_key: true":                {effect{}, ""},
		"text\n**Test_first:** true":          {effect{}, ""},
		"text\ntest_first:":                   {effect{}, ""},
		"**Goal:** a text\nthat goes on\n\n**Critical:** true": {effect{Critical: true}, ""},
		"**Goal:** a text\n\nmore\n\n**Critical:** true":       {effect{}, ""},
	} {
		p := parse(t, in("# P", "## Batch 1: A", "text", "## Batch 2: B", line, "", "text"))
		b := p.Batches[1]
		got := effect{b.Critical, b.Approve, b.ParallelSafe, b.TestFirst, b.When, b.EstimateMS, strings.Join(b.ContextRefs, " ")}
		var said []string
		for _, d := range p.Diagnostics {
			said = append(said, fmt.Sprintf("%s %s", d.Severity, d.Code))
		}
		if diff := cmp.Diff(c.want, got); diff != "" || strings.Join(said, ", ") != c.codes {
			t.Errorf("%q: reported %q, want %q; -want +got:\n%s", line, said, c.codes, diff)
		}
	}
}
