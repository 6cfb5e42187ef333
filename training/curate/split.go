package curate

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/runplan/runplan/internal/lists"
	"github.com/runplan/runplan/training"
	"github.com/runplan/runplan/training/plan"
)

// Validation is the newest part of each repository. Related examples stay together: examples of one commit or one task,
// with the same prompt, or with nearly the same text. If shared file versions connect too many examples, the split cuts
// them by time. It then drops examples that would be on both sides from the smaller side.

// group is a set of examples that stay together.
type group struct {
	members []*record
	unix    int64  // time of the newest
	name    string // id of the first, which orders groups of the same time
}

// stratum is a class of examples. Validation needs a share of each class.
type stratum struct {
	repo     string
	kind     training.Kind
	pair     bool
	positive bool
}

func (r *record) stratum() stratum { return stratum{r.repo, r.kind, r.pair, r.positive} }

// splitter assigns each example to a side.
type splitter struct {
	all    []*record
	held   map[*record]bool // validation side
	want   map[stratum]int
	have   map[stratum]int
	of     map[stratum]int
	totals map[training.Kind]int
}

// split returns the held-out examples and drops those that would be on both sides. near lists pairs that must stay
// together.
func split(p plan.Plan, all []*record, near [][2]*record) (map[*record]bool, error) {
	s := &splitter{
		all: left(all), held: map[*record]bool{}, want: map[stratum]int{}, have: map[stratum]int{},
	}
	inTime(s.all, p.Seed)
	s.of = lists.Counts(s.all, (*record).stratum)
	s.totals = lists.Counts(s.all, func(r *record) training.Kind { return r.kind })
	for st, n := range s.of {
		s.want[st] = int(math.Round(p.Data.ValidationSplit * float64(n)))
	}
	loose := groups(s.all, near, func(r *record) []string { return r.hard })
	tied := groups(s.all, near, func(r *record) []string { return slices.Concat(r.hard, r.soft) })
	s.take(tied)
	if s.short() {
		s.take(loose)
		s.resolve()
	}
	if err := s.kinds(loose); err != nil {
		return nil, err
	}
	return s.held, nil
}

// groups groups records that share a key or are a pair, newest group first.
func groups(all []*record, near [][2]*record, keys func(*record) []string) []group {
	parent := map[*record]*record{}
	find := func(r *record) *record {
		for parent[r] != nil {
			if up := parent[parent[r]]; up != nil {
				parent[r] = up
			}
			r = parent[r]
		}
		return r
	}
	join := func(a, b *record) {
		if a, b = find(a), find(b); a != b {
			parent[b] = a
		}
	}
	first := map[string]*record{}
	for _, r := range all {
		for _, k := range keys(r) {
			if f, ok := first[k]; ok {
				join(f, r)
			} else {
				first[k] = r
			}
		}
	}
	for _, n := range near {
		join(n[0], n[1])
	}
	byRoot := map[*record]*group{}
	var out []*group
	for _, r := range all {
		root := find(r)
		g := byRoot[root]
		if g == nil {
			g = &group{name: r.id}
			byRoot[root], out = g, append(out, g)
		}
		g.members, g.unix = append(g.members, r), max(g.unix, r.unix)
	}
	slices.SortFunc(out, func(a, b *group) int { return cmp.Or(cmp.Compare(b.unix, a.unix), cmp.Compare(a.name, b.name)) })
	return lists.Map(out, func(g *group) group { return *g })
}

// take moves groups into validation, newest first, if they add missing examples and few others.
func (s *splitter) take(all []group) {
	for _, g := range all {
		if s.taken(g) {
			continue
		}
		fits, helps := true, false
		for st, n := range lists.Counts(left(g.members), (*record).stratum) {
			helps = helps || s.have[st] < s.want[st]
			fits = fits && s.have[st]+n <= s.want[st]+s.of[st]/20
		}
		if fits && helps {
			s.hold(g)
		}
	}
}

func (s *splitter) taken(g group) bool { return slices.ContainsFunc(g.members, s.has) }
func (s *splitter) has(r *record) bool { return s.held[r] }

func (s *splitter) hold(g group) {
	for _, r := range g.members {
		if r.out == "" && !s.held[r] {
			s.held[r] = true
			s.have[r.stratum()]++
		}
	}
}

// short reports whether a wanted stratum is less than half filled.
func (s *splitter) short() bool {
	for st, n := range s.want {
		if 2*s.have[st] < n {
			return true
		}
	}
	return len(s.held) == 0
}

// resolve drops examples whose key is on both sides. It drops them on the side with fewer of them.
func (s *splitter) resolve() {
	sides := map[string]*[2][]*record{}
	for _, r := range s.all {
		if r.out != "" {
			continue
		}
		side := one(s.held[r])
		for _, k := range slices.Concat(r.hard, r.soft) {
			if sides[k] == nil {
				sides[k] = &[2][]*record{}
			}
			sides[k][side] = append(sides[k][side], r)
		}
	}
	for _, k := range slices.Sorted(maps.Keys(sides)) {
		train, held := left(sides[k][0]), left(sides[k][1])
		if len(train) == 0 || len(held) == 0 {
			continue
		}
		goes := train
		if len(held) < len(train) {
			goes = held
		}
		for _, r := range goes {
			r.drop(Leaks, "shares "+k)
			if s.held[r] {
				delete(s.held, r)
				s.have[r.stratum()]--
			}
		}
	}
}

func one(b bool) int {
	if b {
		return 1
	}
	return 0
}

// kinds makes sure that each kind of pair is on both sides (TRAIN-18) and that validation is not empty.
func (s *splitter) kinds(loose []group) error {
	for _, k := range slices.Sorted(maps.Keys(s.totals)) {
		if s.totals[k] < 2 {
			continue // a single example cannot be on both sides
		}
		for _, g := range loose {
			if train, held := s.sides(k); held > 0 || train < 2 {
				break
			}
			n := lists.Sum(g.members, func(r *record) int { return one(r.out == "" && r.kind == k) })
			if train, _ := s.sides(k); n == 0 || n >= train {
				continue
			}
			s.hold(g)
			s.resolve()
		}
		if train, held := s.sides(k); train == 0 || held == 0 {
			what := "examples"
			if k != "" {
				what = string(k) + " pairs"
			}
			return fmt.Errorf(
				"%w: of %d %s, %d are left for training and %d for validation; they share commits, tasks or file versions, or "+
					"have nearly the same text. Add another repository or more history", ErrSplit, s.totals[k], what, train, held)
		}
	}
	if len(s.held) == 0 {
		return fmt.Errorf("%w: %d example(s) are too few", ErrSplit, len(s.all))
	}
	return nil
}

// sides counts a kind on both sides.
func (s *splitter) sides(k training.Kind) (train, held int) {
	for _, r := range s.all {
		if r.out == "" && r.kind == k {
			held += one(s.held[r])
			train += one(!s.held[r])
		}
	}
	return train, held
}
