package planparse

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const comparedPlan = "# P\n\n## Batch 1: Parser\n\n### Task 1: Write the parser\n\nRead teh file.\n\n### Task 2: " +
	"Write the lexer\n\n" +
	"## Batch 2: Printer\n\ndepends_on: batch-1\n\n**Files:**\n- Modify: `print.go`\n\n### Task 3: Print it\n\nRun: `go " +
	"test ./...`\nExpected: PASS\n\n" +
	"## Batch 3: Wiring\n\n### Task 4: Call both\n"

func TestCompare(t *testing.T) {
	edit := func(pairs ...string) string { return strings.NewReplacer(pairs...).Replace(comparedPlan) }
	lines := func(pick ...string) string { return strings.Join(pick, "\n") }
	for name, tt := range map[string]struct {
		now  string
		want string
	}{
		"the same plan": {comparedPlan, lines("1→1 unchanged", "2→2 unchanged", "3→3 unchanged")},
		"ticks are no change": {edit("### Task 4: Call both", "### Task 4: Call both\n"),
			lines("1→1 unchanged", "2→2 unchanged", "3→3 unchanged")},
		"a typo in prose": {edit("teh", "the"), lines("1→1 text", "2→2 unchanged", "3→3 unchanged")},
		"a typo in a task": {edit("Write the parser", "Write the praser"),
			lines("1→1 text", "2→2 unchanged", "3→3 unchanged")},
		"another task": {edit("Write the parser", "Write the old parser"),
			lines("1→1 work: task Write the old parser is new, task Write the parser is gone", "2→2 unchanged",
				"3→3 unchanged")},
		"another command": {edit("go test ./...", "go vet ./..."),
			lines("1→1 unchanged",
				"2→2 work: command `go vet ./...`, expected PASS is new, command `go test ./...`, expected PASS is gone",
				"3→3 unchanged")},
		"another file": {edit("print.go", "prints.go"),
			lines("1→1 unchanged", "2→2 work: modifying prints.go is new, modifying print.go is gone", "3→3 unchanged")},
		"another order": {edit("depends_on: batch-1\n", ""),
			lines("1→1 unchanged", `2→2 work: the need of "Parser" is gone`, "3→3 unchanged")},
		"a removed batch": {comparedPlan[:strings.Index(comparedPlan, "## Batch 3")],
			lines("1→1 unchanged", "2→2 unchanged", "3→ removed")},
		"a batch in between": {edit("## Batch 2: Printer\n\ndepends_on: batch-1",
			"## Batch 2: New\n\nAdd `x`.\n\n## Batch 3: Printer\n\ndepends_on: batch-1", "Batch 3: Wiring", "Batch 4: Wiring"),
			lines("1→1 unchanged", "→2 new", "2→3 unchanged moved", "3→4 unchanged moved")},
		"a renamed batch": {edit("Batch 2: Printer", "Batch 2: Output"),
			lines("1→1 unchanged", "2→2 text", "3→3 unchanged")},
		"a renamed, moved one": {edit("Batch 2: Printer", "Batch 9: Output"),
			lines("1→1 unchanged", "2→9 text moved", "3→3 unchanged")},
		"a split batch": {edit("### Task 2: Write the lexer\n", "## Batch 4: Lexer\n\n### Task 2: Write the lexer\n"),
			lines("1→1 work: task Write the lexer is gone", "→4 new from 1", "2→2 unchanged", "3→3 unchanged")},
		"another batch under the number": {edit("## Batch 3: Wiring\n\n### Task 4: Call both\n",
			"## Batch 3: Documentation\n\n### Task 4: Describe every flag of the tool\n\nWith examples.\n"),
			lines("1→1 unchanged", "2→2 unchanged", "→3 new", "3→ removed")},
		"nothing but a number in common": {edit("## Batch 3: Wiring\n\n### Task 4: Call both\n",
			"## Batch 3: Zebra\n\n### Task 4: Call the zoo\n"),
			lines("1→1 unchanged", "2→2 unchanged", "3→3 work: task Call the zoo is new, task Call both is gone unsure")},
		"another title, and most of the text": {edit("## Batch 2: Printer", "## Batch 2: Zebra", "go test", "go vet"),
			lines("1→1 unchanged",
				"2→2 work: command `go vet ./...`, expected PASS is new, command `go test ./...`, expected PASS is gone",
				"3→3 unchanged")},
		"the same title, and another text": {edit("### Task 4: Call both", "### Task 4: Describe every flag"),
			lines("1→1 unchanged", "2→2 unchanged",
				"3→3 work: task Describe every flag is new, task Call both is gone")},
	} {
		t.Run(name, func(t *testing.T) {
			old, err := Parse("", []byte(comparedPlan))
			if err != nil {
				t.Fatal(err)
			}
			now, err := Parse("", []byte(tt.now))
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(tt.want, strings.Join(told(Compare(old, now)), "\n")); d != "" {
				t.Error(d)
			}
		})
	}
}

// Compare names each difference of the work; other words and ticks are no work.
func TestDifferencesOfBatches(t *testing.T) {
	fence := func(lang, text string) string { return in("'''"+lang, text, "'''") }
	for name, c := range map[string]struct {
		old, now string
		want     string
	}{
		"prose":                     {"Some text.", "Other words.", ""},
		"white space":               {"- [ ] a  b", "- [x] a b", ""},
		"a step":                    {"- [ ] run one", "- [ ] run one\n- [ ] call it", "step call it is new"},
		"a step that is said twice": {"- [ ] run it\n- [ ] run it", "- [ ] run it", "step run it is gone"},
		"files": {"- Create: `a.go`\n- Test: `a_test.go`\n- Delete: `c.go`", "- Create: `b.go`",
			"creating b.go is new, creating a.go is gone, test file a_test.go is gone, deleting c.go is gone"},
		"a command without an expectation": {"Run: `make a`", "Run: `make b`",
			"command `make b` is new, command `make a` is gone"},
		"an expectation": {"Run: `make a`\nExpected: FAIL", "Run: `make a`\nExpected: PASS",
			"command `make a`, expected PASS is new, command `make a`, expected FAIL is gone"},
		"flags": {"critical: true\nwhen: env.CI\nmutants: 70", "approve: true\nparallel_safe: true\ntest_first: true",
			"when is  instead of env.CI, critical is false instead of true, approve is true instead of false, " +
				"parallel_safe is true instead of false, test_first is true instead of false, mutants is 0 instead of 70"},
		"a regression test": {"regression: a_test.go", "regression: b_test.go",
			"regression test b_test.go is new, regression test a_test.go is gone"},
		"code":                 {fence("go", "a"), fence("go", "b"), "its code blocks differ"},
		"the language of code": {fence("go", "a"), fence("text", "a"), "its code blocks differ"},
		"code in a fence of a doc": {fence("md", fence("go", "a")), fence("md", fence("go", "b")),
			"its code blocks differ"},
		"the indentation of code": {fence("", "a"), fence("", "  a"), ""},
		"text below code":         {fence("", "a") + "one", fence("", "a") + "two", ""},
		"a typo":                  {"- [ ] Write teh parser", "- [ ] Write the parser", ""},
		"a typo in a single word": {"- [ ] parsre", "- [ ] parser", "step parser is new, step parsre is gone"},
		"a typo in code": {"- [ ] `make alll`", "- [ ] `make all`",
			"step `make all` is new, step `make alll` is gone"},
		"a number": {"- [ ] keep 100 lines", "- [ ] keep 200 lines",
			"step keep 200 lines is new, step keep 100 lines is gone"},
		"a short word": {"- [ ] go on", "- [ ] go in", "step go in is new, step go on is gone"},
		"another word of the same length": {"- [ ] Write the parser", "- [ ] Write the reader",
			"step Write the reader is new, step Write the parser is gone"},
		"two wrong letters in a word of six": {"- [ ] Write the parser", "- [ ] Write the harder", ""},
		"two wrong letters in a word of five": {"- [ ] Write the lexer", "- [ ] Write the lemur",
			"step Write the lemur is new, step Write the lexer is gone"},
		"another word in front of a number": {"- [ ] keep 1000 lines", "- [ ] keep x000 lines",
			"step keep x000 lines is new, step keep 1000 lines is gone"},
		"another number behind a letter": {"- [ ] keep x000 lines", "- [ ] keep 1000 lines",
			"step keep 1000 lines is new, step keep x000 lines is gone"},
		"two typos in few words": {"- [ ] write teh parsre", "- [ ] write the parser",
			"step write the parser is new, step write teh parsre is gone"},
		"two typos in many words": {"- [ ] write teh parsre of all plans", "- [ ] write the parser of all plans", ""},
	} {
		plan := func(text string) *Plan { return parse(t, "# P\n\n## Batch 1: A title\n"+text+"\n") }
		changes := Compare(plan(c.old), plan(c.now))
		if len(changes) != 1 || strings.Join(changes[0].What, ", ") != c.want {
			t.Errorf("%s: got %q, want %q", name, told(changes), c.want)
		}
	}
}

// A new batch comes from old ones if these have all of its tasks, and partly from those that have some.
func TestOriginsOfBatches(t *testing.T) {
	old := parse(t, in("# P", "## Batch 1: A", "### Task 1: Read the file", "### Task 2: Count all words",
		"## Batch 2: B",
		"### Task 3: Print the sum", "text"))
	for name, c := range map[string]struct {
		tasks        []string
		from, partly string
	}{
		"of two batches":  {[]string{"### Task 1: Read the file", "### Task 3: Print the sum"}, "1 2", "1 2"},
		"of one batch":    {[]string{"### Task 2: Count all words"}, "1", "1"},
		"with a new task": {[]string{"### Task 1: Read the file", "### Task 4: Draw a picture"}, "", "1"},
		"of new tasks":    {[]string{"### Task 4: Draw a picture"}, "", ""},
	} {
		now := parse(t, in(append([]string{"# P", "## Batch 7: Quite another title"}, c.tasks...)...))
		var from, partly []string
		for _, change := range Compare(old, now) {
			for _, b := range change.From {
				from = append(from, b.Key)
			}
			for _, b := range change.Partly {
				partly = append(partly, b.Key)
			}
		}
		if strings.Join(from, " ") != c.from || strings.Join(partly, " ") != c.partly {
			t.Errorf("%s: from %q, want %q; partly from %q, want %q", name, from, c.from, partly, c.partly)
		}
	}
}

// The keys of a run replace those of the plan wherever batches are named.
func TestRename(t *testing.T) {
	p := &Plan{Batches: []Batch{{Key: "1"}, {Key: "2", DependsOn: []string{"1", "3"}}, {Key: "3",
		Checkpoint: &Checkpoint{At: "2"}}}}
	p.Rename(nil)
	if p.Batches[1].Key != "2" {
		t.Errorf("without keys: %+v", p.Batches)
	}
	p.Rename(map[string]string{"1": "2", "2": "x"})
	want := []Batch{{Key: "2"}, {Key: "x", DependsOn: []string{"2", "3"}}, {Key: "3", Checkpoint: &Checkpoint{At: "x"}}}
	if diff := cmp.Diff(want, p.Batches); diff != "" {
		t.Error("-want +got:\n", diff)
	}
}

func TestAlike(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want float64
	}{
		{"", "", 1}, {"!", "?", 0}, {"! ", "!", 1}, {"ab", "ab", 1}, {"Ab c", "aB  C", 1}, {"ab", "cd", 0}, {"", "ab",
			0}, {"ab", "ac", 0.5},
		{"aaaa", "aa", 2.0 / 3}, {"a1", "a2", 0.5},
	} {
		if got := alike(c.a, c.b); got != c.want {
			t.Errorf("%q and %q: %v, want %v", c.a, c.b, got, c.want)
		}
	}
}

func told(list []Change) []string {
	var out []string
	for _, c := range list {
		line := ""
		if c.Old != nil {
			line = c.Old.Key
		}
		line += "→"
		if c.New != nil {
			line += c.New.Key
		}
		line += " " + string(c.Kind)
		if len(c.What) > 0 {
			line += ": " + strings.Join(c.What, ", ")
		}
		for _, b := range c.From {
			line += " from " + b.Key
		}
		if c.Old != nil && c.New != nil && c.Old.Key != c.New.Key {
			line += " moved"
		}
		if c.Unsure {
			line += " unsure"
		}
		out = append(out, line)
	}
	return out
}

// For any two plans, each batch of both is in exactly one change.
func FuzzCompare(f *testing.F) {
	f.Add(comparedPlan, strings.ReplaceAll(comparedPlan, "Batch 2", "Batch 7"))
	f.Add("- [ ] 1. a\n- [ ] 2. b\n", "- [x] 1. a\n- [ ] 1. b\n")
	f.Fuzz(func(t *testing.T, a, b string) {
		old, err := Parse("", []byte(a))
		if err != nil {
			return
		}
		now, err := Parse("", []byte(b))
		if err != nil {
			return
		}
		olds, news := map[*Batch]int{}, map[*Batch]int{}
		for _, c := range Compare(old, now) {
			if c.Old != nil {
				olds[c.Old]++
			}
			if c.New != nil {
				news[c.New]++
			}
			if c.Old == nil && c.New == nil || c.Kind == Unchanged && len(c.What) > 0 {
				t.Fatalf("%+v", c)
			}
		}
		for _, x := range []struct {
			p    *Plan
			seen map[*Batch]int
		}{{old, olds}, {now, news}} {
			for i := range x.p.Batches {
				if n := x.seen[&x.p.Batches[i]]; n != 1 {
					t.Fatalf("batch %s is in %d changes", x.p.Batches[i].Key, n)
				}
			}
		}
		for _, c := range Compare(old, old) {
			if c.Kind != Unchanged {
				t.Fatalf("a plan differs from itself: %+v", c)
			}
		}
	})
}
