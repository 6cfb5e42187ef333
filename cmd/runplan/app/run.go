package app

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/runplan/runplan/agents/script"
	"github.com/runplan/runplan/agents/solver"
	"github.com/runplan/runplan/internal/redact"
	"github.com/runplan/runplan/planparse"
	"github.com/runplan/runplan/routing"
	"github.com/runplan/runplan/runner"
	"github.com/runplan/runplan/runner/local"
)

// runOptions are the flags of run and resume. A zero value means that the configuration decides.
type runOptions struct {
	agent        string
	land         string
	maxAttempts  int
	maxTime      time.Duration
	agentTimeout time.Duration
	idleTimeout  time.Duration
	route        routeFlags
	limits       limitFlags
	sample       sampleFlags
	solver       solveOptions
	requireTests bool
	allowDirty   bool
	fresh        bool
	dryRun       bool
	tick         bool
	json         bool
	plain        bool
	accept       bool
	serve        bool
	trust        string
	noCritique   bool
}

// common are the flags that run and resume share.
func (o *runOptions) common(cmd *cobra.Command) {
	f := cmd.Flags()
	f.Var((*span)(&o.maxTime), "max-time", "stop after this time; resume goes on (exit 4)")
	f.Var((*span)(&o.agentTimeout), "agent-timeout", "time limit of one attempt")
	f.Var((*span)(&o.idleTimeout), "idle-timeout", "stop an agent that prints nothing for so long")
	f.BoolVar(&o.requireTests, "require-tests", false, "a project without tests fails instead of being skipped")
	f.BoolVar(&o.tick, "tick", false, "tick off in the plan file what was merged")
	f.StringVar(&o.trust, "trust-config", "", "digest of the repository's configuration, to trust it unasked")
	o.limits.add(cmd)
	f.BoolVar(&o.noCritique, "no-critique", false, "nobody looks at the steps of agents while they work, whatever critique.enabled says")
	f.BoolVar(&o.json, "json", false, "one JSON event a line on standard output")
	f.BoolVar(&o.plain, "plain", false, "plain lines instead of the live view")
	f.BoolVar(&o.serve, "serve", false, "serve a page to look at the run while it is at work, see runplan serve")
}

// ofAgent is the flag that chooses who works.
func (o *runOptions) ofAgent(cmd *cobra.Command) {
	cmd.Flags().StringVar(&o.agent, "agent", "", "agent to use: script, solver, or a name under [agents]")
}

// span is a flag for a time that is longer than none.
type span time.Duration

func (s *span) String() string {
	if *s == 0 {
		return ""
	}
	return time.Duration(*s).String()
}

func (s *span) Type() string { return "duration" }

func (s *span) Set(text string) error {
	d, err := time.ParseDuration(text)
	if err != nil || d <= 0 {
		return errors.New("it is a time such as 90s or 30m, above 0")
	}
	*s = span(d)
	return nil
}

func newRunCommand(a *App) *cobra.Command {
	var o runOptions
	cmd := &cobra.Command{
		Use:   "run PLAN.md",
		Short: "Run a plan",
		Long: `Run a plan, batch by batch, each in a worktree of its own, onto the branch runplan/<name>/main.

Your checkout, index, stash and branches stay as they are: the run starts from the commit
that is checked out, and what it made is merged by you, or with --land.

Ctrl-C once lets the batch at work finish its step; twice stops at once. Either way
"runplan resume" goes on.` + exitStatus(exitOK, exitFailed, exitUsage, exitHuman, exitLimit, exitCannotRun, exitLocked, exitInterrupted),
		Args: exactlyOne("the path of a plan"),
		RunE: func(cmd *cobra.Command, args []string) error { return a.runPlan(cmd.Context(), args[0], o) },
	}
	o.common(cmd)
	o.ofAgent(cmd)
	f := cmd.Flags()
	f.StringVar(&o.land, "land", "", "branch (leave the run branch), ff (fast-forward the start branch) or pr (push, open a pull request)")
	f.IntVar(&o.maxAttempts, "max-attempts", 0, "attempts at a batch before it counts as failed (else run.max_attempts; solve.max_attempts with the solver)")
	f.StringVar(&o.route.from, "from", "", "first batch to run, by number")
	f.StringVar(&o.route.to, "to", "", "last batch to run, by number")
	o.route.add(cmd)
	o.sample.add(cmd)
	f.BoolVar(&o.allowDirty, "allow-dirty", false, "run although the checkout has changes; they are not part of the run")
	f.BoolVar(&o.fresh, "new", false, "start afresh although a run of this plan is not finished")
	f.BoolVar(&o.dryRun, "dry-run", false, "show what would be run, and stop")
	return cmd
}

func newResumeCommand(a *App) *cobra.Command {
	var o runOptions
	cmd := &cobra.Command{
		Use:   "resume [PLAN.md|RUN]",
		Short: "Go on with a run that was stopped, killed, or failed",
		Long: `Go on with a run: the given one, or the newest that is not finished.

A batch is skipped only while its receipt still verifies: its commit is on the run branch
and holds the tree that the gates saw. Failed batches get a new set of attempts.` +
			exitStatus(exitOK, exitFailed, exitUsage, exitHuman, exitLimit, exitCannotRun, exitLocked, exitInterrupted),
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			name := ""
			if len(args) > 0 {
				name = args[0]
			}
			return a.resumeRun(cmd.Context(), name, o)
		},
	}
	o.common(cmd)
	o.ofAgent(cmd)
	cmd.Flags().BoolVar(&o.accept, "accept-changes", false, "go on with the plan as it is now; batches whose text changed are run again")
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
		return usage(fmt.Errorf("the script agent carries out only what a plan spells out literally: %s", prose[0]),
			"%d of the plan's tasks are prose; write them out as blocks, or name an agent that reads: --agent NAME", len(prose))
	}
	info, err := a.describe(ctx, p, path, plan, decision, agent.Name(), o)
	if err != nil {
		return err
	}
	if err := o.sample.mark(&info, plan, p.config.Sampling); err != nil {
		return err
	}
	widen(&info, how)
	others, err := o.limits.fallback(p.config.Run)
	if err != nil {
		return err
	}
	who, err := a.crewOf(p, path, agent, others)
	if err != nil {
		return err
	}
	info.Agents = who.infos(p.config.Config)
	shown := routing.PrintOptions{Path: path, Extra: slices.Concat(agentLine(agent.Name(), why), who.lines(info.OnLimit), landLine(info), o.sample.lines(info))}
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
	if err := a.preflight(ctx, p, path, info, o); err != nil {
		return err
	}
	if err := a.trustConfig(p, o.trust); err != nil {
		return err
	}
	if err := p.layout.Make(); err != nil {
		return fail(exitCannotRun, err, "runplan keeps its journal and worktrees in %s; see that it can be written to", p.layout.Root)
	}
	lock, err := a.chooseSlug(ctx, p, &info, o.fresh)
	if err != nil {
		return err
	}
	defer lock.Release()
	x := &execution{app: a, project: p, plan: plan, planFile: path, text: text, crew: who, options: o, run: uuid.NewString(), info: info, why: why}
	if !o.json {
		if err := a.showRoute(ctx, a.Stderr, p, path, plan, decision, shown); err != nil {
			return err
		}
	}
	x.decided = decision.LogLines(how.Rules)
	return x.start(ctx)
}

// describe collects what the run is about.
func (a *App) describe(ctx context.Context, p *project, path string, plan *planparse.Plan, d routing.Decision, agent string, o runOptions) (runner.Info, error) {
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
		Land:         first(o.land, p.config.Run.Land),
		ConfigDigest: p.config.Digest, LoopVersion: runner.LoopVersion, Slug: slugOf(name), Flags: o.flags(),
	}
	if info.Title == "" {
		info.Title = filepath.Base(name)
	}
	if !slices.Contains([]string{"branch", "ff", "pr"}, info.Land) {
		return info, usage(fmt.Errorf("--land %s: unknown", info.Land), "it is branch, ff or pr")
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

// landLine says what becomes of the work.
func landLine(info runner.Info) []string {
	return []string{fmt.Sprintf("Land: %s; at most %d attempts a batch", info.Land, info.MaxAttempts)}
}

// flags keeps what the command line asked for, for the journal.
func (o runOptions) flags() map[string]string {
	m := map[string]string{}
	set := func(name, v string, on bool) {
		if on {
			m[name] = v
		}
	}
	set("from", o.route.from, o.route.from != "")
	set("to", o.route.to, o.route.to != "")
	set("require-tests", "true", o.requireTests)
	set("allow-dirty", "true", o.allowDirty)
	set("tick", "true", o.tick)
	set("no-critique", "true", o.noCritique)
	set("agent-timeout", o.agentTimeout.String(), o.agentTimeout > 0)
	set("idle-timeout", o.idleTimeout.String(), o.idleTimeout > 0)
	o.solver.keep(set)
	return m
}

// take brings back the flags that a resumed run was started with; flags given now win.
func (o *runOptions) take(flags map[string]string) {
	o.requireTests = o.requireTests || flags["require-tests"] != ""
	o.tick = o.tick || flags["tick"] != ""
	o.noCritique = o.noCritique || flags["no-critique"] != ""
	o.solver.take(flags)
	if d, err := time.ParseDuration(flags["agent-timeout"]); err == nil && o.agentTimeout == 0 {
		o.agentTimeout = d
	}
	if d, err := time.ParseDuration(flags["idle-timeout"]); err == nil && o.idleTimeout == 0 {
		o.idleTimeout = d
	}
}

func first[T comparable](values ...T) T {
	var zero T
	for _, v := range values {
		if v != zero {
			return v
		}
	}
	return zero
}

// slugOf makes a name for branches of a plan's file name.
func slugOf(path string) string {
	name := strings.ToLower(strings.TrimSuffix(filepath.Base(path), filepath.Ext(path)))
	var b strings.Builder
	for _, r := range name {
		switch {
		case r >= 'a' && r <= 'z' || r >= '0' && r <= '9':
			b.WriteRune(r)
		case b.Len() > 0 && !strings.HasSuffix(b.String(), "-"):
			b.WriteByte('-')
		}
		if b.Len() >= 48 {
			break
		}
	}
	if s := strings.Trim(b.String(), "-"); s != "" {
		return s
	}
	return "plan"
}

// chooseSlug finds a name that no other work is kept under, and locks it.
func (a *App) chooseSlug(ctx context.Context, p *project, info *runner.Info, fresh bool) (*local.Lock, error) {
	if above, err := p.repo.Resolve(ctx, "refs/heads/runplan"); err != nil || above != "" {
		if err == nil {
			err = usage(errors.New("the branch runplan is in the way: runs have branches below that name, and git cannot have both"),
				"rename it: git branch -m runplan NAME")
		}
		return nil, err
	}
	base := info.Slug
	for n := 1; ; n++ {
		slug := base
		if n > 1 {
			slug = base + "-" + strconv.Itoa(n)
		}
		lock, err := local.TakeLock(p.layout.Lock(slug), time.Now())
		if err != nil {
			return nil, err
		}
		free, err := a.slugFree(ctx, p, slug, info.Plan, info.Agent, info.Base, fresh)
		if err == nil && free {
			info.Slug, info.Branch = slug, local.RunBranch(slug)
			return lock, nil
		}
		lock.Release()
		if err != nil {
			return nil, err
		}
	}
}

// slugFree tells whether a new run may use slug. A branch whose work is merged is removed to make room; one
// with work that is not merged stays, and so does the work of a run that is not finished.
func (a *App) slugFree(ctx context.Context, p *project, slug, plan, agent, head string, fresh bool) (bool, error) {
	sums, err := p.summaries(ctx, runner.Filter{Slug: slug, Latest: true})
	if err != nil {
		return false, err
	}
	if len(sums) > 0 && sums[0].Status != runner.RunDone {
		if sums[0].Plan == plan && !fresh {
			return false, usage(fmt.Errorf("run %s of %s is not finished", sums[0].Run[:8], plan), "go on with it: runplan resume; or start afresh: %s", afresh(agent, plan))
		}
		return false, nil
	}
	if len(sums) > 0 && sums[0].Plan == plan && slug == slugOf(plan) && !fresh && carriedOut(sums[0]) {
		fmt.Fprintf(a.Stderr, "run %s carried out all of %s before, up to commit %s; this run begins anew\n", sums[0].Run[:8], plan, short(sums[0].Commit))
	}
	if above, err := p.repo.Resolve(ctx, "refs/heads/runplan/"+slug); err != nil || above != "" {
		return false, err // somebody's own branch, and git has none below one that is there
	}
	ref := "refs/heads/" + local.RunBranch(slug)
	tip, err := p.repo.Resolve(ctx, ref)
	if err != nil || tip == "" {
		return err == nil, err
	}
	merged, err := p.repo.IsAncestor(ctx, tip, head)
	if err != nil || !merged {
		return false, err
	}
	if dir, err := p.checkedOut(ctx, local.RunBranch(slug)); err != nil || dir != "" {
		return false, err // who works there would have the branch moved under their hands
	}
	return true, p.dropBranch(ctx, ref, tip)
}

// checkedOut returns the folder where a branch is checked out, "" where it is nowhere.
func (p *project) checkedOut(ctx context.Context, branch string) (string, error) {
	list, err := p.repo.Run(ctx, "worktree", "list", "--porcelain")
	if err != nil {
		return "", err
	}
	var dir string
	for line := range strings.SplitSeq(list, "\n") {
		if at, ok := strings.CutPrefix(line, "worktree "); ok {
			dir = at
		}
		if line != "branch refs/heads/"+branch {
			continue
		}
		if _, err := os.Stat(dir); err == nil { // git remembers worktrees that were removed by hand
			return dir, nil
		}
	}
	return "", nil
}

// carriedOut tells whether a run left nothing of its plan to do.
func carriedOut(s runner.Summary) bool {
	return !slices.ContainsFunc(s.Batches, func(b runner.BatchSummary) bool { return runner.Status(b.State) != runner.Passed })
}

// afresh is the command that starts a run of a plan anew. One of the solver's says so: what is done here by a model of this
// machine is not for whichever CLI is installed.
func afresh(agent, plan string) string {
	if agent == solver.Name {
		return "runplan solve --new --plan " + plan
	}
	return "runplan run --new " + plan
}

// resumeRun goes on with a run of the journal.
func (a *App) resumeRun(ctx context.Context, name string, o runOptions) error {
	p, err := a.openProject(ctx)
	if err != nil {
		return err
	}
	sum, err := p.unfinished(ctx, name)
	if err != nil {
		return err
	}
	info, stored, err := p.recall(ctx, sum.Run)
	if err != nil {
		return err
	}
	if err := a.trustConfig(p, o.trust); err != nil {
		return err
	}
	lock, err := local.TakeLock(p.layout.Lock(info.Slug), time.Now())
	if err != nil {
		return err
	}
	defer lock.Release()
	if dir, err := p.checkedOut(ctx, info.Branch); err != nil {
		return err
	} else if dir != "" {
		return usage(fmt.Errorf("%s is checked out in %s, and the run moves that branch: what it adds would look deleted there", info.Branch, dir),
			"check out another branch there, such as git checkout %s; then: runplan resume", first(info.BaseBranch, "--detach"))
	}
	o.take(info.Flags)
	p.solver = o.solver
	others, err := o.limits.fallbackAgain(info, p.config.Run)
	if err != nil {
		return err
	}
	o.limits.again(&info, p.config.Run)
	file := info.Plan
	if !filepath.IsAbs(file) {
		file = filepath.Join(p.repo.Root, filepath.FromSlash(file))
	}
	plan, text, err := a.planOfResume(p, file, &info, stored, o.accept)
	if err != nil {
		return err
	}
	decision := routing.Decision{}
	for _, b := range info.Batches {
		decision.Steps = append(decision.Steps, routing.Step{Batch: b.Key, Needs: b.Needs, Skip: b.Skip})
	}
	agent, why, err := a.chooseAgent(p, info.Plan, plan, decision, first(o.agent, info.Agent))
	if err != nil {
		return err
	}
	who, err := a.crewOf(p, info.Plan, agent, others)
	if err != nil {
		return err
	}
	if missed := who.missed(); missed != "" {
		fmt.Fprintf(a.Stderr, "runplan: %s\n", redact.Clean(missed))
	}
	info.Agents = who.infos(p.config.Config)
	if info.Agent != agent.Name() {
		info.Agent, info.Models = agent.Name(), modelsOf(p.config.Config, agent.Name())
	}
	if err := p.layout.Make(); err != nil {
		return fail(exitCannotRun, err, "")
	}
	x := &execution{app: a, project: p, plan: plan, planFile: file, text: text, crew: who, options: o, run: sum.Run, info: info, why: why}
	return x.start(ctx)
}

// planOfResume returns the plan that a run goes on with: the file, while it is what the run was started
// with. A changed plan is refused, unless the user says that it is meant.
func (a *App) planOfResume(p *project, file string, info *runner.Info, stored []byte, accept bool) (*planparse.Plan, []byte, error) {
	then, err := planparse.Parse(info.Plan, stored)
	if err != nil {
		return nil, nil, err
	}
	a.hideTitles(p, then)
	plan, text, err := readPlan(file)
	if err != nil {
		fmt.Fprintf(a.Stderr, "runplan: %s is gone; the run goes on with the copy in the journal\n", info.Plan)
		return then, stored, nil
	}
	a.hideTitles(p, plan)
	if plan.Digest == info.PlanDigest {
		return plan, text, nil
	}
	if planparse.SameButTicks(stored, text) {
		return then, stored, nil // the run itself may have ticked
	}
	if err := invalid(file, plan); err != nil {
		return nil, nil, err
	}
	var changed []string
	same := len(plan.Batches) == len(info.Batches)
	for i := range info.Batches {
		b, ok := plan.Batch(info.Batches[i].Key)
		if !ok {
			same = false
			changed = append(changed, info.Batches[i].Number+" (gone)")
		} else if local.BatchDigest(b) != info.Batches[i].Digest {
			changed = append(changed, b.Number)
		}
	}
	what := "text outside of its batches"
	if len(changed) > 0 {
		what = "batch " + strings.Join(changed, ", ")
	}
	if !same {
		return nil, nil, usage(fmt.Errorf("%w: %s now has other batches (%s)", local.ErrPlanChanged, info.Plan, what), "start afresh: %s", afresh(info.Agent, info.Plan))
	}
	if !accept {
		return nil, nil, usage(fmt.Errorf("%w: %s (%s)", local.ErrPlanChanged, info.Plan, what),
			"take the change back; or go on with the new text: runplan resume --accept-changes; or start afresh: %s", afresh(info.Agent, info.Plan))
	}
	info.PlanDigest = plan.Digest
	info.Batches = slices.Clone(info.Batches)
	for i := range info.Batches {
		b, _ := plan.Batch(info.Batches[i].Key)
		info.Batches[i].Digest, info.Batches[i].Title = local.BatchDigest(b), redact.Clean(b.Title)
	}
	return plan, text, nil
}

// summaries lists runs; a project without a journal has none.
func (p *project) summaries(ctx context.Context, f runner.Filter) ([]runner.Summary, error) {
	j, err := p.openJournal(ctx)
	var fl *failure
	if errors.As(err, &fl) && fl.code == exitUsage {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer j.Close()
	return local.List(ctx, j, f)
}

// unfinished finds the run that is meant by name: an id or the beginning of one, a plan, or "".
func (p *project) unfinished(ctx context.Context, name string) (runner.Summary, error) {
	sums, err := p.summaries(ctx, runner.Filter{})
	if err != nil {
		return runner.Summary{}, err
	}
	if len(sums) == 0 {
		return runner.Summary{}, usage(fmt.Errorf("%s has no runs yet", p.repo.Root), "start one: runplan PLAN.md")
	}
	path := name
	if name != "" {
		if path, err = p.planPath(name); err != nil {
			return runner.Summary{}, err
		}
	}
	finished := false
	for _, s := range sums {
		if name != "" && !strings.HasPrefix(s.Run, name) && s.Plan != path && s.Slug != name {
			continue
		}
		if s.Status != runner.RunDone {
			return s, nil
		}
		finished = true
		if name != "" {
			break
		}
	}
	if finished {
		return runner.Summary{}, fail(exitOK, errNothingToDo, "")
	}
	return runner.Summary{}, usage(fmt.Errorf("no run is called %s", name), "runplan status --all lists them")
}

// errNothingToDo is told to the user, and is a success.
var errNothingToDo = errors.New("nothing to resume: all runs are finished")

// recall reads back what a run is about, as it was last known, and the plan it was started with.
func (p *project) recall(ctx context.Context, run string) (runner.Info, []byte, error) {
	j, err := p.openJournal(ctx)
	if err != nil {
		return runner.Info{}, nil, err
	}
	defer j.Close()
	var info *runner.Info
	for ev, err := range local.Events(ctx, j, run, 0) {
		if err != nil {
			return runner.Info{}, nil, err
		}
		if ev.Job != nil {
			info = ev.Job
		}
	}
	if info == nil {
		return runner.Info{}, nil, fail(exitCannotRun, fmt.Errorf("the journal does not tell how run %s began", run), "")
	}
	text, err := j.PlanText(ctx, run)
	return *info, text, err
}
