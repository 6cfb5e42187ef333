package planparse

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/runplan/runplan/internal/lists"
)

// repeat is a checkbox that only shows the progress of a unit defined elsewhere: "- [x] Task 1: Parser" below "##
// Progress".
type repeat struct {
	box, of *mark // of is the repeated heading, or nil if that is a T-item
	more    bool  // the box says more than that heading: see [repeatFinder.described]
}

// repeats finds lists of checkboxes that repeat headings, and removes them from the work. Such lists ("Progress",
// "Execution Record") only repeat work that is defined elsewhere. Counted as work, each task would run twice.
func (b *builder) repeats() {
	r := &repeatFinder{builder: b}
	for _, m := range b.heads {
		u := m.unit
		r.tasks = r.tasks || m != b.title && u.ok && (u.kind == unitTask || u.kind == unitBatch)
	}
	for _, m := range b.marks {
		switch {
		case m.kind == markHeading:
			r.section()
			r.head, r.list, r.prose, r.times = m, r.list[:0], false, nil
		case m.kind == markBox:
			r.list = append(r.list, m)
		case m.kind == markFence, m.kind == markText && m.parent == nil && !bytes.HasSuffix(m.text, []byte(":")):
			r.prose = true
		}
	}
	r.section()
	r.settle()
}

// repeatFinder checks the boxes of one heading after the other.
type repeatFinder struct {
	*builder
	head  *mark   // heading above the boxes, nil before the first one
	list  []*mark // boxes directly below it
	prose bool    // so is other text
	found []repeat
	tasks bool // headings are the work, so only progress lists matter

	titles map[string]*mark // headings by the names that a box may use; nil if ambiguous
	holds  map[*mark]bool   // headings with boxes below them, at any depth
	ids    map[string]bool  // T-items
	words  map[string]bool  // keywords of the headings
	times  map[string]int   // boxes of the list by the number of the unit that they name, nil before it is needed
}

// section decides about the boxes of a heading. Below "Progress", it decides about each box separately. Below
// other plain headings, all boxes must be repetitions: a single task with the name of a chapter remains a task.
func (r *repeatFinder) section() {
	if of := r.described(); of != nil {
		for _, m := range r.list {
			r.found = append(r.found, repeat{m, of, true})
		}
		return
	}
	if len(r.list) < 2 { // a single box is ambiguous
		return
	}
	progress := false
	if r.head != nil {
		u := r.head.unit
		numbered := u.kind == unitNumbered
		if u.ok && u.kind != unitNone && !numbered {
			return
		}
		if progress = saysProgress(plain(r.head.text)); u.ok && numbered && !progress {
			return
		}
	}
	if !progress && r.tasks {
		return
	}
	var found []repeat
	all := true
	for _, m := range r.list {
		of, ok := r.named(m, progress)
		switch {
		case ok && !m.nested:
			found = append(found, repeat{box: m, of: of})
		case progress:
			all = false
		default:
			return
		}
	}
	r.found = append(r.found, lists.Filter(found, func(f repeat) bool { return all || !r.isBare(f) })...)
}

// described returns the unit that a mere list of boxes belongs to: "### Phase 1" below "## Checklist", if "## Phase 1:
// Title" further up has no boxes and says in full what to do.
func (r *repeatFinder) described() *mark {
	if r.head == nil || r.prose || len(r.list) == 0 || r.head.unit.id == "" || r.head.unit.kind == unitNumbered {
		return nil
	}
	r.prepare()
	u := r.head.unit
	listed := r.head.below(func(h *mark) bool { return isChecklist(plain(h.text)) || saysProgress(plain(h.text)) }) != nil
	for i, m := range r.marks[:slices.Index(r.marks, r.head)] {
		if o := m.unit; o.ok && o.word == u.word && o.id == u.id && m != r.title && !r.holds[m] &&
			sameTitle(o.title, u.title) &&
			(listed || o.title != "" && fold(o.title) == fold(u.title)) &&
			(r.marks[i+1].kind != markHeading || r.marks[i+1].level > m.level) {
			return m
		}
	}
	return nil
}

// isBare reports whether only the list marks the repeated heading as work.
func (r *repeatFinder) isBare(f repeat) bool {
	return f.of != nil && !f.of.isUnit() && f.of.unit.kind != unitSpan && !f.more && !(r.holds[f.of] && f.of.unit.ok)
}

// isUnit reports whether the heading is a unit of work in all formats.
func (m *mark) isUnit() bool {
	u := m.unit
	return u.ok && (u.kind == unitBatch || u.kind == unitTask || u.kind == unitGroup)
}

// named finds the heading that a box repeats. Only below "Progress" may an item repeat another item, by its id.
func (r *repeatFinder) named(m *mark, progress bool) (of *mark, ok bool) {
	r.prepare()
	if progress && m.label.kind == labelT {
		return nil, r.ids[m.label.id]
	}
	text := cutTime(plain(m.text))
	if u := parseUnit([]byte(text)); u.ok && u.id != "" && u.word != "" && u.kind != unitNumbered {
		at, found := r.titles[u.word+" "+u.id]
		if found && r.separate(at, progress) &&
			(sameTitle(u.title, at.unit.title) || progress && r.once(u.id)) {
			return at, true
		}
		if !found && progress && done(m.state) { // "Phase 1", before a plan that begins with phase 4
			return nil, r.words[u.word]
		}
	}
	for _, name := range [...]string{text, m.label.title, cutRemark(text), cutRemark(m.label.title)} {
		if at, found := r.titles[fold(name)]; found && name != "" && r.separate(at, progress) {
			return at, true
		}
	}
	return nil, false
}

// once reports whether only one box of the list names the unit with a number.
func (r *repeatFinder) once(id string) bool {
	if r.times == nil {
		r.times = map[string]int{}
		for _, m := range r.list {
			r.times[parseUnit([]byte(cutTime(plain(m.text)))).id]++
		}
	}
	return r.times[id] == 1
}

// separate reports whether a heading is not above the list. A progress list may be inside the last of its tasks.
func (r *repeatFinder) separate(heading *mark, progress bool) bool {
	return heading != nil && heading != r.head && (progress ||
		r.head == nil || r.head.below(func(h *mark) bool { return h == heading }) == nil)
}

// prepare indexes the titles and ids that boxes may repeat, on first use.
func (r *repeatFinder) prepare() {
	if r.titles != nil {
		return
	}
	r.titles, r.holds, r.ids, r.words = map[string]*mark{}, map[*mark]bool{}, map[string]bool{}, map[string]bool{}
	add := func(name string, m *mark) {
		if _, twice := r.titles[name]; twice {
			m = nil
		}
		if name != "" {
			r.titles[name] = m
		}
	}
	tracked := false
	for _, m := range r.marks {
		switch m.kind {
		case markHeading:
			whole := plain(m.text)
			if tracked = saysProgress(whole) && !m.isUnit(); tracked || m == r.title { // "Phase 2 (in progress)" is one
				continue
			}
			whole = fold(whole)
			add(whole, m)
			r.words[m.unit.word] = r.words[m.unit.word] || m.unit.ok
			if u := m.unit; u.ok && u.kind != unitNone {
				if title := fold(u.title); title != whole {
					add(title, m)
				}
				if name := u.word + " " + u.id; u.kind != unitNumbered && name != whole {
					add(name, m)
				}
			}
		case markBox:
			if tracked {
				continue
			}
			for h := m.head; h != nil; h = h.head {
				r.holds[h] = true
			}
			if m.label.kind == labelT {
				r.ids[m.label.id] = true
			}
		}
	}
}

// settle removes the repetitions from the work. If the named units are not work without them, they stay, unless the
// plan consists only of headings and this list.
func (r *repeatFinder) settle() {
	bare := lists.Filter(r.found, r.isBare)
	if len(bare) > 0 {
		sole := len(bare) > 1 && len(bare) == r.boxes && !r.hasUnits()
		for _, f := range bare {
			sole = sole && f.of.level == bare[0].of.level
		}
		if sole {
			r.asTasks(bare)
		} else {
			r.found = slices.DeleteFunc(r.found, r.isBare)
		}
	}
	for _, f := range r.found {
		f.box.kind = markRepeat
	}
	work := slices.ContainsFunc(r.marks, func(m *mark) bool {
		return m.kind == markBox && m.below(func(h *mark) bool { return h.unit.ok && h.unit.kind < unitNumbered }) != nil
	})
	for _, f := range r.found {
		switch {
		case f.more && work && !r.tasks: // their units would have no place for them
			f.box.kind = markBox
		case f.more:
			f.box.head.unit = &r.noUnit
		}
	}
	r.found = slices.DeleteFunc(r.found, func(f repeat) bool { return f.box.kind == markBox })
	r.repeated = r.found
}

// asTasks turns the headings of a list into tasks. Weeks and milestones are already units.
func (r *repeatFinder) asTasks(list []repeat) {
	for _, f := range list {
		m := f.of
		if m.unit.ok && m.unit.kind == unitSpan {
			continue
		}
		u := unit{kind: unitTask, word: "task", id: m.unit.id, title: m.unit.title, ok: true}
		if m.unit.kind == unitNone {
			u.id, u.title = f.box.label.id, plain(m.text)
		}
		m.unit = &u
	}
}

// hasUnits reports whether any heading is already a unit of work.
func (r *repeatFinder) hasUnits() bool {
	return slices.ContainsFunc(r.heads, func(m *mark) bool { return m != r.title && m.isUnit() })
}

// tracks assigns the repetitions as steps to the units that they name, if these units have no boxes. All others stay
// unassigned.
func (b *builder) tracks() {
	if len(b.repeated) == 0 {
		return
	}
	steps := b.unboxed()
	n, first := 0, 0
	for k, f := range b.repeated {
		m, o := f.box, f.box.owner
		s := Step{Text: plain(m.text), Done: done(m.state), Line: m.line, Box: true}
		var of *[]Step
		if f.of != nil {
			of = steps[f.of.line]
		}
		if of != nil {
			*of = append(*of, s)
		}
		if of == nil || b.plan.Format == FormatPhases {
			b.plan.Unassigned = append(b.plan.Unassigned, s)
		}
		if n++; n == 1 {
			first = k
		}
		if k+1 < len(b.repeated) && f.box.head == b.repeated[k+1].box.head {
			continue
		}
		severity := SeverityWarning
		switch b.plan.Format { // boxes outside tasks are not work in these formats anyway
		case FormatSuperpowers, FormatRunPlan:
			if o.task < 0 {
				severity = SeverityInfo
			}
		case FormatPhases:
			if o.batch < 0 {
				severity = SeverityInfo
			}
		}
		what := "items"
		if at := b.repeated[first].of; at != nil {
			what = fmt.Sprintf("headings (the first in line %d)", at.line)
		}
		b.report(severity, b.repeated[first].box.line, "repeated-boxes",
			"%d checkboxes from here on repeat %s of this plan and are not additional work; "+
				"if the repeated units have no boxes, these show whether they are done", n, what)
		n = 0
	}
	slices.SortStableFunc(b.plan.Unassigned, func(x, y Step) int { return x.Line - y.Line })
}

// unboxed returns the step lists of all tasks and batches without boxes, by the line of their heading.
func (b *builder) unboxed() map[int]*[]Step {
	steps := map[int]*[]Step{}
	for i := range b.plan.Batches {
		batch := &b.plan.Batches[i]
		if b.plan.Format == FormatPhases && len(batch.Steps) == 0 {
			steps[batch.StartLine] = &batch.Steps
		}
		for j := range batch.Tasks {
			t := &batch.Tasks[j]
			if !t.Box && !slices.ContainsFunc(t.Steps, func(s Step) bool { return s.Box }) {
				steps[t.Line] = &t.Steps
			}
		}
	}
	return steps
}

// fold reduces a title to its words, so that "**Parser**" and "parser:" are the same.
func fold(s string) string {
	return strings.Join(strings.FieldsFunc(strings.ToLower(s),
		func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }), " ")
}

// sameTitle reports whether two titles are equal or one is a prefix of the other.
func sameTitle(x, y string) bool {
	x, y = fold(x), fold(y)
	return strings.HasPrefix(x+" ", y+" ") || strings.HasPrefix(y+" ", x+" ") || x == "" || y == ""
}

// cutTime removes a leading time: "(2026-01-31 12:00Z) Parser", "[2026-01-31] Parser".
func cutTime(s string) string {
	if len(s) > 2 && (s[0] == '(' || s[0] == '[') && isDigit(s[1]) {
		if end := strings.IndexAny(s, ")]"); end > 0 {
			s = s[end+1:]
		}
	}
	return strings.TrimSpace(s)
}

// cutRemark removes the remark of a progress list after a title: "Parser — done in #12", "Parser (2 days)".
func cutRemark(s string) string {
	for _, sep := range []string{" — ", " – ", " - ", " ("} {
		if before, _, found := strings.Cut(s, sep); found {
			s = before
		}
	}
	return s
}
