package local

import (
	"errors"
	"path/filepath"

	"github.com/runplan/runplan/internal/atomicfile"
	"github.com/runplan/runplan/sampling"
)

// sweep removes temporary files that killed processes left while they replaced a file: files of this run, files that
// all runs share, and files in the git folder. A concurrent writer creates its file again.
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
		w.Note("the leftovers of killed processes could not be removed: " + err.Error())
	}
}
