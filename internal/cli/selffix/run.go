package selffix

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/runplan/runplan/agents"
	"github.com/runplan/runplan/feedback"
	"github.com/runplan/runplan/feedback/critique"
	"github.com/runplan/runplan/gates"
	"github.com/runplan/runplan/gates/differential"
	"github.com/runplan/runplan/gates/review"
	"github.com/runplan/runplan/internal/cli"
	"github.com/runplan/runplan/internal/cli/judge"
	"github.com/runplan/runplan/internal/cli/prepare"
	"github.com/runplan/runplan/internal/cli/rulebook"
	"github.com/runplan/runplan/internal/cli/run"
	"github.com/runplan/runplan/internal/git"
	"github.com/runplan/runplan/internal/lists"
	"github.com/runplan/runplan/internal/ui"
	"github.com/runplan/runplan/llm"
	"github.com/runplan/runplan/runner"
)

// run is the ordinary runner, see [feedback.Fixer].
func (l *selfFix) run(ctx context.Context, file string, round int) (feedback.Ran, error) {
	sum, found, err := l.runOf(ctx, file)
	if err != nil {
		return feedback.Ran{}, err
	}
	o := l.runOptions()
	o.Round = round
	switch {
	case !found:
		err = run.RunPlan(ctx, l.project.App, prepare.Request{Plan: file, Options: o})
	case sum.Status != runner.RunDone && sum.Status != runner.RunFailed:
		o.Accept = true // the file was rewritten from the stored plan; only the wording of this version differs
		err = run.ResumeRun(ctx, l.project.App, sum.Run, o)
	}
	// A failed run is a result. A run that was stopped or could not begin is not.
	switch code, _ := cli.CodeOf(err); {
	case err != nil && code == cli.ExitCannotRun:
		return feedback.Ran{}, &feedback.Stopped{Err: err}
	case err != nil && code != cli.ExitFailed:
		return feedback.Ran{}, err
	}
	after, found, lookErr := l.runOf(ctx, file)
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
	o.OfNew(flags)
	o.Plain, o.AllowDirty, o.Land = true, true, "branch"
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

func (l *selfFix) runOf(ctx context.Context, file string) (runner.Summary, bool, error) {
	name := l.project.PlanPath(file)
	sums, err := l.project.Summaries(ctx, runner.Filter{})
	if err != nil {
		return runner.Summary{}, false, err
	}
	s, found := lists.Find(sums, func(s runner.Summary) bool { return s.Plan == name })
	return s, found, nil
}

func (l *selfFix) ran(s runner.Summary) feedback.Ran {
	out := feedback.Ran{Done: s.Status == runner.RunDone, Reason: s.Reason,
		Fix: feedback.Fix{Run: s.Run, Base: s.Base, Tip: s.Commit, Agent: s.Agent}}
	for _, b := range s.Batches {
		out.Attempts += b.Attempts
		out.CostUSD = b.CostUSD // a fix has one batch
		if b.Reason != "" && !strings.Contains(out.Reason, b.Reason) {
			out.Reason = strings.TrimPrefix(out.Reason+"; "+b.Reason, "; ")
		}
	}
	return out
}

// review runs all seven review passes on a fix. If the review gate cannot run, the loop continues, and the change
// request says so for human reviewers (FIX-24).
func (l *selfFix) review(ctx context.Context, w feedback.ReviewRequest) (feedback.Reviewed, error) {
	v, err := l.reviewed(ctx, w)
	if ctx.Err() != nil {
		return feedback.Reviewed{}, context.Cause(ctx)
	}
	if err != nil {
		return feedback.NoReview(l.project.Redactor().String(err.Error())), nil
	}
	return feedback.FromReview(v), nil
}

// reviewed reviews the commit of a fix in a separate tree, with the settings of the user's checkout.
func (l *selfFix) reviewed(ctx context.Context, w feedback.ReviewRequest) (review.Review, error) {
	none := review.Review{}
	dir, done, err := l.scratch(ctx, w.Fix.Tip)
	defer done()
	if err != nil {
		return none, err
	}
	there := *l.project
	if there.Repo, err = git.Open(ctx, dir, l.project.Environ); err != nil {
		return none, err
	}
	in := review.Input{
		Feedback: w.Item.Body, Plan: w.Plan.RootCause + "\n\n" + w.Plan.Change + "\n\n" + w.Earlier, NewID: cli.NewTaskID,
		Margin:       there.Config.Models.Margin,
		Differential: func(context.Context) (gates.Report, error) { return w.Differential.Report, nil },
	}
	if in.Prompts, err = l.project.Prompts(review.LoadPrompts); err != nil {
		return none, err
	}
	books := rulebook.OpenRuleBooks(ctx, l.project) // not those of the commit, which the agent made
	x, end := judge.Inspect(ctx, &there, books,
		judge.GateOptions{Base: w.Fix.Base, Baseline: true}, judge.ReviewGates(&there)...)
	defer end()
	list, forget, err := x.Open(ctx)
	defer forget()
	if err != nil {
		return none, err
	}
	in.Subject, in.Gates = x.Subject, list
	if in.Known, err = l.known(ctx, w.Fix); err != nil {
		return none, err
	}
	in.Reviewers = x.Reviewers(ctx)
	in.Author = review.Author{Agent: w.Fix.Agent,
		Vendor: review.VendorOf(cmp.Or(there.Config.Agents[w.Fix.Agent].Preset, w.Fix.Agent))}
	in.Observe = func(n int, name string, s gates.Status) {
		fmt.Fprintf(l.project.Stderr, "%s: pass %d, %s: %s\n", w.Item.ID, n, name, ui.Sanitize(string(s)))
	}
	v, err := review.Run(ctx, in)
	if err == nil && v.Verdict == review.NoVerdict {
		err = errors.New("a pass could not run")
		for _, p := range v.Passes {
			if p.Status == gates.Errored {
				err = fmt.Errorf("pass %d, %s, could not run: %s", p.Number, p.Name, p.Note)
			}
		}
	}
	return v, err
}

// known returns the gate results of the run for the reviewed tree, so that no slow gate runs twice.
func (l *selfFix) known(ctx context.Context, f feedback.Fix) ([]gates.Report, error) {
	tree, reports, err := l.gated(ctx, f.Run)
	if err != nil {
		return nil, err
	}
	at, err := l.project.Repo.TreeOf(ctx, f.Tip)
	if err != nil || at != tree {
		return nil, err
	}
	return reports, nil
}

// critique checks one step of an agent with the critic that runs use. If critique is off, no model is asked.
func (l *selfFix) critique(ctx context.Context, t feedback.Turn) (feedback.Critique, error) {
	c := l.project.Config.Critique
	if !c.Enabled {
		return feedback.Critique{},
			&feedback.Blocked{What: "the critique is off",
				Do: "set critique.enabled in .runplan/config.toml; see docs/critique.md"}
	}
	model, o, err := run.CriticModel(ctx, l.project, l.project.ModelOptions(l.reaper))
	if err != nil {
		return feedback.Critique{}, err
	}
	prompts, err := l.project.Prompts(critique.LoadPrompts)
	if err != nil {
		return feedback.Critique{}, err
	}
	w := critique.Watch(ctx, critique.Options{
		LLM: l.project.Logged(llm.New(o), cli.NewTaskID(), run.CritiqueCall), Model: model, Prompts: prompts,
		MaxCalls: 1, Queue: 1, Wait: time.Duration(c.Wait), Redact: o.Redact,
	}, critique.Attempt{Dir: l.project.Repo.Root, Task: t.Task})
	w.Step(agents.Step{Tool: t.Tool, Input: string(t.Input)})
	seen := w.Close()
	return feedback.Critique{High: seen.High, Kept: seen.Kept, Looked: seen.Looked > 0, Note: seen.Note()}, nil
}
