package planparse

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// outlineOf returns a line for each group, batch, task and step, with all that the formats decide about them.
func outlineOf(p *Plan) []string {
	out := []string{fmt.Sprintf("%s %q", p.Format, p.Title)}
	for _, g := range p.Groups {
		out = append(out, fmt.Sprintf("%d %s %s %q", g.StartLine, g.Kind, g.Number, g.Title))
	}
	mark := func(is bool, sign string) string {
		if is {
			return sign
		}
		return ""
	}
	steps := func(indent string, list []Step) {
		for _, s := range list {
			out = append(out, fmt.Sprintf("%s%d step%s%s %q", indent, s.Line, mark(s.Box, "[]"), mark(s.Done, "+"), s.Text))
		}
	}
	for _, b := range p.Batches {
		out = append(out, fmt.Sprintf("%d-%d batch %s%s%s%s%s %q", b.StartLine, b.EndLine, b.Key, mark(b.Group != "",
			" of "+b.Group),
			mark(b.ParallelSafe, " parallel"), mark(b.Empty, " empty"), mark(b.Done(), "+"), b.Title))
		for _, k := range b.Tasks {
			out = append(out, fmt.Sprintf("  %d-%d task %s%s%s%s%s %q", k.Line, k.EndLine, k.Number, mark(k.Box, "[]"),
				mark(k.Done, "+"),
				mark(k.Parallel, " parallel"), mark(k.Parent != "", " in "+k.Parent), k.Title))
			steps("    ", k.Steps)
		}
		steps("  ", b.Steps)
	}
	for _, s := range p.Unassigned {
		out = append(out, fmt.Sprintf("%d loose%s %q", s.Line, mark(s.Done, "+"), s.Text))
	}
	c := p.Counts
	return append(out, fmt.Sprintf("%d groups, %d batches, %d tasks, %d of %d boxes, %d markers",
		c.Groups, c.Batches, c.Tasks,
		c.Checked, c.Checkboxes, c.StepMarkers))
}

// A small plan of each format, with the lines at which each part begins and ends.
func TestFormatsInFull(t *testing.T) {
	for name, c := range map[string]struct{ in, want []string }{
		"run-plan": {[]string{"# P", "", "## Batch 1: A", "", "### Task 1: a", "", "- [x] one", "",
			"### Task 2: b [P]", "", "**Step 1: x**",
			"", "## Batch 2: B", "", "- [x] two", "- [ ] three", "", "## Notes", "", "- [ ] four", ""}, []string{
			`run-plan "P"`,
			`3 batch 1 "A"`,
			`13 batch 2 "B"`,
			`3-11 batch 1 of 1 "A"`,
			`  5-7 task 1+ "a"`,
			`    7 step[]+ "one"`,
			`  9-11 task 2 parallel "b"`,
			`    11 step "Step 1: x"`,
			`13-16 batch 2 of 2 "B"`,
			`  15 step[]+ "two"`,
			`  16 step[] "three"`,
			`15 loose+ "two"`,
			`16 loose "three"`,
			`20 loose "four"`,
			`2 groups, 2 batches, 2 tasks, 2 of 4 boxes, 1 markers`,
		}},
		"superpowers": {[]string{"# P", "", "## Phase 1: A", "", "Why.", "", "### Task 1: a", "", "- [x] one",
			"- [x] two", "", "#### Task 1a: b",
			"", "- [x] three", "", "## Phase 2: B (parallel)", "", "### [x] Task 2: c", "", "text", ""}, []string{
			`superpowers "P"`,
			`3 phase 1 "A"`,
			`16 phase 2 "B (parallel)"`,
			`7-14 batch 1 of 1+ "a"`,
			`  7-14 task 1+ "a"`,
			`    9 step[]+ "one"`,
			`    10 step[]+ "two"`,
			`  12-14 task 1a+ in 1 "b"`,
			`    14 step[]+ "three"`,
			`18-20 batch 2 of 2 parallel+ "c"`,
			`  18-20 task 2+ "c"`,
			`2 groups, 2 batches, 3 tasks, 3 of 3 boxes, 0 markers`,
		}},
		"spec-kit": {[]string{"# Tasks", "", "## Phase 1: A", "", "- [x] T001 [P] a", "- [ ] T002 [US1] b",
			"  - [ ] detail", "  - [x] T003 c", "",
			"### Sub", "", "- [ ] other", "", "## Phase 2: B", "", "Text.", "", "## Later", "", "- [ ] T004 d", ""}, []string{
			`spec-kit "Tasks"`,
			`3 phase 1 "A"`,
			`14 phase 2 "B"`,
			`3-12 batch 1 of 1 "A"`,
			`  5-5 task T001[]+ parallel "a"`,
			`  6-8 task T002[] "b"`,
			`    7 step[] "detail"`,
			`  8-8 task T003[]+ in T002 "c"`,
			`14-16 batch 2 of 2 "B"`,
			`18-20 batch later "Later"`,
			`  20-20 task T004[] "d"`,
			`12 loose "other"`,
			`2 groups, 3 batches, 4 tasks, 2 of 6 boxes, 0 markers`,
		}},
		"kiro": {[]string{"# Plan", "", "- [ ] 1. A", "  - [x] 1.1 a", "  - [ ] 1.2 b", "    - detail",
			"- [x] 2. (P) B", "", "## Notes", "",
			"- [ ] 3. C", "  - [x] 4.1 c", ""}, []string{
			`kiro "Plan"`,
			`3-6 batch 1 "A"`,
			`  3-6 task 1[] "A"`,
			`    4 step[]+ "1.1 a"`,
			`    5 step[] "1.2 b"`,
			`7-7 batch 2 parallel+ "B"`,
			`  7-7 task 2[]+ parallel "B"`,
			`11-12 batch 3+ "C"`,
			`  11-12 task 3[]+ "C"`,
			`    12 step[]+ "4.1 c"`,
			`0 groups, 3 batches, 3 tasks, 3 of 6 boxes, 0 markers`,
		}},
		"openspec": {[]string{"# T", "", "## 1. A", "", "- [x] 1.1 a", "- [ ] 1.2 [P] b", "  - [ ] 1.2.1 c", "",
			"## 2. B", "", "Text.", "", "## 3. C", "",
			"- [ ] d", "", "### Acceptance criteria", "", "- [ ] e", ""}, []string{
			`openspec "T"`,
			`3 section 1 "A"`,
			`13 section 3 "C"`,
			`3-7 batch 1 of 1 "A"`,
			`  5-5 task 1.1[]+ "a"`,
			`  6-7 task 1.2[] parallel "b"`,
			`    7 step[] "1.2.1 c"`,
			`13-19 batch 3 of 3 "C"`,
			`  15-15 task [] "d"`,
			`19 loose "e"`,
			`2 groups, 2 batches, 3 tasks, 1 of 5 boxes, 0 markers`,
		}},
		"phases": {[]string{"# P", "", "## Phase 1: A", "", "Text.", "", "### Success Criteria", "", "- [x] one", "",
			"## Phase 2: B", "", "## Phase 3: C",
			"", "Text.", "", "### Success Criteria", "", "- [ ] two", ""}, []string{
			`phases "P"`,
			`3 phase 1 "A"`,
			`11 phase 2 "B"`,
			`13 phase 3 "C"`,
			`3-9 batch 1 of 1+ "A"`,
			`  9 step[]+ "one"`,
			`11-11 batch 2 of 2 empty "B"`,
			`13-19 batch 3 of 3 "C"`,
			`  19 step[] "two"`,
			`9 loose+ "one"`,
			`19 loose "two"`,
			`3 groups, 3 batches, 0 tasks, 1 of 2 boxes, 0 markers`,
		}},
		"gsd": {[]string{"---", "phase: 01-x", "plan: 02", "wave: 3", "---", "<objective>", "x", "</objective>",
			"<task type=\"auto\">",
			"  <name>Task 1: A</name>", "  <files>a.go, b.go</files>", "  <verify>", "    go test ./...", "    It works.",
			"  </verify>", "</task>",
			"<task type=\"auto\" id='7'>", "<action>Do it well. And more.</action>", "<verify><automated>make x</automated>",
			"<automated>make y</automated></verify>", "</task>", ""}, []string{
			`gsd "01-x, plan 02"`,
			`4 wave 3 ""`,
			`9-16 batch 1 of 3 "A"`,
			`  9-16 task 1 "A"`,
			`17-21 batch 7 of 3 "Do it well"`,
			`  17-21 task 7 "Do it well"`,
			`1 groups, 2 batches, 2 tasks, 0 of 0 boxes, 0 markers`,
		}},
		"todos": {[]string{"---", "name: N", "todos:", "  - id: a", "    content: Read", "    status: completed",
			"  - id: b", "    content: Write",
			"    dependencies: [a]", "---", "", "Text.", ""}, []string{
			`gsd "N"`,
			`4-6 batch a+ "Read"`,
			`  4-6 task a+ "Read"`,
			`7-9 batch b "Write"`,
			`  7-9 task b "Write"`,
			`0 groups, 2 batches, 2 tasks, 0 of 0 boxes, 0 markers`,
		}},
		"a numbered list": {[]string{"# P", "", "## Steps", "", "1. Read it", "   with care", "1. Count it", "",
			"More.", "", "3. Print it", "", "## Notes", "",
			"1. no", ""}, []string{
			`superpowers "P"`,
			`5-6 batch 1 "Read it"`,
			`  5-6 task 1 "Read it"`,
			`7-9 batch 2 "Count it"`,
			`  7-9 task 2 "Count it"`,
			`11-11 batch 3 "Print it"`,
			`  11-11 task 3 "Print it"`,
			`0 groups, 3 batches, 3 tasks, 0 of 0 boxes, 0 markers`,
		}},
		"steps": {[]string{"# P", "", "## Step 1: A", "", "text", "", "## Step 2: B", "", "text", "", "## Progress",
			"", "### Step 1: A", "", "done", ""}, []string{
			`superpowers "P"`,
			`3-5 batch 1 "A"`,
			`  3-5 task 1 "A"`,
			`7-9 batch 2 "B"`,
			`  7-9 task 2 "B"`,
			`0 groups, 2 batches, 2 tasks, 0 of 0 boxes, 3 markers`,
		}},
		"weeks": {[]string{"# P", "", "## Week 1: A", "", "- [ ] a", "", "## Week 2: B", "", "- [x] b", ""}, []string{
			`openspec "P"`,
			`3 week 1 "A"`,
			`7 week 2 "B"`,
			`3-5 batch 1 of 1 "A"`,
			`  5-5 task [] "a"`,
			`7-9 batch 2 of 2+ "B"`,
			`  9-9 task []+ "b"`,
			`2 groups, 2 batches, 2 tasks, 1 of 2 boxes, 0 markers`,
		}},
	} {
		got := outlineOf(parse(t, in(c.in...)))
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, strings.Join(got, "\n"))
		}
	}
}
