package planparse

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestTick(t *testing.T) {
	tests := map[string]struct {
		src   string
		lines []int
		want  string
		n     int
	}{
		"the named lines and no others": {src: "- [ ] a\n- [ ] b\n- [ ] c\n", lines: []int{1, 3},
			want: "- [x] a\n- [ ] b\n- [x] c\n", n: 2},
		"none":                    {src: "- [ ] a\n", want: "- [ ] a\n"},
		"lines that do not exist": {src: "- [ ] a\n", lines: []int{0, -1, 2, 99}, want: "- [ ] a\n"},
		"an empty plan":           {src: "", lines: []int{1}, want: ""},
		"Windows line ends": {src: "# P\r\n- [ ] a\r\n- [ ] b\r\n", lines: []int{2},
			want: "# P\r\n- [x] a\r\n- [ ] b\r\n", n: 1},
		"a byte order mark": {src: "\ufeff# P\n- [ ] a\n", lines: []int{2}, want: "\ufeff# P\n- [x] a\n",
			n: 1},
		"no line end at the end": {src: "a\n- [ ] a", lines: []int{2}, want: "a\n- [x] a", n: 1},
		"nested boxes": {src: "- [ ] a\n  - [ ] b\n    - [ ] c\n", lines: []int{2, 3},
			want: "- [ ] a\n  - [x] b\n    - [x] c\n", n: 2},
		"boxes behind tabs": {src: "\t- [ ] a\n-\t[ ] b\n", lines: []int{1, 2},
			want: "\t- [x] a\n-\t[x] b\n", n: 2},
		"boxes that hold a tab": {src: "- [\t] a\n", lines: []int{1}, want: "- [x] a\n", n: 1},
		"ordered lists": {src: "1. [ ] a\n12) [ ] b\n", lines: []int{1, 2},
			want: "1. [x] a\n12) [x] b\n", n: 2},
		"all bullets": {src: "* [ ] a\n+ [ ] b\n- [ ] c\n", lines: []int{1, 2, 3},
			want: "* [x] a\n+ [x] b\n- [x] c\n", n: 3},
		"a list in a list on one line": {src: "1. - [ ] a\n", lines: []int{1}, want: "1. - [x] a\n", n: 1},
		"bold text": {src: "- [ ] **Step 1: a**\n- [ ]** b**\n", lines: []int{1, 2},
			want: "- [x] **Step 1: a**\n- [x]** b**\n", n: 2},
		"a box without text":           {src: "- [ ]\n- [ ]\r\n", lines: []int{1, 2}, want: "- [x]\n- [x]\r\n", n: 2},
		"a ticked box does not change": {src: "- [x] a\n- [X] b\n", lines: []int{1, 2}, want: "- [x] a\n- [X] b\n"},
		"states that mean something else": {src: "- [~] a\n- [-] b\n- [!] c\n", lines: []int{1, 2, 3},
			want: "- [~] a\n- [-] b\n- [!] c\n"},
		"only the box of the line's own": {src: "- [ ] turn - [ ] into [ ]\n", lines: []int{1},
			want: "- [x] turn - [ ] into [ ]\n", n: 1},
		"headings and prose have no box": {src: "### Task 1: [ ] a\n[ ] b\ntext - [ ] c\n", lines: []int{1, 2, 3},
			want: "### Task 1: [ ] a\n[ ] b\ntext - [ ] c\n"},
		"a link is not a box": {src: "- [ ](a.md)\n- [x](b.md)\n- [ ]: c\n", lines: []int{1, 2, 3},
			want: "- [ ](a.md)\n- [x](b.md)\n- [ ]: c\n"},
		"lines of a fence count": {src: "```\n- [ ] a\n```\n- [ ] b\n", lines: []int{4},
			want: "```\n- [ ] a\n```\n- [x] b\n", n: 1},
		"bytes that are no text are kept": {src: "\xff\xfe\n- [ ] \xff\n", lines: []int{2},
			want: "\xff\xfe\n- [x] \xff\n", n: 1},
		"rows of tables": {src: "| [ ] | T1 |\n| T2 | a \\| [ ] | [ ]|\n| [x] | [ ] |\n| a [ ] |\n",
			lines: []int{1, 2, 3, 4}, want: "| [x] | T1 |\n| T2 | a \\| [ ] | [x]|\n| [x] | [ ] |\n| a [ ] |\n", n: 2},
		"a return within a line ends no line": {src: "a\rb\n- [ ] c\n", lines: []int{2}, want: "a\rb\n- [x] c\n", n: 1},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			lines := map[int]bool{}
			for _, n := range tt.lines {
				lines[n] = true
			}
			src := []byte(tt.src)
			got, n := Tick(src, lines)
			if d := cmp.Diff(tt.want, string(got)); d != "" || n != tt.n {
				t.Errorf("%d ticks, want %d: %s", n, tt.n, d)
			}
			if string(src) != tt.src {
				t.Error("the plan that was given was changed")
			}
			checkTick(t, src, lines)
		})
	}
}

// checkTick checks the invariants of Tick for any text.
func checkTick(t *testing.T, src []byte, lines map[int]bool) {
	t.Helper()
	got, n := Tick(src, lines)
	if len(got) != len(src) {
		t.Fatalf("%d bytes became %d", len(src), len(got))
	}
	line, changed := 1, 0
	for i := range src {
		if got[i] != src[i] {
			changed++
			if !lines[line] || got[i] != 'x' || src[i] != ' ' && src[i] != '\t' {
				t.Fatalf("line %d: %q became %q", line, src[i], got[i])
			}
		}
		if src[i] == '\n' {
			line++
		}
	}
	if changed != n {
		t.Errorf("%d ticks were made, %d were counted", changed, n)
	}
	if !SameButTicks(src, got) || !SameButTicks(got, src) {
		t.Error("a plan with ticked boxes counts as a changed plan")
	}
	if again, n := Tick(got, lines); n != 0 || !bytes.Equal(got, again) {
		t.Errorf("ticked again, %d boxes changed", n)
	}
}

func TestSameButTicks(t *testing.T) {
	tests := map[string]struct {
		a, b string
		want bool
	}{
		"the same":                      {"# P\n- [ ] a\n", "# P\n- [ ] a\n", true},
		"nothing":                       {"", "", true},
		"a tick":                        {"- [ ] a\n", "- [x] a\n", true},
		"a big tick":                    {"- [x] a\n", "- [X] a\n", true},
		"a box that is unticked":        {"  1. [X] a\n", "  1. [ ] a\n", true},
		"ticks in a quote":              {"> - [ ] a\n", "> - [x] a\n", true},
		"ticks with Windows line ends":  {"- [ ] a\r\n- [ ]\r\n", "- [x] a\r\n- [x]\r\n", true},
		"a word":                        {"- [ ] a\n", "- [x] b\n", false},
		"a line more":                   {"- [ ] a\n", "- [ ] a\n- [ ] b\n", false},
		"a space more":                  {"- [ ] a\n", "- [ ]  a\n", false},
		"other line ends":               {"- [ ] a\n", "- [ ] a\r\n", false},
		"a box more":                    {"- a\n", "- [ ] a\n", false},
		"a state other than ticked":     {"- [ ] a\n", "- [~] a\n", false},
		"brackets in prose":             {"turn [ ] on\n", "turn [x] on\n", false},
		"brackets in the text of a box": {"- [ ] set [ ]\n", "- [ ] set [x]\n", false},
		"a tick in a table":             {"| T1 | [ ] |\n", "| T1 | [x] |\n", true},
		"another cell of a table":       {"| T1 | [ ] | [ ] |\n", "| T1 | [ ] | [x] |\n", false},
		"a link":                        {"- [x](a.md)\n", "- [ ](a.md)\n", false},
		"a heading":                     {"# - [ ] a\n", "# - [x] a\n", false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if got := SameButTicks([]byte(tt.a), []byte(tt.b)); got != tt.want {
				t.Errorf("%v, want %v", got, tt.want)
			}
			if got := SameButTicks([]byte(tt.b), []byte(tt.a)); got != tt.want {
				t.Errorf("with swapped arguments: %v, want %v", got, tt.want)
			}
		})
	}
}

// Tick can tick each line that the parser reports as an open box; afterwards the plan has no open box.
func TestTickHandlesAllOpenBoxes(t *testing.T) {
	for _, f := range corpus(t) {
		t.Run(f.path, func(t *testing.T) {
			src, err := os.ReadFile(filepath.Join(corpusDir(), f.path))
			if err != nil {
				t.Fatal(err)
			}
			open := openBoxes(t, src)
			ticked, n := Tick(src, open)
			if n != len(open) {
				t.Errorf("%d of %d open boxes were ticked", n, len(open))
			}
			if left := openBoxes(t, ticked); len(left) > 0 {
				t.Errorf("left open: lines %v", left)
			}
			checkTick(t, src, open)
		})
	}
}

// If a batch has no tasks, only the checkboxes directly below its heading belong to it.
func TestBoxesOfBatchWithoutTasks(t *testing.T) {
	for src, want := range map[string][]int{
		in("# T", "", "## Batch 1: A", "", "- [ ] a", "- [x] b", "", "'''", "- [ ] c", "'''"):                    {5, 6},
		in("# T", "", "## Phase 1: A", "", "Text.", "", "### Success Criteria", "", "- [ ] a"):                   {9},
		in("# T", "", "## Batch 1: A", "", "### Task 1: B", "", "- [ ] **Step 1: c**", "", "**Step 2: d**"):      {7},
		in("# T", "", "- [ ] 1. a", "  - [ ] 1.1 b"):                                                             {3, 4},
		in("# T", "", "## Batch 1: A", "", "Text."):                                                              nil,
		in("# T", "", "## Batch 1: A", "", "- [ ] before the tasks", "", "### Task 1: B", "", "- [ ] of a task"): {9},
	} {
		if got := parse(t, src).Batches[0].Boxes(); !slices.Equal(got, want) {
			t.Errorf("%s\nlines %v, want %v", src, got, want)
		}
	}
}

// openBoxes returns the lines of all boxes in a plan that are not ticked.
func openBoxes(t *testing.T, src []byte) map[int]bool {
	t.Helper()
	p, err := Parse("plan.md", src)
	if err != nil {
		t.Fatal(err)
	}
	text := strings.Split(string(src), "\n")
	open := map[int]bool{}
	add := func(line int, box bool) {
		if box && strings.Contains(text[line-1], "[ ]") {
			open[line] = true
		}
	}
	for _, b := range p.Batches {
		for _, task := range b.Tasks {
			add(task.Line, task.Box && !task.Done)
			for _, s := range task.Steps {
				add(s.Line, s.Box && !s.Done)
			}
		}
		for _, s := range b.Steps {
			add(s.Line, s.Box && !s.Done)
		}
	}
	return open
}

// For any text and any lines, Tick changes only the boxes on these lines.
func FuzzTick(f *testing.F) {
	for _, src := range []string{"- [ ] a\n\t1. [x] b\r\n> * [ ] c", "- - [ ] a\n", "```\n- [ ] a\n", "[ ]\n- [ ]",
		"\r- [ ] a\r\n\xff- [ ]\n", "- [\t] a", "| a | [ ] |\n- | \\| [x]|"} {
		f.Add([]byte(src), uint64(0b101))
	}
	f.Fuzz(func(t *testing.T, src []byte, bits uint64) {
		lines := map[int]bool{}
		for i := range 64 {
			lines[i] = bits&(1<<i) != 0
		}
		checkTick(t, src, lines)
	})
}
