package local

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/runplan/runplan/internal/git"
	"github.com/runplan/runplan/internal/proc"
)

// ofRuns begins the names of all branches of runs.
const ofRuns = "runplan/"

// tidyStashes removes an agent's stashes from the user's list, because git has one list for all worktrees. It
// identifies them by the branch on which they were made. A missing entry may have been removed by the agent or by
// the user, so tidyStashes notes how to restore it.
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
			w.Note(fmt.Sprintf("the stash %q disappeared since the agent began; if you did not drop it: git stash store -m "+
				"%q %s",
				s.Message, s.Message, s.Hash))
		}
	}
}

// sweepStashes removes the remaining stashes of agents when no agent is running. While several run, the list may
// change at any time.
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

// dropStash drops one entry. Git identifies entries by position, and counts before it locks the list. If another
// agent adds one meanwhile, git drops the wrong entry. So dropStash checks the result and restores a wrongly
// dropped entry.
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
					return fmt.Errorf("restore the stash %s: %w", lost.Hash, err)
				}
			}
		}
		i := slices.Index(list, e)
		if i < 0 {
			return nil
		}
		before = list
		// its position may no longer exist
		_, last = w.Repo.Run(ctx, "stash", "drop", "--quiet", fmt.Sprintf("stash@{%d}", len(list)-1-i))
	}
	if last == nil {
		last = errors.New("others kept changing the list")
	}
	return fmt.Errorf("drop the stash %q: %w", e.Message, last)
}

// dropUpkeepLock removes a lock of git maintenance that a killed git left during the run. While the lock exists,
// git does no maintenance in the user's repository. A running git keeps the file open. If dropUpkeepLock cannot
// determine whether any process has it open, it keeps the lock and notes that. It also keeps a lock from before
// the run.
func (w *work) dropUpkeepLock(idle bool) {
	if !idle || !w.Repo.HasUpkeepLock() {
		return
	}
	path := w.Repo.UpkeepLock()
	switch open, known := proc.Opened(path); {
	case open:
		return
	case !known:
		w.Note(
			"git's lock .git/objects/maintenance.lock was created during the run; it is unknown whether a git process still " +
				"uses it. If " +
				"none is running, remove it: rm " + path)
		return
	}
	if err := os.Remove(path); err != nil {
		w.Note("git's maintenance was interrupted during the run, and its lock cannot be removed: " + err.Error())
		return
	}
	w.Note("git's maintenance was interrupted during the run; its lock .git/objects/maintenance.lock was removed")
}

// dropRefLocks removes the ref locks that a killed git of an agent left. With such a lock, neither the run nor the
// user could update the ref. Other code handles the locks of the run's own branches, because the run moves those
// all the time.
func (w *work) dropRefLocks(before []string) {
	now, err := w.Repo.RefLocks()
	if err != nil {
		w.Note(err.Error())
		return
	}
	for _, name := range now {
		if slices.Contains(before, name) || strings.HasPrefix(name, "refs/heads/"+ofRuns) {
			continue
		}
		if err := w.Repo.RemoveLock(name); err != nil {
			w.Note("a git process was killed while an agent worked: " + err.Error())
		}
	}
}
