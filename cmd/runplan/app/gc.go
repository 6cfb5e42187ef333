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
		Short: "Remove worktrees, branches, sessions and tasks that finished runs left behind",
		Long: `Remove worktrees and branches that finished runs left behind, the sessions of tasks that were
killed, and the plans that solve made of tasks which are done. Only what runplan made is looked
at, and nothing is removed that holds work which is not merged: it is listed with the reason.` + exitStatus(exitOK, exitUsage, exitCannotRun),
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
			if asJSONFlag {
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
				fmt.Fprintln(a.Stdout, "nothing is left behind")
				return nil
			}
			return table(a.Stdout, []string{"", "what", "name", "size", "why"}, rows)
		},
	}
	cmd.Flags().BoolVar(&list, "list", false, "only list")
	cmd.Flags().BoolVar(&asJSONFlag, "json", false, "print a JSON array")
	return cmd
}

// removeLeftover removes what can go.
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

// active returns the slugs whose runs are at work or not finished.
func (p *project) active(ctx context.Context) (map[string]bool, error) {
	sums, err := p.summaries(ctx, runner.Filter{})
	if err != nil {
		return nil, err
	}
	active := map[string]bool{}
	seen := map[string]bool{}
	for _, s := range sums { // newest first: it is the newest run that a slug stands for
		if !seen[s.Slug] && s.Status != runner.RunDone {
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
