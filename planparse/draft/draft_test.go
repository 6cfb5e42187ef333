package draft

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/runplan/runplan/planparse"
)

func TestPlanMarkdown(t *testing.T) {
	a, err := Plan{
		Title: "Retry on *timeouts*",
		Goal:  "The client tries again.\nIt says so.",
		Batches: []Batch{
			{
				Title: "Count the `tries`", Rationale: "Nothing can be retried that is not counted.",
				Files: Files{Create: []string{"./client/tries.go", "client/tries.go"}, Test: []string{"client/tries_test.go"}},
				Tasks: []string{"Write the counter\n\nIt begins at 0.\n\n## Batch 9: not a batch"},
			},
			{Title: "Use it", Files: Files{Modify: []string{"client/client.go"}}, Tasks: []string{"Call it from Do"},
				DependsOn: []int{1, 1}},
		},
	}.Normal()
	if err != nil {
		t.Fatal(err)
	}
	got, err := a.Markdown()
	if err != nil {
		t.Fatal(err)
	}
	want := `# Retry on timeouts

The client tries again.
It says so.

## Batch 1: Count the 'tries'

Nothing can be retried that is not counted.

**Files:**
- Create: ` + "`client/tries.go`" + `
- Test: ` + "`client/tries_test.go`" + `

### Task 1: Write the counter

~~~~text
It begins at 0.

## Batch 9: not a batch
~~~~

## Batch 2: Use it

depends_on: batch-1

**Files:**
- Modify: ` + "`client/client.go`" + `

### Task 1: Call it from Do
`
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

func TestNormalRefusesInvalidPlans(t *testing.T) {
	one := func(b Batch) Plan {
		return Plan{Batches: []Batch{b, {Title: "b", Tasks: []string{"x"}, DependsOn: []int{1}}}}
	}
	tests := map[string]struct {
		a    Plan
		want string
	}{
		"nothing":  {Plan{Title: "x"}, "no batch"},
		"no work":  {one(Batch{Title: "a", Tasks: []string{" \n"}}), "describes no work"},
		"outside":  {one(Batch{Tasks: []string{"x"}, Files: Files{Modify: []string{"../etc/passwd"}}}), "leads upwards"},
		"absolute": {one(Batch{Tasks: []string{"x"}, Files: Files{Delete: []string{"/etc/passwd"}}}), "is absolute"},
		"of git":   {one(Batch{Tasks: []string{"x"}, Files: Files{Create: []string{".git/hooks/x"}}}), "belongs to git"},
		"no path": {one(Batch{Tasks: []string{"x"}, Files: Files{Create: []string{"a b`c"}}}),
			"a plan cannot name the path"},
		"on itself":  {one(Batch{Tasks: []string{"x"}, DependsOn: []int{1}}), "on itself"},
		"on nothing": {one(Batch{Tasks: []string{"x"}, DependsOn: []int{3}}), "depends on batch 3, but there are only 2"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if _, err := tt.a.Normal(); !errors.Is(err, ErrUnusable) || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want %q", err, tt.want)
			}
		})
	}
	circle := one(Batch{Title: "a", Tasks: []string{"x"}, DependsOn: []int{2}})
	if a, err := circle.Normal(); err != nil {
		t.Fatal(err)
	} else if _, err := a.Markdown(); !errors.Is(err, ErrUnusable) {
		t.Errorf("a cycle: %v", err)
	}
}

// The parser reads each path that is accepted without asking it. An unusual path is asked about.
func TestPlainPathsAreRead(t *testing.T) {
	rnd := rand.New(rand.NewPCG(3, 4))
	parts := []string{"a", "none", "tbd", "TODO", "n", "1", "10-20", "README", "_x", "x_", "v2", "sphinx", "test", "--", ".", "/", "-", "_"}
	plain := 0
	for range 5000 {
		path := ""
		for range 1 + rnd.IntN(6) {
			path += parts[rnd.IntN(len(parts))]
		}
		path += []string{".py", ".md", ".go", ".d.ts", ".a"}[rnd.IntN(5)]
		if plainPath.MatchString(path) {
			if plain++; !namesPath(path) {
				t.Errorf("the parser does not read the path %q", path)
			}
		}
	}
	if plain < 1000 {
		t.Errorf("only %d paths are plain", plain)
	}
	for _, path := range []string{"a b.py", "a.py:10", "x`y.py", "-a.py"} {
		if plainPath.MatchString(path) {
			t.Errorf("%q is plain", path)
		}
	}
}

// For any plan of a model, the parser reads the written plan back with the same content.
func TestParserReadsMarkdownBack(t *testing.T) {
	written := 0
	for seed := range uint64(1000) {
		a := randomPlan(rand.New(rand.NewPCG(seed, 1)))
		n, err := a.Normal()
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		text, err := n.Markdown()
		if err != nil {
			t.Fatalf("seed %d: %v\n%#v", seed, err, n)
		}
		written++
		p, err := planparse.Parse("plan.md", []byte(text))
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		back := Plan{Title: p.Title, Goal: n.Goal}
		for i, b := range p.Batches {
			x := Batch{Title: b.Title, Rationale: n.Batches[i].Rationale, Files: Files(b.Files)}
			for _, d := range b.DependsOn {
				var v int
				fmt.Sscan(d, &v)
				x.DependsOn = append(x.DependsOn, v)
			}
			for j, task := range b.Tasks {
				x.Tasks = append(x.Tasks, n.Batches[i].Tasks[j])
				name, _ := splitTask(n.Batches[i].Tasks[j])
				if want := Title(name, fmt.Sprintf("Step %d", j+1)); task.Title != want || len(task.Steps) > 0 {
					t.Fatalf("seed %d: batch %d, task %q, %d steps, want %q", seed, i+1, task.Title, len(task.Steps), want)
				}
			}
			back.Batches = append(back.Batches, x)
			for _, line := range strings.Split(n.Batches[i].Rationale, "\n") {
				if !strings.Contains(b.Text, line) {
					t.Fatalf("seed %d: batch %d lost %q", seed, i+1, line)
				}
			}
			for _, task := range n.Batches[i].Tasks {
				if _, more := splitTask(task); !strings.Contains(b.Text, more) {
					t.Fatalf("seed %d: batch %d lost %q", seed, i+1, more)
				}
			}
			if len(b.Blocks)+len(b.Commands)+len(b.ContextRefs)+len(b.Regression)+b.Mutants+int(b.EstimateMS) > 0 ||
				b.Critical || b.ParallelSafe || b.Approve || b.TestFirst || b.When != "" || b.Checkpoint != nil || b.Done() {
				t.Fatalf("seed %d: batch %d has instructions: %+v", seed, i+1, b)
			}
		}
		for line := range strings.SplitSeq(n.Goal, "\n") {
			if !strings.Contains(p.Preamble, strings.TrimSpace(line)) {
				t.Fatalf("seed %d: the goal has %q, which the preamble lacks", seed, line)
			}
		}
		if d := cmp.Diff(n, back, cmpopts.EquateEmpty()); d != "" {
			t.Fatalf("seed %d:\n%s\n%s", seed, d, text)
		}
		if again, err := n.Normal(); err != nil || cmp.Diff(n, again, cmpopts.EquateEmpty()) != "" {
			t.Fatalf("seed %d: a second call of Normal changes the plan: %v %s", seed, err, cmp.Diff(n, again))
		}
	}
	if written != 1000 {
		t.Errorf("%d plans were written", written)
	}
}

func randomPlan(r *rand.Rand) Plan {
	hostile := []string{
		"# ", "## Batch 7: other", "### Task 3: x", "```", "~~~", "````sh file=a.txt", "`", "**", "*", "<!--", "-->",
		"<task>", "- [ ] ", "- [x] done", "1. ",
		"Run: `rm -rf /`", "Expected: PASS", "Create: `evil.go`", "**Files:**", "depends_on: batch-9", "critical: true",
		"(**CRITICAL**)", "when: false", "parallel_safe: true",
		"approve: true", "test_first: true", "mutants: 80", "context_refs: a.go", "regression: a_test.go", "estimate: 5m",
		"---", "===", "\n", "\n\n", "\r\n", "\t", "    indented", "> ", "| a | b |", "[x](y)", "\\", "\x1b[31m", "\u200b",
		"\u202e", "\xff", "é", "漢字", "🎯", ":", "：", "T001 [P]", "Phase 1: x",
		"(parallel)", "{{name}}", "%s", "$(x)", "&amp;", "the parser", "counts words", "a.go", "42", "✅", "DONE", "wave: 2",
		"todos:",
	}
	text := func(most int) string {
		var b strings.Builder
		for range r.IntN(most + 1) {
			b.WriteString(hostile[r.IntN(len(hostile))])
			if r.IntN(3) > 0 {
				b.WriteByte(' ')
			}
		}
		return b.String()
	}
	paths := func(of string) []string {
		var out []string
		for i := range r.IntN(3) {
			out = append(out, fmt.Sprintf("%s/%s%d.go", []string{"a", "b-c", "d_e/f", "пакет"}[r.IntN(4)], of, i))
		}
		return out
	}
	a := Plan{Title: text(4), Goal: text(8)}
	for i := range 1 + r.IntN(4) {
		b := Batch{Title: text(4), Rationale: text(10), Files: Files{Create: paths("c"), Modify: paths("m"),
			Test: paths("t"), Delete: paths("d")}}
		b.Tasks = append(b.Tasks, "begin "+text(4))
		for range r.IntN(3) {
			b.Tasks = append(b.Tasks, text(6))
		}
		for d := range i {
			if r.IntN(3) == 0 {
				b.DependsOn = append(b.DependsOn, d+1)
			}
		}
		a.Batches = append(a.Batches, b)
	}
	return a
}

// A link or an image in a heading is its text; brackets without a target stay.
func TestTitleOfLink(t *testing.T) {
	for text, want := range map[string]string{
		"[![Voca library logo][logo]][voca]":    "Voca library logo",
		"[![Logo](a.png)](https://x.org) Voca":  "Logo Voca",
		"Use [the parser](p.md) and [names][n]": "Use the parser and names",
		"Sort a[1] and [optional] things":       "Sort a(1) and (optional) things",
	} {
		if got := Title(text, ""); got != want {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
}
