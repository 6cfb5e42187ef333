package run

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/runplan/runplan/internal/cli"
	"github.com/runplan/runplan/internal/cli/prepare"
)

// NewResumeCommand returns the command resume.
func NewResumeCommand(a *cli.App) *cobra.Command {
	var o prepare.RunOptions
	cmd := &cobra.Command{
		Use:   "resume [PLAN.md|RUN]",
		Short: "Continue a run that was stopped, killed, or failed",
		Long: `Continue a run: the given one, or the newest unfinished one.

A batch is skipped only if its receipt still verifies: its commit is on the run branch
and has the tree that the gates checked. Failed batches get a new set of attempts.

If the plan has changed, the command refuses and shows a table: the change of each batch, and what
would happen to it. --accept-changes continues according to the table.` +
			cli.ExitStatus(cli.ExitOK, cli.ExitFailed, cli.ExitUsage, cli.ExitHuman, cli.ExitLimit, cli.ExitCannotRun,
				cli.ExitLocked, cli.ExitInterrupted),
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return ResumeRun(cmd.Context(), a, strings.Join(args, ""), o)
		},
	}
	o.Common(cmd)
	o.OfAgent(cmd)
	f := cmd.Flags()
	f.BoolVar(&o.Accept, "accept-changes", false,
		"continue with the changed plan; merged batches stay merged, new ones run, removed ones do not")
	f.StringSliceVar(&o.Redo, "redo", nil, "numbers of merged batches to run again, separated by commas")
	f.BoolVar(&o.DryRun, "dry-run", false, "show the effect of a changed plan on each batch, and stop")
	cmd.Flags().BoolVar(&o.AcceptConfig, "accept-config", false,
		"continue with the configuration as it is now, although it changed after the run started")
	return cmd
}

// ResumeRun resumes a run of the journal.
func ResumeRun(ctx context.Context, a *cli.App, name string, o prepare.RunOptions) error {
	ready, err := prepare.Prepare(ctx, a, prepare.Request{Resume: true, Run: name, Options: o})
	if err != nil {
		return err
	}
	defer ready.Release()
	if o.DryRun {
		if !o.JSON {
			fmt.Fprintln(a.Stdout, "nothing was run (--dry-run)")
		}
		return nil
	}
	x := &Execution{Prepared: *ready}
	return x.start(ctx)
}
