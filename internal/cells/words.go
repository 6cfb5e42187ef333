package cells

import (
	"strings"

	"github.com/runplan/runplan/internal/lazyre"
)

// unit matches text that is not broken: a command in backticks, runplan with its arguments, and a word.
var unit = lazyre.New("^(?:`[^`]*`\\S*|runplan [a-z-]*(?: --?[a-z]\\S*| \\S*[A-Z0-9./]\\S*)*\\S*|\\S+)")

// Words breaks one line so that it fits into width cells if possible. The first line has used cells already, and
// the other ones begin with margin spaces.
func Words(line string, width, used, margin int) string {
	if used+Width(line) <= width {
		return line
	}
	text := strings.TrimLeft(line, " ")
	lead := line[:len(line)-len(text)]
	indent := strings.Repeat(" ", margin)
	var b strings.Builder
	b.WriteString(lead)
	at, first := used+len(lead), used == 0
	for text != "" {
		word := unit.FindString(text)
		text = text[len(word):]
		gap := text[:len(text)-len(strings.TrimLeft(text, " "))]
		text = text[len(gap):]
		if at+Width(word) > width && !first {
			b.WriteString("\n" + indent)
			at = len(indent)
		}
		b.WriteString(word)
		at, first = at+Width(word), false
		switch {
		case text == "":
			b.WriteString(gap)
		case at+len(gap) < width:
			b.WriteString(gap)
			at += len(gap)
		default:
			at = width
		}
	}
	return trimBefore(b.String())
}

// trimBefore removes the spaces at which a line was broken.
func trimBefore(s string) string {
	lines := strings.Split(s, "\n")
	for i := range len(lines) - 1 {
		lines[i] = strings.TrimRight(lines[i], " ")
	}
	return strings.Join(lines, "\n")
}
