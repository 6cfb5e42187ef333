package app

import (
	"cmp"
	"context"
	"path/filepath"
	"time"

	"github.com/runplan/runplan/agents"
	"github.com/runplan/runplan/agents/price"
	"github.com/runplan/runplan/gates/blueprint"
	"github.com/runplan/runplan/gates/review"
	"github.com/runplan/runplan/gates/review/prose"
	"github.com/runplan/runplan/gates/review/security"
	"github.com/runplan/runplan/internal/proc"
	"github.com/runplan/runplan/llm"
	"github.com/runplan/runplan/runner"
	"github.com/runplan/runplan/runner/local"
)

// reviewed sets how the changes of a run are reviewed, and whether a person must approve the landing.
func (a *App) reviewed(ctx context.Context, p *project, info *runner.Info) error {
	c := p.config.Review
	on := func(how string) string {
		if how == "off" {
			return ""
		}
		return how
	}
	info.Review, info.FinalReview = on(c.Batches), on(c.Final)
	if info.Review != "" {
		units, err := blueprint.Units(p.repo.Root, blueprint.Live)
		if err != nil {
			return err
		}
		info.Fidelity = len(units) > 0
	}
	if info.Land == "branch" {
		return nil
	}
	// A flag on the command line is enough, unless an owner has set a bar (TRUST-13, TRUST-14).
	contract, err := a.contract(ctx)
	if err != nil {
		return err
	}
	info.LandBar = contract.MergeBar
	return nil
}

// reviews returns the reviewers for the changes of this run. It is empty if no reviews were requested.
func (x *execution) reviews(ctx context.Context, self string, reaper *proc.Reaper) (local.Reviews, error) {
	if x.info.Review == "" && x.info.FinalReview == "" {
		return local.Reviews{}, nil
	}
	p := x.project
	in, err := reviewOptions{}.input(p)
	if err != nil {
		return local.Reviews{}, err
	}
	out := local.Reviews{
		Persona: in.Persona, Margin: in.Margin, NewID: in.NewID, Price: x.app.reviewPrice(),
		More: append(security.All(p.config.Review.Online), prose.New(), prose.Names()),
		Vendor: func(agent, model string) string {
			return review.VendorOf(cmp.Or(model, p.config.Agents[agent].Preset, agent))
		},
	}
	if out.Prompts, err = review.LoadPrompts(p.prompts()); err != nil {
		return out, usage(err, "correct the project's prompts, or remove them")
	}
	if x.info.Review != local.ReviewAll && x.info.FinalReview != local.ReviewAll {
		return out, nil
	}
	late := &lateReaper{self: self, reaper: reaper}
	late.once.Do(func() {}) // already started
	look := &inspection{app: x.app, project: p, self: self, reaper: late, task: x.run}
	look.subject.Redact = x.app.redactor(p).String
	if out.Reviewers, err = look.reviewers(ctx); err != nil || x.info.Review != local.ReviewAll || !x.info.Fidelity {
		return out, err
	}
	out.Blueprint, err = look.blueprintReviewer(ctx)
	return out, err
}

// blueprintReviewer returns the model of [models] for the stage review, or nil if none is configured.
func (x *inspection) blueprintReviewer(ctx context.Context) (*blueprint.Reviewer, error) {
	p := x.project
	m, ok := x.mayReview(ctx, "review blueprints")
	if !ok {
		return nil, nil
	}
	options := llm.OptionsOf(p.config.Models)
	options.Environ, options.Root, options.Redact = x.app.Environ, p.repo.Root, x.subject.Redact
	prompts, err := blueprint.LoadPrompts(p.prompts())
	if err != nil {
		return nil, usage(err, "correct the project's prompts, or remove them")
	}
	return &blueprint.Reviewer{
		Deps:    blueprint.Deps{Prompts: prompts, Now: time.Now, NewID: newTaskID, Hide: x.subject.Redact},
		Sources: x.app.summaryOptions, Model: m,
		LLM: x.app.logged(p, x.completer(options, m), cmp.Or(x.task, newTaskID()), blueprintCall),
	}, x.forPrograms(m.Provider == llm.Command)
}

// reviewPrice returns a function for the cost of a reviewer's call: zero on this machine, else from the price table.
func (a *App) reviewPrice() func(review.Call) (*float64, agents.Source) {
	prices, err := price.Load(a.priceFile())
	return func(c review.Call) (*float64, agents.Source) {
		if c.Provider == llm.Ollama {
			free := 0.0
			return &free, agents.SourceLocal
		}
		if err != nil || c.PromptTokens == nil || c.CompletionTokens == nil {
			return nil, agents.SourceUnknown
		}
		in, out := int64(*c.PromptTokens), int64(*c.CompletionTokens)
		usd, known := prices.Cost(filepath.Base(c.Model), agents.Usage{InputTokens: &in, OutputTokens: &out})
		if !known {
			return nil, agents.SourceUnknown
		}
		return &usd, agents.SourceComputed
	}
}
