package examples

import (
	"strings"

	"github.com/runplan/runplan/internal/lazyre"
	"github.com/runplan/runplan/internal/lists"
)

var (
	// keyword and numeral match values that have no quotation marks.
	keyword = lazyre.New(`^(?:true|false|True|False|None|null|nil|undefined|NaN)\b`)
	numeral = lazyre.New(`^[-+]?\d[\d_]*(?:\.\d+)?(?:e[-+]?\d+)?\b`)
	// plain matches a result without quotation marks that can only be a text.
	plain = lazyre.New(`^[\w.:/@#%+-]*[-/@#%+][\w.:/@#%+-]*$`)
	// stops matches what may follow a value that has no marks of its own: it is no part of a longer expression or phrase.
	stops = lazyre.New("^\\s*?(?:$|\n|\\s*(?:[,;:)|`*]|\\.(?:\\s|$)|#|//|\\{\n)|\\s+(?:and|for|because|since|as)\\b)")
)

var (
	quotedText = lazyre.New(`"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'`)
	quotedHere = lazyre.New(`^(?:"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*')`)
)

// quoted returns the length of the text in quotation marks at the beginning; 0 if there is none.
func quoted(text string) int { return len(quotedHere.FindString(text)) }

// valueOf reads the value at the beginning of a text, and returns its length with its marks; 0 if there is none.
func valueOf(text string) (value string, n int) {
	if strings.HasPrefix(text, "`") {
		shut := strings.IndexByte(text[1:], '`')
		if shut < 1 {
			return "", 0
		}
		value = strings.TrimSpace(text[1 : 1+shut])
		if _, n := valueOf(value); n == len(value) || plain.MatchString(value) {
			return value, shut + 2
		}
		return "", 0
	}
	switch {
	case quoted(text) > 0:
		n = quoted(text)
	case strings.IndexAny(text, "[{(") == 0:
		if n = closing(text, 0); n < 2 || !valued(text[:n]) {
			return "", 0
		}
	case keyword.MatchString(text):
		n = keyword.FindStringIndex(text)[1]
	case numeral.MatchString(text):
		n = numeral.FindStringIndex(text)[1]
	default:
		return "", 0
	}
	if strings.Contains(text[:n], "...") || strings.Contains(text[:n], "…") || !stops.MatchString(text[n:]) {
		return "", 0
	}
	return text[:n], n
}

// valued reports whether all names in a list or map are keys or constants.
func valued(text string) bool {
	blank := quotedText.ReplaceAllString(text, `""`)
	for _, at := range inArgs.FindAllStringIndex(blank, -1) {
		if !keyword.MatchString(blank[at[0]:at[1]]) && !strings.HasPrefix(strings.TrimLeft(blank[at[1]:], " "), ":") {
			return false
		}
	}
	return true
}

// closing returns the place behind the bracket that closes the one at open; -1 if none does.
func closing(text string, open int) int {
	var stack []byte
	for i := open; i < len(text); i++ {
		switch c := text[i]; c {
		case '"', '\'':
			n := quoted(text[i:])
			if n == 0 {
				return -1
			}
			i += n - 1
		case '(', '[', '{':
			stack = append(stack, c)
		case ')', ']', '}':
			if len(stack) == 0 || pairs[stack[len(stack)-1]] != c {
				return -1
			}
			if stack = stack[:len(stack)-1]; len(stack) == 0 {
				return i + 1
			}
		case '`':
			return -1
		}
	}
	return -1
}

var pairs = map[byte]byte{'(': ')', '[': ']', '{': '}'}

// split splits arguments at their commas.
func split(args string) (out []string) {
	last := 0
	for i := 0; i < len(args); i++ {
		switch args[i] {
		case '"', '\'', '(', '[', '{':
			n := quoted(args[i:])
			if end := closing(args, i); n == 0 && end > i {
				n = end - i
			}
			if n == 0 {
				return nil
			}
			i += n - 1
		case ',':
			out, last = append(out, args[last:i]), i+1
		}
	}
	return lists.Map(append(out, args[last:]), strings.TrimSpace)
}
