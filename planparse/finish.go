package planparse

import (
	"bytes"
	"cmp"
	"slices"
	"strings"

	"github.com/runplan/runplan/internal/checksum"
	"github.com/runplan/runplan/internal/lists"
)

// finish computes the data that depend on the whole plan.
func (b *builder) finish() {
	b.closeRanges()
	b.assignKeys()
	b.resolveDependencies()
	b.checkpoints()
	b.count()
	b.intros(b.preamble())
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

// closeRanges determines where batches and tasks end, and takes their text.
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
		batch.Text = body + b.checklist(i)
		// checkboxes, elements and list items are instructions without a body; headings are not
		byItself := b.plan.Format == FormatGSD || b.fromList || len(batch.Tasks) > 0 && batch.Tasks[0].Box
		batch.Empty = len(strings.TrimSpace(body)) == 0 && !byItself
		batch.Digest = checksum.SHA256(b.between(batch.StartLine, batch.EndLine))
	}
}

// checklist returns the boxes of a batch that are in a list outside of the batch, because its brief would not contain
// them otherwise.
func (b *builder) checklist(i int) (list string) {
	batch := &b.plan.Batches[i]
	for _, f := range b.repeated {
		if line := f.box.line; f.more && batch.StartLine <= f.of.line && f.of.line <= batch.EndLine && line > batch.EndLine {
			list += "\n" + string(b.lineText(line))
			b.reads(line, line, i, "lists the steps of the batch")
		}
	}
	return list
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
	for _, m := range b.marks {
		if m.kind == markBox && !m.unboxed || m.kind == markRepeat {
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
	case markBox, markItem, markText, markRepeat:
		return isMarker(m.text)
	}
	return false
}

// preamble takes the text between the title and the first unit of work. It returns the line of that unit.
func (b *builder) preamble() (first int) {
	first = len(b.lines) + 1
	start := b.lineOf(min(b.front.end, len(b.src)-1))
	for _, batch := range b.plan.Batches {
		// after the todos of a front matter, everything is preamble
		if batch.StartLine > 0 && (batch.StartLine >= start || b.front.line == 0) {
			first = min(first, batch.StartLine)
		}
	}
	for _, g := range b.plan.Groups {
		if g.StartLine >= start { // a wave in the front matter has priority over the text
			first = min(first, g.StartLine)
		}
	}
	if b.title != nil && b.title.line < first {
		start = b.title.line + 1
	}
	b.plan.Preamble = string(bytes.TrimSpace(b.between(start, first-1)))
	b.reads(start, first-1, -1, "before the first unit of work")
	for at, m := range b.heads { // a story of BMAD explains its tasks below them
		if m.line < first || m.owner.batch >= 0 || !strings.EqualFold(plain(m.text), "dev notes") {
			continue
		}
		end := len(b.lines)
		if next := lists.First(b.heads[at+1:], func(n *mark) bool { return n.level <= m.level }); next != nil {
			end = next.line - 1
		}
		b.plan.Preamble += "\n\n" + string(bytes.TrimSpace(b.between(m.line, end)))
		b.reads(m.line, end, -1, "the notes for all tasks")
	}
	if b.title != nil {
		b.reads(b.title.line, b.title.line, -1, "the title")
	}
	if b.front.line > 0 {
		b.reads(1, b.lineOf(b.front.end-1), -2, "front matter")
	}
	for i := range b.plan.Batches {
		if batch := &b.plan.Batches[i]; batch.StartLine > 0 {
			b.reads(batch.StartLine, batch.EndLine, i, "of the batch")
		}
	}
	for _, g := range b.plan.Groups {
		b.reads(g.StartLine, g.StartLine, -2, "the heading of a group")
	}
	return first
}
