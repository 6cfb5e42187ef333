// Package run holds the commands run, resume and solve, and executes runs.
package run

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/runplan/runplan/internal/cli"
	"github.com/runplan/runplan/internal/cli/prepare"
)

// NewRunCommand returns the command run.
func NewRunCommand(a *cli.App) *cobra.Command {
	var o prepare.RunOptions
	cmd := &cobra.Command{
		Use:   "run PLAN.md",
		Short: "Run a plan",
		Long: `Run a plan, batch by batch, each in its own worktree, onto the branch runplan/<name>/main.

Your checkout, index, stash and branches do not change: the run starts from the commit
that is checked out, and you merge its result, or --land does.

The first Ctrl-C lets running work end; the second stops at once. Either way
"runplan resume" continues.` + cli.ExitStatus(cli.ExitOK, cli.ExitFailed, cli.ExitUsage, cli.ExitHuman, cli.ExitLimit, cli.ExitCannotRun, cli.ExitLocked, cli.ExitInterrupted),
		Args: cli.ExactlyOne("the path of a plan"),
		RunE: func(cmd *cobra.Command, args []string) error { return RunPlan(cmd.Context(), a, args[0], o) },
	}
	o.Common(cmd)
	o.OfAgent(cmd)
	f := cmd.Flags()
	f.StringVar(&o.Land, "land", "",
		"branch (leave the run branch), ff (fast-forward the start branch) or pr (push, open a pull request)")
	f.IntVar(&o.MaxAttempts, "max-attempts", 0,
		"attempts at a batch before it fails (default run.max_attempts; with the solver solve.max_attempts)")
	f.StringVar(&o.Route.From, "from", "", "first batch to run, by number; 4 starts with the first of 4a and 4b")
	f.StringVar(&o.Route.To, "to", "", "last batch to run, by number; 4 ends with the last of 4a and 4b")
	o.Route.Add(cmd)
	o.Sample.Add(cmd)
	f.BoolVar(&o.AllowDirty, "allow-dirty", false,
		"run with uncommitted changes in the checkout; they are not part of the run")
	f.BoolVar(&o.Fresh, "new", false, "start a new run although a run of this plan is not finished")
	f.BoolVar(&o.DryRun, "dry-run", false, "show what would run, and stop")
	return cmd
}

// RunPlan starts a run.
func RunPlan(ctx context.Context, a *cli.App, path string, o prepare.RunOptions) error {
	ready, err := prepare.Prepare(ctx, a, prepare.Request{Plan: path, Options: o})
	if err != nil {
		return err
	}
	defer ready.Release()
	switch {
	case o.DryRun && o.JSON:
		return cli.AsJSON(a.Stdout, ready.JSON(ctx))
	case o.DryRun:
		if err := ready.Show(ctx, a.Stdout, false); err != nil {
			return err
		}
		fmt.Fprintln(a.Stdout, "nothing was run (--dry-run)")
		return nil
	case !o.JSON:
		if err := ready.Show(ctx, a.Stderr, false); err != nil {
			return err
		}
	}
	x := &Execution{Prepared: *ready}
	return x.start(ctx)
}
