package planparse

import (
	"bytes"
	"slices"
)

// cutRow takes the checkbox out of a row of a table: "| [ ] | T001 | Title | a.go |", "| T001 | Title | [x] |". The
// rest is the id, if there is one, and the title. A row is a task only if it has one box, which is in front or in a
// row with an id: tables that use boxes to compare or explain are not work. boxes is their number in the row.
func cutRow(row []byte) (state byte, rest []byte, boxes int, ok bool) {
	if bytes.IndexByte(row, '[') < 0 {
		return 0, nil, 0, false
	}
	var l label // of rest
	read, first := 0, false
	for at := 0; len(row) > 1; at++ {
		var cell []byte
		cell, row = cutCell(row)
		if s, text, isBox := cutBox(cell); isBox {
			boxes++
			state, first, cell = s, at == 0, text
		}
		switch {
		case len(cell) == 0 || l.title != "" || read == 4:
			continue
		case len(rest) == 0:
			rest = cell
		default: // the id, the story and "[P]" have cells to themselves
			rest = slices.Concat(rest, []byte(": "), cell)
		}
		read++
		l = parseLabel(rest)
	}
	ok = boxes == 1 && (l.kind == labelT || first && l.title != "" && !(l.kind == labelNone && isState(l.title)))
	return state, rest, boxes, ok
}

// cutCell removes the first cell from a row, which starts with a bar. A bar after a backslash is text.
func cutCell(row []byte) (cell, rest []byte) {
	n := 1
	for n < len(row) && row[n] != '|' {
		if row[n] == '\\' {
			n++
		}
		n++
	}
	n = min(n, len(row))
	return bytes.TrimSpace(row[1:n]), row[n:]
}
