package main

import (
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"text/tabwriter"
)

const (
	draws      = 20   // tournaments of each commit and setting
	resampled  = 2000 // samples of a bootstrap
	confidence = 0.95
)

// report prints how often each choice finds a right candidate.
func report(w io.Writer, o options, cases []commitCase) {
	if o.verbose {
		list(w, cases)
	}
	langs, repos := map[string]int{}, map[string]int{}
	n, kinds := 0, map[string][2]int{}
	for _, c := range cases {
		langs[string(c.lang)]++
		repos[c.fix.repo]++
		for _, k := range c.candidates {
			if !k.tests.passes(c.guard) {
				continue
			}
			n++
			t := kinds[k.kind]
			t[0]++
			if k.tests.passes(c.red) {
				t[1]++
			}
			kinds[k.kind] = t
		}
	}
	fmt.Fprintf(w, "%d commits of %d projects %v, %d candidates that pass the project's tests:", len(cases), len(repos),
		langs, n)
	for _, k := range []string{truth, mutated, partial, near, guard, cheat, noise} {
		fmt.Fprintf(w, " %s %d (%d right)", k, kinds[k][0], kinds[k][1])
	}
	fmt.Fprintln(w)
	for _, s := range settings {
		table(w, o, s, cases)
	}
}

// table prints one setting. The intervals are bootstrapped over commits.
func table(w io.Writer, o options, s setting, cases []commitCase) {
	ways := choices()
	var rows [][]float64 // of each commit: the results of each choice
	for _, c := range cases {
		if !o.fit || half(c) == 1 {
			if row := odds(c.contests(s, o.seed), ways); row != nil {
				rows = append(rows, row)
			}
		}
	}
	fmt.Fprintf(w, "\n%s: %d commits, %d tournaments each\n", s.name, len(rows), draws)
	if len(rows) == 0 {
		return
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "choice\tfinds a right one\tinterval\tof the gap closed\tinterval")
	for k, way := range ways {
		share := func(rows [][]float64) float64 { return mean(rows, k) }
		gap := func(rows [][]float64) float64 {
			low, high := mean(rows, 0), mean(rows, len(ways)-1)
			return (mean(rows, k) - low) / (high - low)
		}
		a, b := bootstrap(rows, o.seed, share)
		c, d := bootstrap(rows, o.seed, gap)
		fmt.Fprintf(t, "%s\t%.1f %%\t%.1f to %.1f\t%.1f %%\t%.1f to %.1f\n", way.name, 100*share(rows), 100*a, 100*b,
			100*gap(rows), 100*c, 100*d)
	}
	t.Flush()
}

// contests draws the tournaments of a commit.
func (c *commitCase) contests(s setting, seed uint64) []contest {
	var out []contest
	for d := range draws {
		if x, ok := c.contest(s, seed+uint64(d)*1000); ok {
			out = append(out, x)
		}
	}
	return out
}

// odds returns the average results of each choice in the tournaments of a commit; nil if there are none.
func odds(list []contest, ways []choice) []float64 {
	if len(list) == 0 {
		return nil
	}
	sum := make([]float64, len(ways))
	for _, x := range list {
		for k, way := range ways {
			sum[k] += way.odds(x) / float64(len(list))
		}
	}
	return sum
}

func mean(rows [][]float64, k int) float64 {
	sum := 0.0
	for _, r := range rows {
		sum += r[k]
	}
	return sum / float64(len(rows))
}

// bootstrap returns the interval of a figure over samples of the rows.
func bootstrap(rows [][]float64, seed uint64, figure func([][]float64) float64) (low, high float64) {
	rng := rand.New(rand.NewPCG(seed, 17))
	all := make([]float64, resampled)
	sample := make([][]float64, len(rows))
	for i := range all {
		for j := range sample {
			sample[j] = rows[rng.IntN(len(rows))]
		}
		all[i] = figure(sample)
	}
	slices.Sort(all)
	edge := int((1 - confidence) / 2 * resampled)
	return all[edge], all[resampled-1-edge]
}

// list prints each commit with its candidates.
func list(w io.Writer, cases []commitCase) {
	for _, c := range cases {
		fmt.Fprintf(w, "%s %.12s %s: %d tests judge, %d guard\n", c.fix.repo, c.fix.commit, c.fix.subject, len(c.red),
			len(c.guard))
		for _, k := range c.candidates {
			n := 0
			for _, t := range c.red {
				if k.tests.of(t) == "" {
					n++
				}
			}
			fmt.Fprintf(w, "   %-8s diff %3d guard %-5v passes %d  %s\n", k.kind, k.diff, k.tests.passes(c.guard), n, k.what)
		}
	}
}
