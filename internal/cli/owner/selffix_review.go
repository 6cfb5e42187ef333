package owner

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/runplan/runplan/agents"
	"github.com/runplan/runplan/feedback"
	"github.com/runplan/runplan/feedback/critique"
	"github.com/runplan/runplan/gates"
	"github.com/runplan/runplan/gates/review"
	"github.com/runplan/runplan/gates/review/prose"
	"github.com/runplan/runplan/gates/review/security"
	"github.com/runplan/runplan/gates/suite"
	"github.com/runplan/runplan/internal/cli"
	"github.com/runplan/runplan/internal/cli/judge"
	"github.com/runplan/runplan/internal/cli/prepare"
	"github.com/runplan/runplan/internal/cli/rulebook"
	"github.com/runplan/runplan/internal/cli/run"
	"github.com/runplan/runplan/internal/git"
	"github.com/runplan/runplan/internal/ui"
	"github.com/runplan/runplan/llm"
)

// review runs all seven review passes on a fix. If the review gate cannot run, the loop continues, and the change
// request says so for human reviewers (FIX-24).
func (l *selfFix) review(ctx context.Context, w feedback.ReviewRequest) (feedback.Reviewed, error) {
	v, err := l.reviewed(ctx, w)
	if ctx.Err() != nil {
		return feedback.Reviewed{}, context.Cause(ctx)
	}
	if err != nil {
		return feedback.NoReview(l.app.Redactor(l.project).String(err.Error())), nil
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
	if there.Repo, err = git.Open(ctx, dir, l.app.Environ); err != nil {
		return none, err
	}
	in := review.Input{
		Feedback: w.Item.Body, Plan: w.Plan.RootCause + "\n\n" + w.Plan.Change + "\n\n" + w.Earlier, NewID: cli.NewTaskID,
		Margin:       there.Config.Models.Margin,
		Differential: func(context.Context) (gates.Report, error) { return w.Differential.Report, nil },
	}
	if in.Prompts, err = review.LoadPrompts(l.project.Prompts()); err != nil {
		return none, err
	}
	x := &judge.Inspection{
		App: l.app, Project: &there, Self: l.self, Reaper: &judge.LateReaper{Self: l.self}, Tree: make(chan judge.Written, 1),
		Options: judge.GateOptions{Base: w.Fix.Base, Baseline: true, JSON: true},
	}
	defer x.Reaper.Close()
	x.Tree <- judge.WrittenAt(ctx, there.Repo, w.Fix.Base)
	x.Rules = rulebook.OpenRuleBooks(ctx, l.app, l.project)
	var end func()
	x.Settings, end = judge.SuiteOf(l.app, &there, l.self, false, x.Rules)
	defer end()
	x.Settings.Affected = true
	x.Settings.More = append(append(x.Settings.More, security.All(there.Config.Review.Online)...), prose.New(),
		prose.Names())
	if x.Settings.Detect {
		x.Settings.Found = gates.DetectIn(dir)
	}
	x.Gates = suite.All(dir, x.Settings)
	list, forget, err := x.Open(ctx)
	defer forget()
	if err != nil {
		return none, err
	}
	in.Subject, in.Gates = x.Subject, list
	if in.Known, err = l.known(ctx, w.Fix); err != nil {
		return none, err
	}
	if in.Reviewers, err = x.Reviewers(ctx); err != nil {
		return none, err
	}
	in.Author = review.Author{Agent: w.Fix.Agent,
		Vendor: review.VendorOf(cmp.Or(there.Config.Agents[w.Fix.Agent].Preset, w.Fix.Agent))}
	in.Observe = func(n int, name string, s gates.Status) {
		fmt.Fprintf(l.app.Stderr, "%s: pass %d, %s: %s\n", w.Item.ID, n, name, ui.Sanitize(string(s)))
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
	x := &run.Execution{Prepared: prepare.Prepared{App: l.app, Project: l.project}}
	model, o, err := x.CriticModel(ctx, l.app.ModelOptions(l.project, l.reaper))
	if err != nil {
		return feedback.Critique{}, err
	}
	prompts, err := critique.LoadPrompts(l.project.Prompts())
	if err != nil {
		return feedback.Critique{}, cli.Usage(err, "correct the project's prompts, or remove them")
	}
	w := critique.Watch(ctx, critique.Options{
		LLM: l.app.Logged(l.project, llm.New(o), cli.NewTaskID(), run.CritiqueCall), Model: model, Prompts: prompts,
		MaxCalls: 1, Queue: 1, Wait: time.Duration(c.Wait), Redact: o.Redact,
	}, critique.Attempt{Dir: l.project.Repo.Root, Task: t.Task})
	w.Step(agents.Step{Tool: t.Tool, Input: string(t.Input)})
	seen := w.Close()
	return feedback.Critique{High: seen.High, Kept: seen.Kept, Looked: seen.Looked > 0, Note: seen.Note()}, nil
}
