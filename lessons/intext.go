package lessons

import "bytes"

// inText reports whether the byte at pos is in a string or a comment. It does not know regular expressions of
// JavaScript; a quote in one counts as the start of a string that ends with its line.
func inText(lang string, text []byte, pos int) bool {
	for i := 0; i < pos; {
		end := behind(lang, text, i)
		if end > pos {
			return true
		}
		i = max(end, i+1)
	}
	return false
}

// behind returns the end of the string or comment that begins at i; i if there is none.
func behind(lang string, text []byte, i int) int {
	rest := text[i:]
	upTo := func(end string) int {
		if n := bytes.Index(rest[1:], []byte(end)); n >= 0 {
			return i + 1 + n + len(end)
		}
		return len(text)
	}
	switch hash := lang == "python" || lang == "bash"; {
	case hash && rest[0] == '#', !hash && bytes.HasPrefix(rest, []byte("//")):
		return i + lineLength(rest)
	case !hash && bytes.HasPrefix(rest, []byte("/*")):
		return upTo("*/")
	case bytes.HasPrefix(rest, []byte(`"""`)) || bytes.HasPrefix(rest, []byte("'''")):
		if n := bytes.Index(rest[3:], rest[:3]); n >= 0 {
			return i + 3 + n + 3
		}
		return len(text)
	case rest[0] == '"' || rest[0] == '\'' || rest[0] == '`' && !hash:
		for n := 1; n < len(rest); n++ {
			switch {
			case rest[n] == '\\':
				n++
			case rest[n] == rest[0]:
				return i + n + 1
			case rest[n] == '\n' && rest[0] != '`':
				return i + 1 // no string, but an apostrophe
			}
		}
		return i + 1
	}
	return i
}
