package routing

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/runplan/runplan/internal/condition"
	"github.com/runplan/runplan/internal/lists"
	"github.com/runplan/runplan/internal/phrase"
)

// DefaultScore is the parallelism score as an expression over [ScoreFact] (ROUTE-04): the time that a team saves, as a
// share of the maximum possible saving, minus penalties. The result is rounded and limited to 0 to 100.
const DefaultScore = "max(0, min(100, round((m > 0 ? 100*s/m : 0) - 100*o - 20*min(h, 2) + 20*p)))"

// terms describes the terms of the formula with their evidence.
func (s *layout) terms(f ScoreFact, alone, together time.Duration, equal bool) []string {
	if f.W < 2 {
		if len(s.run) < 2 {
			return []string{"0: the plan has one batch"}
		}
		return []string{"0: no two batches may run at the same time, so more workers save nothing"}
	}
	took := func(d time.Duration) string {
		if equal {
			return fmt.Sprintf("%d", d/time.Hour)
		}
		return Minutes(d)
	}
	unit := ""
	if equal {
		unit = " steps of equal length"
	}
	out := []string{fmt.Sprintf("%.0f: %d workers need %s instead of %s%s, which saves %.0f %% of at most %.0f %%",
		100*f.S/f.M, f.W, took(together), took(alone), unit, 100*f.S, 100*f.M)}
	if f.O > 0 {
		out = append(out, fmt.Sprintf("-%.0f: the average overlap of batches is %s%s", 100*f.O, Percent(100*f.O),
			s.overlaps()))
	}
	if f.H > 0 {
		out = append(out, fmt.Sprintf("-%d: %s state of the machine: %s", 20*min(f.H, 2),
			phrase.Count(f.H, "batch shares", "batches share"), s.few(s.sharing())))
	}
	if f.P > 0 {
		out = append(out, "+20: the plan says parallel_safe: true")
	}
	return out
}

// overlaps names the pairs with the largest overlap: ", most of it B4 with B5 (73%)".
func (s *layout) overlaps() string {
	type pair struct {
		a, b int
		o    float64
	}
	var pairs []pair
	if len(s.run) > mostAssessed {
		return ""
	}
	for k, b := range s.run {
		for _, a := range s.run[:k] {
			if o := s.overlap(a, b); o > 0 {
				pairs = append(pairs, pair{a, b, o})
			}
		}
	}
	slices.SortStableFunc(pairs, func(x, y pair) int { return -cmp.Compare(x.o, y.o) })
	most := lists.Map(pairs[:min(len(pairs), 2)],
		func(p pair) string { return fmt.Sprintf("%s with %s (%s)", s.name(p.a), s.name(p.b), Percent(p.o)) })
	if len(most) == 0 {
		return ""
	}
	return ", most of it " + strings.Join(most, " and ")
}

// scoreOf computes the score and its reasons over the batches that run. Finished batches cannot be in the way.
// Neighbors are the previous and the next batch in the plan.
func (s *layout) scoreOf(rules Rules, workers int, took func(batch int) time.Duration) (Score, error) {
	f := s.facts()
	f.W = min(workers, len(s.width))
	alone, together, equal := s.simulate(f.W, took)
	if f.W < 2 || alone <= 0 {
		f.W = min(f.W, 1)
	} else {
		f.M = 1 - 1/float64(f.W)
		f.S = max(0, 1-float64(together)/float64(alone))
	}
	out := Score{Facts: f, Source: cmp.Or(rules.Score, DefaultScore), Terms: []string{}, Plus: []string{}, Minus: []string{}}
	if rules.Score == "" {
		out.Terms = s.terms(f, alone, together, equal)
	}
	var err error
	if out.Value, err = scoreBy(out.Source, f); err != nil {
		return out, fmt.Errorf("routing.score: %w", err)
	}
	s.reasons(&out)
	return out, nil
}

// scoreBy computes the score with an expression.
func scoreBy(text string, f ScoreFact) (int, error) {
	e, err := condition.ParseNumber[ScoreFact](text)
	if err != nil {
		return 0, err
	}
	v, err := e.Value(f)
	return int(max(0, min(100, math.Round(v)))), err
}

// facts computes the inputs of the score (ROUTE-03). A single batch does not count as independent of its
// neighbors: a plan of one batch cannot gain.
func (s *layout) facts() ScoreFact {
	var f ScoreFact
	free := 0
	for k, i := range s.run {
		apart := func(j int) bool { return !s.path(i, j) && sharing(s.does[i], s.does[j]) == 0 }
		if len(s.run) > 1 && (k == 0 || apart(s.run[k-1])) && (k == len(s.run)-1 || apart(s.run[k+1])) {
			free++
		}
	}
	f.H = len(s.sharing())
	if len(s.run) > 0 {
		f.Z = float64(free) / float64(len(s.run))
		f.G = len(s.levels[0])
	}
	f.O = s.meanOverlap / 100
	if s.plan.Header.ParallelSafe {
		f.P = 1
	}
	return f
}

// simulate computes how long one worker and several need, with the scheduler's own rule. If any duration is unknown,
// all batches count as an hour, and equal is true.
func (s *layout) simulate(workers int, took func(batch int) time.Duration) (alone, together time.Duration, equal bool) {
	durations, needs := map[string]time.Duration{}, map[string][]string{}
	for _, i := range s.run {
		d := took(i)
		equal = equal || d <= 0
		durations[s.plan.Batches[i].Key], needs[s.plan.Batches[i].Key] = d, s.keys(s.needs[i])
	}
	for key := range durations {
		if equal {
			durations[key] = time.Hour
		}
		alone += durations[key]
	}
	return alone, Makespan(durations, needs, workers), equal
}

// reasons lists the arguments for and against concurrent work.
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
	case 0: // the other terms explain it
	case 1:
		plus("1 group of independent batches: %s", groups[0])
	default:
		text := strings.Join(groups[:min(len(groups), 4)], "; ")
		if len(groups) > 4 {
			text += fmt.Sprintf(" and %d more", len(groups)-4)
		}
		plus("%d groups of independent batches: %s", len(groups), text)
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
				say("%s and %s share %s, so they run one after the other", s.name(from), s.name(to), phrase.Count(n, "file"))
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
		say("nothing shows that %s of batches are independent, so they run in plan order", phrase.Count(alone, "pair"))
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

// few names batches: "B1, B2, B5".
func (s *layout) few(batches []int) string {
	return phrase.Few(lists.Map(batches, s.name), 6)
}
