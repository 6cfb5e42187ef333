package planparse

import (
	"slices"

	"github.com/runplan/runplan/internal/lists"
)

// buildSections reads the formats whose units are checkboxes in sections: spec-kit, Kiro, OpenSpec and phases. The
// formats differ in their definitions of a section and a task.
func (b *builder) buildSections(f facts) {
	s := &sections{builder: b, batch: -1, task: -1}
	s.choose(f)
	s.load()
	for _, m := range b.marks {
		if m.section != s.current {
			s.enter(m.section)
		}
		if m.kind == markHeading && s.task >= 0 { // sub-headings end a task: text below them does not belong to its box
			s.endTask(m.line)
		}
		if m.kind == markBox {
			s.box(m)
			continue
		}
		m.owner = owner{batch: int32(s.batch), task: int32(s.task)}
	}
	s.reportUnboxed()
}

// reportUnboxed warns of sections of an OpenSpec plan without boxes, which are not batches although sections with
// similar headings are: "## 2. Storage" between "## 1. …" and "## 3. …".
func (s *sections) reportUnboxed() {
	if s.plan.Format != FormatOpenSpec {
		return
	}
	batches := map[string]bool{}
	for i := range s.marks {
		if m := s.marks[i]; m.kind == markHeading && s.boxed[m] {
			batches[likeness(m)] = true
		}
	}
	for _, m := range s.marks {
		like := likeness(m)
		if like == "" || !batches[like] || s.boxed[m] || s.outer[m] || s.again[m] || m == s.title || m.owner.batch >= 0 ||
			isChecklist(plain(m.text)) || isCheck(plain(m.text)) {
			continue
		}
		s.warn(m.line, "section-without-boxes",
			"%q has no boxes and does not run, but similar headings are batches: write its work as boxes", m.text)
	}
}

// likeness reduces a heading to its level and beginning: "2 section", "2 P" for "## P0 - Now"; "" for plain words.
func likeness(m *mark) string {
	if m.kind != markHeading {
		return ""
	}
	begins := m.unit.word
	if !m.unit.ok || m.unit.kind == unitNone {
		n := len(capitals.Re().Find(m.text))
		if n == 0 || n > 7 {
			return ""
		}
		begins = string(m.text[:n-1])
	}
	return string(rune('0'+m.level)) + " " + begins
}

type sections struct {
	*builder
	kinds   map[unitKind]bool // headings that open a section
	always  bool              // sections count even without a box
	holds   map[*mark]bool    // sections with a box, if all headings that can open a section do
	boxed   map[*mark]bool    // sections with a box in the end
	outer   map[*mark]bool    // sections with subsections
	back    map[*mark]bool    // boxes about finished work, in plans with other boxes
	again   map[*mark]bool    // headings without boxes that mention a section: "### Phase 1 (Setup)" below "Parallel work"
	frame   *mark             // a plain heading around all work ("## Tasks"), nil without one
	current *mark             // section the walk is in
	batch   int
	task    int
}

// choose decides which headings open a section.
func (s *sections) choose(f facts) {
	s.kinds = map[unitKind]bool{unitGroup: true}
	switch {
	case s.plan.Format == FormatSpecKit, s.plan.Format == FormatPhases:
		s.always = true
	default:
		s.kinds[unitNumbered], s.kinds[unitBatch], s.kinds[unitTask], s.kinds[unitSpan] = true, true, true, true
	}
	if len(f.of[unitGroup]) == 0 {
		s.kinds[unitSpan] = true
	}
}

// opens reports whether the heading opens a section.
func (s *sections) opens(m *mark) bool {
	return m.kind == markHeading && m.unit.ok && s.kinds[m.unit.kind] && m != s.title && !s.again[m] &&
		(s.holds == nil || s.holds[m] || s.keeps(m))
}

// keeps reports whether a section counts without a box: a phase does if phases are the units.
func (s *sections) keeps(m *mark) bool {
	return s.always || (s.plan.Format == FormatOpenSpec && m.unit.kind == unitGroup)
}

// load finds the section of each mark. The first round finds the headings with boxes, the second one ignores the
// others, so that "#### 1. Component" in a phase does not split the phase.
func (s *sections) load() {
	s.assign()
	s.lookBack()
	s.holds = s.holders()
	s.joinLists()
	s.again = s.repeated()
	s.frame = s.findFrame()
	s.assign()
	s.boxed = s.holders()
}

// lookBack finds the boxes of an OpenSpec plan about finished work, unless the plan has no others.
func (s *sections) lookBack() {
	if s.plan.Format != FormatOpenSpec {
		return
	}
	kind := unitGroup
	if !slices.ContainsFunc(s.marks,
		func(m *mark) bool { return m.kind == markHeading && m.unit.ok && m.unit.kind == unitGroup }) {
		kind = unitSpan
	}
	back := s.builder.lookBack(kind, func(title string, _ bool) bool {
		return namesCriteria(title) || isLater(title) || namesGoals(title)
	})
	work := false
	for _, m := range s.marks {
		work = work || m.kind == markBox && !back[m] && m.outerBox() == nil
	}
	if work {
		s.back = back
	}
}

// repeated finds the headings without boxes that have the keyword and the number of a section with boxes.
func (s *sections) repeated() map[*mark]bool {
	again, boxed := map[*mark]bool{}, map[string]bool{}
	for m := range s.holds {
		if m != nil {
			boxed[m.unit.word+" "+m.unit.id] = true
		}
	}
	seen := map[string]bool{}
	for _, m := range s.marks {
		if !s.opens(m) || m.unit.id == "" {
			continue
		}
		name := m.unit.word + " " + m.unit.id
		again[m] = boxed[name] && !s.holds[m]
		if seen[name] = seen[name] || s.holds[m]; again[m] && !seen[name] {
			s.warn(m.line, "section-without-boxes", "%q has no boxes and does not run: the %s with this number and boxes is "+
				"further down", m.text, m.unit.word)
		}
	}
	return again
}

// findFrame returns the plain heading above all boxes, if these are in sections below it: then those sections are the
// units instead of "## Tasks" above them.
func (s *sections) findFrame() *mark {
	if s.plan.Format != FormatSpecKit && s.plan.Format != FormatOpenSpec {
		return nil
	}
	var frame, first *mark
	several := false
	for _, m := range s.marks {
		if m.kind != markBox || m.outerBox() != nil {
			continue
		}
		at := m.section
		if at == nil || at == m.head || (frame != nil && at != frame) || s.opens(at) && at.unit.kind != unitNumbered {
			return nil
		}
		several = several || (first != nil && m.head != first)
		frame, first = at, m.head
	}
	if !several {
		return nil
	}
	return frame
}

// holders returns the sections with a box outside of other boxes.
func (s *sections) holders() map[*mark]bool {
	holds := map[*mark]bool{}
	for _, m := range s.marks {
		if m.kind == markBox && m.outerBox() == nil && !s.back[m] {
			holds[m.section] = true
		}
	}
	return holds
}

// joinLists assigns the boxes of sections to their phase if the phase also has sections without boxes: "### 1.4
// Deliverables" may list the work that earlier sections explain, and "### 1.3 Layout" may be work without a box.
func (s *sections) joinLists() {
	for _, phase := range s.heads {
		if s.plan.Format != FormatOpenSpec || phase.unit.kind != unitGroup || !s.opens(phase) {
			continue
		}
		part := func(m *mark) bool {
			return m.head == phase && (m.unit.kind == unitNumbered || m.unit.kind == unitSpan)
		}
		bare := func(m *mark) bool { return part(m) && !s.holds[m] && !looksBack(plain(m.text), true) }
		boxed := lists.Filter(s.heads, func(m *mark) bool { return part(m) && s.holds[m] })
		if len(boxed) > 0 && slices.ContainsFunc(s.heads, bare) {
			for _, m := range boxed {
				delete(s.holds, m)
			}
			s.holds[phase] = true
		}
	}
}

func (s *sections) assign() {
	s.outer = map[*mark]bool{}
	var stack []*mark // open sections, innermost last
	for _, m := range s.marks {
		if m.kind == markHeading {
			inner := len(stack)
			stack = around(stack, m.level)
			// A plain heading behind an inner section does not lead back to the outer one: batches are
			// ranges of lines. The first round ignores that, to find the content of the outer one.
			behind := s.holds != nil && len(stack) < inner
			if opens := s.opens(m); opens || ((len(stack) == 0 || behind) && m != s.title) {
				if opens && len(stack) > 0 {
					s.outer[stack[len(stack)-1]] = true
				}
				if m != s.frame {
					stack = append(stack, m)
				}
			}
		}
		if m.section = nil; len(stack) > 0 {
			m.section = stack[len(stack)-1]
		}
	}
}

// enter makes a section the current one and opens its group and batch.
func (s *sections) enter(m *mark) {
	s.current, s.task = m, -1
	if m == nil {
		s.batch = -1
		return
	}
	s.endBatch(m.line - 1)
	s.batch = -1
	if !s.opens(m) {
		if s.boxed[m] && s.plan.Format == FormatOpenSpec {
			s.batch = s.startBatch(Batch{Title: plain(m.text), StartLine: m.line})
			if len(s.plan.Groups) > 0 && m.unit.id == "" { // others have a number
				s.report(SeverityInfo, m.line, "unnumbered-section", "%q has no number; its boxes are read as tasks", m.text)
			}
		}
		return
	}
	group := s.startGroup(m)
	if s.outer[m] && !s.boxed[m] {
		return // its sections are the work, after an introduction
	}
	if s.plan.Format != FormatKiro {
		s.batch = s.startBatch(Batch{Number: m.unit.id, Title: m.unit.title, Group: group, StartLine: m.line,
			ParallelSafe: saysParallel(m.text)})
	}
}

func (s *sections) endTask(line int) {
	if s.plan.Format == FormatKiro {
		s.endBatch(line - 1)
		s.batch = -1
	} else if s.batch >= 0 {
		s.endTasks(s.batch, line-1)
	}
	s.task = -1
}

// box classifies a checkbox by the rules of the format: a task, a step of the open task, or unassigned.
func (s *sections) box(m *mark) {
	outer := m.outerBox()
	isTask := false
	switch s.plan.Format {
	case FormatSpecKit:
		isTask = m.label.kind == labelT
	case FormatKiro:
		isTask = outer == nil && m.label.kind == labelMajor
	case FormatOpenSpec:
		isTask = outer == nil && !s.back[m]
	}
	if isTask {
		s.startBoxTask(m, outer)
		return
	}
	o := owner{batch: int32(s.batch), task: int32(s.task)}
	switch {
	case s.plan.Format == FormatPhases, outer != nil && outer.owner.task < 0:
		o.task = -1
	case outer == nil && s.plan.Format != FormatKiro:
		o.task = -1
		s.task = -1
	case outer == nil && m.label.kind == labelSub && o.task >= 0:
		s.checkFamily(m, o)
	}
	m.owner = o
}

// checkFamily warns of a sub-item whose number does not match the item above it.
func (s *sections) checkFamily(m *mark, o owner) {
	t := s.plan.Batches[o.batch].Tasks[o.task]
	if n := len(t.Number); len(m.label.id) <= n || m.label.id[:n] != t.Number || m.label.id[n] != '.' {
		s.warn(m.line, "stray-sub-item", "item %s is below item %s; it is read as one of its steps", m.label.id, t.Number)
	}
}

func (s *sections) startBoxTask(m, outer *mark) {
	t := Task{Number: m.label.id, Title: m.label.title, Done: done(m.state), Parallel: m.label.parallel, Line: m.line,
		Box: !m.unboxed}
	group := ""
	if s.current != nil && s.opens(s.current) {
		group = s.current.unit.id
	}
	switch {
	case s.plan.Format == FormatKiro:
		s.batch = s.startBatch(Batch{Number: t.Number, Title: t.Title, Group: group, StartLine: m.line,
			ParallelSafe: t.Parallel})
	case s.batch < 0 && s.current == nil: // boxes without a heading above
		s.batch = s.startBatch(Batch{Title: s.plan.Title, StartLine: m.line})
	case s.batch < 0: // a T-item in a section that is not a phase
		s.batch = s.startBatch(Batch{Title: plain(s.current.text), StartLine: s.current.line})
	}
	if outer != nil && outer.owner.task >= 0 && int(outer.owner.batch) == s.batch {
		t.Parent = s.plan.Batches[s.batch].Tasks[outer.owner.task].Number
	} else {
		s.endTasks(s.batch, m.line-1)
	}
	s.task = s.startTask(s.batch, t)
	m.owner = owner{batch: int32(s.batch), task: int32(s.task), self: true}
}
