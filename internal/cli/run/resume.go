package run

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/runplan/runplan/internal/cli"
	"github.com/runplan/runplan/internal/cli/prepare"
	"github.com/runplan/runplan/internal/redact"
	"github.com/runplan/runplan/routing"
	"github.com/runplan/runplan/runner"
	"github.com/runplan/runplan/runner/local"
)

// NewResumeCommand returns the command resume.
func NewResumeCommand(a *cli.App) *cobra.Command {
	var o prepare.RunOptions
	cmd := &cobra.Command{
		Use:   "resume [PLAN.md|RUN]",
		Short: "Continue a run that was stopped, killed, or failed",
		Long: `Go on with a run: the given one, or the newest that is not finished.

A batch is skipped only while its receipt still verifies: its commit is on the run branch
and holds the tree that the gates saw. Failed batches get a new set of attempts.

A plan that was changed since is refused with a table: what became of each batch, and what
would happen to it. --accept-changes goes on as the table says.` +
			cli.ExitStatus(cli.ExitOK, cli.ExitFailed, cli.ExitUsage, cli.ExitHuman, cli.ExitLimit, cli.ExitCannotRun,
				cli.ExitLocked, cli.ExitInterrupted),
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			name := ""
			if len(args) > 0 {
				name = args[0]
			}
			return ResumeRun(cmd.Context(), a, name, o)
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
	p, err := a.OpenProject(ctx)
	if err != nil {
		return err
	}
	sum, err := unfinished(ctx, a, p, name)
	if err != nil {
		return err
	}
	if err := a.TrustConfig(p, o.Trust); err != nil {
		return err
	}
	p.Repo.AllowPrograms()
	lock, err := local.TakeLock(p.Layout.Lock(sum.Slug), time.Now())
	if err != nil {
		return err
	}
	defer lock.Release()
	found, err := a.Vouch(ctx, p, sum.Run) // before anything in the journal is trusted
	if err != nil {
		return err
	}
	for _, text := range found {
		fmt.Fprintf(a.Stderr, "runplan: %s\n", redact.Clean(text))
	}
	info, err := p.Recall(ctx, sum.Run)
	if err != nil {
		return err
	}
	if err := prepare.SameConfig(a, p, &info, o.AcceptConfig); err != nil {
		return err
	}
	if dir, err := p.CheckedOut(ctx, info.Branch); err != nil {
		return err
	} else if dir != "" {
		return cli.Named("branch-checked-out", cli.Usage(fmt.Errorf(
			"%s is checked out in %s, and the run moves that branch: new files would look deleted there", info.Branch, dir),
			"check out another branch there, such as git checkout %s; then: runplan resume %s",
			cmp.Or(info.BaseBranch, "--detach"), sum.Run[:8]))
	}
	o.Take(info.Flags)
	p.Solver = o.Solver
	others, err := o.Limits.FallbackAgain(info, p.Config.Run)
	if err != nil {
		return err
	}
	o.Limits.Again(&info, p.Config.Run)
	file := info.Plan
	if !filepath.IsAbs(file) {
		file = filepath.Join(p.Repo.Root, filepath.FromSlash(file))
	}
	plan, text, change, err := planOfResume(ctx, a, p, file, sum, &info, &o)
	if err != nil {
		return err
	}
	redo, err := redoMerged(&o, plan, sum)
	if err != nil {
		return err
	}
	if o.DryRun {
		if !o.JSON {
			fmt.Fprintln(a.Stdout, "nothing was run (--dry-run)")
		}
		return nil
	}
	decision := routing.Decision{}
	for _, b := range info.Batches {
		if _, ok := plan.Batch(b.Key); !ok {
			continue // removed from the plan
		}
		decision.Steps = append(decision.Steps, routing.Step{Batch: b.Key, Needs: b.Needs, Skip: b.Skip})
	}
	agent, why, err := prepare.ChooseAgent(a, p, info.Plan, plan, decision, cmp.Or(o.Agent, info.Agent))
	if err != nil {
		return err
	}
	who, err := prepare.RunAgentsOf(a, p, info.Plan, agent, others)
	if err != nil {
		return err
	}
	if missed := who.Missed(); missed != "" {
		fmt.Fprintf(a.Stderr, "runplan: %s\n", redact.Clean(missed))
	}
	info.Agents = who.Infos(p.Config.Config)
	if info.Agent != agent.Name() {
		info.Agent, info.Models = agent.Name(), prepare.ModelsOf(p.Config.Config, agent.Name())
	}
	if err := p.Layout.Make(); err != nil {
		return cli.Fail(cli.ExitCannotRun, err, "")
	}
	x := &Execution{App: a, Project: p, plan: plan, planFile: file, text: text, agents: who, options: o, run: sum.Run,
		info: info, why: why, found: found, change: change, redo: redo}
	return x.start(ctx)
}

// unfinished finds the run that name means: an id, the beginning of an id, a plan, or "". A run whose last event was
// not written by runplan counts as unfinished, even if that event says otherwise.
func unfinished(ctx context.Context, a *cli.App, p *cli.Project, name string) (runner.Summary, error) {
	sums, err := p.Summaries(ctx, runner.Filter{})
	if err != nil {
		if s, ok := a.DamagedRun(ctx, p, name); ok {
			return s, nil
		}
		return runner.Summary{}, err
	}
	if len(sums) == 0 {
		return runner.Summary{}, p.NoRuns()
	}
	path := name
	if name != "" {
		if path, err = p.PlanPath(name); err != nil {
			return runner.Summary{}, err
		}
	}
	finished := false
	for _, s := range sums {
		if !cli.Selects(name, s.Run, s.Slug, s.Plan) && s.Plan != path {
			continue
		}
		if !s.Status.Over() || a.ForgedEnd(ctx, p, s.Run) {
			return s, nil
		}
		if s.Status == runner.RunDiscarded && name != "" {
			return s, cli.Usage(fmt.Errorf("run %s is not resumed: %s", s.Run[:8], redact.Clean(s.Reason)), "start afresh: %s",
				prepare.Afresh(s.Agent, s.Plan))
		}
		finished = true
		if name != "" {
			break
		}
	}
	if finished {
		return runner.Summary{}, cli.Fail(cli.ExitOK, errNothingToDo, "")
	}
	return runner.Summary{}, cli.NoSuchRun(name)
}

// errNothingToDo is shown to the user and counts as success.
var errNothingToDo = errors.New("nothing to resume: all runs are finished")
