package setup

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"

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
	var out []local.Leftover
	for _, path := range files {
		info, err := os.Stat(path)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		name, err := p.PlanPath(path)
		if err != nil {
			return nil, err
		}
		x := local.Leftover{Kind: "task", Name: p.Layout.Rel(path), Bytes: info.Size()}
		done, known := finished[name]
		switch {
		case done:
			x.Remove, x.Why = true, "its run has ended, and the journal has its text"
		case known:
			x.Why = "its run is not finished"
		case time.Since(info.ModTime()) < restful:
			x.Why = "a run may be about to use it"
		default:
			x.Remove, x.Why = true, "no run used it"
		}
		out = append(out, x)
	}
	return out, nil
}
