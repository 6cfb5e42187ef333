package owner

import (
	"cmp"
	"context"
	"errors"
	"strings"

	"github.com/spf13/cobra"

	"github.com/runplan/runplan/feedback"
	"github.com/runplan/runplan/gates"
	"github.com/runplan/runplan/gates/differential"
	"github.com/runplan/runplan/internal/cli"
	"github.com/runplan/runplan/internal/cli/prepare"
	"github.com/runplan/runplan/internal/cli/run"
	"github.com/runplan/runplan/runner"
)

// Run implements [feedback.Runner] with the ordinary runner. It starts a run of the plan, resumes a stopped one, or
// returns the result of one that ended.
func (l *selfFix) Run(ctx context.Context, j feedback.Job) (feedback.Ran, error) {
	sum, found, err := l.runOf(ctx, j.File)
	if err != nil {
		return feedback.Ran{}, err
	}
	o := l.runOptions()
	o.Round = j.Round
	switch {
	case !found:
		err = run.RunPlan(ctx, l.app, j.File, o)
	case sum.Status != runner.RunDone && sum.Status != runner.RunFailed:
		o.Accept = true // the file was rewritten from the stored plan; only the wording of this version differs
		err = run.ResumeRun(ctx, l.app, sum.Run, o)
	}
	// A failed run is a result. A run that was stopped or could not begin is not.
	switch code, _ := cli.CodeOf(err); {
	case err != nil && code == cli.ExitCannotRun:
		return feedback.Ran{}, &feedback.Stopped{Err: err}
	case err != nil && code != cli.ExitFailed:
		return feedback.Ran{}, err
	}
	after, found, lookErr := l.runOf(ctx, j.File)
	if lookErr != nil || !found {
		return feedback.Ran{}, errors.Join(err, lookErr)
	}
	ran := l.ran(after)
	if !ran.Done {
		why, err := l.blocking(ctx, after.Run)
		if err != nil {
			return feedback.Ran{}, err
		}
		ran.Reason = cmp.Or(why, ran.Reason)
	}
	return ran, nil
}

// runOptions returns the default options of runplan run. A dirty checkout is allowed, because the run starts from a
// commit.
func (l *selfFix) runOptions() prepare.RunOptions {
	var o prepare.RunOptions
	flags := &cobra.Command{}
	o.Common(flags)
	o.OfAgent(flags)
	o.Route.Add(flags)
	o.Sample.Add(flags)
	o.Plain, o.AllowDirty, o.Land, o.Trust = true, true, "branch", l.options.trust
	o.Agent = cmp.Or(l.options.agent, l.project.Config.Feedback.Agent)
	return o
}

// mostBlocking is the highest number of findings about the previous plan that the next plan gets.
const mostBlocking = 8

// blocking returns the gate findings of a run's last attempt, the regression test first. The next plan receives them.
func (l *selfFix) blocking(ctx context.Context, run string) (string, error) {
	_, last, err := l.gated(ctx, run)
	if err != nil {
		return "", err
	}
	var list []string
	for _, wanted := range []bool{true, false} {
		for _, r := range last {
			for _, f := range r.Findings {
				if (r.Gate == differential.Name) == wanted && r.Status == gates.Fail && f.Severity == gates.Error &&
					len(list) < mostBlocking {
					list = append(list, r.Gate+": "+f.Message)
				}
			}
		}
	}
	return strings.Join(list, "; "), nil
}

// gated returns the last gate reports of a run and the tree that they belong to.
func (l *selfFix) gated(ctx context.Context, run string) (tree string, reports []gates.Report, err error) {
	err = l.project.EachEvent(ctx, run, func(ev runner.Event) error {
		if len(ev.Reports) > 0 {
			tree, reports = ev.Tree, ev.Reports
		}
		return nil
	})
	return tree, reports, err
}

// runOf finds the newest run of a plan.
func (l *selfFix) runOf(ctx context.Context, file string) (runner.Summary, bool, error) {
	name, err := l.project.PlanPath(file)
	if err != nil {
		return runner.Summary{}, false, err
	}
	sums, err := l.project.Summaries(ctx, runner.Filter{})
	if err != nil {
		return runner.Summary{}, false, err
	}
	for _, s := range sums {
		if s.Plan == name {
			return s, true, nil
		}
	}
	return runner.Summary{}, false, nil
}

func (l *selfFix) ran(s runner.Summary) feedback.Ran {
	out := feedback.Ran{Run: s.Run, Done: s.Status == runner.RunDone, Reason: s.Reason, Base: s.Base, Tip: s.Commit,
		Agent: s.Agent}
	for _, b := range s.Batches {
		out.Attempts += b.Attempts
		out.CostUSD = b.CostUSD // a fix has one batch
		if b.Reason != "" && !strings.Contains(out.Reason, b.Reason) {
			out.Reason = strings.TrimPrefix(out.Reason+"; "+b.Reason, "; ")
		}
	}
	return out
}
