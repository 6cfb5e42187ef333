package local

import (
	"os"
	"slices"
	"strings"

	"github.com/runplan/runplan/internal/proc"
)

// dropUpkeepLock removes the lock of git's own upkeep that came while an agent or gates were at work and that nobody holds
// any more: a git that was killed left it, and as long as it is there, no upkeep is done in the user's repository. Git
// keeps the file open for as long as it works. Where it cannot be told for certain that nobody has it open, in whatever
// container or on whatever machine, it stays and people are told; and it stays where it was there before: git was not
// idle then.
func (w *work) dropUpkeepLock(idle bool) {
	if !idle || !w.Repo.HasUpkeepLock() {
		return
	}
	path := w.Repo.UpkeepLock()
	switch open, known := proc.Opened(path); {
	case open:
		return
	case !known:
		w.Note("git's lock .git/objects/maintenance.lock came while this run was at work; whether a git holds it cannot be told here. If none is at work, remove it: rm " + path)
		return
	}
	if err := os.Remove(path); err != nil {
		w.Note("git's upkeep was cut off while this run was at work, and its lock cannot be removed: " + err.Error())
		return
	}
	w.Note("git's upkeep was cut off while this run was at work; its lock .git/objects/maintenance.lock was removed")
}

// dropRefLocks removes the locks of refs that came while an agent was at work and that stay: a git of the agent's that was
// killed left them, and neither the run nor the user could move or remove these refs any more. Those of the run's own
// branches are looked after where the branches are, as the run moves them all the time.
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
			w.Note("a git was cut off while an agent worked: " + err.Error())
		}
	}
}
