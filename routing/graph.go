package routing

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/runplan/runplan/internal/lists"
	"github.com/runplan/runplan/planparse"
)

// Limits of the search for concurrency. Larger plans run sequentially.
const (
	mostBatches     = 2000
	mostComparisons = 1e8 // of paths with folders and patterns
)

// graph holds the known dependencies between batches. A batch is represented by its index in the plan.
//
// Declared dependencies come first. They may point anywhere but must not form a cycle. They determine the possible
// orders; among those, the plan's order is preferred. All other evidence only makes a batch wait for an earlier
// one in that order, so that it cannot form a cycle.
type graph struct {
	plan  *planparse.Plan
	order []int // batches in sequential order
	at    []int // index of each batch in order
	does  []touched
	says  []statement
	waves []wave
	safe  []bool // batches that may run in parallel with any other, unless other evidence exists
	peers []int  // line of the group of each batch whose batches may run together; 0 if none
	hints [][]string
	found map[[2]int]*evidence     // by from and to
	above []set                    // direct and indirect needs of each batch; computed by close
	big   bool                     // too large: a chain, without a search
	hasGo func(folder string) bool // may be nil
}

// evidence holds all evidence for one dependency.
type evidence struct {
	kinds   []EdgeKind // strongest first
	reasons []string
	line    int // of the strongest
}

// strength ranks evidence: the lower, the stronger.
func strength(k EdgeKind) int {
	return slices.Index([]EdgeKind{EdgeDeclared, EdgeContext, EdgeFiles, EdgeText, EdgeRuntime, EdgeWave, EdgeOrder,
		EdgeSequential}, k)
}

// add records that to needs from. It ignores backward edges, unless the plan declares them.
func (g *graph) add(from, to int, kind EdgeKind, line int, reason string) {
	if from == to || g.at != nil && g.at[from] > g.at[to] {
		return
	}
	e := g.found[[2]int{from, to}]
	if e == nil {
		e = &evidence{}
		g.found[[2]int{from, to}] = e
	}
	if slices.Contains(e.reasons, reason) {
		return
	}
	i := slices.IndexFunc(e.kinds, func(k EdgeKind) bool { return strength(k) > strength(kind) })
	if i < 0 {
		i = len(e.kinds)
	}
	if i == 0 {
		e.line = line
	}
	e.kinds, e.reasons = slices.Insert(e.kinds, i, kind), slices.Insert(e.reasons, i, reason)
}

// name returns the display name of a batch: "B3".
func (g *graph) name(i int) string { return BatchName(g.plan.Batches[i].Key) }

// dependencies derives the graph of a plan from its text (ROUTE-02). Ambiguous batches run sequentially. hasGo reports
// whether a folder already is a package of Go; it may be nil.
func dependencies(p *planparse.Plan, hasGo func(folder string) bool) (*graph, error) {
	n := len(p.Batches)
	g := &graph{plan: p, found: map[[2]int]*evidence{}, does: make([]touched, n), says: make([]statement, n),
		hints: make([][]string, n), hasGo: hasGo}
	for i := range p.Batches {
		g.does[i] = touchedBy(&p.Batches[i])
		g.says[i] = statementOf(&p.Batches[i])
		g.hints[i] = append(targetsOf(&p.Batches[i]), runtimeHints(&p.Batches[i])...)
	}
	markFolders(g.does)
	if err := g.declared(); err != nil {
		return nil, err
	}
	if g.big = n > mostBatches || g.comparisons() > mostComparisons; g.big {
		for k := 1; k < n; k++ {
			g.add(g.order[k-1], g.order[k], EdgeOrder, 0, "the plan is too large to be searched for parallel batches")
		}
		return g, nil
	}
	g.consumed()
	g.contextRefs()
	g.sameFiles()
	g.named()
	g.mentions()
	g.imported()
	g.sameRuntime()
	g.waves = g.wavesOf()
	g.marks()
	g.afterWaves()
	g.close()
	g.inOrder()
	return g, nil
}

// comparisons returns the number of comparisons of a path with a folder or pattern.
func (g *graph) comparisons() int {
	files, wide := 0, 0
	for _, t := range g.does {
		files, wide = files+len(t.all), wide+len(t.wide)
	}
	return files * wide
}

// declared adds the dependencies that the plan declares, and computes the order.
func (g *graph) declared() error {
	index := lists.Index(g.plan.Batches, func(b planparse.Batch) string { return b.Key })
	for i := range g.plan.Batches {
		b := &g.plan.Batches[i]
		for _, key := range b.DependsOn {
			from, ok := index[key]
			if !ok {
				return fmt.Errorf("line %d: batch %s depends on %s, which does not exist", b.StartLine, b.Number, key)
			}
			if from == i {
				return fmt.Errorf("the dependencies of the plan form a cycle: line %d: batch %s depends on itself", b.StartLine,
					b.Number)
			}
			g.add(from, i, EdgeDeclared, g.says[i].dependsLine, "declared by depends_on")
		}
	}
	g.checkpoints(index)
	ids := taskIDs(g.plan)
	for i := range g.plan.Batches {
		for _, d := range g.says[i].inline {
			if from, ok := ids[d.id]; ok && (d.strict || from < i) {
				g.add(from, i, EdgeDeclared, d.line, d.text)
			}
		}
	}
	return g.sort()
}

// checkpoints adds the order around checkpoints: the batch with the question comes after all batches that the
// person checks, and before all that follow the checkpoint.
func (g *graph) checkpoints(index map[string]int) {
	from := 0 // first batch since the last checkpoint
	for c := range g.plan.Batches {
		check := g.plan.Batches[c].Checkpoint
		if check == nil {
			continue
		}
		at, ok := index[check.At]
		if !ok {
			continue
		}
		reason := "the checkpoint " + g.plan.Batches[c].Number + " is between them"
		for i := from; i < at && at < c; i++ {
			g.add(i, at, EdgeDeclared, check.Line, "a person checks the earlier batches there")
		}
		// the next batch starts after it
		for i := c + 1; i < len(g.plan.Batches) && g.plan.Batches[i].Checkpoint == nil; i++ {
			if i != at {
				g.add(at, i, EdgeDeclared, check.Line, reason)
			}
		}
		from = c + 1
	}
}

// sort computes the order of batches, or reports a cycle.
func (g *graph) sort() error {
	n := len(g.plan.Batches)
	open, feeds := make([]int, n), make([][]int, n)
	for pair := range g.found {
		open[pair[1]]++
		feeds[pair[0]] = append(feeds[pair[0]], pair[1])
	}
	var ready []int // sorted; the first in the plan comes first
	for i := range n {
		if open[i] == 0 {
			ready = append(ready, i)
		}
	}
	at := make([]int, n)
	for len(ready) > 0 {
		i := ready[0]
		ready = ready[1:]
		at[i] = len(g.order)
		g.order = append(g.order, i)
		for _, j := range feeds[i] {
			if open[j]--; open[j] == 0 {
				k, _ := slices.BinarySearch(ready, j)
				ready = slices.Insert(ready, k, j)
			}
		}
	}
	if len(g.order) < n {
		return g.cycle(open)
	}
	g.at = at
	return nil
}

// cycle names the batches of a cycle, each with the line of its dependency.
func (g *graph) cycle(open []int) error {
	at := slices.IndexFunc(open, func(n int) bool { return n > 0 })
	var way []int
	for !slices.Contains(way, at) { // backwards from a batch that waits for a cycle, the path reaches the cycle
		way = append(way, at)
		for from := range open {
			if open[from] > 0 && g.found[[2]int{from, at}] != nil {
				at = from
				break
			}
		}
	}
	way = way[slices.Index(way, at):]
	var parts []string
	for k, to := range way {
		from := way[(k+1)%len(way)]
		line := cmp.Or(g.found[[2]int{from, to}].line, g.plan.Batches[to].StartLine)
		parts = append(parts, fmt.Sprintf("line %d: batch %s waits for %s", line, g.plan.Batches[to].Number,
			g.plan.Batches[from].Number))
	}
	return fmt.Errorf("the dependencies of the plan form a cycle: %s", strings.Join(parts, "; "))
}

// contextRefs makes a batch wait for those that create or change its context files.
func (g *graph) contextRefs() {
	for to := range g.plan.Batches {
		b := &g.plan.Batches[to]
		for _, ref := range b.ContextRefs {
			r := touched{all: []string{clean(ref)}}
			if strings.HasSuffix(ref, "/") || isPattern(ref) {
				r.wide = []span{spanOf(r.all[0])}
			}
			for _, from := range g.order[:g.at[to]] {
				if len(shared(r, g.does[from])) == 0 {
					continue
				}
				verb := "changes"
				if slices.Contains(g.does[from].makes, r.all[0]) {
					verb = "creates"
				}
				g.add(from, to, EdgeContext, g.says[to].refsLine,
					fmt.Sprintf("context_refs names %s, which %s %s", ref, g.name(from), verb))
			}
		}
	}
}

// sameFiles orders batches that touch the same file. Each waits only for the previous one, which waits for the
// ones before.
func (g *graph) sameFiles() {
	last := map[string]int{}
	meet := map[[2]int][]string{}
	note := func(from, to int, what string) { meet[[2]int{from, to}] = append(meet[[2]int{from, to}], what) }
	wide := map[string]span{}
	for _, i := range g.order {
		for _, p := range g.does[i].all {
			if from, ok := last[p]; ok {
				note(from, i, p)
			}
			last[p] = i
		}
		for _, w := range g.does[i].wide {
			wide[w.path] = w
		}
	}
	for _, key := range slices.Sorted(maps.Keys(wide)) {
		w := wide[key]
		// last batch that touched all of it, and those that touched parts since then
		whole, parts := -1, map[int]string{}
		var since []int
		for _, i := range g.order {
			if slices.Contains(g.does[i].wide, w) {
				for _, from := range since {
					note(from, i, parts[from])
				}
				if whole >= 0 && len(since) == 0 {
					note(whole, i, w.path)
				}
				whole, since = i, nil
				continue
			}
			if k := slices.IndexFunc(g.does[i].all, w.covers); k >= 0 {
				parts[i], since = g.does[i].all[k], append(since, i)
				if whole >= 0 {
					note(whole, i, parts[i])
				}
			}
		}
	}
	for pair, files := range meet {
		g.add(pair[0], pair[1], EdgeFiles, 0, "both change "+list(lists.Unique(files)))
	}
}

// close computes all direct and indirect needs.
func (g *graph) close() {
	n := len(g.order)
	from := make([][]int, n)
	for pair := range g.found {
		from[pair[1]] = append(from[pair[1]], pair[0])
	}
	g.above = make([]set, n)
	for _, i := range g.order {
		g.above[i] = newSet(n)
		for _, j := range from[i] {
			g.above[i].add(j, g.above[j])
		}
	}
}

// path reports whether one of the two needs the other.
func (g *graph) path(a, b int) bool { return g.above[a].has(b) || g.above[b].has(a) }

// edges lists the edges by To and then From, in plan order.
func (g *graph) edges() []Edge {
	pairs := slices.SortedFunc(maps.Keys(g.found),
		func(a, b [2]int) int { return cmp.Or(cmp.Compare(a[1], b[1]), cmp.Compare(a[0], b[0])) })
	out := make([]Edge, 0, len(pairs))
	for _, pair := range pairs {
		e := g.found[pair]
		out = append(out, Edge{
			From: g.plan.Batches[pair[0]].Key, To: g.plan.Batches[pair[1]].Key, Kind: e.kinds[0], Line: e.line,
			Reason: strings.Join(e.reasons, "; "),
		})
	}
	return out
}
