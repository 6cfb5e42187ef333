package retrieve

import (
	"slices"
	"testing"
)

// A chunk that has no word of the task is still useful if the code around it has them.
func TestNearbyChunksAreWithinTwentyLines(t *testing.T) {
	s := &searching{of: map[string][]int{"a.go": {0, 1, 2, 3}, "b.go": {4}}, all: []Ranked{
		{Path: "a.go", Start: 1, End: 10}, {Path: "a.go", Start: 12, End: 30}, {Path: "a.go", Start: 50, End: 60},
		{Path: "a.go", Start: 81, End: 90}, {Path: "b.go", Start: 1, End: 5},
	}}
	for of, want := range [][]int{{0, 1}, {0, 1, 2}, {1, 2}, {3}, {4}} {
		var got []int
		s.nearby(of, func(k int) { got = append(got, k) })
		if slices.Sort(got); !slices.Equal(got, want) {
			t.Errorf("near chunk %d: %v, want %v", of, got, want)
		}
	}
}
