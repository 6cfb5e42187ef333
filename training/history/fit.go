package history

import (
	"fmt"
	"slices"
	"strings"

	"github.com/runplan/runplan/internal/language"
	"github.com/runplan/runplan/internal/lazyre"
	"github.com/runplan/runplan/internal/lists"
	"github.com/runplan/runplan/knowledge/chunks"
	"github.com/runplan/runplan/training"
)

// takesTests returns the tests that a commit removes. The prompts forbid that.
func (w *work) takesTests() string {
	for _, c := range w.changes {
		if c.before == nil || !language.IsTest(c.path) {
			continue
		}
		if c.after == nil {
			return "it deletes a file of tests, which the prompt forbids"
		}
		// Only changed lines can remove a test, and a test file has few of them.
		old, now := c.changedLines()
		if before := testsIn(old); len(before) > 0 {
			without := func(after []string) []string {
				return lists.Filter(before, func(n string) bool { return !slices.Contains(after, n) })
			}
			gone := without(testsIn(now))
			if slices.ContainsFunc(gone, func(n string) bool { return !strings.Contains(c.after.text, n) }) ||
				len(gone) > 0 && len(without(testsIn(c.after.text))) > 0 {
				return "it removes or renames a test, which the prompt forbids"
			}
		}
		if len(skipRE.FindAllString(now, -1)) > len(skipRE.FindAllString(old, -1)) {
			return "it skips a test, which the prompt forbids"
		}
	}
	return ""
}

// changedLines returns the lines that a change removes and those that it adds.
func (c *change) changedLines() (old, now string) {
	var a, b strings.Builder
	for _, h := range c.hunks {
		a.WriteString(c.old(h) + "\n")
		b.WriteString(c.now(h) + "\n")
	}
	return a.String(), b.String()
}

var testRE = lazyre.New(`(?m)^\s*(?:func\s+((?:Test|Benchmark|Example|Fuzz)\w*)\(|(?:async\s+)?def\s+(test\w*)\(|(?:test|it)(?:\.\w+)*\(\s*(['"\x60].*?['"\x60]))`)

var skipRE = lazyre.New(`\b(?:t\.Skip(?:f|Now)?\(|pytest\.(?:mark\.)?(?:skip|xfail|importorskip)|unittest\.skip|skipTest\(|(?:it|test|describe)\.(?:skip|todo|only)\b)`)

// testsIn returns the names of the tests in lines of a file.
func testsIn(text string) []string {
	return lists.Map(testRE.FindAllStringSubmatch(text, -1), func(m []string) string { return m[1] + m[2] + m[3] })
}

// fewWords is the maximum number of words of a task that must name code of the repository.
const fewWords = 5

// vague reports whether nothing can be done by the text of a task: it is too short, and names no code.
func (q query) vague() bool { return len(letters(q.text)) < fewWords && len(q.symbols) == 0 }

// derivable is the signal for the share of an answer's words that are in its prompt.
func (w *work) derivable(prompt string) training.Signal {
	known := map[string]bool{}
	chunks.EachWord(prompt, func(s string) { known[s] = true })
	seen, found := map[string]bool{}, 0
	for _, c := range w.changes {
		for _, h := range c.hunks {
			chunks.EachWord(c.now(h), func(s string) {
				if len(s) < 3 || seen[s] {
					return
				}
				if seen[s] = true; known[s] {
					found++
				}
			})
		}
	}
	if len(seen) == 0 {
		return training.Known("derivable", 1, "no new lines are written")
	}
	return training.Known("derivable", float64(found)/float64(len(seen)),
		fmt.Sprintf("%d of %d words of the new lines are in the prompt", found, len(seen)))
}
