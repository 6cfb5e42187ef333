package history

import (
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
	needed bool // an edit quotes lines of it, or it is next to such a window and shown in the same part
	shown  bool
	unfit  bool // there is no room for it, or it cannot be shown as it is
	score  float64
}

func (x window) lines() int { return x.span.End - x.span.Start + 1 }

// view is a file with its chunks.
type view struct {
	*source
	all   []window // in the order of the file
	parts int      // rows of shown windows
}

// Limits of the windows that an edit does not need.
const (
	leastParts  = 4    // of all files together
	mostParts   = 40   // the same
	windowShare = 0.6  // of the budget
	beside      = 2.0  // how much a score falls next to a shown window
	alike       = 1.0  // how much it falls with each factor of e between the lines of a part and the wanted number
	bareSide    = 0.35 // how much it rises before and after the edits, as long as no part is shown there
	moreAfter   = 0.45 // the share of edited parts with one more window after the edit: functions grow at their end
	moreBefore  = 0.2  // the same before the edit
	perWindow   = 60   // characters around a window
	noise       = 0.35 // the random part of a score, because no search is perfect
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
		for _, span := range s.chunked() {
			x := window{span: span, needed: needs(span)}
			if !x.needed {
				terms := m.terms(v.text(span))
				have := lists.Count(asked, func(term uint64) bool { _, found := slices.BinarySearch(terms, term); return found })
				x.score = float64(have)/float64(1+len(words)) + noise*w.rng.Float64()
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

// rows returns the number of lines of each row of needed windows.
func (v *view) rows() []int {
	var out []int
	for i, x := range v.all {
		if !x.needed {
			continue
		}
		if i == 0 || !v.all[i-1].needed {
			out = append(out, 0)
		}
		out[len(out)-1] += x.lines()
	}
	return out
}

// apart reports whether window i is not next to a shown one. Both would be one part, which is longer than others.
func (v *view) apart(i int) bool {
	return (i == 0 || !v.all[i-1].shown) && (i+1 == len(v.all) || !v.all[i+1].shown)
}

// row returns the number of windows, from window i on, that have about the wanted number of lines, and their lines.
func (v *view) row(i, wanted int) (windows, lines int) {
	windows, lines = 1, v.all[i].lines()
	for k := i + 1; k < len(v.all); k++ {
		x := v.all[k]
		if x.shown || x.unfit || !v.apart(k) || lines+x.lines()-wanted > wanted-lines {
			break
		}
		windows, lines = windows+1, lines+x.lines()
	}
	return windows, lines
}

// bare returns a function that reports whether window i is before or after all needed windows, on a side of them on
// which no window is shown.
func (v *view) bare() func(i int) bool {
	isNeeded, isShown := func(x window) bool { return x.needed }, func(x window) bool { return x.shown }
	first, last := slices.IndexFunc(v.all, isNeeded), len(v.all)-1
	if first < 0 {
		return func(int) bool { return false }
	}
	for !v.all[last].needed {
		last--
	}
	before, after := !slices.ContainsFunc(v.all[:first], isShown), !slices.ContainsFunc(v.all[last+1:], isShown)
	return func(i int) bool { return before && i < first || after && i > last }
}

// choice is the state of [maker.choose].
type choice struct {
	m    *maker
	room int
}

// show shows a window, unless an edit does not need it and it is unfit.
func (c *choice) show(v *view, x *window) bool {
	text := v.text(x.span)
	x.unfit = !x.needed && (len(text)+perWindow > c.room || len(training.Addresses(text)) > 0 ||
		c.m.shownAs(v.source, text) != text)
	if x.shown = !x.unfit; x.shown {
		c.room -= len(text) + perWindow
	}
	return x.shown
}

// showNeeded shows the windows that edits need, and of some rows one more on a side. An edit at the end of a function
// would otherwise be at the end of its part.
func (c *choice) showNeeded(v *view, rng *rand.Rand) {
	var more []int
	for i, x := range v.all {
		switch {
		case x.needed:
			c.show(v, &v.all[i])
		case i > 0 && v.all[i-1].needed && rng.Float64() < moreAfter,
			i+1 < len(v.all) && v.all[i+1].needed && rng.Float64() < moreBefore:
			more = append(more, i)
		}
	}
	for _, i := range more {
		v.all[i].needed = c.show(v, &v.all[i])
	}
}

// next shows the best remaining part of a file with about the wanted number of lines. It returns false if there is
// none.
func (c *choice) next(v *view, wanted int) bool {
	bare := v.bare()
	for {
		best, highest := -1, math.Inf(-1)
		for i, x := range v.all {
			if x.shown || x.unfit {
				continue
			}
			_, lines := v.row(i, wanted)
			score := x.score - alike*math.Abs(math.Log(float64(lines)/float64(wanted)))
			if !v.apart(i) {
				score -= beside
			}
			if bare(i) {
				score += bareSide
			}
			if score > highest {
				best, highest = i, score
			}
		}
		if best < 0 {
			return false
		}
		n, _ := v.row(best, wanted)
		for i := best; i < best+n && c.show(v, &v.all[i]); i++ {
		}
		if v.all[best].shown {
			v.parts++
			return true
		}
	}
}

// choose chooses the windows to show of each file. A changed file shows as many unchanged parts as changed ones, each
// of the same length, on both sides of the edits, and other files show as many parts as it, while there are windows and
// room. So neither the number, the size nor the position of a part shows whether it changes.
func (m *maker) choose(all []*view, rng *rand.Rand) {
	c := &choice{m: m, room: int(float64(m.Budget.Retrieval()*tokens.PerToken) * windowShare)}
	var rows []int
	most := 1
	for _, v := range all {
		c.showNeeded(v, rng)
		rows = append(rows, v.rows()...)
		v.parts = len(v.rows())
		most = max(most, 2*v.parts)
	}
	if len(rows) == 0 {
		rows = []int{20}
	}
	for _, v := range all {
		for _, lines := range v.rows() {
			c.next(v, lines)
		}
	}
	open := slices.Clone(all)
	rng.Shuffle(len(open), func(i, j int) { open[i], open[j] = open[j], open[i] })
	for len(open) > 0 && lists.Sum(all, func(v *view) int { return v.parts }) < min(max(most*len(all), leastParts), mostParts) {
		fewest := slices.MinFunc(open, func(a, b *view) int { return a.parts - b.parts })
		if !c.next(fewest, rows[rng.IntN(len(rows))]) {
			open = slices.DeleteFunc(open, func(v *view) bool { return v == fewest })
		}
	}
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
	m.choose(all, w.rng)
	for _, v := range all {
		var joined []window
		for _, x := range v.all {
			if !x.shown {
				continue
			}
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
