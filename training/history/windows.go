package history

import (
	"cmp"
	"hash/maphash"
	"math"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/runplan/runplan/internal/fence"
	"github.com/runplan/runplan/internal/lists"
	"github.com/runplan/runplan/internal/tokens"
	"github.com/runplan/runplan/knowledge/chunks"
	"github.com/runplan/runplan/knowledge/retrieve"
	"github.com/runplan/runplan/training"
	"github.com/runplan/runplan/training/edits"
)

// window is a chunk of a file as retrieval shows it.
type window struct {
	span   chunks.Span
	at     int  // place among the chunks of its file
	needed bool // an edit quotes lines of it
	score  float64
}

// view is a file with its chunks.
type view struct {
	*source
	needed []window
	rest   []window // best first
}

// Limits of the windows that an edit does not need.
const (
	leastWindows = 6    // of all files together
	mostWindows  = 40   // the same
	windowShare  = 0.6  // of the budget
	byLength     = 0.25 // how much a score rises with the length of a window
	beside       = 2.0  // how much a score falls next to an edited window
	alike        = 0.3  // how much a score falls with each factor of e between the length of a window and the wanted one
	longWindow   = 40   // lines
	perWindow    = 60   // characters around a window
	noise        = 0.35 // the random part of a score, because no search is perfect
)

// views splits the changed files and those that they use into chunks, as the search of retrieval does. Chunks with
// words of the task come first, as in a search.
func (m *maker) views(w *work, answers []edits.Answer) []*view {
	words := map[string]bool{}
	chunks.EachWord(w.task, func(s string) { words[s] = true })
	asked := m.terms(w.task)
	var out []*view
	add := func(s *source, needs func(chunks.Span) bool) {
		v := &view{source: s}
		for at, span := range s.chunked() {
			x := window{span: span, at: at, needed: needs(span)}
			if x.needed {
				v.needed = append(v.needed, x)
				continue
			}
			terms := m.terms(v.text(span))
			have := lists.Count(asked, func(term uint64) bool { _, found := slices.BinarySearch(terms, term); return found })
			long := min(1, float64(x.lines())/longWindow) // changed code is usually long
			x.score = float64(have)/float64(1+len(words)) + noise*w.rng.Float64() + byLength*long
			v.rest = append(v.rest, x)
		}
		slices.SortStableFunc(v.rest, func(a, b window) int { return cmp.Compare(b.score, a.score) })
		out = append(out, v)
	}
	for i, c := range w.changes {
		if c.before == nil {
			continue
		}
		blocks := answers[i].Blocks
		add(c.before, func(s chunks.Span) bool {
			return slices.ContainsFunc(blocks, func(b edits.Block) bool { return b.From+1 <= s.End && s.Start <= b.To }) ||
				c.after == nil && s.Start == 1
		})
	}
	// Unrelated files would connect all examples by their versions, and leave none for validation.
	for _, r := range w.deps {
		add(r.source, func(chunks.Span) bool { return false })
	}
	return out
}

// terms returns the words of a task or a chunk with more than two letters, as sorted hashes. Versions of a file share most
// of their chunks.
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

// row describes windows that follow each other: their number, and the lines of all.
type row struct{ windows, lines int }

// rows returns the rows of needed windows.
func (v *view) rows() []row {
	var out []row
	for i, x := range v.needed {
		if i == 0 || v.needed[i-1].at != x.at-1 {
			out = append(out, row{})
		}
		last := &out[len(out)-1]
		last.windows, last.lines = last.windows+1, last.lines+x.lines()
	}
	return out
}

func (x window) lines() int { return x.span.End - x.span.Start + 1 }

// choice is the state of [maker.chosen].
type choice struct {
	m           *maker
	views       []*view
	out         [][]window
	room, count int
}

func (c *choice) take(i int, x window) {
	c.out[i] = append(c.out[i], x)
	c.room -= len(c.views[i].text(x.span)) + perWindow
	c.count++
}

// next takes a remaining good window of a file, with about the length of the windows of a row, and the windows after
// it.
func (c *choice) next(i int, as row) {
	v := c.views[i]
	worth := func(x window) float64 {
		if slices.ContainsFunc(v.needed, func(y window) bool { return y.at == x.at-1 || y.at == x.at+1 }) {
			return x.score - beside // it would make the edited part longer than the others
		}
		return x.score - alike*math.Abs(math.Log(float64(x.lines()*as.windows)/float64(max(1, as.lines))))
	}
	for taken, want := 0, -1; taken < as.windows && len(v.rest) > 0; {
		at := 0
		for k := range v.rest {
			if worth(v.rest[k]) > worth(v.rest[at]) {
				at = k
			}
		}
		if want >= 0 {
			if at = slices.IndexFunc(v.rest, func(x window) bool { return x.at == want }); at < 0 {
				return
			}
		}
		x := v.rest[at]
		v.rest = slices.Delete(v.rest, at, at+1)
		text := v.text(x.span)
		if len(text)+perWindow <= c.room && len(training.Addresses(text)) == 0 && c.m.shownAs(v.source, text) == text {
			c.take(i, x)
			taken, want = taken+1, x.at+1
		} else if want >= 0 {
			return
		}
	}
}

// chosen returns the windows to show of each file. A changed file shows as many unchanged rows of windows as changed
// ones, each of the same length, and other files show as many too, while there are windows and room. So neither the
// number, the size nor the position of a window shows whether it changes.
func (m *maker) chosen(all []*view, rng *rand.Rand) [][]window {
	c := &choice{m: m, views: all, out: make([][]window, len(all)),
		room: int(float64(m.Budget.Retrieval()*tokens.PerToken) * windowShare)}
	var rows []row
	most := 1
	for i, v := range all {
		rows = append(rows, v.rows()...)
		most = max(most, 2*len(v.rows()))
		for _, x := range v.needed {
			c.take(i, x)
		}
	}
	if len(rows) == 0 {
		rows = []row{{1, longWindow / 2}}
	}
	for i, v := range all {
		for _, r := range v.rows() {
			c.next(i, r)
		}
	}
	order := rng.Perm(len(all))
	for range most {
		for _, i := range order {
			if c.count < max(3*len(all), leastWindows) && c.count < mostWindows {
				c.next(i, rows[rng.IntN(len(rows))])
			}
		}
	}
	return c.out
}

// shownAs returns a part of a file as prompts show it. A part of a file without secrets has none.
func (m *maker) shownAs(s *source, text string) string {
	clean := fence.Clean(text)
	if s.searched != nil && !s.secret && clean == text {
		return text
	}
	return m.sentry.hide(clean)
}

// windows shows chunks of the changed files and of those that they use. Adjacent chunks become one part.
func (m *maker) windows(w *work, answers []edits.Answer) (parts []retrieve.Part, texts []*source, must int,
	bad string) {
	all := m.views(w, answers)
	for i, list := range m.chosen(all, w.rng) {
		v := all[i]
		slices.SortFunc(list, func(a, b window) int { return a.span.Start - b.span.Start })
		var joined []window
		for _, x := range list {
			if n := len(joined); n > 0 &&
				strings.TrimSpace(strings.Join(v.plain[joined[n-1].span.End:x.span.Start-1], "")) == "" {
				joined[n-1].span.End, joined[n-1].needed = x.span.End, joined[n-1].needed || x.needed
				continue
			}
			joined = append(joined, x)
		}
		for _, x := range joined {
			p := m.part(v, x)
			if p.Altered && x.needed {
				return nil, nil, 0, "a file has characters that no prompt shows"
			}
			parts = append(parts, p)
		}
		if len(joined) > 0 {
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
