package planparse

import (
	"strings"
	"testing"
)

func TestFences(t *testing.T) {
	checkSketches(t, map[string]sketchCase{
		"a fence in a fence of the same length is mended": {
			in: in("### Task 1: A", "'''markdown", "# Doc", "'''bash", "make", "'''", "### Task 8: no", "- [ ] no", "'''",
				"### Task 2: B", "- [ ] b"),
			want: "superpowers 1(1:0) 2(2:1)", codes: "broken-fence@2",
		},
		"two levels of nesting": {
			in: in("### Task 1: A", "'''markdown", "'''markdown", "'''go", "x", "'''", "'''", "### Task 8: no", "'''",
				"### Task 2: B"),
			want: "superpowers 1(1:0) 2(2:0)", codes: "broken-fence@2",
		},
		"longer fences hold shorter ones": {
			in: in("### Task 1: A", "'''''markdown", "'''bash", "make", "'''", "'''", "## Task 8: no", "'''''",
				"### Task 2: B"),
			want: "superpowers 1(1:0) 2(2:0)",
		},
		"a longer fence ends an unclosed one inside it": {
			in:   in("### Task 1: A", "''''markdown", "'''bash", "make", "''''", "### Task 2: B"),
			want: "superpowers 1(1:0) 2(2:0)",
		},
		"tildes fence like backticks, and each in the other is text": {
			in: in("### Task 1: A", "~~~", "'''", "### Task 8: no", "~~~", "'''text", "~~~", "### Task 9: no", "'''",
				"### Task 2: B"),
			want: "superpowers 1(1:0) 2(2:0)", codes: "fenced-heading@4",
		},
		"a fence in a list item survives lines that are not indented": {
			in: in("### Task 1: A", "- [ ] **Step 1: Commit**", "  '''bash", `  git commit -m "$(cat <<'EOF'`, "  feat: x", "",
				"Co-Authored-By: Bot <bot@x>", "EOF", `  )"`, "  '''",
				"- [ ] b", "### Task 2: B"),
			want: "superpowers 1(1:2) 2(2:0)", codes: "broken-fence@3",
		},
		"a fence in a list item that was never closed ends at the next task": {
			in:   in("### Task 1: A", "- [ ] a", "  '''bash", "  make", "", "### Task 2: B", "'''go", "x", "'''"),
			want: "superpowers 1(1:1) 2(2:0)",
		},
		"fences that don't pair up are read as CommonMark does": {
			in:    in("### Task 1: A", "'''bash", "cat <<EOF", "'''json", "EOF", "'''", "### Task 2: B", "- [ ] b"),
			want:  "superpowers 1(1:0) 2(2:1)",
			codes: "broken-fence@2",
		},
		"a mended fence stays mended where another one is broken": {
			in: in("### Task 1: A", "'''markdown", "'''bash", "'''", "### Task 8: no", "'''", "### Task 2: B", "'''bash",
				"'''json", "'''", "### Task 3: C"),
			want: "superpowers 1(1:0) 2(2:0) 3(3:0)", codes: "broken-fence@2 broken-fence@8",
		},
		"an unclosed fence is reported": {
			in: in("### Task 1: A", "'''go", "### Task 2: B"), want: "superpowers 1(1:0)", codes: "unclosed-fence@2",
		},
		"an unclosed comment is reported": {
			in: in("### Task 1: A", "<!-- todo", "### Task 2: B"), want: "superpowers 1(1:0)", codes: "unclosed-comment@2",
		},
		"boxes in details count, boxes in pre don't": {
			in:   in("### Task 1: A", "<details>", "- [ ] a", "</details>", "", "<pre>", "- [ ] no", "</pre>"),
			want: "superpowers 1(1:1)",
		},
		"a comment may be in a heading and after a box": {
			in: in("### Task 1: A <!-- x -->", "- [ ] a <!-- Files: b -->"), want: "superpowers 1(1:1)",
		},
	})
}

// The encoding and the line endings of a file do not change the plan.
func TestEncodings(t *testing.T) {
	src := in("---", "critical: true", "---", "# P", "## Batch 1: A", "depends_on: none", "### Task 1: x", "**Files:**",
		"- Create: `a.txt`", "",
		"'''", "text", "'''", "", "- [ ] **Step 1: a**", "\t- [x] b", "- Run: `make`", "  Expected: PASS", "<!--", "- [ ] no",
		"-->")
	want := sketch(parse(t, src))
	if want != "run-plan <batch 1> 1(1:2)" {
		t.Fatal(want)
	}
	for name, other := range map[string]string{
		"CRLF":                    strings.ReplaceAll(src, "\n", "\r\n"),
		"CR":                      strings.ReplaceAll(src, "\n", "\r"),
		"a byte order mark":       "\uFEFF" + src,
		"no newline at the end":   strings.TrimRight(src, "\n"),
		"a line of 70 kB":         strings.Replace(src, "text", strings.Repeat("x", 70_000), 1),
		"a heading of 70 kB":      strings.Replace(src, "Task 1: x", "Task 1: "+strings.Repeat("x", 70_000), 1),
		"tabs in front of a path": strings.Replace(src, "- Create:", "-\tCreate:", 1),
	} {
		p := parse(t, other)
		if got := sketch(p); got != want {
			t.Errorf("%s: got %s, want %s", name, got, want)
		}
		b := p.Batches[0]
		if !b.Critical || len(b.Files.Create) != 1 || len(b.Commands) != 1 || b.Commands[0].Expected != "PASS" ||
			b.StartLine != 5 {
			t.Errorf("%s: batch is %+v", name, b)
		}
		if len(b.Blocks) != 2 || b.Blocks[0].Path != "a.txt" || strings.Contains(b.Blocks[0].Text, "\r") {
			t.Errorf("%s: blocks are %+v", name, b.Blocks)
		}
	}
}
