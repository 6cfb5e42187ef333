package sampling

import (
	"math"
	"slices"
)

// Model holds the parameters that [Likely] uses to compute the probability that a candidate is right. They were fitted
// on fix commits of real projects: docs/sampling.md.
type Model struct {
	Prior  float64 // a candidate that passed its gates is right
	Sound  float64 // a wrong author's tests are right: the code does only a part of the task
	Held   float64 // the held-out tests are right
	Agree  float64 // sound tests all pass on a right candidate
	Catch  float64 // one sound test fails on a wrong candidate
	Repeat float64 // power of the number of an author's tests: 0 counts them as one, 1 as independent
	Wrong  float64 // tests that expect something wrong all pass on a right candidate
	Chance float64 // they all pass on a wrong one
	Still  float64 // how much rarer a right candidate is among those that behave like the base in all tests
}

// DefaultModel returns the parameters that tournaments use.
func DefaultModel() Model {
	return Model{Prior: 0.3, Sound: 0.75, Held: 0.95, Agree: 0.97, Catch: 0.75, Repeat: 0.25, Wrong: 0.1, Chance: 0.1,
		Still: 0.05}
}

// mostModelled limits the candidates whose combinations are tried. More are weighed in parts.
const mostModelled = 12

// author holds the test results of one author.
type author struct {
	number int // 0 for the writer of the held-out tests
	tests  int
	passes []bool // of each candidate: it passes all of them
}

// Likely returns for each candidate the probability that it is right, by number. It tries all combinations of right and
// wrong candidates, and weighs each combination by how well it explains the test results.
func (m Model) Likely(candidates []int, tests []CrossTest) map[int]float64 {
	out := map[int]float64{}
	for part := range slices.Chunk(candidates, mostModelled) {
		for i, chance := range m.likely(part, authorsOf(part, tests), still(part, tests)) {
			out[part[i]] = chance
		}
	}
	return out
}

func authorsOf(candidates []int, tests []CrossTest) []author {
	var list []author
	for _, t := range tests {
		if t.Base {
			continue
		}
		at := slices.IndexFunc(list, func(a author) bool { return a.number == t.Author })
		if at < 0 {
			at = len(list)
			list = append(list, author{number: t.Author, passes: slices.Repeat([]bool{true}, len(candidates))})
		}
		list[at].tests++
		for i, c := range candidates {
			list[at].passes[i] = list[at].passes[i] && slices.Contains(t.Passes, c)
		}
	}
	return list
}

// still reports for each candidate whether it behaves like the base in all tests: it passes the tests that pass
// without the change, and fails those that fail without it. If all candidates do, it reports false for all.
func still(candidates []int, tests []CrossTest) []bool {
	out := slices.Repeat([]bool{true}, len(candidates))
	moved := false
	for _, t := range tests {
		for i, c := range candidates {
			if slices.Contains(t.Passes, c) != t.Base {
				out[i], moved = false, true
			}
		}
	}
	if !moved {
		clear(out)
	}
	return out
}

func (m Model) likely(candidates []int, authors []author, still []bool) []float64 {
	sum, right := 0.0, make([]float64, len(candidates))
	for set := range 1 << len(candidates) {
		weight := 1.0
		for i := range candidates {
			is := set>>i&1 == 1
			weight *= pick(is, m.Prior, 1-m.Prior)
			if is && still[i] {
				weight *= m.Still
			}
		}
		for _, a := range authors {
			sound := m.Held
			i := slices.Index(candidates, a.number)
			if i >= 0 {
				sound = pick(set>>i&1 == 1, 1, m.Sound)
			}
			weight *= sound*m.said(a, i, set, true) + (1-sound)*m.said(a, i, set, false)
		}
		sum += weight
		for i := range candidates {
			if set>>i&1 == 1 {
				right[i] += weight
			}
		}
	}
	for i := range right {
		right[i] /= sum
	}
	return right
}

// said returns the probability of an author's test results for the others, if the candidates in set are right.
func (m Model) said(a author, own, set int, sound bool) float64 {
	chance := 1.0
	for i, passes := range a.passes {
		if i == own {
			continue
		}
		p := 0.0
		switch right := set>>i&1 == 1; {
		case !sound:
			p = pick(right, m.Wrong, m.Chance)
		case right:
			p = m.Agree
		default:
			p = math.Pow(1-m.Catch, math.Pow(float64(a.tests), m.Repeat))
		}
		chance *= pick(passes, p, 1-p)
	}
	return chance
}

func pick(first bool, a, b float64) float64 {
	if first {
		return a
	}
	return b
}
