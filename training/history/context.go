package history

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/runplan/runplan/internal/fence"
	"github.com/runplan/runplan/knowledge/outline"
	"github.com/runplan/runplan/knowledge/retrieve"
	"github.com/runplan/runplan/training/edits"
)

// Limits for showing a changed file.
const (
	wholeLines  = 250 // a file up to this length is shown whole
	symbolLines = 120 // a symbol up to this length is shown whole
	beside      = 3   // context lines around a quote
)

// context builds the ideal retrieval result for a change: the changed lines, and the signatures of what the changed
// code uses.
func (m *maker) context(w *work, answers []edits.Answer) (retrieve.Package, []*source, string) {
	p := retrieve.Package{Task: w.Hash, Budget: m.Budget.Retrieval()}
	var texts []*source
	for i, c := range w.changes {
		if c.before == nil {
			continue
		}
		texts = append(texts, c.before)
		for _, part := range m.shown(c, answers[i]) {
			if part.Altered {
				return p, nil, "a file has characters that no prompt shows"
			}
			p.Parts = append(p.Parts, part)
		}
	}
	must := len(p.Parts)
	for _, d := range w.deps {
		texts = append(texts, d.source)
		for _, u := range d.uses {
			for _, i := range d.find(u) {
				if x := &d.symbols[i]; x.short == u && x.piece {
					p.Parts = append(p.Parts, m.described(d.source, x, d.tier))
				}
			}
		}
	}
	p = p.Trimmed(p.Budget, m.Budget)
	kept := 0
	for _, part := range p.Parts {
		if part.Detail == retrieve.Primary {
			kept++
		}
	}
	if kept < must {
		return p, nil, "what changes has no room in the context"
	}
	paths := p.Paths()
	texts = slices.DeleteFunc(texts, func(s *source) bool { return !slices.Contains(paths, s.path) })
	return p, texts, ""
}

// edits returns the edits with which a model would make the change.
func (c *change) edits() (edits.Answer, error) {
	e := edits.Change{Path: c.path, Made: c.before == nil, Deleted: c.after == nil, Hunks: c.hunks}
	if c.before != nil {
		e.Before = c.before.ended
	}
	if c.after != nil {
		e.After = c.after.ended
	}
	return e.Write()
}

// lineSpan is a range of lines, counted from 1.
type lineSpan struct {
	from, to int
	symbol   *symbol // the symbol in this range
}

// shown returns the changed parts of a file, and all lines that the edits quote with some context.
func (m *maker) shown(c *change, answer edits.Answer) []retrieve.Part {
	s := c.before
	if len(s.lines) <= wholeLines {
		return []retrieve.Part{m.whole(s, lineSpan{1, len(s.lines), nil})}
	}
	var spans []lineSpan
	for _, b := range answer.Blocks {
		spans = append(spans, lineSpan{max(1, b.From+1-beside), min(len(s.lines), b.To+beside), nil})
	}
	for _, i := range c.touched {
		if x := &s.symbols[i]; x.end-x.start < symbolLines {
			spans = append(spans, lineSpan{outline.Above(s.lines, x.start), x.end, x})
		}
	}
	if len(spans) == 0 { // the file is deleted
		spans = append(spans, lineSpan{1, 40, nil})
	}
	slices.SortStableFunc(spans, func(a, b lineSpan) int { return cmp.Or(cmp.Compare(a.from, b.from), cmp.Compare(b.to, a.to)) })
	merged := spans[:1]
	for _, x := range spans[1:] {
		last := &merged[len(merged)-1]
		switch {
		case x.from > last.to+2:
			merged = append(merged, x)
		case x.to > last.to || x.from == last.from && x.to == last.to && last.symbol == nil:
			same := x.from == last.from && x.to == last.to
			if last.to = max(last.to, x.to); same || last.from == x.from {
				last.symbol = x.symbol
			} else {
				last.symbol = nil
			}
		}
	}
	var out []retrieve.Part
	for _, x := range merged {
		out = append(out, m.whole(s, x))
	}
	return out
}

// whole shows lines as they are in a file.
func (m *maker) whole(s *source, x lineSpan) retrieve.Part {
	raw := s.span(x.from, x.to)
	p := retrieve.Part{Path: s.path, Kind: "file", Start: x.from, End: min(x.to, len(s.lines)), Tier: 1, Detail: retrieve.Primary, Whole: true, Why: "it changes"}
	if x.symbol != nil {
		p.Symbol, p.Kind = x.symbol.name, string(x.symbol.kind)
	}
	if p.Text = fence.Clean(raw); p.Text != raw { // compare with the original text
		p.Text = m.sentry.hide(p.Text)
	}
	p.Altered = p.Text != raw
	p.Tokens = m.Budget.Of(p.String())
	return p
}

// described shows a symbol by signature and documentation, and a class with the signatures of its members.
func (m *maker) described(s *source, x *symbol, tier int) retrieve.Part {
	text := cmp.Or(x.signature, string(x.kind)+" "+x.name)
	if doc := strings.TrimSpace(x.doc); doc != "" {
		text += "\n" + indented(doc)
	}
	if x.kind == outline.Class {
		var members []string
		for i := range s.symbols {
			if y := &s.symbols[i]; y.start > x.start && y.end <= x.end {
				members = append(members, fmt.Sprintf("%s  (line %d)", cut(cmp.Or(y.signature, string(y.kind)+" "+y.short), 200), y.start))
			}
		}
		if len(members) > 0 {
			text += "\n" + indented(strings.Join(members, "\n"))
		}
	}
	p := retrieve.Part{
		Path: s.path, Symbol: x.name, Kind: string(x.kind), Start: x.start, End: x.end, Tier: tier, Detail: retrieve.Supporting, Why: "the change uses it",
		Text: m.sentry.hide(fence.Clean(text)),
	}
	p.Tokens = m.Budget.Of(p.String())
	return p
}

func indented(text string) string {
	lines := strings.Split(text, "\n")
	for i, l := range lines {
		if strings.TrimSpace(l) != "" {
			lines[i] = "    " + l
		}
	}
	return strings.Join(lines, "\n")
}
