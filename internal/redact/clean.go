package redact

import (
	"strings"
	"unicode/utf8"
)

// Clean removes from s escape sequences, which control a terminal, and the invisible characters of [Hidden]. Invalid
// UTF-8 becomes U+FFFD. The result is safe to print, and Clean does not change it again.
func Clean(s string) string {
	if Plain(s) {
		return s
	}
	s = strings.ToValidUTF8(s, "\uFFFD")
	var b strings.Builder
	b.Grow(len(s))
	before := rune(0)
	for i := 0; i < len(s); {
		r, n, hidden := element(s[i:])
		if !hidden && r >= 0x80 {
			behind, size := utf8.DecodeRuneInString(s[i+n:])
			if size == 0 {
				behind = 0
			}
			hidden = Hidden(before, r, behind)
		}
		if !hidden {
			b.WriteString(s[i : i+n])
			before = r
		}
		i += n
	}
	return b.String()
}

// Plain reports whether a text is printable ASCII with tabs and line feeds, as most are.
func Plain(s string) bool {
	for i := range len(s) {
		if c := s[i]; c < 0x20 && c != '\t' && c != '\n' || c >= 0x7f {
			return false
		}
	}
	return true
}

// escape returns the length of the sequence that s begins with; s[0] is ESC.
func escape(s string) int {
	if len(s) == 1 {
		return 1
	}
	switch c := s[1]; {
	case c == '[':
		return 2 + csi(s[2:])
	case c == ']' || c == 'P' || c == 'X' || c == '^' || c == '_':
		return 2 + stringSequence(s[2:])
	case c >= 0x20 && c <= 0x2f: // as in ESC ( B
		n := 2
		for n < len(s) && s[n] >= 0x20 && s[n] <= 0x2f {
			n++
		}
		if n < len(s) && s[n] >= 0x30 && s[n] < 0x7f {
			n++
		}
		return n
	case c >= 0x30 && c < 0x7f:
		return 2
	}
	return 1
}

// csi returns the length of the parameters and the final byte of a control sequence.
func csi(s string) int {
	n := 0
	for n < len(s) && n < maxSequence && s[n] >= 0x20 && s[n] <= 0x3f {
		n++
	}
	if n < len(s) && s[n] >= 0x40 && s[n] < 0x7f {
		n++
	}
	return n
}

// A sequence without an end must not swallow the rest of the text.
const maxSequence = 4 << 10

// stringSequence returns the length of the text up to BEL or ESC \. Without an end on its line, only the introducer
// is dropped.
func stringSequence(s string) int {
	for i := 0; i < len(s) && i < maxSequence; i++ {
		switch {
		case s[i] == '\n':
			return 0
		case s[i] == 0x07:
			return i + 1
		case s[i] == 0x1b && i+1 < len(s) && s[i+1] == '\\':
			return i + 2
		case s[i] == 0xc2 && i+1 < len(s) && s[i+1] == 0x9c: // ST as one character
			return i + 2
		case s[i] == 0x1b:
			return i // a new sequence begins
		}
	}
	return 0
}
