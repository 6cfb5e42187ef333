package routing

import (
	"strings"

	"github.com/runplan/runplan/planparse"
)

// textLine is a line of a batch.
type textLine struct {
	text   string
	number int    // in the plan
	indent int    // white space at its beginning
	fenced bool   // it stands in a fence
	lang   string // of the fence
}

// eachLine calls f with the lines of a batch, without those that open and close fences. A fence in a fence belongs to the
// outer one, as in the parser.
func eachLine(b *planparse.Batch, f func(textLine)) {
	type fence struct {
		char byte
		size int
		lang string
	}
	var open []fence
	number := b.StartLine
	for text := range strings.Lines(b.Text) {
		number++
		text = strings.TrimRight(text, "\r\n")
		trimmed := strings.TrimLeft(text, " \t")
		if size := fenceSize(trimmed); size > 0 {
			info := strings.TrimSpace(trimmed[size:])
			switch {
			case info == "" && len(open) > 0:
				if last := open[len(open)-1]; last.char == trimmed[0] && size >= last.size {
					open = open[:len(open)-1]
					continue
				}
			case info != "" || len(open) == 0:
				lang, _, _ := strings.Cut(info, " ")
				if len(open) > 0 {
					lang = open[0].lang
				}
				open = append(open, fence{trimmed[0], size, strings.ToLower(lang)})
				continue
			}
		}
		l := textLine{text: text, number: number, indent: len(text) - len(trimmed), fenced: len(open) > 0}
		if l.fenced {
			l.lang = open[0].lang
		}
		f(l)
	}
}

// fenceSize is the length of the backticks or tildes that open or close a fence, 0 where the line does neither.
func fenceSize(trimmed string) int {
	if !strings.HasPrefix(trimmed, "```") && !strings.HasPrefix(trimmed, "~~~") {
		return 0
	}
	size := len(trimmed) - len(strings.TrimLeft(trimmed, trimmed[:1]))
	if trimmed[0] == '`' && strings.Contains(trimmed[size:], "`") {
		return 0 // a code span
	}
	return size
}

// spansOf returns the code spans of a line.
func spansOf(text string) []string {
	var out []string
	for {
		start := strings.IndexByte(text, '`')
		if start < 0 {
			return out
		}
		n := start
		for n < len(text) && text[n] == '`' {
			n++
		}
		end := strings.Index(text[n:], text[start:n])
		if end < 0 {
			return out
		}
		if span := strings.TrimSpace(text[n : n+end]); span != "" {
			out = append(out, span)
		}
		text = text[n+end+n-start:]
	}
}
