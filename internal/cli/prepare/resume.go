package prepare

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/runplan/runplan/internal/cli"
	"github.com/runplan/runplan/internal/redact"
	"github.com/runplan/runplan/planparse"
	"github.com/runplan/runplan/runner"
	"github.com/runplan/runplan/runner/local"
)

// recall finds and locks the run to resume, and reads its info and its plan. Present flags and settings change only
// the parts of the info that may change.
func (x *Prepared) recall(ctx context.Context, name string) (err error) {
	a, o := x.App, &x.Options
	if x.Project, err = a.OpenProject(ctx); err != nil {
		return err
	}
	p := x.Project
	sum, err := unfinished(ctx, a, p, name)
	if err != nil {
		return err
	}
	x.Run = sum.Run
	if err := a.TrustConfig(p, o.Trust); err != nil {
		return err
	}
	p.Repo.AllowPrograms()
	if x.lock, err = local.TakeLock(p.Layout.Lock(sum.Slug), time.Now()); err != nil {
		return err
	}
	if x.Found, err = a.Vouch(ctx, p, sum.Run); err != nil { // before anything in the journal is trusted
		return err
	}
	for _, text := range x.Found {
		fmt.Fprintf(a.Stderr, "runplan: %s\n", redact.Clean(text))
	}
	if x.Info, err = p.Recall(ctx, sum.Run); err != nil {
		return err
	}
	if err := sameConfig(a, p, &x.Info, o.AcceptConfig); err != nil {
		return err
	}
	if dir, err := p.CheckedOut(ctx, x.Info.Branch); err != nil {
		return err
	} else if dir != "" {
		return cli.Named("branch-checked-out", cli.Usage(fmt.Errorf(
			"%s is checked out in %s, but the run moves that branch: new files would look deleted there", x.Info.Branch, dir),
			"check out another branch there, such as git checkout %s; then: runplan resume %s",
			cmp.Or(x.Info.BaseBranch, "--detach"), sum.Run[:8]))
	}
	o.Take(x.Info.Flags)
	p.Solver = o.Solver
	if x.others, err = o.Limits.fallbackAgain(x.Info, p.Config.Run); err != nil {
		return err
	}
	o.Limits.again(&x.Info, p.Config.Run)
	if x.File = x.Info.Plan; !filepath.IsAbs(x.File) {
		x.File = filepath.Join(p.Repo.Root, filepath.FromSlash(x.File))
	}
	if err := x.recallPlan(ctx, sum); err != nil {
		return err
	}
	x.Redo, err = redoMerged(o, x.Plan, sum)
	return err
}

// agentsAgain chooses the agents of a resumed run and reports missing ones.
func (x *Prepared) agentsAgain(context.Context) error {
	if err := x.chooseAgain(); err != nil {
		return err
	}
	if missed := x.Agents.missed(); missed != "" {
		fmt.Fprintf(x.App.Stderr, "runplan: %s\n", redact.Clean(missed))
	}
	settings, agent := x.Project.Config.Config, x.agent.Name()
	x.Info.Agents = x.Agents.infos(settings)
	if x.Info.Agent != agent {
		x.Info.Agent, x.Info.Models = agent, modelsOf(settings, agent)
	}
	return nil
}

// chooseAgain chooses the agents for a run that has begun.
func (x *Prepared) chooseAgain() (err error) {
	x.agent, x.Why, err = chooseAgent(x.App, x.Project, x.Info.Plan, dueAgain(x.Plan, x.Info.Batches),
		cmp.Or(x.Options.Agent, x.Info.Agent))
	if err != nil {
		return err
	}
	x.Agents, err = runAgentsOf(x.App, x.Project, x.Info.Plan, x.agent, x.others)
	return err
}

// dueAgain returns the batches of the plan that a run has and does not skip.
func dueAgain(plan *planparse.Plan, batches []runner.BatchInfo) []*planparse.Batch {
	var out []*planparse.Batch
	for _, b := range batches {
		if pb, ok := plan.Batch(b.Key); ok && b.Skip == "" {
			out = append(out, pb)
		}
	}
	return out
}

// unfinished finds the run for a name: an id, the beginning of an id, a plan, or "". A run whose last event was not
// written by runplan counts as unfinished, even if that event says otherwise.
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
			return s, cli.Usage(fmt.Errorf("run %s is not resumed: %s", s.Run[:8], redact.Clean(s.Reason)), "start a new "+
				"run: %s",
				afresh(s.Agent, s.Plan))
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
