package retrieve

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/runplan/runplan/internal/fence"
	"github.com/runplan/runplan/internal/lists"
	"github.com/runplan/runplan/internal/phrase"
	"github.com/runplan/runplan/internal/store"
	"github.com/runplan/runplan/knowledge/outline"
)

// detailSchema is the schema of the answer for one piece.
const detailSchema = `{"type":"string","enum":["primary","supporting","type_context","excluded"]}`

// detailTokens is the number of answer tokens for one piece.
const detailTokens = 12

// piece is a symbol, or a file without symbols. A model decides how much of it is needed.
type piece struct {
	file   File
	place  int // index of its file in the scope
	symbol *symbol
	end    int // number of lines of a file
}

func (x piece) name() string {
	if x.symbol == nil {
		return ""
	}
	return x.symbol.name
}

func (x piece) score() int {
	n := weightTier(x.file.Tier)
	if x.symbol != nil {
		n += x.symbol.score + x.symbol.text
		if x.symbol.kind == string(outline.Variable) {
			n -= weightRationale // among equals, prefer the one with code
		}
	}
	return n
}

// why returns the reason for a piece.
func (x piece) why() string {
	switch {
	case x.symbol == nil:
		return x.file.Why
	case len(x.symbol.why) == 0:
		return "only its file: " + x.file.Why
	}
	return phrase.Join(x.symbol.why[:min(3, len(x.symbol.why))], ", ", func(r reason) string { return r.text })
}

// line describes the piece to the model.
func (x piece) line(id string) string {
	if x.symbol == nil {
		return fmt.Sprintf("%s  the whole file  1-%d", id, x.end)
	}
	s := x.symbol
	text := fmt.Sprintf("%s  %s  %d-%d", id, phrase.Cut(fence.Line(cmp.Or(s.signature, s.kind+" "+s.short)), 160), s.start,
		s.end)
	if s.name != s.short {
		text += "  of " + strings.TrimSuffix(s.name, "."+s.short)
	}
	if first, _, _ := strings.Cut(strings.TrimSpace(s.doc), "\n"); first != "" {
		text += fmt.Sprintf("  %q", phrase.Cut(fence.Line(first), 100))
	}
	if len(s.why) > 0 {
		text += "  — " + fence.Line(x.why())
	}
	if len(s.rationale) > 0 {
		text += fmt.Sprintf("  its comment: %q", phrase.Cut(fence.Line(s.rationale[0]), 120))
	}
	return text
}

func (x piece) choice(d Detail, why string) Choice {
	c := Choice{Path: x.file.Path, Kind: kindFile, Start: 1, End: x.end, Detail: d, Tier: x.file.Tier, Score: x.score(),
		Why: why}
	if s := x.symbol; s != nil {
		c.Symbol, c.Kind, c.Start, c.End, c.Signature, c.Doc = s.name, s.kind, s.start, s.end, s.signature, s.doc
	}
	return c
}

// Kinds of pieces that are not symbols.
const (
	kindFile    = "file"
	kindOutline = "outline" // the signatures of a file
	kindLines   = "lines"   // any lines of a file
	kindBlock   = "block"   // lines outside of symbols: a top-level statement, a test case, a class without its methods
	kindHead    = "head"    // the first lines of a file with its imports
)

// precision chooses symbols of the files in scope and how much of each is shown (RETR-09, RETR-10).
func precision(ctx context.Context, p *pass, s State) (State, []store.FileDecision, error) {
	return p.choose(ctx, s, func(File) bool { return true })
}

// choose judges the symbols of the wanted files. The choices for other files stay.
func (p *pass) choose(ctx context.Context, s State, wanted func(File) bool) (State, []store.FileDecision, error) {
	contents := make([]*content, len(s.Files))
	for i, f := range s.Files {
		c, err := p.content(ctx, f)
		if err != nil {
			return s, nil, err
		}
		contents[i] = c
		for j := range c.symbols {
			c.symbols[j].score, c.symbols[j].why = 0, nil
		}
	}
	if err := p.signals(ctx, s, contents); err != nil {
		return s, nil, err
	}
	var pieces []piece
	var all []store.FileDecision
	for i, f := range s.Files {
		if !wanted(f) {
			continue
		}
		if contents[i].bad != "" {
			all = append(all,
				store.FileDecision{File: f.ID, Path: f.Path, Tier: string(Excluded), Reason: contents[i].bad})
			p.note("%s is omitted: %s", f.Path, contents[i].bad)
			continue
		}
		pieces = append(pieces, piecesOf(f, i, contents[i])...)
	}
	pieces = inTurns(pieces, p.Limits.Symbols)
	details, skipped, err := p.judgePieces(ctx, s, pieces)
	if err != nil {
		return s, all, err
	}
	s.Choices = slices.DeleteFunc(slices.Clone(s.Choices), func(c Choice) bool {
		return slices.ContainsFunc(s.Files, func(f File) bool { return f.Path == c.Path && wanted(f) })
	})
	for i, x := range pieces {
		detail, reason := Excluded, x.why()
		switch d, judged := details[i]; {
		case judged:
			detail = d
			reason += "; the model: " + string(d)
		case x.symbol != nil && x.symbol.score >= weightNamed, x.symbol == nil && x.file.Sure && x.file.Tier <= 1:
			detail = Primary
			reason += "; not judged by the model, but the task names it"
		case skipped[i] != "":
			reason += "; not judged: " + skipped[i]
		default:
			reason += "; not judged"
		}
		all = append(all, store.FileDecision{File: x.file.ID, Path: x.file.Path, Symbol: x.name(), Tier: string(detail),
			Included: detail != Excluded, Reason: reason})
		if detail != Excluded {
			s.Choices = append(s.Choices, x.choice(detail, reason))
		}
	}
	for i, f := range s.Files {
		if f.Sure && wanted(f) && contents[i].bad == "" &&
			!slices.ContainsFunc(s.Choices, func(c Choice) bool { return c.Path == f.Path }) {
			why := f.Why + "; no part of it was chosen, so its outline is shown"
			s.Choices = append(s.Choices, outlineChoice(f, contents[i], why))
			all = append(all,
				store.FileDecision{File: f.ID, Path: f.Path, Tier: string(TypeContext), Included: true, Reason: why})
		}
	}
	s.Precise = true
	return s, all, nil
}

// outlineChoice shows the signatures of a file, or its first lines if it has none.
func outlineChoice(f File, c *content, why string) Choice {
	kind := kindOutline
	if len(c.symbols) == 0 {
		kind = kindFile
	}
	return Choice{Path: f.Path, Kind: kind, Start: 1, End: len(c.lines), Detail: TypeContext, Tier: f.Tier,
		Score: weightTier(f.Tier), Why: why}
}

// piecesOf returns the symbols of a file to ask a model about, most important ones first: those with a signal, then the
// best search results.
func piecesOf(f File, place int, c *content) []piece {
	var with, rest []piece
	for j := range c.symbols {
		if !c.choosable(j) {
			continue
		}
		x := piece{file: f, place: place, symbol: &c.symbols[j]}
		if f.Sure || x.symbol.score > weightRationale {
			with = append(with, x)
		} else {
			rest = append(rest, x)
		}
	}
	slices.SortStableFunc(with, func(a, b piece) int { return cmp.Compare(b.score(), a.score()) })
	slices.SortStableFunc(rest, func(a, b piece) int { return cmp.Compare(b.symbol.text, a.symbol.text) })
	if out := append(with, rest...); len(out) > 0 {
		return out
	}
	return []piece{{file: f, place: place, end: len(c.lines)}}
}

// inTurns orders the pieces of several files, so that a file with many pieces leaves room for those of the others:
// first the best third of the limit, then the best of each file in turn.
func inTurns(pieces []piece, limit int) []piece {
	slices.SortStableFunc(pieces, func(a, b piece) int { return cmp.Compare(b.score(), a.score()) })
	if len(pieces) <= limit {
		return pieces
	}
	n := limit / 3
	rank, turn := map[int]int{}, make([]int, len(pieces))
	for i, x := range pieces {
		if i >= n {
			turn[i] = rank[x.place]
		}
		rank[x.place]++
	}
	return lists.Map(lists.Order(turn, cmp.Compare[int]), func(i int) piece { return pieces[i] })
}

// judgePieces asks how much of each piece is needed. If there is no room for all, the most important ones are asked
// about.
func (p *pass) judgePieces(ctx context.Context, s State, pieces []piece) (map[int]Detail, []string, error) {
	details := map[int]Detail{}
	if len(pieces) == 0 {
		p.note("precision: no pieces to judge")
		return details, nil, nil
	}
	ids := make([]string, len(pieces))
	for i := range ids {
		ids[i] = pieceID(i)
	}
	answer, skipped, err := judge[Detail](ctx, p, s.Query, judging{
		stage: precisionName, what: "pieces", ids: ids, limit: p.Limits.Symbols, schema: detailSchema, tokens: detailTokens,
		slot: "symbols", lines: func(n int) []string { _, lines := shown(pieces[:n]); return lines },
	})
	if err != nil {
		return nil, nil, err
	}
	order, _ := shown(pieces[:lists.Count(skipped, func(why string) bool { return why == "" })])
	for i, at := range order {
		d, ok := answer[ids[i]]
		switch {
		case ok && d.rank() >= 0:
			details[at] = d
		case ok:
			p.note("precision: the model gave %s the unknown detail %q",
				fence.Line(pieces[at].file.Path+" "+pieces[at].name()), phrase.Cut(fence.Line(string(d)), 40))
		}
	}
	return details, skipped, nil
}

func pieceID(i int) string { return fmt.Sprintf("s%03d", i+1) }

// shown lists pieces by file and line under their ids. order maps ids to pieces.
func shown(pieces []piece) (order []int, lines []string) {
	start := func(x piece) int {
		if x.symbol == nil {
			return 0
		}
		return x.symbol.start
	}
	order = lists.Order(pieces, func(a, b piece) int {
		return cmp.Or(cmp.Compare(a.place, b.place), cmp.Compare(start(a), start(b)))
	})
	last := -1
	for i, at := range order {
		if x := pieces[at]; x.place != last {
			last = x.place
			lines = append(lines, fmt.Sprintf("%s (tier %d: %s)", fence.Line(x.file.Path), x.file.Tier, fence.Line(x.file.Why)))
		}
		lines = append(lines, "  "+pieces[at].line(pieceID(i)))
	}
	return order, lines
}
