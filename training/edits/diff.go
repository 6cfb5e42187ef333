package edits

import (
	"fmt"
	"strings"

	"github.com/rogpeppe/go-internal/diff"
	"github.com/runplan/runplan/internal/linediff"
)

// mostCompared is the limit for [linediff.Compare], whose time and memory are quadratic in it.
const mostCompared = 500

// hunksOf returns a minimal diff if few lines change. Otherwise it aligns on lines that occur once on each side.
func hunksOf(before, after []string) []linediff.Hunk {
	if hunks, _, ok := linediff.Compare(before, after, mostCompared); ok {
		return hunks
	}
	return unified(string(diff.Diff("a", []byte(ended(strings.Join(before, ""))), "b",
		[]byte(ended(strings.Join(after, ""))))))
}

// unified parses the positions of a unified diff, without context lines.
func unified(text string) []linediff.Hunk {
	var out []linediff.Hunk
	var h linediff.Hunk
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
			continue // the header of the diff
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
				a-- // the position of an empty side is the line above
			}
			if m > 0 {
				b--
			}
		case ' ':
			flush()
			a, b = a+1, b+1
		case '-', '+':
			if !open {
				h, open = linediff.Hunk{From: a, NewFrom: b}, true
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
