package history

import (
	"github.com/runplan/runplan/knowledge/chunks"
	"github.com/runplan/runplan/knowledge/retrieve"
)

// pointed returns for each line of a question whether the task points to it: the line has a word of the task that at most
// half of the lines have, or two of them.
func (w *work) pointed(lines []string) []bool {
	said := map[string]bool{}
	for _, k := range w.keywords {
		chunks.EachWord(k, func(s string) { said[retrieve.Stem(s)] = true })
	}
	has := make([]map[string]bool, len(lines))
	count := map[string]int{}
	for i, line := range lines {
		has[i] = map[string]bool{}
		chunks.EachWord(line, func(s string) {
			if s = retrieve.Stem(s); said[s] && !has[i][s] {
				has[i][s] = true
				count[s]++
			}
		})
	}
	out := make([]bool, len(lines))
	for i := range lines {
		for s := range has[i] {
			out[i] = out[i] || count[s] <= max(2, len(lines)/2)
		}
	}
	return out
}

// unmarked is the reason against a question whose answer nobody could find.
const unmarked = "the task does not point to the changed code"
