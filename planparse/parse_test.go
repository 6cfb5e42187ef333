package planparse

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// sketch returns the content of a plan in one line: format, groups, and batches with their tasks and the number of
// steps of each; "+" marks completed tasks.
func sketch(p *Plan) string {
	var s strings.Builder
	fmt.Fprintf(&s, "%s", p.Format)
	for _, g := range p.Groups {
		fmt.Fprintf(&s, " <%s %s>", g.Kind, g.Number)
	}
	for _, b := range p.Batches {
		fmt.Fprintf(&s, " %s(", b.Key)
		for i, t := range b.Tasks {
			if i > 0 {
				s.WriteByte(' ')
			}
			fmt.Fprintf(&s, "%s:%d", t.Number, len(t.Steps))
			if t.Done {
				s.WriteByte('+')
			}
		}
		s.WriteByte(')')
	}
	if len(p.Unassigned) > 0 {
		fmt.Fprintf(&s, " loose:%d", len(p.Unassigned))
	}
	return s.String()
}

func codes(p *Plan) string {
	var out []string
	for _, d := range p.Diagnostics {
		out = append(out, fmt.Sprintf("%s@%d", d.Code, d.Line))
	}
	return strings.Join(out, " ")
}

// in joins the lines of a plan; three single quotes become a code fence.
func in(lines ...string) string {
	src := strings.ReplaceAll(strings.Join(lines, "\n"), "'''", "```") + "\n"
	for strings.Contains(src, "`'") { // longer fences
		src = strings.ReplaceAll(src, "`'", "``")
	}
	return src
}

func parse(t *testing.T, src string) *Plan {
	t.Helper()
	p, err := Parse("plan.md", []byte(src))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

type sketchCase struct{ in, want, codes string }

func checkSketches(t *testing.T, cases map[string]sketchCase) {
	t.Helper()
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			p := parse(t, c.in)
			if diff := cmp.Diff(c.want, sketch(p)); diff != "" {
				t.Error("plan (-want +got):\n", diff)
			}
			if diff := cmp.Diff(c.codes, codes(p)); diff != "" {
				t.Error("diagnostics (-want +got):\n", diff)
			}
		})
	}
}

func TestParseRefusesInvalidFiles(t *testing.T) {
	for name, c := range map[string]struct {
		in   string
		want error
	}{
		"an empty file":                        {"", ErrEmpty},
		"blank lines only":                     {"\n \t\r\n", ErrEmpty},
		"a byte order mark only":               {"\uFEFF", ErrEmpty},
		"a file with NUL bytes":                {"# A\x00B", ErrBinary},
		"a file in a one-byte encoding":        {strings.Repeat("\xe4\xf6", 40), ErrBinary},
		"a file of more than sixteen mebibyte": {strings.Repeat("x", MaxSize+1), ErrTooBig},
	} {
		if _, err := Parse("p.md", []byte(c.in)); !errors.Is(err, c.want) || !strings.Contains(err.Error(), "p.md") {
			t.Errorf("%s: got error %v, want %v", name, err, c.want)
		}
	}
	p, err := Parse("p.md", []byte("## Batch 1: A\n\nsome text, one stray byte: \xe4, and more text behind it\n"))
	if err != nil || codes(p) != "not-utf8@1" {
		t.Errorf("an invalid byte must not prevent reading the plan, and is reported: %v %s", err, codes(p))
	}
	p = parse(t, "# Notes\n\nJust prose.\n")
	if got := codes(p); got != "no-units@1" || len(p.Errors()) != 1 {
		t.Errorf("prose without any unit must be an error, got %s", got)
	}
}

func TestRunPlan(t *testing.T) {
	checkSketches(t, map[string]sketchCase{
		"batches hold tasks, and a heading of their level ends them": {
			in: in("# P", "## Batch 1: A", "### Task 1: x", "**Step 1: y**", "### Task 2: z", "## Batch 2: B", "### Task 3: u",
				"## Running", "- [ ] no"),
			want: "run-plan <batch 1> <batch 2> 1(1:1 2:0) 2(3:0) loose:1", codes: "unassigned-boxes@9",
		},
		"gates, summaries and templates are no batches": {
			in: in("# P", "## Batch 1: A", "### Task 1: x", "### Batch 1 Gate", "### Batch 3 Quality Gate (Final)",
				"### Batch Processing Script", "## Batch N Summary"),
			want: "run-plan <batch 1> 1(1:0)",
		},
		"batches one level deeper, with ids that are no numbers": {
			in:   in("# P", "### Phase 1", "#### Batch 1A: x", "text", "#### Batch 2c-i — y", "text", "#### Batch 0: z", "text"),
			want: "run-plan <batch 1A> <batch 2c-i> <batch 0> 1A() 2c-i() 0()",
		},
		"a parenthesis instead of a colon, and a task without a number": {
			in:    in("# P", "## Batch 0: A", "### Task 1 (Batch 0): Title", "### Task: Verify it"),
			want:  "run-plan <batch 0> 0(1:0 :0)",
			codes: "unnumbered-task@4",
		},
		"a fence hides headings and boxes": {
			in:   in("## Batch 1: A", "### Task 1: x", "'''markdown", "## Batch 2: no", "### Task 9: no", "- [ ] no", "'''"),
			want: "run-plan <batch 1> 1(1:0)",
		},
		"quotes, comments and indented code hide headings": {
			in: in("## Batch 1: A", "### Task 1: x", "> ## Batch 2: no", "", "<!--", "## Batch 3: no", "- [ ] no", "-->", "",
				"    ## Batch 4: no"),
			want: "run-plan <batch 1> 1(1:0)", codes: "near-miss-heading@10",
		},
		"a number used twice is an error": {
			in:    in("## Batch 1: A", "text", "## Batch 1: B", "text"),
			want:  "run-plan <batch 1> <batch 1> 1() 1-2()",
			codes: "duplicate-batch@3",
		},
		"task numbers may start again in each batch": {
			in:   in("## Batch 1: A", "### Task 1: x", "## Batch 2: B", "### Task 1: x"),
			want: "run-plan <batch 1> <batch 2> 1(1:0) 2(1:0)",
		},
		"a task outside of all batches is not lost": {
			in:    in("## Batch 1: A", "### Task 1: x", "## Wiring", "### Task 2: y", "### Task 3: z"),
			want:  "run-plan <batch 1> 1(1:0) 2(2:0) 3(3:0)",
			codes: "task-outside-batch@4 task-outside-batch@5",
		},
		"a skipped number is worth a warning": {
			in:    in("## Batch 1: A", "text", "## Batch 3: B", "text"),
			want:  "run-plan <batch 1> <batch 3> 1() 3()",
			codes: "number-gap@3",
		},
		"a letter behind a number takes no number": {
			in:   in("## Batch 1: A", "text", "## Batch 2a: B", "text", "## Batch 2b: C", "text", "## Batch 3: D", "text"),
			want: "run-plan <batch 1> <batch 2a> <batch 2b> <batch 3> 1() 2a() 2b() 3()",
		},
		"the title of the plan is not a batch": {
			in:   in("# Phase 3: Generator", "## Batch 1: A", "text"),
			want: "run-plan <batch 1> 1()",
		},
	})
}

func TestTaskPlans(t *testing.T) {
	checkSketches(t, map[string]sketchCase{
		"each task is a batch; boxes are its steps": {
			in:   in("# P", "### Task 1: A", "- [x] **Step 1: a**", "- [x] b", "### Task 2: B", "- [ ] c"),
			want: "superpowers 1(1:2+) 2(2:1)",
		},
		"all separators, and ids as they come": {
			in: in("# P", "## Task 1: a", "## Task 2 — b", "## Task 3 – c", "## Task 4 - d", "## Task 5. e", "## Task 6 (note)",
				"## Task 7",
				"## Task B: h", "## Task D1.1: i", "## Task 0A: j", "## Task N-1: k", "## Task 8： l", "## ➕ Task A1: m",
				"## **Task 9: n**", "## Task 4b (➕ follow-up): o"),
			want: "superpowers 1(1:0) 2(2:0) 3(3:0) 4(4:0) 5(5:0) 6(6:0) 7(7:0) B(B:0) D1.1(D1.1:0) 0A(0A:0) N-1(N-1:0) " +
				"8(8:0) A1(A1:0) 9(9:0) 4b(4b:0)",
		},
		"headings about tasks are no tasks": {
			in: in("# P", "## Tasks", "## Task Dependencies", "## Task Checklist", "## Task dependency order",
				"## Tasks 5–8: group", "### Task 1: A",
				"### Task 3 progress note (2026-05-13)"),
			want:  "superpowers 1(1:0)",
			codes: "near-miss-heading@8",
		},
		"an id with plain text behind it is named": {
			in:    in("### Task 1: A", "- [ ] a", "### Task 2 do it", "- [ ] b"),
			want:  "superpowers 1(1:1) loose:1",
			codes: "near-miss-heading@3 unassigned-boxes@4",
		},
		"an author who never writes a separator is understood": {
			in:    in("### Task 1 Do this", "### Task 2 Do that"),
			want:  "superpowers 1(1:0) 2(2:0)",
			codes: "missing-separator@1 missing-separator@2",
		},
		"a task in a task keeps its parent's batch": {
			in: in("## Task 9: A", "- [ ] a", "## Task 10: B", "### Task 10a: C", "- [ ] c", "### Task 10b: D", "- [ ] d",
				"### Notes", "- [ ] e", "## Task 11: E"),
			want: "superpowers 9(9:1) 10(10:1 10a:1 10b:1) 11(11:0)",
		},
		"phases, chunks, waves and tracks that hold tasks are groups": {
			in: in("# P", "# PHASE 1 — a", "## Task 1.1: A", "# PHASE 2 - b", "## Task 2.1: B", "# Post-migration",
				"## Task 3: C"),
			want: "superpowers <phase 1> <phase 2> 1.1(1.1:0) 2.1(2.1:0) 3(3:0)",
		},
		"a wave and its tasks may share a level": {
			in: in("# P", "## Wave 1 (parallel):", "## Task 1: A", "## Task 2: B", "## Track D1 — x", "## Task 3: C",
				"## Phase Dependencies"),
			want: "superpowers <wave 1> <track D1> 1(1:0) 2(2:0) 3(3:0)",
		},
		"a group with steps but no task runs too": {
			in:    in("# P", "## Chunk 1: a", "### Task 1: A", "## Chunk 2: b", "- [ ] **Step 1: x**"),
			want:  "superpowers <chunk 1> 1(1:0) 2() loose:1",
			codes: "steps-without-task@4 unassigned-boxes@5",
		},
		"and so does one whose steps are headings": {
			in:    in("# P", "## Chunk 1: a", "### Task 1: A", "## Chunk 2: b", "### Step 1: x", "### Step 2: y"),
			want:  "superpowers <chunk 1> 1(1:0) 2()",
			codes: "steps-without-task@4",
		},
		"and so does one that is only text, beside groups with tasks": {
			in: in("# P", "## Phase 1: a", "### Task 1: A", "", "## Phase 2: b", "", "### Goal", "", "Write it.", "",
				"## Phase 3: c ✅", "", "Was written.", "", "## Phase 4: empty"),
			want:  "superpowers <phase 1> 1(1:0) 2()",
			codes: "steps-without-task@5",
		},
		"but not one that is mentioned elsewhere or again": {
			in: in("# P", "## Phase 1: a", "### Task 1: A", "", "## Order", "", "### Phase 2: b", "", "Later.", "",
				"## Phase 1: a", "", "It takes a day."),
			want: "superpowers <phase 1> 1(1:0)",
		},
		"only the boxes of a task count for it": {
			in: in("# P", "## Success criteria", "- [ ] no", "### Task 1: A", "- [x] yes", "#### Detail", "- [x] yes",
				"## Post-Completion", "- [ ] no"),
			want:  "superpowers 1(1:2+) loose:2",
			codes: "unassigned-boxes@3 unassigned-boxes@9",
		},
		"ids with a prefix, and tasks as headings of the first level": {
			in:   in("# Task 1: A", "text", "# Task 2: B", "### Note", "# Task FE-3: C"),
			want: "superpowers 1(1:0) 2(2:0) FE-3(FE-3:0)",
		},
		"a single heading of the first level is the title, whatever it says": {
			in: in("# TASK-006: Pause", "## Task 1: A"), want: "superpowers 1(1:0)",
		},
		"steps are tasks where there is nothing else": {
			in: in("# How", "## Step 1: A", "text", "## Step 2: B"), want: "superpowers 1(1:0) 2(2:0)",
			codes: "steps-as-tasks@2",
		},
		"ralphex writes iterations, and numbered headings below Tasks": {
			in:   in("# P", "## Tasks", "### 1. A", "- [x] a", "### 2. B", "- [ ] b"),
			want: "superpowers 1(1:1+) 2(2:1)",
		},
		"step markers are steps: bold, as headings, in boxes": {
			in: in("### Task 1: A", "**Step 1: a**", "#### Step 2.1 — b", "- [ ] **Step 3:** c", "text",
				"**Step N: template**"),
			want: "superpowers 1(1:3)",
		},
		"unusual boxes are read and named": {
			in:    in("### Task 1: A", "* [ ] a", "1. [ ] b", "+ [x] c", "-[ ] d"),
			want:  "superpowers 1(1:3)",
			codes: "unusual-box@2 near-miss-box@5",
		},
		"numbered boxes right below text are read": {
			in:   in("### Task 1: A", "text", "2. [ ] b", "3) [x] c", "4x [ ] d", "5.[ ] e", "6. [a] f", "7. g"),
			want: "superpowers 1(1:2)", codes: "unusual-box@3",
		},
		"a title that others continue is read as the title": {
			in: in("# Task 1: A", "text", "## Task 2: B", "text"), want: "superpowers 2(2:0)", codes: "near-miss-heading@1",
		},
		"a box without a blank behind the dash is text": {
			in: in("### Task 1: A", "", "-[ ] d"), want: "superpowers 1(1:0)", codes: "near-miss-box@3",
		},
		"a box in indented code is not a task, and is reported": {
			in: in("### Task 1: A", "", "    - [ ] d"), want: "superpowers 1(1:0)", codes: "near-miss-box@3",
		},
		"a dropped box is not done": {
			in: in("### Task 1: A", "- [x] a", "- [~] b"), want: "superpowers 1(1:2)", codes: "unknown-state@3",
		},
		"an underlined line is not a heading": {
			in: in("### Task 1: A", "", "Status: open", "---", "", "Task 2: B", "======"), want: "superpowers 1(1:0)",
			codes: "near-miss-heading@6",
		},
		"flat numbered items below task headings are the steps of a hybrid": {
			in:   in("# P", "## Task 1: A", "- [x] 1. a", "- [x] 2. b", "## Task 2: B", "- [ ] 1. c"),
			want: "kiro <task 1> <task 2> 1(1:2+) 2(2:1)",
		},
	})
}

func TestListPlans(t *testing.T) {
	checkSketches(t, map[string]sketchCase{
		"spec-kit: T-items below phases, all phases count": {
			in: in("# Tasks", "## Phase 1: Setup", "- [X] T001 [P] [US1] a", "- [ ] **T002** b", "  - [ ] detail",
				"## Phase 2 - Empty", "## Phase 3.1: More",
				"### Tests ⚠️", "- [ ] T25 c", "- [ ] TXXX template", "### Phase Dependencies", "## Phase N: Polish",
				"- [ ] [P] T026 d"),
			want:  "spec-kit <phase 1> <phase 2> <phase 3.1> <phase N> 1(T001:0+ T002:1) 2() 3.1(T25:0) N(T026:0) loose:1",
			codes: "unassigned-boxes@10",
		},
		"spec-kit without phases": {
			in:   in("# Tasks", "### Backend", "- [ ] T001 a", "### Frontend", "- [ ] T002 b"),
			want: "spec-kit backend(T001:0) frontend(T002:0)",
		},
		"spec-kit: a corrupted id is named once": {
			in:   in("## Phase 1: A", "- [ ] T000 a", "- [ ] T000 b", "- [ ] T000 c"),
			want: "spec-kit <phase 1> 1(T000:0 T000:0 T000:0)", codes: "duplicate-id@3",
		},
		"kiro: majors with nested sub-items": {
			in: in("# Plan", "- [ ] 1. A", "  - [x] 1.1 a", "    - detail", "    - _Requirements: 1.1_",
				"  - [ ]* 1.2 optional", "- [x] 2. B", "- [ ] 3. (P) C", "  - [x] 3.1. c"),
			want: "kiro 1(1:2) 2(2:0+) 3(3:1+)",
		},
		"kiro: everything at column 0": {
			in: in("- [ ] 1. A", "- [ ] 1.1 a", "- [ ] 1.2 b", "- [ ] 2. B", "- [ ] 2.1 c"), want: "kiro 1(1:2) 2(2:1)",
		},
		"kiro: sections over flat items that start again": {
			in:   in("### Phase 1", "- [ ] 1. a", "- [ ] 2. b", "### Phase 2", "- [ ] 1. c", "- [ ] 2. d"),
			want: "kiro <phase 1> <phase 2> 1(1:0) 2(2:0) 1-2(1:0) 2-2(2:0)", codes: "duplicate-id@5 duplicate-id@6",
		},
		"kiro: a number without a dot that continues the count": {
			in: in("- [ ] 1 A", "  - [ ] 1.1 a", "- [ ] 2 B", "  - [ ] 2.1 b"), want: "kiro 1(1:1) 2(2:1)",
		},
		"ai-dev-tasks writes 1.0": {
			in:   in("## Tasks", "- [ ] 1.0 Parent", "  - [ ] 1.1 a", "- [ ] 2.0 Other", "  - [ ] 2.1 b"),
			want: "kiro 1(1:1) 2(2:1)",
		},
		"bmad stories write Task N in the box": {
			in: in("# Story", "## Tasks / Subtasks", "- [ ] Task 1: A (AC: 1, 2)", "  - [ ] a", "- [x] Task 2: B",
				"## Dev Notes", "- [ ] no"),
			want: "kiro 1(1:1) 2(2:0+) loose:1", codes: "unassigned-boxes@7",
		},
		"openspec: numbered sections over boxes": {
			in:   in("## 1. A", "- [x] 1.1 a", "- [ ] 1.2 b", "  - [ ] 1.2.1 c", "## 2) B", "- [ ] d"),
			want: "openspec <section 1> <section 2> 1(1.1:0+ 1.2:1) 2(:0)",
		},
		"openspec: phases over boxes without numbers, and a section without a number": {
			in: in("# T", "## Phase 1: A", "- [ ] a", "### Backend", "- [ ] b", "## Completion Checklist", "- [ ] c",
				"## Notes", "text"),
			want: "openspec <phase 1> 1(:0 :0) completion-checklist(:0)", codes: "unnumbered-section@6",
		},
		"openspec: one batch over numbered headings": {
			in:   in("## Batch 1: All", "### 1. A", "- [ ] 1.1 a", "### 2. B", "- [ ] 2.1 b"),
			want: "openspec <section 1> <section 2> 1(1.1:0) 2(2.1:0)",
		},
		"openspec: text after an inner section is a separate section": {
			in: in("# T", "## Phase 1: A", "- [ ] a", "### 1.1 B", "- [ ] b", "### Notes", "- [ ] c", "## Phase 2: C",
				"- [ ] d"),
			want: "openspec <phase 1> <section 1.1> <phase 2> 1(:0) 1.1(:0) notes(:0) 2(:0)", codes: "unnumbered-section@6",
		},
		"openspec: one numbered box makes no kiro plan": {
			in: in("## Phase 1: A", "- [ ] a", "- [ ] 1. b", "- [ ] c"), want: "openspec <phase 1> 1(:0 1:0 :0)",
		},
		"conductor: phases with tasks in boxes": {
			in:   in("## Phase 1: A [checkpoint: 1a2b]", "- [x] Task: a 1234567", "    - [x] b", "- [ ] Task: c"),
			want: "openspec <phase 1> 1(:1+ :0)",
		},
		"a plain list of boxes is a plan": {
			in: in("# Todo", "- [ ] a", "- [ ] b"), want: "openspec todo(:0 :0)",
		},
		"phases whose boxes are checks hold steps only": {
			in: in("# P", "## Phase 1: A", "### Changes Required:", "#### 1. Component", "text", "### Success Criteria:",
				"- [ ] it works", "## Phase 3+4: B", "text"),
			want: "phases <phase 1> <phase 3+4> 1() 3-4() loose:1", codes: "unassigned-boxes@7",
		},
		"free phases in all their forms": {
			in:   in("### **Phase 1: A**", "### 🎯 Phase 2: B", "### Phase 0. C", "### Phase 00", "### Phase Dependencies"),
			want: "phases <phase 1> <phase 2> <phase 0> <phase 00> 1() 2() 0() 00()",
		},
		"weeks are phases where there are no others": {
			in: in("# P", "### Week 1", "text", "### Week 2", "text"), want: "phases <week 1> <week 2> 1() 2()",
		},
	})
}

func TestTagPlans(t *testing.T) {
	checkSketches(t, map[string]sketchCase{
		"gsd: task elements, whatever their blank lines and fences break": {
			in: in("---", "wave: 3", "depends_on: [16-02]", "---", "<tasks>", "", `<task type="auto" tdd="true">`,
				"  <name>Task 1: A</name>",
				"  <files>a/b.go, a/b_test.go (NEW)</files>", "  <action>", "    Do it.", "", "    ''' ", "    <task>no</task>",
				"    '''", "  </action>",
				"  <verify><automated>go test ./a</automated></verify>", "</task>", "",
				`<task id="2.1" type="checkpoint:human-verify">`, "  <action>Look at it. Then go.</action>", "</task>", "</tasks>"),
			want: "gsd <wave 3> 1(1:0) 2.1(2.1:0)", codes: "checkpoint@20",
		},
		"cursor: todos in the front matter": {
			in: in("---", "name: N", "todos:", "  - id: setup", "    content: Set it up", "    status: completed",
				"  - id: build", "    content: Build it", "    dependencies:", "      - setup",
				"---", "# Title", "### Step 1", "text"),
			want: "gsd setup(setup:0+) build(build:0)",
		},
		"cursor: a dependency on an unknown todo": {
			in:   in("---", "todos:", "  - id: a", "    content: A", "    dependencies: [b]", "---", "text"),
			want: "gsd a(a:0)", codes: "unknown-dependency@3",
		},
	})
	if got := parse(t, in("---", "todos:", "  - id: a", "    content: A", "isProject: false", "---",
		"text")).Batches[0].Text; got != "    content: A\n" {
		t.Errorf("the last todo ends with the list, got %q", got)
	}
	split := parse(t, in("<task>", "<name>A</name>", "<verify><automated>", "make", "</automated></verify>", "</task>"))
	if c := split.Batches[0].Commands; len(c) != 1 || c[0].Run != "make" || c[0].Line != 3 {
		t.Errorf("a command has the line of its element: %+v", c)
	}
	p := parse(t, in("<task>", "<name>A</name>", "<files>x/y.go (NEW), z.go</files>",
		"<verify><automated>make &amp;&amp; ls</automated></verify>", "</task>", "", "Text.", "", "<task>", "<name>B</name>",
		"</task>"))
	b := p.Batches[0]
	if b.EndLine != 5 {
		t.Errorf("the batch ends in line %d, and its element in line 5", b.EndLine)
	}
	if diff := cmp.Diff(Files{Create: []string{"x/y.go"}, Modify: []string{"z.go"}, Test: []string{}, Delete: []string{}},
		b.Files); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]Command{{Run: "make && ls", Expected: "PASS", Line: 4, Said: "PASS"}}, b.Commands); diff != "" {
		t.Error(diff)
	}
}

// The text of a phase before its first task is part of each task of that phase and of no other task. Text before the
// first phase applies to all tasks.
func TestIntro(t *testing.T) {
	const plan = "# Plan\n\nGoal for all.\n\n## Phase 1: Storage\n\nKeep rows small.\n\n### Task 1: Rows\n\nDo " +
		"it.\n\n#### Notes\n\nOf task 1.\n\n### Task 2: Columns\n\nDo it.\n\n" +
		"## Phase 2: Page\n\nNo scripts.\n\n### Rules\n\nTwo colours.\n\n### Task 3: Page\n\nDo it.\n\n## Phase 3: " +
		"Quiet\n\n### Task 4: End\n\nDo it.\n"
	p, err := Parse("plan.md", []byte(plan))
	if err != nil {
		t.Fatal(err)
	}
	one := "## Phase 1: Storage\n\nKeep rows small."
	want := []string{one, one, "## Phase 2: Page\n\nNo scripts.\n\n### Rules\n\nTwo colours.", ""}
	var got []string
	for _, b := range p.Batches {
		got = append(got, b.Intro)
	}
	if d := cmp.Diff(want, got); d != "" || p.Preamble != "Goal for all." {
		t.Errorf("%s\nthe preamble is %q", d, p.Preamble)
	}

	// Items in nested sections get the text below each enclosing heading, the outermost first.
	p, err = Parse("tasks.md",
		[]byte(
			"# Plan\n\n- [ ] 1. First\n  - it\n\n## Part B\n\nFor B.\n\n### Page\n\nFor the page.\n\n- [ ] 2. Second\n  - "+
				"it\n- [ ] 3. Third\n  - it\n"))
	if err != nil {
		t.Fatal(err)
	}
	both := "## Part B\n\nFor B.\n\n### Page\n\nFor the page."
	if len(p.Batches) != 3 || p.Batches[0].Intro != "" || p.Batches[1].Intro != both || p.Batches[2].Intro != both {
		t.Errorf("%+v", p.Batches)
	}

	// A wave in the front matter does not remove the text before the first task from the preamble.
	p, err = Parse("gsd.md",
		[]byte(
			"---\nphase: 01\nwave: 2\n---\n<objective>\nShip it.\n</objective>\n\n<task type=\"auto\">\n  <name>Task 1: "+
				"Make</name>\n  <action>Do it.</action>\n</task>\n"))
	if err != nil || p.Preamble != "<objective>\nShip it.\n</objective>" || p.Batches[0].Intro != "" {
		t.Errorf("the preamble is %q, the introduction %q, %v", p.Preamble, p.Batches[0].Intro, err)
	}
}
