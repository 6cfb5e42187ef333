package ui

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/charmbracelet/x/ansi"

	"github.com/runplan/runplan/internal/cells"
	"github.com/runplan/runplan/internal/phrase"
	"github.com/runplan/runplan/internal/redact"
)

// Sanitize makes one safe line of s: without escape sequences, control characters and bidirectional marks, and with one
// space for each run of white space.
func Sanitize(s string) string { return phrase.Line(redact.Clean(s)) }

// Width returns the number of cells of s on a display. Escape codes have none.
func Width(s string) int { return cells.Width(s) }

// Cut shortens s to at most width cells, tail included, and keeps its colours balanced. Where there is not
// even room for the tail nothing is left.
func Cut(s string, width int, tail string) string { return cells.Cut(s, width, tail) }

// Pad fills s with spaces on its right up to width cells.
func Pad(s string, width int) string { return cells.Pad(s, width) }

// PadLeft fills s with spaces on its left up to width cells.
func PadLeft(s string, width int) string { return cells.PadLeft(s, width) }

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
// none. Cells may contain colours; external text must be cleaned first.
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
			width[i] = max(width[i], Width(cell))
		}
	}
	var b strings.Builder
	for _, row := range all {
		var line strings.Builder
		for i, cell := range row {
			if i > 0 {
				line.WriteString("  ")
			}
			if i < len(right) && right[i] {
				cell = PadLeft(cell, width[i])
			} else {
				cell = Pad(cell, width[i])
			}
			line.WriteString(cell)
		}
		b.WriteString(strings.TrimRight(line.String(), " "))
		b.WriteByte('\n')
	}
	_, err := io.WriteString(w, b.String())
	return err
}
