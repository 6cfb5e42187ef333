package routing

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/runplan/runplan/internal/condition"
	"github.com/runplan/runplan/internal/phrase"
)

// DefaultScore is the parallelism score as an expression over [ScoreFact] (ROUTE-04). Whatever an expression gives is
// rounded and kept between 0 and 100.
const DefaultScore = "max(0, min(100, round(50*z + 10*min(g-1, 3) - 40*o - 20*min(h, 2) + 20*p)))"

// defaultScore is what DefaultScore says, in Go. A test holds the two together.
func defaultScore(f ScoreFact) int {
	s := 50*f.Z + float64(10*min(f.G-1, 3)) - 40*f.O - float64(20*min(f.H, 2)) + float64(20*f.P)
	return int(max(0, min(100, math.Round(s))))
}

// scoreOf computes the score and its reasons. All of it is about the batches that are to run: what is done already can't
// be in anybody's way. Neighbours are the batches before and behind in the plan.
func (s *layout) scoreOf(rules Rules) (Score, error) {
	f := s.facts()
	out := Score{Facts: f, Source: DefaultScore, Plus: []string{}, Minus: []string{}}
	if rules.Score == "" {
		out.Value = defaultScore(f)
	} else {
		v, err := scoreBy(rules.Score, f)
		if err != nil {
			return out, fmt.Errorf("routing.score: %w", err)
		}
		out.Value, out.Source = v, rules.Score
	}
	s.reasons(&out)
	return out, nil
}

// scoreBy computes a score by an expression.
func scoreBy(text string, f ScoreFact) (int, error) {
	e, err := condition.ParseNumber[ScoreFact](text)
	if err != nil {
		return 0, err
	}
	v, err := e.Value(f)
	return int(max(0, min(100, math.Round(v)))), err
}

// facts are what the score is made of (ROUTE-03). A batch without any neighbour counts as none that is independent of
// its neighbours: a plan of one batch has nothing to gain.
func (s *layout) facts() ScoreFact {
	var f ScoreFact
	free := 0
	for k, i := range s.run {
		apart := func(j int) bool { return !s.path(i, j) && sharing(s.does[i], s.does[j]) == 0 }
		if len(s.run) > 1 && (k == 0 || apart(s.run[k-1])) && (k == len(s.run)-1 || apart(s.run[k+1])) {
			free++
		}
		if len(s.hints[i]) > 0 {
			f.H++
		}
	}
	if len(s.run) > 0 {
		f.Z = float64(free) / float64(len(s.run))
		f.G = len(s.levels[0])
	}
	if s.unionFiles > 0 {
		f.O = float64(s.sharedFiles) / float64(s.unionFiles)
	}
	if s.plan.Header.ParallelSafe {
		f.P = 1
	}
	return f
}

// reasons says for people what speaks for and against working on several batches at a time.
func (s *layout) reasons(out *Score) {
	plus := func(format string, args ...any) { out.Plus = append(out.Plus, fmt.Sprintf(format, args...)) }
	minus := func(format string, args ...any) { out.Minus = append(out.Minus, fmt.Sprintf(format, args...)) }
	var groups []string
	for _, level := range s.levels {
		if len(level) > 1 {
			groups = append(groups, s.few(level))
		}
	}
	switch len(groups) {
	case 0:
		if len(s.run) > 1 {
			minus("no two batches may run at the same time")
		}
	case 1:
		plus("1 group of independent batches: %s", groups[0])
	default:
		plus("%d groups of independent batches: %s", len(groups), strings.Join(groups[:min(len(groups), 4)], "; ")+more(len(groups)-4))
	}
	if len(s.width) > 1 {
		plus("up to %d batches at the same time: %s", len(s.width), s.few(s.width))
	}
	if len(groups) > 0 {
		plus("the batches of a group name no file in common")
	}
	if out.Facts.P > 0 {
		plus("the plan says parallel_safe: true")
	}
	s.against(minus)
}

// against lists what keeps batches apart.
func (s *layout) against(minus func(string, ...any)) {
	lines := 0
	say := func(format string, args ...any) {
		if lines++; lines <= 8 {
			minus(format, args...)
		}
	}
	for k, to := range s.run {
		for _, from := range s.run[:k] {
			e := s.found[[2]int{from, to}]
			if e != nil && slices.Contains(e.kinds, EdgeFiles) {
				n := max(sharing(s.does[from], s.does[to]), 1)
				say("%s and %s share %s, so that they run one after the other", s.name(from), s.name(to), phrase.Count(n, "file"))
			}
		}
	}
	alone := 0
	for pair, e := range s.found {
		if e.kinds[0] == EdgeOrder && s.runs[pair[0]] && s.runs[pair[1]] {
			alone++
		}
	}
	if alone > 0 {
		say("nothing shows that %s of batches are independent, so that the plan's order holds", phrase.Count(alone, "pair"))
	}
	by := map[string][]int{}
	var hints []string
	for _, i := range s.run {
		for _, h := range s.hints[i] {
			if by[h] == nil {
				hints = append(hints, h)
			}
			by[h] = append(by[h], i)
		}
	}
	for _, h := range hints {
		if len(by[h]) == 1 {
			say("%s %s", s.name(by[h][0]), h)
		} else {
			say("%s share the machine: each %s", s.few(by[h]), h)
		}
	}
	if lines > 8 {
		minus("and %d more", lines-8)
	}
}

// few names batches: "B1, B2 and B5".
func (s *layout) few(batches []int) string {
	var names []string
	for _, i := range batches {
		names = append(names, s.name(i))
	}
	if len(names) <= 6 {
		return strings.Join(names, ", ")
	}
	return strings.Join(names[:6], ", ") + more(len(names)-6)
}

func more(n int) string {
	if n <= 0 {
		return ""
	}
	return fmt.Sprintf(" and %d more", n)
}
