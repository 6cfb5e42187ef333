package sampling

import (
	"math"
	"slices"
)

// Model holds the chances from which the tests of all authors tell which candidates are right. They were fitted on fix
// commits of real projects: docs/sampling.md.
type Model struct {
	Prior  float64 // a candidate that passed its gates is right
	Agree  float64 // a test passes where its author and the candidate are right
	Catch  float64 // a right author's test fails on a wrong candidate
	Wrong  float64 // a wrong author's test passes on a right candidate
	Chance float64 // a wrong author's test passes on another wrong candidate
	Bare   float64 // how much rarer a right candidate is among those that bring no test that fails without the change
	Held   float64 // the writer of the held-out tests is right
	Repeat float64 // power of the number of an author's tests: 0 counts them as one, 1 as independent
}

// DefaultModel returns the chances that tournaments use.
func DefaultModel() Model {
	return Model{Prior: 0.4, Agree: 0.97, Catch: 0.6, Wrong: 0.4, Chance: 0.3, Bare: 0.5, Held: 0.9, Repeat: 0.5}
}

// mostModelled bounds the candidates whose combinations are tried. More than that are weighed in parts.
const mostModelled = 12

// author holds what the tests of one author said.
type author struct {
	number int // 0 for the writer of the held-out tests
	tests  int
	passes []int // of each candidate
}

// Likely returns for each candidate the chance that it is right, by number. It tries all combinations of right and
// wrong candidates, and weighs each by how well it explains which tests passed where.
func (m Model) Likely(candidates []int, tests []CrossTest) map[int]float64 {
	out := map[int]float64{}
	for part := range slices.Chunk(candidates, mostModelled) {
		for i, chance := range m.likely(part, authorsOf(part, tests)) {
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
			list = append(list, author{number: t.Author, passes: make([]int, len(candidates))})
		}
		list[at].tests++
		for i, c := range candidates {
			if slices.Contains(t.Passes, c) {
				list[at].passes[i]++
			}
		}
	}
	return list
}

func (m Model) likely(candidates []int, authors []author) []float64 {
	wrote := make([]bool, len(candidates))
	anyWrote := false
	for _, a := range authors {
		if i := slices.Index(candidates, a.number); i >= 0 {
			wrote[i], anyWrote = true, true
		}
	}
	sum, right := 0.0, make([]float64, len(candidates))
	for set := range 1 << len(candidates) {
		weight := 1.0
		for i := range candidates {
			is := set>>i&1 == 1
			weight *= pick(is, m.Prior, 1-m.Prior)
			if anyWrote && !wrote[i] && is {
				weight *= m.Bare
			}
		}
		for _, a := range authors {
			if i := slices.Index(candidates, a.number); i >= 0 {
				weight *= m.said(a, i, set, set>>i&1 == 1)
			} else {
				weight *= m.Held*m.said(a, -1, set, true) + (1-m.Held)*m.said(a, -1, set, false)
			}
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

// said returns the chance of what an author's tests said of the others, if those of set are right.
func (m Model) said(a author, own, set int, right bool) float64 {
	chance := 1.0
	scale := math.Pow(float64(a.tests), m.Repeat-1)
	for i, n := range a.passes {
		if i == own {
			continue
		}
		p := pick(right, pick(set>>i&1 == 1, m.Agree, 1-m.Catch), pick(set>>i&1 == 1, m.Wrong, m.Chance))
		chance *= math.Pow(p, scale*float64(n)) * math.Pow(1-p, scale*float64(a.tests-n))
	}
	return chance
}

func pick(first bool, a, b float64) float64 {
	if first {
		return a
	}
	return b
}
