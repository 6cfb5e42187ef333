// Package cells measures the display width of text in cells. A Chinese character or an emoji takes two cells; a
// combining accent and colour codes take none. So columns align for text in any language. Package internal/phrase
// counts characters.
package cells

import (
	"strings"

	"github.com/charmbracelet/x/ansi"
)

// Width returns how many cells s takes. Escape codes take none.
func Width(s string) int { return ansi.StringWidth(s) }

// Wrap breaks s between words into lines of at most width columns.
func Wrap(s string, width int) string { return ansi.Wordwrap(s, width, "") }

// Cut shortens s to at most width cells, tail included, and keeps its colours balanced. If not even the tail fits,
// the result is empty.
func Cut(s string, width int, tail string) string {
	switch {
	case Width(s) <= width:
		return s
	case width < Width(tail):
		return ""
	}
	return ansi.Truncate(s, width, tail)
}

// Pad fills s with spaces on its right up to width cells.
func Pad(s string, width int) string {
	return s + strings.Repeat(" ", max(0, width-Width(s)))
}

// PadLeft fills s with spaces on its left up to width cells.
func PadLeft(s string, width int) string {
	return strings.Repeat(" ", max(0, width-Width(s))) + s
}
