package edit

import (
	"fmt"
	"strings"
)

// MatchError is an edit whose search text does not occur exactly once.
type MatchError struct {
	Edit     Edit
	Count    int    // how often it occurs
	Near     string // the line of the file that is most like the first line of the search text
	NearLine int    // 0: nothing is like it
}

func (e *MatchError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "edit %s: ", e.Edit.Path)
	if e.Count == 0 {
		b.WriteString("the search text was not found; it must match to the last space")
	} else {
		fmt.Fprintf(&b, "the search text occurs %d times; quote more lines around it, or replace all on purpose", e.Count)
	}
	fmt.Fprintf(&b, ":\n%s", quote(e.Edit.Search))
	if e.NearLine > 0 {
		fmt.Fprintf(&b, "\nnearest is line %d:\n%s", e.NearLine, quote(e.Near))
	}
	return b.String()
}

// Unwrap makes errors.Is work with ErrNotFound and ErrAmbiguous.
func (e *MatchError) Unwrap() error {
	if e.Count == 0 {
		return ErrNotFound
	}
	return ErrAmbiguous
}

func newMatchError(src string, e Edit, n int) *MatchError {
	m := &MatchError{Edit: e, Count: n}
	if n == 0 {
		m.Near, m.NearLine = nearest(src, e.Search)
	}
	return m
}

const (
	maxQuoteLines = 40
	maxQuoteLine  = 300
	maxNearLines  = 50_000
)

// quote indents text for an error message; it is bounded.
func quote(text string) string {
	var b strings.Builder
	n := 0
	for line := range strings.Lines(text) {
		if n++; n > maxQuoteLines {
			b.WriteString("\n  | …")
			break
		}
		if n > 1 {
			b.WriteByte('\n')
		}
		b.WriteString("  | ")
		b.WriteString(cut(strings.TrimRight(line, "\r\n")))
	}
	return b.String()
}

func cut(line string) string {
	if len(line) > maxQuoteLine {
		return strings.ToValidUTF8(line[:maxQuoteLine], "") + "…"
	}
	return line
}

// nearest finds the line of src that is most like the first line of search that says something.
func nearest(src, search string) (string, int) {
	want := ""
	for line := range strings.Lines(search) {
		if want = strings.TrimSpace(cut(line)); want != "" {
			break
		}
	}
	if want == "" {
		return "", 0
	}
	pairs := bigrams(want)
	best, bestLine, bestScore, n := "", 0, 0.5, 0 // less than half alike is no help
	for line := range strings.Lines(src) {
		if n++; n > maxNearLines {
			break
		}
		text := strings.TrimSpace(cut(line))
		if text == "" {
			continue
		}
		score := 2.0
		if text != want {
			score = similarity(pairs, len(want), text)
		}
		if score > bestScore {
			best, bestLine, bestScore = strings.TrimRight(line, "\r\n"), n, score
		}
	}
	return best, bestLine
}

func bigrams(s string) map[[2]byte]int {
	m := make(map[[2]byte]int, len(s))
	for i := 1; i < len(s); i++ {
		m[[2]byte{s[i-1], s[i]}]++
	}
	return m
}

// similarity is Dice's coefficient over pairs of bytes: 0 nothing in common, 1 the same pairs.
func similarity(pairs map[[2]byte]int, size int, s string) float64 {
	if size < 2 || len(s) < 2 {
		return 0
	}
	common := 0
	for p, n := range bigrams(s) {
		common += min(n, pairs[p])
	}
	return 2 * float64(common) / float64(size-1+len(s)-1)
}
