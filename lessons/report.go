package lessons

import (
	"bytes"
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/runplan/runplan/internal/lists"
	"github.com/runplan/runplan/internal/redact"
)

// Hit is a place that has the mistake of a lesson.
type Hit struct {
	Lesson *Lesson `json:"-"`
	ID     string  `json:"lesson"`
	Level  Level   `json:"level"`
	Path   string  `json:"path"`
	Line   int     `json:"line"`
	Col    int     `json:"col"`  // in characters, from 1
	Text   string  `json:"text"` // the line, shortened, without probable secrets
	// Reason is the reason of a suppression; "" without one.
	Reason string `json:"reason,omitempty"`
}

// Problem is a suppression that does not count.
type Problem struct {
	Path    string `json:"path"`
	Line    int    `json:"line"`
	Message string `json:"message"`
}

// Skip is a skipped file, with the reason.
type Skip struct {
	Path   string `json:"path"`
	Reason string `json:"reason"`
}

// Result is the result of a scan.
type Result struct {
	Hits       []Hit     `json:"hits"`
	Suppressed []Hit     `json:"suppressed"`
	Problems   []Problem `json:"problems"`
	Skipped    []Skip    `json:"skipped"`
	Files      int       `json:"files"` // that were checked
	Bytes      int64     `json:"bytes"`
}

// Count returns the number of hits at a level.
func (r Result) Count(level Level) int {
	return lists.Count(r.Hits, func(h Hit) bool { return h.Level == level })
}

// Add appends the result of another scan.
func (r *Result) Add(o Result) {
	r.Hits = append(r.Hits, o.Hits...)
	r.Suppressed = append(r.Suppressed, o.Suppressed...)
	r.Problems = append(r.Problems, o.Problems...)
	r.Skipped = append(r.Skipped, o.Skipped...)
	r.Files += o.Files
	r.Bytes += o.Bytes
}

// Rebase changes paths relative to a folder into paths relative to the folder's original name.
func (r *Result) Rebase(dir string) {
	for _, hits := range [][]Hit{r.Hits, r.Suppressed} {
		for i := range hits {
			hits[i].Path = path.Join(dir, hits[i].Path)
		}
	}
	for i := range r.Problems {
		r.Problems[i].Path = path.Join(dir, r.Problems[i].Path)
	}
	for i := range r.Skipped {
		r.Skipped[i].Path = path.Join(dir, r.Skipped[i].Path)
	}
}

func (r *Result) sort() {
	byPlace := func(a, b Hit) int {
		return cmp.Or(cmp.Compare(a.Path, b.Path), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Col, b.Col),
			cmp.Compare(a.ID, b.ID))
	}
	slices.SortFunc(r.Hits, byPlace)
	slices.SortFunc(r.Suppressed, byPlace)
	slices.SortFunc(r.Problems, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.Path, b.Path), cmp.Compare(a.Line, b.Line))
	})
	slices.SortFunc(r.Skipped, func(a, b Skip) int { return cmp.Compare(a.Path, b.Path) })
}

// report turns places into hits, once for each lesson and line.
func (w *worker) report(file, lang string, text []byte, set *ruleSet) {
	type seen struct{ rule, line int }
	done := map[seen]bool{}
	lines := lineCounter{text: text}
	slices.SortFunc(w.search.places, func(a, b place) int { return cmp.Compare(a.start, b.start) })
	for _, p := range w.search.places {
		l := set.rules[p.rule].lesson
		// A match over several lines often begins with the white space of the line before.
		at := p.start + len(text[p.start:p.end]) - len(bytes.TrimLeft(text[p.start:p.end], " \t\r\n"))
		start, end := lineAround(text, at)
		if done[seen{p.rule, start}] || l.excludes(file) || l.Pattern.Code && inText(file, lang, text, at) {
			continue
		}
		done[seen{p.rule, start}] = true
		line := text[start:end]
		hit := Hit{
			Lesson: l, ID: l.ID, Level: l.Severity.Level(), Path: file, Line: lines.at(start),
			Col: 1 + utf8.RuneCount(text[start:at]), Text: w.scanner.excerpt(line),
		}
		for _, s := range suppressions(text, start, end) {
			if slices.Contains(s.ids, l.ID) && s.reason != "" {
				hit.Reason = s.reason
			}
		}
		if hit.Reason != "" {
			w.result.Suppressed = append(w.result.Suppressed, hit)
		} else {
			w.result.Hits = append(w.result.Hits, hit)
		}
	}
	w.problems(file, text)
}

// problems checks each suppression.
func (w *worker) problems(file string, text []byte) {
	lines := lineCounter{text: text}
	for _, at := range w.search.marks {
		start, end := lineAround(text, at)
		s, ok := parseSuppression(string(text[start:end]))
		if !ok {
			continue
		}
		message := ""
		switch {
		case len(s.ids) == 0:
			message = "names no lesson and no reason"
		case s.reason == "":
			message = "has no reason, so it does not count"
		default:
			for _, id := range s.ids {
				if !w.scanner.known[id] {
					message = "names lesson " + id + ", which does not exist"
				}
			}
		}
		if message != "" {
			w.result.Problems = append(w.result.Problems, Problem{file, lines.at(start),
				fmt.Sprintf("suppression %s; write %s 0029 and the reason", message, suppressionMark)})
		}
	}
}

// lineCounter numbers lines. It is fast for ascending positions.
type lineCounter struct {
	text      []byte
	pos, line int
}

func (c *lineCounter) at(pos int) int {
	if pos < c.pos {
		c.pos, c.line = 0, 0
	}
	c.line += bytes.Count(c.text[c.pos:pos], []byte("\n"))
	c.pos = pos
	return c.line + 1
}

// maxExcerpt limits the bytes of a line that a hit quotes.
const maxExcerpt = 160

// excerpt returns the part of the line that a hit shows, redacted: a hit may be about a secret, and it will be stored.
func (s *Scanner) excerpt(line []byte) string {
	line = bytes.TrimSpace(line)
	// Cut off much more than is shown, so that no secret is cut in two and kept.
	if len(line) > 4<<10 {
		line = line[:4<<10]
	}
	text := s.secrets.ReplaceAllString(s.redactor.String(string(line)), "$1…")
	text = strings.ToValidUTF8(redact.Clean(text), "?")
	if utf8.RuneCountInString(text) > maxExcerpt {
		text = string([]rune(text)[:maxExcerpt]) + "…"
	}
	return text
}
