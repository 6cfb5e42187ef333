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
	for i := len(after) - 1; i >= 0; i-- {
		m := after[i].Message // "WIP on BRANCH: …", or "On BRANCH: …" if the agent gave one
		if slices.Contains(before, after[i]) || !strings.HasPrefix(m, "WIP on "+ours) && !strings.HasPrefix(m, "On "+ours) {
			continue
		}
		if err := w.Repo.DropStash(ctx, i, len(after)); err != nil {
			w.Note("a stash of the agent could not be dropped: " + err.Error())
			return
		}
		after = slices.Delete(after, i, i+1)
	}
	for _, s := range before {
		if !slices.Contains(after, s) && !strings.Contains(s.Message, "n "+ofRuns) { // those of other agents are dropped too
			w.Note(fmt.Sprintf("the stash %q is gone since the agent began; if that was not you: git stash store -m %q %s", s.Message, s.Message, s.Hash))
		}
	}
}
