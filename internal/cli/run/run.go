// Package run holds the commands run, resume and solve, and executes runs. Package prepare has decided everything by
// then. This package starts the driver, shows the events on the terminal, passes on interrupts, and turns the end of
// the run into an exit status.
package run

import (
	"context"
	"fmt"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/runplan/runplan/agents"
	"github.com/runplan/runplan/internal/cli"
	"github.com/runplan/runplan/internal/cli/prepare"
	"github.com/runplan/runplan/internal/proc"
	"github.com/runplan/runplan/internal/ui"
	"github.com/runplan/runplan/routing"
	"github.com/runplan/runplan/runner"
	"github.com/runplan/runplan/runner/notify"
	"github.com/runplan/runplan/runner/report"
)

// NewRunCommand returns the command run.
func NewRunCommand(a *cli.App) *cobra.Command {
	var o prepare.RunOptions
	cmd := a.Command(cli.With{Exits: "0 1 2 3 4 5 6 130", Trust: true}, &cobra.Command{
		Use:   "run PLAN.md",
		Short: "Run a plan",
		Long: `Run a plan, batch by batch, each in its own worktree, onto the branch runplan/<name>/main.

Your checkout, index, stash and branches do not change: the run starts from the commit
that is checked out, and you merge its result, or --land does.

The first Ctrl-C lets running work end; the second stops at once. Either way
"runplan resume" continues.`,
		Args: cli.ExactlyOne("the path of a plan"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return RunPlan(cmd.Context(), a, prepare.Request{Plan: args[0], Options: o})
		},
	})
	o.Common(cmd)
	o.OfNew(cmd)
	o.OfAgent(cmd)
	f := cmd.Flags()
	f.IntVar(&o.MaxAttempts, "max-attempts", 0,
		"attempts at a batch before it fails (default run.max_attempts; with the solver solve.max_attempts)")
	f.BoolVar(&o.Fresh, "new", false, "start a new run although a run of this plan is not finished")
	return cmd
}

// RunPlan starts a run.
func RunPlan(ctx context.Context, a *cli.App, r prepare.Request) error {
	ready, err := prepare.Prepare(ctx, a, r)
	if err != nil {
		return err
	}
	defer ready.Release()
	switch o := r.Options; {
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

// openNotifier starts the notifications of a run. It returns nil if none are configured. Failed notifications are
// shown as notes; with --json they go to standard error, because standard output carries only events.
func (x *Execution) openNotifier(reaper *proc.Reaper, v *view) *notify.Notifier {
	if !x.Project.Notifies() {
		return nil
	}
	note := func(text string) {
		if x.Options.JSON {
			fmt.Fprintf(x.App.Stderr, "runplan: %s\n", ui.Sanitize(text))
			return
		}
		v.Note(text)
	}
	return notify.New(notify.Options{
		Hook: x.Project.Hook(reaper, note), Events: x.Project.Config.Notify.Events, Info: x.Info,
		Repository: filepath.Base(x.Project.Repo.Root),
	})
}

// decisions writes the decision log during a run (ROUTE-10).
type decisions struct {
	report.Decisions
	log *routing.Log
}

// openDecisions opens the log. For a new run it first writes the routing decision.
func (x *Execution) openDecisions() (*decisions, error) {
	log, err := routing.OpenLog(x.Project.Layout.DecisionLog(), time.Now)
	if err != nil {
		return nil, err
	}
	if err = log.Begin(x.Run, x.Info.Plan); err == nil {
		err = log.Add(x.LogLines()...)
	}
	if err != nil {
		log.Close()
	}
	return &decisions{log: log}, err
}

// Recall replays an event of an earlier session, which the log already has.
func (d *decisions) Recall(ev runner.Event) { d.Lines(ev) }

// Event logs the decisions of an event. It ignores write errors, because the log is for people and the journal is
// complete.
func (d *decisions) Event(ev runner.Event) { _ = d.log.Add(d.Lines(ev)...) }

func (d *decisions) Close() { d.log.Close() }

// remoteAgent is the name of an agent that runs on another machine.
type remoteAgent string

// Name implements [agents.Agent].
func (n remoteAgent) Name() string { return string(n) }

// Run implements [agents.Agent]. It always fails, because this agent does not run here.
func (n remoteAgent) Run(context.Context, agents.Task, agents.Observer) (agents.Result, error) {
	return agents.Result{}, fmt.Errorf("agent %s runs on another machine", string(n))
}
