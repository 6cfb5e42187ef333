package run

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/runplan/runplan/internal/cli"
	"github.com/runplan/runplan/internal/cli/prepare"
	"github.com/runplan/runplan/internal/git"
	"github.com/runplan/runplan/internal/store"
)

// NewResumeCommand returns the command resume.
func NewResumeCommand(a *cli.App) *cobra.Command {
	var o prepare.RunOptions
	cmd := a.Command(cli.With{Exits: "0 1 2 3 4 5 6 130", Trust: true}, &cobra.Command{
		Use:   "resume [PLAN.md|RUN]",
		Short: "Continue a run that was stopped, killed, or failed",
		Long: `Continue a run: the given one, or the newest unfinished one.

A batch is skipped only if its receipt still verifies: its commit is on the run branch
and has the tree that the gates checked. Failed batches get a new set of attempts.

If the plan has changed, the command refuses and shows a table: the change of each batch, and what
would happen to it. --accept-changes continues according to the table.`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return ResumeRun(cmd.Context(), a, strings.Join(args, ""), o)
		},
	})
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

// lost explains what remains of a run whose journal is missing or not authentic.
func (x *Execution) lost(ctx context.Context, err error) error {
	gone := errors.Is(err, store.ErrGone) || errors.Is(err, store.ErrReplaced) || errors.Is(err, store.ErrCut)
	if !gone && !errors.Is(err, store.ErrForged) {
		return err
	}
	ctx = context.WithoutCancel(ctx)
	l := x.Project.Layout
	kept := []string{"nothing more was merged; still there: branch " + x.Info.Branch}
	if tip, rerr := x.Project.Repo.Resolve(ctx, "refs/heads/"+x.Info.Branch); rerr == nil && tip != "" {
		kept[0] += " at " + git.Short(tip)
	}
	kept = append(kept, "the worktrees in "+cli.Rel(l.Worktrees()))
	err = fmt.Errorf("run %s stopped: %w", x.Run[:8], err)
	if !gone {
		return cli.Fail(cli.ExitCannotRun, err, "%s. To continue: runplan resume %s, which sets unverified events aside",
			strings.Join(kept, " and "), x.Run[:8])
	}
	save := filepath.Join(l.Logs(x.Run), "journal.sqlite")
	if serr := x.journal.Save(ctx, save); serr != nil || !x.whole(ctx, save) {
		return cli.Fail(cli.ExitCannotRun, err,
			"%s. Restore a copy of the journal, or start a new run: runplan run --new %s", strings.Join(kept, " and "),
			x.Project.PlanWord(x.Info.Plan))
	}
	kept = append(kept, "a copy of the journal in "+cli.Rel(save))
	journal := cli.Word(cli.Rel(l.Journal()))
	return cli.Fail(cli.ExitCannotRun, err, "%s. To continue: rm -f %s*; cp %s %s; runplan resume %s",
		strings.Join(kept, ", "),
		journal, cli.Word(cli.Rel(save)), journal, x.Run[:8])
}

// whole reports whether a copy of the journal contains all events of the run.
func (x *Execution) whole(ctx context.Context, path string) bool {
	j, err := store.OpenExistingJournal(ctx, path)
	if err != nil {
		return false
	}
	defer j.Close()
	j.Seal(x.journal.Signs())
	c, err := j.Verify(ctx, x.Run)
	return err == nil && c.Bad == nil && c.Missing == 0 && c.Rows > 0
}
