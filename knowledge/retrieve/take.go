package retrieve

import (
	"cmp"
	"container/heap"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/runplan/runplan/internal/lists"
	"github.com/runplan/runplan/internal/store"
	"github.com/runplan/runplan/internal/tokens"
)

// Parameters for taking chunks from a ranking.
const (
	sFirst = iota // bonus of the first chunk of a file
	sMany         // penalty for each chunk already taken from the file
	sSize         // penalty for a thousand characters
	sWords        // share of the room for results of the words alone
	spreads
)

var spread = [spreads]float64{sFirst: 0.8, sMany: 0.04, sSize: 0.7, sWords: 0.25}

// Weights returns the parameters of ranking and taking, for fitting.
func Weights() []float64 { return append(append([]float64{}, weights[:]...), spread[:]...) }

// Number of characters that a package adds around a piece and around a file.
const (
	marks     = 40
	fileMarks = 40
)

// Item is a chunk that [Take] may take.
type Item struct {
	Path  string
	Start int
	Chars int     // of its text and label
	Score float64 // in the ranking by all features
	Words float64 // BM25 of its words; 0 if it is not code
	Joins bool    // only blank lines are between it and the chunk of its file before it
}

// Take takes chunks until the room is used up, in characters, and returns their indexes in the order of taking. The
// ranking decides first, and prefers chunks of new files. BM25 of the words alone decides about a share of the room,
// so the result also contains the best results of a plain search. Chunks that follow each other become one piece, so
// the second costs only its text.
func Take(items []Item, room int, by []float64) []int {
	t := newTaking(items, by)
	t.more(room)
	return t.out
}

func newTaking(items []Item, by []float64) *taking {
	t := &taking{items: items, by: by, taken: make([]bool, len(items)), of: map[string]int{},
		before: make([]int, len(items)), after: make([]int, len(items))}
	for i := range items {
		t.before[i], t.after[i] = -1, -1
	}
	order := lists.Order(items, func(a, b Item) int { return cmp.Or(strings.Compare(a.Path, b.Path), a.Start-b.Start) })
	for k := 1; k < len(order); k++ {
		if a, b := order[k-1], order[k]; items[a].Path == items[b].Path && items[b].Joins {
			t.after[a], t.before[b] = b, a
		}
	}
	return t
}

// more takes chunks until a further room is used up.
func (t *taking) more(room int) {
	t.room += room
	t.ranked(int(t.by[sWords] * float64(room)))
	for _, i := range t.plain {
		if t.of[t.items[i].Path] == 0 && t.cost(i) <= t.room {
			t.take(i)
		}
	}
	t.worded()
	t.ranked(0)
}

// taking is the state of [Take].
type taking struct {
	items         []Item
	by            []float64
	plain         []int // a chunk of each file that a plain search shows, the best first
	room          int
	taken         []bool
	of            map[string]int // chunks taken from each file
	before, after []int          // chunks that a chunk joins; -1 for none
	out           []int
}

// cost returns the number of characters that a chunk adds to a package.
func (t *taking) cost(i int) int {
	n := t.items[i].Chars + marks
	for _, k := range []int{t.before[i], t.after[i]} {
		if k >= 0 && t.taken[k] {
			n -= marks
		}
	}
	if t.of[t.items[i].Path] == 0 {
		n += fileMarks
	}
	return n
}

func (t *taking) take(i int) {
	t.room -= t.cost(i)
	t.taken[i] = true
	t.of[t.items[i].Path]++
	t.out = append(t.out, i)
}

// ranked takes chunks by their score until only keep characters are left.
func (t *taking) ranked(keep int) {
	// The value of a chunk only falls as others of its file are taken. So it is enough to requeue a chunk with its new
	// value.
	var q queue
	value := func(i int) (float64, int) {
		x, have := &t.items[i], t.of[t.items[i].Path]
		v := x.Score - t.by[sSize]*min(10, float64(x.Chars+marks)/1000) - t.by[sMany]*float64(have)
		if have == 0 {
			v += t.by[sFirst]
		}
		return v, have
	}
	for i := range t.items {
		if !t.taken[i] {
			v, seen := value(i)
			q = append(q, queued{i, v, seen})
		}
	}
	heap.Init(&q)
	for len(q) > 0 && t.room-keep > 0 {
		x := &q[0]
		if v, have := value(x.i); have != x.seen {
			x.value, x.seen = v, have
			heap.Fix(&q, 0)
			continue
		}
		if t.cost(x.i) <= t.room-keep {
			t.take(x.i)
		}
		heap.Pop(&q)
	}
}

// worded takes chunks by their words.
func (t *taking) worded() {
	var order []int
	for i, x := range t.items {
		if x.Words > 0 && !t.taken[i] {
			order = append(order, i)
		}
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Or(cmp.Compare(t.items[b].Words, t.items[a].Words), a-b) })
	for _, i := range order {
		if t.cost(i) <= t.room {
			t.take(i)
		}
	}
}

type queued struct {
	i     int
	value float64
	seen  int // chunks of the file that were taken when value was computed
}

type queue []queued

func (q queue) Len() int { return len(q) }
func (q queue) Less(i, j int) bool {
	return q[i].value > q[j].value || q[i].value == q[j].value && q[i].i < q[j].i
}
func (q queue) Swap(i, j int) { q[i], q[j] = q[j], q[i] }
func (q *queue) Push(x any)   { *q = append(*q, x.(queued)) }
func (q *queue) Pop() any {
	old := *q
	x := old[len(old)-1]
	*q = old[:len(old)-1]
	return x
}

// roomShare is the share of the budget for chunks. The rest is for imports of their files.
const roomShare = 0.96

// spareShare is the same for what a package has left: the headings of its last pieces are only estimated.
const spareShare = 0.9

// takeRanked chooses whole chunks from the ranking until the budget is used up. It joins adjacent chunks. How much room
// headings and imports need is known when all is packed. What they leave is for more chunks: without these, packages
// used 97 % of the budget.
func (p *pass) takeRanked(ctx context.Context, s *State) error {
	perToken := tokens.PerToken / (1 + p.req.Budget.Margin)
	list := p.ranked[:min(len(p.ranked), mostRanked)]
	t := newTaking(p.items(list), spread[:])
	room := float64(p.req.Budget.Retrieval()) * perToken
	t.plain = p.plain(list, t.items, int(room))
	t.more(int(room*roomShare) - len(heading))
	chosen, decided := p.chunks(*s, list, t.out)
	if len(t.out) < len(list) {
		pkg, err := p.pack(ctx, chosen)
		if err != nil {
			return err
		}
		t.more(int(float64(pkg.Budget-pkg.Tokens) * perToken * spareShare))
		chosen, decided = p.chunks(*s, list, t.out)
	}
	*s = chosen
	return p.decide(ctx, searchStep, decided)
}

// chunks adds ranked chunks to the choices.
func (p *pass) chunks(s State, list []Ranked, taken []int) (State, []store.FileDecision) {
	files := lists.By(s.Files, func(f File) string { return f.Path })
	asFile := func(r Ranked) File {
		if f, ok := files[r.Path]; ok {
			return f
		}
		f := p.names.at(r.Path)
		x := File{f.ID, f.Path, f.Language, f.Hash, 1, r.reason(), r.Features[fPath] > 0}
		files[r.Path] = x
		return x
	}
	s.Files, s.Choices = slices.Clone(s.Files), slices.Clone(s.Choices)
	var all []store.FileDecision
	for at, i := range taken {
		r := list[i]
		f := asFile(r)
		if !s.has(r.Path) {
			s.Files = append(s.Files, f)
		}
		all = append(all, store.FileDecision{File: f.ID, Path: r.Path, Symbol: r.Label, Tier: strconv.Itoa(f.Tier),
			Included: true, Reason: fmt.Sprintf("place %d of the search: %s", i+1, r.reason())})
		s.Choices = append(s.Choices,
			Choice{Path: r.Path, Symbol: r.Label, Kind: kindLines, Start: r.Start, End: r.End, Detail: Primary, Tier: f.Tier,
				Score: len(taken) - at, Why: r.reason()})
	}
	s.Choices = joined(s.Choices, p.tree)
	s.Precise = true
	return s, all
}

// items returns the data of ranked chunks for [Take].
func (p *pass) items(list []Ranked) []Item {
	out := make([]Item, len(list))
	for i, r := range list {
		out[i] = Item{Path: r.Path, Start: r.Start, Score: r.Score, Chars: 1 << 30}
		if c := p.tree.source(r.Path); c.bad == "" {
			out[i].Chars = utf8.RuneCountInString(c.span(r.Start, r.End)) + utf8.RuneCountInString(r.Label)
		}
		if r.Features[fDoc] == 0 {
			out[i].Words = r.Features[fWords]
		}
	}
	order := lists.Order(list, func(a, b Ranked) int { return cmp.Or(strings.Compare(a.Path, b.Path), a.Start-b.Start) })
	for k := 1; k < len(order); k++ {
		if a, b := list[order[k-1]], list[order[k]]; a.Path == b.Path {
			out[order[k]].Joins = strings.TrimSpace(p.tree.source(a.Path).between(a.End, b.Start)) == ""
		}
	}
	return out
}

// mostRanked is the highest number of ranked chunks to consider.
const mostRanked = 4000

// joined joins choices that have only blank lines between them.
func joined(all []Choice, t *tree) []Choice {
	slices.SortStableFunc(all,
		func(a, b Choice) int { return cmp.Or(cmp.Compare(a.Path, b.Path), cmp.Compare(a.Start, b.Start)) })
	var out []Choice
	for _, c := range all {
		if n := len(out); n > 0 && out[n-1].Path == c.Path &&
			strings.TrimSpace(t.source(c.Path).between(out[n-1].End, c.Start)) == "" {
			last := &out[n-1]
			last.End, last.Score = max(last.End, c.End), max(last.Score, c.Score)
			if c.Symbol != "" && last.Symbol != "" {
				last.Symbol += ", "
			}
			last.Symbol += c.Symbol
			continue
		}
		out = append(out, c)
	}
	return out
}

// between returns the text between two lines.
func (s *source) between(a, b int) string {
	if b <= a+1 {
		return ""
	}
	return s.span(a+1, b-1)
}
