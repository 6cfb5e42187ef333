package edits

import (
	"fmt"
	"slices"
	"strings"

	"github.com/rogpeppe/go-internal/diff"
)

// Hunk is a run of lines that changes: lines NewFrom..NewTo of the one side stand where lines From..To of the other side
// stood. Places count from 0, and the end is not part of it.
type Hunk struct {
	From, To       int // before
	NewFrom, NewTo int // after
}

// Lines splits a text. Lines keep their ends.
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

// Compare returns the fewest lines that have to go and to come to make the one text of the other, by Myers' greedy way. ok
// is false where they are more than most; nothing else is known then.
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
	var trace [][]int          // the furthest places that each step began with, on the diagonals that it had
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
				return walkBack(trace, n, m, d, head), d, true
			}
		}
		trace = append(trace, slices.Clone(v[most+1-d:most+2+d]))
	}
	return nil, 0, false
}

// walkBack makes hunks of the way that was found.
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
		if down { // a line came
			take(Hunk{px, px, py, py + 1})
		} else {
			take(Hunk{px, px + 1, py, py})
		}
		x, y = px, py
	}
	slices.Reverse(out)
	for i := range out {
		out[i].From, out[i].To, out[i].NewFrom, out[i].NewTo = out[i].From+head, out[i].To+head, out[i].NewFrom+head, out[i].NewTo+head
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

// mostCompared bounds what [Compare] is asked: its time and memory go with the square of it.
const mostCompared = 500

// hunksOf returns what changes, the fewest lines where they are few, and else what stands between lines that are there
// once on each side.
func hunksOf(before, after []string) []Hunk {
	if hunks, _, ok := Compare(before, after, mostCompared); ok {
		return hunks
	}
	return unified(string(diff.Diff("a", []byte(ended(strings.Join(before, ""))), "b", []byte(ended(strings.Join(after, ""))))))
}

// unified reads the places of a unified diff, without the lines around them.
func unified(text string) []Hunk {
	var out []Hunk
	var h Hunk
	var a, b int // next line of each side
	open, body := false, false
	flush := func() {
		if open {
			h.To, h.NewTo = a, b
			out = append(out, h)
			open = false
		}
	}
	for line := range strings.Lines(text) {
		if !body && line[0] != '@' {
			continue // the head of the diff
		}
		switch line[0] {
		case '@':
			body = true
			flush()
			var n, m int
			if _, err := fmt.Sscanf(line, "@@ -%d,%d +%d,%d @@", &a, &n, &b, &m); err != nil {
				return nil
			}
			if n > 0 {
				a-- // the place of an empty side is that of the line above
			}
			if m > 0 {
				b--
			}
		case ' ':
			flush()
			a, b = a+1, b+1
		case '-', '+':
			if !open {
				h, open = Hunk{From: a, NewFrom: b}, true
			}
			if line[0] == '-' {
				a++
			} else {
				b++
			}
		}
	}
	flush()
	return out
}
