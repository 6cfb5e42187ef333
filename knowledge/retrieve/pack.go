package retrieve

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/runplan/runplan/internal/fence"
	"github.com/runplan/runplan/internal/language"
	"github.com/runplan/runplan/internal/phrase"
	"github.com/runplan/runplan/knowledge/chunks"
	"github.com/runplan/runplan/knowledge/outline"
)

// Limits for what is shown in part.
const (
	firstLines = 40 // of a file as supporting
	typeLines  = 30 // of a type definition
	fewLines   = 12 // of a file as type context
)

// pack builds a package from the choices. It never exceeds the budget (BUD-02).
func (p *pass) pack(ctx context.Context, s State) (Package, error) {
	pkg := Package{
		Task: p.req.Task, Query: s.Query, Budget: p.req.Budget.Retrieval(),
		Parts: []Part{}, Dropped: []Dropped{}, NotFound: []string{}, Added: []string{}, Notes: []string{},
	}
	choices, err := p.choices(ctx, s)
	if err != nil {
		return pkg, err
	}
	for _, c := range choices {
		if slices.ContainsFunc(choices, func(o Choice) bool { return o.covers(c) }) {
			continue // included in the lines of its class or file
		}
		f := s.file(c.Path)
		in, err := p.content(ctx, f)
		if err != nil {
			return pkg, err
		}
		if in.bad != "" {
			pkg.Dropped = append(pkg.Dropped, Dropped{c.Path, c.Symbol, c.Detail, 0, in.bad})
			continue
		}
		x := p.part(c, in)
		// One piece that uses most of the budget would displace its context.
		if most := pkg.Budget / 2; x.Tokens > most && x.less != nil && x.less.Tokens < x.Tokens {
			pkg.Dropped = append(pkg.Dropped,
				Dropped{x.Path, x.Symbol, x.Detail, x.Tokens, "more than half of the budget by itself: only its outline is shown"})
			x = *x.less
		}
		pkg.Parts = append(pkg.Parts, x)
	}
	pkg.trim(pkg.Budget, p.req.Budget)
	return pkg, p.addHeads(ctx, s, &pkg)
}

// addHeads adds the imports of files that are shown in part, as far as there is room. The files of the most important
// pieces come first.
func (p *pass) addHeads(ctx context.Context, s State, pkg *Package) error {
	parts := slices.Clone(pkg.Parts)
	slices.SortStableFunc(parts, importance)
	seen := map[string]bool{}
	left := pkg.Budget - pkg.Tokens
	for _, x := range parts {
		if seen[x.Path] || !x.Whole {
			continue
		}
		seen[x.Path] = true
		c, err := p.content(ctx, s.file(x.Path))
		if err != nil {
			return err
		}
		if c.bad != "" || c.head.End == 0 {
			continue
		}
		covered := func(n int) bool {
			return slices.ContainsFunc(pkg.Parts,
				func(o Part) bool { return o.Path == x.Path && o.Whole && o.Start <= n && n <= o.End })
		}
		head := c.head
		for head.Start <= head.End && covered(head.Start) {
			head.Start++
		}
		for head.End >= head.Start && covered(head.End) {
			head.End--
		}
		if head.Start > head.End {
			continue
		}
		h := p.lines(Part{Path: x.Path, Kind: kindHead, Start: head.Start, End: head.End, Tier: x.Tier, Detail: TypeContext,
			Why: "the imports of the file"}, c)
		if h.Tokens+1 > left {
			continue
		}
		left -= h.Tokens + 1
		pkg.Parts = append(pkg.Parts, h)
	}
	pkg.trim(pkg.Budget, p.req.Budget)
	return nil
}

// choices returns the choices of precision. If precision did not run, named files are shown whole and others as
// outlines.
func (p *pass) choices(ctx context.Context, s State) ([]Choice, error) {
	if s.Precise {
		return s.Choices, nil
	}
	var out []Choice
	for _, f := range s.Files {
		c, err := p.content(ctx, f)
		if err != nil {
			return nil, err
		}
		choice := outlineChoice(f, c, f.Why)
		if f.Sure {
			choice.Kind, choice.Detail = kindFile, Primary
		}
		out = append(out, choice)
	}
	return out, nil
}

// file returns a file in scope.
func (s State) file(path string) File {
	if i := slices.IndexFunc(s.Files, func(f File) bool { return f.Path == path }); i >= 0 {
		return s.Files[i]
	}
	return File{Path: path}
}

// covers reports whether c shows all lines of o.
func (c Choice) covers(o Choice) bool {
	shown := c.Detail == Primary || c.Detail == o.Detail && c.definition()
	if c.Path != o.Path || !shown || c.Kind == kindOutline {
		return false
	}
	larger := c.End-c.Start > o.End-o.Start
	same := c.End == o.End && c.Start == o.Start && c.Symbol != o.Symbol
	return c.Start <= o.Start && o.End <= c.End && (larger || same && (o.Detail != c.Detail || c.Symbol < o.Symbol))
}

// part builds the part of a choice, with its text.
func (p *pass) part(c Choice, in *content) Part {
	x := Part{Path: c.Path, Symbol: c.Symbol, Kind: c.Kind, Start: c.Start, End: c.End, Tier: c.Tier, Detail: c.Detail,
		Why: c.Why, score: c.Score}
	switch {
	case c.Kind == kindOutline:
		return p.described(x, in.outlined(1, len(in.lines)))
	case c.Kind == kindFile:
		return p.wholeFile(x, in)
	case c.Kind == kindLines || c.Kind == kindBlock || c.Kind == kindHead:
		return p.lines(x, in)
	case c.Detail == Primary:
		x.Start = chunks.Above(in.lines, c.Start)
		less := x
		less.Detail, less.Start = Supporting, c.Start
		less = p.described(less, c.described(in))
		x.less = &less
		return p.lines(x, in)
	case c.definition():
		x.Start = chunks.Above(in.lines, c.Start)
		x.less = new(p.described(x, c.Signature))
		return p.lines(x, in)
	case c.Detail == TypeContext && c.Kind != string(outline.Class):
		return p.described(x, c.Signature)
	}
	return p.described(x, c.described(in))
}

// definition reports whether a choice shows the definition of a type or value.
func (c Choice) definition() bool {
	return c.Detail == TypeContext && isType(c.Kind) && c.End-c.Start < typeLines
}

func isType(kind string) bool {
	return slices.Contains([]outline.Kind{outline.Interface, outline.TypeAlias, outline.Enum, outline.Variable},
		outline.Kind(kind))
}

// wholeFile shows a whole file, or its beginning.
func (p *pass) wholeFile(x Part, in *content) Part {
	n := len(in.lines)
	less := x
	less.Detail = TypeContext
	if len(in.symbols) > 0 {
		less.Kind = kindOutline
		less = p.described(less, in.outlined(1, n))
	} else {
		less.End, less.Cut = min(fewLines, n), fewLines < n
		less = p.lines(less, in)
	}
	switch x.Detail {
	case Supporting:
		x.End, x.Cut = min(firstLines, n), firstLines < n
	case TypeContext:
		return less
	}
	x.less = &less
	return p.lines(x, in)
}

// lines fills a part with lines of its file.
func (p *pass) lines(x Part, in *content) Part {
	x.Start, x.End = in.clip(x.Start, x.End)
	raw := in.span(x.Start, x.End)
	x.Whole, x.Text = true, p.Redact(fence.Hide(fence.Clean(raw)))
	x.Altered = x.Text != raw
	return p.sized(x)
}

// described fills a part with a description.
func (p *pass) described(x Part, text string) Part {
	x.Whole, x.Text = false, p.Redact(fence.Hide(fence.Clean(text)))
	return p.sized(x)
}

func (p *pass) sized(x Part) Part {
	x.Tokens = p.req.Budget.Of(x.String())
	return x
}

// described returns the signature of a symbol with its documentation. For a class it adds the signatures of its
// members.
func (c Choice) described(in *content) string {
	text := cmp.Or(c.Signature, c.Kind+" "+c.Symbol)
	if doc := strings.TrimSpace(c.Doc); doc != "" && c.Detail != TypeContext {
		text += "\n" + Indented(doc)
	}
	if tests := in.assertions(c.Start, c.End); c.Detail == Supporting && language.IsTest(c.Path) && tests != "" {
		text += "\n" + Indented(tests)
	}
	if members := in.outlined(c.Start+1, c.End); c.Kind == string(outline.Class) && members != "" {
		text += "\n" + Indented(members)
	}
	return text
}

// assertions returns the lines of a test that contain assertions.
func (c *content) assertions(from, to int) string {
	const most = 6
	var out []string
	from, to = c.clip(from, to)
	for i := from; i <= to && len(out) < most; i++ {
		if line := strings.TrimSpace(c.lines[i-1]); assertRE.MatchString(line) {
			out = append(out, phrase.Cut(line, 200))
		}
	}
	return strings.Join(out, "\n")
}

// outlined lists the signatures between two lines, indented by nesting.
func (c *content) outlined(from, to int) string {
	var b strings.Builder
	for i, s := range c.symbols {
		if s.start < from || s.end > to {
			continue
		}
		depth := 0
		for up := s.parent; up >= 0 && c.symbols[up].start >= from; up = c.symbols[up].parent {
			depth++
		}
		if s.kind == string(outline.Variable) && depth > 0 && c.symbols[s.parent].kind == string(outline.Enum) {
			continue
		}
		text := cmp.Or(s.signature, s.kind+" "+s.short)
		fmt.Fprintf(&b, "%s%s  (line %d)\n", strings.Repeat("    ", depth), phrase.Cut(text, 200), c.symbols[i].start)
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// Indented indents each line of text by four spaces, except for empty lines.
func Indented(text string) string {
	lines := strings.Split(text, "\n")
	for i, l := range lines {
		if strings.TrimSpace(l) != "" {
			lines[i] = "    " + l
		}
	}
	return strings.Join(lines, "\n")
}
