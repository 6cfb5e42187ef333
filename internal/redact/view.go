package redact

import (
	"html"
	"strconv"
	"strings"
	"unicode/utf8"
)

// view is a text with one more layer of escapes decoded. If from is nil it is the text itself.
type view struct {
	text     string
	from, to []int32 // where each byte begins and ends in the original text
}

// place returns the original position of the bytes from a to b of the view.
func (v view) place(a, b int) (from, to int) {
	if v.from == nil {
		return a, b
	}
	if a == b {
		return int(v.from[a]), int(v.from[a])
	}
	return int(v.from[a]), int(v.to[b-1])
}

// gap reports whether invisible characters precede byte i.
func (v view) gap(i int) bool {
	return v.from != nil && i > 0 && i < len(v.from) && v.from[i] > v.to[i-1]
}

// decoded returns the view with one more layer of escapes decoded, and whether there was one.
func (v view) decoded() (view, bool) {
	text, ok := decode(v.text, nil)
	if !ok {
		return v, false
	}
	m := &origins{from: make([]int32, 0, len(text)), to: make([]int32, 0, len(text))}
	decode(v.text, m)
	for i := range m.from {
		a, b := v.place(int(m.from[i]), int(m.to[i]))
		m.from[i], m.to[i] = int32(a), int32(b)
	}
	return view{text, m.from, m.to}, true
}

// origins records the original position of each decoded byte.
type origins struct{ from, to []int32 }

func (o *origins) add(n, from, to int) {
	if o == nil {
		return
	}
	for range n {
		o.from, o.to = append(o.from, int32(from)), append(o.to, int32(to))
	}
}

func (o *origins) copy(from, to int) {
	if o == nil {
		return
	}
	for i := from; i < to; i++ {
		o.from, o.to = append(o.from, int32(i)), append(o.to, int32(i+1))
	}
}

// decode removes one layer of escapes from s: those of JSON and of string literals, percent encoding of URLs, character
// references of HTML. It also removes invisible characters. It reports whether s had any of these.
func decode(s string, m *origins) (string, bool) {
	var b strings.Builder
	done := 0
	for i := 0; i < len(s); {
		c := s[i]
		if !special[c] {
			i++
			continue
		}
		r, n, drop := unescape(s[i:])
		if n == 0 {
			i++
			continue
		}
		if b.Cap() == 0 {
			b.Grow(len(s))
		}
		b.WriteString(s[done:i])
		m.copy(done, i)
		if !drop {
			size := b.Len()
			if r < 0 { // a byte, which may be a part of a character
				b.WriteByte(byte(-r - 1))
			} else {
				b.WriteRune(r)
			}
			m.add(b.Len()-size, i, i+n)
		}
		i += n
		done = i
	}
	if done == 0 {
		return s, false
	}
	b.WriteString(s[done:])
	m.copy(done, len(s))
	return b.String(), true
}

// special marks the bytes that can begin an escape or an invisible character.
var special = func() (t [256]bool) {
	for c := range t {
		t[c] = c < 0x20 && c != '\n' && c != '\t' || c == '\\' || c == '%' || c == '&' || c == 0x7f ||
			c == 0xc2 || c == 0xcd || c == 0xd8 || c >= 0xe1 && c <= 0xe3 || c == 0xef || c >= 0xf0
	}
	return t
}()

// mayEscape reports whether a text has a byte that can begin an escape.
func mayEscape(text string) bool {
	for i := range len(text) {
		if special[text[i]] {
			return true
		}
	}
	return false
}

// unescape reads the escape at the start of s. n is 0 if there is none. A negative r is a byte: -1 is 0x00.
func unescape(s string) (r rune, n int, drop bool) {
	switch c := s[0]; {
	case c == '\\':
		r, n = backslash(s)
		return r, n, n > 0 && r >= 0 && Unseen(r) && r != '\r'
	case c == '%':
		if v, ok := hexValue(s, 1, 2); ok {
			return -v - 1, 3, false
		}
		return 0, 0, false
	case c == '&':
		r, n = reference(s)
		return r, n, false
	}
	r, n, drop = element(s)
	if drop || joiner(r) || selector(r) {
		return 0, n, true
	}
	return 0, 0, false
}

func backslash(s string) (rune, int) {
	if len(s) < 2 {
		return 0, 0
	}
	switch s[1] {
	case 'n':
		return '\n', 2
	case 'r':
		return '\r', 2
	case 't':
		return '\t', 2
	case 'b', 'f', 'v', 'a':
		return ' ', 2
	case '"', '\'', '/', '\\', '`':
		return rune(s[1]), 2
	case 'e':
		return ' ', 2 + colour(s[2:])
	case 'x':
		if v, ok := hexValue(s, 2, 2); ok {
			if v == 0x1b {
				return ' ', 4 + colour(s[4:])
			}
			return -v - 1, 4
		}
	case 'u':
		if v, ok := hexValue(s, 2, 4); ok {
			if v == 0x1b {
				return ' ', 6 + colour(s[6:])
			}
			return v, 6
		}
		if end := strings.IndexByte(s[:min(len(s), 12)], '}'); end > 3 && s[2] == '{' {
			if v, err := strconv.ParseUint(s[3:end], 16, 32); err == nil && v <= utf8.MaxRune {
				return rune(v), end + 1
			}
		}
	case 'U':
		if v, ok := hexValue(s, 2, 8); ok && v <= utf8.MaxRune && v >= 0 {
			return v, 10
		}
	case '0', '1', '2', '3':
		if len(s) >= 4 && octal(s[2]) && octal(s[3]) {
			v := rune(s[1]-'0')<<6 | rune(s[2]-'0')<<3 | rune(s[3]-'0')
			if v == 0x1b {
				return ' ', 4 + colour(s[4:])
			}
			return -v - 1, 4
		}
	}
	return 0, 0
}

func octal(c byte) bool { return '0' <= c && c <= '7' }

// colour returns the length of a control sequence without its ESC, which was escaped.
func colour(s string) int {
	if s != "" && s[0] == '[' {
		return 1 + csi(s[1:])
	}
	return 0
}

func hexValue(s string, at, n int) (rune, bool) {
	if len(s) < at+n {
		return 0, false
	}
	v := rune(0)
	for _, c := range []byte(s[at : at+n]) {
		switch {
		case '0' <= c && c <= '9':
			c -= '0'
		case 'a' <= c|0x20 && c|0x20 <= 'f':
			c = c | 0x20 - 'a' + 10
		default:
			return 0, false
		}
		v = v<<4 | rune(c)
	}
	return v, true
}

// reference reads a character reference of HTML.
func reference(s string) (rune, int) {
	end := strings.IndexByte(s[:min(len(s), 10)], ';')
	if end < 3 {
		return 0, 0
	}
	text := html.UnescapeString(s[:end+1])
	if r, n := utf8.DecodeRuneInString(text); n == len(text) {
		return r, end + 1
	}
	return 0, 0
}
