package main

import (
	"hash/fnv"
	"maps"
	"math/rand/v2"
	"slices"

	"github.com/runplan/runplan/sampling"
)

// contest is one tournament: the eligible candidates of a commit with all inputs of a choice.
type contest struct {
	right   []bool // the held-out tests pass; only the oracle sees it
	measure []sampling.Measure
	kinds   []string
	numbers []int
	tests   []sampling.CrossTest
}

// setting says which tests a tournament shows in addition to the project's.
type setting struct {
	name    string
	visible float64 // share of the commit's tests that candidates had to pass
	own     float64 // probability that a candidate tests one of the situations of the commit's tests
	held    float64 // share of the commit's tests that a first writer had held out
	some    bool    // a candidate tests at least one situation
}

// settings are the kinds of tournaments. In the weak ones, no test of the project can fail.
var settings = []setting{
	{name: "weak", own: 0.5},
	{name: "weak, at least one situation tried", own: 0.5, some: true},
	{name: "weak, no candidate tests", own: 0},
	{name: "weak, a share held out", own: 0.5, held: 0.34},
	{name: "a share visible", own: 0.5, visible: 0.34},
	{name: "weak, most situations tried", own: 0.9},
}

// contest draws one tournament of a commit. It returns false if none can be drawn: all candidates were refused or
// are right, or there are too few tests.
//
// A candidate's own tests are drawn from the situations of the commit's tests. Each expects the behaviour of its
// author's code, right or wrong; it passes on another candidate with the same behaviour.
func (c *commitCase) contest(s setting, seed uint64) (contest, bool) {
	h := fnv.New64a()
	h.Write([]byte(c.fix.commit + s.name))
	rng := rand.New(rand.NewPCG(seed, h.Sum64()))
	order := rng.Perm(len(c.red))
	share := func(part float64) []string {
		if part == 0 {
			return nil
		}
		n := max(1, int(part*float64(len(c.red))))
		var out []string
		for _, i := range order[:min(n, len(order))] {
			out = append(out, c.red[i])
		}
		return out
	}
	visible, held := share(s.visible), share(s.held)
	if (len(visible) > 0 || len(held) > 0) && len(c.red) < 2 {
		return contest{}, false
	}
	var numbers []int
	var list []candidate
	all := slices.Clone(c.candidates)
	if len(visible) > 0 {
		all = append(all, c.special(visible))
	}
	for _, k := range all {
		if k.tests.passes(c.guard) && k.tests.passes(visible) {
			numbers, list = append(numbers, len(numbers)+1), append(list, k)
		}
	}
	rng.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
	tests := c.crossTests(rng, s, numbers, list)
	for _, t := range held {
		x := sampling.CrossTest{Name: t, Base: c.base.of(t) == ""}
		for i, k := range list {
			if k.tests.of(t) == "" {
				x.Passes = append(x.Passes, numbers[i])
			}
		}
		tests = append(tests, x)
	}
	evidence := sampling.Weigh(numbers, tests)
	out := contest{numbers: numbers, tests: tests}
	good := 0
	for i, k := range list {
		e := evidence[numbers[i]]
		own := 0
		for _, t := range tests {
			if t.Author == numbers[i] {
				own++
			}
		}
		m := sampling.Measure{Passed: true, Tests: len(c.guard) + len(visible) + own, DiffLines: k.diff, Evidence: &e}
		right := k.tests.passes(c.red)
		if right {
			good++
		}
		out.right, out.measure, out.kinds = append(out.right, right), append(out.measure, m), append(out.kinds, k.kind)
	}
	return out, good > 0 && good < len(list)
}

// special is the candidate that only satisfies the visible tests. It need not run: it behaves like the commit in
// these tests, and like the parent elsewhere.
func (c *commitCase) special(visible []string) candidate {
	k := candidate{kind: special, what: "a special case for the visible tests", diff: 3 * len(visible),
		tests: maps.Clone(c.base)}
	for _, t := range slices.Concat(c.guard, visible) {
		k.tests[t] = ""
	}
	return k
}

// crossTests draws the own tests of the candidates. A cheat has one that cannot fail, and noise has none.
func (c *commitCase) crossTests(rng *rand.Rand, s setting, numbers []int, list []candidate) []sampling.CrossTest {
	var out []sampling.CrossTest
	for i, k := range list {
		switch {
		case s.own == 0 || k.kind == noise:
			continue
		case k.kind == cheat:
			out = append(out, sampling.CrossTest{Author: numbers[i], Base: true, Passes: numbers})
			continue
		}
		sure := -1 // the situation that it tests in any case
		if s.some {
			sure = rng.IntN(len(c.red))
		}
		for n, t := range c.red {
			if rng.Float64() >= s.own && n != sure || k.tests.of(t) == "not run" {
				continue
			}
			x := sampling.CrossTest{Author: numbers[i], Name: t, Base: c.base.of(t) == k.tests.of(t)}
			for j, other := range list {
				if other.tests.of(t) == k.tests.of(t) {
					x.Passes = append(x.Passes, numbers[j])
				}
			}
			out = append(out, x)
		}
	}
	return out
}

// choice is a way of choosing: higher values are better, and ties are broken at random.
type choice struct {
	name  string
	value func(i int, c contest) float64
}

// odds is the chance that a choice finds a right candidate.
func (ch choice) odds(c contest) float64 {
	best, n, good := 0.0, 0, 0
	for i := range c.right {
		v := ch.value(i, c)
		if n == 0 || v > best {
			best, n, good = v, 0, 0
		}
		if v == best {
			n++
			if c.right[i] {
				good++
			}
		}
	}
	return float64(good) / float64(n)
}

// choices lists the compared ways. The first one is the floor and the last one the ceiling.
func choices() []choice {
	return []choice{
		{"random", func(int, contest) float64 { return 0 }},
		{"first that passes", func(i int, c contest) float64 { return -float64(i) }},
		{"smallest diff", func(i int, c contest) float64 { return -float64(c.measure[i].DiffLines) }},
		{"score without evidence", func(i int, c contest) float64 {
			m := c.measure[i]
			m.Evidence = nil
			return float64(sampling.Score(m))
		}},
		{"only agreement", func(i int, c contest) float64 {
			e := c.measure[i].Evidence
			return float64(5000*min(e.Own, 1) + 50*e.Agreed + 600*e.Held + 10*min(c.measure[i].DiffLines, 10))
		}},
		{"score", func(i int, c contest) float64 { return float64(sampling.Score(c.measure[i])) }},
		{"oracle", func(i int, c contest) float64 {
			if c.right[i] {
				return 1
			}
			return 0
		}},
	}
}

// half returns the half of the commits that one belongs to: weights are fitted on the first and reported on the
// second.
func half(c commitCase) int {
	h := fnv.New64a()
	h.Write([]byte(c.fix.commit))
	return int(h.Sum64() >> 7 & 1)
}
