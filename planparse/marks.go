package planparse

import (
	"bytes"
	"cmp"
	"slices"
	"strings"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/text"

	"github.com/runplan/runplan/internal/lazyre"
	"github.com/runplan/runplan/internal/yamldoc"
)

// A mark is one element of the grammar of plans: a heading, a list item, a checkbox, a line of text or a fence, in
// document order. All formats are rules over this stream.
type mark struct {
	kind   markKind
	line   int
	end    int   // last line; for a fence the line of its closer
	level  int   // of a heading
	parent *mark // the list item that contains the mark, nil outside of lists
	owner  owner
	text   []byte // text of the line after "#", list marker and box
	state  byte   // of a box
	step   bool   // it is a step marker: "### Step 1" or "**Step 1"
	unit   *unit  // of a heading; empty for all else, never nil
	label  *label // of a box; empty for all else, never nil
	fence  *fence

	head    *mark // the heading that the mark is below, nil before the first one
	section *mark // the heading of its section, in formats with sections; see [sections]
	nested  bool  // a box below another box, or above one
	unboxed bool  // a row of a table or an item that is read as a box; it has no box to tick
}

type markKind uint8

const (
	markHeading markKind = iota
	markBox
	markRepeat // a box that repeats another one; see [builder.repeats]
	markItem
	markText
	markFence
	markBreak // "---"
)

// outline turns the block tree into marks.
type outline struct {
	src   []byte
	doc   document
	lines []int // offset of each line
	line  int   // cursor: marks come in document order, so a line is found without a search
	marks []*mark
	boxes int
	heads []*mark // the headings among the marks

	oddBox      int   // line of the first box after another marker than "-"
	hidden      []int // lines that look like work, but are in indented code
	hiddenHeads []int // lines that look like headings of units, but are in indented code
	odd         []int // rows of tables with an open box that are not tasks
	noUnit      unit
	noLabel     label
}

func lineOffsets(src []byte) []int {
	lines := make([]int, 1, 16+len(src)/32)
	for line := range bytes.Lines(src) {
		lines = append(lines, lines[len(lines)-1]+len(line))
	}
	return lines[:max(1, len(lines)-1)] // nothing begins at the end
}

// lineOf returns the 1-based line that holds the offset.
func (o *outline) lineOf(offset int) int {
	for o.line > 0 && o.lines[o.line] > offset {
		o.line--
	}
	for o.line+1 < len(o.lines) && o.lines[o.line+1] <= offset {
		o.line++
	}
	return o.line + 1
}

func (o *outline) add(m *mark) *mark {
	m.end = cmp.Or(m.end, m.line)
	m.unit = cmp.Or(m.unit, &o.noUnit)
	m.label = cmp.Or(m.label, &o.noLabel)
	m.owner = owner{batch: -1, task: -1}
	m.step = m.marker()
	if n := len(o.heads); n > 0 {
		m.head = o.heads[n-1]
	}
	if m.kind == markHeading {
		for m.head != nil && m.head.level >= m.level {
			m.head = m.head.head
		}
		o.heads = append(o.heads, m)
	}
	if outer := m.outerBox(); m.kind == markBox && outer != nil {
		m.nested, outer.nested = true, true
	}
	o.marks = append(o.marks, m)
	return m
}

// isRow reports whether the mark is a line of a table.
func (m *mark) isRow() bool { return m.kind == markText && bytes.HasPrefix(m.text, []byte("|")) }

// outerBox returns the nearest box that the mark is nested in, nil without one.
func (m *mark) outerBox() *mark {
	for m = m.parent; m != nil && m.kind != markBox; m = m.parent {
	}
	return m
}

// below returns the innermost heading above the mark for which is is true, nil if there is none.
func (m *mark) below(is func(heading *mark) bool) *mark {
	for m = m.head; m != nil && !is(m); m = m.head {
	}
	return m
}

// walk adds the marks of n and of the siblings after it; item is their list item.
func (o *outline) walk(n ast.Node, item *mark) {
	for ; n != nil; n = n.NextSibling() {
		switch n := n.(type) {
		case *ast.Heading:
			o.heading(n, item)
		case *ast.List:
			for c := n.FirstChild(); c != nil; c = c.NextSibling() {
				o.item(c, item, n.Marker)
			}
		case *fence:
			o.fence(n, item)
		case *ast.Paragraph:
			lines := o.doc.linesOf(n)
			for i := range lines.Len() {
				o.textLine(lines.At(i).Start, lines.At(i).Stop, item)
			}
		case *ast.CodeBlock:
			o.code(n)
		case *ast.ThematicBreak:
			o.add(&mark{kind: markBreak, line: o.lineOf(n.Pos()), parent: item})
		}
		// Quotes, indented code and comments are not part of the plan.
	}
}

// code looks for boxes in indented code. They are not tasks, but their author should know.
func (o *outline) code(n *ast.CodeBlock) {
	for i := range n.Lines().Len() {
		seg := n.Lines().At(i)
		line := bytes.TrimSpace(o.src[seg.Start:seg.Stop])
		if bytes.HasPrefix(line, []byte("#")) {
			// a heading after a tab, not a comment in code
			u := parseUnit(bytes.TrimLeft(line, "# "))
			if n.Lines().Len() == 1 && bytes.HasPrefix(line, []byte("## ")) || u.ok && (u.kind == unitBatch ||
				u.kind == unitTask || u.kind == unitGroup || u.kind == unitNumbered && bytes.HasPrefix(line, []byte("##"))) {
				o.hiddenHeads = append(o.hiddenHeads, o.lineOf(seg.Start))
			}
		}
		text, ok := bytes.CutPrefix(line, []byte("- "))
		if !ok {
			continue
		}
		if _, _, ok := cutBox(text); ok {
			o.hidden = append(o.hidden, o.lineOf(seg.Start))
		}
	}
}

func (o *outline) heading(n *ast.Heading, item *mark) {
	m := &mark{kind: markHeading, level: n.Level, parent: item}
	if lines := o.doc.linesOf(n); lines.Len() > 0 {
		seg := lines.At(0)
		m.text, m.line = unlink(bytes.TrimSpace(o.src[seg.Start:seg.Stop])), o.lineOf(seg.Start)
		m.unit = new(parseUnit(m.text))
		if whole := bytes.HasPrefix(m.text, []byte("~~")); whole && m.unit.title != "" { // "### ~~Task 1: Title~~"
			m.unit.title = "~~" + m.unit.title
		}
		if strings.HasPrefix(m.unit.title, "~~") {
			tickHeading(m)
		}
	} else {
		m.line = o.lineOf(max(0, n.Pos()))
	}
	o.add(m)
}

// unlink returns the text of a heading that begins with a link: "[Phase 1: Setup](phase-1.md)".
func unlink(text []byte) []byte {
	if m := linkAhead.FindSubmatch(text); m != nil {
		return slices.Concat(m[1], m[2])
	}
	return text
}

var linkAhead = lazyre.New(`^\[([^\]]*)\]\([^)]*\)(.*)$`)

func (o *outline) textLine(start, stop int, item *mark) {
	text := bytes.TrimSpace(o.src[start:stop])
	m := &mark{kind: markText, line: o.lineOf(start), parent: item, text: text}
	switch {
	case len(text) == 0:
	case text[0] == '|':
		if state, rest, boxes, ok := cutRow(text); ok {
			l := parseLabel(rest)
			m.kind, m.state, m.text, m.label = markBox, state, rest, &l
			o.boxes++
		} else if boxes > 0 {
			o.odd = append(o.odd, m.line)
		}
	case isDigit(text[0]): // "2. [ ] Title" right below text is text to CommonMark
		if found := countedBox.FindSubmatch(text); found != nil {
			o.entry(found[1], m.line, item, '1')
			return
		}
	}
	o.add(m)
}

var countedBox = lazyre.New(`^\d+[.)] +(\[.*)`)

func (o *outline) item(n ast.Node, item *mark, bullet byte) {
	first := n.FirstChild()
	var lines *text.Segments
	if first, ok := first.(*ast.Paragraph); ok {
		lines = o.doc.linesOf(first)
	}
	if lines == nil || lines.Len() == 0 {
		o.walk(first, o.add(&mark{kind: markItem, parent: item, line: o.lineOf(max(0, n.Pos()))}))
		return
	}
	seg := lines.At(0)
	self := o.entry(bytes.TrimSpace(o.src[seg.Start:seg.Stop]), o.lineOf(seg.Start), item, bullet)
	for i := 1; i < lines.Len(); i++ {
		seg := lines.At(i)
		// CommonMark treats a bullet that is indented by four more spaces as a continuation of the sentence above
		if text := bytes.TrimSpace(o.src[seg.Start:seg.Stop]); len(text) > 2 &&
			bytes.IndexByte([]byte("-*+"), text[0]) >= 0 && text[1] == ' ' {
			o.entry(bytes.TrimSpace(text[1:]), o.lineOf(seg.Start), self, text[0])
			continue
		}
		o.textLine(seg.Start, seg.Stop, self)
	}
	o.walk(first.NextSibling(), self)
}

// entry adds the first line of a list item, which may be a checkbox.
func (o *outline) entry(text []byte, line int, item *mark, bullet byte) *mark {
	m := &mark{kind: markItem, parent: item, line: line, text: text}
	if state, rest, ok := cutBox(text); ok {
		l := parseLabel(rest)
		m.kind, m.state, m.text, m.label = markBox, state, rest, &l
		o.boxes++
		if bullet != '-' && o.oddBox == 0 {
			o.oddBox = line
		}
	}
	return o.add(m)
}

func (o *outline) fence(n *fence, item *mark) {
	m := &mark{kind: markFence, line: o.lineOf(n.open), parent: item, fence: n, text: n.info}
	m.end = m.line
	if n.closed > 0 {
		m.end = o.lineOf(n.closed)
	} else if n.last > n.open {
		m.end = o.lineOf(n.last)
	}
	o.add(m)
	if lang, _, _ := bytes.Cut(n.info, []byte(" ")); slices.Contains([]string{"yaml", "yml"}, string(lang)) {
		o.fenceKeys(m)
	}
}

// fenceKeys adds the lines that a fence with the keys of a task stands for: "file: a.py", "action: create", "command:
// pytest".
func (o *outline) fenceKeys(m *mark) {
	var keys struct {
		File     string `yaml:"file"`
		Action   string `yaml:"action"`
		Command  string `yaml:"command"`
		Expected string `yaml:"expected"`
	}
	action := ""
	if yamldoc.Unmarshal([]byte(o.fenceText(m.fence)), &keys) == nil {
		action = strings.ToLower(keys.Action)
	}
	if keys.File == "" || fileVerb(action) == "" {
		return
	}
	for _, line := range [][2]string{{action, keys.File}, {"run", keys.Command}, {"expected", keys.Expected}} {
		if line[1] != "" && !strings.ContainsAny(line[1], "`\n") {
			o.add(&mark{kind: markText, line: m.line, end: m.end, parent: m.parent,
				text: []byte(line[0] + ": `" + line[1] + "`")})
		}
	}
}

// fenceText returns the content of a fence as CommonMark gives it, with Unix line ends: the input of a shell or a
// patch program must not depend on how the plan was checked out.
func (o *outline) fenceText(f *fence) string {
	var b strings.Builder
	for i := range f.Lines().Len() {
		seg := f.Lines().At(i)
		b.Write(seg.Value(o.src))
	}
	return strings.ReplaceAll(b.String(), "\r\n", "\n")
}

// around keeps the open headings that contain a heading of this level, the outermost first.
func around(open []*mark, level int) []*mark {
	for len(open) > 0 && open[len(open)-1].level >= level {
		open = open[:len(open)-1]
	}
	return open
}
