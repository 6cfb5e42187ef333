package history

import "strings"

// hunk is a run of lines that changes: lines from..to of the one side stand where lines from..to of the other side stood.
// Places count from 0, and the end is not part of it.
type hunk struct {
	from, to       int // before
	newFrom, newTo int // after
}

// splitLines keeps the ends of lines.
func splitLines(text string) []string {
	if text == "" {
		return nil
	}
	lines := strings.SplitAfter(text, "\n")
	if lines[len(lines)-1] == "" {
		lines = lines[:len(lines)-1]
	}
	return lines
}

// compare returns the fewest lines that have to go and to come to make the one text of the other, by Myers' greedy way. ok
// is false where they are more than most; nothing else is known then.
func compare(before, after []string, most int) (hunks []hunk, changed int, ok bool) {
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
		return []hunk{{head, head + n, head, head + m}}, n + m, n+m <= most
	}
	if most = min(most, n+m); max(n-m, m-n) > most {
		return nil, 0, false
	}
	var trace [][]int
	v := make([]int, 2*most+3) // furthest place on each diagonal; diagonal k is at k+most+1
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
				return walkBack(append(trace, v), n, m, d, most, head), d, true
			}
		}
		trace = append(trace, append([]int(nil), v...))
	}
	return nil, 0, false
}

// walkBack makes hunks of the way that was found.
func walkBack(trace [][]int, x, y, d, most, head int) []hunk {
	var out []hunk
	take := func(h hunk) {
		if n := len(out); n > 0 && out[n-1].from == h.to && out[n-1].newFrom == h.newTo {
			out[n-1].from, out[n-1].newFrom = h.from, h.newFrom
			return
		}
		out = append(out, h)
	}
	for ; d > 0; d-- {
		v, k := trace[d-1], x-y
		at := k + most + 1
		down := k == -d || k != d && v[at-1] < v[at+1]
		back := k - 1
		if down {
			back = k + 1
		}
		px := v[back+most+1]
		py := px - back
		if down { // a line came
			take(hunk{px, px, py, py + 1})
		} else {
			take(hunk{px, px + 1, py, py})
		}
		x, y = px, py
	}
	for i, j := 0, len(out)-1; i < j; i, j = i+1, j-1 {
		out[i], out[j] = out[j], out[i]
	}
	for i := range out {
		out[i].from, out[i].to, out[i].newFrom, out[i].newTo = out[i].from+head, out[i].to+head, out[i].newFrom+head, out[i].newTo+head
	}
	return out
}

// numbered gives equal lines equal numbers.
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
