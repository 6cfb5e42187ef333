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

// gain adds the files and functions that a selection of chunks finds, at 16k and at 8k tokens.
func (x *example) gain(weights []float64, count *[4]int) {
	for i, r := range x.Rows {
		s := 0.0
		for k, f := range r.F {
			s += weights[k] * f
		}
		x.score[i], x.order[i] = s, i
	}
	slices.SortFunc(x.order, func(a, b int) int { return cmp.Or(cmp.Compare(x.score[b], x.score[a]), a-b) })
	for at, budget := range []int{16000, 8000} {
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
		count[2*at] += len(files)
		count[2*at+1] += whole
	}
}

// evaluate returns the value of weights, and the shares of files and functions at both budgets.
func evaluate(all []*example, weights []float64) (float64, [4]float64) {
	counts := make([][4]int, len(all))
	var group sync.WaitGroup
	for part := range 2 {
		group.Go(func() {
			for i := part; i < len(all); i += 2 {
				all[i].gain(weights, &counts[i])
			}
		})
	}
	group.Wait()
	var d [4]float64
	files, units := 0, 0
	for i, c := range counts {
		files, units = files+all[i].Files, units+len(all[i].Units)
		for k := range d {
			d[k] += float64(c[k])
		}
	}
	for k := range d {
		d[k] /= float64(max(1, []int{files, units}[k%2]))
	}
	return d[0] + 0.8*d[1] + 0.5*(d[2]+0.8*d[3]), d
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
