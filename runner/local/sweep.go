package local

import (
	"errors"
	"path/filepath"

	"github.com/runplan/runplan/internal/atomicfile"
	"github.com/runplan/runplan/sampling"
)

// sweep removes the temporary files that processes left which were killed while they replaced a file: those of this
// run, those that all runs share, and those in the git folder. A concurrent writer
// creates its file again.
func (w *work) sweep() {
	l, common := w.Layout, w.Repo.Common
	err := errors.Join(
		w.failures.Sweep(), sampling.Store{Path: l.SamplingOutcomes()}.Sweep(),
		atomicfile.SweepFolder(l.Root), atomicfile.SweepFolder(l.Worktrees()), atomicfile.SweepTree(l.GateCache()),
		atomicfile.SweepTree(l.Logs(w.run)), atomicfile.SweepTree(l.Report(w.run)),
		atomicfile.SweepFolder(common), atomicfile.SweepFolder(filepath.Join(common, "info")),
		atomicfile.SweepTree(filepath.Join(common, "hooks")),
	)
	if err != nil {
		w.Note("what was left by processes that were killed could not be removed: " + err.Error())
	}
}
