package run

import (
	"cmp"
	"context"
	"path/filepath"

	"github.com/runplan/runplan/agents"
	"github.com/runplan/runplan/agents/price"
	"github.com/runplan/runplan/gates/review"
	"github.com/runplan/runplan/gates/review/prose"
	"github.com/runplan/runplan/gates/review/security"
	"github.com/runplan/runplan/internal/cli"
	"github.com/runplan/runplan/internal/cli/judge"
	"github.com/runplan/runplan/internal/proc"
	"github.com/runplan/runplan/llm"
	"github.com/runplan/runplan/runner/local"
)

// reviews returns the reviewers for the changes of this run. It is empty if no reviews were requested.
func (x *Execution) reviews(ctx context.Context, self string, reaper *proc.Reaper) (local.Reviews, error) {
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
		More: append(security.All(p.Config.Review.Online), prose.New(), prose.Names()),
		Vendor: func(agent, model string) string {
			return review.VendorOf(cmp.Or(model, p.Config.Agents[agent].Preset, agent))
		},
	}
	if out.Prompts, err = review.LoadPrompts(p.Prompts()); err != nil {
		return out, cli.Usage(err, "correct the project's prompts, or remove them")
	}
	if x.Info.Review != local.ReviewAll && x.Info.FinalReview != local.ReviewAll {
		return out, nil
	}
	late := &judge.LateReaper{Self: self, Reaper: reaper}
	late.Once.Do(func() {}) // already started
	look := &judge.Inspection{App: x.App, Project: p, Self: self, Reaper: late, Task: x.Run}
	look.Subject.Redact = x.App.Redactor(p).String
	if out.Reviewers, err = look.Reviewers(ctx); err != nil || x.Info.Review != local.ReviewAll || !x.Info.Fidelity {
		return out, err
	}
	out.Blueprint, err = look.BlueprintReviewer(ctx)
	return out, err
}

// reviewPrice returns a function for the cost of a reviewer's call: zero on this machine, else from the price table.
func reviewPrice(a *cli.App) func(review.Call) (*float64, agents.Source) {
	prices, err := price.Load(a.PriceFile())
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
