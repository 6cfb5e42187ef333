package local

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/runplan/runplan/internal/git"
)

// ofRuns begins the names of all branches of runs.
const ofRuns = "runplan/"

// tidyStashes takes an agent's stashes out of the list, which is the user's: git has one for all worktrees.
// They are known by the branch that they were made on. An entry that is gone may be one that the agent took,
// or one that the user did meanwhile; so it is told how to get it back.
func (w *work) tidyStashes(ctx context.Context, branch string, before []git.Stash) {
	after, err := w.Repo.Stashes()
	if err != nil {
		w.Note(err.Error())
		return
	}
	if slices.Equal(before, after) {
		return
	}
	ours := branch + ":"
	for _, e := range after {
		m := e.Message // "WIP on BRANCH: …", or "On BRANCH: …" if the agent gave one
		if slices.Contains(before, e) || !strings.HasPrefix(m, "WIP on "+ours) && !strings.HasPrefix(m, "On "+ours) {
			continue
		}
		if err := w.dropStash(ctx, e); err != nil {
			w.Note("a stash of the agent could not be dropped: " + err.Error())
			return
		}
	}
	for _, s := range before {
		if !slices.Contains(after, s) && !strings.Contains(s.Message, "n "+ofRuns) { // those of other agents are dropped too
			w.Note(fmt.Sprintf("the stash %q is gone since the agent began; if that was not you: git stash store -m %q %s", s.Message, s.Message, s.Hash))
		}
	}
}

// sweepStashes takes out what is left of the stashes of agents, once none is at work: while several are, the list changes
// under everybody's hands.
func (w *work) sweepStashes(ctx context.Context) {
	list, err := w.Repo.Stashes()
	if err != nil {
		w.Note(err.Error())
		return
	}
	batches := ofRuns + w.info.Slug + "/b"
	for _, e := range list {
		if !strings.HasPrefix(e.Message, "WIP on "+batches) && !strings.HasPrefix(e.Message, "On "+batches) {
			continue
		}
		if err := w.dropStash(ctx, e); err != nil {
			w.Note("a stash of an agent could not be dropped: " + err.Error())
		}
	}
}

// dropStash drops one entry. Git knows entries by their place only, and counts them before it locks the list: where another
// agent adds one meanwhile, another entry goes, whatever git says. So it is looked again, and what went wrongly is put back.
func (w *work) dropStash(ctx context.Context, e git.Stash) error {
	var last error
	var before []git.Stash
	for range 10 {
		list, err := w.Repo.Stashes()
		if err != nil {
			return err
		}
		for _, lost := range before {
			if lost != e && !slices.Contains(list, lost) {
				if _, err := w.Repo.Run(ctx, "stash", "store", "-m", lost.Message, lost.Hash); err != nil {
					return fmt.Errorf("put the stash %s back: %w", lost.Hash, err)
				}
			}
		}
		i := slices.Index(list, e)
		if i < 0 {
			return nil
		}
		before = list
		_, last = w.Repo.Run(ctx, "stash", "drop", "--quiet", fmt.Sprintf("stash@{%d}", len(list)-1-i)) // its place may have gone
	}
	if last == nil {
		last = errors.New("others kept changing the list")
	}
	return fmt.Errorf("drop the stash %q: %w", e.Message, last)
}
