package page

import (
	"github.com/runplan/runplan/internal/layered"
	"github.com/runplan/runplan/internal/ui"
	"github.com/runplan/runplan/runner"
	"github.com/runplan/runplan/runner/report"
)

// plot is the picture of a plan: the positions of its batches, and the edges. It is made once for a run.
type plot struct {
	Width, Height string
	Small         bool // too many batches for boxes: each is a dot
	spots         []spot
	lines         []line
}

type spot struct{ X, Y string }

type line struct {
	from, to int
	D        string
}

// maxBoxes is the maximum number of batches drawn as boxes with titles. More would be unreadable.
const maxBoxes = 120

// Number of dots in a row, and their distance.
const (
	dotsInRow = 50
	dotPitch  = 14
)

func plotOf(batches []runner.BatchSummary) *plot {
	if len(batches) > maxBoxes {
		return dots(len(batches))
	}
	g := report.LayoutOf(batches)
	p := &plot{Width: layered.Num(g.Width), Height: layered.Num(g.Height)}
	for i, n := range g.Nodes {
		p.spots = append(p.spots, spot{layered.Num(n.X), layered.Num(n.Y)})
		for _, j := range n.Needs {
			p.lines = append(p.lines, line{j, i, g.Path(j, i)})
		}
	}
	return p
}

func dots(n int) *plot {
	p := &plot{Small: true, Width: layered.Num(dotsInRow*dotPitch + 4),
		Height: layered.Num(float64((n+dotsInRow-1)/dotsInRow*dotPitch + 4))}
	for i := range n {
		p.spots = append(p.spots,
			spot{layered.Num(float64(4 + i%dotsInRow*dotPitch)), layered.Num(float64(4 + i/dotsInRow*dotPitch))})
	}
	return p
}

// node is a batch in the picture.
type node struct {
	ID, Href           string
	X, Y               string
	Tone, Word, Number string
	Title, Name        string
	Critical, Small    bool
}

// edge leads from a batch to one that needs it.
type edge struct {
	D              string
	Done, Critical bool
}

// critical returns the indexes of the batches on the critical path of the plan: by estimated durations, or by actual
// durations after the run. Without estimates, all batches count the same.
func critical(batches []runner.BatchSummary, info runner.Info, done bool) []int {
	index := map[string]int{}
	for i, b := range batches {
		index[b.Key] = i
	}
	weight, needs := make([]int64, len(batches)), make([][]int, len(batches))
	for i, b := range batches {
		if i < len(info.Batches) {
			weight[i] = info.Batches[i].ExpectMS
		}
		switch {
		case b.State == string(runner.Skipped):
			weight[i] = 0
		case done:
			weight[i] = b.DurationMS
		}
		weight[i] = max(1, weight[i])
		for _, key := range b.Needs {
			if j, ok := index[key]; ok && j != i {
				needs[i] = append(needs[i], j)
			}
		}
	}
	way := layered.Longest(needs, weight)
	if len(way) < 2 {
		return nil // the plan has no edges
	}
	return way
}

// drawn returns the picture as it is now.
func (p *plot) drawn(rows []ui.Row, batches []runner.BatchSummary, way []int) (nodes []node, edges []edge) {
	on := make([]bool, len(batches))
	for _, i := range way {
		on[i] = true
	}
	for i, s := range p.spots {
		n := node{
			ID: nodeID(i), Href: batchHref(batches[i].Key), X: s.X, Y: s.Y, Tone: string(toneOf(rows[i])), Word: rows[i].State,
			Number: ui.Cut(rows[i].Number, 8, "…"), Title: ui.Cut(rows[i].Label, 22, "…"), Name: rows[i].Label, Critical: on[i],
			Small: p.Small,
		}
		nodes = append(nodes, n)
	}
	for _, l := range p.lines {
		e := edge{D: l.D, Done: batches[l.from].State == string(runner.Passed)}
		for k := 1; k < len(way); k++ {
			e.Critical = e.Critical || way[k-1] == l.from && way[k] == l.to
		}
		edges = append(edges, e)
	}
	return nodes, edges
}
