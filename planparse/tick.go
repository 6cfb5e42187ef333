package planparse

import (
	"bytes"
	"regexp"
)

// boxPattern finds what may be a checkbox. Whether it is one, the parser says; here only texts are compared
// and lines changed that the parser named. In a row of a table, it is the first cell that starts with a box.
const boxPattern = `(?m)^([ \t>]*(?:(?:[-*+]|\d+[.)])[ \t]*)+|[ \t>]*(?:(?:[-*+]|\d+[.)])[ \t]+)*\|(?:(?:[^|\\\n]|\\.)*\|)*?[ \t]*)\[[ \txX]\]([ \t*|\\\r]|$)`

// SameButTicks reports whether two plans differ in nothing but the state of checkboxes.
func SameButTicks(a, b []byte) bool {
	box := regexp.MustCompile(boxPattern)
	blank := []byte("${1}[ ]${2}")
	return bytes.Equal(box.ReplaceAll(a, blank), box.ReplaceAll(b, blank))
}

// Tick returns src with the checkboxes on the given lines (1-based) ticked, and how many it changed. A line
// without an open checkbox stays as it is.
func Tick(src []byte, lines map[int]bool) ([]byte, int) {
	box := regexp.MustCompile(boxPattern)
	out := bytes.Buffer{}
	changed, n := 0, 0
	for line := range bytes.Lines(src) {
		n++
		if lines[n] {
			if at := box.FindSubmatchIndex(line); at != nil && (line[at[3]+1] == ' ' || line[at[3]+1] == '\t') {
				line = bytes.Clone(line)
				line[at[3]+1] = 'x'
				changed++
			}
		}
		out.Write(line)
	}
	return out.Bytes(), changed
}
