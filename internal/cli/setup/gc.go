package setup

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/runplan/runplan/internal/cli"
	"github.com/runplan/runplan/internal/cli/control"
	"github.com/runplan/runplan/internal/cli/run"
	"github.com/runplan/runplan/runner"
	"github.com/runplan/runplan/runner/local"
)

// NewGCCommand returns the command gc.
func NewGCCommand(a *cli.App) *cobra.Command {
	var asJSONFlag, list bool
	cmd := &cobra.Command{
		Use:   "gc",
		Short: "Remove worktrees, branches, sessions and tasks of finished runs",
		Long: `Remove worktrees and branches of finished runs, the sessions of
killed tasks, and the plans that solve made of finished tasks. It considers only files and branches that runplan
made, and keeps unmerged work: it lists that with the reason.

A program with more engines also cleans, with --engine NAME, the repository that all machines share:
plans, logs and journals of runs that ended longer ago than run.keep_evidence, and branches when
they are merged there.` + cli.ExitStatus(cli.ExitOK, cli.ExitUsage, cli.ExitCannotRun),
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
			sessions, err := leftSessions(ctx, p, active)
			if err != nil {
				return err
			}
			sums, err := p.Summaries(ctx, runner.Filter{})
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
			shared, err := gcShared(ctx, a, p, list)
			if err != nil {
				return err
			}
			found = append(found, shared...)
			return a.PrintLeftovers(found, list, asJSONFlag)
		}),
	}
	cmd.Flags().BoolVar(&list, "list", false, "only list")
	cmd.Flags().BoolVar(&asJSONFlag, "json", false, "print a JSON array")
	return cmd
}

// gcShared lists what runs left in the repository that all machines share. Unless list is set, it removes them.
func gcShared(ctx context.Context, a *cli.App, p *cli.Project, list bool) ([]local.Leftover, error) {
	e, err := a.RemoteHost()
	if err != nil || e == nil {
		return nil, err
	}
	p.Repo.AllowPrograms() // the shared leftovers are fetched and deleted on the remote
	d, err := e.Open(ctx, cli.Session{Getenv: a.Getenv, Config: run.QuietConfig(a, p)})
	if err != nil {
		return nil, err
	}
	defer d.Close()
	found, err := d.Leftovers(ctx, time.Duration(p.Config.Run.KeepEvidence))
	if err != nil {
		return nil, cli.Fail(cli.ExitCannotRun, err, "")
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
