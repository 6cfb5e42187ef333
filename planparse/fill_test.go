package planparse

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func TestMetadata(t *testing.T) {
	type want struct {
		depends, refs      []string
		critical, parallel bool
		when, codes        string
	}
	for name, c := range map[string]struct {
		in   string
		want want
	}{
		"lines of key and value below the heading": {
			in("context_refs: a.go, `b/c.go`", "depends_on: [batch-1]", "critical: true", "parallel_safe: yes",
				`when: env.CI == ""`),
			want{[]string{"1"}, []string{"a.go", "b/c.go"}, true, true, `env.CI == ""`, ""},
		},
		"bold keys, with blank lines between them": {
			in("**Goal:** x", "", "**Depends on:** Batch 1", "", "**Critical:** true"),
			want{depends: []string{"1"}, critical: true},
		},
		"a condition under a bold key":      {in("**When:** `env.CI == \"\"`"), want{when: `env.CI == ""`}},
		"prose under a bold When":           {in("**When:** after the freeze"), want{codes: "unread-condition@6"}},
		"no time for an estimate":           {in("estimate: L"), want{codes: "unread-estimate@6"}},
		"people's estimates are theirs":     {in("**Estimate:** 3 points"), want{}},
		"a YAML list":                       {in("depends_on:", "- batch-1", "- 1"), want{depends: []string{"1"}}},
		"a number, a task, a zero in front": {in("depends_on: 01, Task 1"), want{depends: []string{"1"}}},
		"no dependency":                     {in("depends_on: none"), want{}},
		"prose names what it can": {in("**Depends on:** Task 1 GREEN and batch 1"),
			want{depends: []string{"1"}}},
		"prose that names no batch":     {in("**Depends on:** the design"), want{codes: "unread-dependency@6"}},
		"an unknown batch is an error":  {in("depends_on: batch-7"), want{codes: "unknown-dependency@6"}},
		"a batch can't wait for itself": {in("depends_on: 2"), want{codes: "dependency-cycle@6"}},
		"a flag must be true or false":  {in("critical: perhaps"), want{codes: "malformed-header@6"}},
		"a key further down is prose":   {in("Some text.", "critical: true"), want{}},
		"a reference outside of the workspace": {in("context_refs: ../x, y"),
			want{refs: []string{"y"}, codes: "path-outside-workspace@6"}},
	} {
		p := parse(t, in("# P", "## Batch 1: A", "### Task 1: a", "", "## Batch 2: B")+c.in)
		b := p.Batches[1]
		got := want{b.DependsOn, b.ContextRefs, b.Critical, b.ParallelSafe, b.When, codes(p)}
		c.want.depends, c.want.refs = filled(c.want.depends), filled(c.want.refs)
		if diff := cmp.Diff(c.want, got, cmp.AllowUnexported(want{})); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestHeader(t *testing.T) {
	p := parse(t, in("---", "parallel_safe: true", "critical: true # all of it", `when: "env.CI"`, "---", "# P",
		"## Batch 1: A", "parallel_safe: false", "", "## Batch 2: B (**CRITICAL — x**)", "text"))
	if p.Header != (Header{true, true, "env.CI", false}) || p.Batches[0].ParallelSafe || !p.Batches[0].Critical ||
		!p.Batches[1].ParallelSafe {
		t.Errorf("the plan's flags hold for all batches that say nothing else: %+v %+v", p.Header, p.Batches)
	}
	p = parse(t, in("---", "approve: yes", "---", "# P", "## Batch 1: A", "approve: false", "", "## Batch 2: B", "text"))
	if !p.Header.Approve || p.Batches[0].Approve || !p.Batches[1].Approve {
		t.Errorf("a plan may ask for a person's approval of all batches but some: %+v %+v", p.Header, p.Batches)
	}
	p = parse(t, in("# P", "## Batch 1: A", "**Approve:** yes", "", "## Batch 2: B", "**Approve:** when in doubt"))
	if !p.Batches[0].Approve || p.Batches[1].Approve || len(p.Diagnostics) == 0 {
		t.Errorf("a batch may ask for approval, and an invalid value is reported: %+v %+v", p.Batches, p.Diagnostics)
	}
	p = parse(t, in("# P", "parallel_safe: true", "## Batch 1: A", "text", "## Batch 2: B (**CRITICAL — x**)", "text"))
	if !p.Header.ParallelSafe || p.Batches[0].Critical || !p.Batches[1].Critical ||
		p.Batches[1].Title != "B (CRITICAL — x)" {
		t.Errorf("CRITICAL in a title marks the batch: %+v %+v", p.Header, p.Batches)
	}
	p = parse(t, in("---", "critical: maybe", "---", "## Batch 1: A", "text"))
	if codes(p) != "malformed-header@2" {
		t.Error("a malformed front matter value is an error, got", codes(p))
	}
	p = parse(t, in("## Batch 1: A", "depends_on: 3", "## Batch 2: B", "depends_on: 1", "## Batch 3: C", "depends_on: 2",
		"## Batch 4: D", "depends_on: 3"))
	if codes(p) != "dependency-cycle@2" || !strings.Contains(p.Errors()[0].Message, "1 → 3 → 2 → 1") {
		t.Error("a cycle is an error that names its batches, got", p.Diagnostics)
	}
}

func TestFiles(t *testing.T) {
	type files struct{ create, modify, test, del string }
	for name, c := range map[string]struct {
		in   string
		want files
	}{
		"a block of labelled items": {in("**Files:**", "- Create: `a.go`", "- Modify: `b.go:12-40`",
			"- Test: `c_test.go`", "- Delete: `d.go`", "- Read: `e.go`"), files{"a.go", "b.go", "c_test.go", "d.go"}},
		"several paths per line, notes": {in("**Files:**", "- Modify: `a.go:12,40`, `b.go#L3` (calls `x.Y`), `c.go`"),
			files{modify: "a.go b.go c.go"}},
		"a note behind a dash": {in("**Files:**", "- Modify: `a.go` — use `foo.Bar` of `pkg.go`"),
			files{modify: "a.go"}},
		"paths without backticks": {in("Files:", "- Create: src/a.go (new)", "- Modify: Makefile"),
			files{create: "src/a.go", modify: "Makefile"}},
		"all in one line": {in("**Files:** Create `a.go`, `b.go`; Modify `c.go`"),
			files{create: "a.go b.go", modify: "c.go"}},
		"no files": {in("**Files:** none — verification only"), files{}},
		"bold labels": {in("**Files:**", "- **Create:** `a.go`", "- **Modify**: `b.go`"),
			files{create: "a.go", modify: "b.go"}},
		"items without a label": {in("#### Files", "- `a.go` (new)", "- `b.go`"),
			files{create: "a.go", modify: "b.go"}},
		"move and rename": {in("**Files:**", "- Move: `a.go` → `b/a.go`", "- Rename: c.go -> d.go"),
			files{create: "b/a.go d.go", del: "a.go c.go"}},
		"labels outside of a block": {in("- Create: `a.go`", "", "Create: b.go"), files{create: "a.go b.go"}},
		"HumanLayer":                {in("**File**: `a/b.go`"), files{modify: "a/b.go"}},
		"windows paths":             {in("**Files:**", `- Modify: `+"`src\\a.cs`"), files{modify: "src/a.cs"}},
		"both labels at once": {in("**Files:**", "- Create/Modify: `a.go`", "- Tests: `b.go`", "- Update: `c.go`",
			"- Add: `d.go`"), files{"d.go", "a.go c.go", "b.go", ""}},
		"a path is listed once": {in("**Files:**", "- Create: `a.go`", "- Create: `./a.go`"),
			files{create: "a.go"}},
		"prose after a label is not a path": {in("- Add: a new function", "- Update: `fooBar`"), files{}},
		"globs":                             {in("**Files:**", "- Modify: `src/**/*.ts`"), files{modify: "src/**/*.ts"}},
	} {
		p := parse(t, in("### Task 1: A")+"\n"+c.in)
		f := p.Batches[0].Files
		got := files{strings.Join(f.Create, " "), strings.Join(f.Modify, " "), strings.Join(f.Test, " "),
			strings.Join(f.Delete, " ")}
		if got != c.want {
			t.Errorf("%s: got %+v, want %+v", name, got, c.want)
		}
	}
	for _, path := range []string{"/etc/passwd", "~/x.go", "../x.go", "a/../../x.go", `D:\x\y.go`, "C:/x.go", "$HOME/x"} {
		p := parse(t, in("### Task 1: A", "**Files:**", "- Modify: `"+path+"`"))
		if len(p.Batches[0].Files.Modify) != 0 || codes(p) != "path-outside-workspace@3" || len(p.Errors()) != 0 {
			t.Errorf("%s leaves the workspace; it must be left out with a warning: %+v %s", path, p.Batches[0].Files, codes(p))
		}
	}
}

func TestCommands(t *testing.T) {
	for name, c := range map[string]struct {
		in   string
		want []Command
	}{
		"run and expect": {in("Run: `go test ./...`", "Expected: PASS"),
			[]Command{{Run: "go test ./...", Expected: "PASS", Line: 3}}},
		"a failure with its reason": {in("Run: `x`", "", "Expected: FAIL with \"undefined\""),
			[]Command{{Run: "x", Expected: "FAIL", Line: 3}}},
		"a text in the output": {in("Run: `x`", "Expected: `3 passed`"),
			[]Command{{Run: "x", Expected: "3 passed", Line: 3}}},
		"words for success": {in("Run: `x`", "Expected: All tests pass, 14 in all"),
			[]Command{{Run: "x", Expected: "PASS", Line: 3}}},
		"a fence as body": {in("Run:", "", "'''bash", "make a", "make b", "'''", "", "Expected: PASS"),
			[]Command{{Run: "make a\nmake b", Expected: "PASS", Line: 5}}},
		"italics with the expectation": {in("*Run (expect FAIL):*", "'''bash", "make", "'''"),
			[]Command{{Run: "make", Expected: "FAIL", Line: 4}}},
		"on one line": {in("- Run: `x` → Expected: PASS"),
			[]Command{{Run: "x", Expected: "PASS", Line: 3}}},
		"two commands": {in("Run: `a` and `b`"),
			[]Command{{Run: "a", Expected: "", Line: 3}, {Run: "b", Expected: "", Line: 3}}},
		"several pairs": {in("Run: `a`", "Expected: FAIL", "Run: `b`", "Expected: PASS"),
			[]Command{{Run: "a", Expected: "FAIL", Line: 3}, {Run: "b", Expected: "PASS", Line: 5}}},
		"verify with a command": {in("**Verify:** `make check`"),
			[]Command{{Run: "make check", Expected: "", Line: 3}}},
		"an expectation that is a fence": {in("Run: `x`", "Expected:", "'''", "ok", "'''"),
			[]Command{{Run: "x", Expected: "ok", Line: 3}}},
		"bold labels": {in("**Run:** `x`", "**Expected:** PASS"),
			[]Command{{Run: "x", Expected: "PASS", Line: 3}}},
		"prose is not a command": {in("Run: the tests", "Verify: `path.go`"), nil},
		"a list of expectations": {in("Run: `x`", "Expected:", "- a", "- b"),
			[]Command{{Run: "x", Expected: "", Line: 3}}},
	} {
		p := parse(t, in("### Task 1: A", "")+c.in)
		if diff := cmp.Diff(filled(c.want), p.Batches[0].Commands, cmpopts.IgnoreFields(Command{}, "Said")); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// An expectation is PASS, FAIL or a text in the output. A description for people is none.
func TestExpectations(t *testing.T) {
	eleven := "one two three four five six seven eight nine ten eleven"
	for said, want := range map[string]string{
		"PASS": "PASS", "**PASS**": "PASS", "✅ passes": "PASS", "Success.": "PASS", "green": "PASS", "Failure: x": "FAIL",
		"red, with a reason": "FAIL", "fails because x": "FAIL", "`3 ok` in the output": "3 ok", "` 3 ok `": "3 ok",
		`the text "not found"`: "not found", `the text ""`: `the text ""`, `an open "quote`: `an open "quote`,
		"the tests fail": "FAIL", "it should fail": "FAIL", "a test fails here": "FAIL", "no failures": "no failures",
		"all tests pass": "PASS", "no errors": "PASS", "exit code 0": "PASS", "it succeeds": "PASS", "no output": "PASS",
		"测试通过": "PASS", "测试失败": "FAIL", "显示页面": "", "3 warnings": "3 warnings",
		"**3 done** in 1 s": "3 done in 1 s", "3 done**": "3 done", "`a` **b**": "a",
		eleven + " twelve": eleven + " twelve", eleven + " twelve thirteen": "",
	} {
		b := parse(t, in("### Task 1: A", "", "Run: `x`", "Expected: "+said)).Batches[0]
		if len(b.Commands) != 1 || b.Commands[0].Expected != want ||
			!strings.Contains(strings.ReplaceAll(said, "**", ""), strings.ReplaceAll(b.Commands[0].Said, "**", "")) {
			t.Errorf("%q: got %+v, want %q", said, b.Commands, want)
		}
	}
}

// Boxes outside of all tasks are counted in one remark for the boxes below one heading.
func TestUnassignedBoxesAreCounted(t *testing.T) {
	for name, c := range map[string]struct {
		in   []string
		want string
	}{
		"one": {[]string{"### Task 1: A", "text", "## Notes", "- [ ] a"},
			"4: this checkbox belongs to no task and is not run"},
		"three": {[]string{"### Task 1: A", "text", "## Notes", "- [ ] a", "- [x] b", "text", "- [ ] c"},
			"4: 3 checkboxes from here on belong to no task and are not run"},
		"two places": {[]string{"### Task 1: A", "text", "## Notes", "- [ ] a", "## More", "- [ ] b", "- [ ] c"},
			"4: this checkbox belongs to no task and is not run; 6: 2 checkboxes from here on belong to no task and are not run"},
		"steps of a batch": {[]string{"## Batch 1: A", "- [ ] a", "- [ ] b"},
			"2: 2 checkboxes from here on are in no task: the batch is the unit of work, and they are its steps"},
		"one step of a batch": {[]string{"## Batch 1: A", "- [ ] a"},
			"2: this checkbox is in no task: the batch is the unit of work, and this is its step"},
	} {
		var got []string
		for _, d := range parse(t, in(c.in...)).Diagnostics {
			if d.Code == "unassigned-boxes" {
				got = append(got, fmt.Sprintf("%d: %s", d.Line, d.Message))
			}
		}
		if strings.Join(got, "; ") != c.want {
			t.Errorf("%s: got %q, want %q", name, got, c.want)
		}
	}
}

// A batch that says in words that it is done, but has no ticked box, is reported. It still runs.
func TestDoneInWords(t *testing.T) {
	for words, want := range map[string]bool{
		"**Status:** Done": true, "**Status:** completed on Monday": true, "**Status:** Complete": true, "**Status:** ✅": true,
		"**Status:** **Done**": true, "**Status:** _complete_, at last": true, "**Status:** Completed.": true,
		"**Status:** open": false, "**Status:** undone": false, "**Status:** not done": false,
		"**Note:** done": false, "": false,
	} {
		p := parse(t, in("# P", "## Batch 1: A", words, "", "text"))
		if got := strings.Contains(codes(p), "done-in-words@2"); got != want || p.Batches[0].Done() {
			t.Errorf("%q: reported %v", words, got)
		}
	}
	for title, want := range map[string]bool{
		"A DONE": true, "A (done)": true, "A [complete]": true, "A ✔": true, "A（完了）": true, "A 완료": true, "【已完成】A": true,
		"DONE A": false, "A done": false, "完了条件": false,
	} {
		if got := strings.Contains(codes(parse(t, in("# P", "## Batch 1: "+title, "text"))), "done-in-words"); got != want {
			t.Errorf("%q: reported %v", title, got)
		}
	}
}

// Batches belong to the group above them; a group that is parallel makes its batches so.
func TestGroupsOfBatches(t *testing.T) {
	p := parse(t, in("# P", "## Phase 1: A", "### Task 1: a", "text", "## Phase 2: B (parallel)", "### Task 2: b",
		"text",
		"### Task 3: c", "text", "## Other", "### Task 4: d [P]", "text"))
	var got []string
	for _, b := range p.Batches {
		got = append(got, fmt.Sprintf("%s of %q at %d-%d: %v", b.Key, b.Group, b.StartLine, b.EndLine, b.ParallelSafe))
	}
	want := []string{`1 of "1" at 3-4: false`, `2 of "2" at 6-7: true`, `3 of "2" at 8-9: true`, `4 of "" at 11-12: true`}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error("-want +got:\n", diff)
	}
	groups := []Group{{"phase", "1", "A", 2}, {"phase", "2", "B (parallel)", 5}}
	if diff := cmp.Diff(groups, p.Groups); diff != "" {
		t.Error("-want +got:\n", diff)
	}
}
