package planparse

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
)

// repeat is a box that only says how far something is that stands elsewhere: "- [x] Task 1: Parser" below "## Progress".
type repeat struct {
	box, of int // indices of marks; of is the heading that it names, -1 where that is a T-item
}

// repeats finds the lists of boxes that repeat the titles of headings, and takes them out of the work. Who keeps such a list
// ("Progress", "Execution Record") defines the work elsewhere; read as work, each task would be done twice.
func (b *builder) repeats() {
	if b.boxes == 0 {
		return
	}
	r := &repeatFinder{builder: b, head: -1}
	for _, i := range b.heads {
		u := b.marks[i].unit
		r.tasks = r.tasks || i != b.title && u.ok && (u.kind == unitTask || u.kind == unitBatch)
	}
	for i := range b.marks {
		switch m := &b.marks[i]; {
		case m.kind == markHeading:
			r.section()
			r.open, r.head, r.list = append(b.around(r.open, m.level), i), i, r.list[:0]
		case m.kind == markBox:
			r.list = append(r.list, i)
		}
	}
	r.section()
	r.settle()
}

// repeatFinder looks at the boxes below one heading after the other.
type repeatFinder struct {
	*builder
	head  int   // heading above the boxes, -1 before the first one
	open  []int // it, and the headings that it stands below
	list  []int // boxes right below it
	found []repeat
	tasks bool // headings are the work, whatever boxes say: then only lists of progress are of interest

	titles map[string]int // headings, by what a box may call them; -1 where several are called so
	holds  map[int]bool   // headings that boxes stand below, at any depth
	ids    map[string]int // how often a T-item has this id
}

// section decides on the boxes of a heading. Below "Progress", each box stands for itself; below another plain heading, all
// of them must be repetitions, so that a task that is called like a chapter remains one.
func (r *repeatFinder) section() {
	if len(r.list) < 2 { // one box alone may be anything
		return
	}
	progress := false
	if r.head >= 0 {
		u := r.marks[r.head].unit
		numbered := u.kind == unitNumbered
		if u.ok && u.kind != unitNone && !numbered {
			return
		}
		if progress = saysProgress(plain(r.marks[r.head].text)); u.ok && numbered && !progress {
			return
		}
	}
	if !progress && r.tasks {
		return
	}
	var found []repeat
	all := true
	for _, i := range r.list {
		of, ok := r.named(i, progress)
		switch {
		case ok && !r.nests(i):
			found = append(found, repeat{i, of})
		case progress:
			all = false
		default:
			return
		}
	}
	for _, f := range found {
		if all || !r.isBare(f) {
			r.found = append(r.found, f)
		}
	}
}

// nests reports whether the box stands in a list below another one, or has such a list.
func (r *repeatFinder) nests(i int) bool {
	if r.outerBox(i) >= 0 {
		return true
	}
	for k := i + 1; k < len(r.marks) && r.marks[k].parent >= i; k++ {
		if r.marks[k].kind == markBox {
			return true
		}
	}
	return false
}

// isBare reports whether nothing but the list says that what the box repeats is work.
func (r *repeatFinder) isBare(f repeat) bool {
	return f.of >= 0 && !r.isUnit(f.of) && !(r.holds[f.of] && r.marks[f.of].unit.ok)
}

// isUnit reports whether the heading is a unit of work in each format.
func (r *repeatFinder) isUnit(i int) bool {
	u := r.marks[i].unit
	return u.ok && (u.kind == unitBatch || u.kind == unitTask || u.kind == unitGroup)
}

// named finds the heading that a box repeats. Only below "Progress" an item may repeat another item, by its id.
func (r *repeatFinder) named(i int, progress bool) (of int, ok bool) {
	r.prepare()
	m := &r.marks[i]
	if progress && m.label.kind == labelT {
		return -1, r.ids[m.label.id] > 0
	}
	text := cutTime(plain(m.text))
	if u := parseUnit([]byte(text)); u.ok && u.id != "" && u.word != "" && u.kind != unitNumbered {
		if at, found := r.titles[u.word+" "+u.id]; found && r.elsewhere(at, progress) && sameTitle(u.title, r.marks[at].unit.title) {
			return at, true
		}
	}
	for _, name := range [...]string{text, m.label.title, cutRemark(text), cutRemark(m.label.title)} {
		if at, found := r.titles[fold(name)]; found && name != "" && r.elsewhere(at, progress) {
			return at, true
		}
	}
	return 0, false
}

// elsewhere reports whether a heading is none of those that the list stands below. A list of progress may stand in the last
// of the tasks that it names.
func (r *repeatFinder) elsewhere(heading int, progress bool) bool {
	return heading >= 0 && heading != r.head && (progress || !slices.Contains(r.open, heading))
}

// prepare reads what boxes may repeat, once a box is to be looked up.
func (r *repeatFinder) prepare() {
	if r.titles != nil {
		return
	}
	r.titles, r.holds, r.ids = map[string]int{}, map[int]bool{}, map[string]int{}
	add := func(name string, i int) {
		if _, twice := r.titles[name]; twice {
			i = -1
		}
		if name != "" {
			r.titles[name] = i
		}
	}
	var open []int
	tracked := false
	for i := range r.marks {
		m := &r.marks[i]
		switch m.kind {
		case markHeading:
			open = append(r.around(open, m.level), i)
			whole := plain(m.text)
			if tracked = saysProgress(whole); tracked || i == r.title {
				continue
			}
			whole = fold(whole)
			add(whole, i)
			if u := m.unit; u.ok && u.kind != unitNone {
				if title := fold(u.title); title != whole {
					add(title, i)
				}
				if name := u.word + " " + u.id; u.kind != unitNumbered && name != whole {
					add(name, i)
				}
			}
		case markBox:
			if tracked {
				continue
			}
			for _, h := range open {
				r.holds[h] = true
			}
			if m.label.kind == labelT {
				r.ids[m.label.id]++
			}
		}
	}
}

// settle takes the repetitions out of the work. What they name must be work without them: else they stay, unless the plan is
// made of nothing but headings and this list.
func (r *repeatFinder) settle() {
	var bare []repeat
	for _, f := range r.found {
		if r.isBare(f) {
			bare = append(bare, f)
		}
	}
	if len(bare) > 0 {
		sole := len(bare) > 1 && len(bare) == r.boxes && !r.hasUnits()
		for _, f := range bare {
			sole = sole && r.marks[f.of].level == r.marks[bare[0].of].level
		}
		if sole {
			r.asTasks(bare)
		} else {
			r.found = slices.DeleteFunc(r.found, r.isBare)
		}
	}
	for _, f := range r.found {
		r.marks[f.box].kind = markRepeat
	}
	r.repeated = r.found
}

// asTasks makes tasks of the headings that a list names. Weeks and milestones are units without that.
func (r *repeatFinder) asTasks(list []repeat) {
	for _, f := range list {
		m := &r.marks[f.of]
		if m.unit.ok && m.unit.kind == unitSpan {
			continue
		}
		u := unit{kind: unitTask, word: "task", id: m.unit.id, title: m.unit.title, ok: true}
		if m.unit.kind == unitNone {
			u.id, u.title = r.marks[f.box].label.id, plain(m.text)
		}
		m.unit = &u
	}
}

// hasUnits reports whether a heading is a unit of work already.
func (r *repeatFinder) hasUnits() bool {
	for _, i := range r.heads {
		if i != r.title && r.isUnit(i) {
			return true
		}
	}
	return false
}

// tracks makes the repetitions the boxes of what they name, where that has no boxes of its own: then they alone say whether
// it is done. The others belong to nothing.
func (b *builder) tracks() {
	if len(b.repeated) == 0 {
		return
	}
	steps := b.unboxed()
	n, first := 0, 0
	for k, f := range b.repeated {
		m, o := &b.marks[f.box], b.owner[f.box]
		s := Step{Text: plain(m.text), Done: done(m.state), Line: m.line, Box: true}
		var of *[]Step
		if f.of >= 0 {
			of = steps[b.marks[f.of].line]
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
		if k+1 < len(b.repeated) && b.sameList(f.box, b.repeated[k+1].box) {
			continue
		}
		severity := SeverityWarning
		switch b.plan.Format { // where boxes in no task are no work anyway
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
		if at := b.repeated[first].of; at >= 0 {
			what = fmt.Sprintf("headings (the first one line %d)", b.marks[at].line)
		}
		b.report(severity, b.marks[b.repeated[first].box].line, "repeated-boxes", "%d checkboxes from here on repeat %s of this plan and are no work of their own; "+
			"where what they repeat has no boxes, they say whether it is done", n, what)
		n = 0
	}
	slices.SortStableFunc(b.plan.Unassigned, func(x, y Step) int { return x.Line - y.Line })
}

// unboxed returns, by the line of its heading, where the boxes of each task and batch go that has none so far.
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

// sameList reports whether no heading stands between two marks.
func (b *builder) sameList(from, to int) bool {
	for i := from; i < to; i++ {
		if b.marks[i].kind == markHeading {
			return false
		}
	}
	return true
}

// fold reduces a title to its words, so that "**Parser**" and "parser:" are the same.
func fold(s string) string {
	return strings.Join(strings.FieldsFunc(strings.ToLower(s), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }), " ")
}

// sameTitle reports whether two titles of the same unit are one title, or one is the other one's beginning.
func sameTitle(x, y string) bool {
	x, y = fold(x), fold(y)
	return strings.HasPrefix(x+" ", y+" ") || strings.HasPrefix(y+" ", x+" ") || x == "" || y == ""
}

// cutTime takes the time off a line of a log: "(2026-01-31 12:00Z) Parser", "[2026-01-31] Parser".
func cutTime(s string) string {
	if len(s) > 2 && (s[0] == '(' || s[0] == '[') && isDigit(s[1]) {
		if end := strings.IndexAny(s, ")]"); end > 0 {
			s = s[end+1:]
		}
	}
	return strings.TrimSpace(s)
}

// cutRemark takes off what a list of progress adds to a title: "Parser — done in #12", "Parser (2 days)".
func cutRemark(s string) string {
	for _, sep := range []string{" — ", " – ", " - ", " ("} {
		if before, _, found := strings.Cut(s, sep); found {
			s = before
		}
	}
	return s
}
