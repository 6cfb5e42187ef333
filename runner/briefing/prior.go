package briefing

import (
	"cmp"
	"context"
	"math"
	"slices"
	"strings"
	"unicode"

	"github.com/runplan/runplan/internal/git"
	"github.com/runplan/runplan/internal/language"
	"github.com/runplan/runplan/internal/lazyre"
	"github.com/runplan/runplan/knowledge/retrieve"
	"github.com/runplan/runplan/planparse"
	"github.com/runplan/runplan/runner/failures"
)

// Prior is a line of the repository with terms of a batch. It may be existing code for the same purpose (RUN-13).
type Prior struct {
	Path  string
	Line  int
	Text  string
	Terms []string // names and words of the batch in the line
	Makes bool     // the line defines one of the names, so it may be reusable
}

// Limits of the search and of its output.
const (
	priorNames = 8 // code names to search for
	priorWords = 8
	priorFiles = 6
	priorEach  = 2 // lines per file
	priorLines = 8 // lines in total
)

// Weights of terms for the order of files. A code name counts more than a word of prose. Documents and tests count
// less, because they describe code that is elsewhere.
const (
	nameWeight       = 3
	definitionWeight = 1.5
	testWeight       = 0.6
	documentWeight   = 0.3
)

// terms are the search terms: code names as written, and stems of words.
type terms struct {
	names []string
	words []string
}

var (
	definedRE = lazyre.New(`(?m)^\s*(?:export |default |pub |public |private |async |static |final |abstract )*(?:func(?: \([^)\n]*\))?|def|class|type|interface|struct|enum|trait|fn|function|const)\s+([A-Za-z_]\w*)`)
	fencedRE  = lazyre.New("(?ms)^[ \t]*(```+|~~~+)[^\n]*\n.*?^[ \t]*(?:```+|~~~+)[ \t]*$")
)

// termsOf extracts the terms of a batch: the names in its text, those that its code defines, and the words of the
// titles. It ignores the words of the prose, which are too frequent.
func termsOf(b planparse.Batch) terms {
	titles, said := b.Title, failures.Generalise(b.Title)
	for _, t := range b.Tasks {
		titles, said = titles+"\n"+t.Title, said+"\n"+failures.Generalise(t.Title)
	}
	text := titles + "\n" + fencedRE.ReplaceAllString(b.Text, "")
	for _, code := range fencedRE.FindAllString(b.Text, -1) {
		for _, m := range definedRE.FindAllStringSubmatch(code, -1) {
			text += "\n`" + m[1] + "`"
		}
	}
	var t terms
	names, _ := retrieve.Mentions(text)
	for _, n := range names {
		n = n[strings.LastIndexByte(n, '.')+1:]
		if len(n) >= 4 && len(t.names) < priorNames && !slices.Contains(t.names, n) {
			t.names = append(t.names, n)
		}
	}
	_, words := retrieve.Mentions(said)
	for _, w := range words {
		if w = stem(w); len(t.words) < priorWords && !slices.Contains(t.words, w) {
			t.words = append(t.words, w)
		}
	}
	return t
}

// texts returns the search strings of the terms: limiter becomes limit, RateLimiter also becomes rate_limiter.
func (t terms) texts() []string {
	out := slices.Clone(t.words)
	for _, n := range t.names {
		out = append(out, n)
		if h := retrieve.Humps(n); len(h) > 1 {
			out = append(out, strings.Join(h, ""), strings.Join(h, "_"))
		}
	}
	return once(out)
}

// in returns the terms that are complete names or words in a text: rate is in RateLimit but not in generate.
func (t terms) in(text string) []string {
	var out []string
	for _, id := range strings.FieldsFunc(text,
		func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '_' && r != '$' }) {
		humps := retrieve.Humps(id)
		joined := strings.Join(humps, " ")
		for _, n := range t.names {
			if id == n || len(humps) > 1 && joined == strings.Join(retrieve.Humps(n), " ") {
				out = append(out, n)
			}
		}
		for _, h := range humps {
			if h = stem(h); slices.Contains(t.words, h) {
				out = append(out, h)
			}
		}
	}
	return once(out)
}

// stem maps words of the same meaning to one stem: limit, limits, limiter and limiting.
func stem(word string) string {
	for _, end := range []string{"ings", "ing", "ies", "ied", "ers", "er", "ed", "es", "s", "e", "y"} {
		if rest, ok := strings.CutSuffix(word, end); ok && len(rest) >= 4 && !strings.HasSuffix(word, "ss") {
			return rest
		}
	}
	return word
}

// candidate is a file that contains terms.
type candidate struct {
	path  string
	terms []string
	lines []told // best lines, in display order
}

type told struct {
	Prior
	much int
}

// priorArt searches the text files of a commit for the terms of a batch. It ignores files that the batch names,
// which the agent reads anyway, and the plan itself, which contains all terms. The result is deterministic,
// ordered by the weight of the terms: rare terms count more.
func priorArt(ctx context.Context, repo *git.Repo, commit string, b planparse.Batch, plan string) ([]Prior, error) {
	t := termsOf(b)
	if len(t.names)+len(t.words) == 0 {
		return nil, nil
	}
	named := append(mentioned(b), plan, ".runplan")
	files := map[string]*candidate{}
	seen := map[string]int{} // number of files with a term
	err := repo.Grep(ctx, commit, t.texts(), func(h git.Hit) {
		found := t.in(h.Text)
		if len(found) == 0 || len(h.Text) > refLineLength || about(named, h.Path) {
			return
		}
		f := files[h.Path]
		if f == nil {
			f = &candidate{path: h.Path}
			files[h.Path] = f
		}
		for _, term := range found {
			if !slices.Contains(f.terms, term) {
				f.terms = append(f.terms, term)
				seen[term]++
			}
		}
		f.take(Prior{Path: h.Path, Line: h.Line, Text: h.Text, Terms: found}, t)
	})
	if err != nil {
		return nil, err
	}
	var out []Prior
	for _, f := range t.ranked(files, seen) {
		for _, l := range f.lines {
			if len(out) < priorLines && t.tells(l.Prior) {
				out = append(out, l.Prior)
			}
		}
	}
	return out, nil
}

// take keeps a line if its weight is among the highest.
func (f *candidate) take(l Prior, t terms) {
	much := 2 * len(l.Terms)
	if full := len(f.lines) == priorEach; full && much+1 <= f.lines[priorEach-1].much {
		return // the usual case; skips the check for a definition
	}
	if m := definedRE.FindStringSubmatch(l.Text); m != nil && len(t.in(m[1])) > 0 {
		l.Makes = true
		much++
	}
	f.lines = append(f.lines, told{l, much})
	slices.SortStableFunc(f.lines, func(a, b told) int { return cmp.Compare(b.much, a.much) })
	f.lines = f.lines[:min(len(f.lines), priorEach)]
}

// tells reports whether a line is worth showing. A single word is too little, unless it is the only term. A name
// is enough, and so are two words in the line and its path.
func (t terms) tells(l Prior) bool {
	return slices.ContainsFunc(l.Terms, func(term string) bool { return slices.Contains(t.names, term) }) ||
		len(once(append(t.in(l.Path), l.Terms...))) >= min(2, len(t.words)+len(t.names))
}

// ranked returns the files worth showing, the best first.
func (t terms) ranked(files map[string]*candidate, seen map[string]int) []*candidate {
	score := map[*candidate]float64{}
	var out []*candidate
	for _, f := range files {
		best := f.lines[0]
		if !t.tells(best.Prior) {
			continue
		}
		for _, term := range once(append(t.in(f.path), best.Terms...)) {
			w := math.Log2(1 + float64(len(files))/float64(max(1, seen[term])))
			if slices.Contains(t.names, term) {
				w *= nameWeight
			}
			score[f] += w
		}
		score[f] *= kindWeight(f.path)
		if best.Makes {
			score[f] *= definitionWeight
		}
		out = append(out, f)
	}
	slices.SortFunc(out, func(a, b *candidate) int {
		return cmp.Or(cmp.Compare(score[b], score[a]), strings.Compare(a.path, b.path))
	})
	return out[:min(len(out), priorFiles)]
}

func kindWeight(p string) float64 {
	switch {
	case language.IsProse(p):
		return documentWeight
	case language.IsTest(p):
		return testWeight
	}
	return 1
}
