// Package layered lays out a graph of boxes in layers: a box is in the layer after the last box on which it depends.
//
// Layers are columns from left to right. Columns that do not fit continue in the next row from right to left, and so
// on. So a chain of sixty boxes becomes a grid and not a long line. Edges that follow from other edges are omitted. The
// others run between the boxes, never behind them.
package layered

import (
	"cmp"
	"slices"

	"github.com/runplan/runplan/internal/lists"
)

// The size of a box, and the free space around all boxes, in pixels.
const (
	BoxWidth  = 184
	BoxHeight = 54
	Margin    = 38
)

const (
	gapX       = 48 // between columns; edges run here
	gapY       = 22 // between the rows of a column
	gapBand    = 44
	maxColumns = 5 // in a band
	maxRows    = 5 // boxes in a column, while the band has room for more columns
)

// Item describes a box: its key, and the keys that it needs. Unknown keys are ignored.
type Item struct {
	Key   string
	Needs []string
}

// Node is a box of the picture. Nodes are in the order of the items.
type Node struct {
	Needs []int   // its needs, without implied ones
	Layer int     // the number of nodes before it in the longest chain
	X, Y  float64 // its corner at the upper left

	order          int
	band, col, row int
	top, bottom    bool    // of its column
	flow           float64 // 1 in a band from left to right, -1 in the others
	barycenter     float64
}

// Graph is a picture with the positions of all parts.
type Graph struct {
	Nodes         []Node
	Width, Height float64

	bands []band
}

// band is a row of columns.
type band struct {
	columns [][]int // nodes, top to bottom
	rows    int
	y       float64
}

// Layout assigns positions to the items.
func Layout(items []Item) *Graph {
	g := &Graph{Nodes: make([]Node, len(items))}
	byKey := lists.Index(items, func(b Item) string { return b.Key })
	for i, b := range items {
		for _, key := range b.Needs {
			if j, ok := byKey[key]; ok && j != i && !slices.Contains(g.Nodes[i].Needs, j) {
				g.Nodes[i].Needs = append(g.Nodes[i].Needs, j)
			}
		}
	}
	g.rank()
	g.reduce()
	g.pack(g.layers())
	g.place()
	return g
}

// rank assigns a layer to each node. It drops a need that leads back, because it cannot be drawn, and a run with a
// cycle never starts.
func (g *Graph) rank() {
	const fresh, open, closed = 0, 1, 2
	mark := make([]int, len(g.Nodes))
	var visit func(i int)
	visit = func(i int) {
		mark[i] = open
		n := &g.Nodes[i]
		n.Needs = slices.DeleteFunc(n.Needs, func(j int) bool {
			if mark[j] == fresh {
				visit(j)
			}
			if mark[j] == open {
				return true
			}
			n.Layer = max(n.Layer, g.Nodes[j].Layer+1)
			return false
		})
		mark[i] = closed
	}
	for i := range g.Nodes {
		if mark[i] == fresh {
			visit(i)
		}
	}
}

// reduce drops needs that other needs imply.
func (g *Graph) reduce() {
	order := lists.Order(g.Nodes, func(a, b Node) int { return a.Layer - b.Layer })
	words := (len(g.Nodes) + 63) / 64
	before := make([][]uint64, len(g.Nodes)) // all that a node needs, as a set of bits
	has := func(set []uint64, i int) bool { return set[i/64]&(1<<(i%64)) != 0 }
	for _, i := range order {
		set, direct := make([]uint64, words), g.Nodes[i].Needs
		for _, j := range direct {
			for w := range set {
				set[w] |= before[j][w]
			}
		}
		g.Nodes[i].Needs = slices.DeleteFunc(slices.Clone(direct), func(j int) bool { return has(set, j) })
		for _, j := range direct {
			set[j/64] |= 1 << (j % 64)
		}
		before[i] = set
	}
}

// layers returns the nodes by layer, each near the ones it needs.
func (g *Graph) layers() [][]int {
	var layers [][]int
	for i, n := range g.Nodes {
		for len(layers) <= n.Layer {
			layers = append(layers, nil)
		}
		layers[n.Layer] = append(layers[n.Layer], i)
	}
	for _, l := range layers {
		for _, i := range l {
			n := &g.Nodes[i]
			for _, j := range n.Needs {
				n.barycenter += float64(g.Nodes[j].order) / float64(len(n.Needs))
			}
		}
		slices.SortStableFunc(l, func(a, b int) int { return cmp.Compare(g.Nodes[a].barycenter, g.Nodes[b].barycenter) })
		for k, i := range l {
			g.Nodes[i].order = 2*k - len(l) // centred, so that layers of different sizes can be compared
		}
	}
	return layers
}

// pack puts the layers into bands. A layer too large for one column takes several.
func (g *Graph) pack(layers [][]int) {
	var columns [][][]int // of each layer
	total, widest := 0, 1
	for _, l := range layers {
		split := make([][]int, min(maxColumns, (len(l)+maxRows-1)/maxRows))
		for k, i := range l {
			split[k%len(split)] = append(split[k%len(split)], i) // by rows, like text
		}
		columns = append(columns, split)
		total += len(split)
		widest = max(widest, len(split))
	}
	// Bands of equal length look better than full ones with a remainder.
	bands := (total + maxColumns - 1) / maxColumns
	room := maxColumns
	if bands > 0 {
		room = max(widest, (total+bands-1)/bands)
	}
	for _, c := range columns {
		if len(g.bands) == 0 || len(g.bands[len(g.bands)-1].columns)+len(c) > room {
			g.bands = append(g.bands, band{})
		}
		b := &g.bands[len(g.bands)-1]
		b.columns = append(b.columns, c...)
		for _, col := range c {
			b.rows = max(b.rows, len(col))
		}
	}
}

// place assigns a position to each node.
func (g *Graph) place() {
	room := 0
	for _, b := range g.bands {
		room = max(room, len(b.columns))
	}
	y := float64(Margin)
	for k := range g.bands {
		b := &g.bands[k]
		b.y = y
		for c, col := range b.columns {
			from := (b.rows - len(col)) / 2
			for r, i := range col {
				n := &g.Nodes[i]
				n.band, n.col, n.row, n.flow = k, c, from+r, 1
				n.top, n.bottom = r == 0, r == len(col)-1
				spot := c
				if k%2 == 1 {
					spot, n.flow = room-1-c, -1
				}
				n.X = Margin + float64(spot)*(BoxWidth+gapX)
				n.Y = y + float64(n.row)*(BoxHeight+gapY)
			}
		}
		y += b.height() + gapBand
	}
	g.Width = 2*Margin + float64(room)*(BoxWidth+gapX) - gapX
	g.Height = y - gapBand + Margin
}

func (b band) height() float64 { return float64(b.rows)*(BoxHeight+gapY) - gapY }

// Point is a corner of an edge.
type Point struct{ X, Y float64 }

// Route returns the corners of the edge from a to b, and whether it is a plain curve between neighbours.
func (g *Graph) Route(from, to int) (corners []Point, curve bool) {
	a, b := g.Nodes[from], g.Nodes[to]
	// Edges from the same box share a lane; other edges run parallel to it.
	lane := float64(from%5-2) * 3
	out := Point{a.X + BoxWidth/2 + a.flow*BoxWidth/2, a.Y + BoxHeight/2}
	in := Point{b.X + BoxWidth/2 - b.flow*BoxWidth/2, b.Y + BoxHeight/2}
	after := out.X + a.flow*gapX/2 + lane // the gutter on the far side of a
	ahead := in.X - b.flow*gapX/2 + lane  // the gutter before b
	switch {
	case a.band == b.band && b.col == a.col+1:
		return []Point{out, in}, true
	case a.band == b.band:
		y := a.Y + BoxHeight + gapY/2 + lane
		if b.row < a.row {
			y = a.Y - gapY/2 + lane
		}
		return []Point{out, {after, out.Y}, {after, y}, {ahead, y}, {ahead, in.Y}, in}, false
	case b.band == a.band+1 && a.X == b.X && a.bottom && b.top:
		return []Point{{a.X + BoxWidth/2, a.Y + BoxHeight}, {b.X + BoxWidth/2, b.Y}}, false
	}
	below := g.bands[a.band].y + g.bands[a.band].height() + gapBand/2 + lane
	corners = []Point{out, {after, out.Y}, {after, below}}
	if b.band > a.band+1 {
		// Past the bands between them on the outside.
		side, above := Margin/2+lane, g.bands[b.band].y-gapBand/2+lane
		if a.X+b.X > g.Width-BoxWidth {
			side = g.Width - Margin/2 + lane
		}
		corners = append(corners, Point{side, below}, Point{side, above}, Point{ahead, above})
	} else {
		corners = append(corners, Point{ahead, below})
	}
	return append(corners, Point{ahead, in.Y}, in), false
}
