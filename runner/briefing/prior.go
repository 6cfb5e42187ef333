package briefing

import (
	"cmp"
	"context"
	"math"
	"path"
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

// Prior is a line of the repository that has what a batch is about: somebody may have made it, or something like it,
// before (RUN-13).
type Prior struct {
	Path  string
	Line  int
	Text  string
	Terms []string // names and words of the batch that stand in it
	Makes bool     // it begins the definition of something that is called so: it could be used instead of being made again
}

// The bounds of the search, and of what it shows.
const (
	priorNames = 8 // of code, that are looked for
	priorWords = 8
	priorFiles = 6
	priorEach  = 2 // lines of a file
	priorLines = 8 // in all
)

// What a term is worth in the order of files. A name of code says more than a word of prose; a document and a test speak
// of what is made elsewhere.
const (
	nameWeight       = 3
	definitionWeight = 1.5
	testWeight       = 0.6
	documentWeight   = 0.3
)

// terms are what is looked for: names of code as they are written, and stems of words.
type terms struct {
	names []string
	words []string
}

var (
	definedRE = lazyre.New(`(?m)^\s*(?:export |default |pub |public |private |async |static |final |abstract )*(?:func(?: \([^)\n]*\))?|def|class|type|interface|struct|enum|trait|fn|function|const)\s+([A-Za-z_]\w*)`)
	fencedRE  = lazyre.New("(?ms)^[ \t]*(```+|~~~+)[^\n]*\n.*?^[ \t]*(?:```+|~~~+)[ \t]*$")
)

// termsOf reads a batch: the names that its text speaks of and that its code defines, and the words of its title and of
// the titles of its tasks. The words of its prose are too many to tell anything.
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

// texts are what lines may have to be looked at: limiter is looked for as limit, RateLimiter as rate_limiter too.
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

// in are the terms that stand in a text, as names and words of their own: rate stands in RateLimit and not in generate.
func (t terms) in(text string) []string {
	var out []string
	for _, id := range strings.FieldsFunc(text, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '_' && r != '$' }) {
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

// stem makes one word of those that mean the same here: limit, limits, limiter and limiting.
func stem(word string) string {
	for _, end := range []string{"ings", "ing", "ies", "ied", "ers", "er", "ed", "es", "s", "e", "y"} {
		if rest, ok := strings.CutSuffix(word, end); ok && len(rest) >= 4 && !strings.HasSuffix(word, "ss") {
			return rest
		}
	}
	return word
}

// candidate is a file that has terms.
type candidate struct {
	path  string
	terms []string
	lines []told // the most telling ones, in the order in which they are to be shown
}

// told is a line, and how much it tells.
type told struct {
	Prior
	much int
}

// priorArt looks through the text files of a commit for what a batch is about. Files that the batch names are left out, as
// its agent reads them in any case, and so is the plan itself, which has all of its words. It is a search for texts, and
// the same each time: the order is that of what the terms tell, where one that stands in few files tells more.
func priorArt(ctx context.Context, repo *git.Repo, commit string, b planparse.Batch, plan string) ([]Prior, error) {
	t := termsOf(b)
	if len(t.names)+len(t.words) == 0 {
		return nil, nil
	}
	named := append(mentioned(b), plan, ".runplan")
	files := map[string]*candidate{}
	seen := map[string]int{} // files that have a term
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

// take keeps a line if it tells more than those that are kept.
func (f *candidate) take(l Prior, t terms) {
	much := 2 * len(l.Terms)
	if full := len(f.lines) == priorEach; full && much+1 <= f.lines[priorEach-1].much {
		return // most lines; what they begin is not even looked at
	}
	if m := definedRE.FindStringSubmatch(l.Text); m != nil && len(t.in(m[1])) > 0 {
		l.Makes = true
		much++
	}
	f.lines = append(f.lines, told{l, much})
	slices.SortStableFunc(f.lines, func(a, b told) int { return cmp.Compare(b.much, a.much) })
	f.lines = f.lines[:min(len(f.lines), priorEach)]
}

// tells tells whether a line is worth to be shown. A single word of several says nothing; a name does, and so do two words
// of one line, or one of it and one of its file's path.
func (t terms) tells(l Prior) bool {
	return slices.ContainsFunc(l.Terms, func(term string) bool { return slices.Contains(t.names, term) }) ||
		len(once(append(t.in(l.Path), l.Terms...))) >= min(2, len(t.words)+len(t.names))
}

// ranked are the files that are worth to be shown, the most telling first.
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
	case slices.Contains([]string{".md", ".mdx", ".markdown", ".rst", ".adoc", ".txt"}, path.Ext(p)):
		return documentWeight
	case language.IsTest(p):
		return testWeight
	}
	return 1
}
