package app

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/runplan/runplan/internal/config"
	"github.com/runplan/runplan/internal/redact"
	"github.com/runplan/runplan/internal/store"
	"github.com/runplan/runplan/llm"
	"github.com/runplan/runplan/trust"
)

// modelLook is the time limit for asking a server for its version or for facts about a model.
const modelLook = 5 * time.Second

// examineModels checks the configured models. If the server does not answer, the state of its models is unknown, which
// is neither ok nor a problem.
func (a *App) examineModels(ctx context.Context, p *project) []checked {
	m := p.config.Models
	if !m.Configured() {
		return []checked{{"models", "skipped", "none configured; plans that agents run need none",
			"plan, solve, retrieve and enrich need them: a [models] section in .runplan/config.toml"}}
	}
	r, err := p.models(ctx)
	if err != nil {
		return []checked{{"models", "problem", err.Error(), "runplan config --keys lists what can be set"}}
	}
	list := r.Models()
	if m.Provider == llm.Command {
		return a.examineModelCommand(p, list)
	}
	o := llm.Options{Timeout: modelLook, Redact: redact.New(a.Environ).String}
	server, up := a.examineServer(ctx, o, m.BaseURL)
	out := []checked{server}
	for _, model := range list {
		if !up {
			out = append(out, checked{"model " + model.Name, "unknown", model.Source + "; the server does not answer", ""})
			continue
		}
		out = append(out, examineModel(ctx, o, model))
	}
	for _, role := range []llm.Role{llm.Coding, llm.Reasoning} {
		if m.Coding == "" && role == llm.Coding || m.Reasoning == "" && role == llm.Reasoning {
			out = append(out, checked{"model", "missing", "none is named for " + string(role),
				fmt.Sprintf("set models.%s", role)})
		}
	}
	return out
}

// examineServer asks an Ollama server for its version.
func (a *App) examineServer(ctx context.Context, o llm.Options, baseURL string) (checked, bool) {
	v, err := llm.ServerVersion(ctx, o, baseURL)
	var down *llm.DownError
	var late *llm.TimeoutError
	switch {
	case errors.As(err, &down):
		return checked{"model server", "problem", fmt.Sprintf("%s cannot be reached (%v)", baseURL, down.Err),
			llm.HintOf(err)}, false
	case errors.As(err, &late):
		return checked{"model server", "error", fmt.Sprintf("%s did not report its version within %s", baseURL, modelLook),
			"try again, or look at the server's log"}, false
	case err != nil:
		return checked{"model server", "error", err.Error(), "is models.base_url an Ollama server?"}, false
	}
	return checked{"model server", "ok", fmt.Sprintf("Ollama %s at %s", v, baseURL), ""}, true
}

// examineModel asks the server about one model and compares the answer with the settings.
func examineModel(ctx context.Context, o llm.Options, m llm.Model) checked {
	what := "model " + m.Name
	info, err := llm.Inspect(ctx, o, m)
	var missing *llm.NotFoundError
	var window *llm.WindowError
	var remote *llm.RemoteError
	switch {
	case errors.As(err, &missing):
		return checked{what, "problem", m.Source + "; the server does not have it", llm.HintOf(err)}
	case errors.As(err, &window):
		return checked{what, "problem",
			fmt.Sprintf("%s; it takes %d tokens, and the window is %d", m.Source, info.Context, m.Window), llm.HintOf(err)}
	case errors.As(err, &remote):
		return checked{what, "problem",
			fmt.Sprintf("%s; the server would pass prompts on to %s, which runplan refuses", m.Source, info.Remote),
			llm.HintOf(err)}
	case err != nil:
		return checked{what, "error", m.Source + "; " + err.Error(), ""}
	}
	context := "it takes an unknown number of tokens"
	if info.Context > 0 {
		context = fmt.Sprintf("it takes %d tokens", info.Context)
	}
	if m.Window == 0 {
		return checked{what, "ok", fmt.Sprintf("%s; %s, and no window is configured", m.Source, context),
			"set budget.context_window: without it a prompt has the server's own window"}
	}
	return checked{what, "ok", fmt.Sprintf("%s; %s, the window is %d", m.Source, context, m.Window), ""}
}

// examineModelCommand checks that the program exists. It does not call the program, because a call may cost money.
func (a *App) examineModelCommand(p *project, list []llm.Model) []checked {
	prog := p.config.Models.Command[0]
	shown := checked{"model command", "ok", strings.Join(p.config.Models.Command, " "), ""}
	if strings.ContainsRune(prog, '/') {
		if !filepath.IsAbs(prog) {
			prog = filepath.Join(p.repo.Root, prog)
		}
		if _, err := os.Stat(prog); err != nil {
			shown = checked{shown.What, "problem", err.Error(), "correct models.command"}
		}
	} else if _, err := a.onPath(prog); err != nil {
		shown = checked{shown.What, "problem", prog + " is " + err.Error(), "install " + prog + ", or correct models.command"}
	}
	out := []checked{shown}
	needsName := slices.ContainsFunc(p.config.Models.Command,
		func(arg string) bool { return strings.Contains(arg, "{model}") })
	for _, m := range list {
		switch {
		case m.Name == "" && needsName:
			out = append(out, checked{"model", "problem", m.Source + " is not set, and models.command has {model} in it",
				"set it"})
		case m.Name != "":
			out = append(out, checked{"model " + m.Name, "unknown", m.Source +
				"; whether the program has it is known after the first question", ""})
		}
	}
	return out
}

// models returns the router over the settings and the active adapters of the index (C-04).
func (p *project) models(ctx context.Context) (*llm.Router, error) {
	all, err := p.deployedAdapters(ctx)
	if err != nil && !errors.Is(err, store.ErrOlder) {
		return nil, fmt.Errorf("list the active adapters: %w", err)
	}
	active := map[llm.Stage]string{}
	for _, a := range all {
		if a.Active {
			active[llm.Stage(a.Stage)] = a.Tag
		}
	}
	return llm.NewRouter(p.config.Models,
		llm.RouterOptions{Window: p.config.Budget.ContextWindow, Adapter: func(s llm.Stage) (string, bool) {
			tag, ok := active[s]
			return tag, ok
		}})
}

// modelOutlet reports where questions to models are sent.
func (p *project) modelOutlet() []outlet {
	m := p.config.Models
	if !m.Configured() {
		return nil
	}
	w := outlet{What: "models", Data: "tasks, and the code of the repository that they need",
		When: "plan, solve, retrieve, enrich and reviews by models"}
	if m.Provider == llm.Command {
		w.Name, w.To = m.Command[0], "anywhere: the program decides"
		if len(m.PassEnv) > 0 {
			w.Data += ", and " + strings.Join(m.PassEnv, ", ")
		}
		return []outlet{w}
	}
	local := loopbackURL(m.BaseURL)
	w.Name, w.To, w.Local = "ollama", config.HostOf(m.BaseURL), &local
	if local {
		w.To = "this machine: " + w.To + "; a model that runs elsewhere is refused"
	}
	return []outlet{w}
}

// modelExecutables lists the programs and remote addresses that the repository's own settings use for models.
func (p *project) modelExecutables() []trust.Executable {
	c, file := p.config, p.layout.Config()
	from := func(key string) bool { return c.Source("models."+key) == file }
	switch {
	case c.Models.Provider == llm.Command && (from("provider") || from("command") || from("pass_env")):
		what := trust.Words(c.Models.Command)
		if len(c.Models.PassEnv) > 0 {
			what += " (sees " + strings.Join(c.Models.PassEnv, ", ") + ")"
		}
		return []trust.Executable{{Where: "models", What: what}}
	case c.Models.BaseURL != "" && from("base_url") && !loopbackURL(c.Models.BaseURL):
		return []trust.Executable{{Where: "models", What: "ask " + c.Models.BaseURL}}
	}
	return nil
}

func loopbackURL(address string) bool {
	u, err := url.Parse(address)
	return err == nil && config.Loopback(u.Hostname())
}
