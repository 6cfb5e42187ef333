package setup

import (
	"path/filepath"

	"github.com/runplan/runplan/internal/cli"
	"github.com/runplan/runplan/runner"
	"github.com/runplan/runplan/runner/local"
)

// leftTasks lists the plans generated from tasks that no run needs any more. The journal keeps their text.
func leftTasks(p *cli.Project, sums []runner.Summary) ([]local.Leftover, error) {
	files, err := filepath.Glob(filepath.Join(p.Layout.Tasks(), "*.md"))
	if err != nil {
		return nil, err
	}
	finished := map[string]bool{} // by plan: whether all of its runs are done
	for _, s := range sums {
		done, known := finished[s.Plan]
		finished[s.Plan] = s.Status.Over() && (done || !known)
	}
	names := map[string]string{} // by file
	for _, path := range files {
		if names[path], err = p.PlanPath(path); err != nil {
			return nil, err
		}
	}
	return leftFiles(p, "task", files, func(path string, idle bool) (bool, string) {
		done, known := finished[names[path]]
		switch {
		case done:
			return true, "its run has ended, and the journal has its text"
		case known:
			return false, "its run is not finished"
		case !idle:
			return false, "a run may be about to use it"
		}
		return true, "no run used it"
	})
}
