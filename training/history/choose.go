package history

import (
	"math"
	"math/rand/v2"
	"slices"

	"github.com/runplan/runplan/internal/language"
	"github.com/runplan/runplan/internal/lists"
	"github.com/runplan/runplan/internal/tokens"
	"github.com/runplan/runplan/training"
	"github.com/runplan/runplan/training/edits"
)

// Limits of parts.
const (
	leastParts  = 4    // of all files together
	mostParts   = 40   // the same
	windowShare = 0.6  // of the budget
	perWindow   = 60   // characters around a window
	mostMore    = 3    // windows before and after the ones that an edit needs
	shortPart   = 20   // lines; the parts of small edits get about as many
	longPart    = 40   // lines; windows that edits need become separate parts beyond it
	depsShown   = 2    // unchanged files with parts for each changed one
	unlike      = 0.6  // maximum distance between the lengths of an unchanged and a changed part, as a factor of e
	spread      = 0.2  // the same for all unchanged parts together, or the length of the changed part would be the middle
	ownSpread   = 0.12 // the same for each unchanged part, or the changed one would stand apart
)

// Weights of the choice of windows. They were chosen so that no place of an edit is more frequent than by chance.
const (
	tooLong  = 0.18 // against a part with another length than wanted, per factor of e, beside the place of the edit
	alike    = 4.0  // against an unchanged part with another length, per factor of e
	alikeIn  = 0.4  // against an unchanged part with another number of windows
	likeness = 2.0  // for the words of the task
	atEdge   = 5.0  // against the ends of a file
)

// atStart is the share of files that show their first window as an unchanged part for each changed one. Edits of
// JavaScript and TypeScript often change the imports too.
var atStart = map[string]float64{language.Go: 0.01, language.Python: 0.03, language.Node: 0.12}

// atEnd is the same for the last window. Tests are added at the end of a file, less often if it is long.
func (v *view) atEnd() float64 {
	if v.edited > 0 && language.IsTest(v.path) {
		return 0.65 * min(1, math.Sqrt(16/float64(len(v.all))))
	}
	return 0.1
}

// choice is the state of [maker.choose].
type choice struct {
	m      *maker
	rng    *rand.Rand
	room   int // characters
	wanted int // lines of a part
	parts  int
}

// fits reports whether a window can be shown as it is.
func (c *choice) fits(v *view, x *window) bool {
	text := v.text(x.span)
	return len(text)+perWindow <= c.room && len(training.Addresses(text)) == 0 && c.m.shownAs(v.source, text) == text
}

// show shows a window, unless an edit does not need it and it is unfit.
func (c *choice) show(v *view, x *window) bool {
	x.unfit = !x.needed && !c.fits(v, x)
	if x.shown = !x.unfit; x.shown {
		c.room -= len(v.text(x.span)) + perWindow
	}
	return x.shown
}

// showNeeded shows each row of windows that edits need, with more windows before and after it. It chooses them so that
// the edit is at a random place of the part. Functions grow at their ends, so a row alone would show where the edit is.
func (c *choice) showNeeded(v *view) {
	for i := range v.all {
		if v.all[i].needed {
			c.show(v, &v.all[i])
		}
	}
	for _, r := range v.rows() {
		r = c.widened(v, r)
		for i := r.from; i < r.to; i++ {
			if !v.all[i].needed {
				v.all[i].needed = c.show(v, &v.all[i])
			}
		}
		v.parts = append(v.parts, r)
	}
	v.edited = len(v.parts)
	c.parts += v.edited
}

// widened returns a row of needed windows with those around it to show with it. At the ends of a file, more windows
// would not change that the edit is at an end.
func (c *choice) widened(v *view, r row) row {
	start, end := v.all[r.from].span.Start, v.all[r.to-1].span.End
	inside := lists.Filter(v.blocks, func(b edits.Block) bool { return b.From+1 <= end && start <= b.To })
	if len(inside) == 0 {
		return r
	}
	b := inside[c.rng.IntN(len(inside))]
	if r.from == 0 && b.From <= start || r.to == len(v.all) && b.To >= end-1 {
		return r
	}
	place, wanted := c.place(), min(c.wanted, max(1, len(v.plain)/(2*len(v.rows())+1)))
	best, least := r, math.Inf(1)
	first, last := c.until(v, r.from, -1), c.until(v, r.to-1, 1)
	for from := r.from; from >= first; from-- {
		for to := r.to; to <= last+1; to++ {
			wide := row{from, to}
			before, free := b.From+1-v.all[from].span.Start, max(1, v.lines(wide)-(b.To-b.From))
			cost := math.Abs(float64(before)/float64(free)-place) + tooLong*v.differs(wide, wanted)
			if cost < least {
				best, least = wide, cost
			}
		}
	}
	return best
}

// place draws where an edit is in its part: 0 is the start, 1 the end. Both are rare, because edits at the ends of files
// are there in any case, and so is the middle, because a long edit is always close to it.
func (c *choice) place() float64 {
	x := 0.06 + 0.78*c.rng.Float64()
	return x - 0.05*math.Sin(2*math.Pi*x)
}

// until returns the last window from i on, in a direction, to which a row can be extended.
func (c *choice) until(v *view, i, by int) int {
	for n := 0; n < mostMore; n++ {
		next := i + by
		if next <= 0 || next >= len(v.all)-1 || v.all[next].needed || v.all[next+by].needed || !c.fits(v, &v.all[next]) {
			break
		}
		i = next
	}
	return i
}

// next draws one of the remaining parts of a file with about the wanted number of lines, and shows it. It returns false
// if there is none.
func (c *choice) next(v *view, wanted size, unlike float64) bool {
	for {
		best, highest := row{}, math.Inf(-1)
		for i, x := range v.all {
			if x.shown || x.unfit {
				continue
			}
			r := v.row(i, 1, wanted.lines)
			differs := v.differs(r, wanted.lines)
			if differs > unlike || r.from == 0 && v.edited == 0 {
				continue
			}
			chance := math.Log(float64(v.lines(r))) - math.Log(-math.Log(c.rng.Float64())) // in proportion to the lines
			score := chance + likeness*x.score - alike*differs - alikeIn*math.Abs(float64(r.to-r.from-wanted.windows))
			if r.from == 0 || r.to == len(v.all) {
				score -= atEdge
			}
			if score > highest {
				best, highest = r, score
			}
		}
		if best.to == 0 {
			return false
		}
		if c.put(v, best) {
			return true
		}
	}
}

// put shows a row as a part, as far as it is fit.
func (c *choice) put(v *view, of row) bool {
	r := row{of.from, of.from}
	for ; r.to < of.to && c.show(v, &v.all[r.to]); r.to++ {
	}
	if r.to == r.from {
		return false
	}
	v.parts = append(v.parts, r)
	c.parts++
	return true
}

// fill shows unchanged parts of a file of the given sizes, until it has n parts. An end of the file is shown as often
// as an edit is there.
func (c *choice) fill(v *view, n int, sizes []size, factor float64) {
	if len(v.all) == 0 {
		return
	}
	times := float64(n-v.edited) / float64(max(v.edited, 1))
	made := 0
	edge := func(i, by int, share float64) {
		if wanted := sizes[made%len(sizes)].lines; !v.all[i].shown && len(v.parts) < n && c.rng.Float64() < share*times {
			if r := v.row(i, by, wanted); v.differs(r, wanted) < 1 && c.put(v, r) {
				made++
			}
		}
	}
	edge(len(v.all)-1, -1, v.atEnd())
	edge(0, 1, atStart[language.OfSource(v.path)])
	for ; len(v.parts) < n && c.parts < mostParts; made++ {
		wanted := sizes[made%len(sizes)]
		wanted.lines = max(1, int(float64(wanted.lines)*factor*math.Exp(ownSpread*c.rng.NormFloat64())+0.5))
		if !c.next(v, wanted, unlike) && (made >= max(v.edited, 1) || !c.next(v, wanted, 2*unlike)) {
			break
		}
	}
}

// choose chooses the windows to show of each file. A changed file shows as many unchanged parts as changed ones, each
// of about the same length. If no test changes, some unchanged files show as many parts as a changed one; otherwise they
// would be all the code without an edit, and tests would stand out. So neither the number, the size nor the position of
// a part shows whether it changes.
func (m *maker) choose(all []*view, rng *rand.Rand) {
	c := &choice{m: m, rng: rng, room: int(float64(m.Budget.Retrieval()*tokens.PerToken) * windowShare), wanted: shortPart}
	for _, v := range all {
		for _, r := range v.rows() {
			c.wanted = min(max(c.wanted, v.lines(r)), longPart)
		}
	}
	var sizes []size
	most, code, tested := 1, 0, false
	for _, v := range all {
		c.showNeeded(v)
		sizes = append(sizes, v.sizes()...)
		switch {
		case v.edited == 0:
		case language.IsTest(v.path):
			tested = true
		default:
			most, code = max(most, 2*v.edited), code+1
		}
	}
	if len(sizes) == 0 {
		sizes = []size{{shortPart, 1}}
	}
	slices.SortFunc(sizes, func(a, b size) int { return b.lines - a.lines })
	all = slices.Clone(all)
	rng.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	changed := lists.Filter(all, func(v *view) bool { return v.edited > 0 })
	others := lists.Filter(all, func(v *view) bool { return v.edited == 0 })
	few := 0
	if !tested {
		few = min(max(1, depsShown*code), len(others))
	}
	most = max(most, (leastParts-1)/max(1, len(changed)+few)+1)
	factor, missing := math.Exp(spread*rng.NormFloat64()), 0
	for _, v := range changed {
		n := most
		if tested {
			n = 2 * v.edited
		}
		c.fill(v, n, v.sizes(), factor)
		if len(v.parts) == v.edited && !language.IsTest(v.path) {
			missing += v.edited
		}
	}
	for i, v := range others {
		switch {
		case i < few:
			c.fill(v, most, sizes, factor)
		case missing > 0: // instead of the unchanged parts that a small file does not have
			c.fill(v, 1, sizes, factor)
			missing -= len(v.parts)
		}
	}
}
