package svg

import (
	_ "embed"
	"math"
	"slices"

	"github.com/runplan/runplan/internal/cells"
	"github.com/runplan/runplan/internal/layered"
)

// graphStyle contains literal colours for light and dark mode, because not every SVG viewer supports variables. It is a
// variable because embed knows no constants.
//
//go:embed graph.css
var graphStyle string

// Graph is a picture of boxes and of the arrows between them. It is self-contained, as a file or inside an HTML page,
// and follows the viewer's light or dark mode.
type Graph struct {
	*layered.Graph
	Label   string // what a screen reader says
	Caption string // shown above the boxes
	Boxes   []Box  // one for each node
	Longest []int  // the critical path: the nodes of the chain that bounds the time of a run
	// Arrow tells whether the node where an arrow begins is done, and what is shown when the pointer is over the arrow.
	Arrow  func(from, to int) (done bool, tip string)
	Legend []Entry
}

// Box shows a node: its number and its state, with its title below. Texts that do not fit are cut.
type Box struct {
	Class                string // a tone of package ui or "other", for the colours
	Number, State, Title string
	Tip                  string // shown when the pointer is over it
}

// Entry explains a class of boxes below the picture.
type Entry struct{ Class, Text string }

// Critical reports whether an arrow is part of the critical path.
func (g Graph) Critical(from, to int) bool {
	i := slices.Index(g.Longest, from)
	return i >= 0 && i+1 < len(g.Longest) && g.Longest[i+1] == to
}

// String draws the graph.
func (g Graph) String() string {
	room, height := float64(layered.Margin), g.Height
	if len(g.Longest) > 1 {
		g.Legend = append(g.Legend, Entry{"long", "critical path"})
	}
	at := make([]float64, len(g.Legend))
	for i, e := range g.Legend {
		at[i] = room
		room += 44 + 6.5*float64(len(e.Text))
		height = g.Height + 30
	}
	width := max(g.Width, room+layered.Margin, 2*layered.Margin+7*float64(cells.Width(g.Caption)))
	p := New("g", g.Label, graphStyle, width, height)
	p.Draw(`<rect class="g-page" width="%v" height="%v"/>`+"\n", width, height)
	if g.Caption != "" {
		p.Draw(`<text class="g-note" x="%v" y="24">%v</text>`+"\n", layered.Margin, g.Caption)
	}
	p.b.WriteString(g.Arrows())
	for i := range g.Nodes {
		p.b.WriteString(g.Box(i) + "\n")
	}
	for i, e := range g.Legend {
		mark := `<rect class="g-box" x="1" y="1" width="12" height="12" rx="3"/>`
		if e.Class == "long" {
			mark = `<path class="g-edge g-long" d="M0 7H14"/>`
		}
		p.Draw(`<g class="g-%v" transform="translate(%v %v)">`+mark+`<text class="g-note" x="20" y="11">%v</text></g>`+"\n",
			e.Class, at[i], g.Height-8, e.Text)
	}
	return p.String()
}

// Arrows draws only the arrows, those of the critical path on top.
func (g Graph) Arrows() string {
	var p Picture
	for _, critical := range []bool{false, true} {
		for to, n := range g.Nodes {
			for _, from := range n.Needs {
				if g.Critical(from, to) != critical {
					continue
				}
				class := "g-edge"
				done, tip := g.Arrow(from, to)
				if done {
					class += " g-done"
				}
				if critical {
					class += " g-long"
				}
				// A wide invisible line makes the thin one easy to point at.
				p.Draw(`<g><title>%v</title><path class="g-wide" d="%v"/>`+
					`<path class="%v" d="%[2]v" marker-end="url(#g-tip)"/></g>`+"\n", tip, g.path(from, to), class)
			}
		}
	}
	return p.b.String()
}

// Box draws only the box of a node. The inner svg element clips text in a wide font.
func (g Graph) Box(i int) string {
	var p Picture
	b, n, long := g.Boxes[i], g.Nodes[i], ""
	if slices.Contains(g.Longest, i) {
		long = " g-long"
	}
	p.Draw(`<svg class="g-%v" x="%v" y="%v" width="%v" height="%v"><title>%v</title>`, b.Class+long, n.X, n.Y,
		layered.BoxWidth, layered.BoxHeight, b.Tip)
	p.Draw(`<rect class="g-box" x="1.25" y="1.25" width="%v" height="%v" rx="8"/>`, layered.BoxWidth-2.5,
		layered.BoxHeight-2.5)
	p.Draw(`<text class="g-num" x="14" y="22">%v</text>`, cells.Cut(b.Number, 8, "…"))
	p.Draw(`<text class="g-state" x="%v" y="22" text-anchor="end">%v</text>`, layered.BoxWidth-12,
		cells.Cut(b.State, 20, "…"))
	p.Draw(`<text class="g-title" x="14" y="41">%v</text></svg>`, cells.Cut(b.Title, 22, "…"))
	return p.b.String()
}

// path returns the arrow between two nodes as the data of a path element, with its corners rounded.
func (g Graph) path(from, to int) string {
	var p Picture
	c, curve := g.Route(from, to)
	first, last := c[0], c[len(c)-1]
	p.Draw("M%v %v", first.X, first.Y)
	if curve {
		p.Draw("C%v %v %[1]v %[3]v %[4]v %[3]v", (first.X+last.X)/2, first.Y, last.Y, last.X)
		return p.b.String()
	}
	for i := 1; i < len(c)-1; i++ {
		before, corner, after := c[i-1], c[i], c[i+1]
		d := min(7, distance(before, corner)/2, distance(corner, after)/2)
		begin, end := toward(corner, before, d), toward(corner, after, d)
		p.Draw("L%v %vQ%v %v %v %v", begin.X, begin.Y, corner.X, corner.Y, end.X, end.Y)
	}
	p.Draw("L%v %v", last.X, last.Y)
	return p.b.String()
}

func distance(a, b layered.Point) float64 { return math.Hypot(a.X-b.X, a.Y-b.Y) }

// toward returns the point d away from a on the way to b.
func toward(a, b layered.Point, d float64) layered.Point {
	l := distance(a, b)
	if l == 0 {
		return a
	}
	return layered.Point{X: a.X + (b.X-a.X)*d/l, Y: a.Y + (b.Y-a.Y)*d/l}
}
