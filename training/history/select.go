package history

import (
	"github.com/runplan/runplan/internal/git"
	"github.com/runplan/runplan/knowledge/outline"
)

// Selector decides which commits are tasks, only by their messages and files. It must see them newest first, because
// a later commit may revert an earlier one.
type Selector struct{ reverted map[string]bool }

// Task returns the text of the task that a commit did, or the reason why it is not a task.
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
