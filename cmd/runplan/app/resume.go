package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/runplan/runplan/internal/redact"
	"github.com/runplan/runplan/routing"
	"github.com/runplan/runplan/runner"
	"github.com/runplan/runplan/runner/local"
)

func newResumeCommand(a *App) *cobra.Command {
	var o runOptions
	cmd := &cobra.Command{
		Use:   "resume [PLAN.md|RUN]",
		Short: "Continue a run that was stopped, killed, or failed",
		Long: `Go on with a run: the given one, or the newest that is not finished.

A batch is skipped only while its receipt still verifies: its commit is on the run branch
and holds the tree that the gates saw. Failed batches get a new set of attempts.

A plan that was changed since is refused with a table: what became of each batch, and what
would happen to it. --accept-changes goes on as the table says.` +
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
	f := cmd.Flags()
	f.BoolVar(&o.accept, "accept-changes", false,
		"continue with the changed plan; merged batches stay merged, new ones run, removed ones do not")
	f.StringSliceVar(&o.redo, "redo", nil, "numbers of merged batches to run again, separated by commas")
	f.BoolVar(&o.dryRun, "dry-run", false, "show the effect of a changed plan on each batch, and stop")
	cmd.Flags().BoolVar(&o.acceptConfig, "accept-config", false,
		"continue with the configuration as it is now, although it changed after the run started")
	return cmd
}

// resumeRun resumes a run of the journal.
func (a *App) resumeRun(ctx context.Context, name string, o runOptions) error {
	p, err := a.openProject(ctx)
	if err != nil {
		return err
	}
	sum, err := a.unfinished(ctx, p, name)
	if err != nil {
		return err
	}
	if err := a.trustConfig(p, o.trust); err != nil {
		return err
	}
	p.repo.AllowPrograms()
	lock, err := local.TakeLock(p.layout.Lock(sum.Slug), time.Now())
	if err != nil {
		return err
	}
	defer lock.Release()
	found, err := a.vouch(ctx, p, sum.Run) // before anything in the journal is trusted
	if err != nil {
		return err
	}
	for _, text := range found {
		fmt.Fprintf(a.Stderr, "runplan: %s\n", redact.Clean(text))
	}
	info, err := p.recall(ctx, sum.Run)
	if err != nil {
		return err
	}
	if err := a.sameConfig(p, &info, o.acceptConfig); err != nil {
		return err
	}
	if dir, err := p.checkedOut(ctx, info.Branch); err != nil {
		return err
	} else if dir != "" {
		return usage(fmt.Errorf("%s is checked out in %s, and the run moves that branch: new files would look deleted there",
			info.Branch, dir),
			"check out another branch there, such as git checkout %s; then: runplan resume %s",
			cmp.Or(info.BaseBranch, "--detach"), sum.Run[:8])
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
	plan, text, change, err := a.planOfResume(ctx, p, file, sum, &info, &o)
	if err != nil {
		return err
	}
	redo, err := redoMerged(&o, plan, sum)
	if err != nil {
		return err
	}
	if o.dryRun {
		if !o.json {
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
	agent, why, err := a.chooseAgent(p, info.Plan, plan, decision, cmp.Or(o.agent, info.Agent))
	if err != nil {
		return err
	}
	who, err := a.runAgentsOf(p, info.Plan, agent, others)
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
	x := &execution{app: a, project: p, plan: plan, planFile: file, text: text, agents: who, options: o, run: sum.Run,
		info: info, why: why, found: found, change: change, redo: redo}
	return x.start(ctx)
}

// summaries lists the runs. A project without a journal has none.
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

// unfinished finds the run that name means: an id, the beginning of an id, a plan, or "". A run whose last event was
// not written by runplan counts as unfinished, even if that event says otherwise.
func (a *App) unfinished(ctx context.Context, p *project, name string) (runner.Summary, error) {
	sums, err := p.summaries(ctx, runner.Filter{})
	if err != nil {
		if s, ok := a.damagedRun(ctx, p, name); ok {
			return s, nil
		}
		return runner.Summary{}, err
	}
	if len(sums) == 0 {
		return runner.Summary{}, usage(fmt.Errorf("%s has no runs", p.repo.Root), "start one: runplan PLAN.md")
	}
	path := name
	if name != "" {
		if path, err = p.planPath(name); err != nil {
			return runner.Summary{}, err
		}
	}
	finished := false
	for _, s := range sums {
		if !selects(name, s.Run, s.Slug, s.Plan) && s.Plan != path {
			continue
		}
		if !s.Status.Over() || a.forgedEnd(ctx, p, s.Run) {
			return s, nil
		}
		if s.Status == runner.RunDiscarded && name != "" {
			return s, usage(fmt.Errorf("run %s is not resumed: %s", s.Run[:8], redact.Clean(s.Reason)), "start afresh: %s",
				afresh(s.Agent, s.Plan))
		}
		finished = true
		if name != "" {
			break
		}
	}
	if finished {
		return runner.Summary{}, fail(exitOK, errNothingToDo, "")
	}
	return runner.Summary{}, usage(fmt.Errorf("run %s not found", name), "runplan status --all lists them")
}

// errNothingToDo is shown to the user and counts as success.
var errNothingToDo = errors.New("nothing to resume: all runs are finished")

// recall reads the last known [runner.Info] of a run.
func (p *project) recall(ctx context.Context, run string) (runner.Info, error) {
	j, err := p.openJournal(ctx)
	if err != nil {
		return runner.Info{}, err
	}
	defer j.Close()
	var info *runner.Info
	for ev, err := range local.Events(ctx, j, run, 0) {
		if err != nil {
			return runner.Info{}, err
		}
		if ev.Job != nil {
			info = ev.Job
		}
	}
	if info == nil {
		return runner.Info{}, fail(exitCannotRun, fmt.Errorf("the journal does not contain the start of run %s", run), "")
	}
	return *info, nil
}
