package history

import "fmt"

// Hint is one thing that a history to learn from should have (TRAIN-10), as far as its commits tell.
type Hint struct {
	Good bool
	Text string
}

// From these shares of commits on a history is told to lack something, in percent.
const (
	tooVague = 25
	tooWide  = 25
	tooTaken = 2
	tooFew   = 10
)

// Hints judges a history by the reasons for which its commits were refused. It says nothing of fewer than 20 commits.
func (m Manifest) Hints() []Hint {
	own := m.Commits - m.Reasons[Merge] - m.Reasons[NoParent]
	if own < 20 {
		return nil
	}
	share := func(n int) string { return fmt.Sprintf("%d of %d commits (%d %%)", n, own, n*100/own) }
	over := func(n, percent int) bool { return n*100 > own*percent }
	vague, wide, taken := m.Reasons[SaysLittle], m.Reasons[TooManyFile]+m.Reasons[TooMany], m.Reasons[Reverted]
	out := []Hint{
		{!over(vague, tooVague), "clear messages: " + share(vague) + " do not say what changed"},
		{!over(wide, tooWide), "small, focused commits: " + share(wide) + " change more than 5 files or 200 lines, or no file"},
		{!over(taken, tooTaken), "stable: " + share(taken) + " were taken back later"},
		{over(m.Used, tooFew), "worth it: " + share(m.Used) + " make examples"},
	}
	return out
}
