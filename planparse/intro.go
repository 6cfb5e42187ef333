package planparse

import (
	"bytes"
	"slices"
	"strings"

	"github.com/runplan/runplan/internal/lists"
)

// intros gives each batch the text of the headings above it before the first batch below them: "## Phase 2: Storage"
// with its goal and its rules. Text before the first unit of work is the preamble, which all batches get.
func (b *builder) intros(first int) {
	above := make([][]*mark, len(b.plan.Batches)) // by batch: the marks of the headings above it, outermost first
	var ends []int                                // lines that end an introduction
	var open []*mark
	at := 0
	for i := range b.plan.Batches {
		batch := &b.plan.Batches[i]
		if batch.StartLine < first {
			continue // an item of the front matter
		}
		level := 7 // of a batch without a heading
		for ; at < len(b.marks) && b.marks[at].line <= batch.StartLine; at++ {
			m := b.marks[at]
			switch {
			case m.kind != markHeading:
				continue
			case m.line == batch.StartLine:
				level = m.level
			// in the preamble, or in the batch before
			case m == b.title, m.line < first, i > 0 && m.line <= b.plan.Batches[i-1].EndLine:
				continue
			}
			open = around(open, m.level)
			if m.line < batch.StartLine {
				open = append(open, m)
			}
		}
		open = around(open, level)
		above[i] = slices.Clone(open)
		ends = append(ends, batch.StartLine)
		ends = append(ends, lists.Map(open, func(m *mark) int { return m.line })...)
	}
	slices.Sort(ends)
	for i, list := range above {
		same := i > 0 && slices.Equal(list, above[i-1]) // one text for all batches below the same headings
		var parts []string
		for _, m := range list {
			end, _ := slices.BinarySearch(ends, m.line+1)
			last := ends[end] - 1
			b.reads(m.line, last, i, "introduces the batch")
			if !same && len(bytes.TrimSpace(b.between(m.line+1, last))) > 0 {
				parts = append(parts, string(bytes.TrimSpace(b.between(m.line, last))))
			}
		}
		if b.plan.Batches[i].Intro = strings.Join(parts, "\n\n"); same {
			b.plan.Batches[i].Intro = b.plan.Batches[i-1].Intro
		}
	}
}
