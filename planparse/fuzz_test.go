package planparse

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// For any file, Parse does not panic, loses nothing and returns the same plan each time.
func FuzzParse(f *testing.F) {
	for _, c := range corpus(f) {
		if src, err := os.ReadFile(filepath.Join(corpusDir(), c.path)); err == nil && len(src) < 6000 {
			f.Add(src)
		}
	}
	for _, src := range []string{
		in("---", "critical: true", "---", "## Batch 1: A", "depends_on: [batch-2]", "### Task 1: x", "''' file=a", "y",
			"'''", "## Batch 2: B"),
		in("---", "todos:", "- id: a", "  content: b", "---"),
		in("<task>", "<name>Task 1: a</name>", "</task>"),
		in("- [ ] 1. a", "  - [ ] 1.1 b", "    '''", "c"),
		in("# Phase 1", "- [ ] T001 [P] a", "  - [ ] T002 b", "Run: `x`", "Expected: PASS"),
		in("## 第一阶段：a", "### 任务 2：b", "**文件：** `x.go`", "**1단계: c**", "运行：`y`", "预期：失败", "### T3: d",
			"**Status:** done **依赖：** 任务2"),
		in("# Task ID: 1", "## Slice 2: a", "- [ ] **Unit 3: b**", "      - [ ] T4: c"),
		in("## Progress", "- [x] Task 1: a", "- [ ] b", "## Task 1: a", "| [ ] | T001 | b |", "| T002 | c | [x] |",
			"**Files:**", "| Modify | `x` |", "## b"),
		in("# Steps", "1. a", "   - b", "1. c", "d", "3. e", "## f", "- [ ] US1-T05 g", "4. [ ] h"),
		"> - [ ] a\n\n\t- [ ] b\r\n~~~\n<!--\n",
	} {
		f.Add([]byte(src))
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		p, err := Parse("plan.md", src)
		if err != nil {
			return
		}
		checkPlan(t, p, len(lineOffsets([]byte(strings.ReplaceAll(string(src), "\r", "\n")))))
		again, _ := Parse("plan.md", src)
		if diff := cmp.Diff(p, again); diff != "" {
			t.Fatal("a second reading differs:", diff)
		}
		Check(p)
		if _, err := json.Marshal(p); err != nil {
			t.Fatal(err)
		}
	})
}

// checkPlan checks the invariants of all plans.
func checkPlan(t *testing.T, p *Plan, lines int) {
	t.Helper()
	if len(p.Batches) == 0 && len(p.Errors()) == 0 {
		t.Fatal("a plan without batches must hold an error")
	}
	inRange := func(what string, line int) {
		if line < 1 || line > lines {
			t.Fatalf("%s is at line %d of %d", what, line, lines)
		}
	}
	tasks, boxes, markers := 0, 0, 0
	keys := map[string]bool{}
	for _, b := range p.Batches {
		inRange("batch "+b.Key, b.StartLine)
		inRange("end of batch "+b.Key, b.EndLine)
		if b.EndLine < b.StartLine || keys[b.Key] || b.Key == "" || refSafe(b.Key) != b.Key {
			t.Fatalf("batch %q, lines %d to %d: range or key is wrong", b.Key, b.StartLine, b.EndLine)
		}
		keys[b.Key] = true
		for _, task := range b.Tasks {
			tasks++
			inRange("task "+task.Number, task.Line)
			if task.Line < b.StartLine || task.EndLine > b.EndLine || task.EndLine < task.Line {
				t.Fatalf("task %q, lines %d to %d, leaves its batch, lines %d to %d", task.Number, task.Line, task.EndLine,
					b.StartLine, b.EndLine)
			}
			if task.Box {
				boxes++
			}
			for _, s := range task.Steps {
				inRange("step", s.Line)
				if s.Box {
					boxes++
				} else {
					markers++
				}
			}
		}
		for _, k := range b.Blocks {
			inRange("block", k.Line)
			if k.Task >= len(b.Tasks) {
				t.Fatalf("block of task %d in a batch of %d tasks", k.Task, len(b.Tasks))
			}
		}
		for _, c := range b.Commands {
			inRange("command", c.Line)
		}
		for _, list := range [][]string{b.Files.Create, b.Files.Modify, b.Files.Test, b.Files.Delete, b.ContextRefs} {
			for _, path := range list {
				if clean, ok := cleanPath(path); !ok || clean != path {
					t.Fatalf("path %q is not clean", path)
				}
			}
		}
	}
	for _, b := range p.Batches {
		for _, key := range b.DependsOn {
			if !keys[key] {
				t.Fatalf("batch %s depends on %q, which is no batch", b.Key, key)
			}
		}
	}
	for _, d := range p.Diagnostics {
		inRange(d.Code, d.Line)
	}
	c := p.Counts
	if c.Tasks != tasks || c.Batches != len(p.Batches) || c.Groups != len(p.Groups) ||
		c.Checkboxes != boxes+len(p.Unassigned) ||
		c.Checked > c.Checkboxes || markers > c.StepMarkers {
		t.Fatalf("counts %+v: found %d tasks, %d boxes in tasks, %d loose, %d markers", c, tasks, boxes, len(p.Unassigned),
			markers)
	}
}

// The plans of the corpus meet the same invariants as random text, and have no errors.
func TestCorpusInvariants(t *testing.T) {
	for _, f := range corpus(t) {
		src, err := os.ReadFile(filepath.Join(corpusDir(), f.path))
		if err != nil {
			t.Fatal(err)
		}
		p, err := Parse(f.path, src)
		if err != nil {
			t.Fatal(err)
		}
		checkPlan(t, p, len(lineOffsets(src)))
		if errs := p.Errors(); len(errs) > 0 {
			t.Errorf("%s: a real plan must be fit to run: %v", f.path, errs)
		}
	}
}

// Some letters have a longer lower case. A place that was found in text in lower case may lie behind the end of the
// text itself.
func TestParseLettersWithLongerLowerCase(t *testing.T) {
	long := strings.Repeat("Ⱥ", 60)
	for _, c := range append(corpus(t), corpusFile{}) {
		src := []byte(in("# P", "## Batch 1: b", "### Task 1: t", "Run: `x` expect", "Run: `x` must pass"))
		if c.path != "" {
			src, _ = os.ReadFile(filepath.Join(corpusDir(), c.path))
		}
		var b strings.Builder
		for line := range strings.Lines(string(src)) {
			if strings.ToLower(line) != line {
				line = strings.TrimRight(line, "\n") + " " + long + "\n"
			}
			b.WriteString(line)
		}
		if _, err := Parse("plan.md", []byte(b.String())); err != nil {
			t.Errorf("%s: %v", c.path, err)
		}
	}
}
