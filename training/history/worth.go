package history

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/runplan/runplan/internal/git"
	"github.com/runplan/runplan/internal/language"
	"github.com/runplan/runplan/internal/lazyre"
	"github.com/runplan/runplan/internal/lists"
	"github.com/runplan/runplan/knowledge/chunks"
	"github.com/runplan/runplan/knowledge/outline"
	"github.com/runplan/runplan/training"
)

var (
	// otherFiles matches subjects about files that an example does not show.
	otherFiles = lazyre.New(`(?i)\b(?:ci|workflows?|actions?|travis|appveyor|circleci|docker\w*|make ?file|read ?me|changelog|changes|release notes|man ?pages?|website|docs?|documentation|` +
		`git ?ignore|codeowners|authors|contributors|licen[cs]e|copyright|logo|badges?|dependabot|renovate|pre-commit|editorconfig|tox|setup\.cfg|pyproject|go\.mod|go\.sum|package\.json|requirements?|dependenc\w+)\b`)
	link = lazyre.New("https?://[^\\s'\"`<>()\\[\\]]+")
	// figure matches numbers that two authors rarely choose independently.
	figureRE = lazyre.New(`\b\d[\d_]*(?:\.\d+)*\b`)
)

// untaught returns why a commit does not match its task, or why its task says too little of it, or "".
func (w *work) untaught(q query) string {
	subject, _, _ := strings.Cut(q.text, "\n")
	switch {
	case len(w.changes) < len(w.Entries) && otherFiles.MatchString(subject) && len(q.files)+len(q.symbols) == 0:
		return "the task is about files that are not code"
	case slices.ContainsFunc(w.Entries, func(e git.Entry) bool {
		return outline.LanguageOf(e.Path) != "" && !slices.Contains(w.bundles, e.Path) &&
			!slices.ContainsFunc(w.changes, func(c *change) bool { return c.path == e.Path })
	}):
		return "a file of code that it changes is not shown"
	case len(w.code()) == 0:
		return "only tests change"
	case w.redone():
		return redone
	}
	if said, all := w.said(); wordsForTold*said <= all {
		return "the task tells too little of its change"
	}
	return ""
}

// wordsForTold is the number of words of a change for which its task must have more than one. docs/training.md says how
// it was chosen.
const wordsForTold = 4

// code returns the changes of files that are not tests.
func (w *work) code() []*change {
	return lists.Filter(w.changes, func(c *change) bool { return !language.IsTest(c.path) })
}

// said counts the different words of the changed code, and those of them that the task has. Tests do not count, because
// a task rarely names their cases. So no commit of tests alone makes an example of edits.
func (w *work) said() (said, all int) {
	asked := map[string]bool{}
	chunks.EachWord(link.ReplaceAllString(w.task, ""), func(s string) {
		asked[s] = !emptyWords.Has(s) && !stopWords.Has(s)
	})
	seen := map[string]bool{}
	for _, c := range w.code() {
		for _, h := range c.hunks {
			chunks.EachWord(c.old(h)+"\n"+c.now(h), func(s string) {
				if len(s) < 3 || seen[s] {
					return
				}
				seen[s] = true
				if all++; asked[s] {
					said++
				}
			})
		}
	}
	return said, all
}

// told is the signal for [work.said]. The fourth root spreads the values, so that those below 0.5 are rare.
func (w *work) told() training.Signal {
	said, all := w.said()
	return signal(told, math.Pow(float64(said)/float64(max(1, all)), 0.25),
		fmt.Sprintf("the task has %d of %d words of the changed lines", said, all))
}

// told is the name of the signal by which the mean of the others is multiplied.
const told = "told"

// longFigure is the number of digits from which only the author of an answer knows a figure.
const longFigure = 3

// invented returns why only the author could know the figures and links of an answer, or "". Tests may choose their
// own.
func (w *work) invented(prompt string) string {
	for _, c := range w.code() {
		for _, h := range c.hunks {
			text := c.now(h)
			for _, n := range figureRE.FindAllString(text, -1) {
				if len(n) >= longFigure && !strings.Contains(prompt, n) && strings.Trim(n, "10_.") != "" {
					return "a figure of its answer is not in the prompt"
				}
			}
			for _, l := range link.FindAllString(text, -1) {
				if !strings.Contains(prompt, strings.TrimRight(l, ".,;:")) {
					return "a link of its answer is not in the prompt"
				}
			}
		}
	}
	return ""
}
