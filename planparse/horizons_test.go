package planparse

import "testing"

// Lists of what remains, priorities and the first phase of a product may be written in other words.
func TestHorizons(t *testing.T) {
	checkSketches(t, map[string]sketchCase{
		"a list below near-term priorities": {in: in("# Roadmap", "## Shipped", "- Read", "## Near-term priorities",
			"- Write",
			"- Print", "## In scope", "- Text"), want: "superpowers 1(1:0) 2(2:0)", codes: "list-as-tasks@5"},
		"a file that is about a phase, with a breakdown": {in: in("# Phase 3.2: Reader plan", "## Flow", "1. It opens.",
			"2. It reads.", "## Task Breakdown", "### 1. Parser tasks", "text", "### 2. Screen tasks", "text"),
			want: "superpowers 1(1:0) 2(2:0)"},
		"numbered headings in the chapters of a list of what remains": {in: in("# Reader — open TODO", "## Storage",
			"### 1. Write files", "text", "## Screen", "### 2. Print", "text", "#### 1. Colours", "text", "## Completed",
			"### 3. Read"), want: "superpowers 1(1:0) 2(2:0)"},
		"priorities": {in: in("# Roadmap", "## Priority 1: Read", "text", "## Priority 2: Write", "text", "## Effort",
			"text"),
			want: "phases <priority 1> <priority 2> 1() 2()"},
		"the priority of a task": {in: in("# T", "### Task 1: Read", "**Priority:** 1", "### Task 2: Write",
			"**Priority:** 2"),
			want: "superpowers 1(1:0) 2(2:0)"},
		"an MVP before the second phase": {in: in("# T", "# Roadmap", "## MVP requirements", "text", "## Phase 2: Write",
			"text",
			"## Phase 3: Print", "text"), want: "phases <phase 1> <phase 2> <phase 3> 1() 2() 3()"},
		"an MVP elsewhere": {in: in("# T", "## MVP scope", "text", "## Architecture", "text", "## Phase 2: Write", "text"),
			want: "phases <phase 2> 2()"},
	})
	p := parse(t, in("# T", "### Task 1: Read", "**Verification:** Run `go vet ./...` and `go test ./...` and `a.md`."))
	if got := p.Batches[0].Commands; len(got) != 2 || got[1].Run != "go test ./..." {
		t.Errorf("the commands are %v, want both", got)
	}
}
