package planparse

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func goodPlan() string {
	return in("# P", "## Batch 1: Parser", "### Task 1: Write it", "**Files:**", "- Create: `p.go`", "- Test: `p_test.go`",
		"Run: `go test`", "Expected: PASS",
		"## Batch 2: Integration wiring", "depends_on: batch-1", "### Task 2: Wire it", "**Files:**", "- Modify: `main.go`",
		"Run: `go test ./...`", "Expected: PASS")
}

func TestCheckGivesGoodPlanFullScore(t *testing.T) {
	r := Check(parse(t, goodPlan()))
	if !r.Valid || r.Score != 100 || len(r.Advice) != 0 {
		t.Errorf("got %+v", r)
	}
	weights := 0
	for _, d := range r.Dimensions {
		weights += d.Weight
	}
	if weights != 100 {
		t.Errorf("the weights add up to %d", weights)
	}
}

// File blocks count as named files, and a dimension that does not apply to a plan costs no points.
func TestCheckScoresLiteralPlan(t *testing.T) {
	r := Check(parse(t, in("# P", "## Batch 1: The function", "### Task 1: Write it", "'''go file=greet.go",
		"package greet", "'''", "Run: `go vet ./...`", "Expected: PASS")))
	got := map[string]string{}
	for _, d := range r.Dimensions {
		got[d.Name] = fmt.Sprintf("%d: %s", d.Points, d.Reason)
	}
	if r.Score != 100 || !strings.HasPrefix(got["files"], "15: 1 of 1 batches name") ||
		got["tests"] != "15: does not apply: there are no batches that list code to change" {
		t.Errorf("%d of 100: %v", r.Score, got)
	}
	if r := Check(parse(t, "Nothing.\n")); r.Score != 0 {
		t.Errorf("a text without a plan has the score %d", r.Score)
	}
}

func TestAdvice(t *testing.T) {
	task := func(lines ...string) []string { return append(lines, "Run: `make`", "Expected: PASS") }
	for name, c := range map[string]struct {
		in   []string
		want string
	}{
		"parts without wiring": {task("## Batch 1: A", "x", "## Batch 2: B", "Run: `make`"),
			"no-wiring-batch no-verification"},
		"a file that is created twice": {task("## Batch 1: Wire a", "- Create: `a.go`", "Run: `x`", "## Batch 2: B",
			"- Create: `a.go`"), "duplicate-create"},
		"a file shared without an order": {task("## Batch 1: Wire a", "- Modify: `a.go`", "Run: `x`", "## Batch 2: B",
			"parallel_safe: true", "", "- Modify: `a.go`"), "shared-file"},
		"a test ahead of its code": {task("## Batch 1: Wire", "- Test: `tests/test_parser.py`", "Run: `x`",
			"## Batch 2: B", "- Create: `src/parser.py`"), "tests-missing-code"},
		"a plan that miscounts itself": {task("# P", "We have 3 batches.", "## Batch 1: Wire", "x", "Run: `x`",
			"## Batch 2: B"), "counts-disagree"},
		"tests that get fewer": {task("## Batch 1: Wire", "Run: `t`", "Expected: 9 tests", "## Batch 2: B",
			"Run: `t`", "Expected: 7 tests"), "counts-disagree"},
		"building first, testing later": {task("## Batch 1: A", "- Create: `a.go`", "Run: `x`", "## Batch 2: B",
			"- Create: `b.go`", "Run: `x`", "## Batch 3: Tests", "- Test: `c_test.go`"), "no-wiring-batch concern-batched"},
		"building, then a verification": {task("## Batch 1: A", "- Create: `a.go`", "Run: `x`", "## Batch 2: B",
			"- Create: `b.go`", "Run: `x`", "## Batch 3: Final verification", "- Test: `c_test.go`"), "no-wiring-batch"},
		"building, then all the tests": {task("## Batch 1: A", "- Create: `a.go`", "Run: `x`", "## Batch 2: B",
			"- Create: `b.go`", "Run: `x`", "## Batch 3: Tests", "- Test: `a_test.go`", "Run: `x`", "## Batch 4: Final tests",
			"- Test: `b_test.go`"), "no-wiring-batch concern-batched"},
		"too much for one agent": {task("## Batch 1: A", "### Task 1: a", "### Task 2: a", "### Task 3: a",
			"### Task 4: a", "### Task 5: a", "### Task 6: a"), "big-batch"},
		"much for one agent, of which most is done": {task("## 1. A", "- [x] a", "- [x] b", "- [x] c", "- [x] d", "- [x] e",
			"- [ ] f"), ""},
		"all is done":                     {[]string{"## 1. A", "- [x] a", "## 2. B", "- [x] b"}, ""},
		"an empty batch":                  {task("## Batch 1: Wire", "## Batch 2: B"), "empty-batch"},
		"a hole in the plan":              {task("## Batch 1: A", "TBD"), "placeholder"},
		"a heading that almost is a task": {task("## Batch 1: A", "### Task 1: a", "### Task 2 do it"), "near-miss-heading"},
	} {
		var got []string
		for _, a := range Check(parse(t, in(c.in...))).Advice {
			got = append(got, a.Code)
		}
		if diff := cmp.Diff(c.want, strings.Join(got, " ")); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestTypeOf(t *testing.T) {
	for _, c := range []struct {
		b    Batch
		want BatchType
	}{
		{Batch{Title: "Parser", Files: Files{Create: []string{"p.go"}}}, TypeNewFile},
		{Batch{Title: "Parser", Files: Files{Modify: []string{"p.go"}}}, TypeRefactoring},
		{Batch{Title: "Extract the parser", Files: Files{Create: []string{"p.go"}, Modify: []string{"q.go"}}},
			TypeRefactoring},
		{Batch{Title: "Integration wiring", Files: Files{Modify: []string{"main.go"}}}, TypeWiring},
		{Batch{Title: "Cover the parser", Files: Files{Test: []string{"p_test.go"}}}, TypeTestOnly},
		{Batch{Title: "More", Files: Files{Create: []string{"tests/test_p.py"}}}, TypeTestOnly},
		{Batch{Title: "Final verification"}, TypeTestOnly},
		{Batch{Title: "Think"}, TypeNewFile},
	} {
		if got := TypeOf(c.b); got != c.want {
			t.Errorf("%s %+v is %s, want %s", c.b.Title, c.b.Files, got, c.want)
		}
	}
}

// The documentation explains exactly the codes that diagnostics and advice use.
func TestCodesAreDocumented(t *testing.T) {
	doc, err := os.ReadFile("../docs/plan-format.md")
	if err != nil {
		t.Fatal(err)
	}
	used := map[string]bool{}
	call := regexp.MustCompile(`(?:b|s|f|r|c)\.(?:warn|report|advise)\((?:[^"\n]*?)"([a-z]+(?:-[a-z]+)+|placeholder|checkpoint)"`)
	entries, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), ".go") || strings.HasSuffix(e.Name(), "_test.go") {
			continue
		}
		src, err := os.ReadFile(e.Name())
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range call.FindAllStringSubmatch(string(src), -1) {
			used[m[1]] = true
		}
	}
	if len(used) < 25 {
		t.Fatalf("found only %d codes in the source, the pattern must be out of date", len(used))
	}
	listed := map[string]bool{}
	for _, m := range regexp.MustCompile("(?m)^\\| `([a-z-]+)` \\| (?:error|warning|info|advice)").FindAllStringSubmatch(
		string(doc), -1) {
		listed[m[1]] = true
	}
	if diff := cmp.Diff(sortedKeys(listed), sortedKeys(used)); diff != "" {
		t.Error("codes (-documented +used):\n", diff)
	}
}
