// Package prepare decides what a run will do before anything starts: route, agents, preflight, branch and limits. The
// commands run, resume and route, their dry runs, and the workers of other machines all call [Prepare] or [Hosted].
package prepare

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"

	"github.com/google/uuid"

	"github.com/runplan/runplan/agents/script"
	"github.com/runplan/runplan/agents/solver"
	"github.com/runplan/runplan/gates/blueprint"
	"github.com/runplan/runplan/internal/cli"
	"github.com/runplan/runplan/internal/cli/models"
	"github.com/runplan/runplan/internal/config"
	"github.com/runplan/runplan/internal/git"
	"github.com/runplan/runplan/internal/phrase"
	"github.com/runplan/runplan/internal/redact"
	"github.com/runplan/runplan/internal/ui"
	"github.com/runplan/runplan/planparse"
	"github.com/runplan/runplan/routing"
	"github.com/runplan/runplan/routing/show"
	"github.com/runplan/runplan/runner"
	"github.com/runplan/runplan/runner/local"
)

// Prepared is a run that is ready to start. Its Info goes into the journal. No other package makes a [runner.Info].
type Prepared struct {
	App     *cli.App
	Project *cli.Project // nil for a route outside of a repository
	Options RunOptions
	Plan    *planparse.Plan
	File    string // path of the plan
	Text    []byte // of the plan
	Run     string // id
	Info    runner.Info
	Agents  RunAgents
	Why     string // why this agent was chosen; "" if it was requested

	// Of a new run.
	Decision routing.Decision
	how      routing.Options
	agent    chosenAgent // without a name if none can be chosen, see noAgent
	noAgent  error

	// Of a resumed run.
	Change *local.Change // set if the plan changed since the run began
	Redo   []string      // keys of merged batches that are run again
	Found  []string      // findings about its journal
	others successors

	lock *local.Lock
}

// Request says what to prepare: a plan, or a run to continue.
type Request struct {
	Plan      string          // path
	Parsed    *planparse.Plan // of Text; nil has the file at Plan parsed
	Text      []byte
	RouteOnly bool // stop after the routing decision; it needs no repository and no agent
	Resume    bool
	Run       string // run to resume: an id, its beginning, a plan, or "" for the newest unfinished one
	Options   RunOptions
}

// Prepare checks everything that a run needs and decides what it will do. With RunOptions.DryRun it only checks;
// otherwise it takes the lock of the run, and the caller must call Release.
func Prepare(ctx context.Context, a *cli.App, r Request) (*Prepared, error) {
	x := &Prepared{App: a, Options: r.Options, File: r.Plan, Plan: r.Parsed, Text: r.Text}
	var steps []func(context.Context) error
	switch {
	case r.RouteOnly:
		steps = append(steps, x.read, x.route)
	case r.Resume:
		steps = append(steps, func(ctx context.Context) error { return x.recall(ctx, r.Run) })
		if !r.Options.DryRun {
			steps = append(steps, x.agentsAgain, x.makeLayout, x.sameEngine)
		}
	default:
		steps = append(steps, x.read, x.inRepository, x.route, x.describe)
		if !r.Options.DryRun {
			steps = append(steps, x.preflight, x.makeLayout, x.chooseSlug, x.onEngine)
		}
	}
	for _, step := range steps {
		if err := step(ctx); err != nil {
			x.Release()
			return nil, err
		}
	}
	return x, nil
}

// Release gives up the lock of the run.
func (x *Prepared) Release() {
	if x.lock != nil {
		x.lock.Release()
	}
}

// read reads the plan, if it is not parsed yet, and opens the repository, if there is one.
func (x *Prepared) read(ctx context.Context) (err error) {
	if x.Plan == nil {
		if x.Plan, x.Text, err = cli.ReadPlan(x.File); err != nil {
			return err
		}
	}
	if err := cli.Invalid(x.File, x.Plan); err != nil {
		return err
	}
	x.App.WarnOfPlan(x.File, x.Plan)
	if x.Project, err = x.App.OpenProject(ctx); err != nil && !errors.Is(err, git.ErrNotRepo) {
		return err
	}
	secrets := x.App.Redactor()
	if err == nil {
		secrets = x.Project.Redactor()
	} else {
		x.Project, x.noAgent = nil, err
	}
	cli.HideTitles(secrets, x.Plan)
	return nil
}

func (x *Prepared) inRepository(context.Context) error {
	if x.Project == nil {
		return x.noAgent
	}
	x.Project.Solver = x.Options.Solver
	return nil
}

func (x *Prepared) route(ctx context.Context) (err error) {
	x.how, err = x.routeOptions(ctx, x.Options.Route, x.Options.Agent)
	if err != nil {
		return err
	}
	if x.Decision, err = routing.Decide(x.Plan, x.how); err != nil {
		return planError(x.File, err)
	}
	if x.Project != nil {
		x.Decision, err = canMerge(ctx, x.Project, x.Plan, x.Decision, x.how)
	}
	return err
}

// describe fills in what the journal stores of a new run.
func (x *Prepared) describe(ctx context.Context) error {
	if x.noAgent != nil {
		return x.noAgent
	}
	p, o, agent := x.Project, &x.Options, x.agent.name
	if prose := ProseLines(Due(x.Plan, x.Decision)); agent == script.Name && len(prose) > 0 {
		return cli.Named("plan-in-prose",
			cli.Usage(fmt.Errorf("the script agent only executes literal plans: %s", prose[0]),
				"%d of the plan's tasks are prose; write them as literal blocks, or name an agent with a model: --agent NAME",
				len(prose)))
	}
	head, branch, err := p.Repo.Head(ctx)
	if err != nil {
		return err
	}
	name := p.PlanPath(x.File)
	x.Run = uuid.NewString()
	x.Info = runner.Info{
		Plan: name, PlanDigest: x.Plan.Digest, Title: cmp.Or(redact.Clean(x.Plan.Title), filepath.Base(name)),
		Base: head, BaseBranch: branch, Agent: agent, Land: cmp.Or(o.Land, p.Config.Run.Land),
		ConfigDigest: config.DigestOf(p.Config.Effective()), Settings: settingsOf(p.Config.Effective()),
		LoopVersion: runner.LoopVersion, Slug: cli.SlugOf(name), Flags: o.Flags(),
		Indexed: models.Indexed(ctx, p), Round: o.Round, Models: modelsOf(p.Config.Config, agent),
	}
	if !slices.Contains([]string{"branch", "ff", "pr"}, x.Info.Land) {
		return cli.Usage(fmt.Errorf("--land %s: unknown", x.Info.Land), "use branch, ff or pr")
	}
	if x.Info.MaxAttempts, err = models.Attempts(p, o.MaxAttempts, agent); err != nil {
		return err
	}
	o.Limits.apply(&x.Info, p.Config.Run)
	if err := x.reviewed(ctx); err != nil {
		return err
	}
	routed(&x.Info, x.Plan, x.Decision, p.Config.Routing, o.Route.NoSpeculate)
	x.Info.Candidates = candidates(x.Info, x.how)
	contests := p.Config.Sampling
	if agent == solver.Name && p.Config.Source("sampling.sample_on_retry") == "default" {
		contests.OnRetry = false // the number of the model's answers limits the attempts (C-17)
	}
	if err := o.Sample.mark(&x.Info, x.Plan, contests, &x.Decision); err != nil {
		return err
	}
	others, err := o.Limits.fallback(p.Config.Run)
	if err != nil {
		return err
	}
	if x.Agents, err = runAgentsOf(p, x.File, x.agent, others); err != nil {
		return err
	}
	x.Info.Agents = x.Agents.infos(p.Config.Config)
	x.Info.Keep(cli.StatedRequirements(p, name, x.Plan, x.Text))
	return nil
}

// reviewed sets how the changes of a run are reviewed, and whether a person must approve the landing.
func (x *Prepared) reviewed(ctx context.Context) error {
	on := func(how string) string {
		if how == "off" {
			return ""
		}
		return how
	}
	c := x.Project.Config.Review
	x.Info.Review, x.Info.FinalReview = on(c.Batches), on(c.Final)
	if x.Info.Review != "" {
		units, err := blueprint.Units(x.Project.Repo.Root, blueprint.Live)
		if err != nil {
			return err
		}
		x.Info.Fidelity = len(units) > 0
	}
	if x.Info.Land == "branch" {
		return nil
	}
	// A flag on the command line is enough, unless an owner has set a threshold (TRUST-13, TRUST-14).
	contract, err := x.App.Contract(ctx)
	if err != nil {
		return err
	}
	x.Info.LandBar = contract.MergeBar
	return nil
}

func (x *Prepared) makeLayout(context.Context) error {
	if err := x.Project.Layout.Make(); err != nil {
		return cli.Fail(cli.ExitCannotRun, err, "runplan keeps its journal and worktrees in %s; make it writable",
			x.Project.Layout.Root)
	}
	return nil
}

// onEngine notes the requested engine of another machine.
func (x *Prepared) onEngine(context.Context) error {
	e, err := x.App.RemoteHost()
	if err == nil && e != nil {
		x.Info.Flags[cli.EngineFlag] = e.Name
	}
	return err
}

func (x *Prepared) sameEngine(context.Context) error {
	asked, was := cmp.Or(x.App.Engine, cli.Here), cmp.Or(x.Info.Flags[cli.EngineFlag], cli.Here)
	if asked == was {
		return nil
	}
	return cli.Usage(fmt.Errorf("run %s is on engine %s, not %s", x.Run[:8], was, asked),
		"use a runplan with that engine: runplan resume --engine %s", was)
}

// Hosted prepares a run of another machine in a clone, as its worker. Info and text come from that machine, and
// agents and settings from the clone.
func Hosted(p *cli.Project, run string, info runner.Info, text []byte) (*Prepared, error) {
	x := &Prepared{App: p.App, Project: p, Run: run, Info: info, Text: text, Options: RunOptions{Plain: true}}
	x.Options.Take(info.Flags)
	p.Solver = x.Options.Solver
	var err error
	if x.Plan, err = planparse.Parse(info.Plan, text); err != nil {
		return nil, err
	}
	x.Plan.Rename(info.Keys)
	cli.HideTitles(p.Redactor(), x.Plan)
	if x.others, err = x.Options.Limits.fallbackAgain(info, p.Config.Run); err != nil {
		return nil, err
	}
	return x, x.chooseAgain()
}

// Show prints the routing plan, the forecast, and other facts about the run.
func (x *Prepared) Show(ctx context.Context, w io.Writer, verbose bool) error {
	lines := agentLine(x.agent.name, x.Why)
	if x.Run != "" {
		lines = slices.Concat(lines, x.Agents.lines(x.Info.OnLimit), landLine(x.Info), x.Options.Sample.lines())
	}
	if err := show.Print(w, x.Plan, x.Decision,
		show.PrintOptions{Path: x.File, Verbose: verbose, Extra: lines, Width: ui.ColumnsOf(w)}); err != nil {
		return err
	}
	fmt.Fprintln(w)
	for _, f := range forecastRun(ctx, x.Project, x.Plan, x.Decision) {
		if _, err := fmt.Fprintln(w, f); err != nil {
			return err
		}
	}
	return nil
}

// JSON returns the object for --json of a route or a dry run.
func (x *Prepared) JSON(ctx context.Context) any {
	var agent *string
	if x.agent.name != "" {
		agent = &x.agent.name
	}
	return struct {
		Plan    string  `json:"plan"`
		Title   string  `json:"title"`
		Digest  string  `json:"plan_digest"`
		Batches int     `json:"batches"`
		Agent   *string `json:"agent"` // null if none can be chosen
		routing.Decision
		CriticalPath []string   `json:"critical_path"`
		Forecast     []forecast `json:"forecast"`
	}{redact.Clean(x.File), redact.Clean(x.Plan.Title), x.Plan.Digest, len(x.Plan.Batches), agent, x.Decision.Cleaned(),
		x.Decision.CriticalPath(), forecastRun(ctx, x.Project, x.Plan, x.Decision)}
}

// LogLines returns the routing decision of a new run for the decision log.
func (x *Prepared) LogLines() []routing.Line {
	if len(x.Decision.Steps) == 0 {
		return nil
	}
	return x.Decision.LogLines(x.how.Rules)
}

func landLine(info runner.Info) []string {
	text := fmt.Sprintf("Land: %s; at most %s a batch", info.Land, phrase.Count(info.MaxAttempts, "attempt"))
	if info.Workers > 1 {
		text += ", and as many again after conflicts with other batches"
	}
	return []string{text}
}
