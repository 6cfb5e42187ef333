package planparse

import (
	"strings"

	"github.com/runplan/runplan/internal/lazyre"
)

// checkpoints finds for each checkpoint the batch that waits for the person.
func (b *builder) checkpoints() {
	list := b.plan.Batches
	last, waiting := "", []*Checkpoint(nil) // of the batches that agents work at; checkpoints before the first of them
	for i := range list {
		c := list[i].Checkpoint
		switch {
		case c == nil:
			for _, w := range waiting {
				w.At, list[i].Approve = list[i].Key, true
			}
			last, waiting = list[i].Key, nil
		case last == "":
			waiting = append(waiting, c)
		default:
			c.At = last
			at, _ := b.plan.Batch(last)
			at.Approve = true
		}
	}
	for i := range list {
		if c := list[i].Checkpoint; c != nil && c.At == "" {
			b.warn(c.Line, "checkpoint", "task %s is a checkpoint without effect: the plan has no other batch",
				list[i].Number)
		} else if c != nil {
			b.report(SeverityInfo, c.Line, "checkpoint",
				"task %s is a checkpoint: no agent works on it, and a person is asked before batch %s is merged", list[i].Number,
				c.At)
		}
	}
}

// forTools matches the elements for the tool for which the plan was made.
var forTools = lazyre.New(`(?s)<resume-signal>.*?</resume-signal>|<files>.*?</files>`)

var anyTag = lazyre.New(`</?([a-z][a-z-]*)((?: [a-z-]+="[^"]*")*)\s*/?>`)

// checkpointText returns the text of a checkpoint without markup.
func (b *builder) checkpointText(t tag) string {
	text := forTools.ReplaceAllString(string(b.between(t.first, t.last)), "")
	text = anyTag.ReplaceAllStringFunc(text, func(s string) string {
		m := anyTag.FindStringSubmatch(s)
		switch {
		case m[1] == "task", strings.HasPrefix(s, "</"):
			return ""
		case m[2] != "":
			_, value, _ := strings.Cut(m[2], `"`)
			return m[1] + " " + strings.ReplaceAll(value, `"`, "") + ": "
		}
		return m[1] + ": "
	})
	var lines []string
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, "\n")
}
