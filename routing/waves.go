package routing

import (
	"fmt"
	"slices"
	"strings"

	"github.com/runplan/runplan/internal/lazyre"
	"github.com/runplan/runplan/planparse"
)

// wave is a group of batches that follows the group before it.
type wave struct {
	group   planparse.Group
	batches []int
}

func (w wave) name() string { return w.group.Kind + " " + w.group.Number }

// ordered reports whether groups of this kind follow each other. Chunks and sections only divide the text, tracks
// run side by side, and a batch is its own group.
func ordered(kind string) bool {
	return slices.Contains([]string{"wave", "phase", "checkpoint", "stage", "milestone", "sprint", "week"}, kind)
}

// wavesOf returns the ordered groups with their batches, or nil if there is only one. A single one, such as the
// wave in the front matter of a GSD plan, orders plans and not the batches in one.
func (g *graph) wavesOf() []wave {
	var out []wave
	for i := range g.plan.Batches {
		group, ok := g.group(i)
		if !ok || !ordered(group.Kind) {
			continue
		}
		if n := len(out); n == 0 || out[n-1].group != group {
			out = append(out, wave{group: group})
		}
		out[len(out)-1].batches = append(out[len(out)-1].batches, i)
	}
	if len(out) < 2 {
		return nil
	}
	return out
}

// group returns the group that contains the batch, or that is the batch.
func (g *graph) group(i int) (planparse.Group, bool) {
	b := &g.plan.Batches[i]
	for _, group := range slices.Backward(g.plan.Groups) {
		if b.Group != "" && group.StartLine <= b.StartLine && group.Number == b.Group {
			return group, true
		}
	}
	return planparse.Group{}, false
}

// marks computes from the plan's marks which batches may run in parallel. The heading of a group, "Wave 1
// (parallel)", applies to its batches, and (P) to the batches that have it. Only a batch marked parallel_safe, by
// itself or by the whole plan, may run in parallel with any other.
func (g *graph) marks() {
	n := len(g.plan.Batches)
	g.safe, g.peers = make([]bool, n), make([]int, n)
	for i := range g.plan.Batches {
		b := &g.plan.Batches[i]
		group, ok := g.group(i)
		own := !ok || group.StartLine == b.StartLine
		g.safe[i] = b.ParallelSafe && (g.says[i].safe || g.plan.Header.ParallelSafe || own && !g.marked(i))
		if ok && !own && !g.safe[i] && (b.ParallelSafe && !g.marked(i) || group.Kind == "wave" && g.waves != nil) {
			g.peers[i] = group.StartLine
		}
	}
}

// afterWaves makes each wave wait for the previous one. A phase may be marked as safe to run in parallel. A wave
// may not: "Wave 2 (parallel)" refers to its batches.
func (g *graph) afterWaves() {
	for k, w := range g.waves {
		for _, to := range w.batches {
			if g.besides(w, to) {
				continue
			}
			for _, before := range slices.Backward(g.waves[:k]) {
				reason := fmt.Sprintf("%s is after %s", w.name(), before.name())
				for _, from := range before.batches {
					g.add(from, to, EdgeWave, w.group.StartLine, reason)
				}
				// A batch that did not wait for its previous wave does not pass that wait on, so add edges to
				// earlier waves too.
				if !slices.ContainsFunc(before.batches, func(i int) bool { return g.besides(before, i) }) {
					break
				}
			}
		}
	}
}

// besides reports whether a batch may run in parallel with the previous phase.
func (g *graph) besides(w wave, i int) bool {
	return w.group.Kind != "wave" && g.safe[i]
}

// sameWave reports whether both are in one group of batches that may run together: a wave, or a marked group.
func (g *graph) sameWave(a, b int) bool { return g.peers[a] > 0 && g.peers[a] == g.peers[b] }

// marked reports whether the plan marks the batch with [P] or (P): it may run in parallel with other marked batches.
// In spec-kit the mark refers to tasks within a phase.
func (g *graph) marked(i int) bool {
	tasks := g.plan.Batches[i].Tasks
	return g.plan.Format != planparse.FormatSpecKit && len(tasks) > 0 &&
		!slices.ContainsFunc(tasks, func(t planparse.Task) bool { return !t.Parallel && t.Parent == "" })
}

// open reports whether the changes of the batch are unknown: it names no file and does more than run commands.
func (g *graph) open(i int) bool {
	return len(g.does[i].all) == 0 && !g.says[i].runsOnly
}

var (
	commandLine = lazyre.New(`^(?i:run|verify|check|confirm|expect(?:ed)?|command)s?\b`)
	nothingToDo = lazyre.New(`^(?:#|depends|context|parallel|critical|estimate|when|consumes|produces)`)
)

// runsOnly reports whether a batch states its needs and only runs commands. It must have commands, and its title
// must say verify or its text must contain only commands.
func runsOnly(b *planparse.Batch, s statement) bool {
	if !s.made || len(b.Commands) == 0 {
		return false
	}
	if said(b.Title, verifyWords) != "" {
		return true
	}
	only := true
	planparse.EachLine(b, func(l planparse.Line) {
		text := strings.TrimLeft(l.Text, " \t-*+•>_0123456789.)")
		for _, box := range []string{"[ ]", "[x]", "[X]"} {
			text = strings.TrimLeft(strings.TrimPrefix(text, box), " *_")
		}
		if !l.Fenced && text != "" && !commandLine.MatchString(text) && !nothingToDo.MatchString(strings.ToLower(text)) {
			only = false
		}
	})
	return only
}

// independent returns the evidence that b, the later batch, need not wait for a (ROUTE-02), or "" without any.
func (g *graph) independent(a, b int) string {
	first, later := len(g.does[a].all), len(g.does[b].all)
	switch {
	case first > 0 && later > 0:
		return fmt.Sprintf("share none of their %d + %d files; neither names anything that the other creates", first, later)
	case g.says[b].depends, g.says[b].made && !g.open(a) && !g.open(b):
		// read files are no evidence about changed files
		return fmt.Sprintf("%s states its dependencies, and %s is not among them", g.name(b), g.name(a))
	case g.safe[b]:
		return g.name(b) + " is marked parallel_safe"
	case g.marked(a) && g.marked(b):
		return "both are marked [P]"
	case g.sameWave(a, b):
		return "are in the same parallel group; neither names anything that the other creates"
	case later > 0 && g.safe[a]:
		return g.name(a) + " is marked parallel_safe"
	case later > 0 && !g.open(a):
		return fmt.Sprintf("%s only runs commands; %s is not among its stated dependencies", g.name(a), g.name(b))
	}
	return ""
}

// inOrder adds edges between batches without evidence that they are independent. It starts with the nearest
// earlier batch, so that each batch gets a minimum of such edges.
func (g *graph) inOrder() {
	for k, to := range g.order {
		whole := g.whole(to)
		for _, from := range slices.Backward(g.order[:k]) {
			switch {
			case g.above[to].has(from):
				// An edge added above may already order the two.
			case whole != "":
				g.add(from, to, EdgeText, g.plan.Batches[to].StartLine,
					fmt.Sprintf("the title says %q: it is about the results of earlier batches", whole))
			case g.independent(from, to) == "":
				g.add(from, to, EdgeOrder, 0, "nothing shows that they are independent: "+g.unclear(from, to))
			default:
				continue
			}
			g.above[to].add(from, g.above[from])
		}
	}
}

// sequentialAfter makes each batch after last wait for all batches before it (TEAM-06).
func (g *graph) sequentialAfter(last int) {
	if g.big { // already a chain
		return
	}
	for k := g.at[last] + 1; k < len(g.order); k++ {
		to := g.order[k]
		for _, from := range slices.Backward(g.order[:k]) {
			if !g.above[to].has(from) {
				g.add(from, to, EdgeSequential, 0, "requested with --sequential-after "+g.name(last))
			}
			g.above[to].add(from, g.above[from])
		}
	}
}

// unclear names which of two batches do not name their files.
func (g *graph) unclear(from, to int) string {
	var who []string
	for _, i := range []int{from, to} {
		if len(g.does[i].all) == 0 {
			who = append(who, g.name(i))
		}
	}
	verb := " names no files"
	if len(who) > 1 {
		verb = " name no files"
	}
	return strings.Join(who, " and ") + verb
}

// early returns the dependencies of a batch if it may start on their unmerged candidates, before their gates have
// passed (TEAM-04): all or none. The candidate's tree contains what the batch needs. The batch waits if both change too
// many common files, if they share machine state, or if their overlap is unknown.
func (s *layout) early(i int, rules Rules) []string {
	for _, need := range s.needs[i] {
		if ok, _ := s.mayStart(need, i, rules); !ok {
			return []string{}
		}
	}
	return s.keys(s.needs[i])
}

// mayStart reports whether a batch may start on the candidate of one that it needs. The reason is for people, and
// empty if the overlap is sufficient.
func (s *layout) mayStart(need, i int, rules Rules) (ok bool, reason string) {
	if s.overlap(need, i) >= float64(rules.SpeculateMaxOverlap) {
		return false, ""
	}
	if e := s.found[[2]int{need, i}]; e != nil {
		switch {
		case slices.Contains(e.kinds, EdgeSequential):
			return false, "it was requested to run after it"
		case slices.Contains(e.kinds, EdgeRuntime):
			return false, "both touch the same state of the machine"
		}
	}
	for _, x := range []int{need, i} {
		if s.open(x) {
			return false, "it is unknown which files " + s.name(x) + " touches"
		}
	}
	return true, ""
}

// speculation decides for each batch with exactly one dependency whether it starts on the candidate of that dependency.
func (s *layout) speculation(o Options) []Speculation {
	out := []Speculation{}
	for _, i := range s.run {
		if len(s.needs[i]) != 1 {
			continue
		}
		on := s.needs[i][0]
		x := Speculation{Batch: s.plan.Batches[i].Key, On: s.plan.Batches[on].Key, Overlap: s.overlap(on, i)}
		switch {
		case o.NoSpeculate:
			x.Reason = "--no-speculate"
		case !o.Rules.Speculate:
			x.Reason = "routing.speculate is off"
		default:
			x.Starts, x.Reason = s.mayStart(on, i, o.Rules)
		}
		out = append(out, x)
	}
	return out
}
