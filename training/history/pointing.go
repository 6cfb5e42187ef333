package history

import (
	"github.com/runplan/runplan/knowledge/chunks"
	"github.com/runplan/runplan/knowledge/retrieve"
)

// pointers are the words with which a task points to a line of a question, as stems.
type pointers map[string]bool

// cover reports whether a task points to a line by all words with which it points to another one.
func (p pointers) cover(o pointers) bool {
	for s := range o {
		if !p[s] {
			return false
		}
	}
	return true
}

// pointing returns the pointers to each line of a question: the words of the task that at most half of the lines have,
// or two of them.
func (w *work) pointing(lines []string) []pointers {
	said := map[string]bool{}
	for _, k := range w.keywords {
		chunks.EachWord(k, func(s string) { said[retrieve.Stem(s)] = true })
	}
	out := make([]pointers, len(lines))
	count := map[string]int{}
	for i, line := range lines {
		out[i] = pointers{}
		chunks.EachWord(line, func(s string) {
			if s = retrieve.Stem(s); said[s] && !out[i][s] {
				out[i][s] = true
				count[s]++
			}
		})
	}
	for _, p := range out {
		for s := range p {
			if count[s] > max(2, len(lines)/2) {
				delete(p, s)
			}
		}
	}
	return out
}

// unmarked is the reason against a question whose answer nobody could find.
const unmarked = "the task does not point to the changed code"
