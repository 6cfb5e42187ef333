package planparse

import (
	"bytes"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// filler visits the marks once more and writes their data into their batches.
type filler struct {
	*builder
	files filesReader
	run   runReader
	block blocksReader
	meta  int  // batch whose metadata lines are being read, -1 when they are over
	head  bool // the lines right under the title are being read
	key   string

	wrapped int // line that may continue the value of a bold key
}

// fill reads steps, metadata, files, commands and blocks.
func (b *builder) fill() {
	b.front.each(b.header)
	f := &filler{builder: b, meta: -1, block: blocksReader{plain: map[owner]bool{}}}
	f.files.builder, f.run.builder, f.block.builder = b, b, b
	for i, m := range b.marks {
		f.step(m)
		f.metadata(i)
		fresh := f.files.mark(m)
		f.run.mark(m)
		f.block.mark(m, fresh, &f.run)
	}
	b.warnBoxes()
	b.tracks()
	b.finishTasks()
	b.warnDone()
	f.block.finish()
}

// step adds a checkbox or a step marker to its task.
func (f *filler) step(m *mark) {
	o := m.owner
	if o.self || m.unit.kind == unitTask || m.kind == markRepeat { // the task itself, or its repetition
		return
	}
	box := m.kind == markBox
	if !box && !m.step {
		return
	}
	s := Step{Text: plain(m.text), Done: done(m.state), Line: m.line, Box: box}
	switch {
	case o.task >= 0:
		t := &f.plan.Batches[o.batch].Tasks[o.task]
		t.Steps = append(t.Steps, s)
	case box:
		f.plan.Unassigned = append(f.plan.Unassigned, s)
		if o.batch >= 0 && f.taskless(o.batch) {
			batch := &f.plan.Batches[o.batch]
			batch.Steps = append(batch.Steps, s)
		}
	}
}

// taskless reports whether the batch itself is the work: a phase, or a batch of a run-plan without tasks.
func (b *builder) taskless(batch int32) bool {
	return b.plan.Format == FormatPhases || (b.plan.Format == FormatRunPlan && len(b.plan.Batches[batch].Tasks) == 0)
}

// warnBoxes reports boxes outside all tasks and unknown box states, with one warning for adjacent ones.
func (b *builder) warnBoxes() {
	var last *mark // the box before
	for i, m := range b.marks {
		if m.kind != markBox {
			continue
		}
		again := last != nil && last.head == m.head && last.owner.task < 0 // reported with it
		last = m
		if m.state != ' ' && !done(m.state) {
			b.warn(m.line, "unknown-state", "the box has the state [%c]: it is neither open nor done, and does not count as "+
				"done",
				m.state)
		}
		if m.owner.task >= 0 || again {
			continue
		}
		n := 0
		for _, next := range b.marks[i:] {
			if next.kind == markHeading {
				break
			}
			if next.kind == markBox && next.owner.task < 0 {
				n++
			}
		}
		what, one := "belong to no task and are not run", "belongs to no task and is not run"
		if o := m.owner; o.batch >= 0 && b.taskless(o.batch) {
			what = "are in no task: the batch is the unit of work, and they are its steps"
			one = "is in no task: the batch is the unit of work, and this is its step"
		}
		if n == 1 {
			b.report(SeverityInfo, m.line, "unassigned-boxes", "this checkbox %s", one)
		} else {
			b.report(SeverityInfo, m.line, "unassigned-boxes", "%d checkboxes from here on %s", n, what)
		}
	}
}

// finishTasks derives the state of tasks from their steps.
func (b *builder) finishTasks() {
	for i := range b.plan.Batches {
		tasks := b.plan.Batches[i].Tasks
		for j := len(tasks) - 1; j >= 0; j-- {
			t := &tasks[j]
			open, boxes := 0, 0
			for _, s := range t.Steps {
				if s.Box {
					boxes++
				}
				if s.Box && !s.Done {
					open++
				}
			}
			children := false
			for k := j + 1; k < len(tasks) && tasks[k].Parent != "" && tasks[k].Line <= t.EndLine; k++ {
				children = true
				if !tasks[k].Done {
					open++
				}
			}
			t.Done = t.Done || (open == 0 && (boxes > 0 || children))
		}
	}
}

// warnDone warns if the plan says in words that a batch is done, but no box does. Only boxes count, because words are
// often written too early.
func (b *builder) warnDone() {
	for i := range b.plan.Batches {
		batch := &b.plan.Batches[i]
		ahead := bytes.TrimLeft(b.lineText(batch.StartLine), "#-*+ \t") // "## ✅ Phase 1: Title"
		if (b.said[saidKey{i, "status"}] || saysDone(batch.Title) || bytes.IndexAny(ahead, doneMarks) == 0) && !batch.Done() {
			b.warn(batch.StartLine, "done-in-words", "%q says that it is done, but no box is ticked: the batch runs; "+
				"tick its boxes, or start after it with --from", batch.Title)
		}
	}
}

// saysDone recognizes "Phase 1: Safety (COMPLETE ✅)" and "セットアップ（完了）". In "完了条件の追加" ("add conditions of completion")
// the word describes the work.
func saysDone(title string) bool {
	for _, word := range []string{" DONE", " COMPLETE", " COMPLETED"} {
		if strings.HasSuffix(title, word) {
			return true
		}
	}
	title = strings.ToLower(title)
	if strings.HasPrefix(title, "~~") ||
		containsAny(title, "✅", "(done", "[done", "(complete", "[complete", "(100%") {
		return true
	}
	if at := strings.LastIndexAny(title, doneMarks); at >= 0 { // "Parser ✓", but not "Parser ✓ test it first"
		after := strings.TrimLeft(title[at:], doneMarks+" ")
		if !strings.ContainsFunc(after, unicode.IsLetter) || strings.HasPrefix(after, "done") ||
			strings.HasPrefix(after, "complete") {
			return true
		}
	}
	end := strings.TrimRight(title, " )]）】」。.!！")
	return slices.ContainsFunc([]string{"已完成", "完了", "완료", "fertig", "erledigt", "abgeschlossen", "terminé",
		"terminée", "fait", "hecho", "hecha", "feito", "concluído", "completado", "готово"}, func(word string) bool {
		return strings.HasSuffix(end, word) ||
			containsAny(title, "["+word+"]", "("+word+")", "【"+word+"】", "（"+word+"）")
	})
}

const doneMarks = "✅✓✔☑"

func (b *builder) header(line int, key, value string) {
	h := &b.plan.Header
	switch key {
	case "parallel_safe", "critical", "approve":
		b.flag(line, key, value,
			map[string]*bool{"parallel_safe": &h.ParallelSafe, "critical": &h.Critical, "approve": &h.Approve}[key])
	case "when":
		h.When = value
	default:
		if near := nearKey(key); near != "" {
			b.warn(line, "unknown-key", "%s is not a key of runplan and is ignored; did you mean %s?", key, near)
		}
	}
}

// flag sets a boolean header, or reports an invalid value.
func (b *builder) flag(line int, key, value string, set *bool) {
	switch strings.ToLower(value) {
	case "true", "yes", "on", "1":
		*set = true
	case "false", "no", "off", "0":
		*set = false
	default:
		b.report(SeverityError, line, "malformed-header", "%s: %s is neither true nor false", key, strconv.Quote(value))
	}
}
