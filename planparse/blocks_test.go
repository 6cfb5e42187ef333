package planparse

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestBlocks(t *testing.T) {
	for name, c := range map[string]struct {
		in      string
		want    []Block
		literal bool
	}{
		"a fence with file= is a file": {in("'''go file=cmd/main.go", "package main", "'''"),
			[]Block{{Kind: BlockFile, Path: "cmd/main.go", Text: "package main\n", Line: 3}}, true},
		"a quoted path": {in(`'''text file="a b.txt"`, "x", "'''"),
			[]Block{{Kind: BlockFile, Path: "a b.txt", Text: "x\n", Line: 3}}, true},
		"no language": {in("''' file=a.txt", "x", "'''"),
			[]Block{{Kind: BlockFile, Path: "a.txt", Text: "x\n", Line: 3}}, true},
		"a fence right below Create": {in("- Create: `run.sh`", "", "'''bash", "make", "'''"),
			[]Block{{Kind: BlockFile, Path: "run.sh", Text: "make\n", Line: 5}}, true},
		"a fence in the item of Create": {in("- Create: `a.txt`", "  '''", "  x", "    y", "  '''"),
			[]Block{{Kind: BlockFile, Path: "a.txt", Text: "x\n  y\n", Line: 4}}, true},
		"shell, whatever it is called": {in("'''SH", "a", "'''", "'''bash", "b", "'''", "'''shell", "c", "'''"),
			[]Block{{Kind: BlockShell, Text: "a\n", Line: 3}, {Kind: BlockShell, Text: "b\n", Line: 6},
				{Kind: BlockShell, Text: "c\n", Line: 9}}, true},
		"testscript": {in("'''testscript", "exec true", "'''"),
			[]Block{{Kind: BlockTestscript, Text: "exec true\n", Line: 3}}, true},
		"diff and patch": {in("'''diff", "-a", "'''", "'''patch", "+b", "'''"),
			[]Block{{Kind: BlockDiff, Text: "-a\n", Line: 3}, {Kind: BlockDiff, Text: "+b\n", Line: 6}}, true},
		"edits with and without a file": {in("'''edit file=a.go", "x", "'''", "'''edit", "y", "'''"),
			[]Block{{Kind: BlockEdit, Path: "a.go", Text: "x\n", Line: 3}, {Kind: BlockEdit, Text: "y\n", Line: 6}}, true},
		"a command with its expectation": {in("Run: `make`", "Expected: `ok`"),
			[]Block{{Kind: BlockRun, Text: "make", Expected: "ok", Line: 3}}, true},
		"a command behind one that is no block": {in("Verify: `make check`, expect FAIL", "Run: `make`", "Expected: `ok`"),
			[]Block{{Kind: BlockRun, Text: "make", Expected: "ok", Line: 4}}, true},
		"a fence that is the body of Run": {in("Run:", "'''bash", "make", "'''", "Expected: FAIL"),
			[]Block{{Kind: BlockRun, Text: "make", Expected: "FAIL", Line: 4}}, true},
		"the expected output is not a block": {in("Run: `make`", "Expected:", "'''sh", "ok", "'''"),
			[]Block{{Kind: BlockRun, Text: "make", Expected: "ok", Line: 3}}, true},
		"a deletion next to other blocks": {in("**Files:**", "- Delete: `a.go`", "", "'''sh", "x", "'''"),
			[]Block{{Kind: BlockDelete, Path: "a.go", Line: 4}, {Kind: BlockShell, Text: "x\n", Line: 6}}, true},
		"a deletion alone is prose": {in("**Files:**", "- Delete: `a.go`"), nil, false},
		"a fence in a fence is text": {in("''''markdown file=a.md", "'''bash", "make", "'''", "''''"),
			[]Block{{Kind: BlockFile, Path: "a.md", Text: "```bash\nmake\n```\n", Line: 3}}, true},
		"a broken fence keeps what is inside": {in("'''markdown file=a.md", "'''bash", "make", "'''", "end", "'''"),
			[]Block{{Kind: BlockFile, Path: "a.md", Text: "```bash\nmake\n```\nend\n", Line: 3}}, true},
		"code that names no file needs a mind": {in("'''go", "x", "'''", "'''bash", "git commit", "'''"),
			[]Block{{Kind: BlockShell, Text: "git commit\n", Line: 6}}, false},
		"shown output needs no file name": {in("'''console", "$ x", "'''", "'''bash", "x", "'''"),
			[]Block{{Kind: BlockShell, Text: "x\n", Line: 6}}, true},
		"a file that no block touches needs a mind": {in("**Files:**", "- Modify: `a.go`", "", "'''bash", "git add a.go",
			"git commit -m x", "'''"), []Block{{Kind: BlockShell, Text: "git add a.go\ngit commit -m x\n", Line: 6}}, false},
		"a file that a command writes needs none": {in("**Files:**", "- Create: `a.txt`", "", "'''bash", "echo > a.txt",
			"'''"), []Block{{Kind: BlockShell, Text: "echo > a.txt\n", Line: 6}}, true},
		"prose is prose": {in("Think about it."), nil, false},
	} {
		p := parse(t, in("### Task 1: A", "")+c.in)
		if len(p.Errors()) > 0 {
			t.Errorf("%s: %v", name, p.Errors())
		}
		if diff := cmp.Diff(c.want, p.Batches[0].Blocks); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		if got := p.Batches[0].Tasks[0].Literal; got != c.literal {
			t.Errorf("%s: literal is %v", name, got)
		}
	}
	for _, path := range []string{"/etc/passwd", "../x", "~/x", `C:\x`, "dir/", `""`} {
		p := parse(t, in("### Task 1: A", "''' file="+path, "x", "'''"))
		if len(p.Errors()) != 1 || len(p.Batches[0].Blocks) != 0 {
			t.Errorf("file=%s must be an error and no block: %v %v", path, p.Diagnostics, p.Batches[0].Blocks)
		}
	}
	p := parse(t, in("## Batch 1: A", "", "'''sh", "x", "'''", "### Task 1: a", "'''sh", "y", "'''"))
	if b := p.Batches[0].Blocks; len(b) != 2 || b[0].Task != -1 || b[1].Task != 0 {
		t.Errorf("a block above the tasks must not belong to a task: %+v", b)
	}
}
