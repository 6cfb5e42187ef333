package planparse

import (
	"fmt"
	"slices"
	"testing"
)

// Text about other work, and lists that explain the work, are no units of the plan.
func TestTextBesideTheWork(t *testing.T) {
	text := []string{"", "Text.", ""}
	checkSketches(t, map[string]sketchCase{
		"steps of the tasks of another plan": {
			in: in(slices.Concat([]string{"# Amendment", "", "## 1. Task 2, Step 3 — other names"}, text,
				[]string{"## 2. Task 4, Step 1 — another order"}, text)...), want: "none", codes: "no-units@1",
		},
		"the phases of a design": {
			in: in(slices.Concat([]string{"# T", "", "## Design", "", "### Two passes", "", "#### Phase 1: Scan"}, text,
				[]string{"#### Phase 2: Link"}, text, []string{"## Plan", "", "### Phase 1: Symbols"}, text,
				[]string{"### Phase 2: Lookup"}, text)...),
			want: "phases <phase 1> <phase 2> 1() 2()",
		},
		"prerequisites and appendices": {
			in: in("# T", "", "## Phase 1: A", "", "- [ ] a", "", "## Getting started", "", "### Prerequisites", "",
				"- [ ] An account",
				"", "## Appendix A: Checklists", "", "- [ ] It has a name"),
			want: "openspec <phase 1> 1(:0) loose:2", codes: "unassigned-boxes@11 unassigned-boxes@15",
		},
		"the acceptance of a phase": {
			in: in("# Phase 2 plan", "", "### Task 1: Scan", "", "- [ ] a", "", "## Phase 2 acceptance checklist", "",
				"- [ ] It scans"),
			want: "superpowers 1(1:1) loose:1", codes: "unassigned-boxes@9",
		},
		"the epic of a story": {
			in:   in(slices.Concat([]string{"# Story 5.1: Sync", "", "## Epic 5: Move to the cloud"}, text)...),
			want: "superpowers 5.1(5.1:0)",
		},
		"the review of a story": {
			in: in("# Story 1.1: Setup", "", "## Tasks / Subtasks", "", "- [x] Make the module",
				"- [x] Add the linter", "", "## QA Results", "", "### Improvements Checklist", "", "- [x] Names", "- [ ] Comments"),
			want: "openspec tasks-subtasks(:0+ :0+) loose:2", codes: "unassigned-boxes@12",
		},
		"principles that a spec-kit plan keeps": {
			in: in("# Implementation Plan: Login", "", "## Constitution Check", "", "- [x] I. Simple", "- [x] II. Tested", "",
				"## Project Structure"), want: "none loose:2", codes: "no-units@1 unassigned-boxes@5",
		},
		"the instructions of an agent": {
			in: in(slices.Concat([]string{"---", "name: planner", "description: Makes plans", "---", "# Plan", "",
				"### Step 1: Read"}, text, []string{"### Step 2: Write"}, text)...),
			want: "none", codes: "no-units@1",
		},
		"many lists below bold lines": {
			in: in("# Plan", "", "## A", "", "**Implementation:**", "1. Read it", "2. Show it", "", "**Files:**",
				"- a.go", "", "## B", "", "**Implementation:**", "1. Sort it", "2. Count it"), want: "none", codes: "no-units@1",
		},
		"sub-tickets": {
			in: in(slices.Concat([]string{"# T", "", "## Branch 1: Parent Ticket #7 - List", "",
				"### Sub-ticket #8: Sort"}, text, []string{"### Sub-ticket #9: Count"}, text)...),
			want: "superpowers 8(8:0) 9(9:0)",
		},
		"milestones that describe the progress of an ExecPlan": {
			in: in(slices.Concat([]string{"# T", "", "## Progress", "", "- [x] (2026-01-31) Read the files", "- [ ] Show them",
				"", "## Milestones", "", "### Milestone 1: Files"}, text, []string{"### Milestone 2: View"}, text)...),
			want: "openspec progress(:0+ :0)",
		},
		"a status list that shortens titles, and knows earlier phases": {
			in: in("# T", "", "## Current status", "", "- [x] Phase 1: Base", "- [x] Phase 2: Parser",
				"- [ ] Phase 3: Tests", "", "## Phase 2: Parser and lexer", "", "- [x] a", "",
				"## Phase 3: Write tests first (in progress)", "", "- [ ] b"),
			want: "openspec <phase 2> <phase 3> 2(:0+) 3(:0) loose:3", codes: "repeated-boxes@5",
		},
		"a board with tasks without a number": {
			in: in("# Tasks", "", "## In progress", "", "- [ ] Docs", "", "## Done", "", "- [x] Cleanup",
				"- [x] Story 1.1: Setup",
				"- [x] Story 1.2: Login"),
			want: "openspec in-progress(:0) done(:0+ 1.1:0+ 1.2:0+)",
		},
	})
}

// Work is read in more notations.
func TestMoreNamesOfWork(t *testing.T) {
	checkSketches(t, map[string]sketchCase{
		"tables of T-items in sections": {
			in: in("# App tasks", "", "## 1. Setup", "", "| ID | Task | Outcome |", "|---|---|---|",
				"| T001 | Make it | It runs |", "",
				"## 2. Use", "", "| ID | Task | Outcome |", "|---|---|---|", "| T002 | Use it | It works |", "",
				"## 3. Order", "", "1. First T001", "2. Then T002"),
			want:  "openspec <section 1> <section 2> 1(T001:0) 2(T002:0)",
			codes: "section-without-boxes@15",
		},
		"a table with the priority before the id": {
			in: in("# T", "", "## Backlog", "", "| Priority | ID | Task | Depends on | State |", "|---|---|---|---|---|",
				"| P0 | BL-01 | Read it | | done |", "| P0 | BL-02 | Show it | BL-01 | open |"),
			want: "superpowers BL-01(BL-01:0+) BL-02(BL-02:0)", codes: "list-as-tasks@7",
		},
		"a table with a number before the id": {
			in: in("# T", "", "## Task breakdown", "", "| # | ID | Task | Depends on |", "|---|---|---|---|",
				"| 1 | `read` | Read it | |", "| 2 | `show` | Show it | 1 |"),
			want: "superpowers 1(1:0) 2(2:0)", codes: "list-as-tasks@7",
		},
		"a table with a number before the id of a risk": {
			in: in("# T", "", "## Plan risks", "", "| # | ID | Risk |", "|---|---|---|", "| 1 | `slow` | It is slow |",
				"| 2 | `big` | It is big |"), want: "none", codes: "no-units@1",
		},
		"numbered headings below a plan of another name": {
			in:   in("# T", "", "## 3 Refactoring plan", "", "### 3.1 Shell", "", "Text.", "", "### 3.2 Layout", "", "Text."),
			want: "superpowers 3.1(3.1:0) 3.2(3.2:0)",
		},
		"the title of the plan is no such heading": {
			in: in("# Search implementation plan", "", "## 1. Goal", "", "Text.", "", "## 2. Milestones", "",
				"### Milestone 1: Index", "", "Text.", "", "### Milestone 2: Query", "", "Text."),
			want: "phases <milestone 1> <milestone 2> 1() 2()",
		},
		"a recommended order": {
			in:   in("# T", "", "## Recommended implementation order", "", "1. Read it", "2. Show it"),
			want: "superpowers 1(1:0) 2(2:0)", codes: "list-as-tasks@5",
		},
		"a list of stages": {
			in:   in("# T", "", "## Delivery stages", "", "1. Read it", "2. Show it"),
			want: "superpowers 1(1:0) 2(2:0)", codes: "list-as-tasks@5",
		},
		"an order of headings": {
			in: in("# T", "", "## Recommended product sequence", "", "### 1. Read it", "", "Text.", "", "### 2. Show it", "",
				"Text."), want: "superpowers 1(1:0) 2(2:0)",
		},
		"a task whose parts have the name of a list": {
			in: in("# T", "", "## Implementation plan", "", "### A. Read it", "", "#### 1. Reading tasks", "", "#### 2. Tests", "",
				"### B. Show it", "", "Text."), want: "superpowers A(A:0) B(B:0)",
		},
		"stages that an attack has are no work": {
			in: in("# T", "", "## Attack stages", "", "1. Look", "2. Break in"), want: "none", codes: "no-units@1",
		},
		"an optional phase": {
			in: in("# T", "", "## MVP Phase 1: Base", "", "Text.", "", "## Optional Phase 2: Rest", "", "Text.", "",
				"## Optional extras"), want: "phases <phase 1> <phase 2> 1() 2()",
		},
		"boxes of phases that are criteria": {
			in: in("# T", "", "## Phase 1: A", "", "- [ ] a", "", "## Phase 2: B", "", "- [ ] b", "", "## Success criteria", "",
				"### Phase 1: A", "", "- [ ] It is fast"),
			want: "openspec <phase 1> <phase 2> 1(:0) 2(:0) loose:1", codes: "unassigned-boxes@15",
		},
		"boxes of phases in a checklist of the work": {
			in:   in("# T", "", "## Checklist", "", "### Phase 1: A", "", "- [ ] a", "", "### Phase 2: B", "", "- [ ] b"),
			want: "openspec <phase 1> <phase 2> 1(:0) 2(:0)",
		},
		"a schedule of weeks": {
			in: in("# T", "", "## Phase 1: A", "", "Text.", "", "## Phase 2: B", "", "Text.", "", "## Timeline", "",
				"### Week 1", "", "- [ ] a", "", "### Week 2", "", "- [ ] b"),
			want: "phases <phase 1> <phase 2> 1() 2() loose:2", codes: "unassigned-boxes@15 unassigned-boxes@19",
		},
		"a schedule of weeks that is all the work": {
			in:   in("# T", "", "## Timeline", "", "### Week 1", "", "- [ ] a", "", "### Week 2", "", "- [ ] b"),
			want: "openspec <week 1> <week 2> 1(:0) 2(:0)",
		},
		"numbered changes of a plan": {
			in: in("# Card plan", "", "## Changes", "", "### 1. card.go — the slot", "", "Text.", "", "### 2. Style", "",
				"Text.", "", "## Files", "", "1. `card.go`"), want: "superpowers 1(1:0) 2(2:0)",
		},
		"numbered changes of a report": {
			in: in("# Review", "", "## Changes", "", "### 1. card.go — the slot", "", "Text.", "", "### 2. Style", "",
				"Text."), want: "none", codes: "no-units@1",
		},
		"the plan of one task": {
			in: in("# Plan: Task 7.1 — Limit the rate", "", "## Approach", "", "Text."), want: "superpowers 7.1(7.1:0)",
		},
		"the plan of a task with a name": {
			in: in("# Plan: task arrays", "", "## Approach", "", "Text."), want: "none", codes: "no-units@1",
		},
		"versions that were released": {
			in: in("# Roadmap", "", "## Version 2.1.0: Search", "", "Text.", "", "## Completed features", "",
				"### ✅ Version 2.0.0 (2026-01-31)", "", "- Text"), want: "phases <version 2.1.0> 2.1.0()",
		},
		"stories without a colon": {
			in: in("# Stories", "", "## Epic 1 Base", "", "### Story 1.1 Setup", "", "Text.", "", "### Story 1.2 Login", "",
				"Text.", "", "### Change 2 names", "", "Text."),
			want: "superpowers 1.1(1.1:0) 1.2(1.2:0)", codes: "missing-separator@5 missing-separator@9",
		},
		"next steps are for people": {
			in: in("# T", "", "## Recommended next steps", "", "1. Watch it", "2. Improve it"), want: "none",
			codes: "no-units@1",
		},
		"the order of tests": {
			in: in("# T", "", "## Test execution order", "", "1. Units", "2. Pages"), want: "none", codes: "no-units@1",
		},
		"tranches": {
			in:   in("# T", "", "## Tranche 1: Base", "", "Text.", "", "## Tranche 2: Rest", "", "Text."),
			want: "phases <tranche 1> <tranche 2> 1() 2()",
		},
		"chapters with an id, as Claude Code writes them": {
			in: in("# Plan: Clean code", "", "## Context", "", "Text.", "", "## R1: Cache", "", "Text.", "", "## R2: Types", "",
				"Text.", "", "## R3: Names", "", "Text.", "", "## Verification", "", "1. `make`"),
			want: "superpowers R1(R1:0) R2(R2:0) R3(R3:0)",
		},
		"decisions with an id": {
			in: in("# Research", "", "## R1. Language", "", "Go.", "", "## R2. Storage", "", "Files.", "", "## R3. Log", "",
				"None."), want: "none", codes: "no-units@1",
		},
	})
}

// The files and dependencies of a GSD task may be a list of lines and an attribute.
func TestDetailsOfElements(t *testing.T) {
	p := parse(t, in(`<task id="1">`, "<name>A</name>", "<files>", "  a.go", "  - b.go", "</files>", "</task>",
		`<task id="2" depends_on="1, 05-01">`, "<name>B</name>", "<verify>", "Run it and test:", "'''bash",
		`curl "http://localhost/users/{user_id}"`, "'''", "</verify>", "</task>"))
	if f := p.Batches[0].Files.Modify; !slices.Equal(f, []string{"a.go", "b.go"}) {
		t.Errorf("files %v", f)
	}
	if b := p.Batches[1]; !slices.Equal(b.DependsOn, []string{"1"}) || len(b.Commands) > 0 {
		t.Errorf("depends on %v, commands %v", b.DependsOn, b.Commands)
	}
}

// Text for people is neither the output of a command nor a file.
func TestSentencesForPeople(t *testing.T) {
	for said, want := range map[string]string{
		"the files are staged.": "", "It returns the address.": "", "done.": "done.", "output is `ready`.": "ready",
		"the file is gone. Keep the rest of `out/`.": "", `it is "up". See "log".`: "up",
		"tests pass. The checks of `/files/*` stay green.": "PASS",
	} {
		c := parse(t, in("### Task 1: A", "", "Run: `x`", "Expected: "+said)).Batches[0].Commands
		if len(c) != 1 || c[0].Expected != want {
			t.Errorf("%q: %+v, want %q", said, c, want)
		}
	}
	f := parse(t, in("### Task 1: A", "", "**Files:** various `.go` files, `.env`, `a.go`")).Batches[0].Files
	if got := fmt.Sprint(f.Modify); got != "[.env a.go]" {
		t.Error(got)
	}
	f = parse(t, in("### Task 1: A", "", "#### ファイル", "", "| ファイル | 変更 |", "|---|---|",
		"| `a.go` | x |")).Batches[0].Files
	if got := fmt.Sprint(f.Modify); got != "[a.go]" {
		t.Error(got)
	}
}
