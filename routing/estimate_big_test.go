package routing

import (
	"fmt"
	"testing"
)

// A plan of two thousand connected batches is estimated. It has so many paths that work on each path
// would not end within the time limit of the tests.
func TestLargePlansAreEstimatedQuickly(t *testing.T) {
	const n = 2000
	var d Decision
	for i := 1; i <= n; i++ {
		s := Step{Batch: fmt.Sprint(i), Class: Implementation, Tier: Medium}
		for _, back := range []int{1, 2, 40} {
			if i > back {
				s.Needs = append(s.Needs, fmt.Sprint(i-back))
				d.Edges = append(d.Edges, Edge{From: fmt.Sprint(i - back), To: s.Batch})
			}
		}
		d.Steps = append(d.Steps, s)
	}
	d.Workers = 4
	var history []Sample
	for range 2000 {
		history = append(history, samples("r", "implementation", "medium", 3, 5, 9)...)
	}
	Options{History: history}.estimate(&d)
}
