package planparse

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestTables(t *testing.T) {
	checkSketches(t, map[string]sketchCase{
		"T-items in the rows of tables, wherever the box is": {
			in: in("# T", "", "## Phase 1: A", "", "| Done | ID | Title | File |", "|---|---|---|---|",
				"| [ ] | T001 | First | a.go |", "| [x] | **T002** | Second \\| half | b.go |",
				"", "## Phase 2: B", "", "| ID | P | Task | Done |", "|:--|--|--|--:|", "| T003 | [P] | Third | [x] |",
				"| `T004` | | Fourth | [ ] |"),
			want: "spec-kit <phase 1> <phase 2> 1(T001:0 T002:0+) 2(T003:0+ T004:0)",
		},
		"ids that begin with a story": {
			in: in("# T", "", "## Phase 1: A", "", "- [ ] US1-T05 a", "- [x] [US1-T06] b", "- [ ] US12-T007: c",
				"- [ ] T001-T003 are done"),
			want: "spec-kit <phase 1> 1(US1-T05:0 US1-T06:0+ US12-T007:0 T001:0)",
		},
		"headings with such ids": {
			in:   in("# T", "", "### US1-T05: Title", "", "- [ ] a", "", "### US1-T06 — Other", "", "- [ ] b"),
			want: "superpowers US1-T05(US1-T05:1) US1-T06(US1-T06:1)",
		},
		"numbered rows": {
			in:   in("# T", "", "| | # | Task |", "|-|-|-|", "| [ ] | 1 | First |", "| [x] | 2 | Second |"),
			want: "kiro 1(1:0) 2(2:0+)",
		},
		"rows without an id": {
			in:   in("# T", "", "## Work", "", "| [ ] | First |", "|---|---|", "| [x] | Second |", "| [x] Third | c.go |"),
			want: "openspec work(:0 :0+ :0+)",
		},
		"boxes that CommonMark takes for text": {
			in:   in("# T", "", "## Work", "", "In this order:", "2. [ ] First", "3) [x] Second", "4. no box"),
			want: "openspec work(:0 :0+)", codes: "unusual-box@6",
		},
		"boxes in code": {
			in:   in("# T", "", "### Task 1: A", "", "| Box | Use |", "|---|---|", "| `[ ]` | a `[ ]` |"),
			want: "superpowers 1(1:0)",
		},
		"legends, comparisons and rows in a fence": {
			in: in("# T", "", "### Task 1: A", "", "| Box | Meaning |", "|---|---|", "| [ ] | open |", "| [x] | `done` |", "",
				"| Feature | Ours | Theirs |", "|---|---|---|",
				"| Speed | [x] | [ ] |", "", "'''", "| [ ] | T001 | a |", "'''"),
			want: "superpowers 1(1:0)", codes: "near-miss-box@7 near-miss-box@12",
		},
	})
	p := parse(t, in("# T", "", "## Phase 1: A", "", "| [ ] | T001 | [P] | First | a.go |", "| T002 | Second | [ ] |"))
	if tasks := p.Batches[0].Tasks; tasks[0].Title != "First" || !tasks[0].Parallel || tasks[1].Title != "Second" {
		t.Errorf("got %+v", tasks)
	}
}

// A table can list the files of a task.
func TestTableOfFiles(t *testing.T) {
	p := parse(t, in("# T", "", "### Task 1: A", "", "**Files:**", "", "| Action | Path | Why |", "|---|---|---|",
		"| Modify | `a.go` | calls `b.go` |", "| **Create** | c/d.go | |",
		"| `e_test.go` | test |", "| f.go | remove | it |", "", "| `g.go` | a second table |", "", "Text.", "",
		"| `h.go` | neither |"))
	want := Files{Create: []string{"c/d.go"}, Modify: []string{"a.go", "g.go"}, Test: []string{"e_test.go"},
		Delete: []string{"f.go"}}
	if diff := cmp.Diff(want, p.Batches[0].Files); diff != "" {
		t.Error("-want +got:\n", diff)
	}
}
