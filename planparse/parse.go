package planparse

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"unicode/utf8"
)

// MaxSize is the largest plan that [Parse] reads.
const MaxSize = 16 << 20

// What is not a text plan at all. Everything else is a [Plan], with diagnostics.
var (
	ErrEmpty  = errors.New("the plan is empty")
	ErrBinary = errors.New("the plan is not text")
	ErrTooBig = errors.New("the plan is too big")
)

const noUnits = "no unit of work found: write batches (## Batch 1: Title), tasks (### Task 1: Title), " +
	"numbered boxes (- [ ] 1. Title) or boxes below phase headings"

// Parse reads a plan. The name (a path, as a rule) is used in messages only.
//
// The error is for what is no text plan at all; [ErrEmpty], [ErrBinary] and [ErrTooBig] tell which. Whether
// the plan is fit to run is told by [Plan.Errors].
func Parse(name string, src []byte) (*Plan, error) {
	if err := readable(src); err != nil {
		return nil, fmt.Errorf("read plan %s: %w", name, err)
	}
	sum := sha256.Sum256(src)
	b := newBuilder(name, src)
	b.plan.Digest = hex.EncodeToString(sum[:])
	b.prepare()
	b.build()
	b.fill()
	b.finish()
	return b.plan, nil
}

func readable(src []byte) error {
	switch {
	case len(src) > MaxSize:
		return fmt.Errorf("%w: %d bytes, the limit is %d; split it into several plans", ErrTooBig, len(src), MaxSize)
	case len(bytes.TrimSpace(bytes.TrimPrefix(src, []byte("\uFEFF")))) == 0:
		return fmt.Errorf("%w: write at least one task, for example \"### Task 1: Title\"", ErrEmpty)
	case bytes.IndexByte(src, 0) >= 0:
		return fmt.Errorf("%w: it holds NUL bytes; save it as UTF-8 (UTF-16 is not read)", ErrBinary)
	case !utf8.Valid(src) && garbled(src):
		return fmt.Errorf("%w: it is not UTF-8; save it in that encoding", ErrBinary)
	}
	return nil
}

// garbled reports whether more than one rune in twenty is invalid. A few stray bytes don't keep a plan
// from being read.
func garbled(src []byte) bool {
	bad, all := 0, 0
	for len(src) > 0 {
		r, size := utf8.DecodeRune(src)
		if r == utf8.RuneError && size == 1 {
			bad++
		}
		all++
		src = src[size:]
	}
	return bad*20 > all
}

// builder carries a plan through the stages of Parse: the marks are read, a format is chosen, its rules
// say which mark belongs to which task, and what the marks say is filled in.
type builder struct {
	plan  *Plan
	src   []byte
	front frontMatter
	doc   document
	outline
	owner  []owner // of each mark
	wanted []want  // dependencies, resolved when all batches are known
	listed map[listedKey]bool
	named  []namedFile      // files that the tasks name, in document order
	said   map[saidKey]bool // flags that batches set themselves, so that the header doesn't
	title  int              // index of the mark that is the title, -1 without one
}

type saidKey struct {
	batch int
	flag  string
}

// listedKey keeps a path from being listed twice.
type listedKey struct {
	batchLine  int
	verb, path string
}

// namedFile is a path that a task says it changes.
type namedFile struct {
	batch, task, line int
	verb, path        string
}

// owner is the batch and task that a mark belongs to; -1 is none.
type owner struct {
	batch, task int32
	self        bool // the mark is the box of the task itself
}

func newBuilder(name string, src []byte) *builder {
	b := &builder{plan: &Plan{}, src: src, title: -1, said: map[saidKey]bool{}}
	if bytes.IndexByte(src, '\r') >= 0 && bytes.IndexByte(src, '\n') < 0 {
		src = bytes.ReplaceAll(src, []byte{'\r'}, []byte{'\n'}) // of equal length, so positions hold
	}
	b.src = src
	b.front = cutFrontMatter(src)
	b.doc = readMarkdown(src, b.front.end)
	b.outline = outline{src: src, lines: lineOffsets(src)}
	b.marks = make([]mark, 0, len(b.lines)/2+8)
	b.walk(b.doc.root.FirstChild(), -1)
	b.owner = make([]owner, len(b.marks))
	for i := range b.owner {
		b.owner[i] = owner{-1, -1, false}
	}
	base := path.Base(strings.ReplaceAll(name, `\`, "/"))
	b.plan.Title = strings.TrimSuffix(base, path.Ext(base))
	return b
}

func (b *builder) report(severity Severity, line int, code, format string, args ...any) {
	d := Diagnostic{Severity: severity, Line: line, Code: code, Message: fmt.Sprintf(format, args...)}
	b.plan.Diagnostics = append(b.plan.Diagnostics, d)
}

func (b *builder) warn(line int, code, format string, args ...any) {
	b.report(SeverityWarning, line, code, format, args...)
}

// lineText returns the source of a 1-based line without its end.
func (b *builder) lineText(line int) []byte {
	return bytes.TrimRight(b.between(line, line), "\r\n")
}

// between returns the source of the lines first..last.
func (b *builder) between(first, last int) []byte {
	start, stop := b.span(first, last)
	return b.src[start:stop]
}

// span returns the offsets of the lines first..last, an empty range where there are none.
func (b *builder) span(first, last int) (start, stop int) {
	if first > last || first > len(b.lines) {
		return len(b.src), len(b.src)
	}
	stop = len(b.src)
	if last < len(b.lines) {
		stop = b.lines[last]
	}
	return b.lines[first-1], stop
}

// prepare finds the title, reports what was tolerated in the markdown, and settles which headings open
// units.
func (b *builder) prepare() {
	b.reportMarkdown()
	for _, i := range b.heads {
		if b.marks[i].level == 1 {
			b.title = i
			break
		}
	}
	if b.title < 0 && len(b.heads) > 0 && b.marks[b.heads[0]].unit.kind == unitNone {
		b.title = b.heads[0]
	}
	if b.title >= 0 {
		m := &b.marks[b.title]
		alone := true
		for _, i := range b.heads {
			o := &b.marks[i]
			alone = alone && (i == b.title || o.level != 1 || o.unit.kind != m.unit.kind)
		}
		if alone && m.level == 1 { // "# Phase 3: Generator" over the plan is its title
			m.unit = &unit{}
		}
		if m.unit.kind == unitNone && len(m.text) > 0 {
			b.plan.Title = plain(m.text)
		}
	}
	for _, kind := range []unitKind{unitBatch, unitTask, unitGroup} {
		b.settle(kind)
	}
	b.reportGaps()
}

// reportGaps remarks once that the numbers of batches or tasks skip or go back: it is common (waves,
// deleted tasks), and sometimes a task that got lost.
func (b *builder) reportGaps() {
	for _, kind := range []unitKind{unitBatch, unitTask} {
		last := -1
		for _, i := range b.heads {
			m := &b.marks[i]
			if !m.unit.ok || m.unit.kind != kind {
				continue
			}
			n := atoi(m.unit.id)
			if last >= 0 && n >= 0 && n != last+1 && n != 1 && n != last {
				b.warn(m.line, "number-gap", "%s %d follows %s %d; they are run in the order of the document", m.unit.word, n, m.unit.word, last)
				break
			}
			if n >= 0 {
				last = n
			}
		}
	}
}

// reportNearMisses names lines that people may take for work and the parser does not.
func (b *builder) reportNearMisses() {
	if b.oddBox > 0 {
		b.report(SeverityInfo, b.oddBox, "unusual-box", "boxes behind another marker than \"-\" are read, but many tools miss them")
	}
	for _, line := range b.hidden {
		b.warn(line, "near-miss-box", "the box is indented by four blanks or more and so is code, not a task")
	}
	for i := range b.marks {
		m := &b.marks[i]
		if m.kind != markText {
			continue
		}
		if rest, ok := bytes.CutPrefix(m.text, []byte("-")); ok && len(rest) > 2 && rest[0] == '[' {
			if _, _, box := cutBox(rest); box {
				b.warn(m.line, "near-miss-box", "%q is text: put a blank behind the dash to make it a checkbox", m.text)
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
	m := &b.marks[i]
	return m.kind == markBreak || (m.kind == markText && len(bytes.Trim(m.text, "=")) == 0)
}

// settle decides on headings with plain text behind the id. Next to well-formed ones they are notes ("Task
// 3 progress note"); where there are no others, the author just never writes a separator.
func (b *builder) settle(kind unitKind) {
	var good, bare []int
	for _, i := range b.heads {
		switch u := b.marks[i].unit; {
		case u.kind != kind:
		case u.ok:
			good = append(good, i)
		case !aboutUnit(u.title):
			bare = append(bare, i)
		case kind == unitTask:
			b.report(SeverityInfo, b.marks[i].line, "near-miss-heading", "%q is read as a note about %s %s", b.marks[i].text, u.word, u.id)
		}
	}
	for _, i := range bare {
		m := &b.marks[i]
		if len(good) == 0 {
			m.unit.ok = true
			b.warn(m.line, "missing-separator", "%q has no colon behind its number; read as %s %s", m.text, m.unit.word, m.unit.id)
			continue
		}
		severity := SeverityInfo
		if kind == unitTask {
			severity = SeverityWarning
		}
		b.report(severity, m.line, "near-miss-heading", "%q is not read as a %s: put a colon behind the number to make it one",
			m.text, m.unit.word)
	}
}

// aboutUnit reports whether the text behind an id says that the heading is about the unit, not the unit.
func aboutUnit(title string) bool {
	word, _, _ := strings.Cut(strings.ToLower(title), " ")
	switch strings.Trim(word, ":.,") {
	case "gate", "quality", "summary", "progress", "dependencies", "notes", "note", "complete", "completion",
		"results", "checklist", "review", "status", "details", "overview", "order", "done":
		return true
	}
	return false
}

func (b *builder) reportMarkdown() {
	b.reportNearMisses()
	for _, f := range b.doc.fences {
		line := b.lineOf(f.open)
		switch {
		case f.closed == 0 && !f.strict && f.last > 0 && b.runsOut(f):
			b.warn(line, "unclosed-fence", "the fence is never closed; everything below it is read as its content")
		case f.early > 0:
			b.warn(line, "broken-fence", "the fence holds another one: CommonMark ends it at line %d, it is read up to line %d; "+
				"open and close it with one backtick more", b.lineOf(f.early), b.lineOf(f.closed))
		case f.strict:
			b.warn(line, "broken-fence", "the fences inside this one don't pair up; read as CommonMark does")
		}
	}
	if c := b.doc.comment; c != nil {
		b.warn(b.lineOf(c.Lines().At(0).Start), "unclosed-comment", "the comment is never closed; everything below it is left out")
	}
}

// runsOut reports whether the unclosed fence reaches the end of the file (and not just of its list item).
func (b *builder) runsOut(f *fence) bool {
	return len(bytes.TrimSpace(b.between(b.lineOf(f.last)+1, len(b.lines)))) == 0
}

// finish computes what needs the whole plan.
func (b *builder) finish() {
	b.closeRanges()
	b.assignKeys()
	b.resolveDependencies()
	b.count()
	b.preamble()
	if len(b.plan.Batches) == 0 {
		b.report(SeverityError, 1, "no-units", noUnits)
	}
	p := b.plan
	slices.SortStableFunc(p.Diagnostics, func(x, y Diagnostic) int { return cmp.Compare(x.Line, y.Line) })
	p.Groups, p.Batches = filled(p.Groups), filled(p.Batches)
	p.Unassigned, p.Diagnostics = filled(p.Unassigned), filled(p.Diagnostics)
	for i := range p.Batches {
		batch := &p.Batches[i]
		batch.Tasks, batch.Commands = filled(batch.Tasks), filled(batch.Commands)
		batch.ContextRefs, batch.DependsOn = filled(batch.ContextRefs), filled(batch.DependsOn)
		f := &batch.Files
		f.Create, f.Modify, f.Test, f.Delete = filled(f.Create), filled(f.Modify), filled(f.Test), filled(f.Delete)
		for j := range batch.Tasks {
			batch.Tasks[j].Steps = filled(batch.Tasks[j].Steps)
		}
	}
}

// filled makes a nil slice empty: lists are never null in JSON.
func filled[T any](s []T) []T {
	if s == nil {
		return []T{}
	}
	return s
}

// closeRanges settles where batches and tasks end, and takes their text.
func (b *builder) closeRanges() {
	text := string(b.src) // one copy that all batches share
	for i := range b.plan.Batches {
		batch := &b.plan.Batches[i]
		if batch.StartLine == 0 {
			continue
		}
		batch.EndLine = b.trimEnd(batch.StartLine, batch.EndLine)
		for j := range batch.Tasks {
			t := &batch.Tasks[j]
			t.EndLine = b.trimEnd(t.Line, min(t.EndLine, batch.EndLine))
		}
		start, _ := b.span(batch.StartLine+1, batch.EndLine)
		_, stop := b.span(batch.StartLine, batch.EndLine)
		body := text[min(start, stop):stop]
		batch.Text = body
		// a checkbox or an element says what to do by itself, a heading doesn't
		byItself := b.plan.Format == FormatGSD || len(batch.Tasks) > 0 && batch.Tasks[0].Box
		batch.Empty = len(strings.TrimSpace(body)) == 0 && !byItself
		sum := sha256.Sum256(b.between(batch.StartLine, batch.EndLine))
		batch.Digest = hex.EncodeToString(sum[:])
	}
}

// trimEnd drops blank lines and rules from the end of a range.
func (b *builder) trimEnd(first, last int) int {
	last = min(last, len(b.lines))
	for last > first {
		line := bytes.TrimSpace(b.lineText(last))
		if len(line) > 0 && (len(line) < 3 || len(bytes.Trim(line, "-")) > 0) {
			break
		}
		last--
	}
	return max(first, last)
}

func (b *builder) count() {
	c := &b.plan.Counts
	c.Groups, c.Batches = len(b.plan.Groups), len(b.plan.Batches)
	for i := range b.plan.Batches {
		c.Tasks += len(b.plan.Batches[i].Tasks)
	}
	for i := range b.marks {
		m := &b.marks[i]
		switch m.kind {
		case markBox:
			c.Checkboxes++
			if done(m.state) {
				c.Checked++
			}
		}
		if m.step {
			c.StepMarkers++
		}
	}
}

// marker reports whether the mark is a step marker: "### Step N" or "**Step N".
func (m *mark) marker() bool {
	switch m.kind {
	case markHeading:
		return m.unit.kind == unitStep && m.unit.id != "" && isDigit(m.unit.id[0])
	case markBox, markItem, markText:
		return isMarker(m.text)
	}
	return false
}

// preamble keeps what stands between the title and the first unit of work.
func (b *builder) preamble() {
	first := len(b.lines) + 1
	for _, batch := range b.plan.Batches {
		if batch.StartLine > 0 {
			first = min(first, batch.StartLine)
		}
	}
	for _, g := range b.plan.Groups {
		first = min(first, g.StartLine)
	}
	start := b.lineOf(min(b.front.end, len(b.src)-1))
	if b.title >= 0 && b.marks[b.title].line < first {
		start = b.marks[b.title].line + 1
	}
	b.plan.Preamble = string(bytes.TrimSpace(b.between(start, first-1)))
}
