package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/runplan/runplan/internal/tokens"
	"github.com/runplan/runplan/knowledge/retrieve"
)

// board collects the measurements.
type board struct {
	o     options
	mu    sync.Mutex
	repos []result
	notes []string
	dump  *os.File
}

// result holds the measurements of a repository.
type result struct {
	name          string
	commits       int
	indexed, took time.Duration
	asked         int
	scores        map[string]score    // by method and budget
	opened        map[string][]effort // by order
}

func newResult(name string) result {
	return result{name: name, scores: map[string]score{}, opened: map[string][]effort{}}
}

func (r *result) add(method string, budget int, g goal, shown []piece) {
	r.sum(fmt.Sprintf("%s/%d", method, budget), g.score(shown))
}

func (r *result) sum(key string, s score) {
	t := r.scores[key]
	t.files, t.found, t.units, t.whole, t.chars, t.inChanged = t.files+s.files, t.found+s.found, t.units+s.units,
		t.whole+s.whole, t.chars+s.chars, t.inChanged+s.inChanged
	r.scores[key] = t
}

func (b *board) say(text string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if strings.Count(text, "\n") > 1 {
		b.notes = append(b.notes, text)
	}
}

func (b *board) print(w io.Writer) {
	slices.SortFunc(b.repos, func(x, y result) int { return strings.Compare(x.name, y.name) })
	total := newResult("all")
	for _, r := range b.repos {
		total.commits, total.indexed, total.took, total.asked = total.commits+r.commits, total.indexed+r.indexed,
			total.took+r.took, total.asked+r.asked
		for k, s := range r.scores {
			total.sum(k, s)
		}
		for o, list := range r.opened {
			total.opened[o] = append(total.opened[o], list...)
		}
	}
	b.table(w, total)
	total.tableOpening(w)
	if worse := b.worse(); len(worse) > 0 {
		fmt.Fprintf(w, "\nbelow BM25 over chunks: %s\n", strings.Join(worse, "; "))
	}
	for _, n := range b.notes {
		fmt.Fprint(w, "\n", n)
	}
}

// legend describes the columns of the tables.
const legend = `F: share of the changed files of which something is shown. Fn: share of the changed functions, and blocks at the top of
files, whose changed lines are all shown. P: share of the characters shown that are of changed files. In per cent.
`

// table prints the measurements of a repository.
func (b *board) table(w io.Writer, r result) {
	fmt.Fprintf(w, "\n%s: %d commits\n%-28s", r.name, r.commits, "")
	for _, n := range b.o.budgets {
		fmt.Fprintf(w, "  %16s", fmt.Sprintf("%dk F / Fn / P", n/1000))
	}
	fmt.Fprintln(w)
	for _, m := range b.o.methods {
		fmt.Fprintf(w, "%-28s", m)
		for _, n := range b.o.budgets {
			s := r.scores[fmt.Sprintf("%s/%d", m, n)]
			fmt.Fprintf(w, "  %16s",
				fmt.Sprintf("%s / %s / %s", percent(s.found, s.files), percent(s.whole, s.units), percent(s.inChanged, s.chars)))
		}
		fmt.Fprintln(w)
	}
	if r.commits > 0 && r.asked > 0 {
		fmt.Fprintf(w, "an index took %s, a retrieval %s, on the mean\n",
			(r.indexed / time.Duration(r.commits)).Round(time.Millisecond),
			(r.took / time.Duration(r.asked)).Round(time.Millisecond))
	}
}

// worse returns the places where runplan without a model finds less than BM25 over chunks.
func (b *board) worse() []string {
	var out []string
	for _, r := range b.repos {
		for _, n := range b.o.budgets {
			ours, plain := r.scores[fmt.Sprintf("%s/%d", methods[0], n)],
				r.scores[fmt.Sprintf("%s/%d", "BM25, chunks of 40 lines", n)]
			if ours.found < plain.found {
				out = append(out, fmt.Sprintf("%s, %dk, files %d against %d of %d", r.name, n/1000, ours.found, plain.found,
					plain.files))
			}
			if ours.whole < plain.whole {
				out = append(out, fmt.Sprintf("%s, %dk, functions %d against %d of %d", r.name, n/1000, ours.whole, plain.whole,
					plain.units))
			}
		}
	}
	return out
}

func percent(n, of int) string {
	if of == 0 {
		return "-"
	}
	return fmt.Sprintf("%.0f", 100*float64(n)/float64(of))
}

// dumpFeatures writes the features of the ranked chunks, and which chunks are relevant.
func (b *board) dumpFeatures(ctx context.Context, d retrieve.Deps, dir string, t *task, want goal, all []retrieve.Lines,
	repo string, plain []piece) error {
	ranked, err := retrieve.Rank(ctx, d,
		retrieve.Request{Task: short(t.hash), Text: t.message, Dir: dir, Stages: []string{"scope"},
			Budget: tokens.Budget{Window: 16000}})
	if err != nil {
		return err
	}
	lines := map[string][]string{}
	for _, x := range all {
		lines[x.Path] = x.Lines
	}
	type row struct {
		P int       `json:"p"` // path
		C bool      `json:"c"` // changed file
		A int       `json:"a"`
		B int       `json:"b"`
		N int       `json:"n"` // characters
		F []float64 `json:"f"`
	}
	type unitRow struct {
		P int   `json:"p"`
		L []int `json:"l"`
	}
	out := struct {
		Repo  string    `json:"repo"`
		Hash  string    `json:"hash"`
		Files int       `json:"files"`
		Rows  []row     `json:"rows"`
		Units []unitRow `json:"units"`
		Plain counts    `json:"plain"` // the results of BM25 over chunks
	}{Repo: repo, Hash: t.hash, Files: len(want.files)}
	for i, budget := range fitBudgets {
		s := want.score(fill(plain, budget*tokens.PerToken))
		out.Plain[2*i], out.Plain[2*i+1] = float64(s.found), float64(s.whole)
	}
	ids := map[string]int{}
	id := func(p string) int {
		if _, ok := ids[p]; !ok {
			ids[p] = len(ids)
		}
		return ids[p]
	}
	for i, r := range ranked {
		changed := slices.Contains(want.files, r.Path)
		if i >= 1500 && !changed {
			continue
		}
		n := 0
		if l := lines[r.Path]; l != nil {
			for _, s := range l[r.Start-1 : min(r.End, len(l))] {
				n += len(s) + 1
			}
		} else {
			n = (r.End - r.Start + 1) * 40
		}
		f := make([]float64, len(r.Features))
		for k, v := range r.Features {
			f[k] = float64(int(v*10000)) / 10000
		}
		out.Rows = append(out.Rows, row{id(r.Path), changed, r.Start, r.End, n, f})
	}
	for _, u := range want.units {
		out.Units = append(out.Units, unitRow{id(u.path), u.lines})
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	w := bufio.NewWriter(b.dump)
	if err := json.NewEncoder(w).Encode(out); err != nil {
		return err
	}
	return w.Flush()
}
