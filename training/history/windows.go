package history

import (
	"hash/maphash"
	"math"
	"slices"
	"strings"

	"github.com/runplan/runplan/internal/fence"
	"github.com/runplan/runplan/internal/lists"
	"github.com/runplan/runplan/knowledge/chunks"
	"github.com/runplan/runplan/knowledge/retrieve"
	"github.com/runplan/runplan/training/edits"
)

// window is a chunk of a file as retrieval shows it.
type window struct {
	span   chunks.Span
	needed bool // an edit quotes lines of it, or it is shown in the same part as such a window
	shown  bool
	unfit  bool    // there is no room for it, or it cannot be shown as it is
	score  float64 // the share of the words of the task that it has
}

// view is a file with its chunks.
type view struct {
	*source
	all    []window      // in the order of the file
	blocks []edits.Block // its edits
	edited int           // parts that edits need
	parts  []row         // first those that edits need
}

// views splits the changed files and those that they use into chunks, as the search of retrieval does. Chunks with
// words of the task come first, as in a search.
func (m *maker) views(w *work, answers []edits.Answer) []*view {
	told := map[string]bool{}
	chunks.EachWord(w.task, func(s string) { told[s] = true })
	asked := m.terms(w.task)
	var out []*view
	add := func(s *source, blocks []edits.Block, needs func(a, b int) bool) {
		v := &view{source: s, blocks: blocks}
		spans := s.chunked()
		for i, span := range spans {
			// Blank lines belong to the chunks on both sides, so that a part has all lines that an edit quotes.
			from, to := 1, len(v.plain)
			if i > 0 {
				from = spans[i-1].End + 1
			}
			if i+1 < len(spans) {
				to = spans[i+1].Start - 1
			}
			x := window{span: span, needed: needs(from, to)}
			if !x.needed {
				terms := m.terms(v.text(span))
				have := lists.Count(asked, func(term uint64) bool { _, found := slices.BinarySearch(terms, term); return found })
				x.score = float64(have) / float64(1+len(told))
			}
			v.all = append(v.all, x)
		}
		out = append(out, v)
	}
	for i, c := range w.changes {
		if c.before == nil {
			continue
		}
		blocks := answers[i].Blocks
		add(c.before, blocks, func(from, to int) bool {
			return slices.ContainsFunc(blocks, func(b edits.Block) bool { return b.From+1 <= to && from <= b.To }) ||
				c.after == nil && from == 1
		})
	}
	never := func(int, int) bool { return false }
	// Unrelated files would connect all examples by their versions, and leave none for validation.
	for _, r := range w.deps {
		add(r.source, nil, never)
	}
	for _, s := range w.beside {
		add(s, nil, never)
	}
	return out
}

// terms returns the words of a task or a chunk with more than two letters, as sorted hashes. Versions of a file share
// most of their chunks.
func (m *maker) terms(text string) []uint64 {
	key := maphash.String(m.sentry.seed, text)
	terms, known := m.words.Get(key)
	if !known {
		chunks.EachWord(text, func(s string) {
			if len(s) > 2 {
				terms = append(terms, maphash.String(m.sentry.seed, s))
			}
		})
		slices.Sort(terms)
		terms = slices.Clone(slices.Compact(terms))
		m.words.Put(key, terms)
	}
	return terms
}

// text returns the lines of a chunk.
func (v *view) text(s chunks.Span) string {
	return v.shown[v.starts[s.Start-1] : v.starts[s.End-1]+len(v.plain[s.End-1])]
}

// row is a range of windows, which is shown as one part. The end is exclusive.
type row struct{ from, to int }

// lines returns the lines from the first to the last of a row.
func (v *view) lines(r row) int { return v.all[r.to-1].span.End - v.all[r.from].span.Start + 1 }

// rows returns the rows of needed windows. A row ends between two edits if it would be long with the next window.
func (v *view) rows() []row {
	var out []row
	for i, x := range v.all {
		if !x.needed {
			continue
		}
		if n := len(out); n > 0 && out[n-1].to == i && (v.quoted(i) || v.lines(row{out[n-1].from, i + 1}) <= longPart) {
			out[n-1].to++
			continue
		}
		out = append(out, row{i, i + 1})
	}
	return out
}

// quoted reports whether an edit quotes lines on both sides of the end of the window before i. Blank lines between the
// two windows are on both sides.
func (v *view) quoted(i int) bool {
	return slices.ContainsFunc(v.blocks, func(b edits.Block) bool {
		return b.From+1 < v.all[i].span.Start && b.To > v.all[i-1].span.End
	})
}

// row returns the row from window i on, in a direction, that has about the wanted number of lines.
func (v *view) row(i, by, wanted int) row {
	r := row{i, i + 1}
	for k := i + by; k >= 0 && k < len(v.all); k += by {
		longer := row{min(r.from, k), max(r.to, k+1)}
		if x := v.all[k]; x.shown || x.unfit || v.lines(longer)-wanted > wanted-v.lines(r) {
			break
		}
		r = longer
	}
	return r
}

// size is the lines and the windows of a part.
type size struct{ lines, windows int }

func (v *view) sizes() []size {
	return lists.Map(v.parts, func(r row) size { return size{v.lines(r), r.to - r.from} })
}

// differs returns how far the lines of a row are from the wanted number, as a factor of e.
func (v *view) differs(r row, wanted int) float64 {
	return math.Abs(math.Log(float64(v.lines(r)) / float64(wanted)))
}

// shownAs returns a part of a file as prompts show it. It skips the search for secrets in a file without secrets.
func (m *maker) shownAs(s *source, text string) string {
	clean := fence.Clean(text)
	if s.searched != nil && !s.secret && clean == text {
		return text
	}
	return m.sentry.hide(clean)
}

// windows shows chunks of the changed files and of those that they use.
func (m *maker) windows(w *work, answers []edits.Answer) (parts []retrieve.Part, texts []*source, must int,
	bad string) {
	all := m.views(w, answers)
	m.choose(all, w.rng)
	for _, v := range all {
		slices.SortFunc(v.parts, func(a, b row) int { return a.from - b.from })
		for _, r := range v.parts {
			first, last := v.all[r.from], v.all[r.to-1]
			x := window{span: chunks.Span{Start: first.span.Start, End: last.span.End}, needed: first.needed}
			p := m.part(v, x)
			if p.Altered && x.needed {
				return nil, nil, 0, "a file has characters that no prompt shows"
			}
			parts = append(parts, p)
		}
		if len(v.parts) > 0 {
			texts = append(texts, v.source)
		}
	}
	return parts, texts, len(parts), ""
}

// part shows a window in the way of retrieval.
func (m *maker) part(v *view, x window) retrieve.Part {
	raw := v.text(x.span)
	p := retrieve.Part{Path: v.path, Kind: "lines", Start: x.span.Start, End: x.span.End, Tier: 1,
		Detail: retrieve.Primary, Whole: true, Why: "has words of the task"}
	if x.span.Start == 1 && x.span.End == len(v.plain) {
		p.Kind = "file"
	}
	var names []string
	for i := range v.symbols {
		if s := &v.symbols[i]; s.start >= x.span.Start && s.start <= x.span.End && p.Kind == "lines" && len(names) < 12 &&
			!slices.Contains(names, s.short) {
			names = append(names, s.short)
		}
	}
	p.Symbol = strings.Join(names, ", ")
	p.Text = m.shownAs(v.source, raw)
	p.Altered = p.Text != raw
	p.Tokens = m.Budget.Of(p.String())
	return p
}
