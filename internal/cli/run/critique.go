package run

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"time"

	"github.com/runplan/runplan/agents"
	"github.com/runplan/runplan/agents/price"
	"github.com/runplan/runplan/feedback/critique"
	"github.com/runplan/runplan/gates/review"
	"github.com/runplan/runplan/internal/cli"
	"github.com/runplan/runplan/internal/cli/judge"
	"github.com/runplan/runplan/internal/proc"
	"github.com/runplan/runplan/internal/ui"
	"github.com/runplan/runplan/llm"
	"github.com/runplan/runplan/runner/journal"
	"github.com/runplan/runplan/runner/local"
)

// CritiqueCall is the type of critique calls in the log of calls.
const CritiqueCall = "critique"

// critic returns the critic for the steps of the run's agents. It returns nil if critique is off (FIX-30) or no model
// can be asked. The critic only advises, so a missing model is a note and not an error.
func (x *Execution) critic(ctx context.Context, view *view, options llm.Options) (local.Critic, error) {
	c := x.Project.Config.Critique
	if !c.Enabled || x.Options.NoCritique {
		return nil, nil
	}
	model, options, err := CriticModel(ctx, x.Project, options)
	if err != nil {
		view.Note("critique is on, but no reviewer can be asked: " + ui.Sanitize(err.Error()) +
			"; the steps of agents are not checked")
		return nil, nil
	}
	prompts, err := x.Project.Prompts(critique.LoadPrompts)
	if err != nil {
		return nil, err
	}
	prices, priceErr := price.Load(x.App.PriceFile())
	if priceErr != nil {
		view.Note("the cost of a critique is unknown: " + ui.Sanitize(priceErr.Error()))
	}
	o := critique.Options{
		LLM: x.noted(llm.New(options), view), Model: model, Prompts: prompts, MaxCalls: c.MaxCalls, Queue: c.Queue,
		Wait: time.Duration(c.Wait), Redact: options.Redact,
	}
	view.Note(critiqueFrame(model, c.MaxCalls))
	return func(ctx context.Context, dir, task string) local.StepWatch {
		return criticWatch{critique.Watch(ctx, o, critique.Attempt{Dir: dir, Task: task}), model, prices}
	}, nil
}

// critiqueFrame describes the expected cost before any call is made.
func critiqueFrame(m llm.Model, most int) string {
	text := fmt.Sprintf(
		"critique: %s reviews each step that changes something, at most %d per attempt; a task of %d turns "+
			"needs about %d calls",
		ui.Sanitize(m.Label()), most, critique.TypicalTurns, critique.TypicalCalls)
	if m.Local() {
		return text + ", on this machine"
	}
	return text + fmt.Sprintf(", about $%.2f at $%.2f a call", critique.TypicalCalls*critique.TypicalCallUSD,
		critique.TypicalCallUSD)
}

// CriticModel returns the reviewer that [critique] names, else the model of [models] for the stage.
func CriticModel(ctx context.Context, p *cli.Project, o llm.Options) (llm.Model, llm.Options, error) {
	if name := p.Config.Critique.Reviewer; name != "" {
		m, o := judge.ReviewerModel(p.Config, name, o) // the settings are valid, so the name exists
		return m, o, nil
	}
	m, err := p.Model(ctx, llm.Critique)
	return m, o, err
}

// noted wraps c so that each call is logged. An error of the log is only a note.
func (x *Execution) noted(c llm.Completer, view *view) llm.Completer {
	return cli.LogCalls(c, x.Run, CritiqueCall, x.Project.Redactor(), x.journal.AddCall, func(model, why string) {
		view.Note("a call of " + model + " is not in the log: " + why)
	})
}

// criticWatch adapts a watcher to [local.StepWatch].
type criticWatch struct {
	*critique.Watcher
	model  llm.Model
	prices *price.Table
}

// Close implements [local.StepWatch].
func (w criticWatch) Close() journal.Critique {
	seen := w.Watcher.Close()
	out := journal.Critique{High: seen.High, Kept: seen.Kept}
	out.Report = seen.Report()
	out.Cost.Model, out.Cost.Calls = seen.Model, seen.Calls
	took := seen.Took.Milliseconds()
	u := agents.Usage{InputTokens: seen.Input, OutputTokens: seen.Output, ModelMS: &took, Source: agents.SourceUnknown}
	if w.model.Local() {
		u.CostUSD, u.Source = new(float64), agents.SourceLocal
	} else if usd, ok := w.prices.Cost(filepath.Base(w.model.Name), u); ok {
		u.CostUSD, u.Source = &usd, agents.SourceComputed
	}
	out.Cost.Usage = u
	return out
}

// CritiqueOutlet reports where critique sends the steps of agents.
func CritiqueOutlet(ctx context.Context, p *cli.Project) []cli.Outlet {
	c := p.Config.Critique
	if !c.Enabled {
		return nil
	}
	m, _, err := CriticModel(ctx, p, llm.Options{})
	if err != nil {
		return nil // no model is configured
	}
	w := cli.Outlet{What: "critic", Name: m.Label(),
		Data: "the task of a batch, steps of its agent, and files that it edits", When: "each step of an agent"}
	return []cli.Outlet{w.ToModel(m.Provider, nil, m.BaseURL)}
}

// reviews returns the reviewers for the changes of this run. It is empty if no reviews were requested.
func (x *Execution) reviews(ctx context.Context, reaper *proc.Reaper) (local.Reviews, error) {
	if x.Info.Review == "" && x.Info.FinalReview == "" {
		return local.Reviews{}, nil
	}
	p := x.Project
	in, err := judge.ReviewOptions{}.Input(p)
	if err != nil {
		return local.Reviews{}, err
	}
	out := local.Reviews{
		Persona: in.Persona, Margin: in.Margin, NewID: in.NewID, Price: reviewPrice(x.App),
		More: judge.ReviewGates(p),
		Vendor: func(agent, model string) string {
			return review.VendorOf(cmp.Or(model, p.Config.Agents[agent].Preset, agent))
		},
	}
	if out.Prompts, err = p.Prompts(review.LoadPrompts); err != nil {
		return out, err
	}
	if x.Info.Review != local.ReviewAll && x.Info.FinalReview != local.ReviewAll {
		return out, nil
	}
	started := &judge.LateReaper{Start: func() (*proc.Reaper, error) { return reaper, nil }}
	look := &judge.Inspection{Project: p, Reaper: started, Task: x.Run}
	look.Subject.Redact = p.Redactor().String
	out.Reviewers = look.Reviewers(ctx)
	if x.Info.Review != local.ReviewAll || !x.Info.Fidelity {
		return out, nil
	}
	out.Blueprint, err = look.BlueprintReviewer(ctx)
	return out, err
}

// reviewPrice returns a function for the cost of a reviewer's call: zero on this machine, else from the price table.
func reviewPrice(a *cli.App) func(review.Call) (*float64, agents.Source) {
	prices, err := price.Load(a.PriceFile())
	return func(c review.Call) (*float64, agents.Source) {
		if c.Provider == llm.Ollama {
			return new(float64), agents.SourceLocal
		}
		if err == nil && c.PromptTokens != nil && c.CompletionTokens != nil {
			in, out := int64(*c.PromptTokens), int64(*c.CompletionTokens)
			u := agents.Usage{InputTokens: &in, OutputTokens: &out}
			if usd, known := prices.Cost(filepath.Base(c.Model), u); known {
				return &usd, agents.SourceComputed
			}
		}
		return nil, agents.SourceUnknown
	}
}
