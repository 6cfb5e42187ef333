package edit

import (
	"fmt"
	"slices"
	"strings"

	"github.com/runplan/runplan/internal/phrase"
)

// MatchError is an edit whose search text does not occur exactly once.
type MatchError struct {
	Edit     Edit
	Count    int    // how often it occurs
	Near     string // the line of the file that is most similar to the first unmatched line of the search text
	NearLine int    // 0: no line is similar
	Want     string // that line of the search text
	Matched  int    // number of matching lines of the search text before it
}

func (e *MatchError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "edit %s: ", e.Edit.Path)
	if e.Count == 0 {
		b.WriteString("the search text was not found; it must match exactly, including spaces")
	} else {
		fmt.Fprintf(&b, "the search text occurs %d times; quote more lines around it, or replace all with REPLACE ALL", e.Count)
	}
	fmt.Fprintf(&b, ":\n%s", quote(e.Edit.Search))
	switch {
	case e.NearLine == 0:
	case e.Matched == 0:
		fmt.Fprintf(&b, "\nnearest is line %d:\n%s", e.NearLine, quote(e.Near))
	case e.Near == "":
		fmt.Fprintf(&b, "\nits first %s found, but line %d is empty, or the file ends there, where the block has:\n%s",
			lines(e.Matched), e.NearLine, quote(e.Want))
	default:
		fmt.Fprintf(&b, "\nits first %s found, but line %d is:\n%s\nwhere the block has:\n%s", lines(e.Matched), e.NearLine,
			quote(e.Near), quote(e.Want))
	}
	if e.SpaceOnly() {
		fmt.Fprintf(&b, "\nthe two differ in white space only: the file has %q, the block has %q", cut(e.Near), cut(e.Want))
	}
	return b.String()
}

func lines(n int) string {
	if n == 1 {
		return "line is"
	}
	return fmt.Sprintf("%d lines are", n)
}

// SpaceOnly reports whether the nearest line differs from the searched line only in white space.
func (e *MatchError) SpaceOnly() bool {
	return e.NearLine > 0 && e.Near != e.Want && e.Near != "" &&
		strings.Join(strings.Fields(e.Near), "") == strings.Join(strings.Fields(e.Want), "")
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
		m.locate(src)
	}
	return m
}

// locate finds the longest partial match of the search text, and its first line that differs.
func (e *MatchError) locate(src string) {
	all := splitLines(src)
	search := slices.Collect(strings.Lines(e.Edit.Search))
	all = all[:min(len(all), maxNearLines)]
	for i := range all {
		n := 0
		for n < len(search) && i+n < len(all) && bare(all[i+n]) == bare(search[n]) {
			n++
		}
		if n > e.Matched && n < len(search) && strings.TrimSpace(strings.Join(search[:n], "")) != "" {
			e.Matched, e.NearLine, e.Near, e.Want = n, i+n+1, "", bare(search[n])
			if i+n < len(all) {
				e.Near = bare(all[i+n])
			}
		}
	}
	if e.Matched == 0 {
		e.Near, e.Want, e.NearLine = nearest(src, e.Edit.Search)
	}
}

// bare returns a line without its end.
func bare(line string) string { return strings.TrimRight(line, "\r\n") }

const (
	maxQuoteLines = 40
	maxQuoteLine  = 300
	maxNearLines  = 50_000
)

// quote indents text for an error message and limits its length.
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

func cut(line string) string { return phrase.CutBytes(line, maxQuoteLine) }

// nearest finds the line of src that is most similar to the first meaningful line of search.
func nearest(src, search string) (near, asked string, at int) {
	want := ""
	for line := range strings.Lines(search) {
		if want = strings.TrimSpace(cut(line)); want != "" {
			asked = bare(line)
			break
		}
	}
	if want == "" {
		return "", "", 0
	}
	pairs := bigrams(want)
	best, bestLine, bestScore, n := "", 0, 0.5, 0 // a match below one half does not help
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
	return best, asked, bestLine
}

func bigrams(s string) map[[2]byte]int {
	m := make(map[[2]byte]int, len(s))
	for i := 1; i < len(s); i++ {
		m[[2]byte{s[i-1], s[i]}]++
	}
	return m
}

// similarity returns Dice's coefficient over pairs of bytes: 0 for no common pairs, 1 for the same pairs.
func similarity(pairs map[[2]byte]int, size int, s string) float64 {
	common := 0
	for p, n := range bigrams(s) {
		common += min(n, pairs[p])
	}
	return 2 * float64(common) / float64(max(1, size-1+len(s)-1))
}
