package setup

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/runplan/runplan/internal/cli"
	"github.com/runplan/runplan/internal/cli/control"
	"github.com/runplan/runplan/internal/cli/run"
	"github.com/runplan/runplan/internal/store"
	"github.com/runplan/runplan/runner"
	"github.com/runplan/runplan/runner/local"
)

// NewGCCommand returns the command gc.
func NewGCCommand(a *cli.App) *cobra.Command {
	var list bool
	return a.Command(cli.With{Exits: "0 2 5", JSON: "a JSON array"}, &cobra.Command{
		Use:   "gc",
		Short: "Remove worktrees, branches, sessions and tasks of finished runs",
		Long: `Remove worktrees and branches of finished runs, the sessions of
killed tasks, and the plans that solve made of finished tasks. It considers only files and branches that runplan
made, and keeps unmerged work: it lists that with the reason.

A program with more engines also cleans, with --engine NAME, the repository that all machines share:
plans, logs and journals of runs that ended longer ago than run.keep_evidence, and branches when
they are merged there.`,
		Args: cobra.NoArgs,
		RunE: a.InProject(func(ctx context.Context, p *cli.Project, _ []string) error {
			active, err := control.Active(ctx, p)
			if err != nil {
				return err
			}
			found, err := local.Leftovers(ctx, p.Repo, p.Layout, active)
			found = append(found, local.RoomLeftovers(a.CacheDir(), p.Repo, p.Layout)...)
			if err != nil {
				return err
			}
			sums, err := p.Summaries(ctx, runner.Filter{})
			if err != nil {
				return err
			}
			sessions, err := leftSessions(p, sums, active)
			if err != nil {
				return err
			}
			tasks, err := leftTasks(p, sums)
			if err != nil {
				return err
			}
			found = slices.Concat(found, sessions, tasks)
			if !list {
				for _, x := range found {
					if err := control.RemoveLeftover(ctx, p, x); err != nil {
						return err
					}
				}
			}
			shared, err := gcShared(ctx, p, list)
			if err != nil {
				return err
			}
			found = append(found, shared...)
			return a.PrintLeftovers(found, list)
		}),
	}, func(f *cli.Flags) { f.BoolVar(&list, "list", false, "only list") })
}

// gcShared lists what runs left in the repository that all machines share. Unless list is set, it removes them.
func gcShared(ctx context.Context, p *cli.Project, list bool) ([]local.Leftover, error) {
	e, err := p.RemoteHost()
	if err != nil || e == nil {
		return nil, err
	}
	p.Repo.AllowPrograms() // the shared leftovers are fetched and deleted on the remote
	d, err := e.Open(ctx, cli.Session{Getenv: p.Getenv, Config: run.QuietConfig(p)})
	if err != nil {
		return nil, err
	}
	defer d.Close()
	found, err := d.Leftovers(ctx, time.Duration(p.Config.Run.KeepEvidence))
	if err != nil {
		return nil, err
	}
	for _, x := range found {
		if x.Remove && !list {
			if err := d.Remove(ctx, x); err != nil {
				return nil, cli.Fail(cli.ExitCannotRun, fmt.Errorf("remove %s %s: %w", x.Kind, x.Name, err),
					"check that you may push to the shared repository")
			}
		}
	}
	return found, nil
}

// restful is the age after which an unused session of a task outside of runs counts as left over.
const restful = time.Hour

// leftSessions lists the sessions of tasks that are over. A task closes its session at the end, unless its process is
// killed.
func leftSessions(p *cli.Project, sums []runner.Summary, active map[string]bool) ([]local.Leftover, error) {
	files := p.Layout.Glob(filepath.Join(p.Layout.Sessions(), "session_*.sqlite"))
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

// leftTasks lists the plans generated from tasks that no run needs any more. The journal keeps their text.
func leftTasks(p *cli.Project, sums []runner.Summary) ([]local.Leftover, error) {
	files := p.Layout.Glob(filepath.Join(p.Layout.Tasks(), "*.md"))
	finished := map[string]bool{} // by plan: whether all of its runs are done
	for _, s := range sums {
		done, known := finished[s.Plan]
		finished[s.Plan] = s.Status.Over() && (done || !known)
	}
	names := map[string]string{} // by file
	for _, path := range files {
		names[path] = p.PlanPath(path)
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
