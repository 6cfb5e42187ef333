package local

import (
	"context"
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

// dropStash drops one entry. Git knows entries by their place only, and another agent may add one meanwhile: then another
// entry goes, and is put back.
func (w *work) dropStash(ctx context.Context, e git.Stash) error {
	var last error
	for range 5 {
		list, err := w.Repo.Stashes()
		if err != nil {
			return err
		}
		i := slices.Index(list, e)
		if i < 0 {
			return nil
		}
		said, err := w.Repo.Run(ctx, "stash", "drop", fmt.Sprintf("stash@{%d}", len(list)-1-i))
		if err != nil {
			last = err // its place may have gone
			continue
		}
		_, dropped, _ := strings.Cut(said, "} (")
		dropped, _, _ = strings.Cut(dropped, ")")
		if dropped == e.Hash {
			return nil
		}
		last = fmt.Errorf("drop the stash %q: others kept changing the list", e.Message)
		message, err := w.Repo.Run(ctx, "log", "-1", "--format=%s", dropped)
		if err == nil {
			_, err = w.Repo.Run(ctx, "stash", "store", "-m", message, dropped)
		}
		if err != nil {
			return fmt.Errorf("put the stash %s back: %w", dropped, err)
		}
	}
	return last
}
