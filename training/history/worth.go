package history

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/runplan/runplan/internal/git"
	"github.com/runplan/runplan/internal/language"
	"github.com/runplan/runplan/internal/lazyre"
	"github.com/runplan/runplan/knowledge/chunks"
	"github.com/runplan/runplan/training"
)

var (
	// documents matches subjects about files that an example does not show.
	documents = lazyre.New(`(?i)\b(?:read ?me|changelog|changes|release notes|website|\w*docs?|documentation|docstrings?|comments?|authors|contributors|licen[cs]e|copyright|badges?)\b`)
	link      = lazyre.New("https?://[^\\s'\"`<>()\\[\\]]+")
	reference = lazyre.New(`(?m)^.*(?:https?://\S+|#\d+\.?)\s*$`)
	// figure matches numbers that two authors rarely choose independently.
	figureRE = lazyre.New(`\b\d[\d_]*(?:\.\d+)*\b`)
)

// untaught returns why a commit does not match its task, or why its task says too little of it, or "".
func (w *work) untaught(q query) string {
	subject, _, _ := strings.Cut(q.text, "\n")
	switch {
	case slices.ContainsFunc(w.Entries, func(e git.Entry) bool { return language.IsProse(e.Path) }) &&
		documents.MatchString(subject) && len(q.files)+len(q.symbols) == 0:
		return "the task is about files that are not code"
	case slices.ContainsFunc(w.Entries, func(e git.Entry) bool {
		return w.asks(e.Path) && !language.IsProse(e.Path) && !slices.Contains(w.bundles, e.Path) && !w.changed(e.Path) &&
			!slices.ContainsFunc(w.beside, func(s *source) bool { return s.path == e.Path })
	}):
		return "a file that it changes is not shown"
	case documents.MatchString(subject) && !slices.ContainsFunc(w.changes, (*change).ofCode):
		return "only comments and texts change, and the task does not say how"
	case w.onlyTests():
		return "only tests or blank lines change"
	}
	if bad := w.leavesOpen(); bad != "" {
		return bad
	}
	if w.redone() {
		return redone
	}
	return ""
}

// ofCode reports whether more than comments and texts changes.
func (c *change) ofCode() bool {
	if c.before == nil || c.after == nil {
		return true
	}
	old, _ := c.before.bare()
	now, _ := c.after.bare()
	return !slices.Equal(strings.Fields(old), strings.Fields(now))
}

// Limits of [work.told] and [work.leavesOpen]. docs/training.md says how they were chosen.
const (
	wordsForTold = 5   // words of a change for which its task must have more than one
	leastTold    = 2   // words that its task must have
	mostNew      = 1   // new words that its task need not have
	leastWhy     = 100 // characters that explain a change

	mostNewExplained = 3 // as mostNew, if the message explains the change
)

// told reports whether the task has enough of the words of the changed lines.
func (w *work) told() bool {
	said, all, _ := w.said()
	return wordsForTold*said > all && said >= leastTold
}

// leavesOpen returns why nobody could write the answer from the task, or "".
func (w *work) leavesOpen() string {
	switch _, _, fresh := w.said(); {
	case !w.told():
		return "the task tells too little of its change"
	case fresh > mostNew && !(explained(w.task) && fresh <= mostNewExplained):
		return "its answer has new words that are not in the task"
	}
	return ""
}

// tell refuses commits whose message tells too little of the change. Nobody could find the code for such a task either,
// and most commits are such: reading no more of them is most of the speed of a run.
func tell(ctx context.Context, all []*work) error {
	return parallel(ctx, len(all), func(i int) error {
		if !all[i].answer().told() {
			all[i].reason, all[i].changes = TellsLittle, nil
		}
		return nil
	})
}

// explained reports whether a message explains the change below its first line. Lines that end with a link or the
// number of an issue do not count.
func explained(task string) bool {
	_, why, _ := strings.Cut(task, "\n")
	return utf8.RuneCountInString(strings.TrimSpace(reference.ReplaceAllString(why, ""))) >= leastWhy
}

// said counts the different words of the changed lines, how many of them are in the task, and how many are new: neither
// in the task nor in the old lines.
func (w *work) said() (said, all, fresh int) {
	asked, seen := map[string]bool{}, map[string]bool{}
	tells := func(s string) bool { return !emptyWords.Has(s) && !stopWords.Has(s) }
	chunks.EachWord(link.ReplaceAllString(w.task, ""), func(s string) { asked[s] = tells(s) })
	for _, now := range []bool{false, true} {
		for _, c := range w.changes {
			for _, h := range c.hunks {
				text := c.old(h)
				if now {
					text = c.now(h)
				}
				chunks.EachWord(text, func(s string) {
					if len(s) < 3 || seen[s] {
						return
					}
					seen[s] = true
					switch all++; {
					case asked[s]:
						said++
					case now && tells(s):
						fresh++
					}
				})
			}
		}
	}
	return said, all, fresh
}

// toldSignal is the signal for [work.said]. The fourth root spreads the values, so that those below 0.5 are rare.
func (w *work) toldSignal() training.Signal {
	said, all, _ := w.said()
	return training.Known(told, math.Pow(float64(said)/float64(max(1, all)), 0.25),
		fmt.Sprintf("the task has %d of %d words of the changed lines", said, all))
}

// told is the name of the signal that multiplies the mean of the other signals.
const told = "told"

// longFigure is the minimum number of digits of a figure that only the author of an answer can know.
const longFigure = 3

// invented returns why only the author could know the figures and links of an answer, or "".
func (w *work) invented(prompt string) string {
	for _, c := range w.changes {
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
