package layered

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

func TestLayout(t *testing.T) {
	for name, c := range map[string]struct {
		n          int
		needs      func(int) []int
		wide, high float64 // at most
	}{
		"three in a row":            {3, before, 800, 150},
		"a chain of sixty":          {60, before, 1300, 1300},
		"sixty boxes without edges": {60, alone, 1300, 1300},
		"woven":                     {60, woven, 1300, 3000},
		"one":                       {1, alone, 300, 150},
		"none":                      {0, alone, 300, 150},
	} {
		t.Run(name, func(t *testing.T) {
			g := Layout(items(c.n, c.needs))
			if g.Width > c.wide || g.Height > c.high {
				t.Errorf("%g by %g, want at most %g by %g", g.Width, g.Height, c.wide, c.high)
			}
			sound(t, g)
		})
	}
}

func TestLayoutOmitsImpliedDependencies(t *testing.T) {
	g := Layout(items(4, func(i int) []int { return [][]int{nil, {0}, {0, 1}, {0, 1, 2}}[i] }))
	for i := 1; i < 4; i++ {
		if !slices.Equal(g.Nodes[i].Needs, []int{i - 1}) {
			t.Errorf("node %d is drawn with the dependencies %v", i, g.Nodes[i].Needs)
		}
	}
}

func TestLayoutToleratesInvalidDependencies(t *testing.T) {
	g := Layout([]Item{
		{Key: "a", Needs: []string{"b", "a", "nobody"}}, {Key: "b", Needs: []string{"c"}},
		{Key: "c", Needs: []string{"a", "a"}}, {Key: "c"}, {},
	})
	sound(t, g)
}

func TestLayoutOfRandomGraphs(t *testing.T) {
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 1))
		g := Layout(items(r.IntN(70), func(i int) []int {
			var out []int
			for range r.IntN(4) {
				if i > 0 {
					out = append(out, r.IntN(i))
				}
			}
			return out
		}))
		sound(t, g)
	}
}

func items(n int, needs func(int) []int) []Item {
	var out []Item
	for i := range n {
		b := Item{Key: fmt.Sprint(i)}
		for _, j := range needs(i) {
			b.Needs = append(b.Needs, fmt.Sprint(j))
		}
		out = append(out, b)
	}
	return out
}

// sound checks that boxes are inside the picture and do not overlap, and that no edge crosses a box or leaves the
// picture.
func sound(t *testing.T, g *Graph) {
	t.Helper()
	for i, a := range g.Nodes {
		if a.X < 0 || a.Y < 0 || a.X+BoxWidth > g.Width || a.Y+BoxHeight > g.Height {
			t.Fatalf("box %d at %g %g is outside of %g by %g", i, a.X, a.Y, g.Width, g.Height)
		}
		for _, b := range g.Nodes[:i] {
			if a.X < b.X+BoxWidth && b.X < a.X+BoxWidth && a.Y < b.Y+BoxHeight && b.Y < a.Y+BoxHeight {
				t.Fatalf("box %d lies on another", i)
			}
		}
		for _, j := range a.Needs {
			corners, curve := g.Route(j, i)
			for k, p := range corners {
				if p.X < 0 || p.Y < 0 || p.X > g.Width || p.Y > g.Height {
					t.Fatalf("the edge from %d to %d leaves the picture at %v", j, i, p)
				}
				if k > 0 && !curve {
					through(t, g, corners[k-1], p)
				}
			}
		}
	}
}

func through(t *testing.T, g *Graph, a, b Point) {
	t.Helper()
	if a.X != b.X && a.Y != b.Y {
		t.Fatalf("the edge from %v to %v is neither upright nor level", a, b)
	}
	for i, n := range g.Nodes {
		if min(a.X, b.X) < n.X+BoxWidth && max(a.X, b.X) > n.X && min(a.Y, b.Y) < n.Y+BoxHeight && max(a.Y, b.Y) > n.Y {
			t.Fatalf("the edge from %v to %v runs through box %d", a, b, i)
		}
	}
}

func before(i int) []int {
	if i == 0 {
		return nil
	}
	return []int{i - 1}
}

func alone(int) []int { return nil }

// woven returns dependencies that form neither a chain nor a set of independent boxes.
func woven(i int) []int {
	switch {
	case i < 3:
		return nil
	case i%7 == 0:
		return []int{i - 1, i - 3, max(0, i-20)}
	case i%3 == 0:
		return []int{i - 3}
	}
	return []int{i - 1 - i%2}
}
