// Package phrase formats parts of sentences: a number with its noun, a sum of money, a place in a file, a text cut to
// one line or to a length. It counts characters and bytes; package internal/cells counts cells of a display.
package phrase

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// Count returns a number with its noun: "1 batch", "2 batches". many is the plural, for nouns of several words.
func Count(n int, one string, many ...string) string {
	return fmt.Sprintf("%d %s", n, Noun(n, one, many...))
}

// Noun returns the noun that goes with n things: "batch" or "batches".
func Noun(n int, one string, many ...string) string {
	switch {
	case n == 1:
		return one
	case len(many) > 0:
		return many[0]
	case strings.HasSuffix(one, "ch"), strings.HasSuffix(one, "sh"):
		return one + "es"
	}
	return one + "s"
}

// Money formats a sum in US dollars. A sum below one cent has two more digits, so that it is not read as 0.
func Money(usd float64) string {
	if usd > 0 && usd < 0.01 {
		return fmt.Sprintf("$%.4f", max(usd, 0.0001))
	}
	return fmt.Sprintf("$%.2f", usd)
}

// Known formats a figure; nil is "unknown".
func Known[T any](format string, figure *T) string {
	if figure == nil {
		return "unknown"
	}
	return fmt.Sprintf(format, *figure)
}

// Place names a place in a file: PATH:LINE:COL. A line or column below 1 is unknown.
func Place(path string, line, col int) string {
	switch {
	case path == "" || line <= 0:
		return path
	case col <= 0:
		return fmt.Sprintf("%s:%d", path, line)
	}
	return fmt.Sprintf("%s:%d:%d", path, line, col)
}

// Line puts a text on one line, with one space for each run of white space.
func Line(text string) string { return strings.Join(strings.Fields(text), " ") }

// LastLine returns the last line that is not blank, without white space around it.
func LastLine(text string) string {
	text = strings.TrimSpace(text)
	return strings.TrimSpace(text[strings.LastIndexByte(text, '\n')+1:])
}

// Cut shortens a text to at most n characters, the last of which marks the cut. With n = 0 it returns "".
func Cut(text string, n int) string {
	switch {
	case len(text) <= n || utf8.RuneCountInString(text) <= n:
		return text
	case n < 1:
		return ""
	}
	return string([]rune(text)[:n-1]) + "…"
}

// CutBytes keeps at most the first n bytes of a text, whole characters only, and appends a mark of the cut.
func CutBytes(text string, n int) string {
	if len(text) <= n {
		return text
	}
	return strings.ToValidUTF8(text[:n], "") + "…"
}

// Fit shortens a text to at most n bytes, whole characters only and the … among them. If not even that fits, the
// result is empty.
func Fit(text string, n int) string {
	switch {
	case len(text) <= n:
		return text
	case n < len("…"):
		return ""
	}
	return strings.ToValidUTF8(text[:n-len("…")], "") + "…"
}

// After returns a text to put after another one: ": text", or "" without a text.
func After(text string) string {
	if text == "" {
		return ""
	}
	return ": " + text
}

// Few lists at most the first n names for a sentence: "a, b and 3 more".
func Few(names []string, n int) string {
	text := strings.Join(names[:min(n, len(names))], ", ")
	if more := len(names) - n; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

// First returns at most the first n items of a list. If there are others, a last item says how many: "and 3 more".
func First(list []string, n int) []string {
	if more := len(list) - n; more > 0 {
		return append(list[:n:n], fmt.Sprintf("and %d more", more))
	}
	return list
}

// List lists words of any kind for a sentence: "low, high".
func List[T ~string](words []T) string {
	return Join(words, ", ", func(w T) string { return string(w) })
}

// Join joins the texts of the items of a list.
func Join[T any](list []T, sep string, text func(T) string) string {
	var b strings.Builder
	for i, item := range list {
		if i > 0 {
			b.WriteString(sep)
		}
		b.WriteString(text(item))
	}
	return b.String()
}
