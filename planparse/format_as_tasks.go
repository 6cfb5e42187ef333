package planparse

import (
	"bytes"
	"cmp"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/runplan/runplan/internal/lazyre"
	"github.com/runplan/runplan/internal/lists"
)

// Headings with other names may be the tasks of a plan. This file makes them task headings.

// taskList recognizes "## Tasks" above "### 1. Title" or "### F1: Title" headings and turns these into task headings.
func (b *builder) taskList(f facts) bool {
	if f.majors+f.subs > 0 || f.top == 0 && len(f.of[unitStep]) > 1 { // the numbered sections describe the steps
		return false
	}
	parent, found := 0, false
	if b.title != nil && f.top+len(f.of[unitGroup])+len(f.of[unitSpan]) == 0 &&
		containsAny(strings.ToLower(b.plan.Title), "plan", "计划", "計画", "계획", "план") {
		chapter := func(m *mark) bool {
			return m.level == b.title.level+1 && m.unit.kind == unitNone && capitals.Re().Match(m.text)
		}
		if chapters := lists.Filter(b.heads, chapter); len(chapters) > 2 { // "## R1: Title" below "# Plan: Title"
			for _, m := range chapters {
				found = ticketTask(m) || found
			}
			return found
		}
	}
	remains := f.top == 0 && (b.remains() || len(f.of[unitGroup])+len(f.of[unitSpan]) == 0 && b.title != nil &&
		strings.HasSuffix(bareTitle(b.plan.Title), "roadmap"))
	holds := false // the parent has a task
	for _, m := range b.heads {
		if parent > 0 && m.level <= parent {
			parent, holds = 0, false
		}
		switch title := strings.ToLower(plain(m.text)); {
		case parent > 0 && m.level == parent+1 && m.unit.kind == unitNumbered:
			m.unit.kind, m.unit.word, found, holds = unitTask, "task", true, true
		case parent > 0 && m.level == parent+1 && f.top == 0 && m.unit.kind == unitNone && ticketTask(m):
			found, holds = true, true
		case holds: // "#### 2. Training tasks" in a task
		case remains && m.head == b.title && m.unit.kind == unitNone && !isLater(title) && !completedTitle(title),
			f.top == 0 && (b.listsSteps(m) || m != b.title && strings.HasSuffix(bareTitle(title), " tasks")),
			slices.Contains([]string{"tasks", "subtasks", "steps", "implementation steps", "implementation tasks"}, title):
			parent = m.level
		}
	}
	return found
}

// shortID matches the beginning of an id that is not only a number: "F3", "3a", "B.".
var shortID = lazyre.New(`^(?:[A-Z]{1,4}\d|\d+[a-z]\b|[A-Z]\. )`)

// capitals matches the beginning of an id: letters and a digit.
var capitals = lazyre.New(`^[A-Z]+\d`)

// ticketTask makes a task of a heading that begins with an id with letters: "W0: Title", "F3a — Title", "B. Title".
func ticketTask(m *mark) bool {
	text := m.text
	if !shortID.Re().Match(text) {
		return false
	}
	id := scanID(text)
	title, ok := unitTitle(text[id:])
	if title == "" || !ok && bytes.IndexByte(text[:id], '-') < 0 { // "P33-T1 Title" needs no separator
		return false
	}
	m.unit = &unit{kind: unitTask, word: "task", id: string(text[:id]), title: title, ok: true}
	return true
}

// piecesAsTasks turns slices, commits, stories and similar headings into tasks if the plan consists of them: most
// of its boxes are below them, and they are in its phases if it has any.
func (b *builder) piecesAsTasks(f facts) bool {
	if len(f.of[unitPiece]) < 2 {
		return false
	}
	isA := func(kind unitKind) func(h *mark) bool {
		return func(h *mark) bool { return h.unit.ok && h.unit.kind == kind }
	}
	boxes := lists.Count(b.marks,
		func(m *mark) bool { return m.kind == markBox && m.outerBox() == nil && m.below(isA(unitPiece)) != nil })
	inPhases := lists.Count(f.of[unitPiece], func(m *mark) bool { return m.below(isA(unitGroup)) != nil })
	if boxes*2 < f.top || (len(f.of[unitGroup]) > 0 && inPhases*2 < len(f.of[unitPiece])) {
		return false
	}
	for _, m := range f.of[unitPiece] {
		m.unit.kind = unitTask
	}
	return true
}

// withoutUnits makes tasks from lists, tables or other text if no heading and no box is a unit of work.
func (b *builder) withoutUnits() bool {
	return b.titleAsTask("task", "iteration", "story") || b.listAsTasks() || b.changesAsTasks() || b.rowsAsTasks() ||
		b.namedTasks() || b.titleAsTask("phase")
}

// planOf matches the text before the unit in a title such as "Plan: Task 7 — Title".
var planOf = lazyre.New(`(?i)^(?:implementation )?plan(?:: | [—–-] )`)

// titleAsTask treats a file whose title is a task, a story or a phase ("# Task 7: Title"), without any other unit, as
// that task.
func (b *builder) titleAsTask(words ...string) bool {
	if b.title != nil && b.titleUnit.kind == unitNone {
		b.titleUnit = parseUnit(planOf.Re().ReplaceAll(b.title.text, nil))
	}
	if b.title == nil || !b.titleUnit.ok || isCheck(b.titleUnit.title) || !slices.Contains(words, b.titleUnit.word) {
		return false
	}
	b.titleUnit.kind = unitTask
	b.title.unit, b.title = &b.titleUnit, nil
	return true
}

// namedTasks makes tasks of the headings directly below a heading that announces tasks: "## Tasks", "## Remaining work,
// by priority".
func (b *builder) namedTasks() bool {
	n := 0
	for _, m := range b.heads {
		if m.head == nil || m.unit.kind != unitNone && m.unit.kind != unitNumbered ||
			!remainingTitle(plain(m.head.text)) && bareTitle(plain(m.head.text)) != "tasks" {
			continue
		}
		n++
		m.unit = &unit{kind: unitTask, word: "task", id: cmp.Or(m.unit.id, strconv.Itoa(n)),
			title: cmp.Or(m.unit.title, plain(m.text)), ok: true}
	}
	return n > 0
}

var skillName = lazyre.New(`^"?[a-z][a-z0-9-]*"?$`)

// isSkill reports whether the file tells an agent how to work: "name: planner" and a description in the front matter.
func (b *builder) isSkill() bool {
	name, _ := b.front.value("name")
	what, _ := b.front.value("description")
	return what != "" && skillName.MatchString(name)
}

// remains reports whether the title of the plan says that the whole plan is open work: "TODO", "Parser — open tasks".
func (b *builder) remains() bool {
	return b.title != nil &&
		slices.ContainsFunc(strings.Split(strings.NewReplacer(": ", " — ", " – ", " — ", " - ", " — ").
			Replace(b.plan.Title), " — "), remainingTitle)
}

// mvpAsPhase makes the first phase of "## MVP requirements" before "## Phase 2: Title", if no other phase is before it.
func (b *builder) mvpAsPhase() {
	first := slices.IndexFunc(b.heads, func(m *mark) bool { return m.unit.ok && m.unit.word == "phase" })
	if first < 1 || b.heads[first].unit.id != "2" {
		return
	}
	for _, m := range slices.Backward(b.heads[:first]) {
		if m.level > b.heads[first].level {
			continue
		}
		title := plain(m.text)
		if m.level == b.heads[first].level && m.unit.kind == unitNone &&
			strings.HasPrefix(strings.ToLower(title)+" ", "mvp ") {
			m.unit = &unit{kind: b.heads[first].unit.kind, word: "phase", id: "1", title: title, ok: true}
		}
		return
	}
}

// stepsAsTasks turns step headings into tasks, for a plan without other units.
func (b *builder) stepsAsTasks() {
	var steps, reports []*mark // "### Step 1: …" below "## Progress" reports on a step
	progress := func(h *mark) bool { return h != b.title && h.unit.kind != unitStep && saysProgress(plain(h.text)) }
	for _, m := range b.heads {
		switch {
		case m.unit.kind != unitStep || !m.unit.ok:
		case m.below(progress) != nil:
			reports = append(reports, m)
		default:
			steps = append(steps, m)
		}
	}
	if len(steps) == 0 {
		steps = reports
	}
	for _, m := range steps {
		m.unit.kind = unitTask
	}
	b.warn(steps[0].line, "steps-as-tasks", "the plan has only steps; each of its %d steps is read as a task",
		len(steps))
}

// otherUnits makes tasks of the units of a plan whose boxes are all criteria for finished work: its slices, its steps,
// its title or a numbered list.
func (b *builder) otherUnits(f facts) bool {
	if len(f.of[unitGroup])+len(f.of[unitSpan]) > 0 {
		return false
	}
	back := b.lookBack(unitGroup, func(title string, _ bool) bool { return isChecklist(title) || isCheck(title) })
	for _, m := range b.marks {
		if m.kind == markBox && !back[m] {
			return false
		}
	}
	f.top = 0
	switch {
	case b.taskList(f), b.piecesAsTasks(f):
	case len(f.of[unitStep]) > 1:
		b.stepsAsTasks()
	default:
		return b.withoutUnits()
	}
	return true
}

// changedFile matches the heading of a part that is a file: "1. `a.go` (line 12)".
var changedFile = lazyre.New("^(?:\\d+[.)]\\s+)?`([^`\\s]+)`(?:\\s*[(:—–-].*)?$")

// changesAsTasks reads the plans of Antigravity and Codex: the parts of a chapter with headings such as "#### [NEW]
// a.go" for their files are the tasks, or those below "## Proposed Changes" or "## Key Changes" with a "## Verification
// Plan" or "## Test Plan" behind them. Without such parts, all the changes are one task.
func (b *builder) changesAsTasks() bool {
	var whole, check *mark
	var parts []*mark
	inside, files := false, 0
	// "## Changes", as Claude Code writes it: its parts must name files, and a check must follow
	bare := false
	around := map[*mark]bool{} // chapters with headings such as "#### [NEW] a.go"
	for _, m := range b.heads {
		if verb, _ := fileHeading(m.text); verb != "" {
			around[m.below(func(h *mark) bool { return h.head == nil || h.head == b.title })] = true
		}
	}
	for _, m := range b.heads {
		verb, _ := fileHeading(m.text)
		switch {
		case whole != nil && m.level <= whole.level:
			inside = false
			if title := strings.ToLower(plain(m.text)); title == "verification plan" || title == "test plan" ||
				(bare || files > 0) && check == nil && isCheck(title) {
				check = m
			}
		case inside && verb != "":
			files++
		case inside && m.level == whole.level+1:
			parts = append(parts, m)
			if found := changedFile.FindSubmatch(m.text); found != nil && looksLikePath(string(found[1])) && bare {
				m.text, files = slices.Concat([]byte("[MODIFY] "), found[1]), files+1
			}
		}
		title, _, _ := strings.Cut(strings.ToLower(plain(m.text)), " (")
		if whole == nil && m != b.title && (around[m] || slices.Contains([]string{"proposed changes", "key changes",
			"implementation changes"}, title)) {
			whole, inside = m, true
		}
		if whole == nil && changesTitle(title) {
			whole, inside, bare = m, true, true
		}
	}
	numbered := func(m *mark) bool { return m.unit.kind == unitNumbered }
	listed := len(parts) > 1 && lists.Count(parts, numbered) == len(parts) && planTitle(b.plan.Title)
	if !listed && (files == 0 && check == nil || bare && (files == 0 || check == nil)) {
		return false
	}
	if len(parts) == 0 {
		parts = append(parts, whole)
	}
	for n, m := range parts {
		title := plain(m.text)
		if m.unit.kind == unitNumbered {
			title = m.unit.title
		}
		m.unit = &unit{kind: unitTask, word: "task", id: strconv.Itoa(n + 1), title: title, ok: true}
	}
	if check != nil { // the check belongs to the last task
		level := check.level
		for _, m := range b.heads[slices.Index(b.heads, check):] {
			if m != check && m.level <= level {
				break
			}
			m.level += 2
		}
	}
	return true
}

// linkedUnit matches an item that links to the file of a phase: "[Phase 1](phase-1.md) — Title".
var linkedUnit = lazyre.New(`^\[([^\]]+?)(?:\.md)?\]\([^)]+\)(.*)$`)

// boldUnits makes headings of the lines and items "**Phase 1: Title**" of a plan, if no heading and no box ("- [ ] Task
// 1: Title") is a unit of work and no step has boxes, and else of all bold lines if "**Steps**" is one, as Copilot
// writes it.
func (b *builder) boldUnits() {
	if slices.ContainsFunc(b.heads, func(m *mark) bool {
		return m != b.title && m.unit.ok && m.unit.kind < unitStep && m.unit.kind != unitNone
	}) || slices.ContainsFunc(b.marks, func(m *mark) bool {
		return m.kind == markBox && (m.label.named || m.head != nil && m.head.unit.kind == unitStep)
	}) {
		return
	}
	units, lines, steps := map[*mark]unit{}, map[*mark]unit{}, 0
	for i, m := range b.marks {
		text, bold := bytes.CutPrefix(m.text, []byte("**"))
		// "✅ **Phase 1: Title**"
		if mark, _, found := bytes.Cut(m.text, []byte(" **")); found && !m.isRow() && len(undecorate(mark)) == 0 {
			text, bold = m.text[len(mark)+len(" **"):], true
		}
		text, note, closed := bytes.Cut(text, []byte("**"))
		if link := linkedUnit.FindSubmatch(m.text); link != nil && m.kind == markItem {
			text, note, bold, closed = link[1], link[2], true, true
		}
		note = bytes.Trim(note, " :：")
		if bold && closed && parseUnit(text).title != "" && (m.kind == markText || !saysDone(string(note))) {
			text, note = bytes.TrimRight(text, ".:："), nil // "**Phase 1 — Title.** What to do"
		}
		if bold && closed && len(note) == 0 && m.kind == markText && m.parent == nil && b.boxes == 0 {
			if lines[m] = (unit{}); steps < 2 && stepsTitle(string(text)) {
				steps++
			}
		}
		if !bold || !closed || m.parent != nil || m.kind != markText && m.kind != markItem ||
			len(note) > 0 && m.kind == markText && note[0] != '(' && parseUnit(note).kind == unitNone &&
				!saysDone(string(note)) ||
			m.head != nil && m.below(func(h *mark) bool { return planTitle(plain(h.text)) }) == nil &&
				(i+1 == len(b.marks) || b.marks[i+1].kind != markBox) {
			continue
		}
		if u := parseUnit(slices.Concat(text, []byte(" "), note)); u.ok && u.id != "" &&
			(u.kind < unitStep || u.kind == unitStep && b.boxes == 0) {
			units[m] = u
		}
	}
	if len(units) < 2 && steps == 1 { // several "**Steps**" are details of something else
		units = lines
	}
	if len(units) < 2 {
		return
	}
	b.heads = b.heads[:0]
	var unit *mark
	for _, m := range b.marks {
		if u, found := units[m]; found {
			b.fromList = b.fromList || m.kind == markItem
			m.kind, m.level, m.unit, unit = markHeading, deepest, &u, m
			b.heads = append(b.heads, m)
			continue
		}
		if m.kind == markHeading || m.kind == markBreak {
			unit = nil
		}
		if m.kind == markHeading {
			b.heads = append(b.heads, m)
		} else if unit != nil {
			m.head = unit
		}
	}
}

// listsSteps reports whether a heading says that the items and headings below it are the plan: "Steps — first release".
// A title says so only if no other heading is in the file.
func (b *builder) listsSteps(m *mark) bool {
	title := plain(m.text)
	if m != b.title || len(b.heads) == 1 {
		title = cutRemark(strings.Replace(title, ": ", " — ", 1))
	}
	return stepsTitle(title)
}

// listAsTasks turns the items of a numbered list directly below a heading such as "Implementation Steps" into
// tasks, and those of any list below "Remaining tasks". It applies only to plans without boxes and units. If each
// chapter has such a heading, the chapters are the batches.
func (b *builder) listAsTasks() bool {
	type item struct {
		*mark
		number int
	}
	var items []item
	var head, first *mark     // the heading, the heading of the first item
	last, bullets := 0, false // the last number; whether bullets count
	all := b.remains()        // so do those of each chapter
	whole := (len(b.heads) == 0 || len(b.heads) == 1 && b.title != nil) && b.onlyInstructions()
	if whole { // the first items may be above the only heading
		head, last = &mark{text: []byte("the start of the file")}, -1
	}
	for _, m := range b.marks {
		switch {
		case m.kind == markHeading:
			title := plain(m.text)
			bullets = all && !isLater(title) && !completedTitle(title) || remainingTitle(title)
			if head = nil; bullets || whole || b.listsSteps(m) {
				head, last = m, -1
			}
		case head == nil || m.parent != nil || len(m.text) == 0:
		case m.kind == markItem, m.kind == markText && last > 0: // "2." right below text is text to CommonMark
			n := b.itemNumber(m)
			if n < 0 && bullets && m.kind == markItem {
				n = max(last, 0) + 1
			}
			if n < 0 || m.kind == markText && n != last+1 {
				continue
			}
			if first == nil {
				first = head
			}
			it := item{m, n}
			if n == last { // "1." on every item
				it.number = items[len(items)-1].number + 1
			}
			items, last = append(items, it), n
		}
	}
	if len(items) < 2 {
		return false
	}
	chapters := !whole && (all && first != items[len(items)-1].head || first.head != items[len(items)-1].head.head &&
		!slices.ContainsFunc(items, func(it item) bool { return it.head.head == nil || it.head.head == b.title }))
	for _, it := range items {
		m := it.mark
		title := m.text
		if m.kind == markText {
			_, title, _ = bytes.Cut(title, []byte(" "))
		}
		title = bytes.TrimRight(title, " :：")
		finished := bytes.HasPrefix(title, []byte("~~")) || bytes.HasPrefix(title, []byte("✅"))
		if chapters {
			m.asBox(strconv.Itoa(it.number), plain(title), finished)
			continue
		}
		m.unit = &unit{kind: unitTask, word: "task", id: strconv.Itoa(it.number), title: plain(title), ok: true}
		m.kind, m.level = markHeading, deepest
		if finished {
			tickHeading(m)
		}
	}
	if chapters {
		b.plan.Format = FormatOpenSpec
		return true
	}
	b.fromList = true
	b.report(SeverityInfo, items[0].line, "list-as-tasks",
		"the plan has neither boxes nor headings that are units of work: "+
			"the %d items below %q are read as its tasks", len(items), first.text)
	return true
}

// onlyInstructions reports whether all lists of the file are numbered and at least half of the items begin with an
// instruction: "1. Add the parser".
func (b *builder) onlyInstructions() bool {
	n, instructs := 0, 0
	for _, m := range b.marks {
		if m.kind != markItem || m.parent != nil {
			continue
		}
		if n++; b.itemNumber(m) < 0 {
			return false
		}
		if verb := leadingWord(plain(m.text)); fileVerb(verb) != "" || instruction(verb) != "" {
			instructs++
		}
	}
	return n > 1 && instructs*2 >= n
}

// tableRow is a row of a table that is a task: "| M1 | Title | done |", or "| 1 | Title |" below "| # | Task |".
type tableRow struct {
	*mark
	unit     unit
	finished bool
	keys     []string // cells below "Files" or "Depends on": "Files: a.go"
}

// taskRows returns the rows that are tasks, of the tables for which in is true. The columns of the table say which
// cell is the title and which one is the state. If all is true, they must also say that the rows are units.
func (b *builder) taskRows(in func(m *mark) bool, all bool) (rows []tableRow) {
	var header []string
	last, first := 0, 0 // line of the row before; cells that the header has before the id
	for _, m := range b.marks {
		if !m.isRow() || !in(m) {
			continue
		}
		var cells []string
		for text := m.text; len(text) > 1; {
			var cell []byte
			cell, text = cutCell(text)
			cells = append(cells, plain(cell))
		}
		if len(cells) < 2 {
			continue
		}
		if header == nil || m.line != last+1 {
			header, first = cells, 0
			if column(cells[0]) == "" && column(cells[1]) == "id" { // "| Priority | ID | Task |"
				first = 1
			}
			header = header[first:]
		}
		cells = cells[min(first, len(cells)-2):]
		if len(header) < 2 {
			continue
		}
		last = m.line
		counts := namesUnits(header[0]) || namesUnits(header[1]) || column(header[0]) == "id" && atoi(cells[0]) < 0 ||
			len(header) > 2 && column(header[1]) == "id" && namesUnits(header[2]) // "| # | ID | Task |"
		names := header[1:min(len(header), len(cells))]
		at := 1 + slices.IndexFunc(names, func(name string) bool { return column(name) == "title" })
		if at == 0 { // "| id | role | files | acceptance |"
			at = 1 + max(0, slices.IndexFunc(names, func(name string) bool { return column(name) != "key" }))
		}
		id := strings.Trim(strings.TrimRight(cells[0], "✅🟡⏳ "), ".) ")
		u := parseUnit([]byte(id + ": " + cells[at]))
		if (!u.ok || u.kind == unitNone) && hasDigit([]byte(id)) && scanID([]byte(id)) == len(id) { // "4a", "ST-001"
			u = unit{kind: unitNumbered, id: id, title: cells[at], ok: true}
		}
		if !u.ok || u.id == "" || u.title == "" || !counts && (all || u.kind >= unitPiece) {
			continue
		}
		r := tableRow{mark: m, unit: u, finished: saysDone(cells[0])}
		for i, cell := range cells {
			name, state := header[min(i, len(header)-1)], strings.Trim(strings.ToLower(cell), "✅✓✔☑ .`*")
			switch is := column(name); {
			case i == 0 || i == at || cell == "" || is == "id":
			case state == "", saysDone("(" + state + ")"), is == "state" && saysDone(cell[:min(len(cell), len("✅"))]):
				r.finished = true
			case is == "key":
				r.keys = append(r.keys, "**"+name+":** "+cell)
			case is == "state" && isState(cell), !strings.ContainsFunc(cell, unicode.IsLetter): // "2026-01-31"
			default:
				r.unit.title += " — " + cell
			}
		}
		r.unit.kind, r.unit.word = unitTask, "task"
		rows = append(rows, r)
	}
	return rows
}

// rowsAsTasks makes tasks of the rows of tables below a heading about a plan, for plans that have nothing else.
func (b *builder) rowsAsTasks() bool {
	rows := b.taskRows(func(m *mark) bool { return m.head == nil || planTitle(plain(m.head.text)) }, false)
	if len(rows) < 2 {
		return false
	}
	for _, r := range rows {
		r.kind, r.level, r.mark.unit = markHeading, deepest, &r.unit
		if r.finished {
			tickHeading(r.mark)
		}
	}
	var marks []*mark
	add := func(m mark) {
		m.end, m.owner, m.unit, m.label = m.line, owner{batch: -1, task: -1}, &b.noUnit, &b.noLabel
		marks = append(marks, &m)
	}
	n, open := 0, false
	for _, m := range b.marks {
		isTask := n < len(rows) && m == rows[n].mark
		if open && !isTask && !m.isRow() {
			open = false
			add(mark{kind: markHeading, level: deepest, line: m.line, head: m.head}) // it ends the last task
		}
		if marks = append(marks, m); isTask {
			for _, key := range rows[n].keys {
				add(mark{kind: markText, line: m.line, head: m, text: []byte(key)})
			}
			n, open = n+1, true
		}
	}
	b.marks, b.fromList = marks, true
	b.report(SeverityInfo, rows[0].line, "list-as-tasks",
		"the plan has neither boxes nor headings that are units of work: %d rows of tables are read as its tasks", len(rows))
	return true
}

// rowsAsBoxes makes tasks of the rows of the tables in the phases of a plan without boxes, and of "| T001 | Title |".
func (b *builder) rowsAsBoxes() bool {
	phase := func(h *mark) bool { return h.unit.ok && (h.unit.kind == unitGroup || h.unit.kind == unitSpan) }
	above := map[*mark]bool{} // headings with a row that has such an id
	for _, m := range b.marks {
		above[m.head] = above[m.head] || m.kind == markText && m.head != nil && bytes.HasPrefix(m.text, []byte("| T")) &&
			scanTNumber(m.text[2:]) > 0
	}
	rows := b.taskRows(func(m *mark) bool { return above[m.head] || m.below(phase) != nil }, true)
	for _, r := range rows {
		r.asBox(r.unit.id, r.unit.title, r.finished)
	}
	return len(rows) > 0
}

// asBox makes a task of a line, as if it had a box.
func (m *mark) asBox(id, title string, finished bool) {
	m.kind, m.unboxed, m.label, m.state = markBox, true, &label{id: id, title: title}, ' '
	if finished {
		m.state = 'x'
	}
}

// namesUnits reports whether the header of a column says that its cells are tasks, phases or similar: "Phases".
func namesUnits(cell string) bool {
	kind, _, _, _ := cutKeyword([]byte(strings.TrimSuffix(strings.ToLower(cell), "s")))
	return kind != unitNone
}

// tasksInFence makes headings of the lines "Task 1: Title" in a fence below a heading about tasks: PRPs list their
// tasks as YAML. The lines below them are items, and "CREATE a.go:" names a file.
func (b *builder) tasksInFence() {
	if slices.ContainsFunc(b.heads, func(m *mark) bool { return m.unit.kind == unitTask || m.unit.kind == unitBatch }) {
		return
	}
	for at, m := range b.marks {
		if m.kind != markFence || m.head == nil || !strings.Contains(strings.ToLower(plain(m.head.text)), "task") {
			continue
		}
		var marks, tasks []*mark
		add := func(o *mark) {
			o.unit, o.label, o.owner = cmp.Or(o.unit, &b.noUnit), &b.noLabel, owner{batch: -1, task: -1}
			o.end = o.line
			marks = append(marks, o)
		}
		for line := m.line + 1; line < m.end; line++ {
			text := b.lineText(line)
			u := parseUnit(text)
			if u.kind == unitTask && u.ok && u.id != "" && isLetter(text[0]) {
				if u.title == "" { // the template has the title on the next line
					u.title = strings.TrimRight(plain(b.lineText(line+1)), " :")
				}
				add(&mark{kind: markHeading, level: deepest, line: line, text: text, unit: &u, head: m.head})
				tasks = append(tasks, marks[len(marks)-1])
			} else if text = bytes.TrimSpace(text); len(text) > 0 && len(tasks) > 0 {
				kind := markText
				if item, found := bytes.CutPrefix(text, []byte("- ")); found {
					text, kind = item, markItem
				}
				verb, rest, _ := strings.Cut(strings.TrimSuffix(string(text), ":"), " ")
				if looksLikePath(rest) {
					text = []byte(verb + ": `" + rest + "`")
				}
				add(&mark{kind: kind, line: line, text: text, head: tasks[len(tasks)-1]})
			}
		}
		if len(tasks) > 1 {
			add(&mark{kind: markHeading, level: deepest, line: m.end, head: m.head}) // it ends the last task
			b.marks = slices.Concat(b.marks[:at], marks, b.marks[at+1:])
			b.heads = append(b.heads, tasks...)
			slices.SortFunc(b.heads, func(x, y *mark) int { return x.line - y.line })
			return
		}
	}
}

// deepest is the level of a unit that is not a heading: any heading ends it.
const deepest = 7

var numberedItem = lazyre.New(`^[ \t\x{feff}]*(\d+)[.)][ \t]`)

// itemNumber returns the number of a list item, -1 in a bulleted list.
func (b *builder) itemNumber(m *mark) int {
	if found := numberedItem.FindSubmatch(b.lineText(m.line)); found != nil {
		return atoi(string(found[1]))
	}
	return -1
}
