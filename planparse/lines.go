package planparse

import (
	"iter"
	"strings"
)

// Line is a line of a batch.
type Line struct {
	Text   string
	Number int    // in the plan
	Indent int    // bytes of white space at its beginning
	Fenced bool   // it is in a fence
	Lang   string // of the fence
}

// EachLine calls f with the lines of a batch, without the lines that open and close fences. The lines of a nested fence
// are text of the outer one, as in the parser.
func EachLine(b *Batch, f func(Line)) {
	var open []fenceLevel
	lang := "" // of the outermost
	number := b.StartLine
	for text := range strings.Lines(b.Text) {
		number++
		text = strings.TrimRight(text, "\r\n")
		trimmed := strings.TrimLeft(text, " \t")
		if level, info, ok := fenceLine([]byte(trimmed)); ok {
			before := len(open)
			if open = nest(open, level, info); before == 0 {
				first, _, _ := strings.Cut(string(info), " ")
				lang = strings.ToLower(first)
			}
			if len(open) != before {
				continue
			}
		}
		l := Line{Text: text, Number: number, Indent: len(text) - len(trimmed), Fenced: len(open) > 0}
		if l.Fenced {
			l.Lang = lang
		}
		f(l)
	}
}

// Spans returns the code spans of a line.
func Spans(text string) []string {
	var out []string
	for from, to := range SpansAt(text) {
		if span := strings.TrimSpace(text[from:to]); span != "" {
			out = append(out, span)
		}
	}
	return out
}

// SpansAt yields where the content of each code span of a line starts and ends.
func SpansAt(text string) iter.Seq2[int, int] {
	return func(yield func(int, int) bool) {
		for at := 0; ; {
			start := strings.IndexByte(text[at:], '`')
			if start < 0 {
				return
			}
			start += at
			from := start
			for from < len(text) && text[from] == '`' {
				from++
			}
			size := strings.Index(text[from:], text[start:from])
			if size < 0 || !yield(from, from+size) {
				return
			}
			at = from + size + from - start
		}
	}
}
