package differential

import (
	"context"
	"slices"

	"github.com/runplan/runplan/gates"
	"github.com/runplan/runplan/internal/lists"
)

// side is the result of the test on one tree.
type side struct {
	name   string
	runs   []gates.SingleRun
	output string // of the last run, the part that matters
}

// side runs the test on a tree as often as needed. It does not repeat a failed build.
func (c *compared) side(ctx context.Context, name string, s gates.Subject) (side, error) {
	out := side{name: name}
	g := gates.New(gates.Info{Name: Name + "-" + name, Blocking: true}, func(ctx context.Context, l *gates.Look) error {
		return l.Single(ctx, c.test, c.Runs, func(one gates.SingleRun) bool {
			out.runs = append(out.runs, one)
			l.Show(one.Text)
			return one.Outcome != gates.RunBroken || len(out.runs) > 1
		})
	})
	rep, err := g.Check(ctx, s)
	out.output = rep.Output
	return out, err
}

// outcome returns the common result of all runs of the side; ok is false if they differ.
func (s side) outcome() (w gates.RunOutcome, ok bool) {
	for i, r := range s.runs {
		if i > 0 && r.Outcome != w {
			return w, false
		}
		w = r.Outcome
	}
	return w, true
}

// always returns the tests that failed in each run. If a run names none, the file itself failed.
func (s side) always() (names []string, ok bool) {
	for i, r := range s.runs {
		if i == 0 {
			names = slices.Clone(r.Failed)
			continue
		}
		had := len(names)
		names = slices.DeleteFunc(names, func(n string) bool { return !slices.Contains(r.Failed, n) })
		if len(names) == 0 && had+len(r.Failed) > 0 {
			return nil, false
		}
	}
	return names, true
}

// why returns the first thing that went wrong in any run.
func (s side) why() string {
	return lists.First(s.runs, func(r gates.SingleRun) bool { return r.Why != "" }).Why
}

// count formats the number of runs: "2 of 3 runs".
func (s side) count(w gates.RunOutcome) int {
	return lists.Count(s.runs, func(r gates.SingleRun) bool { return r.Outcome == w })
}
