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
