package history

import "fmt"

// Hint is a property that a history lacks for learning (TRAIN-10), judged by its commits.
type Hint struct {
	Good bool
	Text string
}

// Shares of refused commits, in percent, from which a hint is given.
const (
	tooVague = 25
	tooWide  = 25
	tooTaken = 2
	tooFew   = 10
)

// Hints judges a history by the reasons of its refused commits. For fewer than 20 commits it returns nothing.
func (m Manifest) Hints() []Hint {
	own := m.Commits - m.Reasons[Merge] - m.Reasons[NoParent]
	if own < 20 {
		return nil
	}
	share := func(n int) string { return fmt.Sprintf("%d of %d commits (%d %%)", n, own, n*100/own) }
	over := func(n, percent int) bool { return n*100 > own*percent }
	vague, wide, taken := m.Reasons[SaysLittle], m.Reasons[TooManyFile]+m.Reasons[TooMany], m.Reasons[Reverted]
	return []Hint{
		{!over(vague, tooVague), "clear messages: " + share(vague) + " do not say what changed"},
		{!over(wide, tooWide), "small, focused commits: " + share(wide) +
			" change more than 5 files or 200 lines, or no file"},
		{!over(taken, tooTaken), "stable: " + share(taken) + " were reverted later"},
		{over(m.Used, tooFew), "worth it: " + share(m.Used) + " make examples"},
	}
}
