// Package outcomes finds out with git what happened to the code of earlier runs: whether it was merged into the start
// branch, reverted there, or soon rewritten. Gates judge code when it is made; outcomes show what people did with it
// later.
package outcomes

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/runplan/runplan/internal/git"
	"github.com/runplan/runplan/internal/lists"
	"github.com/runplan/runplan/internal/store"
	"github.com/runplan/runplan/runner"
	"github.com/runplan/runplan/runner/journal"
)

// Names of signals. Each value is 0 to 1.
const (
	Merged    = "merged"    // into the start branch
	Reverted  = "reverted"  // reverted there and not restored
	Rewritten = "rewritten" // share of its added lines that were removed
)

// Merge is a batch that its run merged into the run branch.
type Merge struct {
	Task   string // "<run>/<batch>"
	Commit string
	At     time.Time
}

// Run holds the merges on the branch of a run.
type Run struct {
	ID     string
	Base   string // start commit
	Branch string // start branch; "" for none
	Head   string // its last merge
	Merges []Merge
}

// Runs reads the merges of all runs from the journal, oldest first. It skips runs without merges.
func Runs(ctx context.Context, j *store.Journal) ([]Run, error) {
	all, err := j.Runs(ctx)
	if err != nil {
		return nil, err
	}
	slices.Reverse(all)
	var out []Run
	for _, sr := range all {
		r := Run{ID: sr.ID}
		at := map[string]Merge{}
		var order []string
		for ev, err := range journal.Events(ctx, j, sr.ID, 0) {
			if err != nil {
				return nil, err
			}
			if ev.Job != nil {
				r.Base, r.Branch = ev.Job.Base, ev.Job.BaseBranch
			}
			drop := func() {
				order = slices.DeleteFunc(order, func(k string) bool { return k == ev.Batch })
			}
			switch {
			case ev.Kind == runner.Merged && ev.Outcome == runner.OutcomeOK:
				drop()
				order = append(order, ev.Batch)
				at[ev.Batch] = Merge{Task: sr.ID + "/" + ev.Batch, Commit: ev.Commit, At: ev.At}
				r.Head = ev.Commit
			case ev.Kind == runner.Reopened:
				drop()
			}
		}
		r.Merges = append(r.Merges, lists.Map(order, func(key string) Merge { return at[key] })...)
		if len(r.Merges) > 0 {
			out = append(out, r)
		}
	}
	return out, nil
}

// Look queries git about the merges of a run. Lines removed within days after a merge count as rewritten.
func Look(ctx context.Context, repo *git.Repo, r Run, days int, now time.Time) ([]store.TrainingSignal, error) {
	l := looker{repo: repo, run: r, days: days, now: now}
	untold := func(why string) []store.TrainingSignal {
		return lists.Map(r.Merges, func(m Merge) store.TrainingSignal {
			return store.TrainingSignal{Task: m.Task, Commit: m.Commit, Name: Merged, Note: why, At: now}
		})
	}
	if r.Branch == "" {
		return untold("the run started from no branch"), nil
	}
	var err error
	if l.tip, err = repo.Resolve(ctx, "refs/heads/"+r.Branch); err != nil {
		return nil, fmt.Errorf("read branch %s: %w", r.Branch, err)
	}
	if l.tip == "" {
		return untold("branch " + r.Branch + " is gone"), nil
	}
	if !l.has(ctx, r.Base) {
		return untold("git does not have the commit that the run started from"), nil
	}
	if err := l.history(ctx); err != nil {
		return nil, err
	}
	var out []store.TrainingSignal
	for _, m := range r.Merges {
		list, err := l.merge(ctx, m)
		if err != nil {
			return nil, fmt.Errorf("find the outcome of %s: %w", m.Task, err)
		}
		out = append(out, list...)
	}
	return out, nil
}

// looker examines the start branch of one run.
type looker struct {
	repo *git.Repo
	run  Run
	days int
	now  time.Time

	tip     string
	place   map[string]int      // position of each commit since the run's base
	reverts map[string][]string // reverted commits, by reverting commit
	patches map[string][]string // commits that touch the run's files, by patch id, in order; none for ""
	squash  string              // patch id of the whole run
}

// has reports whether git has a commit.
func (l *looker) has(ctx context.Context, commit string) bool {
	_, err := l.repo.Run(ctx, "cat-file", "-e", commit+"^{commit}")
	return err == nil
}

// merge returns the signals of one merge.
func (l *looker) merge(ctx context.Context, m Merge) ([]store.TrainingSignal, error) {
	say := func(name string, v *float64, note string) store.TrainingSignal {
		return store.TrainingSignal{Task: m.Task, Commit: m.Commit, Name: name, Value: v, Note: note, At: l.now}
	}
	if !l.has(ctx, m.Commit) {
		return []store.TrainingSignal{say(Merged, nil, "git no longer has the commit")}, nil
	}
	ids, err := l.patchIDs(ctx, []string{m.Commit}, false)
	if err != nil {
		return nil, err
	}
	back, err := l.patchIDs(ctx, []string{m.Commit}, true)
	if err != nil {
		return nil, err
	}
	as, how, err := l.landed(ctx, m, ids[m.Commit])
	if err != nil {
		return nil, err
	}
	if as == "" {
		return []store.TrainingSignal{say(Merged, new(0.0), "it is not on "+l.run.Branch)}, nil
	}
	out := []store.TrainingSignal{say(Merged, new(1.0), how)}
	if by := l.reverted(m.Commit, as, ids[m.Commit], back[m.Commit]); by != "" {
		out = append(out, say(Reverted, new(1.0), "by "+git.Short(by)))
	} else {
		out = append(out, say(Reverted, new(0.0), ""))
	}
	if how != "" && as != m.Commit && l.squashed(as) {
		return append(out, say(Rewritten, nil, "its lines are in one commit with those of other batches")), nil
	}
	v, note, err := l.rewritten(ctx, as, m.At)
	if err != nil {
		return nil, err
	}
	return append(out, say(Rewritten, v, note)), nil
}

// landed finds the commit on the branch that contains the change: the commit itself, one with the same patch, or one
// with the whole run.
func (l *looker) landed(ctx context.Context, m Merge, id string) (commit, how string, err error) {
	on, err := l.repo.IsAncestor(ctx, m.Commit, l.tip)
	if err != nil {
		return "", "", err
	}
	if on {
		return m.Commit, "", nil
	}
	if same := l.patches[id]; len(same) > 0 {
		return same[0], "as " + git.Short(same[0]), nil
	}
	if same := l.patches[l.squash]; len(same) > 0 {
		return same[0], "with the whole run as " + git.Short(same[0]), nil
	}
	return "", "", nil
}

func (l *looker) squashed(commit string) bool {
	return len(l.run.Merges) > 1 && slices.Contains(l.patches[l.squash], commit)
}

// reverted finds the commit that reverted a change, or "" if there is none or the change was restored. The last such
// commit decides.
func (l *looker) reverted(commit, as, id, inverse string) (by string) {
	type word struct {
		at   int
		by   string
		gone bool
	}
	words := slices.Concat([]word{{at: -1}},
		lists.Map(l.patches[inverse], func(c string) word { return word{l.place[c], c, true} }),
		lists.Map(l.patches[id], func(c string) word { return word{l.place[c], c, false} }))
	// A revert of a revert restores the change, and so on.
	target, gone := []string{commit, as}, true
	seen := map[string]bool{}
	for len(target) > 0 {
		var next []string
		for _, t := range target {
			for by, of := range l.reverts {
				if !seen[by] && slices.ContainsFunc(of, func(name string) bool { return strings.HasPrefix(t, name) }) {
					seen[by] = true
					next = append(next, by)
					words = append(words, word{l.place[by], by, gone})
				}
			}
		}
		target, gone = next, !gone
	}
	if last := slices.MaxFunc(words, func(a, b word) int { return cmp.Compare(a.at, b.at) }); last.gone {
		return last.by
	}
	return ""
}
