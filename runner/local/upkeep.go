package local

import (
	"os"
	"slices"
	"strings"

	"github.com/runplan/runplan/internal/proc"
)

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
