package retrieve

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/runplan/runplan/internal/language"
	"github.com/runplan/runplan/internal/lists"
)

// Lines is the text of a file.
type Lines struct {
	Path  string
	Lines []string
}

// Window is a range of lines of a file that a plain search ranks.
type Window struct {
	Path       string
	Start, End int
	Chars      int     // of its lines and of a label with its path
	Counts     []int   // how often it and its path have each of the [PlainWords] of the task
	Score      float64 // BM25
}

// labelChars is the number of characters that a plain search adds to the path of a window.
const labelChars = 8

// Windows splits files into windows of at most size lines, 0 for whole files, and scores them for a task with BM25 and
// the usual constants.
func Windows(all []Lines, size int, task string) []Window {
	const k1, b = 1.2, 0.75
	words := PlainWords(task)
	c := counter{at: make(map[string]int, len(words))}
	for i, w := range words {
		c.at[w] = i
		c.likely[w[0]] |= 1 << (len(w) % 64)
	}
	var out []Window
	var lengths []float64
	in, total := make([]float64, len(words)), 0.0
	for _, f := range all {
		step := cmp.Or(size, max(1, len(f.Lines)))
		for from := 0; from < len(f.Lines); from += step {
			to := min(from+step, len(f.Lines))
			w := Window{Path: f.Path, Start: from + 1, End: to, Chars: len(f.Path) + labelChars + to - from - 1}
			c.counts, c.all = make([]int, len(words)), 0
			c.text(f.Path)
			for _, l := range f.Lines[from:to] {
				c.text(l)
				w.Chars += utf8.RuneCountInString(l)
			}
			w.Counts = c.counts
			for i, n := range w.Counts {
				if n > 0 {
					in[i]++
				}
			}
			out, lengths, total = append(out, w), append(lengths, float64(c.all)), total+float64(c.all)
		}
	}
	for i := range out {
		for k, count := range out[i].Counts {
			if n := float64(count); n > 0 {
				rare := math.Log(1 + (float64(len(out))-in[k]+0.5)/(in[k]+0.5))
				out[i].Score += rare * n * (k1 + 1) / (n + k1*(1-b+b*lengths[i]*float64(len(out))/total))
			}
		}
	}
	return out
}

// PlainWords returns the words of a text for a plain search: whole names and their parts, in lower case, sorted.
func PlainWords(text string) []string {
	var out []string
	plainWords(text, func(w string) { out = append(out, w) })
	return lists.Unique(out)
}

func plainWords(text string, take func(string)) {
	for w := range strings.FieldsFuncSeq(text,
		func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '_' }) {
		parts := Humps(w)
		for _, p := range parts {
			take(p)
		}
		if len(parts) > 1 {
			take(strings.ToLower(w))
		}
	}
}

// counter counts words in texts. It finds the same words as [plainWords], but needs no allocations for ASCII, because a
// search counts the words of all code.
type counter struct {
	at     map[string]int
	likely [256]uint64 // lengths of the words with a first byte
	counts []int
	all    int
}

func (c *counter) word(w string) {
	c.all++
	if c.likely[w[0]]&(1<<(len(w)%64)) != 0 {
		if i, ok := c.at[w]; ok {
			c.counts[i]++
		}
	}
}

func (c *counter) text(s string) {
	for i := 0; i < len(s); i++ {
		j, simple := i, true
		for j < len(s) && nameBytes[s[j]] != 0 {
			simple = simple && nameBytes[s[j]] == 'a'
			j++
		}
		switch {
		case j < len(s) && s[j] >= utf8.RuneSelf:
			plainWords(s[i:], c.word)
			return
		case i == j:
		case simple:
			c.word(s[i:j])
		default:
			c.name(s[i:j])
		}
		i = j
	}
}

// name counts the parts of a name in ASCII, and the whole of it.
func (c *counter) name(s string) {
	low := strings.ToLower(s)
	start, parts := 0, 0
	cut := func(end int) {
		if end > start {
			c.word(low[start:end])
			parts++
		}
		start = end
	}
	for i := range len(s) {
		switch {
		case s[i] == '_':
			cut(i)
			start = i + 1
		case i > 0 && nameBytes[s[i]] == 'A' &&
			(nameBytes[s[i-1]] != 'A' || i+1 < len(s) && s[i+1] >= 'a' && s[i+1] <= 'z'):
			cut(i)
		}
	}
	cut(len(s))
	if parts > 1 {
		c.word(low)
	}
}

// nameBytes has 'A' for a capital letter, '_' for an underscore, and 'a' for the other bytes of names.
var nameBytes = func() (kinds [256]byte) {
	for k := byte('a'); k <= 'z'; k++ {
		kinds[k], kinds[k-'a'+'A'] = 'a', 'A'
	}
	for k := byte('0'); k <= '9'; k++ {
		kinds[k] = 'a'
	}
	kinds['_'] = '_'
	return kinds
}()

// PlainLines is the number of lines in a window of a plain search.
const PlainLines = 40

// plain returns a chunk of each file of code that a plain search shows in a room of characters, the best file first. It
// is the best one of its file for its size.
func (p *pass) plain(list []Ranked, items []Item, room int) []int {
	best := map[string]int{}
	var all []Lines
	value := func(i int) float64 { return items[i].Score - 2*spread[sSize]*float64(items[i].Chars)/1000 }
	for i, r := range list {
		c := p.tree.source(r.Path)
		if c.bad != "" || !language.IsCode(r.Path) {
			continue
		}
		k, seen := best[r.Path]
		if !seen {
			all = append(all, Lines{r.Path, c.lines})
		}
		if !seen || value(i) > value(k) {
			best[r.Path] = i
		}
	}
	slices.SortFunc(all, func(a, b Lines) int { return strings.Compare(a.Path, b.Path) })
	windows := Windows(all, PlainLines, p.req.Text)
	slices.SortStableFunc(windows, func(a, b Window) int { return cmp.Compare(b.Score, a.Score) })
	var out []int
	for _, w := range windows {
		if w.Score == 0 || w.Chars > room {
			continue
		}
		room -= w.Chars
		if i := best[w.Path]; !slices.Contains(out, i) {
			out = append(out, i)
		}
	}
	return out
}
