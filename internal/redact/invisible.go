package redact

import "unicode/utf8"

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
