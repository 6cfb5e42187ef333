package web

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// Visible shows what is not seen in text, or makes it read as what it is not: control characters but for tab and line
// feed, marks that turn the direction of text, and bytes that are no UTF-8. Each stands there as a sign of its own. The rest
// stays as it is, HTML included: it has to be escaped as well.
func Visible(s string) string {
	if plain(s) {
		return s
	}
	var b strings.Builder
	b.Grow(len(s) + 16)
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && n == 1:
			fmt.Fprintf(&b, "⟨%02X⟩", s[i])
		case r == '\t', r == '\n':
			b.WriteByte(s[i])
		case r < 0x20:
			b.WriteRune(0x2400 + r) // the signs for control characters
		case r == 0x7f:
			b.WriteRune(0x2421)
		case hidden(r):
			fmt.Fprintf(&b, "⟨U+%04X⟩", r)
		default:
			b.WriteString(s[i : i+n])
		}
		i += n
	}
	return b.String()
}

func plain(s string) bool {
	for i := range len(s) {
		if c := s[i]; c < 0x20 && c != '\t' && c != '\n' || c >= 0x7f {
			return false
		}
	}
	return true
}

// hidden tells whether a character is one that nobody sees. The joiners inside of words and emoji are not among them.
func hidden(r rune) bool {
	switch {
	case r >= 0x80 && r <= 0x9f, // C1: some steer terminals
		r >= 0x202a && r <= 0x202e, r >= 0x2066 && r <= 0x2069, r == 0x200e, r == 0x200f, r == 0x061c, // direction
		r == 0x2028, r == 0x2029, r == 0xfeff, r == 0x200b, r == 0x2060, r == 0x00ad,
		r >= 0xfff9 && r <= 0xfffb, r >= 0xe0000 && r <= 0xe007f: // tags: text inside of text
		return true
	}
	return false
}
