package history

import (
	"slices"
	"strings"

	"github.com/runplan/runplan/internal/language"
	"github.com/runplan/runplan/internal/lazyre"
	"github.com/runplan/runplan/internal/linediff"
	"github.com/runplan/runplan/internal/lists"
)

// aboutTests matches tasks that speak of tests.
var aboutTests = lazyre.New(`(?i)\b(?:(?:unit)?tests?|tested|testing|specs?|coverage|regressions?)\b`)

// asks reports whether the task asks for a change of a file. It asks for a change of tests only if it mentions tests.
func (w *work) asks(path string) bool {
	return !language.ServesTests(path) || aboutTests.MatchString(w.task)
}

// gone returns the names of the symbols that the change of code removes or renames.
func (w *work) gone() []string {
	var out []string
	for _, c := range w.changes {
		if c.before == nil || language.ServesTests(c.path) {
			continue
		}
		for _, x := range c.before.symbols {
			if c.after == nil || len(c.after.find(x.short)) == 0 {
				out = lists.Add(out, x.short)
			}
		}
	}
	return out
}

// answer returns the part of a commit that its task asks for. Examples of plans and edits are about that part alone,
// and show the rest as unchanged code. Tests of removed names belong to it, because they could not stay.
func (w *work) answer() *work {
	a := *w
	a.changes, a.beside = nil, nil
	gone := w.gone()
	for _, c := range w.changes {
		x := *c
		old, _ := c.changedLines()
		must := slices.ContainsFunc(gone, func(name string) bool { return words(old)[name] })
		if x.hunks = nil; w.asks(c.path) || must {
			x.hunks = lists.Filter(c.hunks, func(h linediff.Hunk) bool { return !sameButBlanks(c.old(h), c.now(h)) })
		}
		if len(x.hunks) > 0 {
			x.outlined()
			a.changes = append(a.changes, &x)
		} else if c.before != nil {
			a.beside = append(a.beside, c.before)
		}
	}
	return &a
}

// sameButBlanks reports whether two texts differ only in blank lines and in white space at the ends of lines.
func sameButBlanks(a, b string) bool {
	lines := func(text string) []string {
		return lists.Filter(lists.Map(strings.Split(text, "\n"),
			func(l string) string { return strings.TrimRight(l, " \t\r\f") }),
			func(l string) bool { return l != "" })
	}
	return slices.Equal(lines(a), lines(b))
}
