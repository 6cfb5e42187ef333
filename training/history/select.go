package history

import (
	"github.com/runplan/runplan/internal/git"
	"github.com/runplan/runplan/knowledge/outline"
)

// Selector tells which commits are tasks by their messages and files alone. It has to see them newest first, as a
// later commit may revert an earlier one.
type Selector struct{ reverted map[string]bool }

// Task returns the text of the task that a commit did, or the reason why it is no task.
func (s *Selector) Task(c git.Past) (string, Reason) {
	if s.reverted == nil {
		s.reverted = map[string]bool{}
	}
	for _, h := range revertedBy(c.Message) {
		s.reverted[h] = true
	}
	if r := byItself(c, s.reverted, func(outline.Language) bool { return true }); r != "" {
		return "", r
	}
	return taskOf(c.Message), ""
}
