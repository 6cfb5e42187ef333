package show

import (
	"fmt"
	"slices"
	"strings"

	"github.com/runplan/runplan/internal/cells"
	"github.com/runplan/runplan/internal/layered"
	"github.com/runplan/runplan/internal/lists"
	"github.com/runplan/runplan/internal/phrase"
	"github.com/runplan/runplan/routing"
)

// A graph with more batches or more lines than these is printed as a list, which is easier to read.
const (
	maxDrawn      = 30
	maxGraphLines = 30
)

const arrow = " --> "

// drawGraph draws which batch waits for which as chains, from left to right. A chain that begins at a batch of
// another chain shows it again, in the same column if that fits. It omits edges that follow from others, and batches
// that do not run.
func drawGraph(d routing.Decision, width int) []string {
	g := newDrawing(d)
	g.width = width - 2
	if len(g.keys) == 0 {
		return []string{"no batch runs"}
	}
	var lines []string
	chains := g.chains()
	if len(g.keys) > maxDrawn || len(chains) > maxGraphLines {
		lines = g.list()
	} else if columns := g.columns(); columns != nil {
		lines = lists.Map(chains, func(c []int) string { return g.aligned(c, columns) })
	} else {
		lines = slices.Concat(lists.Map(chains, g.broken)...)
	}
	return append(lines, g.alone()...)
}

// drawing is the graph of the batches that are run, without implied edges. Nodes have their place in the plan's order.
type drawing struct {
	keys  []string // displayed keys
	needs [][]int
	feeds [][]int
	level []int
	width int // of a line
}

func newDrawing(d routing.Decision) *drawing {
	g := &drawing{}
	before, runs := map[string][]string{}, map[string]bool{}
	for _, e := range d.Edges {
		before[e.To] = append(before[e.To], e.From)
	}
	for _, s := range d.Steps {
		runs[s.Batch] = s.Skip == ""
	}
	var items []layered.Item
	for _, s := range d.Steps {
		if s.Skip == "" {
			g.keys = append(g.keys, routing.OneLine(routing.BatchName(s.Batch)))
			items = append(items, layered.Item{Key: s.Batch, Needs: lookThrough(s.Batch, before, runs)})
		}
	}
	n := len(items)
	g.needs, g.feeds, g.level = make([][]int, n), make([][]int, n), make([]int, n)
	for to, node := range layered.Layout(items).Nodes {
		g.needs[to], g.level[to] = slices.Sorted(slices.Values(node.Needs)), node.Layer
		for _, from := range g.needs[to] {
			g.feeds[from] = append(g.feeds[from], to)
		}
	}
	return g
}

// lookThrough returns what a batch waits for. A batch that does not run is replaced by the batches that it waits for.
func lookThrough(key string, before map[string][]string, runs map[string]bool) []string {
	var needs []string
	seen := map[string]bool{key: true}
	var look func(key string)
	look = func(key string) {
		for _, from := range before[key] {
			switch {
			case seen[from]:
			case runs[from]:
				needs = append(needs, from)
			default:
				seen[from] = true
				look(from)
			}
		}
	}
	look(key)
	return needs
}

// chains returns paths that have each edge once. Each continues as long as there are undrawn edges.
func (g *drawing) chains() [][]int {
	drawn := map[[2]int]bool{}
	next := func(i int) int {
		for _, j := range g.feeds[i] {
			if !drawn[[2]int{i, j}] {
				return j
			}
		}
		return -1
	}
	var chains [][]int
	follow := func(i int) {
		for next(i) >= 0 {
			chain := []int{i}
			for at, j := i, next(i); j >= 0; at, j = j, next(j) {
				drawn[[2]int{at, j}] = true
				chain = append(chain, j)
			}
			chains = append(chains, chain)
		}
	}
	var walk func(i int)
	seen := make([]bool, len(g.keys))
	walk = func(i int) {
		// Branches of a chain come directly below it, those near its head first.
		if seen[i] {
			return
		}
		seen[i] = true
		follow(i)
		for _, j := range g.feeds[i] {
			walk(j)
		}
	}
	for i := range g.keys {
		if len(g.needs[i]) == 0 {
			walk(i)
		}
	}
	return chains
}

// columns returns where each level begins, or nil where they do not all fit.
func (g *drawing) columns() []int {
	var widths []int
	for i, key := range g.keys {
		for len(widths) <= g.level[i] {
			widths = append(widths, 0)
		}
		widths[g.level[i]] = max(widths[g.level[i]], cells.Width(key))
	}
	at := make([]int, len(widths)+1)
	for l, w := range widths {
		at[l+1] = at[l] + w + len(arrow)
	}
	if at[len(widths)]-len(arrow) > g.width {
		return nil
	}
	return at
}

// aligned draws a chain with each batch in the column of its level.
func (g *drawing) aligned(chain []int, columns []int) string {
	var b strings.Builder
	wide := 0
	put := func(s string) {
		b.WriteString(s)
		wide += cells.Width(s)
	}
	for k, i := range chain {
		gap := columns[g.level[i]] - wide
		if k > 0 {
			put(" " + strings.Repeat("-", gap-3) + "> ")
		} else {
			put(strings.Repeat(" ", gap))
		}
		put(g.keys[i])
	}
	return b.String()
}

// broken draws a chain that is too long for a line. Lines that continue end with an arrow.
func (g *drawing) broken(chain []int) []string {
	lines := []string{g.keys[chain[0]]}
	for _, i := range chain[1:] {
		last := &lines[len(lines)-1]
		if cells.Width(*last)+2*len(arrow)+cells.Width(g.keys[i]) <= g.width {
			*last += arrow + g.keys[i]
			continue
		}
		*last += strings.TrimRight(arrow, " ")
		lines = append(lines, "    "+g.keys[i])
	}
	return lines
}

// list describes the graph in words: "B12 needs B3, B7".
func (g *drawing) list() []string {
	var lines []string
	for i, needs := range g.needs {
		if len(needs) > 0 {
			lines = append(lines, wrap(g.keys[i]+" needs "+g.named(needs), g.width, 4)...)
		}
	}
	return lines
}

// alone names the batches without dependencies and dependents.
func (g *drawing) alone() []string {
	var list []int
	for i := range g.keys {
		if len(g.needs[i])+len(g.feeds[i]) == 0 {
			list = append(list, i)
		}
	}
	switch len(list) {
	case 0:
		return nil
	case 1:
		return []string{fmt.Sprintf("%s (on its own)", g.keys[list[0]])}
	}
	return wrap(g.named(list)+" (each on its own)", g.width, 4)
}

func (g *drawing) named(list []int) string {
	return phrase.Join(list, ", ", func(i int) string { return g.keys[i] })
}
