package main

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"
)

// graph is a plan with known times of batches.
type graph struct {
	took  []time.Duration
	needs [][]int // of each batch, indexes of earlier ones
}

// randomGraph makes a plan of 20 to 60 batches that take one to five seconds each. Some graphs are wide and some are
// close to a chain: the distance of a batch to its needs is random too.
func randomGraph(rnd *rand.Rand) graph {
	n := 20 + rnd.IntN(41)
	free, most, reach := 0.1+0.4*rnd.Float64(), 1+rnd.IntN(3), 6+rnd.IntN(n-5)
	g := graph{make([]time.Duration, n), make([][]int, n)}
	for i := range n {
		g.took[i] = time.Duration(100+rnd.IntN(401)) * 10 * time.Millisecond
		if i == 0 || rnd.Float64() < free {
			continue
		}
		for range 1 + rnd.IntN(most) {
			if need := i - 1 - rnd.IntN(min(i, reach)); !slices.Contains(g.needs[i], need) {
				g.needs[i] = append(g.needs[i], need)
			}
		}
		slices.Sort(g.needs[i])
	}
	return g
}

// work returns the total time of all batches, one after another.
func (g graph) work() time.Duration {
	var sum time.Duration
	for _, d := range g.took {
		sum += d
	}
	return sum
}

// chains returns for each batch the longest chain of work that begins with it.
func (g graph) chains(took func(i int) time.Duration) []time.Duration {
	chain := make([]time.Duration, len(g.took))
	for i := len(g.took) - 1; i >= 0; i-- { // dependents of i come after it, and have added theirs
		chain[i] += took(i)
		for _, need := range g.needs[i] {
			chain[need] = max(chain[need], chain[i])
		}
	}
	return chain
}

func (g graph) known(i int) time.Duration { return g.took[i] }

// even counts each batch as one, like a plan without history.
func even(int) time.Duration { return time.Second }

func (g graph) critical() time.Duration { return slices.Max(g.chains(g.known)) }

// floor returns a lower bound for any scheduler: the longest chain, or all work shared evenly.
func (g graph) floor(workers int) time.Duration {
	return max(g.critical(), g.work()/time.Duration(workers))
}

// makespan returns the total time of the graph if batch i occupies a worker for took(i). Of the ready batches, the
// one with the longest guessed chain starts first, then the first of the plan.
func (g graph) makespan(workers int, took, guess func(i int) time.Duration) time.Duration {
	chain, ends := g.chains(guess), make([]time.Duration, len(g.took))
	begun, busy := make([]bool, len(g.took)), map[int]bool{}
	var now time.Duration
	ready := func(i int) bool {
		return !begun[i] && !slices.ContainsFunc(g.needs[i], func(n int) bool { return !begun[n] || busy[n] })
	}
	for done := 0; done < len(g.took); {
		for len(busy) < workers {
			best := -1
			for i := range g.took {
				if ready(i) && (best < 0 || chain[i] > chain[best]) {
					best = i
				}
			}
			if best < 0 {
				break
			}
			begun[best], busy[best], ends[best] = true, true, now+took(best)
		}
		first := -1
		for i := range g.took {
			if busy[i] && (first < 0 || ends[i] < ends[first]) {
				first = i
			}
		}
		now = ends[first]
		delete(busy, first)
		done++
	}
	return now
}

// files returns the plan and the sleeping times for its agents. The agent is one sleeping process, so almost all load
// comes from runplan. If told is set, each batch has an estimate.
func (g graph) files(tells bool) map[string]string {
	files := map[string]string{
		"parts/README.md": "parts\n",
		".runplan/config.toml": "[run]\nagent = \"sleeper\"\n[agents.sleeper]\ncommand = [\"tools/sleeper.sh\"]\n" +
			"[routing]\nworker_mem_threshold_gb = 0.1\n" + config,
		"tools/sleeper.sh": "#!/bin/sh\nread -r time < \"times/$RUNPLAN_BATCH\"\necho \"part $RUNPLAN_BATCH\" > " +
			"\"parts/$RUNPLAN_BATCH.txt\"\nexec sleep \"$time\"\n",
	}
	var plan strings.Builder
	plan.WriteString("# Graph\n\n")
	for i, d := range g.took {
		n := i + 1
		fmt.Fprintf(&plan, "## Batch %d: Part %d\n\n", n, n)
		if tells {
			fmt.Fprintf(&plan, "estimate: %dms\n\n", d.Milliseconds())
		}
		if len(g.needs[i]) > 0 {
			names := make([]string, len(g.needs[i]))
			for k, need := range g.needs[i] {
				names[k] = fmt.Sprintf("batch-%d", need+1)
			}
			fmt.Fprintf(&plan, "depends_on: %s\n\n", strings.Join(names, ", "))
		}
		fmt.Fprintf(&plan, "### Task %d: Write part %d\n\n**Files:**\n- Create: `parts/%d.txt`\n\n", n, n, n)
		files[fmt.Sprintf("times/%d", n)] = fmt.Sprintf("%.2f\n", d.Seconds())
	}
	files["plan.md"] = plan.String()
	return files
}
