package web

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/runplan/runplan/internal/redact"
)

// Visible replaces the characters of [redact.Hidden] and invalid UTF-8 with visible signs. It does not escape HTML.
func Visible(s string) string {
	if redact.Plain(s) {
		return s
	}
	var b strings.Builder
	b.Grow(len(s) + 16)
	before := rune(0)
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		behind, size := utf8.DecodeRuneInString(s[i+n:])
		if size == 0 {
			behind = 0
		}
		switch {
		case r == utf8.RuneError && n == 1:
			fmt.Fprintf(&b, "⟨%02X⟩", s[i])
		case r == '\t', r == '\n':
			b.WriteByte(s[i])
		case r < 0x20:
			b.WriteRune(0x2400 + r) // the signs for control characters
		case r == 0x7f:
			b.WriteRune(0x2421)
		case redact.Hidden(before, r, behind):
			fmt.Fprintf(&b, "⟨U+%04X⟩", r)
		default:
			b.WriteString(s[i : i+n])
			before = r
		}
		i += n
	}
	return b.String()
}
