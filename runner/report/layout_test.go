package report

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/runplan/runplan/runner"
)

func TestLayout(t *testing.T) {
	for name, c := range map[string]struct {
		n          int
		needs      func(int) []int
		wide, high float64 // at most
	}{
		"three in a row":         {3, before, 800, 150},
		"a chain of sixty":       {60, before, 1300, 1300},
		"sixty that stand alone": {60, alone, 1300, 1300},
		"woven":                  {60, woven, 1300, 3000},
		"one":                    {1, alone, 300, 150},
		"none":                   {0, alone, 300, 150},
	} {
		t.Run(name, func(t *testing.T) {
			g := layout(batches(c.n, c.needs))
			if g.width > c.wide || g.height > c.high {
				t.Errorf("%g by %g, want at most %g by %g", g.width, g.height, c.wide, c.high)
			}
			sound(t, g)
		})
	}
}

func TestImpliedNeedsAreNotDrawn(t *testing.T) {
	g := layout(batches(4, func(i int) []int { return [][]int{nil, {0}, {0, 1}, {0, 1, 2}}[i] }))
	for i := 1; i < 4; i++ {
		if !slices.Equal(g.nodes[i].needs, []int{i - 1}) {
			t.Errorf("node %d is drawn as needing %v", i, g.nodes[i].needs)
		}
	}
}

func TestLayoutOfNonsense(t *testing.T) {
	g := layout([]runner.BatchSummary{
		{Key: "a", Needs: []string{"b", "a", "nobody"}}, {Key: "b", Needs: []string{"c"}}, {Key: "c", Needs: []string{"a", "a"}}, {Key: "c"}, {},
	})
	sound(t, g)
}

func TestLayoutOfManyGraphs(t *testing.T) {
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 1))
		g := layout(batches(r.IntN(70), func(i int) []int {
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

func batches(n int, needs func(int) []int) []runner.BatchSummary {
	var out []runner.BatchSummary
	for i := range n {
		b := runner.BatchSummary{Key: fmt.Sprint(i), State: "waiting"}
		for _, j := range needs(i) {
			b.Needs = append(b.Needs, fmt.Sprint(j))
		}
		out = append(out, b)
	}
	return out
}

// sound checks that boxes are apart and inside, and that no edge runs through a box or out of the picture.
func sound(t *testing.T, g graph) {
	t.Helper()
	for i, a := range g.nodes {
		if a.x < 0 || a.y < 0 || a.x+boxWidth > g.width || a.y+boxHeight > g.height {
			t.Fatalf("box %d at %g %g is outside of %g by %g", i, a.x, a.y, g.width, g.height)
		}
		for _, b := range g.nodes[:i] {
			if a.x < b.x+boxWidth && b.x < a.x+boxWidth && a.y < b.y+boxHeight && b.y < a.y+boxHeight {
				t.Fatalf("box %d lies on another", i)
			}
		}
		for _, j := range a.needs {
			corners, curve := g.route(j, i)
			for k, p := range corners {
				if p.x < 0 || p.y < 0 || p.x > g.width || p.y > g.height {
					t.Fatalf("the edge from %d to %d leaves the picture at %v", j, i, p)
				}
				if k > 0 && !curve {
					through(t, g, corners[k-1], p)
				}
			}
		}
	}
}

func through(t *testing.T, g graph, a, b point) {
	t.Helper()
	if a.x != b.x && a.y != b.y {
		t.Fatalf("the edge from %v to %v is neither upright nor level", a, b)
	}
	for i, n := range g.nodes {
		if min(a.x, b.x) < n.x+boxWidth && max(a.x, b.x) > n.x && min(a.y, b.y) < n.y+boxHeight && max(a.y, b.y) > n.y {
			t.Fatalf("the edge from %v to %v runs through box %d", a, b, i)
		}
	}
}
