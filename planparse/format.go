package planparse

import (
	"slices"
	"strconv"
	"strings"

	"github.com/runplan/runplan/internal/lists"
)

// facts are the inputs of the choice of a format.
type facts struct {
	of [unitNumbered + 1][]*mark // headings that open a unit, by kind

	top      int // boxes outside of other boxes
	t        int // boxes with a T001 label
	named    int // boxes with a "Task 1:" label
	leading  int // boxes without a number before the first one with a number, below the same heading
	majors   int // boxes with a "1." label
	subs     int // boxes with a "1.1" label
	family   bool
	numTasks int // numbered boxes below task headings
	inTasks  int // boxes below task headings
	labelled int // boxes outside of other boxes that have a number
	zeros    int // boxes outside of other boxes that are numbered as in "1.0"
	orphans  int // boxes outside of other boxes with a "1.1" label, of which no major box with that number is open
	markers  int // step markers below task headings
}

func (b *builder) facts() facts {
	var f facts
	task, major := 0, "" // level of the open task heading; number of the last major box
	last := 0
	loose, led := 0, false // boxes without a number below the heading; whether a box with a number is before them
	for _, m := range b.marks {
		if m.kind == markHeading {
			if m.level <= task {
				task = 0
			}
			loose, led = 0, false
			if m.unit.ok {
				f.of[m.unit.kind] = append(f.of[m.unit.kind], m)
				if m.unit.kind == unitNumbered {
					major = ""
				}
				if m.unit.kind == unitTask {
					task = m.level
				}
			}
		}
		if task > 0 && m.step {
			f.markers++
		}
		if m.label.named && m.below(func(h *mark) bool { return dependsKey(metaKey(plain(h.text))) }) != nil {
			m.kind = markRepeat // "Story 1.1: Title" is done elsewhere
			b.repeated = append(b.repeated, repeat{box: m})
		}
		if m.kind != markBox {
			continue
		}
		if m.outerBox() == nil {
			f.top++
			if m.label.kind == labelNumber { // "1 Title" counts if it continues the numbering; "3 new tests" does not
				if n := atoi(m.label.id); n == last+1 {
					m.label.kind = labelMajor
				} else {
					*m.label = label{title: plain(m.text)}
				}
			}
			if m.label.kind == labelMajor || m.label.kind == labelSub {
				f.labelled++
			}
			if m.label.kind == labelSub && !belongs(m.label.id, major) {
				f.orphans++
			}
			if m.label.kind == labelNone {
				loose++
			}
			if m.label.kind == labelMajor {
				if !led {
					f.leading += loose
				}
				led = true
				if m.label.zero {
					f.zeros++
				}
				if f.majors++; m.label.named {
					f.named++
				}
				major = m.label.id
				last = atoi(major)
			}
		}
		switch m.label.kind {
		case labelT:
			f.t++
		case labelSub:
			f.subs++
			f.family = f.family || belongs(m.label.id, major)
		}
		if task > 0 {
			f.inTasks++
			if m.label.kind == labelMajor || m.label.kind == labelSub {
				f.numTasks++
			}
		}
	}
	if f.zeros == f.majors && f.orphans > f.zeros {
		b.zerosAsSubs(&f)
	}
	b.phaseBoxes(&f)
	return f
}

// phaseBoxes makes major items of the boxes of a plan that all are phases: "- [ ] Phase 1: Title".
func (b *builder) phaseBoxes(f *facts) {
	var boxes []*mark
	for _, m := range b.marks {
		if m.kind == markBox && m.outerBox() == nil {
			boxes = append(boxes, m)
		}
	}
	units := lists.Map(boxes, func(m *mark) unit { return parseUnit(m.text) })
	if len(boxes) < 2 || slices.ContainsFunc(b.heads, func(m *mark) bool { return m != b.title && m.isUnit() }) ||
		slices.ContainsFunc(units, func(u unit) bool { return !u.ok || u.kind != unitGroup || u.id == "" || u.title == "" }) {
		return
	}
	for i, m := range boxes {
		m.label = &label{kind: labelMajor, id: units[i].id, title: units[i].title, named: true}
	}
	f.named, f.majors, f.labelled = len(boxes), len(boxes), len(boxes)
}

// zerosAsSubs reads "4.0" as the item before "4.1" instead of its parent, if the other items have no parents either.
func (b *builder) zerosAsSubs(f *facts) {
	for _, m := range b.marks {
		if l := m.label; l.zero {
			l.kind, l.id, l.zero = labelSub, l.id+".0", false
			f.subs++
		}
	}
	f.majors, f.zeros, f.family = 0, 0, false
}

// belongs reports whether "1.1" is a sub-item of "1".
func belongs(sub, major string) bool {
	return major != "" && strings.HasPrefix(sub, major+".")
}

// atoi returns the number that s is, or -1.
func atoi(s string) int {
	n, err := strconv.ParseUint(s, 10, 24)
	if err != nil {
		return -1
	}
	return int(n)
}

// build detects the format by its units, in the order of their reliability, and reads the plan by the rules of the
// format.
func (b *builder) build() {
	b.mvpAsPhase()
	b.repeats()
	f := b.facts()
	switch {
	case b.buildGSD(), b.buildTodos():
		b.plan.Format = FormatGSD
	case f.t >= 2 || (f.t == 1 && b.boxes <= 2):
		b.plan.Format = FormatSpecKit
		b.dropCheckpoints(f)
		b.buildSections(f)
	case len(f.of[unitBatch]) > 0 && !(len(f.of[unitTask]) == 0 && f.subs > 1 && b.numberedSections()):
		b.plan.Format = FormatRunPlan
		b.buildBatches(f)
	case len(f.of[unitTask]) > 0:
		b.plan.Format = FormatSuperpowers
		if f.markers == 0 && f.numTasks*2 > f.inTasks {
			b.plan.Format = FormatKiro
		}
		b.buildTasks(f)
	case b.taskList(f), b.piecesAsTasks(f):
		b.plan.Format = FormatSuperpowers
		b.buildTasks(f)
	case f.named > 1 && f.leading == 0,
		f.majors > 0 && f.named < 2 && f.labelled*2 >= f.top && (f.family || !b.numberedSections()):
		b.plan.Format = FormatKiro
		b.buildSections(f)
	case f.top > 0 && b.otherUnits(f):
		b.plan.Format = FormatSuperpowers
		b.buildTasks(f)
	case f.top > 0 && !b.onlyChecks(f):
		b.plan.Format = FormatOpenSpec
		b.buildSections(f)
	case f.top == 0 && b.rowsAsBoxes():
		b.plan.Format = FormatOpenSpec
		b.buildSections(b.facts())
	case len(f.of[unitGroup])+len(f.of[unitSpan]) > 0:
		b.plan.Format = FormatPhases
		b.dropCheckpoints(f)
		b.buildSections(f)
	case len(f.of[unitStep]) > 1 && !b.isSkill():
		b.plan.Format = FormatSuperpowers
		b.stepsAsTasks()
		b.buildTasks(f)
	case b.withoutUnits():
		if b.plan.Format == FormatOpenSpec {
			b.buildSections(b.facts())
			break
		}
		b.plan.Format = FormatSuperpowers
		b.buildTasks(f)
	default:
		b.plan.Format = FormatNone
	}
}

// dropCheckpoints ensures that checkpoints are not phases if the plan has other phases: checkpoints refer to finished
// phases.
func (b *builder) dropCheckpoints(f facts) {
	isOther := func(m *mark) bool { return m.unit.word != "checkpoint" }
	if !slices.ContainsFunc(f.of[unitGroup], isOther) {
		return
	}
	for _, m := range f.of[unitGroup] {
		if !isOther(m) {
			m.unit = &b.noUnit
		}
	}
}

// numberedSections reports whether a box is below a numbered heading.
func (b *builder) numberedSections() bool {
	numbered := func(h *mark) bool { return h.unit.kind == unitNumbered }
	return slices.ContainsFunc(b.marks, func(m *mark) bool { return m.kind == markBox && m.below(numbered) != nil })
}

// onlyChecks reports whether the boxes of a plan with phases are checks and not work: each refers to finished work, or
// is outside of all phases.
func (b *builder) onlyChecks(f facts) bool {
	open := func(says func(h *mark) bool) bool { // a box is not below such a heading
		return slices.ContainsFunc(b.marks, func(m *mark) bool { return m.kind == markBox && m.below(says) == nil })
	}
	titled := func(title string) func(h *mark) bool {
		return func(h *mark) bool { return bareTitle(plain(h.text)) == title }
	}
	steps := func(h *mark) bool { return h != b.title && h.unit.kind == unitNone && stepsTitle(plain(h.text)) }
	kind := unitGroup
	switch {
	case len(f.of[unitGroup])+len(f.of[unitSpan]) == 0:
		return f.top == 0 || !open(titled("constitution check")) // the plan of a spec-kit, without its tasks
	case f.subs+f.majors > 1:
		return false
	case len(f.of[unitGroup]) == 0:
		if kind = unitSpan; !open(titled("progress")) || !open(steps) { // the milestones of an ExecPlan describe them
			return false
		}
	}
	back := b.lookBack(kind, looksBack)
	// "### Week 1" below "## Schedule" is only the time of a phase
	listed := func(h *mark) bool { return len(f.of[unitGroup]) > 1 && saysSchedule(plain(h.text)) }
	phase := func(h *mark) bool {
		return h.unit.ok && (h.unit.kind == kind || h.unit.kind == unitSpan && h.below(listed) == nil)
	}
	return !slices.ContainsFunc(b.marks,
		func(m *mark) bool { return m.kind == markBox && !back[m] && m.below(phase) != nil })
}

func containsAny(s string, words ...string) bool {
	return slices.ContainsFunc(words, func(w string) bool { return strings.Contains(s, w) })
}

// startBatch opens a batch at a line and ends the one before it there.
func (b *builder) startBatch(batch Batch) int {
	b.endBatch(batch.StartLine - 1)
	batch.EndLine = len(b.lines)
	batch.Title, _ = cutParallel(batch.Title)
	b.plan.Batches = append(b.plan.Batches, batch)
	return len(b.plan.Batches) - 1
}

// endBatch ends the last batch, unless it has already ended.
func (b *builder) endBatch(line int) {
	if n := len(b.plan.Batches); n > 0 {
		last := &b.plan.Batches[n-1]
		if last.EndLine == len(b.lines) || last.EndLine > line {
			last.EndLine = max(last.StartLine, min(last.EndLine, line))
		}
		b.endTasks(n-1, line)
	}
}

func (b *builder) endTasks(batch, line int) {
	tasks := b.plan.Batches[batch].Tasks
	for i := len(tasks) - 1; i >= 0 && tasks[i].EndLine > line; i-- {
		tasks[i].EndLine = max(tasks[i].Line, line)
	}
}

// startTask appends a task to a batch.
func (b *builder) startTask(batch int, t Task) int {
	t.EndLine = len(b.lines)
	var marked bool
	t.Title, marked = cutParallel(t.Title)
	t.Parallel = t.Parallel || marked
	tasks := &b.plan.Batches[batch].Tasks
	*tasks = append(*tasks, t)
	return len(*tasks) - 1
}

// startGroup appends the heading as a group.
func (b *builder) startGroup(m *mark) string {
	g := Group{Kind: m.unit.word, Number: m.unit.id, Title: m.unit.title, StartLine: m.line}
	b.plan.Groups = append(b.plan.Groups, g)
	return g.Number
}
