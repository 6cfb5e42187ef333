package layered

import "slices"

// Longest returns the chain of items with the greatest sum of weights, in the order in which they need each other. A
// need that leads back is ignored.
func Longest(needs [][]int, weight []int64) []int {
	const fresh, open, closed = 0, 1, 2
	state, total, before := make([]int, len(needs)), make([]int64, len(needs)), make([]int, len(needs))
	var visit func(int)
	visit = func(i int) {
		state[i], before[i] = open, -1
		for _, j := range needs[i] {
			if state[j] == fresh {
				visit(j)
			}
			if state[j] == closed && total[j] > total[i] {
				total[i], before[i] = total[j], j
			}
		}
		total[i] += weight[i]
		state[i] = closed
	}
	last := -1
	for i := range needs {
		if state[i] == fresh {
			visit(i)
		}
		if last < 0 || total[i] > total[last] {
			last = i
		}
	}
	var way []int
	for i := last; i >= 0; i = before[i] {
		way = append(way, i)
	}
	slices.Reverse(way)
	return way
}
