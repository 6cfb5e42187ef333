package app

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"time"

	"github.com/runplan/runplan/agents"
	"github.com/runplan/runplan/agents/price"
	"github.com/runplan/runplan/feedback/critique"
	"github.com/runplan/runplan/internal/config"
	"github.com/runplan/runplan/internal/proc"
	"github.com/runplan/runplan/internal/redact"
	"github.com/runplan/runplan/internal/ui"
	"github.com/runplan/runplan/llm"
	"github.com/runplan/runplan/runner/local"
	"github.com/runplan/runplan/trust"
)

// critiqueCall is the type of its calls in the log of calls.
const critiqueCall = "critique"

// critic looks at the steps of the run's agents; nil where it is off (FIX-30), and where there is nobody to ask. It
// advises, so that this is told and stops nothing.
func (x *execution) critic(ctx context.Context, view *view, options llm.Options) (local.Critic, error) {
	c := x.project.config.Critique
	if !c.Enabled || x.options.noCritique {
		return nil, nil
	}
	model, options, err := x.criticModel(ctx, options)
	if err != nil {
		view.Note("critique is on, and there is nobody to ask: " + ui.Sanitize(err.Error()) + "; the steps of agents are not looked at")
		return nil, nil
	}
	prompts, err := critique.LoadPrompts(x.project.prompts())
	if err != nil {
		return nil, usage(err, "correct the prompts of the project, or take them away")
	}
	prices, priceErr := price.Load(x.app.priceFile())
	if priceErr != nil {
		view.Note("what a critique costs is not known: " + ui.Sanitize(priceErr.Error()))
	}
	o := critique.Options{
		LLM: x.noted(llm.New(options), view), Model: model, Prompts: prompts, MaxCalls: c.MaxCalls, Queue: c.Queue, Wait: time.Duration(c.Wait), Redact: options.Redact,
	}
	view.Note(critiqueFrame(model, c.MaxCalls))
	return func(ctx context.Context, dir, task string) local.StepWatch {
		return criticWatch{critique.Watch(ctx, o, critique.Attempt{Dir: dir, Task: task}), model, prices}
	}, nil
}

// modelOptions are those of the settings for models that are asked beside a run.
func (x *execution) modelOptions(reaper *proc.Reaper) llm.Options {
	o := llm.OptionsOf(x.project.config.Models)
	o.Environ, o.Root, o.Redact, o.Reaper = x.app.Environ, x.project.repo.Root, x.app.redactor(x.project).String, reaper
	return o
}

// critiqueFrame says what it is likely to cost, before it costs anything.
func critiqueFrame(m llm.Model, most int) string {
	text := fmt.Sprintf("critique: %s is asked about each step that changes something, at most %d times an attempt; a task of %d turns takes about %d calls",
		ui.Sanitize(m.Label()), most, critique.TypicalTurns, critique.TypicalCalls)
	if localModel(m) {
		return text + ", on this machine"
	}
	return text + fmt.Sprintf(", about $%.2f at $%.2f a call", critique.TypicalCalls*critique.TypicalCallUSD, critique.TypicalCallUSD)
}

func localModel(m llm.Model) bool { return m.Provider == llm.Ollama && loopbackURL(m.BaseURL) }

// criticModel is the reviewer that [critique] names, else the model of [models] for the stage.
func (x *execution) criticModel(ctx context.Context, o llm.Options) (llm.Model, llm.Options, error) {
	c := x.project.config
	if name := c.Critique.Reviewer; name != "" {
		r := c.Review.Reviewers[name] // it is there, or the settings would have been refused
		m := reviewerModel(c, name, r)
		o.PassEnv = nil
		if m.Provider == llm.Command {
			o.PassEnv = r.PassEnv
		}
		if r.Timeout > 0 {
			o.Timeout = time.Duration(r.Timeout)
		}
		return m, o, nil
	}
	router, err := x.project.models(ctx)
	if err != nil {
		return llm.Model{}, o, err
	}
	m, err := router.Model(llm.Critique)
	return m, o, err
}

// noted writes each call into the log of calls. What cannot be written is told, and stops nothing.
func (x *execution) noted(c llm.Completer, view *view) llm.Completer {
	secrets := x.app.redactor(x.project)
	hide := func(text string) string { return redact.Clean(secrets.String(text)) }
	return llm.CompleterFunc(func(ctx context.Context, r llm.Request) (llm.Response, error) {
		at := time.Now()
		res, err := c.Complete(ctx, r)
		if kept := x.journal.AddCall(context.WithoutCancel(ctx), callRow(x.run, critiqueCall, r, res, at, hide, err)); kept != nil {
			view.Note("a call of " + ui.Sanitize(r.Model.Label()) + " is not in the log: " + ui.Sanitize(kept.Error()))
		}
		return res, err
	})
}

// criticWatch is a watcher as the driver asks for it.
type criticWatch struct {
	*critique.Watcher
	model  llm.Model
	prices *price.Table
}

// Close implements [local.StepWatch].
func (w criticWatch) Close() local.Critique {
	seen := w.Watcher.Close()
	out := local.Critique{High: seen.High, Kept: seen.Kept}
	out.Report = seen.Report()
	out.Cost.Model, out.Cost.Calls = seen.Model, seen.Calls
	took := seen.Took.Milliseconds()
	u := agents.Usage{InputTokens: seen.Input, OutputTokens: seen.Output, ModelMS: &took, Source: agents.SourceUnknown}
	if localModel(w.model) {
		u.CostUSD, u.Source = new(float64), agents.SourceLocal
	} else if usd, ok := w.prices.Cost(filepath.Base(w.model.Name), u); ok {
		u.CostUSD, u.Source = &usd, agents.SourceComputed
	}
	out.Cost.Usage = u
	return out
}

// critiqueOutlet says where steps of agents are sent.
func (p *project) critiqueOutlet(ctx context.Context) []outlet {
	c := p.config.Critique
	if !c.Enabled {
		return nil
	}
	x := &execution{project: p}
	m, _, err := x.criticModel(ctx, llm.Options{})
	if err != nil {
		return nil // there is nobody to ask
	}
	w := outlet{What: "critic", Name: m.Label(), Data: "the task of a batch, steps of its agent, and files that it edits", When: "each step of an agent"}
	if m.Provider == llm.Command {
		w.To = "wherever it sends it"
		return []outlet{w}
	}
	here := loopbackURL(m.BaseURL)
	w.To, w.Local = config.HostOf(m.BaseURL), &here
	return []outlet{w}
}

// critiqueExecutables is what a repository's own settings would have asked, of a model that somebody else set up.
func (p *project) critiqueExecutables() []trust.Executable {
	c, file := p.config, p.layout.Config()
	if !c.Critique.Enabled || c.Source("critique.enabled") != file && c.Source("critique.reviewer") != file {
		return nil
	}
	return []trust.Executable{{Where: "critique", What: "ask " + cmp.Or(c.Critique.Reviewer, "the model for the stage critique") + " about each step of an agent"}}
}
