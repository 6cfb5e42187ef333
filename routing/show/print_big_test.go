package show

import (
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/runplan/runplan/routing"
)

// A plan of two thousand connected batches is printed and drawn. It has so many paths that work on each path
// would not end within the time limit of the tests.
func TestLargePlansAreShownQuickly(t *testing.T) {
	const n = 2000
	var edges []string
	for i := 2; i <= n; i++ {
		for _, back := range []int{1, 2, 40} {
			if i > back {
				edges = append(edges, fmt.Sprintf("%d>%d", i-back, i))
			}
		}
	}
	d := shape(n, strings.Join(edges, " "))
	needs := map[string][]string{}
	for _, e := range d.Edges {
		needs[e.To] = append(needs[e.To], e.From)
	}
	for i := range d.Steps {
		d.Steps[i].Needs, d.Steps[i].Class, d.Steps[i].Tier = needs[d.Steps[i].Batch], routing.Implementation, routing.Medium
	}
	d.Workers = 4
	p, _ := sample(t)
	must(t, Print(io.Discard, p, d, PrintOptions{Verbose: true}))
	must(t, SVG(io.Discard, p, d))
	must(t, DOT(io.Discard, p, d))
}
