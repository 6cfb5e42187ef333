package history

import (
	"fmt"
	"slices"
	"strings"

	"github.com/runplan/runplan/internal/language"
	"github.com/runplan/runplan/internal/phrase"
	"github.com/runplan/runplan/internal/wordset"
	"github.com/runplan/runplan/training"
)

// Limits of the details that a task gets.
const (
	mostDetails = 6  // with more details, the task would contain the answer
	longDetail  = 60 // characters; longer texts are for people, and may be worded otherwise
)

// syntaxWords are words of languages. They say nothing about a change.
var syntaxWords = wordset.New(
	"and async await break case catch class const continue def default defer del delete elif " +
		"else except export extends finally for from func function global if import in instanceof interface is lambda let " +
		"map new nonlocal not null or pass raise range return select self static struct super switch this throw true try " +
		"type typeof undefined var void while with yield None True False nil")

// detailed returns a task with the names and values that its answer brings, so that the answer can be derived: those
// that the old lines and the task do not have or, if these are too many, those that the whole prompt does not have. It
// says how many there are, and why there are too many, or "".
func (w *work) detailed(context string) (task string, receipt training.Signal, bad string) {
	list := w.details(w.task)
	if len(list) > mostDetails {
		list = w.details(w.task + "\n" + context)
	}
	switch {
	case len(list) > mostDetails:
		return "", receipt, "its answer has too many names and values that are not in the prompt"
	case len(list) == 0:
		return w.task, training.Known("complete", 1, "the task was not changed"), ""
	}
	return strings.TrimRight(w.task, "\n") + "\n\nNames and values of the change: `" + strings.Join(list, "`, `") + "`.",
		training.Known("complete", 1-float64(len(list))/(2*mostDetails),
			fmt.Sprintf("%s of the answer added to the task", phrase.Count(len(list), "name or value", "names and values"))), ""
}

// details returns the names, texts and figures of the new lines of code that neither a text nor the old lines at their
// place have, sorted.
func (w *work) details(known string) []string {
	var out []string
	add := func(detail string) {
		if !slices.Contains(out, detail) && len(detail) <= longDetail && !strings.ContainsAny(detail, "`\r\n") {
			out = append(out, detail)
		}
	}
	for _, c := range w.changes {
		if c.after == nil || language.ServesTests(c.path) {
			continue // what a test uses as an example is a free choice
		}
		bare, parts := c.after.bare()
		for _, h := range c.hunks {
			before := known + "\n" + c.old(h)
			from := len(strings.Join(c.after.ended[:h.NewFrom], ""))
			to := from + len(strings.Join(c.after.ended[h.NewFrom:h.NewTo], ""))
			have, code := words(before), bare[from:to]
			for _, p := range parts {
				if p.Comment || p.Start < from || p.End > to {
					continue
				}
				text := c.after.text[p.From:p.To]
				if text != "" && text == strings.TrimSpace(text) && !strings.Contains(before, text) {
					add(c.after.text[p.Start:p.End])
				}
			}
			for _, name := range codeName.FindAllString(code, -1) {
				parts := strings.FieldsFunc(name, func(r rune) bool { return r == '.' || r == ':' })
				if slices.ContainsFunc(parts, func(part string) bool {
					return len(part) > 2 && !have[part] && !syntaxWords.Has(part)
				}) {
					add(name)
				}
			}
			for _, figure := range figureRE.FindAllString(code, -1) {
				if len(figure) >= longFigure && !strings.Contains(before, figure) {
					add(figure)
				}
			}
		}
	}
	slices.Sort(out)
	return out
}

// bare returns the text with blanks in the place of comments and strings, and these. It reads the whole file, because a
// line inside of a comment does not look like one.
func (s *source) bare() (string, []language.Part) {
	code := []byte(s.text)
	parts := language.Parts(s.text, language.OfSource(s.path))
	for _, p := range parts {
		language.Blank(code, p.Start, p.End)
	}
	return string(code), parts
}
