package layered

import (
	"fmt"
	"math"
	"strings"
)

// Path returns the edge between two nodes as the data of an SVG path, with its corners rounded.
func (g *Graph) Path(from, to int) string {
	c, curve := g.route(from, to)
	if curve {
		mid := (c[0].x + c[1].x) / 2
		return fmt.Sprintf("M%s %sC%s %s %s %s %s %s", Num(c[0].x), Num(c[0].y), Num(mid), Num(c[0].y), Num(mid), Num(c[1].y),
			Num(c[1].x), Num(c[1].y))
	}
	var b strings.Builder
	fmt.Fprintf(&b, "M%s %s", Num(c[0].x), Num(c[0].y))
	for i := 1; i < len(c)-1; i++ {
		p, q, r := c[i-1], c[i], c[i+1]
		d := min(7, dist(p, q)/2, dist(q, r)/2)
		from, to := toward(q, p, d), toward(q, r, d)
		fmt.Fprintf(&b, "L%s %sQ%s %s %s %s", Num(from.x), Num(from.y), Num(q.x), Num(q.y), Num(to.x), Num(to.y))
	}
	last := c[len(c)-1]
	fmt.Fprintf(&b, "L%s %s", Num(last.x), Num(last.y))
	return b.String()
}

func dist(a, b point) float64 { return math.Hypot(a.x-b.x, a.y-b.y) }

// toward returns the point d away from a on the way to b.
func toward(a, b point, d float64) point {
	l := dist(a, b)
	if l == 0 {
		return a
	}
	return point{a.x + (b.x-a.x)*d/l, a.y + (b.y-a.y)*d/l}
}

// Num writes a coordinate, to a tenth.
func Num(f float64) string {
	return strings.TrimSuffix(strings.TrimRight(fmt.Sprintf("%.1f", f), "0"), ".")
}
