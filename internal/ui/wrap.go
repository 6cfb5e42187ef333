package ui

import (
	"bytes"
	"io"
	"strings"
	"sync"

	"github.com/runplan/runplan/internal/cells"
)

// Wrapper breaks lines that are longer than the terminal between words, and indents the continuation. Elsewhere, and
// for JSON and diffs, it changes nothing.
type Wrapper struct {
	To    io.Writer
	Width func() int // of the terminal, or 0 if there is none

	mu sync.Mutex
	at int // cells of an unfinished line
}

// Columns returns the width of the terminal, or 0.
func (w *Wrapper) Columns() int { return w.Width() }

// Write implements [io.Writer].
func (w *Wrapper) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	width := w.Width()
	if width <= 0 || verbatim(p) {
		return w.To.Write(p)
	}
	var b strings.Builder
	for rest, more := string(p), true; more; {
		var line string
		line, rest, more = strings.Cut(rest, "\n")
		if i := strings.LastIndexByte(line, '\r'); i >= 0 { // a line that overwrites itself
			b.WriteString(line)
		} else {
			lead := len(line) - len(strings.TrimLeft(line, " "))
			line = cells.Words(line, width, w.at, min(lead+2, width/3))
			b.WriteString(line)
		}
		if more {
			b.WriteByte('\n')
			w.at = 0
		} else {
			w.at += cells.Width(line[strings.LastIndexAny(line, "\r\n")+1:])
		}
	}
	if _, err := io.WriteString(w.To, b.String()); err != nil {
		return 0, err
	}
	return len(p), nil
}

// verbatim reports whether p is for programs: JSON, a diff or a patch.
func verbatim(p []byte) bool {
	trimmed := bytes.TrimLeft(p, " \n")
	return bytes.HasPrefix(trimmed, []byte("{")) || bytes.HasPrefix(trimmed, []byte("[")) ||
		bytes.HasPrefix(trimmed, []byte("diff --git ")) || bytes.Contains(p, []byte("\ndiff --git "))
}
