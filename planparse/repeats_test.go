package planparse

import (
	"slices"
	"testing"
)

// A list that only shows the progress of other tasks adds no tasks.
func TestProgressListsAreNotTasks(t *testing.T) {
	checkSketches(t, map[string]sketchCase{
		"a list of progress over sections with boxes": {
			in: in("# T", "", "## Progress", "", "- [ ] 1. Cards", "- [x] 2. Export", "", "## 1. Cards", "", "- [ ] 1.1 a", "",
				"## 2. Export", "", "- [x] 2.1 b", "- [x] 2.2 c"),
			want: "openspec <section 1> <section 2> 1(1.1:0) 2(2.1:0+ 2.2:0+) loose:2", codes: "repeated-boxes@5",
		},
		"a list of progress in the last task": {
			in: in("# T", "", "## Task 1: Parser", "", "- [ ] a", "", "## Task 2: Printer", "", "- [ ] b", "",
				"### Execution Record", "",
				"- [x] Task 1: Parser — done in #12", "- [ ] Task 2: Printer"),
			want: "superpowers 1(1:1) 2(2:1) loose:2", codes: "repeated-boxes@13",
		},
		"a log of a plan in prose says what is done": {
			in: in("# T", "", "## Task 1: Parser", "", "Text.", "", "## Task 2: Printer", "", "Text.", "", "## Progress log", "",
				"- [x] (2026-01-31 12:00Z) Task 1: Parser", "- [ ] Printer"),
			want: "superpowers 1(1:1+) 2(2:1)", codes: "repeated-boxes@13",
		},
		"the milestones of an ExecPlan": {
			in: in("# T", "", "## Progress", "", "- [x] Milestone 1: Parser", "- [ ] Milestone 2: Printer", "",
				"## Milestone 1: Parser", "", "Text.", "",
				"## Milestone 2: Printer", "", "Text."),
			want: "phases <milestone 1> <milestone 2> 1() 2() loose:2", codes: "repeated-boxes@5",
		},
		"headings that are work only because the list says so": {
			in: in("# T", "", "## Progress", "", "- [x] **Add the parser**", "- [ ] Add the printer", "", "## Work", "",
				"### Add the parser", "", "Text.", "",
				"### Add the printer", "", "Text."),
			want:  "superpowers add-the-parser(:1+) add-the-printer(:1)",
			codes: "repeated-boxes@5 unnumbered-task@10 unnumbered-task@14",
		},
		"T-items that are listed again": {
			in: in("# T", "", "## Phase 1: A", "", "- [ ] T001 a", "- [ ] T002 b", "", "## Progress", "", "- [ ] T001 a",
				"- [x] T002 b"),
			want: "spec-kit <phase 1> 1(T001:0 T002:0) loose:2", codes: "repeated-boxes@10",
		},
		"what only the list has remains work": {
			in: in("# T", "", "## Phase 1: A", "", "- [ ] a", "", "## Progress", "", "- [ ] Phase 1: A",
				"- [ ] Tell everybody", "- [ ] Rest"),
			want: "openspec <phase 1> 1(:0) progress(:0 :0) loose:1", codes: "unnumbered-section@7 repeated-boxes@9",
		},
		"a chapter without work does not hide a task": {
			in: in("# T", "", "## Progress", "", "- [ ] Setup", "- [ ] Parser", "", "## Setup", "", "How to set it up.", "",
				"## More", "", "- [ ] c"),
			want: "openspec progress(:0 :0) more(:0)",
		},
		"boxes with details of their own": {
			in: in("# T", "", "## Phase 1: A", "", "Text.", "", "## Status", "", "- [ ] Phase 1: A", "  - [ ] really",
				"- [ ] B"),
			want: "phases <phase 1> 1() loose:3", codes: "unassigned-boxes@9",
		},
		"other titles with the same number": {
			in: in("# T", "", "## Phase 1: A", "", "- [ ] a", "", "## Status", "", "- [ ] Phase 1: review it",
				"- [ ] Phase 1: ship it"),
			want: "openspec <phase 1> 1(:0) status(:0 :0)", codes: "unnumbered-section@7",
		},
	})
}

// If phases have no boxes, the boxes of a progress list say which phases are done, and --tick ticks them.
func TestProgressListTicksPhases(t *testing.T) {
	p := parse(t, in("# T", "", "## Progress", "", "- [x] Phase 1: Parser", "- [ ] Phase 2: Printer", "",
		"## Phase 1: Parser", "", "Text.", "", "## Phase 2: Printer", "", "Text."))
	if !p.Batches[0].Done() || p.Batches[1].Done() || !slices.Equal(p.Batches[1].Boxes(), []int{6}) {
		t.Errorf("done: %v and %v; the box of the second is in %v", p.Batches[0].Done(), p.Batches[1].Done(),
			p.Batches[1].Boxes())
	}
}

// The boxes that belong to no unit are in the order of the file, also if some of them repeat a heading.
func TestUnassignedBoxesAreInOrder(t *testing.T) {
	p := parse(t, in("# T", "", "## Task 1: A", "", "- [ ] a", "", "## Progress", "", "- [ ] Task 1: A", "- [ ] Task 2: B",
		"",
		"## Notes", "", "- [ ] loose", "", "## Task 2: B", "", "- [ ] b"))
	var got []int
	for _, s := range p.Unassigned {
		got = append(got, s.Line)
	}
	if !slices.Equal(got, []int{9, 10, 14}) {
		t.Errorf("lines %v", got)
	}
}
