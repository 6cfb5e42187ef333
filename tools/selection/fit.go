package main

import (
	"fmt"
	"io"
	"math"

	"github.com/runplan/runplan/sampling"
)

// fitted lists the settings on which the model is fitted, because the known data differ between tournaments.
var fitted = []int{0, 3, 4}

// steps are the values that are tried for each chance of the model.
var steps = []struct {
	name   string
	of     func(*sampling.Model) *float64
	values []float64
}{
	{"prior", func(m *sampling.Model) *float64 { return &m.Prior }, []float64{0.2, 0.3, 0.4, 0.5}},
	{"sound", func(m *sampling.Model) *float64 { return &m.Sound }, []float64{0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8}},
	{"held", func(m *sampling.Model) *float64 { return &m.Held }, []float64{0.8, 0.9, 0.95}},
	{"agree", func(m *sampling.Model) *float64 { return &m.Agree }, []float64{0.85, 0.9, 0.95, 0.98}},
	{"catch", func(m *sampling.Model) *float64 { return &m.Catch }, []float64{0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9}},
	{"repeat", func(m *sampling.Model) *float64 { return &m.Repeat }, []float64{0, 0.25, 0.5, 0.75, 1}},
	{"wrong", func(m *sampling.Model) *float64 { return &m.Wrong }, []float64{0.02, 0.05, 0.1, 0.2, 0.3, 0.4}},
	{"chance", func(m *sampling.Model) *float64 { return &m.Chance }, []float64{0.05, 0.1, 0.2, 0.3, 0.4}},
	{"still", func(m *sampling.Model) *float64 { return &m.Still }, []float64{0.02, 0.05, 0.1, 0.25, 0.5, 1}},
}

// fit searches for better parameters on one half of the commits, one after the other until none helps, and prints
// their results on the other half.
func fit(w io.Writer, o options, cases []commitCase) error {
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
	best := sampling.DefaultModel()
	fmt.Fprintf(w, "\nchances of the model, by the share of the gap that they close on average over %d settings\n",
		len(fitted))
	print := func(what string, m sampling.Model) {
		fmt.Fprintf(w, "%s: %.1f %% on the first half of the commits, %.1f %% on the other: %+v\n", what,
			100*found(halves[0], m), 100*found(halves[1], m), m)
	}
	print("in use", best)
	at := found(halves[0], best)
	for better := true; better; {
		better = false
		for _, s := range steps {
			for _, v := range s.values {
				m := best
				*s.of(&m) = v
				if now := found(halves[0], m); now > at+1e-6 {
					best, at, better = m, now, true
				}
			}
		}
	}
	print("fitted", best)
	return nil
}

// found returns the share of the gap that a model closes, on average over the settings.
func found(bySetting [][][]contest, m sampling.Model) float64 {
	ways := []choice{choices()[0], {"tried", nil}, choices()[len(choices())-1]}
	sum, n := 0.0, 0
	for _, commits := range bySetting {
		var rows [][]float64
		for _, list := range commits {
			row := make([]float64, len(ways))
			for _, c := range list {
				likely := m.Likely(c.numbers, c.tests)
				ways[1].value = func(i int, c contest) float64 {
					return math.Round(100*likely[c.numbers[i]]) + float64(min(c.measure[i].DiffLines, 10))/10
				}
				for k, way := range ways {
					row[k] += way.odds(c) / float64(len(list))
				}
			}
			rows = append(rows, row)
		}
		if len(rows) > 0 {
			sum += (mean(rows, 1) - mean(rows, 0)) / (mean(rows, 2) - mean(rows, 0))
			n++
		}
	}
	return sum / float64(max(1, n))
}
