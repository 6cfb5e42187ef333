package outline

import "strings"

// withoutBodies returns Go source in which function bodies contain only their comments, with all other offsets
// unchanged. It uses a simple scanner. It returns false for source that it cannot scan, or whose functions declare
// types.
func withoutBodies(text string) (string, bool) {
	h := hull{text: text, out: []byte(text), run: -1}
	for at := 0; at < len(text); {
		n := h.step(at)
		if n <= 0 {
			return "", false
		}
		at += n
	}
	return string(h.out), h.depth == 0
}

// hull is the state of the scanner.
type hull struct {
	text  string
	out   []byte
	depth int  // nesting of braces and brackets
	of    bool // in a function declaration, before its body
	body  bool // inside of a function body
	run   int  // start of the code after the last comment or line end; -1: none
	after bool // a comment ends on this line
}

// step scans the token at a position and returns its length.
func (h *hull) step(at int) int {
	rest := h.text[at:]
	switch c := rest[0]; c {
	case '\n':
		h.run, h.after = -1, false
		return 1
	case ' ', '\t', '\r':
		return 1
	case '"', '\'':
		return h.code(at, lengthOfText(rest))
	case '`':
		n := strings.IndexByte(rest[1:], '`')
		if n < 0 {
			return 0
		}
		return h.code(at, n+2)
	case '/':
		switch {
		case strings.HasPrefix(rest, "//"):
			n := strings.IndexByte(rest, '\n')
			if n < 0 {
				n = len(rest)
			}
			return h.comment(n)
		case strings.HasPrefix(rest, "/*"):
			n := strings.Index(rest[2:], "*/")
			if n < 0 {
				return 0
			}
			return h.comment(n + 4)
		}
		return h.code(at, 1)
	case '{', '(', '[':
		if h.depth++; h.depth == 1 && c == '{' && h.of {
			h.of, h.body, h.run, h.after = false, true, -1, false
			return 1
		}
		return h.code(at, 1)
	case '}', ')', ']':
		if h.depth--; h.depth == 0 {
			h.body = false
		}
		if h.depth < 0 {
			return 0
		}
		return h.code(at, 1)
	default:
		n := 1
		for wordByte(c) && n < len(rest) && wordByte(rest[n]) {
			n++
		}
		if h.depth == 0 && (at == 0 || h.text[at-1] == '\n') {
			h.of = rest[:n] == "func"
		}
		if h.body && rest[:n] == "type" && h.text[at-1] != '(' { // but not the type of a type switch
			return 0
		}
		return h.code(at, n)
	}
}

// code scans n bytes of code. Inside of a body it replaces them by spaces, unless that would change the comments
// around them.
func (h *hull) code(at, n int) int {
	if !h.body || n <= 0 {
		return n
	}
	for i := at; i < at+n; i++ {
		if h.out[i] == '\n' { // in a multi-line string; its last quote counts as code of the last line
			h.run, h.after = -1, false
		} else {
			h.out[i] = ' '
		}
	}
	if h.run < 0 {
		h.run = at + n - 1
		if h.after {
			h.out[h.run] = ';'
		}
	}
	return n
}

// comment scans a comment of n bytes. Code before it on the line stays code.
func (h *hull) comment(n int) int {
	if h.run >= 0 {
		h.out[h.run] = ';'
	}
	h.run, h.after = -1, true
	return n
}

// lengthOfText returns the length of the string literal at the start of the source. It returns 0 if that does not end
// on its line.
func lengthOfText(source string) int {
	for i := 1; i < len(source) && source[i] != '\n'; i++ {
		switch source[i] {
		case '\\':
			i++
		case source[0]:
			return i + 1
		}
	}
	return 0
}

func wordByte(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c >= 0x80
}
