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

// Hidden reports whether a character must not be shown, given the shown character before it and the next one; 0 stands
// for the end of the text. It is the only table of invisible characters: [Clean] removes them, a page shows their
// numbers, and text for models leaves them out.
//
// Hidden characters are control characters other than tab and line feed, bidirectional marks, zero-width characters,
// fillers, and tags. Joiners and variation selectors are allowed where they change the character before them: between
// two non-ASCII characters, and once.
func Hidden(before, r, behind rune) bool {
	switch {
	case r < 0x80:
		return r < 0x20 && r != '\t' && r != '\n' || r == 0x7f
	case joiner(r):
		return before < 0x80 || joiner(before) || behind < 0x80 || Unseen(behind) || joiner(behind) || selector(behind)
	case selector(r):
		return before < 0x80 && !keycap(before) || joiner(before) || selector(before)
	}
	return Unseen(r)
}

func joiner(r rune) bool   { return r == 0x200c || r == 0x200d }
func selector(r rune) bool { return r == 0xfe0e || r == 0xfe0f || r >= 0x180b && r <= 0x180d }
func keycap(r rune) bool   { return r >= '0' && r <= '9' || r == '#' || r == '*' }

// Unseen reports whether a character is hidden in every context.
func Unseen(r rune) bool {
	switch {
	case r < 0x20:
		return r != '\t' && r != '\n'
	case r < 0x7f:
		return false
	case r <= 0x9f, // delete and C1
		r == 0x00ad, r == 0x034f, // soft hyphen, grapheme joiner
		r == 0x061c, r == 0x200e, r == 0x200f, r >= 0x202a && r <= 0x202e, r >= 0x2066 && r <= 0x2069, // direction
		r == 0x115f, r == 0x1160, r == 0x3164, r == 0xffa0, r == 0x17b4, r == 0x17b5, // fillers
		r == 0x180e, r == 0x180f, r == 0x200b, r >= 0x2060 && r <= 0x2065, r >= 0x206a && r <= 0x206f, // zero width
		r == 0x2028, r == 0x2029, // rare line ends
		r >= 0xfe00 && r <= 0xfe0d, // variants
		r == 0xfeff, r >= 0xfff0 && r <= 0xfffb, r >= 0x1bca0 && r <= 0x1bca3, r >= 0x1d173 && r <= 0x1d17a,
		r >= 0xe0000 && r <= 0xe0fff: // tags and further variation selectors, which can hide whole sentences
		return true
	}
	return false
}

// element returns the character or control sequence at the start of s, and whether it is hidden in every context. Each
// byte of invalid UTF-8 is one element.
func element(s string) (r rune, n int, hidden bool) {
	r, n = utf8.DecodeRuneInString(s)
	switch r {
	case 0x1b:
		return r, escape(s), true
	case 0x9b: // CSI as one character
		return r, n + csi(s[n:]), true
	case 0x9d, 0x90, 0x98, 0x9e, 0x9f:
		return r, n + stringSequence(s[n:]), true
	}
	return r, n, Unseen(r)
}
