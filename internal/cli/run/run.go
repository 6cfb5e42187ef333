// Package run holds the commands run, resume and solve, and carries runs out.
package run

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/runplan/runplan/agents/script"
	"github.com/runplan/runplan/internal/cli"
	"github.com/runplan/runplan/internal/cli/models"
	"github.com/runplan/runplan/internal/cli/prepare"
	"github.com/runplan/runplan/internal/cli/watch"
	"github.com/runplan/runplan/internal/config"
	"github.com/runplan/runplan/internal/phrase"
	"github.com/runplan/runplan/internal/redact"
	"github.com/runplan/runplan/planparse"
	"github.com/runplan/runplan/routing"
	"github.com/runplan/runplan/runner"
)

// NewRunCommand returns the command run.
func NewRunCommand(a *cli.App) *cobra.Command {
	var o prepare.RunOptions
	cmd := &cobra.Command{
		Use:   "run PLAN.md",
		Short: "Run a plan",
		Long: `Run a plan, batch by batch, each in a worktree of its own, onto the branch runplan/<name>/main.

Your checkout, index, stash and branches stay as they are: the run starts from the commit
that is checked out, and what it made is merged by you, or with --land.

Ctrl-C once lets the current batch finish its step; twice stops at once. Either way
"runplan resume" goes on.` + cli.ExitStatus(cli.ExitOK, cli.ExitFailed, cli.ExitUsage, cli.ExitHuman, cli.ExitLimit, cli.ExitCannotRun, cli.ExitLocked, cli.ExitInterrupted),
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
	f.StringVar(&o.Route.From, "from", "", "first batch to run, by number")
	f.StringVar(&o.Route.To, "to", "", "last batch to run, by number")
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
	plan, text, err := cli.ReadPlan(path)
	if err != nil {
		return err
	}
	if err := cli.Invalid(path, plan); err != nil {
		return err
	}
	a.WarnOfPlan(path, plan)
	p, err := a.OpenProject(ctx)
	if err != nil {
		return err
	}
	a.HideTitles(p, plan)
	p.Solver = o.Solver
	how, _, _, err := prepare.RouteOptions(ctx, a, p, path, plan, o.Route, o.Agent)
	if err != nil {
		return err
	}
	decision, err := routing.Decide(plan, how)
	if err != nil {
		return prepare.PlanError(path, err)
	}
	if decision, err = prepare.CanMerge(ctx, a, p, plan, decision, how); err != nil {
		return err
	}
	agent, why, err := prepare.ChooseAgent(a, p, path, plan, decision, o.Agent)
	if err != nil {
		return err
	}
	if prose := prepare.ProseLines(plan, decision); agent.Name() == script.Name && len(prose) > 0 {
		return cli.Named("plan-in-prose",
			cli.Usage(fmt.Errorf("the script agent only executes what a plan spells out literally: %s", prose[0]),
				"%d of the plan's tasks are prose; write them out as blocks, or name an agent that reads: --agent NAME", len(prose)))
	}
	info, err := describe(ctx, a, p, path, plan, decision, agent.Name(), o)
	if err != nil {
		return err
	}
	info.Candidates = prepare.Candidates(info, how)
	if err := o.Sample.Mark(&info, plan, p.Config.Sampling, &decision); err != nil {
		return err
	}
	others, err := o.Limits.Fallback(p.Config.Run)
	if err != nil {
		return err
	}
	who, err := prepare.RunAgentsOf(a, p, path, agent, others)
	if err != nil {
		return err
	}
	info.Agents = who.Infos(p.Config.Config)
	info.Keep(watch.StatedRequirements(p, a, info.Plan, plan, text))
	shown := routing.PrintOptions{Path: path,
		Extra: slices.Concat(prepare.AgentLine(agent.Name(), why), who.Lines(info.OnLimit), landLine(info),
			o.Sample.Lines(info))}
	if o.DryRun && o.JSON {
		return cli.AsJSON(a.Stdout,
			prepare.RouteJSON(path, plan, decision, agent.Name(), prepare.ForecastRun(ctx, a, p, plan, decision, "")))
	}
	if o.DryRun {
		if err := prepare.ShowRoute(ctx, a, a.Stdout, p, path, plan, decision, shown); err != nil {
			return err
		}
		fmt.Fprintln(a.Stdout, "nothing was run (--dry-run)")
		return nil
	}
	p.Repo.AllowPrograms()
	if err := prepare.Preflight(ctx, a, p, path, info, o); err != nil {
		return err
	}
	if err := a.TrustConfig(p, o.Trust); err != nil {
		return err
	}
	if err := p.Layout.Make(); err != nil {
		return cli.Fail(cli.ExitCannotRun, err, "runplan keeps its journal and worktrees in %s; make it writable",
			p.Layout.Root)
	}
	lock, err := prepare.ChooseSlug(ctx, a, p, &info, o.Fresh)
	if err != nil {
		return err
	}
	defer lock.Release()
	x := &Execution{App: a, Project: p, plan: plan, planFile: path, text: text, agents: who, options: o,
		run: uuid.NewString(), info: info, why: why}
	if !o.JSON {
		if err := prepare.ShowRoute(ctx, a, a.Stderr, p, path, plan, decision, shown); err != nil {
			return err
		}
	}
	x.decided = decision.LogLines(how.Rules)
	return x.start(ctx)
}

// describe builds the [runner.Info] of a new run.
func describe(ctx context.Context, a *cli.App, p *cli.Project, path string, plan *planparse.Plan, d routing.Decision,
	agent string, o prepare.RunOptions) (runner.Info, error) {
	head, branch, err := p.Repo.Head(ctx)
	if err != nil {
		return runner.Info{}, cli.Usage(err, "make a first commit: git add -A && git commit -m start")
	}
	name, err := p.PlanPath(path)
	if err != nil {
		return runner.Info{}, err
	}
	info := runner.Info{
		Plan: name, PlanDigest: plan.Digest, Title: redact.Clean(plan.Title), Base: head, BaseBranch: branch, Agent: agent,
		Land:         cmp.Or(o.Land, p.Config.Run.Land),
		ConfigDigest: config.DigestOf(p.Config.Effective()), Settings: prepare.SettingsOf(p.Config.Effective()),
		LoopVersion: runner.LoopVersion, Slug: cli.SlugOf(name), Flags: o.Flags(),
		Indexed: models.Indexed(ctx, p), Round: o.Round,
	}
	if info.Title == "" {
		info.Title = filepath.Base(name)
	}
	if !slices.Contains([]string{"branch", "ff", "pr"}, info.Land) {
		return info, cli.Usage(fmt.Errorf("--land %s: unknown", info.Land), "use branch, ff or pr")
	}
	if info.MaxAttempts, err = models.Attempts(p, o.MaxAttempts, agent); err != nil {
		return info, err
	}
	o.Limits.Apply(&info, p.Config.Run)
	if err := reviewed(ctx, a, p, &info); err != nil {
		return info, err
	}
	info.Models = prepare.ModelsOf(p.Config.Config, agent)
	prepare.Routed(&info, plan, d, p.Config.Routing, o.Route.NoSpeculate)
	return info, nil
}

// landLine describes where the work will land.
func landLine(info runner.Info) []string {
	text := fmt.Sprintf("Land: %s; at most %s a batch", info.Land, phrase.Count(info.MaxAttempts, "attempt"))
	if info.Workers > 1 {
		text += ", and as many again after conflicts with other batches"
	}
	return []string{text}
}
