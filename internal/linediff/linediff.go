// Package linediff compares two texts line by line and returns the changed lines, as git diff does. It works in memory,
// without the git program, so it also compares texts that are in no commit. The caller limits the number of
// differences, because time and memory grow with its square; beyond the limit there is no result.
package linediff

import (
	"slices"
	"strings"
)

// Hunk is a run of changed lines: lines NewFrom to NewTo of the new side replace lines From to To of the old side.
// Positions count from 0, and the ends are exclusive.
type Hunk struct {
	From, To       int // before
	NewFrom, NewTo int // after
}

// Lines splits a text into lines with their line ends.
func Lines(text string) []string {
	if text == "" {
		return nil
	}
	lines := strings.SplitAfter(text, "\n")
	if lines[len(lines)-1] == "" {
		lines = lines[:len(lines)-1]
	}
	return lines
}

// Compare returns a minimal line diff by Myers' greedy algorithm. ok is false if more than most lines differ; then the
// other results are not valid.
func Compare(before, after []string, most int) (hunks []Hunk, changed int, ok bool) {
	head := 0
	for head < len(before) && head < len(after) && before[head] == after[head] {
		head++
	}
	tail := 0
	for tail < len(before)-head && tail < len(after)-head && before[len(before)-1-tail] == after[len(after)-1-tail] {
		tail++
	}
	a, b := numbered(before[head:len(before)-tail], after[head:len(after)-tail])
	n, m := len(a), len(b)
	if n == 0 || m == 0 {
		if n+m == 0 {
			return nil, 0, true
		}
		return []Hunk{{head, head + n, head, head + m}}, n + m, n+m <= most
	}
	if most = min(most, n+m); max(n-m, m-n) > most {
		return nil, 0, false
	}
	var trace [][]int          // furthest positions at the start of each step, by diagonal
	v := make([]int, 2*most+3) // furthest position on each diagonal; diagonal k is at k+most+1
	for d := 0; d <= most; d++ {
		for k := -d; k <= d; k += 2 {
			at := k + most + 1
			x := v[at-1] + 1
			if k == -d || k != d && v[at-1] < v[at+1] {
				x = v[at+1]
			}
			y := x - k
			for x < n && y < m && a[x] == b[y] {
				x, y = x+1, y+1
			}
			v[at] = x
			if x >= n && y >= m {
				return walkBack(trace, n, m, d, head), d, true
			}
		}
		trace = append(trace, slices.Clone(v[most+1-d:most+2+d]))
	}
	return nil, 0, false
}

// walkBack converts the path into hunks.
func walkBack(trace [][]int, x, y, d, head int) []Hunk {
	var out []Hunk
	take := func(h Hunk) {
		if n := len(out); n > 0 && out[n-1].From == h.To && out[n-1].NewFrom == h.NewTo {
			out[n-1].From, out[n-1].NewFrom = h.From, h.NewFrom
			return
		}
		out = append(out, h)
	}
	for ; d > 0; d-- {
		k := x - y
		v := func(k int) int { return trace[d-1][k+d-1] }
		down := k == -d || k != d && v(k-1) < v(k+1)
		back := k - 1
		if down {
			back = k + 1
		}
		px := v(back)
		py := px - back
		if down { // an added line
			take(Hunk{px, px, py, py + 1})
		} else {
			take(Hunk{px, px + 1, py, py})
		}
		x, y = px, py
	}
	slices.Reverse(out)
	for i := range out {
		out[i].From, out[i].To, out[i].NewFrom, out[i].NewTo = out[i].From+head, out[i].To+head, out[i].NewFrom+head,
			out[i].NewTo+head
	}
	return out
}

// numbered assigns equal numbers to equal lines.
func numbered(before, after []string) (a, b []int) {
	seen := make(map[string]int, len(before)+len(after))
	number := func(lines []string) []int {
		out := make([]int, len(lines))
		for i, l := range lines {
			n, ok := seen[l]
			if !ok {
				n = len(seen)
				seen[l] = n
			}
			out[i] = n
		}
		return out
	}
	return number(before), number(after)
}
