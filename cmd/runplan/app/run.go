package app

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/runplan/runplan/agents/script"
	"github.com/runplan/runplan/internal/config"
	"github.com/runplan/runplan/internal/phrase"
	"github.com/runplan/runplan/internal/redact"
	"github.com/runplan/runplan/planparse"
	"github.com/runplan/runplan/routing"
	"github.com/runplan/runplan/runner"
)

func newRunCommand(a *App) *cobra.Command {
	var o runOptions
	cmd := &cobra.Command{
		Use:   "run PLAN.md",
		Short: "Run a plan",
		Long: `Run a plan, batch by batch, each in a worktree of its own, onto the branch runplan/<name>/main.

Your checkout, index, stash and branches stay as they are: the run starts from the commit
that is checked out, and what it made is merged by you, or with --land.

Ctrl-C once lets the current batch finish its step; twice stops at once. Either way
"runplan resume" goes on.` + exitStatus(exitOK, exitFailed, exitUsage, exitHuman, exitLimit, exitCannotRun, exitLocked, exitInterrupted),
		Args: exactlyOne("the path of a plan"),
		RunE: func(cmd *cobra.Command, args []string) error { return a.runPlan(cmd.Context(), args[0], o) },
	}
	o.common(cmd)
	o.ofAgent(cmd)
	f := cmd.Flags()
	f.StringVar(&o.land, "land", "",
		"branch (leave the run branch), ff (fast-forward the start branch) or pr (push, open a pull request)")
	f.IntVar(&o.maxAttempts, "max-attempts", 0,
		"attempts at a batch before it fails (default run.max_attempts; with the solver solve.max_attempts)")
	f.StringVar(&o.route.from, "from", "", "first batch to run, by number")
	f.StringVar(&o.route.to, "to", "", "last batch to run, by number")
	o.route.add(cmd)
	o.sample.add(cmd)
	f.BoolVar(&o.allowDirty, "allow-dirty", false,
		"run with uncommitted changes in the checkout; they are not part of the run")
	f.BoolVar(&o.fresh, "new", false, "start a new run although a run of this plan is not finished")
	f.BoolVar(&o.dryRun, "dry-run", false, "show what would run, and stop")
	return cmd
}

// runPlan starts a run.
func (a *App) runPlan(ctx context.Context, path string, o runOptions) error {
	plan, text, err := readPlan(path)
	if err != nil {
		return err
	}
	if err := invalid(path, plan); err != nil {
		return err
	}
	a.warnOfPlan(path, plan)
	p, err := a.openProject(ctx)
	if err != nil {
		return err
	}
	a.hideTitles(p, plan)
	p.solver = o.solver
	how, _, _, err := a.routeOptions(ctx, p, path, plan, o.route, o.agent)
	if err != nil {
		return err
	}
	decision, err := routing.Decide(plan, how)
	if err != nil {
		return planError(path, err)
	}
	if decision, err = a.canMerge(ctx, p, plan, decision, how); err != nil {
		return err
	}
	agent, why, err := a.chooseAgent(p, path, plan, decision, o.agent)
	if err != nil {
		return err
	}
	if prose := proseLines(plan, decision); agent.Name() == script.Name && len(prose) > 0 {
		return usage(fmt.Errorf("the script agent only executes what a plan spells out literally: %s", prose[0]),
			"%d of the plan's tasks are prose; write them out as blocks, or name an agent that reads: --agent NAME", len(prose))
	}
	info, err := a.describe(ctx, p, path, plan, decision, agent.Name(), o)
	if err != nil {
		return err
	}
	info.Candidates = candidates(info, how)
	if err := o.sample.mark(&info, plan, p.config.Sampling, &decision); err != nil {
		return err
	}
	others, err := o.limits.fallback(p.config.Run)
	if err != nil {
		return err
	}
	who, err := a.runAgentsOf(p, path, agent, others)
	if err != nil {
		return err
	}
	info.Agents = who.infos(p.config.Config)
	info.Keep(p.requirements(a, info.Plan, plan, text))
	shown := routing.PrintOptions{Path: path,
		Extra: slices.Concat(agentLine(agent.Name(), why), who.lines(info.OnLimit), landLine(info), o.sample.lines(info))}
	if o.dryRun && o.json {
		return asJSON(a.Stdout, routeJSON(path, plan, decision, agent.Name(), a.forecast(ctx, p, plan, decision, "")))
	}
	if o.dryRun {
		if err := a.showRoute(ctx, a.Stdout, p, path, plan, decision, shown); err != nil {
			return err
		}
		fmt.Fprintln(a.Stdout, "nothing was run (--dry-run)")
		return nil
	}
	p.repo.AllowPrograms()
	if err := a.preflight(ctx, p, path, info, o); err != nil {
		return err
	}
	if err := a.trustConfig(p, o.trust); err != nil {
		return err
	}
	if err := p.layout.Make(); err != nil {
		return fail(exitCannotRun, err, "runplan keeps its journal and worktrees in %s; make it writable", p.layout.Root)
	}
	lock, err := a.chooseSlug(ctx, p, &info, o.fresh)
	if err != nil {
		return err
	}
	defer lock.Release()
	x := &execution{app: a, project: p, plan: plan, planFile: path, text: text, agents: who, options: o,
		run: uuid.NewString(), info: info, why: why}
	if !o.json {
		if err := a.showRoute(ctx, a.Stderr, p, path, plan, decision, shown); err != nil {
			return err
		}
	}
	x.decided = decision.LogLines(how.Rules)
	return x.start(ctx)
}

// describe builds the [runner.Info] of a new run.
func (a *App) describe(ctx context.Context, p *project, path string, plan *planparse.Plan, d routing.Decision,
	agent string, o runOptions) (runner.Info, error) {
	head, branch, err := p.repo.Head(ctx)
	if err != nil {
		return runner.Info{}, usage(err, "make a first commit: git add -A && git commit -m start")
	}
	name, err := p.planPath(path)
	if err != nil {
		return runner.Info{}, err
	}
	info := runner.Info{
		Plan: name, PlanDigest: plan.Digest, Title: redact.Clean(plan.Title), Base: head, BaseBranch: branch, Agent: agent,
		Land:         cmp.Or(o.land, p.config.Run.Land),
		ConfigDigest: config.DigestOf(p.config.Effective()), Settings: settingsOf(p.config.Effective()),
		LoopVersion: runner.LoopVersion, Slug: slugOf(name), Flags: o.flags(),
		Indexed: p.indexed(ctx), Round: o.round,
	}
	if info.Title == "" {
		info.Title = filepath.Base(name)
	}
	if !slices.Contains([]string{"branch", "ff", "pr"}, info.Land) {
		return info, usage(fmt.Errorf("--land %s: unknown", info.Land), "use branch, ff or pr")
	}
	if info.MaxAttempts, err = p.attempts(o.maxAttempts, agent); err != nil {
		return info, err
	}
	o.limits.apply(&info, p.config.Run)
	if err := a.reviewed(ctx, p, &info); err != nil {
		return info, err
	}
	info.Models = modelsOf(p.config.Config, agent)
	routed(&info, plan, d, p.config.Routing, o.route.noSpeculate)
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
