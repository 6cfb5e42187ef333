package planparse

import "strings"

// What is called otherwise may be the tasks of a plan: here its headings are made task headings.

// taskList recognises "## Tasks" over "### 1. Title" headings and turns these into task headings.
func (b *builder) taskList(f facts) bool {
	if f.majors+f.subs > 0 || len(f.numbered) == 0 {
		return false
	}
	parent, found := 0, false
	for i := range b.marks {
		m := &b.marks[i]
		if m.kind != markHeading {
			continue
		}
		if parent > 0 && m.level <= parent {
			parent = 0
		}
		switch title := strings.ToLower(plain(m.text)); {
		case parent > 0 && m.level == parent+1 && m.unit.kind == unitNumbered:
			m.unit.kind, m.unit.word, found = unitTask, "task", true
		case title == "tasks" || title == "subtasks" || title == "implementation steps" || title == "implementation tasks" || title == "steps":
			parent = m.level
		}
	}
	return found
}

// piecesAsTasks makes tasks of slices, commits, stories and the like, where they are what the plan is made of:
// most of its boxes stand below them, and they stand in its phases if it has any.
func (b *builder) piecesAsTasks(f facts) bool {
	if len(f.pieces) < 2 {
		return false
	}
	phase, piece, inPhases, boxes := 0, 0, 0, 0
	for i := range b.marks {
		m := &b.marks[i]
		switch {
		case m.kind == markBox && piece > 0 && b.outerBox(i) < 0:
			boxes++
		case m.kind != markHeading:
		case m.unit.kind == unitGroup && m.unit.ok:
			phase, piece = m.level, 0
		default:
			if m.level <= phase {
				phase = 0
			}
			if m.level <= piece {
				piece = 0
			}
			if m.unit.kind == unitPiece && m.unit.ok {
				if piece = m.level; phase > 0 {
					inPhases++
				}
			}
		}
	}
	if boxes*2 < f.top || (len(f.groups) > 0 && inPhases*2 < len(f.pieces)) {
		return false
	}
	for _, i := range f.pieces {
		b.marks[i].unit.kind = unitTask
	}
	return true
}

// titleAsTask takes a file whose title is a task ("# Task 7: Title") and that holds no other unit as that task.
func (b *builder) titleAsTask() bool {
	if b.title < 0 || b.titleUnit.kind != unitTask || !b.titleUnit.ok {
		return false
	}
	b.marks[b.title].unit, b.title = &b.titleUnit, -1
	return true
}

// stepsAsTasks makes tasks of step headings, where a plan has nothing else.
func (b *builder) stepsAsTasks(f facts) {
	for _, i := range f.steps {
		b.marks[i].unit.kind = unitTask
	}
	b.warn(b.marks[f.steps[0]].line, "steps-as-tasks", "the plan holds steps only; each of its %d steps is read as a task", len(f.steps))
}
