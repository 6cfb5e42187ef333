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
	score []float64
	order []int
}

// The room that the marks around a chunk, and around a file, take.
const (
	chunkMarks = 70
	fileMarks  = 40
)

// fitBudgets lists the budgets in tokens that the weights are fitted for.
var fitBudgets = [...]int{16000, 8000, 4000}

// counts holds the files and functions that are found at each of [fitBudgets].
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
	for at, budget := range fitBudgets {
		picked := retrieve.Spread(len(x.order), budget*tokens.PerToken,
			func(i int) (string, float64) { return fmt.Sprint(x.Rows[x.order[i]].P), x.score[x.order[i]] },
			func(i int, first bool) int {
				n := x.Rows[x.order[i]].N + chunkMarks
				if first {
					n += fileMarks
				}
				return n
			}, weights[len(x.Rows[0].F):])
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
				all = all && slices.ContainsFunc(picked, func(i int) bool { r := x.Rows[x.order[i]]; return r.P == u.P && r.A <= l && l <= r.B })
			}
			if all {
				whole++
			}
		}
		count[2*at] += float64(len(files))
		count[2*at+1] += float64(whole)
	}
}

// evaluate returns the value of weights, and the shares of files and functions at each budget. A function is worth more
// than a file, because an edit needs it.
func evaluate(all []*example, weights []float64) (float64, counts) {
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
	return worth, d
}

// fit looks for better weights from those that are in use, one at a time. A third of the commits, drawn by seed, has no
// say and shows how good they are.
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
		if rng.IntN(3) == 0 {
			held = append(held, x)
		} else {
			train = append(train, x)
		}
	}
	weights := retrieve.Weights()
	best, _ := evaluate(train, weights)
	show := func(what string) {
		a, da := evaluate(train, weights)
		b, db := evaluate(held, weights)
		fmt.Fprintf(w, "%s: fitted %.4f %.3f, held out %.4f %.3f\n", what, a, da, b, db)
	}
	show("before")
	step := 0.5
	for round := range rounds {
		moved := false
		for k := range weights {
			was := weights[k]
			for _, by := range []float64{step, -step, 2.5 * step, -2.5 * step} {
				weights[k] = was + by*max(0.4, was)
				if weights[k] < 0 && was >= 0 && k != 10 && k != 11 {
					weights[k] = 0
				}
				if got, _ := evaluate(train, weights); got > best+1e-4 {
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
