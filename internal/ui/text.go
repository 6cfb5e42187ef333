package ui

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/charmbracelet/x/ansi"

	"github.com/runplan/runplan/internal/cells"
	"github.com/runplan/runplan/internal/phrase"
	"github.com/runplan/runplan/internal/redact"
)

// Sanitize makes one safe line of s: without escape sequences, control characters and bidirectional marks, and with one
// space for each run of white space.
func Sanitize(s string) string { return phrase.Line(redact.Clean(s)) }

// Brief is [Sanitize], cut to at most width cells.
func Brief(s string, width int) string { return cells.Cut(Sanitize(s), width, "…") }

// Duration writes d for people: 850ms, 3.2s, 12s, 3m04s, 1h02m.
func Duration(d time.Duration) string {
	if d < 0 {
		return "-" + Duration(-d)
	}
	switch ms, s := d.Round(time.Millisecond), d.Round(time.Second); {
	case d == 0:
		return "0s"
	case ms < time.Second:
		return fmt.Sprintf("%dms", ms.Milliseconds())
	case d.Round(100*time.Millisecond) < 10*time.Second:
		return strings.TrimSuffix(fmt.Sprintf("%.1f", d.Seconds()), ".0") + "s"
	case s < time.Minute:
		return fmt.Sprintf("%ds", int(s.Seconds()))
	case s < time.Hour:
		return fmt.Sprintf("%dm%02ds", int(s.Minutes()), int(s.Seconds())%60)
	default:
		m := int(d.Round(time.Minute).Minutes())
		return fmt.Sprintf("%dh%02dm", m/60, m%60)
	}
}

// Table writes rows in aligned columns. A header that begins with > aligns its column to the right; a nil header writes
// none. Cells may contain colours; external text must be cleaned first. On a terminal, cells wrap in their columns so
// that the table fits, and a row that cannot fit becomes a table of its own, with a line for each cell; elsewhere each row
// is one line. Standard output remembers its errors, so few callers check them.
func Table(w io.Writer, header []string, rows [][]string) error {
	var right []bool
	var all [][]string
	if header != nil {
		head := make([]string, len(header))
		for i, h := range header {
			to := strings.HasPrefix(ansi.Strip(h), ">")
			if to {
				h = strings.Replace(h, ">", "", 1)
			}
			head[i], right = h, append(right, to)
		}
		all = append(all, head)
	}
	all = append(all, rows...)
	var width []int
	for _, row := range all {
		for i, cell := range row {
			if i == len(width) {
				width = append(width, 0)
			}
			width[i] = max(width[i], cells.Width(cell))
		}
	}
	if room := ColumnsOf(w); room > 0 {
		if !narrow(width, room) && header != nil && len(width) > 2 {
			return records(w, all)
		}
	}
	var b strings.Builder
	for _, row := range all {
		writeRow(&b, row, width, right)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// Rows are the rows of a table of plain text, see [Table].
type Rows [][]string

// Add adds a row. It prints the cells as fmt.Sprint does, and cleans them.
func (r *Rows) Add(cells ...any) {
	row := make([]string, len(cells))
	for i, c := range cells {
		row[i] = Sanitize(fmt.Sprint(c))
	}
	*r = append(*r, row)
}

// columnGap is the space between columns, and leastColumn the width below which a column is not narrowed.
const (
	columnGap   = "  "
	leastColumn = 12
)

// records writes each row below the first as a table with the columns header and cell. It omits empty cells.
func records(w io.Writer, all [][]string) error {
	for n, row := range all[1:] {
		var lines [][]string
		for i, cell := range row {
			if cell != "" && i < len(all[0]) {
				lines = append(lines, []string{all[0][i], cell})
			}
		}
		if n > 0 {
			if _, err := io.WriteString(w, "\n"); err != nil {
				return err
			}
		}
		if err := Table(w, nil, lines); err != nil {
			return err
		}
	}
	return nil
}

// narrow reduces the widest columns until a row fits into room cells, and reports whether it can.
func narrow(width []int, room int) bool {
	total := len(columnGap) * (len(width) - 1)
	for _, n := range width {
		total += n
	}
	for ; total > room; total-- {
		widest := 0
		for i := range width {
			if width[i] >= width[widest] {
				widest = i
			}
		}
		if width[widest] <= leastColumn {
			return false
		}
		width[widest]--
	}
	return true
}

// writeRow writes a row. Cells that are wider than their column continue on the next lines.
func writeRow(b *strings.Builder, row []string, width []int, right []bool) {
	parts, tall := make([][]string, len(row)), 1
	for i, cell := range row {
		parts[i] = []string{cell}
		if cells.Width(cell) > width[i] {
			broken := cells.Words(cell, width[i], 0, 0) // between words; Hardwrap breaks words that are wider
			parts[i] = strings.Split(ansi.Hardwrap(broken, width[i], true), "\n")
		}
		tall = max(tall, len(parts[i]))
	}
	for n := range tall {
		var line strings.Builder
		for i := range row {
			cell := ""
			if n < len(parts[i]) {
				cell = parts[i][n]
			}
			if i > 0 {
				line.WriteString(columnGap)
			}
			if i < len(right) && right[i] {
				line.WriteString(cells.PadLeft(cell, width[i]))
			} else {
				line.WriteString(cells.Pad(cell, width[i]))
			}
		}
		b.WriteString(strings.TrimRight(line.String(), " "))
		b.WriteByte('\n')
	}
}

// ColumnsOf returns the width of the terminal that w writes to, or 0 if it is not a terminal. A writer around a file
// has the method Columns.
func ColumnsOf(w io.Writer) int {
	switch w := w.(type) {
	case interface{ Columns() int }:
		return w.Columns()
	case *os.File:
		return Columns(w)
	}
	return 0
}

// Columns returns the width of the terminal f, or 0 if it is not a terminal.
func Columns(f *os.File) int {
	if !IsTerminal(f) {
		return 0
	}
	width, _ := Size(f)
	return width
}

// Plain writes one line after another, for logs and non-interactive terminals. It is safe for concurrent use.
type Plain struct {
	w     io.Writer
	style Style
	mu    sync.Mutex
	err   error
}

// NewPlain returns a Plain that writes to w.
func NewPlain(w io.Writer, s Style) *Plain { return &Plain{w: w, style: s} }

// Line writes text as exactly one line. After the first error it writes nothing.
func (p *Plain) Line(t Tone, text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.err == nil {
		_, p.err = io.WriteString(p.w, p.style.Line(t, text)+"\n")
	}
}

// Line returns text as one clean line in the colour of t.
func (s Style) Line(t Tone, text string) string { return s.Tone(t, Sanitize(text)) }
