package history

import (
	"slices"
	"strings"

	"github.com/runplan/runplan/internal/wordset"
	"github.com/runplan/runplan/knowledge/retrieve"
)

// stems returns the stems of the words of a name.
func stems(name string) []string {
	var out []string
	for _, h := range retrieve.Humps(name) {
		if h = retrieve.Stem(h); len(h) >= 3 && !slices.Contains(out, h) {
			out = append(out, h)
		}
	}
	return out
}

// keywords returns the significant words of a task in order, without duplicates.
func keywords(text string) []string {
	return retrieve.Keywords(text, func(word string) bool { return emptyWords.Has(word) || stopWords.Has(word) })
}

var stopWords = wordset.New(
	"about above after all also although any because been before being below between both but can cannot could did does " +
		"doing down during each ever every few had has have having here how however if into " +
		"itself just let like make makes made may might must need needs now off once only other our out over own rather " +
		"same should since so such than their them then there these they those through too under until upon use used " +
		"uses using very via want was way well were what when where whether which while who why will within without would " +
		"yet you your must get gets got set sets call calls called come comes given gives give way don doesn isn")

// words returns the identifiers of a text. An identifier after a dot is added with the dot, and with the identifier
// before it. One without a dot is added with an equals sign.
func words(text string) map[string]bool {
	out := map[string]bool{}
	start, last, end := -1, "", -1 // last is the identifier that ends at end
	for i := 0; i <= len(text); i++ {
		if i < len(text) && isWord(text[i]) {
			if start < 0 {
				start = i
			}
			continue
		}
		if start < 0 {
			continue
		}
		word := text[start:i]
		if c := word[0]; c < '0' || c > '9' {
			out[word] = true
			if start > 0 && text[start-1] == '.' {
				out["."+word] = true
				if end == start-1 {
					out[last+"."+word] = true
				}
			} else {
				out["="+word] = true
			}
			last, end = word, i
		}
		start = -1
	}
	return out
}

func isWord(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c == '$'
}

// bareCode returns code without comments and string literals. It works line by line, so parts of multi-line comments
// or strings may remain.
func bareCode(text string, hash bool) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		if t := strings.TrimSpace(line); strings.HasPrefix(t, "* ") || strings.HasPrefix(t, "/*") || t == "*/" {
			continue
		}
		quote := byte(0)
		for i := 0; i < len(line); i++ {
			c := line[i]
			switch {
			case quote != 0 && c == '\\':
				i++
			case quote != 0:
				if c == quote {
					quote = 0
				}
			case c == '"' || c == '\'' || c == '`':
				quote = c
				b.WriteByte(' ')
			case c == '/' && i+1 < len(line) && line[i+1] == '/' && !hash, c == '#' && hash:
				i = len(line)
				b.WriteByte('\n')
			default:
				b.WriteByte(c)
			}
		}
	}
	return b.String()
}
