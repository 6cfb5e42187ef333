package app

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/runplan/runplan/runner"
	"github.com/runplan/runplan/runner/local"
)

func newGCCommand(a *App) *cobra.Command {
	var asJSONFlag, list bool
	cmd := &cobra.Command{
		Use:   "gc",
		Short: "Remove worktrees, branches, sessions and tasks of finished runs",
		Long: `Remove worktrees and branches that finished runs left behind, the sessions of tasks that were
killed, and the plans that solve made of tasks which are done. Only what runplan made is looked
at, and nothing is removed that holds work which is not merged: it is listed with the reason.

A program with more engines looks, with --engine NAME, at the repository that all machines share as well:
plans, logs and journals of runs go when these are done for longer than run.keep_evidence, branches when
they are merged there.` + exitStatus(exitOK, exitUsage, exitCannotRun),
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			p, err := a.openProject(ctx)
			if err != nil {
				return err
			}
			active, err := p.active(ctx)
			if err != nil {
				return err
			}
			found, err := local.Leftovers(ctx, p.repo, p.layout, active)
			found = append(found, local.RoomLeftovers(a.cacheDir(), p.repo, p.layout)...)
			if err != nil {
				return err
			}
			sessions, err := p.leftSessions(ctx, active)
			if err != nil {
				return err
			}
			sums, err := p.summaries(ctx, runner.Filter{})
			if err != nil {
				return err
			}
			tasks, err := p.leftTasks(sums)
			if err != nil {
				return err
			}
			found = slices.Concat(found, sessions, tasks)
			if !list {
				for _, x := range found {
					if err := p.removeLeftover(ctx, x); err != nil {
						return err
					}
				}
			}
			shared, err := a.gcShared(ctx, p, list)
			if err != nil {
				return err
			}
			found = append(found, shared...)
			return a.PrintLeftovers(found, list, asJSONFlag)
		},
	}
	cmd.Flags().BoolVar(&list, "list", false, "only list")
	cmd.Flags().BoolVar(&asJSONFlag, "json", false, "print a JSON array")
	return cmd
}

// gcShared lists what runs left in the repository that all machines share. Unless list is set, it removes them.
func (a *App) gcShared(ctx context.Context, p *project, list bool) ([]local.Leftover, error) {
	e, err := a.remoteHost()
	if err != nil || e == nil {
		return nil, err
	}
	p.repo.AllowPrograms() // the shared leftovers are fetched and deleted on the remote
	d, err := e.Open(ctx, Session{Getenv: a.Getenv, Config: a.quietConfig(p)})
	if err != nil {
		return nil, err
	}
	defer d.Close()
	found, err := d.Leftovers(ctx, time.Duration(p.config.Run.KeepEvidence))
	if err != nil {
		return nil, fail(exitCannotRun, err, "")
	}
	for _, x := range found {
		if x.Remove && !list {
			if err := d.Remove(ctx, x); err != nil {
				return nil, fail(exitCannotRun, fmt.Errorf("remove %s %s: %w", x.Kind, x.Name, err),
					"check that you may push to the shared repository")
			}
		}
	}
	return found, nil
}

// PrintLeftovers prints the leftovers. With list, nothing was removed.
func (a *App) PrintLeftovers(found []local.Leftover, list, json bool) error {
	if json {
		return asJSON(a.Stdout, append([]local.Leftover{}, found...))
	}
	var rows [][]string
	for _, x := range found {
		what := "kept"
		if x.Remove {
			what = map[bool]string{true: "can go", false: "removed"}[list]
		}
		rows = append(rows, []string{what, x.Kind, x.Name, fmt.Sprintf("%d KiB", x.Bytes>>10), x.Why})
	}
	if len(rows) == 0 {
		fmt.Fprintln(a.Stdout, "nothing to remove")
		return nil
	}
	return table(a.Stdout, []string{"", "what", "name", "size", "why"}, rows)
}

// removeLeftover removes one leftover if that is allowed.
func (p *project) removeLeftover(ctx context.Context, x local.Leftover) error {
	switch {
	case !x.Remove:
		return nil
	case x.Kind == "session":
		return p.removeSession(x)
	case x.Kind == "task":
		return os.Remove(filepath.Join(p.layout.Root, filepath.FromSlash(x.Name)))
	}
	return local.RemoveLeftover(ctx, p.repo, p.layout, x)
}

// active returns the slugs whose runs are active or unfinished.
func (p *project) active(ctx context.Context) (map[string]bool, error) {
	sums, err := p.summaries(ctx, runner.Filter{})
	if err != nil {
		return nil, err
	}
	active := map[string]bool{}
	seen := map[string]bool{}
	for _, s := range sums { // newest first: the newest run of a slug counts
		if !seen[s.Slug] && !s.Status.Over() {
			active[s.Slug] = true
		}
		seen[s.Slug] = true
		if lock, err := local.TakeLock(p.layout.Lock(s.Slug), time.Now()); err != nil {
			active[s.Slug] = true
		} else {
			lock.Release()
		}
	}
	return active, nil
}
