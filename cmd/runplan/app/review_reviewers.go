package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/runplan/runplan/gates/review"
	"github.com/runplan/runplan/internal/config"
	"github.com/runplan/runplan/internal/ui"
	"github.com/runplan/runplan/llm"
	"github.com/runplan/runplan/trust"
)

// reviewers returns the reviewers of the settings. Without any, it returns the model of [models] for the stage review.
func (x *inspection) reviewers(ctx context.Context) ([]review.Reviewer, error) {
	c := x.project.config
	options := llm.OptionsOf(c.Models)
	options.Environ, options.Root, options.Redact = x.app.Environ, x.project.repo.Root, x.subject.Redact
	task := cmp.Or(x.task, newTaskID()) // id in the log of calls
	ask := func(o llm.Options, m llm.Model) llm.Completer {
		return x.app.logged(x.project, x.completer(o, m), task, reviewCall)
	}
	var out []review.Reviewer
	programs := false
	for _, name := range slices.Sorted(maps.Keys(c.Review.Reviewers)) {
		r := c.Review.Reviewers[name]
		m := reviewerModel(c, name, r)
		o := options
		if r.Timeout > 0 {
			o.Timeout = time.Duration(r.Timeout)
		}
		if m.Provider == llm.Command {
			o.PassEnv, programs = r.PassEnv, true
		}
		out = append(out, review.Reviewer{Name: name, Vendor: cmp.Or(r.Vendor, vendorOf(m)), Passes: r.Passes, Model: m,
			LLM: ask(o, m)})
	}
	if len(out) > 0 {
		return out, x.forPrograms(programs)
	}
	m, ok := x.mayReview(ctx, "review")
	if !ok {
		return nil, nil
	}
	name := m.Name
	if name == "" && len(m.Command) > 0 {
		name = m.Command[0]
	}
	out = append(out, review.Reviewer{Name: name, Vendor: vendorOf(m), Model: m, LLM: ask(options, m)})
	return out, x.forPrograms(m.Provider == llm.Command)
}

// mayReview returns the model of [models] for the stage review. ok is false if none is configured or it cannot be
// used; the latter is noted.
func (x *inspection) mayReview(ctx context.Context, what string) (m llm.Model, ok bool) {
	router, err := x.project.models(ctx)
	if errors.Is(err, llm.ErrNoModels) {
		return m, false
	}
	if err == nil {
		m, err = router.Model(llm.Review)
	}
	if err != nil {
		fmt.Fprintf(x.app.Stderr, "note: no reviewer is available to %s: %s\n", what, ui.Sanitize(err.Error()))
	}
	return m, err == nil
}

// forPrograms starts the reaper, which ends a reviewer's program if runplan is killed.
func (x *inspection) forPrograms(any bool) error {
	if !any {
		return nil
	}
	if _, err := x.reaper.get(); err != nil {
		return fail(exitCannotRun, err, "")
	}
	return nil
}

// completer returns the client for a model. If the model is a program, the reaper is already running.
func (x *inspection) completer(o llm.Options, m llm.Model) llm.Completer {
	if m.Provider != llm.Command {
		return llm.New(o)
	}
	return llm.CompleterFunc(func(ctx context.Context, r llm.Request) (llm.Response, error) {
		var err error
		if o.Reaper, err = x.reaper.get(); err != nil {
			return llm.Response{}, err
		}
		return llm.New(o).Complete(ctx, r)
	})
}

func reviewerModel(c *config.Loaded, name string, r config.Reviewer) llm.Model {
	m := llm.Model{
		Role: llm.Reasoning, Name: r.Model, Provider: r.Provider, BaseURL: cmp.Or(r.BaseURL, c.Models.BaseURL),
		Command:   r.Command,
		MaxTokens: cmp.Or(r.MaxTokens, c.Models.MaxTokens),
		Window:    cmp.Or(r.Window, c.Models.ReasoningWindow, c.Budget.ContextWindow),
		Source:    "review.reviewers." + name,
	}
	if m.Provider == "" {
		m.Provider = llm.Ollama
	}
	if m.Provider == llm.Command {
		m.BaseURL = ""
	}
	return m
}

// vendorOf guesses the vendor of a model from its name or its program.
func vendorOf(m llm.Model) string {
	if v := review.VendorOf(m.Name); v != "" || len(m.Command) == 0 {
		return v
	}
	return review.VendorOf(m.Command[0])
}

// author returns who wrote the commits under review, as far as the commits say so.
func (x *inspection) author(ctx context.Context) review.Author {
	if x.from.Commit == "" {
		return review.Author{}
	}
	out, err := x.project.repo.Run(ctx, "log", "--max-count=50", "--format=%(trailers:key=Runplan-Agent,valueonly)",
		x.from.Commit+"..HEAD")
	if err != nil {
		return review.Author{} // unknown; the review says so
	}
	for line := range strings.Lines(out) {
		if agent := ui.Cut(ui.Sanitize(line), 100, "…"); agent != "" {
			preset := x.project.config.Agents[agent].Preset
			return review.Author{Agent: agent, Vendor: review.VendorOf(cmp.Or(preset, agent))}
		}
	}
	return review.Author{}
}

// reviewOutlets reports where configured reviewers send the code.
func (p *project) reviewOutlets() []outlet {
	var out []outlet
	for _, name := range slices.Sorted(maps.Keys(p.config.Review.Reviewers)) {
		r := p.config.Review.Reviewers[name]
		m := reviewerModel(p.config, name, r)
		w := outlet{What: "reviewer", Name: name, Data: "changes under review, and what was asked for",
			When: "runplan review"}
		if m.Provider == llm.Command {
			w.To = "wherever " + m.Command[0] + " sends it"
			if len(r.PassEnv) > 0 {
				w.Data += ", and " + strings.Join(r.PassEnv, ", ")
			}
			out = append(out, w)
			continue
		}
		local := loopbackURL(m.BaseURL)
		w.To, w.Local = config.HostOf(m.BaseURL), &local
		if local {
			w.To = "this machine: " + w.To + "; a model that runs elsewhere is refused"
		}
		out = append(out, w)
	}
	if p.config.Review.Online {
		elsewhere := false
		out = append(out, outlet{What: "security tools", Name: "govulncheck, npm audit", To: "vuln.go.dev, the npm registry",
			Data: "the names of what the project requires", When: "runplan review", Local: &elsewhere})
	}
	return out
}

// reviewExecutables lists the programs and remote addresses that the repository's own settings use for reviews.
func (p *project) reviewExecutables() []trust.Executable {
	c, file := p.config, p.layout.Config()
	var out []trust.Executable
	for _, name := range slices.Sorted(maps.Keys(c.Review.Reviewers)) {
		r := c.Review.Reviewers[name]
		key := "review.reviewers." + name
		from := func(k string) bool { return c.Source(key+"."+k) == file }
		switch {
		case r.Provider == llm.Command && (from("provider") || from("command") || from("pass_env")):
			what := trust.Words(r.Command)
			if len(r.PassEnv) > 0 {
				what += " (sees " + strings.Join(r.PassEnv, ", ") + ")"
			}
			out = append(out, trust.Executable{Where: "reviewer " + name, What: what})
		case r.BaseURL != "" && from("base_url") && !loopbackURL(r.BaseURL):
			out = append(out, trust.Executable{Where: "reviewer " + name, What: "ask " + r.BaseURL})
		}
	}
	if c.Review.Online && c.Source("review.online") == file {
		out = append(out, trust.Executable{Where: "security tools",
			What: "ask vuln.go.dev and the npm registry what is known of what the project requires"})
	}
	return out
}
