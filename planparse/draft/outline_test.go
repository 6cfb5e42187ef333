package draft

import (
	"errors"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/runplan/runplan/planparse"
)

const note = "# Retries\n\nWe lose requests.\n\n## Background\n\nThe client gives up.\n\n## 1. " +
	"Backoff\n\n**Location:** `client/backoff.go`\n\n" +
	"It must wait between tries (REQ-7).\n\n```go\nfunc Wait(n int) time.Duration\n```\n\n## 2. Use it in the " +
	"client\n\nExtend `client/client.go`: " +
	"it waits as section 1 says. See `docs/http.md`.\n\n## Test plan\n\n- `go test ./client` passes\n- " +
	"`client/backoff.go` never waits for more than a minute\n\n## Out of scope\n\nJitter.\n"

func has(paths ...string) func(string) bool {
	return func(p string) bool {
		for _, x := range paths {
			if p == x {
				return true
			}
		}
		return false
	}
}

func TestOutlineBatches(t *testing.T) {
	p, err := Outline("docs/retries.md", []byte(note), has("docs/retries.md", "client/client.go", "docs/http.md"))
	if err != nil {
		t.Fatal(err)
	}
	type row struct {
		Title, Origin string
		Files         Files
		Refs          []string
		On            []int
		Tasks         int
		Checks        []Check
	}
	var got []row
	for _, b := range p.Batches {
		got = append(got, row{b.Title, b.Origin, b.Files, b.Refs, b.DependsOn, len(b.Tasks), b.Checks})
	}
	want := []row{
		{"Backoff", "docs/retries.md:9", Files{Create: []string{"client/backoff.go"}}, []string{"docs/retries.md"}, nil, 2,
			nil},
		{"Use it in the client", "docs/retries.md:19", Files{Modify: []string{"client/client.go"}},
			[]string{"docs/retries.md", "docs/http.md"}, []int{1}, 1, nil},
		{"Check the result", "docs/retries.md:25", Files{}, []string{"docs/retries.md"}, []int{2}, 1,
			[]Check{{"go test ./client", "PASS"}}},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	text, err := p.Markdown()
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{"<!-- from docs/retries.md:9 -->", "It must wait between tries (REQ-7).",
		"Run: `go test ./client`", "lines 5 to 7, Background: background, not work", "lines 28 to 30, Out of scope"} {
		if !strings.Contains(text, line) {
			t.Errorf("%q is not in\n%s", line, text)
		}
	}
}

func TestOutlineReadsPagesWithoutMarkup(t *testing.T) {
	page := "feat: a thing #8\n\nMerged\n\nSummary\n\nIt does a thing.\n\nThreads\n\n  • Parser (§3)src/parse.go reads " +
		"it.\n  • Printer (§4)src/print.go prints it.\n\nTest plan\n\n  • go test ./src — green.\n\nOut of scope (for " +
		"now)\n\n  • Colours.\n"
	p, err := Outline("page.txt", []byte(page), has())
	if err != nil {
		t.Fatal(err)
	}
	var titles []string
	for _, b := range p.Batches {
		titles = append(titles, b.Title)
	}
	if d := cmp.Diff([]string{"Parser", "Printer", "Check the result"}, titles); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]Check{{"go test ./src", "PASS"}}, p.Batches[2].Checks); d != "" {
		t.Error(d)
	}
}

func TestOutlineReportsMissingWork(t *testing.T) {
	for text, want := range map[string]string{
		"# A\n\n## Background\n\nThings were bad.\n":                 "only background headings",
		"# A\n\n## The colour of the sky\n\nIt is blue as a rule.\n": `sections: "The colour of the sky"`,
	} {
		if _, err := Outline("a.md", []byte(text), has()); !errors.Is(err, ErrNoWork) ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", text, err)
		}
	}
	if _, err := Outline("a.md", nil, has()); !errors.Is(err, planparse.ErrEmpty) {
		t.Error(err)
	}
}

// keeps checks the invariants of an outline for a document: the plan parses with the same batches, and each line of
// the document is in a batch or in a part that is listed as left out.
func keeps(t *testing.T, src string) {
	t.Helper()
	p, err := Outline("docs/x.md", []byte(src), has("docs/x.md", "a/b.go"))
	if err != nil {
		return
	}
	text, err := p.Markdown()
	if err != nil {
		t.Fatalf("%v\n%q", err, src)
	}
	read, err := planparse.Parse("x.md", []byte(text))
	if err != nil || len(read.Errors()) > 0 || len(read.Batches) != len(p.Batches) {
		t.Fatalf("%v %v\n%s", err, read.Errors(), text)
	}
	lines := strings.Split(strings.TrimSuffix(strings.ReplaceAll(strings.ReplaceAll(src, "\r\n", "\n"), "\r", "\n"), "\n"),
		"\n")
	left := make([]bool, len(lines)+1)
	for _, l := range p.Left {
		if l.First < 1 || l.Last > len(lines) || l.First > l.Last {
			t.Fatalf("lines %d to %d of %d are left\n%q", l.First, l.Last, len(lines), src)
		}
		for n := l.First; n <= l.Last; n++ {
			left[n] = true
		}
	}
	all := spaceless(text)
	for n, line := range lines {
		want := spaceless(prose(strings.TrimSpace(line)))
		if m := itemMark.FindStringSubmatch(line); m != nil {
			want = spaceless(prose(m[2]))
		}
		if !left[n+1] && !rule(line) && want != "" && !strings.Contains(all, want) &&
			!strings.Contains(all, spaceless(titleOf(line))) {
			t.Fatalf("line %d is lost: %q\n%q\n%s", n+1, line, src, text)
		}
	}
}

func spaceless(s string) string { return strings.Join(strings.Fields(s), "") }

// titleOf returns a line in the form that it has in a heading or after a list marker.
func titleOf(line string) string {
	line = strings.TrimLeft(strings.TrimSpace(line), "#= ")
	if m := itemMark.FindStringSubmatch(line); m != nil {
		line = m[2]
	}
	if m := numbered.FindStringSubmatch(line); m != nil {
		line = m[2]
	}
	return Title(prose(line), "")
}

func TestOutlineKeepsAllText(t *testing.T) {
	parts := []string{
		"# Title\n", "## 1. Parser\n", "### 1.1 Lexer\n", "## Background\n", "## Test plan\n", "## Changes\n", "## Files\n",
		"## Out of scope\n", "Summary\n", "Threads\n",
		"**Location:** `x/y.go`\n", "It must call `Wait` (REQ-1).\n", "- Add `a/b.go` to the build\n",
		"- [ ] go test ./... passes\n", "  more of it\n", "\n", "\n", "---\n",
		"```go\nfunc x() {}\n```\n", "````\n## Batch 1: no\n```\n", "| `x/z.go` | new |\n", "1. Create `q.py`\n",
		"depends_on: batch-9\n", "## Batch 3: real\n", "### Task 1: t\n",
		"<!-- a comment\n", "-->\n", "Run: `rm -rf x`\n", "> quoted\n", "Files:\n- Create: `evil.go`\n", "critical: true\n",
		"See section 1 and Phase 2.\n", "## Phase 2: more\n", "    indented\n",
		"text\n===\n", "text\n---\n", "  • point (§1)src/a.go\n", "Expected: FAIL\n", "\t- tab\n", "~~~\n",
	}
	r := rand.New(rand.NewPCG(1, 2))
	for range 1500 {
		var b strings.Builder
		for range 3 + r.IntN(14) {
			b.WriteString(parts[r.IntN(len(parts))])
			if r.IntN(3) == 0 {
				b.WriteString("\n")
			}
		}
		keeps(t, b.String())
	}
}

func FuzzOutline(f *testing.F) {
	f.Add(note)
	f.Add("Threads\n\n  • a (§1)src/x.go\n  • b\n\nTest plan\n\n  • pytest x — ok\n")
	f.Add("# a\r\n\r\n## Add b\r\n\r\n- Create `x/y.go`\r\n---\r\n")
	f.Fuzz(func(t *testing.T, src string) { keeps(t, src) })
}
