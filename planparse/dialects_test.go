package planparse

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Lists of T-items, numbered items and phases are also read in notations that differ from those of the original
// tools.
func TestDialects(t *testing.T) {
	checkSketches(t, map[string]sketchCase{
		"ids in code, in brackets, struck through, with letters and names": {
			in: in("# T", "", "## Phase 1: A", "", "- [ ] `T001` a", "- [x] ~~T002 b~~ not needed", "- [ ] [T003] [US1] c",
				"- [ ] T003A d",
				"- [ ] T004b_schema e", "- [ ] **[T005] [P]** f", "- [ ] `T006 is code`", "- [ ] T1_norm is a name"),
			want:  "spec-kit <phase 1> 1(T001:0 T002:0+ T003:0 T003A:0 T004b_schema:0 T005:0) loose:2",
			codes: "unassigned-boxes@11",
		},
		"two T-items beside three other boxes": {
			in:   in("# T", "", "## Phase 1: A", "", "- [ ] T001 a", "- [ ] T002 b", "- [ ] x", "- [ ] y", "- [ ] z"),
			want: "spec-kit <phase 1> 1(T001:0 T002:0) loose:3", codes: "unassigned-boxes@7",
		},
		"T-items below a box of another kind": {
			in: in("# T", "", "## Checklist", "", "- [x] `P001` Part", "  - tasks:", "    - [x] `T001` a",
				"    - [ ] `T002` b"),
			want: "spec-kit checklist(T001:0+ T002:0) loose:1", codes: "unassigned-boxes@5",
		},
		"a last phase without a number": {
			in: in("# T", "", "## Phase 1: A", "", "- [ ] T001 a", "", "## Final Phase: Polish", "", "- [ ] T002 b", "",
				"## Final phase notes", ""),
			want: "spec-kit <phase 1> <phase final> 1(T001:0) final(T002:0)",
		},
		"a last task without a number": {
			in: in("# T", "", "### Task 1: A", "", "### Final Task: Run everything", "", "- [ ] x", "", "### Final tasks", "",
				"Text."),
			want: "superpowers 1(1:0) final(final:1)",
		},
		"work packages": {
			in: in("# T", "", "## Work Packages", "", "### WP01 — Data", "", "- [x] T001 a", "- [x] T002 b", "",
				"### Work Package WP02: Use",
				"", "**Dependencies**: WP01", "", "- [ ] T003 c"),
			want: "spec-kit <package WP01> <package WP02> WP01(T001:0+ T002:0+) WP02(T003:0)",
		},
		"sections below a heading that only says Tasks": {
			in:   in("# T", "", "## Tasks", "", "### Backend", "", "- [ ] a", "", "### Frontend", "", "- [ ] b", "- [ ] c"),
			want: "openspec backend(:0) frontend(:0 :0)",
		},
		"sections below several headings": {
			in: in("# T", "", "## Story A", "", "### Tests", "", "- [ ] T001 a", "", "### Code", "", "- [ ] T002 b", "",
				"## Story B", "", "- [ ] T003 c"),
			want: "spec-kit story-a(T001:0 T002:0) story-b(T003:0)",
		},
		"boxes directly below the frame": {
			in:   in("# T", "", "## Tasks", "", "- [ ] T001 a", "", "### More", "", "- [ ] T002 b"),
			want: "spec-kit tasks(T001:0 T002:0)",
		},
		"4.0 before 4.1 is not a parent if the others have none": {
			in:   in("# T", "", "### 1. A", "", "- [ ] 1.1 a", "- [ ] 1.2 b", "", "### 2. B", "", "- [ ] 2.0 c", "- [ ] 2.1 d"),
			want: "openspec <section 1> <section 2> 1(1.1:0 1.2:0) 2(2.0:0 2.1:0)",
		},
		"a box that names a section is not the parent of its items": {
			in:   in("# T", "", "## Progress", "", "- [ ] 1 — Cards", "", "## 1 — Cards", "", "- [ ] 1.1 a", "- [ ] 1.2 b"),
			want: "openspec <section 1> progress(1:0) 1(1.1:0 1.2:0)",
		},
		"a task in a task outside of all batches, above the level of batches": {
			in:    in("# T", "", "#### Batch 1: A", "", "## Task 1: B", "", "### Task 2: C", "", "## Notes", "", "- [ ] loose"),
			want:  "run-plan <batch 1> 1() 1-2(1:0 2:0) loose:1",
			codes: "task-outside-batch@5 duplicate-batch@5 nested-task@7 unassigned-boxes@11",
		},
		"phases in full, with their boxes in one checklist at the end": {
			in: in("# T", "", "## Phase 1: A", "", "Text of a.", "", "## Phase 2: B", "", "Text of b.", "", "## Checklist", "",
				"### Phase 1", "", "- [x] a", "- [x] b", "", "### Phase 2", "", "- [ ] c", ""),
			want: "phases <phase 1> <phase 2> 1() 2() loose:3", codes: "repeated-boxes@15 repeated-boxes@20",
		},
		"phases in full, with their boxes below the same titles": {
			in: in("# T", "", "## Phase 1: A", "", "Text of a.", "", "## Phase 2: B", "", "Text of b.", "", "## Work", "",
				"### Phase 1: A", "", "- [x] a", "- [x] b", "", "### Phase 2: B", "", "- [ ] c", ""),
			want: "phases <phase 1> <phase 2> 1() 2() loose:3", codes: "repeated-boxes@15 repeated-boxes@20",
		},
		"two phases of one number without titles are not the same": {
			in:   in("# T", "", "## Phase 1", "", "Text.", "", "## Work", "", "### Phase 1", "", "- [ ] a", "- [ ] b", ""),
			want: "openspec <phase 1> 1(:0 :0)", codes: "section-without-boxes@3",
		},
		"tasks in full, with their boxes in one checklist at the end": {
			in: in("# T", "", "### Task 1: A", "", "Text of a.", "", "### Task 2: B", "", "Text of b.", "", "## Checklist", "",
				"### Task 1: A", "", "- [x] a", "", "### Task 2: B", "", "- [ ] c", ""),
			want: "superpowers 1(1:1+) 2(2:1)", codes: "repeated-boxes@15 repeated-boxes@19",
		},
		"phases that are named before those with text and boxes": {
			in: in("# T", "", "## Phase 1: A", "", "Text.", "", "## Checklist", "", "### Phase 1", "", "More text.", "",
				"- [ ] a", ""),
			want: "openspec <phase 1> 1(:0)", codes: "section-without-boxes@3",
		},
		"tasks below a heading that says that they are done": {
			in: in("# T", "", "## ✅ Completed tasks (March)", "", "### Task 1: A", "", "Text.", "", "### Task 2: B", "",
				"- [ ] b", "", "## Pending tasks", "", "### Task 3: C", "", "Text.", ""),
			want: "superpowers 1(1:0+) 2(2:1) 3(3:0)",
		},
		"bold lines that are phases": {
			in: in("# T", "", "## Roadmap", "", "**Phase 1: A** (2 days)", "", "- a", "", "**Phase 2: B:**", "", "Text.", "",
				"## Notes", "", "Text.", ""),
			want: "phases <phase 1> <phase 2> 1() 2()",
		},
		"bold lines above boxes": {
			in:   in("# T", "", "## Work", "", "**Task 1: A**", "- [x] a", "", "**Task 2: B**", "- [ ] b", ""),
			want: "superpowers 1(1:1+) 2(2:1)",
		},
		"items that are phases": {
			in:   in("# T", "", "## Rollout plan", "", "1. **Phase 1: A**", "   - a", "2. **Phase 2:** Do b.", ""),
			want: "phases <phase 1> <phase 2> 1() 2()",
		},
		"bold phases below any heading, if boxes follow": {
			in: in("# T", "", "## How it works", "", "**Phase 1: A**", "", "- [ ] a", "", "**Phase 2: B**", "", "- [ ] b", "",
				"**Phase 3: C**", ""),
			want: "openspec <phase 1> <phase 2> 1(:0) 2(:0)",
		},
		"bold lines of a text, and next to headings of units": {
			in: in("# T", "", "## How it works", "", "**Phase 1: A**", "", "Text.", "", "**Phase 2: B**", "", "Text.", "",
				"## Plan", "", "**Phase 3** is long.", "", "**Phase 4** is short.", ""),
			want: "none", codes: "no-units@1",
		},
		"headings with two numbers": {
			in: in("# T", "", "## Fix 1: A", "", "Text.", "", "## Fix 2 & 3: B", "", "Text.", "", "## Fix 4, 5 and 6: C", "",
				"Text.", ""),
			want: "superpowers 1(1:0) 2-3(2+3:0) 4-5-6(4+5+6:0)",
		},
		"a range of weeks": {
			in:   in("# T", "", "## Week 1–2: A", "", "- [ ] a", "", "## Week 3–4: B", "", "- [ ] b", ""),
			want: "openspec <week 1-2> <week 3-4> 1-2(:0) 3-4(:0)",
		},
		"changes whose parts are files, with a check": {
			in: in("# T", "", "## Changes", "", "### 1. `a.go`", "", "Text.", "", "### 2. `b.go` (line 3)", "", "Text.", "",
				"## Verification", "", "Run it.", ""),
			want: "superpowers 1(1:0) 2(2:0)",
		},
		"changes whose parts are no files, or without a check": {
			in: in("# T", "", "## Changes", "", "### 1. Cache", "", "Text.", "", "### 2. Log", "", "Text.", "",
				"## Verification", "", "Run it.", ""),
			want: "none", codes: "no-units@1",
		},
		"the whole plan in a fence": {
			in: in("'''markdown", "# T", "", "### Task 1: A", "", "- [x] a", "", "'''bash", "go test ./...", "'''", "",
				"### Task 2: B", "", "- [ ] b", "'''", ""),
			want: "superpowers 1(1:1+) 2(2:1)", codes: "wrapped-plan@1",
		},
		"a plan below a fence is not that fence": {
			in:   in("'''markdown", "### Task 1: A", "'''", "", "### Task 2: B", "", "- [ ] b"),
			want: "superpowers 2(2:1)",
		},
		"a numbered list below a heading that just says steps": {
			in: in("# T", "", "1. No step", "2. No step", "", "## Implementation Steps", "", "1. Add the table",
				"   - with an index", "2. **Read** it:", "", "'''go", "x", "'''", "",
				"3. Show it", "", "Then:", "4. Ship it", "", "## Notes", "", "1. One", "2. Two"),
			want: "superpowers 1(1:0) 2(2:0) 3(3:0) 4(4:0)", codes: "list-as-tasks@8",
		},
		"a numbered list that counts nothing": {
			in:   in("# T", "", "## Steps", "", "1. a", "1. b", "1. c"),
			want: "superpowers 1(1:0) 2(2:0) 3(3:0)", codes: "list-as-tasks@5",
		},
		"a numbered list next to boxes or phases": {
			in:   in("# T", "", "## Steps", "", "1. a", "2. b", "", "## Work", "", "- [ ] c"),
			want: "openspec work(:0)",
		},
		"a list of one, of bullets, or elsewhere": {
			in:   in("# T", "", "## Steps", "", "1. a", "", "- b", "- c", "", "### Questions", "", "1. d?", "2. e?"),
			want: "none", codes: "no-units@1",
		},
		"phases that are named again below another heading": {
			in: in("# T", "", "## Phase 1: A", "", "- [ ] T001 a", "", "## Phase 2: B", "", "- [ ] T002 b", "",
				"## Parallel work", "", "### Phase 1 (A)", "",
				"- T001 alone", "", "### Phase 2 (B)", "", "- T002 alone"),
			want: "spec-kit <phase 1> <phase 2> 1(T001:0) 2(T002:0)",
		},
		"acceptance criteria behind the phases": {
			in: in("# T", "", "## Phase 1: A", "", "- [ ] a", "", "**Acceptance criteria:**", "", "- [ ] fast", "",
				"## 2. 验收标准", "", "### 2.1 功能", "", "- [ ] 快"),
			want: "openspec <phase 1> 1(:0) loose:2", codes: "unassigned-boxes@9 unassigned-boxes@15",
		},
		"todos that are no YAML": {
			in:   in("---", "todos: [", "---", "# T", "", "## Task 1: A", "", "Text."),
			want: "superpowers 1(1:0)", codes: "front-matter@1",
		},
		"a list of todos without any": {
			in: in("---", "todos: []", "---", "# T", "", "## Task 1: A", "", "Text."), want: "superpowers 1(1:0)",
		},
		"only a bold label that ends in a colon names criteria": {
			in: in("# T", "", "## Phase 1: A", "", "The success criteria are in the design.", "", "- [ ] a", "",
				"**Criteria**: **all of it:**", "", "- [ ] b", "", "**Criteria**", "", "- [ ] c", ""),
			want: "openspec <phase 1> 1(:0 :0 :0)",
		},
		"milestones with an acceptance gate": {
			in: in("# T", "", "## M1 - Base", "", "**Acceptance Gate (must all pass):**", "- [ ] a", "", "## M2 - Use", "",
				"Text.", "", "**Acceptance Gate:**", "- [ ] b"),
			want: "phases <milestone M1> <milestone M2> M1() M2() loose:2", codes: "unassigned-boxes@6 unassigned-boxes@13",
		},
		"days": {
			in:   in("# T", "", "## 1. Why", "", "### Day 1: Cache", "", "Text.", "", "### Day 2: Docs", "", "Text."),
			want: "phases <day 1> <day 2> 1() 2()",
		},
		"changes where there is nothing else": {
			in: in("# T", "", "## Details", "", "### Change 1: Read it", "", "Text.", "", "### Change 2: Write it", "",
				"Text."),
			want: "superpowers 1(1:0) 2(2:0)",
		},
		"a line in bold that begins with CRITICAL": {
			in: in("# T", "", "## Phase 1: A", "", "**CRITICAL**: No other phase can begin until this one is complete", "",
				"- [ ] T001 a", "- [ ] T002 b"),
			want: "spec-kit <phase 1> 1(T001:0 T002:0)",
		},
		"tasks in YAML, as PRPs list them": {
			in: in("# T", "", "## List of tasks", "- [ ] loose", "'''yaml", "# in order", "Task 1: Read it", "",
				"CREATE src/read.go:",
				"  - FIND a way", "Task 2:", "MODIFY main.go:", "  - USE it", "UPDATE nothing here", "'''", "", "Text.", "",
				"## Final checklist", "", "- [ ] it works"),
			want: "superpowers 1(1:0) 2(2:0) loose:2", codes: "unassigned-boxes@4 unassigned-boxes@21",
		},
		"YAML with one task, or below another heading": {
			in: in("# T", "", "## Tasks", "", "'''yaml", "Task 1: Read it", "'''", "", "## Example", "", "'''yaml", "Task 1: A",
				"Task 2: B", "'''", "", "## Work", "", "- [ ] c"),
			want: "openspec work(:0)",
		},
		"YAML next to headings of tasks": {
			in:   in("# T", "", "## Task 1: A", "", "## Tasks of a file", "", "'''yaml", "Task 1: A", "Task 2: B", "'''"),
			want: "superpowers 1(1:0)",
		},
		"rows of a table that counts tasks": {
			in: in("# T", "", "## Plan", "", "| # | Task | State |", "|---|---|---|", "| 1 | Read it | ✅ Done |",
				"| 2. | Show it | open |", "", "Text.", "", "| # | Risk |", "|---|---|", "| 1 | Slow |", "| 2 | Big |"),
			want: "superpowers 1(1:0+) 2(2:0)", codes: "list-as-tasks@7",
		},
		"rows of a table whose ids say what they are": {
			in: in("# T", "", "## Schedule", "", "| M | What |", "|---|---|", "| **M0** ✅ | Base |", "| M1 | Use (a ✅, b) |",
				"| Week 3 | Ship |",
				"| Phase 4 | Look |", "| Task 5 | Mend |", "| Step 6 | Go |", "| 7 | Stay |", "| T8 | |"),
			want: "superpowers M0(M0:0+) M1(M1:0) 3(3:0) 4(4:0) 5(5:0)", codes: "list-as-tasks@7 done-in-words@8",
		},
		"rows of a table below another heading, or of one row": {
			in: in("# T", "", "## Results", "", "| # | Task |", "|---|---|", "| 1 | a |", "| 2 | b |", "", "## Plan", "",
				"| # | Task |", "|---|---|", "| 1 | a |", "| total | 1 |"),
			want: "none", codes: "no-units@1",
		},
		"bullets below a heading about what remains": {
			in: in("# T", "", "## Done", "", "- a", "", "## 2. Remaining tasks (two)", "", "- Read it", "  - quickly",
				"- ~~Show it~~", "", "Text.", "", "- ✅ Ship it"),
			want: "superpowers 1(1:0) 2(2:0+) 3(3:0+)", codes: "list-as-tasks@9",
		},
		"a numbered list below the title of a plan": {
			in:   in("# Implementation Plan — Faster", "", "1. Measure", "2. Cache"),
			want: "superpowers 1(1:0) 2(2:0)", codes: "list-as-tasks@3",
		},
		"checkpoints next to phases look back": {
			in: in("# T", "", "## Phase 1: A", "", "Text.", "", "## Phase 2: B", "", "Text.", "", "## Risks", "",
				"### Checkpoint 1: After A", "", "Text."),
			want: "phases <phase 1> <phase 2> 1() 2()",
		},
		"checkpoints alone are phases": {
			in:   in("# T", "", "## Checkpoint 1: A", "", "Text.", "", "## Checkpoint 2: B", "", "Text."),
			want: "phases <checkpoint 1> <checkpoint 2> 1() 2()",
		},
		"rows of a table next to a checklist": {
			in: in("# T", "", "## 7. Steps", "", "| # | Step |", "|---|---|", "| 1 | a |", "| 2 | b |", "",
				"## Validation checklist",
				"", "- [ ] it works"),
			want: "superpowers 1(1:0) 2(2:0) loose:1", codes: "list-as-tasks@7 unassigned-boxes@12",
		},
		"numbered chapters": {
			in: in("# 1. A", "", "Text.", "", "# 2. B", "", "Text."), want: "none", codes: "no-units@1",
		},
		"a heading in the order of work that begins with an id": {
			in:   in("# T", "", "## Implementation order", "", "### W0 is first", "", "## Phase 1: A", "", "Text."),
			want: "phases <phase 1> 1()",
		},
		"ids of up to four letters": {
			in:   in("# T", "", "## Implementation order", "", "### PERF1: a", "", "Text.", "", "### FASTER2: b", "", "Text."),
			want: "superpowers PERF1(PERF1:0)",
		},
		"a numbered list below the title of a plan with chapters": {
			in: in("# Implementation Plan — Faster", "", "1. Measure", "2. Cache", "", "## Notes"), want: "none",
			codes: "no-units@1",
		},
		"YAML with a gap": {
			in:   in("# T", "", "## Task list", "", "'''yaml", "Task 1: a", "Task 3: b", "'''", "", "## Notes", "", "Text."),
			want: "superpowers 1(1:0) 3(3:0)", codes: "number-gap@7",
		},
		"steps below Progress only": {
			in:   in("# T", "", "## Progress", "", "### Step 1: a", "", "### Step 2: b"),
			want: "superpowers 1(1:0) 2(2:0)", codes: "steps-as-tasks@5",
		},
		"a numbered list of phases": {
			in:   in("# T", "", "## Phases", "", "1. a", "2. b"),
			want: "superpowers 1(1:0) 2(2:0)", codes: "list-as-tasks@5",
		},
		"boxes about the future": {
			in: in("# T", "", "## Work", "", "- [ ] a", "", "## Future enhancements (maybe)", "", "- [ ] b", "", "## 3. 将来の展望",
				"",
				"- [ ] c"),
			want: "openspec work(:0) loose:2", codes: "unassigned-boxes@9 unassigned-boxes@13",
		},
		"boxes about success metrics": {
			in:   in("# T", "", "## Work", "", "- [ ] a", "", "## Success Metrics", "", "- [ ] fast"),
			want: "openspec work(:0) loose:1", codes: "unassigned-boxes@9",
		},
		"a section without boxes between sections with boxes": {
			in: in("# T", "", "## 1. A", "", "- [ ] 1.1 a", "", "## 2. B", "", "Do it.", "", "## 3. Verification", "", "Text.",
				"", "## 4. C", "", "- [ ] 4.1 c", "", "## Notes", "", "Text."),
			want: "openspec <section 1> <section 4> 1(1.1:0) 4(4.1:0)", codes: "section-without-boxes@7",
		},
		"a priority without boxes below one with boxes": {
			in:   in("# T", "", "## P0 - Now", "", "- [ ] a", "", "## P1 - Later", "", "Do it."),
			want: "openspec <phase P0> P0(:0)", codes: "section-without-boxes@7",
		},
		"a checkpoint between numbered elements": {
			in: in("<task type=\"auto\">", "<name>Task 1: A</name>", "</task>", "<task type=\"checkpoint:human-verify\">",
				"<what-built>B</what-built>", "</task>",
				"<task type=\"auto\">", "<name>Task 2: C</name>", "</task>"),
			want: "gsd 1(1:0) 1b(1b:0) 2(2:0)", codes: "checkpoint@4",
		},
		"criteria for finished work next to slices": {
			in: in("# T", "", "## PR-1 — A", "", "1. Text.", "", "## PR-2 — B", "", "Text.", "", "## Acceptance Criteria", "",
				"- [ ] fast", "- [ ] small"),
			want: "superpowers 1(1:0) 2(2:0) loose:2", codes: "unassigned-boxes@13",
		},
		"criteria for finished work next to steps, and a report on the steps": {
			in: in("# T", "", "## Acceptance Criteria", "", "### Unit tests", "", "- [x] fast", "", "## Implementation", "",
				"### Step 1: A", "", "### Step 2: B", "", "## Progress", "", "### Step 1: A (1 session)", "", "Text."),
			want: "superpowers 1(1:0) 2(2:0) loose:1", codes: "unassigned-boxes@7 steps-as-tasks@11",
		},
		"criteria for finished work next to a numbered list": {
			in:   in("# T", "", "### Steps", "", "1. Add it", "2. Show it", "", "## Definition of Done", "", "- [ ] fast"),
			want: "superpowers 1(1:0) 2(2:0) loose:1", codes: "list-as-tasks@5 unassigned-boxes@10",
		},
		"criteria for finished work in a file that is a task": {
			in:   in("# Task 1.1: A", "", "## Steps", "", "1. b", "2. c", "", "## Acceptance criteria", "", "- [ ] fast"),
			want: "superpowers 1.1(1.1:1)",
		},
		"criteria for finished work, and nothing else": {
			in:   in("# T", "", "## What", "", "Text.", "", "## Success Criteria", "", "- [ ] fast"),
			want: "openspec success-criteria(:0)",
		},
		"units": {
			in: in("# T", "", "## Implementation Units", "", "### U1. A", "", "### U2：B", "", "**Dependencies:** U1", "",
				"## Definition of Done", "", "- [ ] fast"),
			want: "superpowers U1(U1:0) U2(U2:0) loose:1", codes: "unassigned-boxes@13",
		},
		"numbered headings below a heading that names the order": {
			in: in("# T", "", "## 4. Implementation Order (tests first)", "", "### 1. A", "", "### 2. B", "", "## 5. Risks",
				"", "### 1. C"),
			want: "superpowers 1(1:0) 2(2:0)",
		},
		"ids with letters below a heading that names the order": {
			in: in("# T", "", "### D1: A decision", "", "## Sequence", "", "### F2 — A", "", "### F3a — B", "", "### Notes", "",
				"### API V2"),
			want: "superpowers F2(F2:0) F3a(F3a:0)",
		},
		"files that are one change": {
			in: in("# T", "", "## Proposed Changes", "", "### [MODIFY] `a.go`", "", "### [NEW] `b.go`", "",
				"## Verification Plan"),
			want: "superpowers 1(1:0)",
		},
		"changes without files": {
			in:   in("# T", "", "## Proposed Changes", "", "### Backend", "", "Text."),
			want: "none", codes: "no-units@1",
		},
		"weeks, in Chinese": {
			in:   in("# T", "", "### 第1-2周：A", "", "Text.", "", "### 第3周：B", "", "Text."),
			want: "phases <week 1-2> <week 3> 1-2() 3()",
		},
		"boxes ticked with a letter": {
			in:   in("# T", "", "## A", "", "- [v] a", "- [√] b", "- [v](x) c", "- [ ] d"),
			want: "openspec a(:0+ :0+ :0)",
		},
		"a heading about the scope of the only batch": {
			in:   in("# T (Batch 1)", "", "## Batch 1 Scope Boundary", "", "Text."),
			want: "none", codes: "no-units@1",
		},
		"modules": {
			in:   in("# T", "", "## Module 1: A (30 min)", "", "Text.", "", "## Module 2: B", "", "Text."),
			want: "phases <module 1> <module 2> 1() 2()",
		},
		"a fence of another language does not contain the plan": {
			in:   in("'''go", "### Task 1: A", "'''"),
			want: "none", codes: "no-units@1",
		},
	})
}

// Tasks may be rows, items and sections that only the headings around them explain.
func TestTasksInChapters(t *testing.T) {
	checkSketches(t, map[string]sketchCase{
		"tables in phases": {
			in: in("# T", "", "### Implementation Phase 1", "", "| Task | Description | Completed | Date |", "|---|---|---|---|",
				"| TASK-001 | Read it | ✅ | 2026-01-31 |", "| TASK-002 | Show it | | |", "", "### Phase 2: B", "",
				"#### 2.1 Parts", "",
				"| ID | Prio | Beschreibung |", "|---|---|---|", "| U-1 | ✅ | Sort it |", "| U-2a | 🟡 | Cut it |", "",
				"| # | Risk |", "|---|---|", "| 1 | Slow |"),
			want: "openspec <phase 1> <phase 2> <section 2.1> 1(001:0+ 002:0) 2.1(U-1:0+ U-2a:0)",
		},
		"a table whose ids have letters, with states in words": {
			in: in("# T", "", "## Tasks", "", "| ID | Task | Status |", "|---|---|---|",
				"| ST-001 | Read it | ✅ Done (in a.go) |",
				"| 4a | Show it | in progress |"),
			want: "superpowers ST-001(ST-001:0+) 4a(4a:0)", codes: "list-as-tasks@7",
		},
		"chapters with a list of tasks each": {
			in: in("# T", "", "## 1. Reader", "", "### Tasks", "", "1. Open it", "2. ~~Close it~~", "", "### Gate", "",
				"1. It runs", "",
				"## 2. Writer", "", "### Tasks", "", "1. Write it"),
			want: "openspec <section 1> <section 2> 1(1:0 2:0+) 2(1:0)",
		},
		"two lists below the title": {
			in:    in("# T", "", "## Steps", "", "1. Open it", "", "## Remaining", "", "- Close it"),
			want:  "superpowers 1(1:0) 1-2(1:0)",
			codes: "list-as-tasks@5 duplicate-id@9",
		},
		"a list of deliverables at the end of a phase": {
			in: in("# T", "", "## Phase 1: A", "", "### 1.1 Model", "", "Text.", "", "### 1.2 Deliverables", "", "- [ ] Model",
				"",
				"## Phase 2: B", "", "### 2.1 View", "", "- [ ] View", "", "### 2.2 Use", "", "- [ ] Use"),
			want: "openspec <phase 1> <phase 2> <section 2.1> <section 2.2> 1(:0) 2.1(:0) 2.2(:0)",
		},
		"steps with other numbered sections": {
			in: in("# Implementation plan", "", "## 1. Strategy", "", "Text.", "", "## Step 1: Read", "", "Text.", "",
				"## Step 2: Show", "", "Text.", "", "## 4. Risks", ""),
			want: "superpowers 1(1:0) 2(2:0)", codes: "steps-as-tasks@7",
		},
		"steps and other lists below bold lines": {
			in: in("## Plan: Feed", "", "**Steps**", "1. Read it", "2. Show it", "", "**Verification**", "1. Look at it", "",
				"**Decisions**", "- None"),
			want: "superpowers 1(1:0) 2(2:0)", codes: "list-as-tasks@4",
		},
		"steps in bold items": {
			in:   in("# T", "", "## Etapas", "", "- **Passo 1:** Read it", "- **Passo 2:** Show it"),
			want: "superpowers 1(1:0) 2(2:0)", codes: "steps-as-tasks@5",
		},
		"ordered steps, and other names of lists": {
			in:   in("# T", "", "## 8) Ordered migration steps (part 2)", "", "1. Read it", "2. Show it"),
			want: "superpowers 1(1:0) 2(2:0)", codes: "list-as-tasks@5",
		},
		"commits": {
			in:   in("# T", "", "## Commit plan", "", "1. `feat: read it`", "2. `feat: show it`"),
			want: "superpowers 1(1:0) 2(2:0)", codes: "list-as-tasks@5",
		},
		"phases with a letter only": {
			in: in("# T", "", "### P0: Base", "", "- It runs", "", "### P1. Use", "", "- It is used", "", "### P2P network",
				"", "### P0-1: Finding", ""),
			want: "phases <phase P0> <phase P1> P0() P1()",
		},
		"versions in a roadmap": {
			in:   in("# Roadmap", "", "## v0.2 — Read", "", "- a", "", "## v0.3 — Show", "", "- b", "", "## v2 ideas", ""),
			want: "phases <version v0.2> <version v0.3> v0.2() v0.3()",
		},
		"versions in a changelog": {
			in: in("# Changelog", "", "## v0.2 — Read", "", "- a", "", "## v0.3 — Show", "", "- b"), want: "none",
			codes: "no-units@1",
		},
		"a story with finished dependencies": {
			in: in("# Story 1.6: Tools", "", "## Scope", "", "Text.", "", "## Dependencies", "", "- [x] Story 1.1: Base",
				"- [x] Story 1.2: Use"),
			want: "superpowers 1.6(1.6:0) loose:2", codes: "repeated-boxes@9",
		},
		"a file of Backlog.md": {
			in: in("---", "id: task-18", "title: Read it", "status: Done", "---", "", "## Description", "", "Text.", "",
				"## Acceptance Criteria", "", "- [x] It reads", "- [x] It shows", "", "## Implementation Plan", "", "1. Open it",
				"2. Close it"),
			want: "superpowers task-18(task-18:2+)",
		},
		"archived stories": {
			in: in("# T", "", "## Archived stories", "", "### Task 1: A", "", "Text.", "", "## More", "", "### Ticket 2: B",
				"", "Text."),
			want: "superpowers 1(1:0+) 2(2:0)",
		},
		"phases in a phase of T-items": {
			in: in("# T", "", "## Phase 1: A", "", "Text.", "", "### Phase 1.1: B", "", "- [ ] T001 a", "", "### Phase 1.2: C",
				"",
				"- [ ] T002 b"),
			want:  "spec-kit <phase 1> <phase 1.1> <phase 1.2> 1.1(T001:0) 1.2(T002:0)",
			codes: "odd-level@3",
		},
	})
}

// The columns of a table name the title, the files and the dependencies of its tasks.
func TestColumnsOfTables(t *testing.T) {
	p := parse(t, in("# Tasks", "", "| id | role | files | depends on | verify | result |", "|---|---|---|---|---|---|",
		"| T1 | coder | a.go | - | go vet | It reads |", "| T2 | tester | a_test.go | T1 | go test | It is tested |"))
	if got := p.Batches[1]; got.Title != "It is tested" || !slices.Equal(got.DependsOn, []string{"T1"}) ||
		!slices.Equal(got.Files.Modify, []string{"a_test.go"}) {
		t.Errorf("%q %v %v", got.Title, got.DependsOn, got.Files)
	}
}

// The title is in the front matter if the first heading only opens the text.
func TestTitleInFrontMatter(t *testing.T) {
	for front, want := range map[string]string{"goal: Read it": "Read it", "title: 'Show it'": "Show it",
		"id: 3": "Introduction"} {
		if got := parse(t, in("---", front, "---", "# Introduction", "", "### Task 1: A", "", "Text.")).Title; got != want {
			t.Errorf("%s: %q, want %q", front, got, want)
		}
	}
}

// A label of files may have more words, and end in a full stop.
func TestLabelsOfFiles(t *testing.T) {
	for _, label := range []string{"**Files/Functions to Modify/Create:**", "**Files to touch.**"} {
		p := parse(t, in("### Task 1: A", "", label+" `a.go`, `b.go` [NEW]"))
		if f := p.Batches[0].Files; !slices.Equal(f.Modify, []string{"a.go"}) || !slices.Equal(f.Create, []string{"b.go"}) {
			t.Errorf("%s: %v", label, f)
		}
	}
	if f := parse(t, in("### Task 1: A", "", "**Files created:** `a.go`")).Batches[0].Files; len(f.Modify) > 0 {
		t.Errorf("files that were created are read as files to modify: %v", f)
	}
}

func TestBoxTitles(t *testing.T) {
	p := parse(t, in("# T", "", "## Phase 1: A", "", "- [ ] **T001** — First", "- [ ] **T002** `[P]` — Second",
		"- [ ] T003 \\[P\\] Third", "- [ ] ~~T004 Fourth~~ dropped",
		"", "## Phase 2: B", "", "- [ ] T005 - Fifth"))
	var got []string
	for _, b := range p.Batches {
		for _, task := range b.Tasks {
			if got = append(got, task.Title); task.Parallel {
				got[len(got)-1] += " [P]"
			}
		}
	}
	if diff := cmp.Diff([]string{"First", "Second [P]", "Third [P]", "Fourth dropped", "Fifth"}, got); diff != "" {
		t.Error("-want +got:\n", diff)
	}
}

// The list of files ends at the first step; after a comma it continues on the next line.
func TestFilesListEndsAtFirstStep(t *testing.T) {
	p := parse(t, in("# T", "", "### Task 1: A", "", "**Files:**", "- Modify: `a.go`,", "  `b/c.go`;",
		"  `d.go` (its tests)", "- Create: `e.go`", "  and no `f.go`", "",
		"- [ ] `i.go`: its callers", "- [ ] `Parse(\"1\")` is wrong, and `.851` or `1.9.3-p13` follow", "- [ ] `j.go`",
		"- [ ] Add `g` in `h.toml`", "- [ ] Remove/rewrite the tests"))
	want := Files{Modify: []string{"a.go", "b/c.go", "d.go", "i.go"}, Create: []string{"e.go"}, Test: []string{},
		Delete: []string{}}
	if diff := cmp.Diff(want, p.Batches[0].Files); diff != "" {
		t.Error("-want +got:\n", diff)
	}
}

// Each item of a numbered list is a batch that is not empty, and the lines below the item belong to it.
func TestNumberedItemsAreBatches(t *testing.T) {
	p := parse(t, in("# T", "", "## Steps", "", "1. Add the table", "2. Read it", "   Run: `make`"))
	if b := p.Batches; len(b) != 2 || b[0].Empty || b[0].Title != "Add the table" || b[0].EndLine != 5 ||
		b[1].Commands[0].Run != "make" || len(p.Errors()) > 0 {
		t.Errorf("got %+v", b)
	}
	p = parse(t, in("# T", "", "## Steps", "", "1. Add it", "2. Read it", "", "Then:", "3. ~~Show it~~"))
	if b := p.Batches; len(b) != 3 || b[2].Title != "~~Show it~~" || !b[2].Done() {
		t.Errorf("an item that continues the list behind text is a batch: %+v", b)
	}
}

// A rule between two batches belongs to neither.
func TestBatchEndsBeforeRule(t *testing.T) {
	p := parse(t, in("# T", "", "### Task 1: A", "", "Do it.", "", "---", "", "### Task 2: B", "", "Do it.", "", "--"))
	if a, b := p.Batches[0], p.Batches[1]; a.EndLine != 5 || b.EndLine != 13 {
		t.Errorf("the batches end in the lines %d and %d", a.EndLine, b.EndLine)
	}
}

// A version number is not a file, and an empty box ends a list of files.
func TestVersionNumbersAreNotFiles(t *testing.T) {
	p := parse(t, in("# T", "", "### Task 1: A", "", "**Files:**", "- Modify: `x.toml` from `1.4` to `2.0.0rc1`",
		"- Modify: 2.0.0rc1", "- Modify: `v1.2.3-beta.2`, `>=3.11`, `1.x`, `1.0.dev3`",
		"- Modify: `1.2.md`, `v2.py`, `2024.01.txt`, `7z.1`, `v1.2/a`", "- [ ]"))
	want := []string{"x.toml", "1.2.md", "v2.py", "2024.01.txt", "7z.1", "v1.2/a"}
	if diff := cmp.Diff(want, p.Batches[0].Files.Modify); diff != "" {
		t.Error("-want +got:\n", diff)
	}
}

// A plan inside a code fence keeps its line numbers, and no batch contains the fence.
func TestFencedPlanKeepsLineNumbers(t *testing.T) {
	p := parse(t, in("'''md", "# T", "", "### Task 1: A", "", "- [ ] a", "'''"))
	b := p.Batches[0]
	if p.Title != "T" || b.StartLine != 4 || b.EndLine != 6 || b.Tasks[0].Steps[0].Line != 6 ||
		strings.Contains(b.Text, "```") {
		t.Errorf("title %q, lines %d to %d, step at %d, text %q", p.Title, b.StartLine, b.EndLine, b.Tasks[0].Steps[0].Line,
			b.Text)
	}
}

// If the todos of a plan are in the front matter, its body is the preamble for each of them.
func TestFrontMatterTodosShareBody(t *testing.T) {
	p := parse(t, in("---", "todos:", "  - id: a", "    content: First", "---", "", "# T", "", "Why.", "", "## How", "",
		"So."))
	if !strings.Contains(p.Preamble, "Why.") || !strings.Contains(p.Preamble, "So.") {
		t.Errorf("preamble %q", p.Preamble)
	}
}

// A label may start with ASCII letters and contain other ones.
func TestCommandLabelsMayMixScripts(t *testing.T) {
	p := parse(t, in("# T", "", "### Aufgabe 1: A", "", "Ausführen: `go test`", "Erwartet: PASS", "", "Exécuter : `make`"))
	if c := p.Batches[0].Commands; len(c) != 2 || c[0].Run != "go test" || c[0].Expected != "PASS" || c[1].Run != "make" {
		t.Errorf("%+v", c)
	}
}

// A document without batches has no briefs, so none of its lines reaches an agent.
func TestCoverageWithoutBatches(t *testing.T) {
	src := in("# T", "", "## Why", "", "Text.")
	if c := parse(t, src).Cover([]byte(src)); c.Nobody != c.Lines || c.Lines != 3 {
		t.Errorf("%+v", c)
	}
}

// The title of a GSD plan is not taken from a heading below a tag, which belongs to a summary that the plan asks for.
func TestGSDTitle(t *testing.T) {
	front := []string{"---", "phase: 06-web-dashboard", "plan: 01", "---"}
	work := []string{"<objective>", "x", "</objective>", "<task>", "<name>A</name>", "</task>", "<output>",
		"# Summary of A", "</output>"}
	if p := parse(t, in(append(front, work...)...)); p.Title != "06-web-dashboard, plan 01" {
		t.Errorf("title %q", p.Title)
	}
	if p := parse(t, in(append(append(front, "# Dashboard", ""), work...)...)); p.Title != "Dashboard" {
		t.Errorf("title %q", p.Title)
	}
}

// A horizontal rule between two tasks does not count as a line that is missing from the briefs.
func TestCoverageIgnoresHorizontalRules(t *testing.T) {
	src := in("### Task 1: A", "Text.", "", "---", "", "### Task 2: B", "Text.", "", "---", "", "## Notes", "Text.")
	c := parse(t, src).Cover([]byte(src))
	var nobody []int
	for _, r := range c.Ranges {
		if r.Kind == CoverNobody {
			nobody = append(nobody, r.First)
		}
	}
	if !slices.Equal(nobody, []int{11}) || c.Nobody != 2 {
		t.Errorf("the lines that no brief contains start at %v; there are %d", nobody, c.Nobody)
	}
}

func TestOnlyChecks(t *testing.T) {
	for name, c := range map[string]struct {
		in   string
		want bool
	}{
		"steps that run and publish": {in("### Task 1: Integration verification + push",
			"**Step 1: Run complete test suite**",
			"**Step 2: Build the page to confirm that it works**", "**Step 3: Verify new settings**", "**Step 4: Push**"), true},
		"boxes": {in("### Task 1: Verify acceptance criteria", "- [ ] Run full test suite (`make test`)",
			"- [ ] Verify coverage",
			"- [ ] update README.md if needed", "- [ ] move this plan to `docs/plans/completed/`"), true},
		"a finished step is not left to do": {in("### Task 1: Final verification", "- [x] Write tests",
			"- [ ] Run all tests"), true},
		"a command":                       {in("### Task 1: Tests", "Run: `make test`"), true},
		"a command, and a file to change": {in("### Task 1: Tests", "- Modify: `a.go`", "Run: `make test`"), false},
		"a step that writes": {in("### Task 1: Final verification", "- [ ] Run all tests",
			"- [ ] Write a report"), false},
		"checks that are code": {in("### Task 1: Input validation", "- [ ] Validate the address",
			"- [ ] Check lengths"), false},
		"a word in another word": {in("### Task 1: Checkout page", "- [ ] Build the checkout page",
			"- [ ] Run the tests"), false},
		"a verb that also asks for code": {in("### Task 1: Final polish", "- [ ] Open the menu on hover",
			"- [ ] Ensure that the token is refreshed", "- [ ] Run the tests"), false},
		"a task that builds code, next to one that runs a command": {in("# Tasks: A", "## Phase 1: B",
			"- [ ] T001 Build the login form",
			"- [ ] T002 Run `make test`"), false},
		"boxes of a batch without tasks": {in("## Batch 1: Final verification", "- [x] Write it", "- [ ] Run all tests"),
			true},
		"a box that writes": {in("## Batch 1: Final verification", "- [ ] Write it", "- [ ] Run all tests"),
			false},
		"another title": {in("### Task 1: Login form", "- [ ] Run all tests", "- [ ] Build the form"),
			false},
		"a command after other tasks": {in("# Tasks: A", "## Phase 1: B", "- [ ] T001 Add the command",
			"- [ ] T002 Run `make test`", "- [ ] T003 Commit the slice"), false},
		"a command, and its commit": {in("# Tasks: A", "## Phase 1: B", "- [x] T001 Add the command",
			"- [ ] T002 Run `make test`", "- [ ] T003 Commit the slice"), true},
		"no steps":       {in("### Task 1: Final verification", "Text."), false},
		"tests to write": {in("### Task 1: Verify", "- Test: `a_test.go`", "- [ ] Run all tests"), false},
	} {
		if got := parse(t, c.in).Batches[0].OnlyChecks(); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// "T005 Run `make`" is a check like "Run `make`", unless the command is expected to fail.
func TestLabelledRun(t *testing.T) {
	p := parse(t, in("# Tasks: A", "## Phase 1: B", "- [ ] T001 [P] Write `a.py`",
		"- [ ] T002 [P] [US1] Run `make test` and smoke it",
		"- [ ] T003 Run `pytest a.py` and confirm that it FAILS", "- [ ] T004 Run linter (`ruff check .`)"))
	if c := p.Batches[0].Commands; len(c) != 1 || c[0].Run != "make test" || c[0].Line != 4 {
		t.Errorf("%+v", c)
	}
}

// A GSD plan of type "tdd" has a feature instead of tasks; in other plans <feature> has no special meaning.
func TestGSDFeatures(t *testing.T) {
	feature := []string{"<feature>", "  <name>Validator</name>", "  <files>src/v.ts, src/v.test.ts</files>",
		"  <behavior>", "  - rejects empty files", "  </behavior>", "</feature>"}
	p := parse(t,
		in(append([]string{"---", "phase: 14-upload", "plan: 01", "type: tdd", "---", "<objective>", "Check files.",
			"</objective>"}, feature...)...))
	if b := p.Batches; p.Format != FormatGSD || len(b) != 1 || b[0].Title != "Validator" || len(b[0].Tasks) != 1 ||
		!slices.Contains(b[0].Files.Modify, "src/v.ts") || len(p.Errors()) > 0 {
		t.Errorf("format %s, %+v", p.Format, b)
	}
	if p := parse(t, in(feature...)); p.Format != FormatNone {
		t.Errorf("without front matter it is read as %s", p.Format)
	}
}

// Dependencies are read as people write them: ranges, groups, full-width stops, a note behind "None", and above the box
// that is the batch.
func TestDependenciesInProse(t *testing.T) {
	for name, c := range map[string]struct {
		in   string
		want []string // of the last batch
	}{
		"a range": {in("### Task 1: A", "### Task 2: B", "### Task 3: C", "### Task 4: D", "**Depends on:** Tasks 1-3"),
			[]string{"1", "2", "3"}},
		"a range with a dash": {in("### Task 1: A", "### Task 2: B", "### Task 3: C", "**Depends on:** Tasks 1–2 (green)"),
			[]string{"1", "2"}},
		"a range that ends nowhere": {in("### Task 1: A", "### Task 2: B", "**Depends on:** Tasks 1-9"), []string{}},
		"a range of units": {in("### U1. A", "### U2. B", "### U3. C", "**Dependencies:** U1-U2 全部完成。"),
			[]string{"U1", "U2"}},
		"a unit 0":            {in("### U0. A", "### U1. B", "**Dependencies:** U0 全部完成。"), []string{"U0"}},
		"an id with a hyphen": {in("### Task 1-2: A", "### Task 3: B", "**Depends on:** Task 1-2"), []string{"1-2"}},
		"none, and a note": {in("### Task 1: A", "### Task 2: B", "**Dependencies:** None (parallel with Task 1)"),
			[]string{}},
		"none, and a note behind a full-width sign": {
			in("### Task 1: A", "### Task 2: B", "**Dependencies:** None；可与 Task 1 并行"), []string{}},
		"none beyond another": {in("### Task 1: A", "### Task 2: B", "**Dependencies:** None beyond Task 1"), []string{"1"}},
		"none, in Chinese":    {in("### Task 1: A", "### Task 2: B", "**依赖：** 无。"), []string{}},
		"a full-width stop":   {in("### Task 1: A", "### Task 2: B", "**Dependencies:** Task 1。"), []string{"1"}},
		"a full-width list": {in("### Task 1: A", "### Task 2: B", "### Task 3: C", "**依赖：** Task 1、Task 2。"),
			[]string{"1", "2"}},
		"task groups above the item": {in("## Tasks", "#### Task Group 1: A", "**Dependencies:** None", "- [ ] 1.0 A",
			"- [ ] 1.1 a",
			"#### Task Group 2: B", "**Dependencies:** Task Groups 1", "- [ ] 2.0 B", "- [ ] 2.1 b"), []string{"1"}},
		"above several items": {in("## Tasks", "#### A", "- [ ] 1. A", "#### B", "**Dependencies:** Task 1", "- [ ] 2. B",
			"- [ ] 3. C"), []string{}},
	} {
		p := parse(t, in("# T", "", c.in))
		last := p.Batches[len(p.Batches)-1]
		if diff := cmp.Diff(c.want, last.DependsOn); diff != "" {
			t.Errorf("%s: -want +got:\n%s", name, diff)
		}
		for _, d := range p.Diagnostics {
			if strings.Contains(d.Code, "depend") && name != "a range that ends nowhere" {
				t.Errorf("%s: %s", name, d.Message)
			}
		}
	}
}

// The words between "Run" and its colon may say what is run, but then the command follows the colon. A code span that
// is code is no command.
func TestNotCommands(t *testing.T) {
	p := parse(t, in("### Task 1: A", "", "- **Run-loop tests**: call `run()` from a test", "- Run `parse()`",
		"- Run `e2e/a.spec.ts`", "- Verify: it goes `read → check`", "- Run `/review all` and fix it",
		"- **Run schema:** migrate `old rows` first", "- run-check: start it, `ls`, quit", "**Run directory:** `out/run_1`",
		"- Verify types: the result of `copy<T>(s: T): T` stays",
		"- **Verification:** someone reviews it. Then `A done` is noted",
		"- Run the linter: `make lint`"))
	var got []string
	for _, c := range p.Batches[0].Commands {
		got = append(got, c.Run)
	}
	if diff := cmp.Diff([]string{"make lint"}, got); diff != "" {
		t.Error("-want +got:\n", diff)
	}
}

// The parts of the changes that Antigravity proposes are tasks, and their headings name files by links to the machine
// of the author.
func TestProposedChanges(t *testing.T) {
	p := parse(t, in("# T", "", "## User Review Required", "", "## Proposed Changes (two parts)", "", "### 1. Backend", "",
		"#### [MODIFY] [main.go](file:///c:/Users/x/my%20app/cmd/main.go)", "- Call it.", "",
		"#### [NEW] [cmd/(a)/b.go](file:///c:/Users/x/my%20app/cmd/(a)/b.go) and [c.go](file:///c:/Users/x/my%20app/c.go)",
		"",
		"---", "", "### Frontend", "", "#### [DELETE] [old folder](file:///c:/Users/x/my%20app/web/old)", "",
		"#### [NEW] `web/new.ts`", "", "#### [NEW] [A migration]", "", "## Verification Plan", "", "### Automated Tests", "",
		"- [ ] `npm test`", "", "## Notes", "", "### Automated Tests", "", "- `npm run old`"))
	var got []Batch
	for _, b := range p.Batches {
		got = append(got, Batch{Key: b.Key, Title: b.Title, Files: b.Files, StartLine: b.StartLine})
	}
	if last := p.Batches[1]; last.EndLine != 28 || len(last.Commands) != 1 || last.Commands[0].Run != "npm test" {
		t.Errorf("the verification plan belongs to the last task, got lines to %d and %+v", last.EndLine, last.Commands)
	}
	want := []Batch{
		{Key: "1", Title: "Backend", StartLine: 7, Files: Files{Create: []string{"cmd/(a)/b.go", "c.go"},
			Modify: []string{"cmd/main.go"}, Test: []string{}, Delete: []string{}}},
		{Key: "2", Title: "Frontend", StartLine: 16, Files: Files{Create: []string{"web/new.ts"}, Modify: []string{},
			Test: []string{}, Delete: []string{"web/old"}}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error("-want +got:\n", diff)
	}
}

// Route groups and parameters of web frameworks are parts of paths.
func TestPathsOfRoutes(t *testing.T) {
	p := parse(t, in("### Task 1: A", "", "**Files:**", "- Create: `src/app/(main)/rooms/[id]/page.tsx`",
		"- Create: app/routes/posts.$id.tsx, app/routes/$.tsx", "- Create: `run(x)`, `src/a.b(c)`, `$lib`, `a=$b/c`"))
	want := []string{"src/app/(main)/rooms/[id]/page.tsx", "app/routes/posts.$id.tsx", "app/routes/$.tsx"}
	if diff := cmp.Diff(want, p.Batches[0].Files.Create); diff != "" {
		t.Error("-want +got:\n", diff)
	}
}

// Below "Automated Verification", a line that says that a command passes is a check. Other lines mention code.
func TestAutomatedVerification(t *testing.T) {
	p := parse(t, in("# T", "", "## Phase 1: A", "", "### Success Criteria:", "", "#### Automated Verification:", "",
		"- [ ] Unit tests pass: `make test unit`", "- Type checking passes: `npm run check`.",
		"- [x] Linting passes: `make lint all`",
		"- [ ] Build passes: `make build x` (fails until phase 2)", "- [ ] The table exists: `select 1`",
		"- [ ] No test passes: `a.go`", "- [ ] `make x` passes", "", "#### Manual Verification:", "",
		"- [ ] The page passes: `curl localhost`", "", "## Phase 2: B", "", "**Automated Verification**:", "",
		"- Tests pass: `go test ./...`", "", "**Notes:**", "", "- Tests pass: `go test x`"))
	var got [][]string
	for _, b := range p.Batches {
		var runs []string
		for _, c := range b.Commands {
			runs = append(runs, c.Run)
		}
		got = append(got, runs)
		if b.OnlyChecks() {
			t.Errorf("phase %s may end without a change", b.Key)
		}
	}
	if diff := cmp.Diff([][]string{{"make test unit", "npm run check", "make x"}, {"go test ./..."}}, got); diff != "" {
		t.Error("-want +got:\n", diff)
	}
}

// The notes below the tasks of a BMAD story are for all of them.
func TestDevNotes(t *testing.T) {
	src := in("# Story 1.1: A", "", "Why.", "", "## Tasks / Subtasks", "", "- [ ] Task 1: B", "- [ ] Task 2: C", "",
		"## Dev Notes", "", "Use x.", "", "### Testing", "", "With y.", "", "## Change Log", "", "None.")
	p := parse(t, src)
	if !strings.HasSuffix(p.Preamble, "## Dev Notes\n\nUse x.\n\n### Testing\n\nWith y.") ||
		!strings.Contains(p.Preamble, "Why.") {
		t.Errorf("%q", p.Preamble)
	}
	if c := p.Cover([]byte(src)); c.Nobody != 2 {
		t.Errorf("%d lines are in no brief", c.Nobody)
	}
}

// Task Master exports a task as text in which each field is a heading.
func TestTaskMasterText(t *testing.T) {
	single := parse(t, in("# Task ID: 7", "# Title: Count words", "# Status: done", "# Dependencies: 3",
		"# Description: d",
		"# Details:", "1. Count", "", "# Test Strategy:", "Run it"))
	b := single.Batches[0]
	if single.Title != "Count words" || b.Title != "Count words" || !b.Done() || b.EndLine != 10 {
		t.Errorf("a task: %q, %q, done %v, ends in line %d", single.Title, b.Title, b.Done(), b.EndLine)
	}
	p := parse(t, in("# Task ID: 7", "# Title: Count words", "# Status: pending", "# Details:", "text", "", "# Subtasks:",
		"## 1. Read [done]", "### Dependencies: None", "### Description:", "a", "## 2. Print [pending]",
		"### Dependencies: 7.1", "### Details:", "b"))
	if got := fmt.Sprint(p.Batches[0].Title, p.Batches[0].Done(), p.Batches[1].Title, p.Batches[1].Done(),
		p.Batches[1].DependsOn, len(p.Batches)); got != "ReadtruePrintfalse [1] 2" {
		t.Error("subtasks:", got)
	}
}

// Headings may be links, and a mark of done work may be between the number and the title.
func TestTitlesOfHeadings(t *testing.T) {
	p := parse(t, in("# P", "### [Task 1: Read](a/1.md)", "text", "### Task 2 ✅ — Count", "text",
		"### Task 3: Print · DONE", "text",
		"### Task 4: NOT STARTED", "text", "### Task 5 · Save", "text",
		"### Task 6: Load --- COMPLETED", "text", "### Task 7: Make the lists complete", "text"))
	var got []string
	for _, b := range p.Batches {
		got = append(got, b.Title)
	}
	said := 0
	for _, d := range p.Diagnostics {
		if d.Code == "done-in-words" {
			said++
		}
	}
	if diff := cmp.Diff([]string{"Read", "Count ✅", "Print · DONE", "NOT STARTED", "Save", "Load --- COMPLETED",
		"Make the lists complete"}, got); diff != "" || said != 3 {
		t.Errorf("%d are done in words; -want +got:\n%s", said, diff)
	}
}

// "_Depends: 1.2_" in an item and "(Depends on: Task 1)" in a title order batches, but only after earlier ones.
func TestRemarksAboutDependencies(t *testing.T) {
	p := parse(t, in("- [ ] 1. A", "  - [ ] 1.1 a", "    - _Depends: 3.1_", "- [ ] 2. B", "  - [ ] 2.1 b", "- [ ] 3. C",
		"  - [ ] 3.1 c", "    - _Depends: 1.1, 2.1_", "- [ ] 4. **D** (Depends on: Task 3 - C comes first)", "  - [ ] 4.1 d"))
	var got [][]string
	for _, b := range p.Batches {
		got = append(got, b.DependsOn)
	}
	if diff := cmp.Diff([][]string{{}, {}, {"1", "2"}, {"3"}}, got); diff != "" {
		t.Error("-want +got:\n", diff)
	}
}

// Commands that check the result: the fence of a step that runs something which passes, the lines of "Verification"
// and the lines of <verify>.
func TestChecksWithoutLabels(t *testing.T) {
	fence := "```"
	for name, c := range map[string]struct {
		in   string
		want string
	}{
		"a step that says that it passes": {in("### Task 1: A", "- [ ] **Step 1: Run the tests, they fail**", fence+"bash",
			"make a", fence,
			"Expected: FAIL", "- [ ] **Step 2: Run and confirm that all tests pass**", fence+"bash", "make b", fence,
			"Expected: `4 ok`"),
			"[make b|PASS]"},
		"a result below the fence": {in("### Task 1: A", "- [ ] **Step 1: Verify it builds**", fence+"sh", "make c", fence,
			"Expected: PASS",
			"- [ ] **Step 2: Run the server**", fence+"sh", "make d", fence, "Expected: a page"), "[make c|PASS]"},
		"verification": {in("### Step 1: A", "**Verification**", "- `make e`", "- `make f` passes", "- `npm run dev`",
			"- `GET /health`",
			"- `curl localhost:<port>`", "", "### Step 2: B", "Exit criteria:", "- `make g -s` succeeds",
			"- `make h` shows a list"),
			"[make e|] [make f|] [make g -s|]"},
		"gsd": {in("<task>", "<name>A</name>", "<verify>", "go test ./...", "- `make i` succeeds", "npm test passes for all",
			"The page is there.",
			"</verify>", "</task>"), "[go test ./...|PASS] [make i|PASS]"},
	} {
		var got []string
		for _, b := range parse(t, c.in).Batches {
			for _, run := range b.Commands {
				got = append(got, "["+run.Run+"|"+run.Expected+"]")
			}
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%s: got %s, want %s", name, got, c.want)
		}
	}
}

// A phase that the text mentions before the one with the boxes is no second phase; boxes in the weeks of a schedule
// are work if the phases have none; Chinese counts phases without a prefix.
func TestPhasesElsewhere(t *testing.T) {
	checkSketches(t, map[string]sketchCase{
		"mentioned first": {in: in("# P", "## Design", "### Phase 1: Sketch", "text", "## Work", "### Phase 1: A", "- [ ] a"),
			want: "openspec <phase 1> 1(:0)", codes: "section-without-boxes@3"},
		"weeks": {in: in("# P", "## Phase 1: A", "text", "## Schedule", "### Week 1: B", "- [ ] b", "### Week 2: C",
			"- [ ] c"),
			want: "openspec <phase 1> <week 1> <week 2> 1() 1-2(:0) 2(:0)", codes: "duplicate-id@5"},
		"一期": {in: in("# P", "## 三期实施计划", "## 一期（MVP）", "a", "## 二期（增强）", "b"),
			want: "phases <phase 1> <phase 2> 1() 2()", codes: "near-miss-heading@2"},
	})
}

// The lines of a PRP name the files of its tasks, and the fence ends with the last task.
func TestTasksInYAML(t *testing.T) {
	p := parse(t, in("# T", "", "## Tasks", "", "'''yaml", "Task 1: Read it", "CREATE src/read.go:", "  - a reader",
		"Task 2:", "DELETE old.go", "CREATE the docs", "'''", "", "Text."))
	var got []string
	for _, b := range p.Batches {
		got = append(got, fmt.Sprint(b.Title, b.Files.Create, b.Files.Delete, b.StartLine, b.EndLine))
	}
	want := []string{"Read it[src/read.go] [] 6 8", "DELETE old.go[] [old.go] 9 11"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error("-want +got:\n", diff)
	}
}

// A "## Verification Plan" shows that the parts of the proposed changes are the plan, even if they name no file.
func TestProposedChangesWithoutFiles(t *testing.T) {
	for _, c := range []struct{ changes, end, want string }{
		{"## Proposed Changes", "## Verification Plan", "superpowers 1(1:0) 2(2:0)"},
		{"## Key Changes", "## Test Plan", "superpowers 1(1:0) 2(2:0)"},
		{"## Implementation Changes (two)", "## Test Plan", "superpowers 1(1:0) 2(2:0)"},
		{"## Key Changes", "## Notes", "none"},
		{"## Changes", "## Test Plan", "none"},
	} {
		p := parse(t, in("# T", "", c.changes, "", "### Server", "", "- Answer.", "", "### Page", "", "- Ask.", "",
			c.end, "", "Text."))
		if got := sketch(p); got != c.want {
			t.Errorf("%s, %s: got %s, want %s", c.changes, c.end, got, c.want)
		}
	}
}

// The text of a row is the title of its task, and the table ends with the last row.
func TestRowsOfTables(t *testing.T) {
	p := parse(t, in("# T", "", "## Plan", "", "| # | Task | How | State |", "|---|---|---|---|",
		"| 1 | Read it | quickly | - [x] |",
		"| 2 | Show it | | done |", "Text.", "", "More."))
	var got []string
	for _, b := range p.Batches {
		got = append(got, fmt.Sprint(b.Title, " ", b.StartLine, b.EndLine, b.Empty, b.Done()))
	}
	if diff := cmp.Diff([]string{"Read it — quickly — - [x] 7 7 false false", "Show it 8 8 false true"}, got); diff != "" {
		t.Error("-want +got:\n", diff)
	}
}

// Headings that mention a phase do not open one: the phase of the title, and phases without a separator whose numbers
// repeat.
func TestMentionsOfPhases(t *testing.T) {
	checkSketches(t, map[string]sketchCase{
		"the phase of the title": {
			in: in("# Phase 3: Roll out", "## Phase 2 achievements", "text", "## Phase 3 goals", "text",
				"### 3.1 Measure", "- [ ] a", "### 3.2 Tune", "- [ ] b"),
			want:  "openspec <section 3.1> <section 3.2> 3.1(:0) 3.2(:0)",
			codes: "near-miss-heading@2 near-miss-heading@4",
		},
		"a report": {
			in:   in("# Work report", "## Phase 3 achievements", "text", "## Phase 3 numbers", "text"),
			want: "none", codes: "no-units@1 near-miss-heading@2 near-miss-heading@4",
		},
		"chunks with the numbers of phases": {
			in:   in("# Plan", "## Work", "### Chunk 1: Read", "text", "### Chunk 2: Write", "text", "## Phase 1: Save", "text"),
			want: "phases <chunk 1> <chunk 2> <phase 1> 1() 2() 1-2()", codes: "duplicate-id@7",
		},
		"the review of a story": {
			in: in("# Story 5.1: Read", "## Tasks", "- [x] **Task 1: Open** (AC: 1)", "- [x] **Task 2: Parse**",
				"## Review", "### Task completion", "- **Task 1:** 2/2 complete", "- **Task 2:** 1/1 complete"),
			want: "kiro 1(1:0+) 2(2:0+)",
		},
		"versions in other languages": {
			in:   in("# План развития", "## Версия 1.1.0 (скоро)", "text", "## Версия 1.2.0", "text"),
			want: "phases <version 1.1.0> <version 1.2.0> 1.1.0() 1.2.0()",
		},
		"checkpoints of a spec-kit": {
			in: in("# T", "## Phase 1: Read", "- [ ] T001 a", "- [ ] T002 b", "## Checkpoints", "### Checkpoint 1: It reads",
				"text"),
			want: "spec-kit <phase 1> 1(T001:0 T002:0)",
		},
		"phases beside steps with boxes": {
			in: in("# Plan", "## Milestones", "1. **Phase 1** (now):", "2. **Phase 2** (later):", "## Work",
				"### Step 1: Read", "- [ ] a", "### Step 2: Write", "- [ ] b"),
			want: "openspec step-1-read(:0) step-2-write(:0)",
		},
		"sections of a numbered section": {
			in:   in("# T", "## 1. Findings", "text", "## 2. Checklist", "### Reading", "- [ ] a", "### Writing", "- [ ] b"),
			want: "openspec reading(:0) writing(:0)",
		},
		"weeks again": {
			in: in("# Plan", "## Week 1: Read", "text", "### Day 1: Open", "text", "### Day 2: Parse", "text",
				"## Success criteria", "### Week 1", "text"),
			want: "phases <week 1> <day 1> <day 2> 1() 2()",
		},
		"no separators": {
			in:   in("# Plan", "## Phase 1 Read", "text", "## Phase 2 Write", "text"),
			want: "phases <phase 1> <phase 2> 1() 2()", codes: "missing-separator@2 missing-separator@4",
		},
	})
}

// A phase keeps the boxes of its sections if another section has no box, because that one may be work too.
func TestPhasesWithMixedSections(t *testing.T) {
	phase := func(n int, second ...string) []string {
		return append([]string{fmt.Sprintf("## Phase %d: P", n), fmt.Sprintf("### %d.1 A", n), "- [ ] a"}, second...)
	}
	lines := slices.Concat([]string{"# T"}, phase(1, "### 1.2 B", "text", "### 1.3 C", "- [ ] c"),
		phase(2, "### 2.2 B", "- [ ] b"), phase(3, "### 3.2 B", "- [ ] b", "### 3.3 Validation", "text"),
		[]string{"## Phase 4: P", "### Week 4: A", "text", "### Week 5: B", "- [ ] b"})
	want := "openspec <phase 1> <phase 2> <section 2.1> <section 2.2> <phase 3> <section 3.1> <section 3.2> <phase 4> " +
		"1(:0 :0) 2.1(:0) 2.2(:0) 3.1(:0) 3.2(:0) 4(:0)"
	if got := sketch(parse(t, in(lines...))); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// The ids of headings below a heading about the order of the work may be letters, and headings below "## Planned" need
// none.
func TestHeadingsWithoutNumbers(t *testing.T) {
	checkSketches(t, map[string]sketchCase{
		"letters": {in: in("# T", "## Detailed implementation plan", "### A. Read", "text", "### B. Write", "text",
			"### A note", "text"), want: "superpowers A(A:0) B(B:0)"},
		"numbers with letters": {in: in("# T", "## Decomposition", "### 3a — Read", "text", "### 3b — Write", "text",
			"### 3rd parties", "text"), want: "superpowers 3a(3a:0) 3b(3b:0)"},
		"planned": {in: in("# Roadmap", "## Shipped", "### Read", "text", "## Planned", "### Write", "text", "### Print",
			"text", "#### How", "text"), want: "superpowers 1(1:0) 2(2:0)"},
		"a sequence": {in: in("# T", "## Implementation sequence", "### 1. Read", "text", "### 2. Write", "text"),
			want: "superpowers 1(1:0) 2(2:0)"},
		"the phases of the development": {in: in("# T", "## Development phases", "### 1. Read", "text", "### 2. Write",
			"text"), want: "superpowers 1(1:0) 2(2:0)"},
		"increments": {in: in("# T", "## Increments", "### 1. Read", "text", "### 2. Write", "text"),
			want: "superpowers 1(1:0) 2(2:0)"},
		"increments and streams": {in: in("# T", "## Increment 1: Read", "text", "## Stream A — Write", "text"),
			want: "phases <increment 1> <stream A> 1() A()"},
		"numbered slices": {in: in("# T", "## 2. Slice 1: Read", "### 2.1 Exit criteria", "- [ ] a", "## 3. Slice 2: Write",
			"### 3.1 Exit criteria", "- [ ] b"), want: "superpowers 1(1:1) 2(2:1)"},
		"the title": {in: in("# Tasks", "## Keep the order", "### Problem", "text"), want: "superpowers 1(1:0)"},
	})
}

// The chapter of headings such as "#### [NEW] a.go" may have any name, and the check behind it too.
func TestProposedChangesInOtherWords(t *testing.T) {
	p := parse(t, in("# T", "## Was sich ändert", "### Server", "#### [MODIFY] a.go", "### Page", "#### [NEW] b.go",
		"## Überprüfung", "Run: `make`"))
	var got []string
	for _, b := range p.Batches {
		got = append(got, fmt.Sprint(b.Title, b.Files.Create, b.Files.Modify, len(b.Commands)))
	}
	if diff := cmp.Diff([]string{"Server[] [a.go] 0", "Page[b.go] [] 1"}, got); diff != "" {
		t.Error("-want +got:\n", diff)
	}
}

// Lists, tables, links and bold lines below a heading about the work are the plan in these forms too.
func TestPlansInOtherForms(t *testing.T) {
	checkSketches(t, map[string]sketchCase{
		"a release, after a phase that is named in passing": {in: in("# T", "### Phase 2 — costs", "text",
			"## Implementation plan — release 1 (cheap)", "### B0 — Read", "text", "### I1 — Write", "text", "### Risks", "text"),
			want: "superpowers B0(B0:0) I1(I1:0)"},
		"ids with a hyphen need no separator": {in: in("# T", "## Work plan", "### P33-T1 Read", "text", "### P33-T2 Write",
			"text"), want: "superpowers P33-T1(P33-T1:0) P33-T2(P33-T2:0)"},
		"a stage that is named again in itself": {in: in("# T", "## Stage 1 — Read", "text", "### Stage 1 — DONE", "text",
			"## Stage 2 — Write", "text"), want: "phases <stage 1> <stage 2> 1() 2()"},
		"a phase with boxes in one of the same number": {in: in("# T", "## Phase 1: Read", "- [ ] a", "### Phase 1: Write",
			"- [ ] b"), want: "openspec <phase 1> <phase 1> 1(:0) 1-2(:0)", codes: "duplicate-id@4"},
		"phases of the future": {in: in("# T", "## Step 1: Read", "text", "## Step 2: Write", "text", "## Future phases",
			"### Phase 7: Print", "text"), want: "superpowers 1(1:0) 2(2:0)", codes: "steps-as-tasks@2"},
		"only phases of the future": {in: in("# T", "## Future phases", "### Phase 7: Print", "text", "### Phase 8+ - Sell",
			"text"), want: "phases <phase 7> <phase 8+> 7() 8()"},
		"numbered headings below what remains": {in: in("# T", "## Done", "### Read", "text", "## Remaining work, by priority",
			"### 1. Write", "text", "### 2. Print", "text"), want: "superpowers 1(1:0) 2(2:0)"},
		"open questions": {in: in("# T", "## Phase 1: Read", "- [ ] a", "## Open questions", "- [ ] Which one?"),
			want: "openspec <phase 1> 1(:0) loose:1", codes: "unassigned-boxes@5"},
		"the horizons of a roadmap": {in: in("# Roadmap", "## Now (next release)", "- Read", "## Near term", "- Write",
			"## Non-goals", "- Print"), want: "superpowers 1(1:0) 1-2(1:0)", codes: "list-as-tasks@3 duplicate-id@5"},
		"an order of delivery": {in: in("# T", "## Delivery order", "1. Read", "2. Write"),
			want: "superpowers 1(1:0) 2(2:0)", codes: "list-as-tasks@3"},
		"Turkish phases": {in: in("# T", "## Faz 0 — Oku", "text", "## Faz 1 — Yaz", "text"),
			want: "phases <phase 0> <phase 1> 0() 1()"},
		"links to the files of the phases": {in: in("# T", "## Phases", "- [Phase 1](phase-1.md) - Read",
			"- [Phase2.md](./Phase2.md) - Write"), want: "phases <phase 1> <phase 2> 1() 2()"},
		"links elsewhere": {in: in("# T", "## Related", "- [Phase 1](phase-1.md) - Read", "- [Phase 2](phase-2.md) - Write"),
			want: "none", codes: "no-units@1"},
		"text behind bold phases": {in: in("# T", "## Phasing", "**Phase 0 — Read (2 weeks).** Read it all.", "",
			"**Phase 1 — Write.** Write it all."), want: "phases <phase 0> <phase 1> 0() 1()"},
		"numbers that are joined with the keyword": {in: in("# T", "### **PR1: Read** ✅", "text", "### PR2: Write", "text",
			"### Phase3d printing", "text"), want: "superpowers 1(1:0) 2(2:0)", codes: "done-in-words@2"},
		"accents that are left out": {in: in("# T", "## 8. Ordem de Implementacao", "1. Read", "2. Write"),
			want: "superpowers 1(1:0) 2(2:0)", codes: "list-as-tasks@3"},
		"subtasks": {in: in("# T", "## Subtasks", "1. Read", "2. Write"), want: "superpowers 1(1:0) 2(2:0)",
			codes: "list-as-tasks@3"},
		"step by step": {in: in("# T", "## 5. Step-by-step implementation plan (tests first)", "1. Read", "2. Write"),
			want: "superpowers 1(1:0) 2(2:0)", codes: "list-as-tasks@3"},
		"a table of slices": {in: in("# T", "## Work breakdown (slices)", "| Slice ID | Title |", "|---|---|", "| S1 | Read |",
			"| S2 | Write |"), want: "superpowers S1(S1:0) S2(S2:0)", codes: "list-as-tasks@5"},
		"tasks in chapters, with criteria": {in: in("# T", "## Core tasks（核心）", "### 1. Read", "text", "## Test tasks",
			"### 2. Write", "text", "## Acceptance criteria", "- [ ] a", "- [ ] b"),
			want: "superpowers 1(1:0) 2(2:0) loose:2", codes: "unassigned-boxes@9"},
		"a list of work in chapters": {in: in("# TODO", "## Read", "- a", "- b", "## Write", "- c", "## Future work", "- d",
			"## Done", "- e"), want: "openspec read(1:0 2:0) write(1:0) loose:1", codes: "unassigned-boxes@8"},
		"workstreams with acceptance": {in: in("# T", "## 1. Context", "text", "## 2. WS0 — Read", "text",
			"### 2.1 Acceptance", "- [ ] a", "## 3. WS1 — Write", "text", "## 4. Risks", "text"),
			want: "phases <workstream WS0> <workstream WS1> WS0() WS1() loose:1", codes: "unassigned-boxes@7"},
		"requirements beside work": {in: in("# T", "## Requirements", "- [ ] a", "## To do", "- [ ] b"),
			want: "openspec to-do(:0) loose:1", codes: "unassigned-boxes@3"},
		"a file that is a phase": {in: in("# Phase 3: Read", "text", "## Criteria", "- [ ] a"), want: "superpowers 3(3:1)"},
		"a report about a phase": {in: in("# Phase 3: Verification report", "text"), want: "none", codes: "no-units@1"},
		"changes with a German check": {in: in("# T", "## Änderungen", "### 1. `a.go`", "text", "## Verifikation", "text"),
			want: "superpowers 1(1:0)"},
	})
	p := parse(t, in("# T", "## Status", "- [x] **Stage 1 — Read.** It reads.", "- [ ] Stage 3 — Print", "## Stage 1 — Read",
		"text", "## Stage 2 — Write", "text"))
	if steps := p.Batches[0].Steps; len(steps) != 1 || !steps[0].Done {
		t.Errorf("the status list gives stage 1 the steps %v, want one that is done", steps)
	}
	if p := parse(t, in("# T", `<task id="1" title="Read">`, "text", "</task>")); p.Batches[0].Title != "Read" {
		t.Errorf("the title of the element is %q, want Read", p.Batches[0].Title)
	}
}
