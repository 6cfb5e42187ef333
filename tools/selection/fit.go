package main

import (
	"cmp"
	"fmt"
	"io"
	"slices"

	"github.com/runplan/runplan/sampling"
)

// fitted are the settings that weights are fitted on: what is known of a tournament differs from one to the next.
var fitted = []int{0, 2, 3}

// fit tries weights on one half of the commits, and prints the best ones with what they find on the other half. A weight
// is tried through the expression that [sampling] score takes.
func fit(w io.Writer, o options, cases []commitCase) error {
	type tried struct {
		text        string
		first, rest float64
	}
	var halves [2][][][]contest // of each half: by setting, the tournaments of each commit
	for h := range halves {
		halves[h] = make([][][]contest, len(fitted))
		for k, s := range fitted {
			for _, c := range cases {
				if list := c.contests(settings[s], o.seed); half(c) == h && len(list) > 0 {
					halves[h][k] = append(halves[h][k], list)
				}
			}
		}
	}
	var all []tried
	for _, diff := range []string{"10000/(diff + 1)", "1000/(diff + 1)", "0*diff", "10*min(diff, 10)", "10*min(diff, 100)"} {
		for _, tests := range []int{0, 10} {
			for _, own := range []int{0, 5000, 20000} {
				for _, agreed := range []int{0, 50, 150, 300} {
					text := fmt.Sprintf("%d*min(own, 1) + %d*agreed + 600*held + %s + %d*tests + 1000/(lint + 1) - 200*lessons - 100*ast", own, agreed, diff, tests)
					scorer, err := sampling.NewScorer(text)
					if err != nil {
						return err
					}
					all = append(all, tried{text, found(halves[0], scorer), found(halves[1], scorer)})
				}
			}
		}
	}
	slices.SortStableFunc(all, func(a, b tried) int { return cmp.Compare(b.first, a.first) })
	fmt.Fprintf(w, "\nweights, by the share of the gap that they close on the first half of the commits, on average over %d settings\n", len(fitted))
	for _, t := range all[:min(6, len(all))] {
		fmt.Fprintf(w, "%.1f %%, on the other half %.1f %%: %s\n", 100*t.first, 100*t.rest, t.text)
	}
	in := tried{sampling.DefaultScore, found(halves[0], sampling.Scorer{}), found(halves[1], sampling.Scorer{})}
	fmt.Fprintf(w, "in use: %.1f %%, on the other half %.1f %%: %s\n", 100*in.first, 100*in.rest, in.text)
	return nil
}

// found returns the share of the gap that a score closes, on average over the settings.
func found(bySetting [][][]contest, scorer sampling.Scorer) float64 {
	ways := []choice{choices()[0], {"tried", func(i int, c contest) float64 {
		v, err := scorer.Score(c.measure[i])
		if err != nil {
			return 0
		}
		return float64(v)
	}}, choices()[len(choices())-1]}
	sum, n := 0.0, 0
	for _, commits := range bySetting {
		var rows [][]float64
		for _, list := range commits {
			rows = append(rows, odds(list, ways))
		}
		if len(rows) > 0 {
			sum += (mean(rows, 1) - mean(rows, 0)) / (mean(rows, 2) - mean(rows, 0))
			n++
		}
	}
	return sum / float64(max(1, n))
}
