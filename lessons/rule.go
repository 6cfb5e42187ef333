package lessons

import (
	"bytes"
	"fmt"
	"path"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/runplan/runplan/internal/lists"
	"github.com/runplan/runplan/internal/literal"
)

// MaxSpan is the maximum length of a match of a pattern with \n, from the beginning of its first line.
const MaxSpan = 4 << 10

// rule is a syntactic lesson, ready to be looked for.
type rule struct {
	lesson *Lesson
	re     *regexp.Regexp
	unless *regexp.Regexp // nil without one
	need   literal.Need
	sees   sees
}

// sees is the amount of text to which a rule is applied at a time.
type sees int

const (
	oneLine   sees = iota // the line that has its literal
	fewLines              // from that line on, at most [MaxSpan] bytes
	wholeFile             // all of it, once
)

func compile(l *Lesson) (*rule, error) {
	tree, err := syntax.Parse(l.Pattern.Regex, syntax.Perl)
	if err != nil {
		return nil, fmt.Errorf("lesson %s: %w", l.ID, err)
	}
	r := &rule{lesson: l, need: literal.Required(tree)}
	expr := l.Pattern.Regex
	switch {
	case !namesLineFeed(expr):
	case r.need.Before || len(r.need.Any) == 0:
		// A match without a literal, or that may begin above its literal, can be anywhere.
		r.sees, expr = wholeFile, "(?m:"+expr+")"
	default:
		// It must begin on the first line, so that the search stops early.
		r.sees, expr = fewLines, `\A[^\n]*?((?m:`+expr+`))`
	}
	if r.re, err = regexp.Compile(expr); err != nil {
		return nil, fmt.Errorf("lesson %s: %w", l.ID, err)
	}
	if l.Pattern.Unless != "" {
		if r.unless, err = regexp.Compile(l.Pattern.Unless); err != nil {
			return nil, fmt.Errorf("lesson %s: %w", l.ID, err)
		}
	}
	return r, nil
}

// first returns the first match in a line that the lesson means.
func (r *rule) first(line []byte) []int {
	if r.unless == nil {
		return r.re.FindIndex(line)
	}
	return lists.First(r.re.FindAllIndex(line, -1), func(m []int) bool { return r.means(line[m[0]:m[1]]) })
}

// means reports whether a match is what the lesson means.
func (r *rule) means(match []byte) bool { return r.unless == nil || !r.unless.Match(match) }

// namesLineFeed reports whether an expression explicitly contains \n. \s or [^"] alone do not count, because they are
// usually meant for one line.
func namesLineFeed(expr string) bool {
	for i := 0; i+1 < len(expr); i++ {
		if expr[i] != '\\' {
			continue
		}
		if i++; expr[i] == 'n' {
			return true
		}
	}
	return false
}

// ruleSet contains the rules for files of one kind, with one search for all of their literals.
type ruleSet struct {
	rules  []*rule
	always []int   // rules without a literal: they are tried on each line
	lits   [][]int // for each literal, the rules that need it; empty for the suppression mark
	mark   int     // the literal that every suppression contains
	set    *literal.Set
}

func newRuleSet(rules []*rule) *ruleSet {
	s := &ruleSet{rules: rules}
	index := map[literal.Lit]int{}
	add := func(l literal.Lit) int {
		i, ok := index[l]
		if !ok {
			i = len(s.lits)
			index[l], s.lits = i, append(s.lits, nil)
		}
		return i
	}
	for n, r := range rules {
		for _, l := range r.need.Any {
			i := add(l)
			s.lits[i] = lists.Add(s.lits[i], n)
		}
		if len(r.need.Any) == 0 {
			s.always = append(s.always, n)
		}
	}
	s.mark = add(literal.Lit{Text: suppressionMark})
	lits := make([]literal.Lit, len(s.lits))
	for l, i := range index {
		lits[i] = l
	}
	s.set = literal.NewSet(lits)
	return s
}

// place is the place of a match.
type place struct {
	rule       int
	start, end int
}

// search holds buffers that are reused for each file.
type search struct {
	matches []literal.Match
	tried   []int // for each rule, the line on which it was last tried
	places  []place
	marks   []int // positions of possible suppressions
}

// run finds all places in text, which has [literal.Pad] bytes after its end.
func (q *search) run(s *ruleSet, text []byte) {
	q.places, q.marks = q.places[:0], q.marks[:0]
	q.tried = slices.Grow(q.tried[:0], len(s.rules))[:len(s.rules)]
	for i := range q.tried {
		q.tried[i] = -1
	}
	q.matches = s.set.Append(q.matches[:0], text)
	start, end := 0, -1
	for _, m := range q.matches {
		if m.Lit == s.mark {
			q.marks = append(q.marks, m.Pos)
		}
		for _, n := range s.lits[m.Lit] {
			if m.Pos < start || m.Pos > end {
				start, end = lineAround(text, m.Pos)
			}
			q.try(s.rules[n], n, text, start, end)
		}
	}
	for _, n := range s.always {
		for start := 0; start < len(text); {
			end := start + lineLength(text[start:])
			q.try(s.rules[n], n, text, start, end)
			start = end + 1
		}
	}
}

// try searches for a match that begins on the line from start to end, unless that line was already searched.
func (q *search) try(r *rule, n int, text []byte, start, end int) {
	if r.sees == wholeFile {
		start = 0
	}
	if q.tried[n] == start {
		return
	}
	q.tried[n] = start
	switch r.sees {
	case oneLine:
		if m := r.first(text[start:end]); m != nil {
			q.places = append(q.places, place{n, start + m[0], start + m[1]})
		}
	case fewLines:
		stop := max(end, min(len(text), start+MaxSpan))
		if m := r.re.FindSubmatchIndex(text[start:stop]); m != nil && r.means(text[start+m[2]:start+m[3]]) {
			q.places = append(q.places, place{n, start + m[2], start + m[3]})
		}
	case wholeFile:
		for _, m := range r.re.FindAllIndex(text, -1) {
			if r.means(text[m[0]:m[1]]) {
				q.places = append(q.places, place{n, m[0], m[1]})
			}
		}
	}
}

// lineAround returns the start and the end of the line with pos, without its line feed.
func lineAround(text []byte, pos int) (start, end int) {
	return bytes.LastIndexByte(text[:pos], '\n') + 1, pos + lineLength(text[pos:])
}

func lineLength(text []byte) int {
	if i := bytes.IndexByte(text, '\n'); i >= 0 {
		return i
	}
	return len(text)
}

// dropCR turns the line ends of other systems into plain line feeds, in place.
func dropCR(text []byte) []byte {
	i := bytes.Index(text, []byte("\r\n"))
	if i < 0 {
		return text
	}
	to := i
	for ; i < len(text); i++ {
		if text[i] == '\r' && i+1 < len(text) && text[i+1] == '\n' {
			continue
		}
		text[to] = text[i]
		to++
	}
	return text[:to]
}

// excludes reports whether the lesson excludes a path.
func (l *Lesson) excludes(file string) bool {
	return slices.ContainsFunc(l.Exclude, func(glob string) bool {
		name := file
		if !strings.Contains(glob, "/") {
			name = path.Base(file)
		}
		ok, err := doublestar.Match(glob, name)
		return err == nil && ok
	})
}
