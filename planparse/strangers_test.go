package planparse

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/runplan/runplan/internal/lists"
)

// Plans by other authors are also written in these forms.
func TestFormsOfOtherAuthors(t *testing.T) {
	checkSketches(t, map[string]sketchCase{
		"German waves": {in: in("# T", "## Welle 0 — Lesen", "text", "## Welle 1 — Schreiben", "text"),
			want: "phases <wave 0> <wave 1> 0() 1()"},
		"layers of a plan": {in: in("# Plan", "## Layer 1: Store", "text", "## Capa 2: Serve", "text"),
			want: "phases <layer 1> <layer 2> 1() 2()"},
		"layers of an architecture": {in: in("# Plan", "## Architecture", "### Layer 1: Store", "text", "### Layer 2: Serve",
			"text", "## Week 1: Read", "text", "## Week 2: Write", "text"), want: "phases <week 1> <week 2> 1() 2()"},
		"layers of a design": {in: in("# Store", "## Layer 1: Disk", "text", "## Layer 2: Memory", "text"), want: "none",
			codes: "no-units@1"},
		"a breakdown and a definition of done, in Chinese": {in: in("# T", "## 1. 目标", "text", "## 2. 任务分解(顺序)",
			"### A. Read",
			"text", "### B. Write", "text", "## 3. 验收标准(DoD)", "- [ ] a", "- [ ] b"),
			want: "superpowers A(A:0) B(B:0) loose:2", codes: "unassigned-boxes@10"},
		"struck through headings": {in: in("# T", "### Task 1: ~~Read~~ ✅ Resolved", "text", "### ~~Task 2: Write~~", "text",
			"### Task 3: Print without ~~color~~", "text"), want: "superpowers 1(1:0+) 2(2:0+) 3(3:0)"},
		"struck through phases": {in: in("# T", "## Phase 1: ~~Read~~", "text", "## Phase 2: Write", "text"),
			want: "phases <phase 1> <phase 2> 1() 2()", codes: "done-in-words@2"},
		"indicators of success and goals beside phases": {in: in("# T", "## Goals", "- [x] a", "## Phase 1: Read", "- [ ] b",
			"## 📈 Indicateurs de succès", "- [ ] c"), want: "openspec <phase 1> 1(:0) loose:2",
			codes: "unassigned-boxes@3 unassigned-boxes@7"},
		"options for the future": {in: in("# TODO", "## Read", "- a", "- b", "## Future options", "- c"),
			want: "superpowers 1(1:0) 2(2:0)", codes: "list-as-tasks@3"},
		"priorities that the plan of action explains": {in: in("# T", "## P0 - Read", "text", "## P1 - Write", "text",
			"## Immediate action plan", "### A) Read", "- [x] a", "### B) Write", "- [ ] b"),
			want: "openspec a-read(:0+) b-write(:0)"},
		"done in Spanish": {in: in("# T", "## Fase 1 — Leer — **hecho**", "text", "## Fase 2 — Escribir", "text"),
			want: "phases <phase 1> <phase 2> 1() 2()", codes: "done-in-words@2"},
		"a list and nothing else": {in: in("1. Add `a.py`.", "2. Call it from `b.py`.", "", "Text."),
			want: "superpowers 1(1:0) 2(2:0)", codes: "list-as-tasks@1"},
		"a list below a title": {in: in("# Parser", "Text.", "", "1. Add `a.py`.", "2. Call it from `b.py`."),
			want: "superpowers 1(1:0) 2(2:0)", codes: "list-as-tasks@4"},
		"a list that instructs nobody": {in: in("# Reasons", "1. It is fast.", "2. It is small."), want: "none",
			codes: "no-units@1"},
		"phases in a list, with a mark ahead": {in: in("# T", "## 3. Order (phases)", "- ✅ **Phase 0 — Read:** text",
			"- ⬜ **Phase 1 — Write:** text", "", "Text."), want: "phases <phase 0> <phase 1> 0() 1()",
			codes: "done-in-words@3"},
		"a table of phases is no list": {in: in("# T", "## Phasing", "| Phase | What |", "|---|---|",
			"| **Phase 1 (small)** | Read |", "| **Phase 2 (large)** | Write |"), want: "superpowers 1(1:0) 2(2:0)",
			codes: "list-as-tasks@5"},
		"steps with an article": {in: in("# Plano", "## Os passos", "### 1. Ler", "text", "### 1b. Imprimir", "text",
			"## Como medir", "text"), want: "superpowers 1(1:0) 1b(1b:0)"},
		"an id of words is no number with a title": {in: in("# T", "## Bugs", "- [x] a", "- [ ] b", "## Fixed",
			"### Task ID: LOGIN-404-FIX", "text"), want: "openspec bugs(:0+ :0)"},
		"boxes in bold": {in: in("# T", "## Phase 1: Read", "1. **[x] Lines**: text", "2. **[ ] Words**: text",
			"3. **[new]** text"), want: "openspec <phase 1> 1(:0+ :0)", codes: "unusual-box@3"},
		"numbers in the chapters of a roadmap": {in: in("# Speed roadmap", "## High impact", "### 1. Read", "text",
			"## Low impact", "### 2. Write", "text", "## ✅ Completed (v2)", "### 3. Print", "text", "### Page", "text"),
			want: "superpowers 1(1:0) 2(2:0)"},
		"a roadmap of phases": {in: in("# Roadmap", "## Phase 1: Read", "### 1. Lines", "text", "## Phase 2: Write",
			"### 1. Pages", "text"), want: "phases <phase 1> <phase 2> 1() 2()"},
		"boxes that are phases": {in: in("# T", "## Phases", "- [x] Phase 1: Read (1/1)", "- [ ] **Phase 2: Write** - text",
			"  - [ ] a"), want: "kiro 1(1:0+) 2(2:1)"},
		"boxes that are phases beside others": {in: in("# T", "## Phases", "- [x] Phase 1: Read", "- [ ] Phase 2: Write",
			"- [ ] Publish"), want: "openspec phases(:0+ :0 :0)"},
		"marks behind a title and in it": {in: in("# T", "## Phase 1: Read ✓", "text", "## Phase 2: Write ✓ measure first",
			"text", "## ✅ Phase 3: Print", "text", "## Phase 4: Send (100 %)", "text", "## Phase 5: Go (100%)", "text",
			"## Phase 6: End ✔ (done)", "text"), want: "phases <phase 1> <phase 2> <phase 3> <phase 4> <phase 5> <phase 6> " +
			"1() 2() 3() 4() 5() 6()", codes: "done-in-words@2 done-in-words@6 done-in-words@10 done-in-words@12"},
		"the list of a design of a fix": {in: in("# T", "## Root cause", "1. It reads.", "## Fix design (small)", "1. Write",
			"2. Print"), want: "superpowers 1(1:0) 2(2:0)", codes: "list-as-tasks@5"},
	})
}

// The keys of a task may be in a YAML fence. Other YAML is content.
func TestKeysInYAMLFence(t *testing.T) {
	p := parse(t, in("# T", "### Task 1: Read", "", "'''yaml", "file: src/a.py", "action: Create",
		"command: pytest a_test.py",
		"expected: 3 passed", "'''", "", "### Task 2: Write", "", "'''yaml", "file: b.py", "command: x", "'''"))
	want := Batch{Files: Files{Create: []string{"src/a.py"}},
		Commands: []Command{{Run: "pytest a_test.py", Expected: "3 passed", Line: 4}}}
	if got := p.Batches[0]; !cmp.Equal(want.Files.Create, got.Files.Create) || len(got.Commands) != 1 ||
		got.Commands[0].Run != want.Commands[0].Run || got.Commands[0].Expected != want.Commands[0].Expected {
		t.Errorf("files %v, commands %v, want %v %v", got.Files, got.Commands, want.Files, want.Commands)
	}
	if got := p.Batches[1]; len(got.Files.Modify)+len(got.Commands) > 0 {
		t.Errorf("YAML without an action gives the files %v and the commands %v", got.Files, got.Commands)
	}
}

// The file of an edit may follow the word "edit".
func TestEditNamesItsFile(t *testing.T) {
	p := parse(t, in("# T", "### Task 1: Change it", "", "'''text edit=a.txt", "<<<<<<< SEARCH", "a", "=======", "b",
		">>>>>>> REPLACE", "'''"))
	if b := p.Batches[0].Blocks; len(b) != 1 || b[0].Kind != BlockEdit || b[0].Path != "a.txt" {
		t.Errorf("the blocks are %+v, want an edit of a.txt", b)
	}
}

// Gestures are for people, and a number ahead hides no command.
func TestCommandsOfOtherAuthors(t *testing.T) {
	p := parse(t, in("# T", "## 1. Read", "- [ ] 1.1 Read it", "", "Run: Press `F5` in the editor",
		"Run: from the top `make`",
		"", "## 2. Verification", "- [ ] 2.1 `make lint` clean", "- [ ] 2.2 **`make test`** is green",
		"- [x] 2.3 `make old` passes"))
	for i, want := range [][]string{{"make"}, {"make lint", "make test"}} {
		if got := lists.Map(p.Batches[i].Commands, func(c Command) string { return c.Run }); !cmp.Equal(got, want) {
			t.Errorf("batch %d has the commands %q, want %q", i+1, got, want)
		}
	}
}

// The words for new files are read in other languages, and a title needs no colon at its end.
func TestNewFilesOfOtherAuthors(t *testing.T) {
	p := parse(t, in("# T", "## Pasos", "1. Leer:", "   - Archivo: nuevo `a.sql`", "2. Escribir:"))
	if b := p.Batches[0]; !cmp.Equal(b.Files.Create, []string{"a.sql"}) || b.Title != "Leer" {
		t.Errorf("title %q, files %v", b.Title, b.Files)
	}
}

// The title of a phase in a list is its bold text; what follows tells what to do.
func TestTitlesOfListedPhases(t *testing.T) {
	p := parse(t, in("# T", "## Phases", "- **Phase 1: Read:** take the lines, and then", "- ⬜ **Phase 2: Write** — text",
		"- **Phase 3: Print** (done)"))
	got := lists.Map(p.Batches, func(b Batch) string { return b.Title })
	if want := []string{"Read", "Write", "Print (done)"}; !cmp.Equal(got, want) {
		t.Errorf("the titles are %q, want %q", got, want)
	}
}
