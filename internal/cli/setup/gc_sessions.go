package setup

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/runplan/runplan/internal/cli"
	"github.com/runplan/runplan/internal/store"
	"github.com/runplan/runplan/runner"
	"github.com/runplan/runplan/runner/local"
)

// restful is the age after which an unused session of a task outside of runs counts as left over.
const restful = time.Hour

// leftSessions lists the sessions of tasks that are over. A task closes its session at the end, unless its process is
// killed.
func leftSessions(ctx context.Context, p *cli.Project, active map[string]bool) ([]local.Leftover, error) {
	files, err := filepath.Glob(filepath.Join(p.Layout.Sessions(), "session_*.sqlite"))
	if err != nil || len(files) == 0 {
		return nil, err
	}
	sums, err := p.Summaries(ctx, runner.Filter{})
	if err != nil {
		return nil, err
	}
	ofRun := map[string]bool{} // by file: whether its run is unfinished
	for _, s := range sums {
		for _, b := range s.Batches {
			path, err := store.SessionPath(p.Layout.Sessions(), s.Run+"/"+b.Key)
			if err != nil {
				return nil, err
			}
			ofRun[path] = active[s.Slug] && !s.Status.Over()
		}
	}
	return leftFiles(p, "session", files, func(path string, idle bool) (bool, string) {
		goes, known := ofRun[path]
		switch {
		case goes:
			return false, "its run is not finished"
		case known:
			return true, "its run has ended"
		case !idle:
			return false, "a task may be using it"
		}
		return true, "its task did not end, and it was not used for an hour"
	})
}

// leftFiles lists files with the decision of judge: whether a file can be removed, and why. idle is false for a file
// that was used in the last hour.
func leftFiles(p *cli.Project, kind string, files []string,
	judge func(path string, idle bool) (remove bool, why string)) ([]local.Leftover, error) {
	var out []local.Leftover
	for _, path := range files {
		info, err := os.Stat(path)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		x := local.Leftover{Kind: kind, Name: p.Layout.Rel(path), Bytes: info.Size()}
		x.Remove, x.Why = judge(path, time.Since(info.ModTime()) >= restful)
		out = append(out, x)
	}
	return out, nil
}
