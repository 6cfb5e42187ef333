package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"

	"github.com/runplan/runplan/internal/tokens"
	"github.com/runplan/runplan/knowledge/retrieve"
)

// orders lists the compared orders in which an agent can open files.
var orders = []string{"places of the brief, then grep", "BM25, whole files", "grep, whole files"}

// effort counts what a scripted agent opens until it has seen all files that it has to change.
type effort struct{ files, tokens int }

// measureOpening lets a scripted agent open whole files in each order, until it has opened all that the commit changes.
func (r *result) measureOpening(ctx context.Context, d retrieve.Deps, dir string, t *task, all []retrieve.Lines,
	want goal,
	ranked map[string][]piece) error {
	places, err := retrieve.Where(ctx, d, retrieve.Request{Task: short(t.hash), Text: t.message, Dir: dir,
		Stages: retrieve.StageNames(), Budget: tokens.Budget{Window: 1}})
	if err != nil {
		return err
	}
	var brief []piece
	for _, p := range places {
		brief = append(brief, piece{path: p.Path})
	}
	for _, o := range orders {
		list := ranked[o]
		if o == orders[0] {
			list = append(brief, ranked["grep, whole files"]...)
		}
		r.opened[o] = append(r.opened[o], open(list, all, want.files))
	}
	return nil
}

// open opens the listed files and then all others, by name.
func open(list []piece, all []retrieve.Lines, wanted []string) effort {
	for _, x := range all {
		list = append(list, piece{path: x.Path})
	}
	var e effort
	left, seen := slices.Clone(wanted), map[string]bool{}
	for _, p := range list {
		if len(left) == 0 {
			break
		}
		if i := slices.IndexFunc(all, func(x retrieve.Lines) bool { return x.Path == p.path }); i >= 0 && !seen[p.path] {
			seen[p.path] = true
			e.files++
			for _, l := range all[i].Lines {
				e.tokens += len(l) + 1
			}
		}
		left = slices.DeleteFunc(left, func(f string) bool { return f == p.path })
	}
	e.tokens /= tokens.PerToken
	return e
}

// tableOpening prints what the scripted agent opened.
func (r result) tableOpening(w io.Writer) {
	fmt.Fprintf(w, "\nopened until all changed files were: median files, mean files, at most %d, median tokens\n",
		retrieve.MostPlaces)
	for _, o := range orders {
		list := slices.Clone(r.opened[o])
		if len(list) == 0 {
			continue
		}
		few, sum := 0, 0
		for _, e := range list {
			sum += e.files
			if e.files <= retrieve.MostPlaces {
				few++
			}
		}
		median := func(of func(effort) int) int {
			slices.SortFunc(list, func(a, b effort) int { return cmp.Compare(of(a), of(b)) })
			return of(list[len(list)/2])
		}
		fmt.Fprintf(w, "%-32s %4d %6.1f %4s %% %7d\n", o, median(func(e effort) int { return e.files }),
			float64(sum)/float64(len(list)), percent(few, len(list)), median(func(e effort) int { return e.tokens }))
	}
}
