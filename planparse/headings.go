package planparse

import (
	"bytes"
	"cmp"
	"slices"
	"strings"

	"github.com/runplan/runplan/internal/lists"
)

// prepare finds the title, reports tolerated markdown, and decides which headings open units.
func (b *builder) prepare() {
	b.reportMarkdown()
	b.tasksInFence()
	name := b.taskMaster()
	if id, _ := b.front.value("id"); id != "" && len(b.heads) > 0 &&
		strings.EqualFold(plain(b.heads[0].text), "description") {
		title, _ := b.front.value("title") // Backlog.md: the file is one task
		b.heads[0].level, b.heads[0].unit = 1, &unit{kind: unitTask, word: "task", id: id, title: title, ok: title != ""}
	}
	b.title = lists.First(b.heads, func(m *mark) bool { return m.level == 1 })
	if b.title == nil && len(b.heads) > 0 && b.heads[0].unit.kind == unitNone {
		b.title = b.heads[0]
	}
	if b.title != nil {
		m := b.title
		alone := true
		for _, o := range b.heads {
			alone = alone && (o == m || o.level != 1 || o.unit.kind != m.unit.kind)
		}
		if alone && m.level == 1 { // "# Phase 3: Generator" over the plan is its title
			switch among := b.amongOthers(b.title); {
			case among < 0: // the heading follows others of its kind, so it is a unit
				alone = false
			case among > 0:
				b.warn(m.line, "near-miss-heading",
					"%q is read as the title of the plan: to make it a %s, give it the level of the other headings", m.text,
					m.unit.word)
				fallthrough
			default:
				b.titleUnit, m.unit = *m.unit, &unit{}
			}
		}
		switch {
		case m.unit.kind != unitNone && m.level == 1: // "# Task 1" over "# Task 2": there is no title
			b.title = nil
		case len(m.text) > 0:
			b.plan.Title = cmp.Or(name, plain(m.text))
			if slices.Contains([]string{"introduction", "description", "overview", "summary"}, strings.ToLower(b.plan.Title)) {
				goal, _ := b.front.value("goal")
				title, _ := b.front.value("title")
				b.plan.Title = cmp.Or(goal, title, b.plan.Title)
			}
		}
	}
	completed := func(h *mark) bool { return h != b.title && completedTitle(plain(h.text)) }
	described := func(h *mark) bool { return containsAny(strings.ToLower(plain(h.text)), "architect", "arquitectura") }
	for _, m := range b.heads { // a changelog has versions too, and an architecture layers
		if m.unit.word == "layer" && (!planTitle(b.plan.Title) || m.below(described) != nil) {
			m.unit = &b.noUnit
		}
		if m.unit.word == "version" && (!planTitle(b.plan.Title) || !strings.Contains(m.unit.id, ".") ||
			m.below(completed) != nil) {
			m.unit = &b.noUnit
		}
	}
	b.dropMentioned()
	b.boldUnits()
	for _, kind := range []unitKind{unitBatch, unitTask, unitGroup, unitPiece} {
		b.settle(kind)
	}
	b.reportGaps()
	b.reportNearUnits()
}

// dropMentioned ensures that some headings are not units: the epic of a story, "### Stage 3 — Done" in "## Stage 3:
// Title", the phases of a design, which are deeper than the plan's phases with the same numbers, and weeks that are
// named again below "Success criteria".
func (b *builder) dropMentioned() {
	level, numbers := deepest, map[string]bool{}
	isPhase := func(m *mark) bool { return m != b.title && m.unit.ok && m.unit.kind == unitGroup }
	for _, m := range b.heads {
		switch {
		case m.unit.word == "epic" && b.titleUnit.word == "story":
			m.unit = &b.noUnit
		case isPhase(m) && m.level < level:
			level, numbers = m.level, map[string]bool{m.unit.word + m.unit.id: true}
		case isPhase(m) && m.level == level:
			numbers[m.unit.word+m.unit.id] = true
		}
	}
	later := func(h *mark) bool { return h != b.title && isLater(plain(h.text)) }
	now := slices.ContainsFunc(b.heads, func(m *mark) bool {
		return m != b.title && m.unit.ok && m.unit.kind != unitNone && m.below(later) == nil
	})
	spans := map[string]bool{}
	criteria := func(h *mark) bool { return namesCriteria(plain(h.text)) }
	for _, m := range b.heads {
		if name := m.unit.word + m.unit.id; m.unit.kind == unitSpan && spans[name] && m.below(criteria) != nil {
			m.unit = &b.noUnit
		} else if m.unit.ok {
			spans[name] = true
		}
		boxed := func(o *mark) bool { return o.kind == markBox && o.head == m }
		same := func(h *mark) bool { return h != b.title && h.unit.word+h.unit.id == m.unit.word+m.unit.id }
		if (isPhase(m) && m.level > level && numbers[m.unit.word+m.unit.id] && m.below(isPhase) == nil ||
			(isPhase(m) || m.unit.kind == unitSpan) && m.below(same) != nil || now && m.below(later) != nil) &&
			!slices.ContainsFunc(b.marks, boxed) {
			m.unit = &b.noUnit
		}
	}
}

// taskMaster reads the text export of Task Master, which writes each field as a heading: "# Task ID: 7", "# Title: …",
// "# Details:". Fields with a value become metadata, the others sections of the task. It returns the name of the task.
func (b *builder) taskMaster() (name string) {
	if len(b.heads) == 0 || !bytes.HasPrefix(b.heads[0].text, []byte("Task ID:")) {
		return ""
	}
	task := b.heads[0]
	id := task.unit.id
	heads := b.heads[:1]
	for _, m := range b.heads[1:] {
		key, value, _ := strings.Cut(string(m.text), ": ")
		switch field := strings.ToLower(strings.TrimSuffix(key, ":")); field {
		case "title", "status", "dependencies", "priority", "description":
			if value != "" {
				switch {
				case field == "status" && value == "done":
					tickHeading(task)
				case field == "title":
					name = value
				}
				value = strings.ReplaceAll(value, id+".", "") // subtasks depend on "7.1"
				m.kind, m.unit, m.text = markText, &b.noUnit, []byte("**"+key+":** "+value)
				continue
			}
		case "subtasks":
			m.text = m.text[:len(field)]
		default:
			if title, state, ok := bytes.Cut(m.text, []byte(" [")); ok && m.unit.kind == unitNumbered {
				m.text = title
				m.unit.title = plain(bytes.TrimPrefix(title, []byte(m.unit.id+". ")))
				if string(state) == "done]" {
					tickHeading(m)
				}
			}
			m.level = max(m.level, 2)
			m.head = cmp.Or(m.head, task)
		}
		heads = append(heads, m)
	}
	b.heads = heads
	return name
}

// tickHeading gives a heading a ticked box if its words say that it is done.
func tickHeading(m *mark) { m.text = append([]byte("[x] "), m.text...) }

// amongOthers compares a heading with others of the same kind: -1 if one of them comes before it, 1 if a later one
// continues its count, 0 otherwise.
func (b *builder) amongOthers(title *mark) int {
	u := title.unit
	if u.kind == unitNone || !u.ok {
		return 0
	}
	out := 0
	for _, m := range b.heads {
		o := m.unit
		switch {
		case m == title || !o.ok || o.kind != u.kind || o.word != u.word:
		case m.line < title.line:
			return -1
		case out == 0 && atoi(o.id) >= 0 && atoi(o.id) == atoi(u.id)+1:
			out = 1
		}
	}
	return out
}

// reportGaps remarks once that the numbers of batches or tasks skip or go back: it is common (waves,
// deleted tasks), and sometimes a task that got lost.
func (b *builder) reportGaps() {
	for _, kind := range []unitKind{unitBatch, unitTask} {
		last := -1
		for _, m := range b.heads {
			if !m.unit.ok || m.unit.kind != kind {
				continue
			}
			n := atoi(m.unit.id)
			if place := atoi(strings.TrimRight(m.unit.id, "abcdefgh")); n < 0 && place == last+1 {
				n = place // "4a" has the place of 4
			}
			if last >= 0 && n >= 0 && n != last+1 && n != 1 && n != last {
				b.warn(m.line, "number-gap", "%s %d follows %s %d; they are run in the order of the document", m.unit.word, n,
					m.unit.word, last)
				break
			}
			if n >= 0 {
				last = n
			}
		}
	}
}

// reportNearMisses names lines that people may take for work, but the parser does not.
func (b *builder) reportNearMisses() {
	if b.oddBox > 0 {
		b.report(SeverityInfo, b.oddBox, "unusual-box",
			"boxes after another marker than \"-\" are read, but many tools miss them")
	}
	for _, line := range b.hidden {
		b.warn(line, "near-miss-box", "the box is indented by four or more spaces, so it is code and not a task")
	}
	for i, line := range b.odd {
		if i == 0 || line != b.odd[i-1]+1 { // one message for each table
			b.report(SeverityInfo, line, "near-miss-box",
				"the box in this table is not a task: put it into the first cell, "+
					"or give the row one box and an id such as T001")
		}
	}
	for i, m := range b.marks {
		if m.kind != markText {
			continue
		}
		if rest, ok := bytes.CutPrefix(m.text, []byte("-")); ok && len(rest) > 2 && rest[0] == '[' {
			if _, _, box := cutBox(rest); box {
				b.warn(m.line, "near-miss-box", "%q is text: put a space after the dash to make it a checkbox", m.text)
			}
		}
		next := i + 1
		if next < len(b.marks) && b.marks[next].line == m.line+1 && b.underline(next) {
			if u := parseUnit(m.text); u.ok && (u.kind == unitBatch || u.kind == unitTask) {
				b.warn(m.line, "near-miss-heading", "%q is underlined and read as text: write it as a heading with \"##\"", m.text)
			}
		}
	}
}

// underline reports whether the mark is a line of "===" or "---".
func (b *builder) underline(i int) bool {
	m := b.marks[i]
	return m.kind == markBreak || (m.kind == markText && len(bytes.Trim(m.text, "=")) == 0)
}

// settle decides on headings with plain text after the id. Next to well-formed ones they are notes ("Task 3 progress
// note"); if there are no others, the author does not use separators, unless their numbers repeat.
func (b *builder) settle(kind unitKind) {
	var good, bare []*mark
	seen, again := map[string]bool{b.titleUnit.word + b.titleUnit.id: true}, false // "Phase 3 goals", "Phase 3 timeline"
	for _, m := range b.heads {
		switch u := m.unit; {
		case u.kind != kind:
		case u.ok:
			good = append(good, m)
		case kind == unitPiece && u.word != "story": // "Change 2 names" is an order
		case !aboutUnit(u.title):
			again = again || seen[u.word+u.id]
			seen[u.word+u.id] = true
			bare = append(bare, m)
		case kind == unitTask:
			b.report(SeverityInfo, m.line, "near-miss-heading", "%q is read as a note about %s %s", m.text,
				u.word, u.id)
		}
	}
	for _, m := range bare {
		if len(good) == 0 && !again {
			m.unit.ok = true
			b.warn(m.line, "missing-separator", "%q has no colon after its number; read as %s %s", m.text, m.unit.word,
				m.unit.id)
			continue
		}
		severity := SeverityInfo
		if kind == unitTask {
			severity = SeverityWarning
		}
		b.report(severity, m.line, "near-miss-heading",
			"%q is not read as a %s: put a colon after the number to make it one",
			m.text, m.unit.word)
	}
}

// aboutUnit reports whether the text after an id shows that the heading is about the unit and does not open it.
func aboutUnit(title string) bool {
	word, _, _ := strings.Cut(strings.ToLower(title), " ")
	return isChecklist(title) ||
		slices.Contains([]string{"gate", "quality", "summary", "progress", "notes", "note", "complete", "completion",
			"results", "review", "status", "details", "overview", "order", "done", "scope"},
			strings.Trim(word, ":.,"))
}

func (b *builder) reportMarkdown() {
	if b.wrapped >= 0 {
		b.warn(b.lineOf(b.wrapped), "wrapped-plan",
			"the whole plan is in a fence; the fence is ignored")
	}
	b.reportNearMisses()
	if valid := bytes.ToValidUTF8(b.src, nil); len(valid) < len(b.src) {
		b.warn(1, "not-utf8", "the plan is not UTF-8, so letters of it are unreadable: save it as UTF-8")
	}
	for _, f := range b.doc.fences {
		line := b.lineOf(f.open)
		switch {
		case f.closed == 0 && !f.strict && f.last > 0 && b.runsOut(f):
			b.warn(line, "unclosed-fence", "the fence is never closed; everything below it is read as its content")
		case f.early > 0:
			b.warn(line, "broken-fence",
				"the fence contains another fence: CommonMark ends it at line %d, runplan at line %d; "+
					"open and close the outer fence with one more backtick", b.lineOf(f.early), b.lineOf(f.closed))
		case f.strict:
			b.warn(line, "broken-fence", "the fences inside this fence do not pair up, so runplan reads them like CommonMark")
		}
	}
	if c := b.doc.comment; c != nil && !c.closed {
		b.warn(b.lineOf(c.Lines().At(0).Start), "unclosed-comment",
			"the comment is never closed; everything below it is ignored")
	}
}

// runsOut reports whether the unclosed fence reaches the end of the file (and not just of its list item).
func (b *builder) runsOut(f *fence) bool {
	return len(bytes.TrimSpace(b.between(b.lineOf(f.last)+1, len(b.lines)))) == 0
}
