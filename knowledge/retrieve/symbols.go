package retrieve

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/runplan/runplan/internal/lazyre"
	"github.com/runplan/runplan/internal/lists"
	"github.com/runplan/runplan/internal/phrase"
	"github.com/runplan/runplan/internal/store"
	"github.com/runplan/runplan/knowledge/chunks"
	"github.com/runplan/runplan/knowledge/outline"
)

// symbol is a definition with its signals.
type symbol struct {
	id        int64  // id in the index; 0: the file changed since
	name      string // with its class: Runner.run
	short     string
	kind      string
	signature string
	doc       string
	start     int
	end       int
	parent    int // index of the enclosing symbol in the file; -1: none
	rationale []string

	score int
	why   []reason // strongest first
	text  int      // search score of its lines
}

// reason is a signal for a symbol, in words.
type reason struct {
	weight int
	text   string
}

// content is the present content of a file.
type content struct {
	*source
	symbols []symbol
	head    chunks.Span // lines with the imports
	fresh   bool        // outlined again, because the index is older
	unread  bool        // it could not be outlined
}

// content reads a file and its symbols. If the file changed since it was indexed, the stored lines are wrong, so it is
// outlined again.
func (p *pass) content(ctx context.Context, f File) (*content, error) {
	if c := p.contents[f.Path]; c != nil {
		return c, nil
	}
	c := &content{source: p.tree.source(f.Path)}
	p.contents[f.Path] = c
	if c.bad != "" {
		return c, nil
	}
	defer func() {
		if !c.unread {
			c.addBlocks()
		}
		p.rankSymbols(c)
	}()
	if f.ID != 0 && f.Hash == c.hash {
		return c, p.known(ctx, f, c)
	}
	o, err := p.tree.outline(ctx, c.source)
	switch {
	case errors.Is(err, errNoOutline):
		c.unread = true
		p.note("%s: %v; it is shown whole or not at all", f.Path, err)
		return c, nil
	case err != nil:
		return nil, err
	}
	c.fresh = f.ID != 0
	if c.fresh {
		p.note("%s changed since the index; it was outlined again", f.Path)
	}
	c.take(o)
	return c, p.match(ctx, f, c)
}

// addBlocks makes pieces of the lines outside of symbols: top-level statements, test cases, and the rest of a long
// class besides its methods. The head of a file is not a piece, because it is added separately.
func (c *content) addBlocks() {
	c.head = chunks.Head(c.lines)
	if len(c.symbols) == 0 && len(c.lines) <= shortFile {
		return // the file is a single piece
	}
	layout := chunks.LayOut(c.path, c.lines)
	c.complete(layout)
	covered := make([]bool, len(c.lines)+2)
	holds := map[int]bool{} // symbols with nested symbols, which are shown one by one
	for i := range c.symbols {
		if up := c.symbols[i].parent; up >= 0 && c.choosable(i) {
			holds[up] = true
		}
	}
	for i, s := range c.symbols {
		if holds[i] && s.end-s.start >= longSymbol {
			continue
		}
		if s.parent >= 0 && !c.choosable(i) && !isWithin(c, i) {
			continue
		}
		from, to := c.clip(chunks.Above(c.lines, s.start), s.end)
		for n := from; n <= to; n++ {
			covered[n] = true
		}
	}
	for n := 1; n <= c.head.End && n < len(covered); n++ {
		covered[n] = true
	}
	var spans []chunks.Span
	for _, span := range layout.Chunks() {
		for from := span.Start; from <= span.End; {
			if covered[from] {
				from++
				continue
			}
			to := from
			for to < span.End && !covered[to+1] {
				to++
			}
			spans = append(spans, chunks.Span{Start: from, End: to})
			from = to + 1
		}
	}
	blocks := c.blocksOf(layout, spans)
	if len(blocks) == 0 {
		return
	}
	n := len(c.symbols)
	all := append(slices.Clone(c.symbols), blocks...)
	order := lists.Order(all, func(a, b symbol) int { return cmp.Compare(a.start, b.start) })
	at := make([]int, len(all))
	for i, j := range order {
		at[j] = i
	}
	c.symbols = c.symbols[:0:0]
	for _, j := range order {
		s := all[j]
		if s.parent >= 0 && j < n {
			s.parent = at[s.parent]
		}
		c.symbols = append(c.symbols, s)
	}
}

// complete gives symbols the lines of the statement that they begin: "const a = 1," and the line of b after it are one
// piece.
func (c *content) complete(layout *chunks.Layout) {
	for _, s := range slices.Clone(c.symbols) {
		if whole, _ := layout.Whole(chunks.Span{Start: s.start, End: s.end}); s.parent < 0 && whole.End > s.end {
			c.spread(whole)
		}
	}
}

// spread gives the lines of a statement to all symbols in it, and reports whether there are any.
func (c *content) spread(whole chunks.Span) (found bool) {
	for i := range c.symbols {
		if s := &c.symbols[i]; s.parent < 0 && s.start >= whole.Start && s.end <= whole.End {
			s.start, s.end, found = whole.Start, whole.End, true
		}
	}
	return found
}

var groupRE = lazyre.New(`^(?:const|var|type) \($`)

// blocksOf makes pieces of spans outside of symbols, which are extended to the end of what they open. A group of
// declarations of Go is the piece of each of its names. Last lines that open
// what is too long are not part of a piece.
func (c *content) blocksOf(layout *chunks.Layout, spans []chunks.Span) []symbol {
	var out []symbol
	end := 0
	for _, s := range spans {
		if s.Start = max(s.Start, end+1); s.Start > s.End {
			continue // part of the block before it
		}
		whole, closed := layout.Whole(s)
		if group := (chunks.Span{Start: s.End, End: whole.End}); whole.End > s.End &&
			groupRE.MatchString(strings.TrimSpace(c.lines[s.End-1])) && c.spread(group) {
			whole.End = s.End - 1
			end = group.End
		} else {
			end = whole.End
		}
		for !closed && whole.End >= whole.Start {
			if w, ok := layout.Whole(chunks.Span{Start: whole.End, End: whole.End}); ok && w.End == whole.End {
				break
			}
			whole.End--
		}
		if b, ok := c.block(layout, whole.Start, whole.End); ok {
			out = append(out, b)
		}
	}
	return out
}

// isWithin reports whether a symbol is shown as part of an enclosing one.
func isWithin(c *content, i int) bool { return c.symbols[i].kind != string(outline.Variable) }

// shortFile is the highest number of lines of a file without symbols that is a single piece.
const shortFile = 60

// longSymbol is the number of lines from which a class is judged by its parts.
const longSymbol = 40

// block makes a piece of lines outside of symbols. Lines with only brackets or comments are not a piece.
func (c *content) block(layout *chunks.Layout, from, to int) (symbol, bool) {
	title := ""
	for n := from; n <= to && title == ""; n++ {
		line := strings.TrimSpace(c.lines[n-1])
		if strings.TrimLeft(line, "})];, \t") != "" && !layout.Lead(n) && !strings.HasPrefix(line, "//") && !strings.HasPrefix(line, "#") &&
			!strings.HasPrefix(line, "*") && !strings.HasPrefix(line, "/*") &&
			!strings.HasPrefix(line, `"""`) && !strings.HasPrefix(line, "package ") {
			title = phrase.Cut(line, 120)
		}
	}
	for from < to && strings.TrimSpace(c.lines[from-1]) == "" {
		from++
	}
	for to > from && strings.TrimSpace(c.lines[to-1]) == "" {
		to--
	}
	return symbol{name: title, short: title, kind: kindBlock, signature: title, start: from, end: to, parent: -1},
		title != ""
}

// rankSymbols sets the search scores of symbols.
func (p *pass) rankSymbols(c *content) {
	if p.byPath == nil {
		p.byPath = map[string][]int{}
		for i, r := range p.ranked {
			p.byPath[r.Path] = append(p.byPath[r.Path], i)
		}
	}
	for i := range c.symbols {
		s := &c.symbols[i]
		for _, at := range p.byPath[c.path] {
			if r := p.ranked[at]; r.Start <= s.end && s.start <= r.End && r.Score > 0 {
				s.text = max(s.text, int(weightText*r.Score/max(p.ranked[0].Score, 1e-9)))
			}
		}
	}
}

// known takes the symbols from the index.
func (p *pass) known(ctx context.Context, f File, c *content) error {
	symbols, err := p.Base.Symbols(ctx, f.ID, "")
	if err != nil {
		return err
	}
	docs, err := p.Base.Docstrings(ctx, f.ID)
	if err != nil {
		return err
	}
	why, err := p.Base.Rationale(ctx, f.ID)
	if err != nil {
		return err
	}
	at := lists.Index(symbols, func(s store.Symbol) int64 { return s.ID })
	for _, s := range symbols {
		x := symbol{id: s.ID, short: s.Name, kind: s.Kind, signature: s.Signature, start: s.Start, end: s.End, parent: -1}
		if i, ok := at[s.Parent]; ok {
			x.parent = i
		}
		c.symbols = append(c.symbols, x)
	}
	for _, d := range docs {
		if i, ok := at[d.Symbol]; ok {
			c.symbols[i].doc = d.Content
		}
	}
	for _, w := range why {
		if i, ok := at[w.Symbol]; ok {
			c.symbols[i].rationale = append(c.symbols[i].rationale, w.Content)
		}
	}
	c.qualify()
	return nil
}

// take takes the symbols from a new outline.
func (c *content) take(o outline.Outline) {
	for _, s := range o.Symbols {
		c.symbols = append(c.symbols,
			symbol{short: s.Name, kind: string(s.Kind), signature: s.Signature, start: s.Start, end: s.End, parent: s.Parent})
	}
	for _, d := range o.Docs {
		if d.Symbol >= 0 {
			c.symbols[d.Symbol].doc = d.Content
		}
	}
	for _, w := range o.Comments {
		if w.Rationale && w.Symbol >= 0 {
			c.symbols[w.Symbol].rationale = append(c.symbols[w.Symbol].rationale, w.Content)
		}
	}
	c.qualify()
}

var receiverRE = lazyre.New(`^func \(\s*(?:\w+\s+)?\*?(\w+)`)

// qualify sets the full names of symbols. A Go method may be in another file than its type.
func (c *content) qualify() {
	for i := range c.symbols {
		s := &c.symbols[i]
		s.name = s.short
		for up, depth := s.parent, 0; up >= 0 && depth < 20; up, depth = c.symbols[up].parent, depth+1 {
			s.name = c.symbols[up].short + "." + s.name
		}
		if m := receiverRE.FindStringSubmatch(s.signature); s.parent < 0 && m != nil {
			s.name = m[1] + "." + s.name
		}
	}
}

// match assigns the indexed ids to the symbols of a changed file, so that references to them are found.
func (p *pass) match(ctx context.Context, f File, c *content) error {
	if f.ID == 0 {
		return nil
	}
	old := &content{}
	if err := p.known(ctx, f, old); err != nil {
		return err
	}
	for i := range c.symbols {
		for _, o := range old.symbols {
			if s := &c.symbols[i]; s.id == 0 && o.name == s.name && o.kind == s.kind {
				s.id = o.id
			}
		}
	}
	return nil
}

// around returns the innermost symbol at a line.
func (c *content) around(line int) *symbol {
	var best *symbol
	for i := range c.symbols {
		if s := &c.symbols[i]; s.start <= line && line <= s.end && (best == nil || s.end-s.start <= best.end-best.start) &&
			s.kind != string(outline.Variable) {
			best = s
		}
	}
	return best
}

// find returns the symbols with a name, given with or without class.
func (c *content) find(name string) []*symbol {
	var out []*symbol
	for i := range c.symbols {
		if s := &c.symbols[i]; s.name == name || s.short == name || strings.HasSuffix(s.name, "."+name) {
			out = append(out, s)
		}
	}
	return out
}

// choosable reports whether a symbol is a separate piece. Fields, nested functions and one-line members are shown with
// their owner, unless the task is about them.
func (c *content) choosable(i int) bool {
	s := c.symbols[i]
	if s.parent < 0 {
		return true
	}
	up := c.symbols[s.parent]
	if inner := up.kind == string(outline.Function) || up.kind == string(outline.Method); inner && s.score < weightTrace {
		return false
	}
	return s.kind != string(outline.Variable) && (s.start != up.start || s.end != up.end) &&
		up.kind != string(outline.Interface)
}

// say adds a reason with its weight.
func (s *symbol) say(weight int, why string) {
	if !slices.ContainsFunc(s.why, func(r reason) bool { return r.text == why }) {
		s.why = append(s.why, reason{weight, why})
		slices.SortStableFunc(s.why, func(a, b reason) int { return cmp.Compare(b.weight, a.weight) })
		s.score += weight
	}
}
