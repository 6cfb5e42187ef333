package planparse

import (
	"slices"
	"strings"

	"github.com/runplan/runplan/internal/lists"
)

// buildBatches reads a run-plan: "## Batch N: Title" over "### Task M: Title". The level of batches is the
// shallowest that has any; deeper ones are parts of a batch.
func (b *builder) buildBatches(f facts) {
	level := 7
	for _, m := range f.of[unitBatch] {
		level = min(level, m.level)
	}
	batch, own := -1, false // own: the batch is a task outside of a batch
	var tasks taskStack
	for _, m := range b.marks {
		if m.kind == markHeading {
			isTask := m.unit.ok && m.unit.kind == unitTask && m != b.title
			tasks.close(b, m.level, m.line)
			switch {
			case m.unit.ok && m.unit.kind == unitBatch && m.level == level:
				group := b.startGroup(m)
				batch, own = b.startBatch(Batch{Number: m.unit.id, Title: m.unit.title, Group: group, StartLine: m.line}), false
				tasks = taskStack{}
			case m.unit.ok && m.unit.kind == unitBatch && m.level > level:
				b.warn(m.line, "nested-batch", "%q is deeper than the other batches and is read as part of batch %s", m.text,
					b.numberOf(batch))
			case own && len(tasks.open) > 0: // it is in a task outside of a batch
			case batch >= 0 && (m.level < level || (m.level == level && !isTask) ||
				(own && len(tasks.open) == 0 && m.level <= level)):
				b.endBatch(m.line - 1)
				batch = -1
			}
			if isTask && (batch < 0 || own && len(tasks.open) == 0) {
				b.warn(m.line, "task-outside-batch", "task %s is in no batch; it runs as its own batch", m.unit.id)
				batch, own = b.startBatch(Batch{Number: m.unit.id, Title: m.unit.title, StartLine: m.line}), true
			}
			if isTask {
				tasks.push(b, batch, m)
			}
		}
		m.owner = owner{batch: int32(batch), task: int32(tasks.top())}
	}
}

func (b *builder) numberOf(batch int) string {
	if batch < 0 {
		return "(none)"
	}
	return b.plan.Batches[batch].Number
}

// taskStack holds the open tasks: "### Task 10a" below "## Task 10" is a subtask.
type taskStack struct {
	batch int
	open  []openTask
}

type openTask struct{ index, level int }

func (s *taskStack) top() int {
	if len(s.open) == 0 {
		return -1
	}
	return s.open[len(s.open)-1].index
}

// close ends the open tasks at the level of a heading and below.
func (s *taskStack) close(b *builder, level, line int) {
	for len(s.open) > 0 && s.open[len(s.open)-1].level >= level {
		t := &b.plan.Batches[s.batch].Tasks[s.top()]
		t.EndLine = min(t.EndLine, line-1)
		s.open = s.open[:len(s.open)-1]
	}
}

// partOf reports whether a number is a part of another number: "10a", "10.1" and "10-b" are parts of "10".
func partOf(number, parent string) bool {
	return len(number) > len(parent) && strings.HasPrefix(number, parent) && !isDigit(number[len(parent)])
}

func (s *taskStack) push(b *builder, batch int, m *mark) {
	t := Task{Number: m.unit.id, Title: m.unit.title, Line: m.line, Done: b.ticked(m)}
	if s.top() >= 0 {
		t.Parent = b.plan.Batches[batch].Tasks[s.top()].Number
		if t.Number != "" && !partOf(t.Number, t.Parent) && !b.nestedTold {
			b.nestedTold = true
			b.warn(m.line, "nested-task",
				"%s %s is deeper than %s %s and is read as a part of it: give both the same level if it is separate",
				m.unit.word, t.Number, m.unit.word, t.Parent)
		}
	}
	if t.Number == "" {
		b.warn(m.line, "unnumbered-task", "the task %q has no number", t.Title)
	}
	s.batch = batch
	s.open = append(s.open, openTask{b.startTask(batch, t), m.level})
}

// ticked reports whether a heading carries a ticked box, "### [x] Task 1: Title", or is below "## Completed tasks" and
// has no open box.
func (b *builder) ticked(m *mark) bool {
	state, _, ok := cutBox(m.text)
	if ok || m.below(func(h *mark) bool { return h != b.title && completedTitle(plain(h.text)) }) == nil {
		return ok && done(state)
	}
	return !slices.ContainsFunc(b.marks, func(o *mark) bool {
		return o.kind == markBox && !done(o.state) && o.below(func(h *mark) bool { return h == m }) != nil
	})
}

// buildTasks reads superpowers and ralphex plans: each "### Task N: Title" is a batch. Phases, chunks,
// waves, tracks and checkpoints with tasks are groups.
func (b *builder) buildTasks(f facts) {
	kind := unitGroup
	if len(f.of[unitGroup]) == 0 {
		kind = unitSpan
	}
	load := b.groupLoads(kind)
	var group *mark // the open group
	counted := map[*mark]bool{}
	batch := -1
	var tasks taskStack
	for _, m := range b.marks {
		if m.kind == markHeading {
			isTask := m.unit.ok && m.unit.kind == unitTask && m != b.title
			tasks.close(b, m.level, m.line)
			isGroup := m.unit.ok && m.unit.kind == kind && len(tasks.open) == 0
			if batch >= 0 && len(tasks.open) == 0 && (isTask || group == nil || m.level <= group.level ||
				b.plan.Batches[batch].Tasks != nil) {
				b.endBatch(m.line - 1)
				batch = -1
			}
			switch {
			case isGroup:
				group = m
				if l := load[m]; l.tasks == 0 && (l.steps > 0 || l.alike) {
					b.warn(m.line, "steps-without-task", "%s %s has no task; it runs as its own batch", m.unit.word, m.unit.id)
					batch = b.startBatch(Batch{Number: m.unit.id, Title: m.unit.title, StartLine: m.line})
				}
			case !isTask && group != nil && m.level <= group.level:
				group = nil
			case isTask && len(tasks.open) == 0:
				number := ""
				if group != nil {
					if number = group.unit.id; !counted[group] {
						counted[group] = true
						b.startGroup(group)
					}
				}
				batch = b.startBatch(Batch{Number: m.unit.id, Title: m.unit.title, Group: number, StartLine: m.line,
					ParallelSafe: saysParallel(m.text) || (group != nil && saysParallel(group.text))})
				tasks = taskStack{}
			}
			if isTask {
				tasks.push(b, batch, m)
			}
		} else if batch >= 0 && len(tasks.open) == 0 && b.plan.Batches[batch].Tasks == nil && group == nil {
			b.endBatch(m.line - 1)
			batch = -1
		}
		m.owner = owner{batch: int32(batch), task: int32(tasks.top())}
	}
	if b.plan.Format == FormatKiro {
		b.groupPerTask()
	}
}

// groupPerTask makes each task heading over flat numbered items a group, as in Kiro hybrids.
func (b *builder) groupPerTask() {
	b.plan.Groups = nil
	held := map[int32]bool{}
	for _, m := range b.marks {
		if m.kind == markBox && m.owner.batch >= 0 {
			held[m.owner.batch] = true
		}
	}
	for i := range b.plan.Batches {
		if batch := &b.plan.Batches[i]; held[int32(i)] {
			batch.Group = batch.Number
			b.plan.Groups = append(b.plan.Groups, Group{"task", batch.Number, batch.Title, batch.StartLine})
		}
	}
}

// saysParallel recognizes "Wave 1 (parallel)".
func saysParallel(text []byte) bool {
	return containsAny(string(text), "(parallel)", "(Parallel)", "parallel-safe", "[P]")
}

// groupLoad counts the content of a group. A group without tasks is work if it has steps. It is also work if it has
// only text and the neighbouring groups have tasks (alike).
type groupLoad struct {
	tasks, steps int
	alike        bool
}

func (b *builder) groupLoads(kind unitKind) map[*mark]groupLoad {
	loads := map[*mark]groupLoad{}
	var group *mark
	taskLevel, check := 7, 0
	add := func(tasks, steps int) {
		if group != nil {
			l := loads[group]
			loads[group] = groupLoad{tasks: l.tasks + tasks, steps: l.steps + steps}
		}
	}
	for _, m := range b.marks {
		if m.kind != markHeading {
			if taskLevel == 7 && check == 0 && (m.kind == markBox || m.step) {
				add(0, 1)
			}
			continue
		}
		if m.level <= taskLevel {
			taskLevel = 7
		}
		if m.level <= check {
			check = 0
		}
		switch {
		case m.unit.ok && m.unit.kind == kind && taskLevel == 7:
			group, check = m, 0
		case m.unit.ok && m.unit.kind == unitTask:
			add(1, 0)
			taskLevel = min(taskLevel, m.level)
		case group != nil && m.level <= group.level:
			group = nil
		case check == 0 && (isChecklist(plain(m.text)) || isCheck(plain(m.text))):
			check = m.level
		case m.unit.kind == unitStep && check == 0:
			add(0, 1)
		}
	}
	b.groupsOfText(kind, loads)
	return loads
}

// groupsOfText finds groups that have only text, next to groups with tasks: "## Phase 3" after "## Phase 2" with "###
// Task 2.1". Finished or postponed phases are not work, nor are repeated mentions of a phase.
func (b *builder) groupsOfText(kind unitKind, loads map[*mark]groupLoad) {
	type place struct {
		head  *mark
		level int
		word  string
	}
	at := func(m *mark) place { return place{m.head, m.level, m.unit.word} }
	tasks, named := map[place]bool{}, map[string]bool{} // places with tasks; groups that are known
	for m, l := range loads {
		named[m.unit.word+m.unit.id] = true
		tasks[at(m)] = tasks[at(m)] || l.tasks > 0
	}
	for _, m := range b.heads {
		title := plain(m.text)
		if !m.unit.ok || m.unit.kind != kind || !tasks[at(m)] || named[m.unit.word+m.unit.id] || saysDone(title) ||
			isLater(title) {
			continue
		}
		named[m.unit.word+m.unit.id] = true
		inside := lists.Filter(b.marks, func(t *mark) bool { return t.below(func(h *mark) bool { return h == m }) != nil })
		unit := func(t *mark) bool { return t.kind == markHeading && t.isUnit() }
		text := func(t *mark) bool { return t.kind != markHeading && len(t.text) > 0 }
		loads[m] = groupLoad{alike: !slices.ContainsFunc(inside, unit) && slices.ContainsFunc(inside, text)}
	}
}
