package planparse

import (
	"bytes"
	"strings"

	"github.com/runplan/runplan/internal/lazyre"
	"github.com/runplan/runplan/internal/phrase"
)

// box finds possible checkboxes. The parser decides which of them are; this file only compares texts and
// changes lines that the parser named. In a row of a table, it is the first cell that starts with a box.
var box = lazyre.New(`(?m)^([ \t>]*(?:(?:[-*+]|\d+[.)])[ \t]*)+|[ \t>]*(?:(?:[-*+]|\d+[.)])[ \t]+)*\|(?:(?:[^|\\\n]|\\.)*\|)*?[ \t]*)\[[ \txX]\]([ \t*|\\\r]|$)`)

// SameButTicks reports whether two plans differ only in the state of checkboxes.
func SameButTicks(a, b []byte) bool {
	blank := []byte("${1}[ ]${2}")
	return bytes.Equal(box.Re().ReplaceAll(a, blank), box.Re().ReplaceAll(b, blank))
}

// Tick returns src with the checkboxes on the given lines (1-based) ticked, and the number of changes. It does not
// change a line without an open checkbox.
func Tick(src []byte, lines map[int]bool) ([]byte, int) { return setBoxes(src, lines, " \t", 'x') }

// Untick returns src with the checkboxes on the given lines (1-based) open.
func Untick(src []byte, lines map[int]bool) []byte {
	out, _ := setBoxes(src, lines, "xX", ' ')
	return out
}

// setBoxes sets a new state for the checkboxes on the lines whose state is in from, and counts them.
func setBoxes(src []byte, lines map[int]bool, from string, to byte) ([]byte, int) {
	out := bytes.Buffer{}
	changed, n := 0, 0
	for line := range bytes.Lines(src) {
		n++
		if lines[n] {
			if at := box.Re().FindSubmatchIndex(line); at != nil && strings.IndexByte(from, line[at[3]+1]) >= 0 {
				line = bytes.Clone(line)
				line[at[3]+1] = to
				changed++
			}
		}
		out.Write(line)
	}
	return out.Bytes(), changed
}

// WordingOf returns a function that normalizes the lines first to last of src for a comparison: without the state of
// checkboxes, without blank lines, and with one space for any white space.
func WordingOf(src []byte) func(first, last int) string {
	if bytes.IndexByte(src, '\r') >= 0 && bytes.IndexByte(src, '\n') < 0 {
		src = bytes.ReplaceAll(src, []byte{'\r'}, []byte{'\n'})
	}
	lines := lineOffsets(src)
	return func(first, last int) string {
		first, last = max(first, 1), min(last, len(lines))
		if first > last {
			return ""
		}
		stop := len(src)
		if last < len(lines) {
			stop = lines[last]
		}
		var out []string
		for line := range bytes.Lines(src[lines[first-1]:stop]) {
			line = box.Re().ReplaceAll(line, []byte("${1}[ ]${2}"))
			if text := phrase.Line(strings.ToValidUTF8(string(line), "\uFFFD")); text != "" {
				out = append(out, text)
			}
		}
		return strings.Join(out, "\n")
	}
}
