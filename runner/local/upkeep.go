package local

import (
	"os"

	"github.com/runplan/runplan/internal/proc"
)

// dropUpkeepLock removes the lock of git's own upkeep that came while an agent or gates were at work and that nobody holds
// any more: a git that was killed left it, and as long as it is there, no upkeep is done in the user's repository. Git
// keeps the file open for as long as it works. Where the system does not tell who has it open, it stays, and so it does
// where it was there before: git was not idle then.
func (w *work) dropUpkeepLock(idle bool) {
	if !idle || !w.Repo.HasUpkeepLock() {
		return
	}
	path := w.Repo.UpkeepLock()
	if open, known := proc.Opened(path); open || !known {
		return
	}
	if err := os.Remove(path); err != nil {
		w.Note("git's upkeep was cut off while this run was at work, and its lock cannot be removed: " + err.Error())
		return
	}
	w.Note("git's upkeep was cut off while this run was at work; its lock .git/objects/maintenance.lock was removed")
}
