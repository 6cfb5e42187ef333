package main

import (
	"bufio"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"sync"

	"github.com/runplan/runplan/internal/tokens"
	"github.com/runplan/runplan/knowledge/retrieve"
)

// example is a commit with the features of its chunks.
type example struct {
	Repo  string
	Files int
	Rows  []struct {
		P, A, B, N int
		C          bool
		F          []float64
	}
	Units []struct {
		P int
		L []int
	}
	Plain counts
	score []float64
	order []int
	joins []bool
}

// link finds the chunks with only blank lines between them and the chunk before.
func (x *example) link() {
	order := make([]int, len(x.Rows))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Or(x.Rows[a].P-x.Rows[b].P, x.Rows[a].A-x.Rows[b].A) })
	x.joins = make([]bool, len(x.Rows))
	for k := 1; k < len(order); k++ {
		a, b := x.Rows[order[k-1]], x.Rows[order[k]]
		x.joins[order[k]] = a.P == b.P && b.A-a.B <= 3
	}
}

// fitBudgets lists the budgets in tokens that the weights are fitted for.
var fitBudgets = [...]int{16000, 8000, 4000}

// counts holds the numbers of found files and functions at each of [fitBudgets].
type counts [2 * len(fitBudgets)]float64

// gain adds the files and functions that a selection of chunks finds.
func (x *example) gain(weights []float64, count *counts) {
	for i, r := range x.Rows {
		s := 0.0
		for k, f := range r.F {
			s += weights[k] * f
		}
		x.score[i], x.order[i] = s, i
	}
	slices.SortFunc(x.order, func(a, b int) int { return cmp.Or(cmp.Compare(x.score[b], x.score[a]), a-b) })
	items := make([]retrieve.Item, len(x.order))
	for place, i := range x.order {
		r := x.Rows[i]
		items[place] = retrieve.Item{Path: fmt.Sprint(r.P), Start: r.A, Chars: r.N, Score: x.score[i],
			Words: r.F[0] * (1 - r.F[10]), Joins: x.joins[i]}
	}
	for at, budget := range fitBudgets {
		picked := retrieve.Take(items, int(0.96*float64(budget*tokens.PerToken)), weights[len(x.Rows[0].F):])
		files := map[int]bool{}
		for _, i := range picked {
			if r := x.Rows[x.order[i]]; r.C {
				files[r.P] = true
			}
		}
		whole := 0
		for _, u := range x.Units {
			all := true
			for _, l := range u.L {
				all = all && slices.ContainsFunc(picked,
					func(i int) bool { r := x.Rows[x.order[i]]; return r.P == u.P && r.A <= l && l <= r.B })
			}
			if all {
				whole++
			}
		}
		count[2*at] += float64(len(files))
		count[2*at+1] += float64(whole)
	}
}

// deficit is the value of a file or function that BM25 over chunks finds in a repository, and the ranking does not.
const deficit = 0.002

// below returns the deficit compared with BM25 over chunks, in each repository and at each budget.
func below(all []*example, found []counts) (missing float64, places []string) {
	by := map[string]counts{}
	for i, x := range all {
		d := by[x.Repo]
		for k := range d {
			d[k] += found[i][k] - x.Plain[k]
		}
		by[x.Repo] = d
	}
	for repo, d := range by {
		for k, n := range d {
			if n < 0 {
				missing -= n
				places = append(places, fmt.Sprintf("%s %s at %d: %.0f", repo, [2]string{"files", "functions"}[k%2],
					fitBudgets[k/2], n))
			}
		}
	}
	slices.Sort(places)
	return missing, places
}

// evaluate returns the value of weights, and the shares of files and functions at each budget. A function is worth more
// than a file, because an edit needs it.
func evaluate(all []*example, weights []float64) (float64, counts, []string) {
	each := make([]counts, len(all))
	var group sync.WaitGroup
	for part := range 2 {
		group.Go(func() {
			for i := part; i < len(all); i += 2 {
				all[i].gain(weights, &each[i])
			}
		})
	}
	group.Wait()
	var d counts
	of := [2]float64{}
	for i, c := range each {
		of[0], of[1] = of[0]+float64(all[i].Files), of[1]+float64(len(all[i].Units))
		for k := range d {
			d[k] += c[k]
		}
	}
	worth := 0.0
	for k := range d {
		d[k] /= max(1, of[k%2])
		worth += d[k] * [2]float64{1, 1.3}[k%2] / float64(1+k/2)
	}
	missing, places := below(all, each)
	return worth - deficit*missing, d, places
}

// fit searches for better weights, starting from the present ones, one at a time. A third of the commits, drawn by
// seed, is held out to measure them.
func fit(w io.Writer, file string, seed uint64, rounds int) error {
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	defer f.Close()
	var train, held []*example
	rng := rand.New(rand.NewPCG(seed, 11))
	for d := json.NewDecoder(bufio.NewReaderSize(f, 1<<20)); d.More(); {
		x := &example{}
		if err := d.Decode(x); err != nil {
			return err
		}
		if len(x.Rows) == 0 || x.Files == 0 {
			continue
		}
		x.score, x.order = make([]float64, len(x.Rows)), make([]int, len(x.Rows))
		x.link()
		if rng.IntN(3) == 0 {
			held = append(held, x)
		} else {
			train = append(train, x)
		}
	}
	weights := retrieve.Weights()
	best, _, _ := evaluate(train, weights)
	show := func(what string) {
		a, da, low := evaluate(train, weights)
		b, db, lowHeld := evaluate(held, weights)
		fmt.Fprintf(w, "%s: fitted %.4f %.3f, held out %.4f %.3f\n", what, a, da, b, db)
		fmt.Fprintf(w, "  below BM25 over chunks: fitted %s; held out %s\n", strings.Join(low, ", "),
			strings.Join(lowHeld, ", "))
	}
	show("before")
	step := 0.5
	for round := range rounds {
		moved := false
		for k := range weights {
			was := weights[k]
			for _, by := range []float64{step, -step, 2.5 * step, -2.5 * step} {
				weights[k] = was + by*max(0.4, was)
				if weights[k] < 0 && was >= 0 && k != 9 && k != 10 {
					weights[k] = 0
				}
				if got, _, _ := evaluate(train, weights); got > best+1e-4 {
					best, moved = got, true
					break
				}
				weights[k] = was
			}
		}
		show(fmt.Sprintf("round %d", round+1))
		fmt.Fprintf(w, "  %.3f\n", weights)
		if !moved {
			if step /= 2; step < 0.1 {
				break
			}
		}
	}
	return nil
}
