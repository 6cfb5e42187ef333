package judge

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/runplan/runplan/gates/blueprint/lifecycle"
	"github.com/runplan/runplan/gates/review"
	"github.com/runplan/runplan/internal/cli"
	"github.com/runplan/runplan/internal/config"
	"github.com/runplan/runplan/internal/ui"
	"github.com/runplan/runplan/knowledge/summary"
	"github.com/runplan/runplan/llm"
)

// Reviewers returns the reviewers of the settings. Without any, it returns the model of [models] for the stage review.
func (x *Inspection) Reviewers(ctx context.Context) []review.Reviewer {
	c := x.Project.Config
	options := x.Project.ModelOptions(nil)
	task := cmp.Or(x.Task, cli.NewTaskID()) // id in the log of calls
	ask := func(o llm.Options, m llm.Model) llm.Completer {
		return x.Project.Logged(x.completer(o, m), task, cli.ReviewCall)
	}
	var out []review.Reviewer
	for _, name := range slices.Sorted(maps.Keys(c.Review.Reviewers)) {
		r := c.Review.Reviewers[name]
		m, o := ReviewerModel(c, name, options)
		out = append(out, review.Reviewer{Name: name, Vendor: cmp.Or(r.Vendor, vendorOf(m)), Passes: r.Passes, Model: m,
			LLM: ask(o, m)})
	}
	if len(out) > 0 {
		return out
	}
	m, ok := x.mayReview(ctx, "review")
	if !ok {
		return nil
	}
	name := m.Name
	if name == "" && len(m.Command) > 0 {
		name = m.Command[0]
	}
	return []review.Reviewer{{Name: name, Vendor: vendorOf(m), Model: m, LLM: ask(options, m)}}
}

// mayReview returns the model of [models] for the stage review. ok is false if none is configured or it cannot be
// used; the latter is noted.
func (x *Inspection) mayReview(ctx context.Context, what string) (m llm.Model, ok bool) {
	m, err := x.Project.Model(ctx, llm.Review)
	if err != nil && !errors.Is(err, llm.ErrNoModels) {
		fmt.Fprintf(x.Project.Stderr, "note: no reviewer is available to %s: %s\n", what, ui.Sanitize(err.Error()))
	}
	return m, err == nil
}

// completer returns the client for a model. Before a program starts, so does the reaper.
func (x *Inspection) completer(o llm.Options, m llm.Model) llm.Completer {
	if m.Provider != llm.Command {
		return llm.New(o)
	}
	return llm.CompleterFunc(func(ctx context.Context, r llm.Request) (llm.Response, error) {
		var err error
		if o.Reaper, err = x.Reaper.get(); err != nil {
			return llm.Response{}, err
		}
		return llm.New(o).Complete(ctx, r)
	})
}

// ReviewerModel returns the model that a reviewer of the settings names, and the options o with its own ones.
func ReviewerModel(c *config.Loaded, name string, o llm.Options) (llm.Model, llm.Options) {
	r := c.Review.Reviewers[name]
	m := llm.Model{
		Role: llm.Reasoning, Name: r.Model, Provider: r.Provider, BaseURL: cmp.Or(r.BaseURL, c.Models.BaseURL),
		Command:   r.Command,
		MaxTokens: cmp.Or(r.MaxTokens, c.Models.MaxTokens),
		Window:    cmp.Or(r.Window, c.Models.ReasoningWindow, c.Budget.ContextWindow),
		Source:    "review.reviewers." + name,
	}
	m.Provider = cmp.Or(m.Provider, llm.Ollama)
	if r.Timeout > 0 {
		o.Timeout = time.Duration(r.Timeout)
	}
	o.PassEnv = nil
	if m.Provider == llm.Command {
		m.BaseURL, o.PassEnv = "", r.PassEnv
	}
	return m, o
}

func vendorOf(m llm.Model) string {
	if v := review.VendorOf(m.Name); v != "" || len(m.Command) == 0 {
		return v
	}
	return review.VendorOf(m.Command[0])
}

func (x *Inspection) author(ctx context.Context) review.Author {
	if x.from.Commit == "" {
		return review.Author{}
	}
	out, err := x.Project.Repo.Run(ctx, "log", "--max-count=50", "--format=%(trailers:key=Runplan-Agent,valueonly)",
		x.from.Commit+"..HEAD")
	if err != nil {
		return review.Author{} // unknown; the review says so
	}
	for line := range strings.Lines(out) {
		if agent := ui.Brief(line, 100); agent != "" {
			preset := x.Project.Config.Agents[agent].Preset
			return review.Author{Agent: agent, Vendor: review.VendorOf(cmp.Or(preset, agent))}
		}
	}
	return review.Author{}
}

// ReviewOutlets reports where configured reviewers send the code.
func ReviewOutlets(p *cli.Project) []cli.Outlet {
	var out []cli.Outlet
	for _, name := range slices.Sorted(maps.Keys(p.Config.Review.Reviewers)) {
		m, o := ReviewerModel(p.Config, name, llm.Options{})
		w := cli.Outlet{What: "reviewer", Name: name, Data: "changes under review, and the request", When: "runplan review"}
		w = w.ToModel(m.Provider, o.PassEnv, m.BaseURL)
		if m.Provider == llm.Command {
			w.To = "wherever " + m.Command[0] + " sends it"
		}
		out = append(out, w)
	}
	if p.Config.Review.Online {
		elsewhere := false
		out = append(out, cli.Outlet{What: "security tools", Name: "govulncheck, npm audit",
			To: "vuln.go.dev, the npm registry", Data: "the names of the project's dependencies", When: "runplan review",
			Local: &elsewhere})
	}
	return out
}

// SummaryOptions returns the options for summaries of the repository at root.
func SummaryOptions(ctx context.Context, a *cli.App, root string) (summary.Options, error) {
	program, err := a.AstGrep(ctx)
	if err != nil {
		return summary.Options{}, cli.Fail(cli.ExitCannotRun, err, "")
	}
	program.Env = a.Environ
	return summary.Options{Root: root, Program: program, Own: summary.Own(os.DirFS(root))}, nil
}

// BlueprintReviewer returns the model of [models] for the stage review, or nil if none is configured.
func (x *Inspection) BlueprintReviewer(ctx context.Context) (*lifecycle.Reviewer, error) {
	p := x.Project
	m, ok := x.mayReview(ctx, "review blueprints")
	if !ok {
		return nil, nil
	}
	prompts, err := p.Prompts(lifecycle.LoadPrompts)
	if err != nil {
		return nil, err
	}
	return &lifecycle.Reviewer{
		Deps: lifecycle.Deps{Prompts: prompts, Now: time.Now, NewID: cli.NewTaskID, Hide: x.Subject.Redact},
		Sources: func(ctx context.Context, root string) (summary.Options, error) {
			return SummaryOptions(ctx, x.Project.App, root)
		}, Model: m, LLM: p.Logged(x.completer(p.ModelOptions(nil), m), cmp.Or(x.Task, cli.NewTaskID()), cli.BlueprintCall),
	}, nil
}
