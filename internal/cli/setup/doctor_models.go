package setup

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/runplan/runplan/internal/cli"
	"github.com/runplan/runplan/internal/redact"
	"github.com/runplan/runplan/llm"
)

// modelLook is the time limit for asking a server for its version or for facts about a model.
const modelLook = 5 * time.Second

// examineModels checks the configured models. If the server does not answer, the state of its models is unknown, which
// is neither ok nor a problem.
func examineModels(ctx context.Context, a *cli.App, p *cli.Project) []checked {
	m := p.Config.Models
	if !m.Configured() {
		return []checked{{"models", "skipped", "none configured; agents need none",
			"plan, solve, retrieve and enrich need them: a [models] section in .runplan/config.toml"}}
	}
	r, err := p.Models(ctx)
	if err != nil {
		return []checked{{"models", "problem", err.Error(), "runplan config --keys lists what can be set"}}
	}
	list := r.Models()
	if m.Provider == llm.Command {
		return examineModelCommand(a, p, list)
	}
	o := llm.Options{Timeout: modelLook, Redact: redact.New(a.Environ).String}
	server, up := examineServer(ctx, o, m.BaseURL)
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
			out = append(out, checked{"model", "missing", "none is set for " + string(role),
				fmt.Sprintf("set models.%s", role)})
		}
	}
	return out
}

// examineServer asks an Ollama server for its version.
func examineServer(ctx context.Context, o llm.Options, baseURL string) (checked, bool) {
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
			fmt.Sprintf("%s; it takes %d tokens, but the window is %d", m.Source, info.Context, m.Window), llm.HintOf(err)}
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
		return checked{what, "ok", fmt.Sprintf("%s; %s, but no window is configured", m.Source, context),
			"set budget.context_window: without it the server's own window applies"}
	}
	return checked{what, "ok", fmt.Sprintf("%s; %s, the window is %d", m.Source, context, m.Window), ""}
}

// examineModelCommand checks that the program exists. It does not call the program, because a call may cost money.
func examineModelCommand(a *cli.App, p *cli.Project, list []llm.Model) []checked {
	prog := p.Config.Models.Command[0]
	shown := checked{"model command", "ok", strings.Join(p.Config.Models.Command, " "), ""}
	if strings.ContainsRune(prog, '/') {
		if !filepath.IsAbs(prog) {
			prog = filepath.Join(p.Repo.Root, prog)
		}
		if _, err := os.Stat(prog); err != nil {
			shown = checked{shown.What, "problem", err.Error(), "correct models.command"}
		}
	} else if _, err := a.OnPath(prog); err != nil {
		shown = checked{shown.What, "problem", prog + " is " + err.Error(), "install " + prog + ", or correct models.command"}
	}
	out := []checked{shown}
	needsName := slices.ContainsFunc(p.Config.Models.Command,
		func(arg string) bool { return strings.Contains(arg, "{model}") })
	for _, m := range list {
		switch {
		case m.Name == "" && needsName:
			out = append(out, checked{"model", "problem", m.Source + " is not set, but models.command contains {model}",
				"set it"})
		case m.Name != "":
			out = append(out, checked{"model " + m.Name, "unknown", m.Source +
				"; the first question shows whether the program has it", ""})
		}
	}
	return out
}
