package cli

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/runplan/runplan/internal/config"
	"github.com/runplan/runplan/internal/proc"
	"github.com/runplan/runplan/internal/redact"
	"github.com/runplan/runplan/internal/store"
	"github.com/runplan/runplan/internal/ui"
	"github.com/runplan/runplan/knowledge/retrieve"
	"github.com/runplan/runplan/llm"
	"github.com/runplan/runplan/trust"
)

// Models returns the router over the settings and the active adapters of the index (C-04).
func (p *Project) Models(ctx context.Context) (*llm.Router, error) {
	all, err := p.DeployedAdapters(ctx)
	if err != nil && !errors.Is(err, store.ErrOlder) {
		return nil, fmt.Errorf("list the active adapters: %w", err)
	}
	active := map[llm.Stage]string{}
	for _, a := range all {
		if a.Active {
			active[llm.Stage(a.Stage)] = a.Tag
		}
	}
	return llm.NewRouter(p.Config.Models,
		llm.RouterOptions{Window: p.Config.Budget.ContextWindow, Adapter: func(s llm.Stage) (string, bool) {
			tag, ok := active[s]
			return tag, ok
		}})
}

// Model returns the model of a stage. Its error has the exit code and a hint.
func (p *Project) Model(ctx context.Context, stage llm.Stage) (llm.Model, error) {
	router, err := p.Models(ctx)
	if err != nil {
		return llm.Model{}, ModelTrouble(ctx, err)
	}
	m, err := router.Model(stage)
	if err != nil {
		return llm.Model{}, ModelTrouble(ctx, err)
	}
	return m, nil
}

// ModelOptions returns the options for asking the models of a project. reaper may be nil.
func (a *App) ModelOptions(p *Project, reaper *proc.Reaper) llm.Options {
	o := llm.OptionsOf(p.Config.Models)
	o.Environ, o.Root, o.Redact, o.Reaper = a.Environ, p.Repo.Root, a.Redactor(p).String, reaper
	return o
}

// ModelOutlet reports where questions to models are sent.
func (p *Project) ModelOutlet() []Outlet {
	m := p.Config.Models
	if !m.Configured() {
		return nil
	}
	w := Outlet{What: "models", Data: "tasks, and the code that they need",
		When: "plan, solve, retrieve, enrich and reviews by models"}
	if m.Provider == llm.Command {
		w.Name, w.To = m.Command[0], "anywhere: the program decides"
		if len(m.PassEnv) > 0 {
			w.Data += ", and " + strings.Join(m.PassEnv, ", ")
		}
		return []Outlet{w}
	}
	local := LoopbackURL(m.BaseURL)
	w.Name, w.To, w.Local = "ollama", config.HostOf(m.BaseURL), &local
	if local {
		w.To = "this machine: " + w.To + "; a model on another machine is refused"
	}
	return []Outlet{w}
}

// modelExecutables lists the programs and remote addresses that the repository's own settings use for models.
func (p *Project) modelExecutables() []trust.Executable {
	c, file := p.Config, p.Layout.Config()
	from := func(key string) bool { return c.Source("models."+key) == file }
	switch {
	case c.Models.Provider == llm.Command && (from("provider") || from("command") || from("pass_env")):
		return []trust.Executable{{Where: "models", What: trust.Words(c.Models.Command) + sees(c.Models.PassEnv)}}
	case c.Models.BaseURL != "" && from("base_url") && !LoopbackURL(c.Models.BaseURL):
		return []trust.Executable{{Where: "models", What: "ask " + c.Models.BaseURL}}
	}
	return nil
}

// LoopbackURL reports whether an address leads to this machine.
func LoopbackURL(address string) bool {
	u, err := url.Parse(address)
	return err == nil && config.Loopback(u.Hostname())
}

// ModelTrouble adds the exit code and a hint to an error of a model or of a question to it.
func ModelTrouble(ctx context.Context, err error) error {
	var known *Failure
	var missing *llm.MissingModelError
	var unset *llm.MissingSettingError
	var unknown *llm.UnknownModelError
	var answer *llm.AnswerError
	var stage *retrieve.StageError
	var nothing *retrieve.NoMatchError
	switch {
	case ctx.Err() != nil:
		return Fail(ExitInterrupted, errors.New("interrupted"), "")
	case errors.As(err, &known):
		return err
	case errors.Is(err, llm.ErrNoModels), errors.As(err, &missing), errors.As(err, &unset), errors.As(err, &unknown),
		errors.As(err, &stage):
		return Usage(err, "")
	case errors.As(err, &nothing):
		return Fail(ExitFailed, err,
			"name a file or symbol, or use words of the code; if the code is newer than the index: runplan index")
	case errors.Is(err, retrieve.ErrNoIndex):
		return Usage(err, "run: runplan index")
	case errors.As(err, &answer):
		raw := ui.Cut(strings.Join(strings.Fields(redact.New(nil).String(redact.Clean(answer.Raw))), " "), 300, "…")
		return Named("answer-unusable", Fail(ExitFailed, fmt.Errorf("%w; the answer was: %s", err, raw),
			"the complete answer is in .runplan/raw.sqlite; a larger model may follow the format"))
	}
	hint := llm.HintOf(err)
	if strings.Contains(err.Error(), hint) {
		hint = "" // its text already has the hint
	}
	return Named("model-failed", Fail(ExitCannotRun, err, "%s", hint))
}
