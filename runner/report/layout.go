package report

import (
	"github.com/runplan/runplan/internal/layered"
	"github.com/runplan/runplan/runner"
)

// graph is the picture of a run: its batches, each with its needs.
type graph struct {
	*layered.Graph
	nodes []node
}

// node is a box of the picture.
type node struct {
	batch runner.BatchSummary
	needs []int // its needs, without implied ones
	x, y  float64
}

func layout(batches []runner.BatchSummary) graph {
	items := make([]layered.Item, len(batches))
	for i, b := range batches {
		items[i] = layered.Item{Key: b.Key, Needs: b.Needs}
	}
	g := graph{layered.Layout(items), make([]node, len(batches))}
	for i, n := range g.Nodes {
		g.nodes[i] = node{batches[i], n.Needs, n.X, n.Y}
	}
	return g
}
