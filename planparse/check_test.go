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
		{Batch{Title: "Hook up the parser"}, TypeWiring},
		{Batch{Title: "Test the wiring", Files: Files{Test: []string{"a_test.go"}}}, TypeTestOnly},
		{Batch{Title: "Integrate the parser", Files: Files{Create: []string{"a.go"}}}, TypeWiring},
		{Batch{Title: "Integrate the tests", Files: Files{Test: []string{"a_test.go"}}}, TypeTestOnly},
		{Batch{Title: "Test coverage", Files: Files{Modify: []string{"a.go"}}}, TypeRefactoring},
		{Batch{Title: "Test coverage", Files: Files{Modify: []string{"a_test.go"}}}, TypeTestOnly},
		{Batch{Title: "Rename it", Files: Files{Create: []string{"a.go"}}}, TypeRefactoring},
		{Batch{Title: "Drop it", Files: Files{Delete: []string{"a.go"}}}, TypeRefactoring},
		{Batch{Title: "Replace it", Files: Files{Create: []string{"a.go"}, Delete: []string{"b.go"}}}, TypeNewFile},
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

// Each dimension counts what satisfies it, and gets its share of the points.
func TestDimensions(t *testing.T) {
	long := strings.Repeat("text\n", 101)
	r := Check(parse(t, in("# P", "## Batch 1: Read + count", "### Task 1: a", "**Files:**", "- Create: `a.go`", "", long,
		"### Task 2: b", "Run: `make`", "", "## Batch 2: Print", "depends_on: 3", "### Task 3: c", "See `src/print.go`.", "",
		"## Batch 3: Save", "**Files:**", "- Modify: `s.go`", "", "It has a test.", "", "'''testscript", "x", "'''", "",
		"## Batch 4: Many", "### Task 4: a", "### Task 5: a", "### Task 6: a", "### Task 7: a", "### Task 8: a",
		"### Task 9: a")))
	var got []string
	sum := 0
	for _, d := range r.Dimensions {
		got = append(got, fmt.Sprintf("%s %d/%d %s", d.Name, d.Points, d.Weight, d.Reason))
		sum += d.Points
	}
	want := []string{
		"granularity 18/20 8 of 9 tasks take at most 100 lines",
		"verification 10/20 2 of 4 batches have a check of their outcome",
		"files 11/15 3 of 4 batches name the files they touch, in a list, in their text or in the blocks that they spell out",
		"batch-size 5/10 2 of 4 batches have one to five tasks",
		"order 8/10 3 of 4 batches depend on earlier ones only",
		"tests 8/15 1 of 2 batches that list code to change say how it is tested",
		"single-outcome 8/10 3 of 4 batch titles name one outcome",
	}
	if diff := cmp.Diff(want, got); diff != "" || r.Score != sum {
		t.Errorf("score %d of %d; -want +got:\n%s", r.Score, sum, diff)
	}
	whole := Check(parse(t, in("# P", "", "## Batch 1: Read", "", "- Create: `a.go`")))
	for _, d := range whole.Dimensions {
		if d.Name == "batch-size" && (d.Points != 10 || d.Reason != "does not apply: there are no tasks") {
			t.Errorf("a plan without tasks: %+v", d)
		}
	}
	if r := Check(parse(t, goodPlan())); r.Advice == nil || r.Diagnostics == nil {
		t.Errorf("a report has lists, even if they are empty: %+v", r)
	}
}

// A plan that builds first and tests afterwards cannot verify its batches before they merge.
func TestConcernBatched(t *testing.T) {
	code := func(title string) Batch { return Batch{Title: title, Files: Files{Create: []string{title + ".go"}}} }
	tests := func(title string) Batch {
		return Batch{Title: title, Files: Files{Test: []string{title + "_test.go"}}}
	}
	both := code("c")
	both.Files.Test = []string{"c_test.go"}
	for name, c := range map[string]struct {
		batches []Batch
		want    bool
	}{
		"two parts, then tests":        {[]Batch{code("a"), code("b"), tests("c")}, true},
		"one part, then tests":         {[]Batch{code("a"), tests("c")}, false},
		"two parts":                    {[]Batch{code("a"), code("b")}, false},
		"a part with its test":         {[]Batch{code("a"), code("b"), both, tests("d")}, false},
		"code after the tests":         {[]Batch{code("a"), code("b"), tests("c"), code("d")}, false},
		"wiring after the tests":       {[]Batch{code("a"), code("b"), tests("c"), {Title: "Wiring"}}, true},
		"tests that only run":          {[]Batch{code("a"), code("b"), {Title: "Test it"}}, false},
		"a last verification":          {[]Batch{code("a"), code("b"), tests("Acceptance")}, false},
		"tests, and then verification": {[]Batch{code("a"), code("b"), tests("c"), tests("Final")}, true},
		"an early verification":        {[]Batch{code("a"), code("b"), tests("Final"), {Title: "Wiring"}}, true},
	} {
		if got := ConcernBatched(&Plan{Batches: c.batches}); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// Advice names the batch and its line; advice about the plan has neither.
func TestAdviceNamesBatch(t *testing.T) {
	for name, c := range map[string]struct {
		in   []string
		want []string
	}{
		"shared files": {[]string{"## Batch 1: Wire", "- Create: `a.go`", "- Modify: `b.go`", "Run: `x`", "## Batch 2: B",
			"depends_on: none", "parallel_safe: true", "", "- Modify: `a.go`", "- Modify: `b.go`", "Run: `x`", "## Batch 3: C",
			"depends_on: 2", "", "- Modify: `a.go`", "- Test: `a.go`", "Run: `x`"}, []string{"shared-file 2@5"}},
		"no order, and no parallel work": {[]string{"## Batch 1: Wire", "- Create: `a.go`", "Run: `x`", "## Batch 2: B",
			"- Modify: `a.go`", "Run: `x`"}, nil},
		"five tasks": {[]string{"## Batch 1: A", "Run: `x`", "### Task 1: a", "### Task 2: a", "### Task 3: a",
			"### Task 4: a", "### Task 5: a"}, nil},
		"counts": {[]string{"# P", "We have 2 batches, (3 tasks) and 7 files.", "## Batch 1: Wire", "Run: `x`",
			"### Task 1: a", "### Task 2: b", "## Batch 2: B", "Run: `x`"}, []string{"counts-disagree @1"}},
		"one batch is no plan of batches": {[]string{"# P", "We have 2 batches.", "## Batch 1: Wire", "Run: `x`"}, nil},
		"more tests than before": {[]string{"## Batch 1: Wire", "Run: `t`", "Expected: 7 tests", "## Batch 2: B", "Run: `t`",
			"Expected: 9 passed"}, nil},
		"tests of another command": {[]string{"## Batch 1: Wire", "Run: `t`", "Expected: 9 tests", "## Batch 2: B",
			"Run: `u`", "Expected: 7 tests"}, nil},
		"fewer tests": {[]string{"## Batch 1: Wire", "Run: `t`", "Expected: 9 tests", "## Batch 2: B", "Run: `t`",
			"Expected: 7 passed"}, []string{"counts-disagree 2@4"}},
		"a test with its code": {[]string{"## Batch 1: Wire", "- Create: `parser.py`", "- Test: `test_parser.py`",
			"Run: `x`"}, nil},
		"a test of older code": {[]string{"## Batch 1: Wire", "- Create: `parser.py`", "Run: `x`", "## Batch 2: B",
			"- Create: `test_parser.py`", "Run: `x`"}, nil},
		"a test before its code": {[]string{"## Batch 1: Wire", "- Create: `test_parser.py`", "Run: `x`", "## Batch 2: B",
			"- Create: `parser.py`", "Run: `x`", "## Batch 3: C", "- Create: `lib/parser.py`", "Run: `x`"},
			[]string{"tests-missing-code 1@1"}},
	} {
		var got []string
		for _, a := range Check(parse(t, in(c.in...))).Advice {
			got = append(got, fmt.Sprintf("%s %s@%d", a.Code, a.Batch, a.Line))
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
