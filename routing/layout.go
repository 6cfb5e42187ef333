package routing

import (
	"cmp"
	"math/bits"
	"slices"

	"github.com/runplan/runplan/internal/lists"
	"github.com/runplan/runplan/planparse"
)

// layout applies the graph to the batches that run. Skipped batches are transparent: a batch that needs one waits
// for the needs of that one.
type layout struct {
	*graph
	run    []int   // batches that run, in plan order
	runs   []bool  // by batch
	needs  [][]int // direct needs of each batch, in plan order
	levels [][]int // batches by the length of the longest chain above them
	width  []int   // largest set of mutually independent batches

	sharedFiles int // over all pairs of running batches
	meanOverlap float64
}

// layoutOf computes the layout. The graph must be closed.
func layoutOf(g *graph, runs []bool) *layout {
	s := &layout{graph: g, runs: runs}
	for i, yes := range runs {
		if yes {
			s.run = append(s.run, i)
		}
	}
	s.reduce()
	s.level()
	s.width = s.widest()
	s.count()
	return s
}

// reduce computes the direct needs: those of a batch, without those that its other needs imply.
func (s *layout) reduce() {
	n := len(s.order)
	s.needs = make([][]int, n)
	if s.big {
		last := -1
		for _, i := range s.order {
			if last >= 0 {
				s.needs[i] = []int{last}
			}
			if s.runs[i] {
				last = i
			}
		}
		return
	}
	covered := newSet(n)
	for _, to := range s.order {
		clear(covered)
		for _, from := range slices.Backward(s.order[:s.at[to]]) {
			if s.runs[from] && s.above[to].has(from) && !covered.has(from) {
				s.needs[to] = append(s.needs[to], from)
				covered.add(from, s.above[from])
			}
		}
		slices.Sort(s.needs[to])
	}
}

func (s *layout) level() {
	depth := make([]int, len(s.order))
	for _, i := range s.order {
		if !s.runs[i] {
			continue
		}
		for _, j := range s.needs[i] {
			depth[i] = max(depth[i], depth[j]+1)
		}
		for len(s.levels) <= depth[i] {
			s.levels = append(s.levels, nil)
		}
		s.levels[depth[i]] = append(s.levels[depth[i]], i)
	}
	for _, l := range s.levels {
		slices.Sort(l)
	}
}

// count compares the files of all pairs: for the score (ROUTE-04), and for the mean of TEAM-05 over pairs with
// files. For speed, it only visits pairs with a common file.
func (s *layout) count() {
	if s.big {
		return
	}
	touch := map[string][]int{}
	common := make([]int, len(s.order))
	named, overlaps := 0, 0.0
	for k, i := range s.run {
		mine := s.does[i]
		var with []int
		if len(mine.wide) > 0 {
			with = s.run[:k]
		}
		for _, p := range mine.all {
			for _, j := range touch[p] {
				if common[j]++; common[j] == 1 && len(mine.wide) == 0 && len(s.does[j].wide) == 0 {
					with = append(with, j)
				}
			}
			touch[p] = append(touch[p], i)
		}
		if len(mine.wide) == 0 {
			for _, j := range s.run[:k] {
				if len(s.does[j].wide) > 0 {
					with = append(with, j)
				}
			}
		}
		for _, j := range with {
			n := common[j]
			if len(mine.wide)+len(s.does[j].wide) > 0 { // folders and patterns need a full comparison
				n = min(sharing(mine, s.does[j]), sharing(s.does[j], mine))
				overlaps += s.overlap(j, i)
			} else {
				overlaps += 100 * float64(n) / float64(min(len(mine.all), len(s.does[j].all)))
			}
			s.sharedFiles += n
		}
		clear(common)
		if len(mine.all) > 0 {
			named++
		}
	}
	if named > 1 {
		s.meanOverlap = overlaps / float64(named*(named-1)/2)
	}
}

func (s *layout) overlap(a, b int) float64 { return overlap(s.does[a], s.does[b]) }

// path reports whether one of the two depends on the other.
func (s *layout) path(a, b int) bool { return s.big || s.graph.path(a, b) }

// widest finds the largest set of mutually independent batches. By Dilworth's theorem its size equals the minimum
// number of chains that cover all batches. The chains come from a maximum matching of each batch with a successor,
// and the set from the matching by König's theorem. Of several such sets, it returns the latest.
func (s *layout) widest() []int {
	if s.big {
		return s.run[:min(len(s.run), 1)]
	}
	n := len(s.order)
	below, all := make([]set, n), newSet(n)
	for _, i := range s.run {
		below[i] = newSet(n)
		all.put(i)
	}
	for _, to := range s.run {
		for _, from := range s.run {
			if s.above[to].has(from) {
				below[from].put(to)
			}
		}
	}
	m := matching{below: below, follower: make([]int, n), leader: make([]int, n)}
	for i := range n {
		m.follower[i], m.leader[i] = -1, -1
	}
	for _, i := range s.run {
		m.left = slices.Clone(all)
		m.augment(i)
	}
	// Find what alternating paths reach from the ends of chains.
	m.left = all
	ends, reached := newSet(n), newSet(n)
	var visit func(i int)
	visit = func(i int) {
		ends.put(i)
		for j := m.left.first(below[i]); j >= 0; j = m.left.first(below[i]) {
			m.left.drop(j)
			reached.put(j)
			if k := m.leader[j]; k >= 0 && !ends.has(k) {
				visit(k)
			}
		}
	}
	for _, i := range s.run {
		if m.follower[i] < 0 {
			visit(i)
		}
	}
	return lists.Filter(s.run, func(i int) bool { return ends.has(i) && !reached.has(i) })
}

// matching gives each batch at most one successor and at most one predecessor.
type matching struct {
	below            []set
	follower, leader []int
	left             set // batches not yet tried in this search
}

// augment finds a follower for i, and a new one for the batch that loses it.
func (m *matching) augment(i int) bool {
	for j := m.left.first(m.below[i]); j >= 0; j = m.left.first(m.below[i]) {
		m.left.drop(j)
		if m.leader[j] < 0 || m.augment(m.leader[j]) {
			m.follower[i], m.leader[j] = j, i
			return true
		}
	}
	return false
}

// keys returns the keys of batches.
func (s *layout) keys(batches []int) []string {
	out := lists.Map(batches, func(i int) string { return s.plan.Batches[i].Key })
	return append([]string{}, out...) // not nil, which JSON writes as null
}

// mostPairs limits the list of independent pairs. The evidence for two particular batches is available separately.
const mostPairs = 5000

// pairs lists the independent pairs with the evidence, neighbors first. left is the number of omitted pairs.
func (s *layout) pairs() (out []Pair, left int) {
	out = []Pair{}
	if s.big {
		return out, 0
	}
	for far := 1; far < len(s.run); far++ {
		for k := far; k < len(s.run); k++ {
			a, b := s.run[k-far], s.run[k]
			if s.path(a, b) {
				continue
			}
			if len(out) == mostPairs {
				left++
				continue
			}
			if s.at[a] > s.at[b] {
				a, b = b, a
			}
			out = append(out, Pair{
				A: s.plan.Batches[a].Key, B: s.plan.Batches[b].Key, Overlap: s.overlap(a, b),
				Reason: s.independent(a, b),
			})
		}
	}
	place := lists.Index(s.plan.Batches, func(b planparse.Batch) string { return b.Key })
	slices.SortFunc(out, func(x, y Pair) int {
		return cmp.Or(cmp.Compare(place[x.B], place[y.B]), cmp.Compare(place[x.A], place[y.A]))
	})
	return out, left
}

// set is a set of batches, by number.
type set []uint64

func newSet(n int) set { return make(set, (n+63)/64) }

func (s set) has(i int) bool { return s[i/64]&(1<<(i%64)) != 0 }

func (s set) put(i int) { s[i/64] |= 1 << (i % 64) }

func (s set) drop(i int) { s[i/64] &^= 1 << (i % 64) }

// add adds i and everything that it depends on.
func (s set) add(i int, behind set) {
	s.put(i)
	for k, w := range behind {
		s[k] |= w
	}
}

// first returns the smallest number that is in both, or -1.
func (s set) first(other set) int {
	for k, w := range s {
		if w &= other[k]; w != 0 {
			return 64*k + bits.TrailingZeros64(w)
		}
	}
	return -1
}
