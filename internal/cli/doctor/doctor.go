package doctor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/runplan/runplan/gates"
	"github.com/runplan/runplan/gates/suite"
	"github.com/runplan/runplan/internal/cli"
	"github.com/runplan/runplan/internal/cli/judge"
	"github.com/runplan/runplan/internal/cli/prepare"
	"github.com/runplan/runplan/internal/lists"
	"github.com/runplan/runplan/internal/proc"
	"github.com/runplan/runplan/internal/redact"
	"github.com/runplan/runplan/internal/ui"
	"github.com/runplan/runplan/llm"
)

// Check is the result of one check: what was checked, and how to repair it.
type Check struct {
	What string `json:"what"`
	// ok, missing, problem; error: could not be checked; unknown, skipped; of gates: not configured, off
	Status string `json:"status"`
	Detail string `json:"detail"`
	Fix    string `json:"fix,omitempty"`
}

// NewDoctorCommand returns the command doctor.
func NewDoctorCommand(a *cli.App) *cobra.Command {
	var agent, confined string
	return a.Command(cli.With{Exits: "0 1 2 5 130", JSON: "a JSON array"}, &cobra.Command{
		Use:   "doctor",
		Short: "Check the requirements of a run, and show how to meet them",
		Long: "Check git, the repository, the settings, the agents, the models and the tools of gates." +
			doctorAgentHelp + doctorSandboxHelp,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if agent != "" {
				return tryAgent(cmd.Context(), a, agent)
			}
			if confined != "" {
				return trySandbox(cmd.Context(), a, confined)
			}
			list := examine(a, cmd)
			bad, unseen := 0, 0
			var rows ui.Rows
			for _, c := range list {
				switch c.Status {
				case "problem":
					bad++
				case "error":
					unseen++
				}
				rows.Add(c.Status, c.What, c.Detail, c.Fix)
			}
			err := a.PrintTable(list, "", []string{"", "what", "found", "to do"}, rows)
			if err == nil && bad > 0 {
				err = cli.Fail(cli.ExitFailed, fmt.Errorf("%d problem(s)", bad), "")
			}
			if err == nil && unseen > 0 {
				err = cli.Fail(cli.ExitCannotRun, fmt.Errorf("%d item(s) could not be checked", unseen), "")
			}
			return err
		},
	}, func(f *cli.Flags) {
		f.StringVar(&agent, "agent", "",
			"try an agent in a scratch repository: it answers a question and writes a file")
		f.StringVar(&confined, "sandbox", "",
			"try the sandbox of an agent: what must work inside, and what must not")
	})
}

// ExamineGates reports for each gate of the tree whether its tools are installed. It runs nothing of the tree.
func ExamineGates(ctx context.Context, p *cli.Project) []Check {
	settings := judge.GateSettings(p, false)
	settings.Found = judge.Detected(ctx, p.Repo)
	infos := lists.Map(suite.All(p.Repo.Root, settings), gates.Gate.Info)
	var out []Check
	for i, r := range gates.Examine(ctx, p.Repo.Root, p.Environ, infos) {
		found, fix := judge.FoundTools(r)
		if command := infos[i].Command; r.State != gates.StateOff && command != "" {
			found = strings.TrimSuffix(command+": "+found, ": ")
		}
		out = append(out, Check{"gate " + infos[i].Name, string(r.State), found, fix})
	}
	return out
}

// examine runs the checks of doctor. Only findings that would stop a run are problems.
func examine(a *cli.App, cmd *cobra.Command) []Check {
	var out []Check
	add := func(what, status, detail, fix string) { out = append(out, Check{what, status, detail, fix}) }
	// found adds an item that is a problem if there is an error.
	found := func(what, detail string, err error, fix string) {
		if err == nil {
			add(what, "ok", detail, "")
			return
		}
		_, hint := cli.CodeOf(err)
		add(what, "problem", err.Error(), cmp.Or(fix, hint))
	}
	ctx := cmd.Context()
	add("runplan", "ok", cli.Version()+", "+runtime.GOOS+"/"+runtime.GOARCH, "")
	v, err := proc.Output(ctx, proc.Cmd{Args: []string{"git", "--version"}, Env: a.Environ})
	found("git", strings.TrimSpace(string(v)), err, "install git 2.30 or newer")
	if err != nil {
		return out
	}
	p, err := a.OpenProject(ctx)
	if err != nil {
		found("repository", "", err, "")
		return out
	}
	add("repository", "ok", p.Repo.Root, "")
	if _, _, err := p.Repo.Head(ctx); err != nil {
		found("commits", "", err, "git add -A && git commit -m start")
	}
	found("author", "user.name and user.email are set", p.Repo.Ident(ctx), "git config user.name and user.email")
	if err := p.Signing(ctx); err != nil {
		found("signing", "", err, "")
	}
	if free, err := prepare.FreeMiB(p.Repo.Root); err == nil && free < uint64(p.Config.Run.MinFreeMB) {
		add("disk", "problem", fmt.Sprintf("%d MiB free", free), "runplan gc, or free some space")
	} else {
		found("disk", fmt.Sprintf("%d MiB free", free), err, "")
	}
	found("temporary files", os.TempDir(), prepare.TempFolder(), "")
	add("agent script", "ok", "embedded", "")
	out = append(out, examineAgents(ctx, p)...)
	out = append(out, examineModels(ctx, p)...)
	out = append(out, ExamineGates(ctx, p)...)
	for _, tool := range []string{"bash", "gh", "ast-grep"} {
		if path, err := a.OnPath(tool); err != nil {
			add(tool, "missing", err.Error(),
				map[string]string{"bash": "install bash: literal plans and shell gates need it", "gh": "needed for --land pr only",
					"ast-grep": "optional"}[tool])
		} else {
			add(tool, "ok", path, "")
		}
	}
	return out
}

// modelLook is the time limit for asking a server for its version or for facts about a model.
const modelLook = 5 * time.Second

// examineModels checks the configured models. If the server does not answer, the state of its models is unknown, which
// is neither ok nor a problem.
func examineModels(ctx context.Context, p *cli.Project) []Check {
	m := p.Config.Models
	if !m.Configured() {
		return []Check{{"models", "skipped", "none configured; agents need none",
			"plan, solve, retrieve and enrich need them: a [models] section in .runplan/config.toml"}}
	}
	r, err := p.Models(ctx)
	if err != nil {
		return []Check{{"models", "problem", err.Error(), "runplan config --keys lists what can be set"}}
	}
	list := r.Models()
	if m.Provider == llm.Command {
		return examineModelCommand(p, list)
	}
	o := llm.Options{Timeout: modelLook, Redact: redact.New(p.Environ).String}
	server, up := examineServer(ctx, o, m.BaseURL)
	out := []Check{server}
	for _, model := range list {
		if !up {
			out = append(out, Check{"model " + model.Name, "unknown", model.Source + "; the server does not answer", ""})
			continue
		}
		out = append(out, examineModel(ctx, o, model))
	}
	if e := llm.EmbeddingModel(m); e.Name != "" {
		shown := Check{"model " + e.Name, "unknown", e.Source + "; the server does not answer", ""}
		if up {
			shown = examineModel(ctx, o, e)
		}
		if shown.Status == "ok" { // it has no window of its own
			shown.Detail, shown.Fix = e.Source+"; index makes vectors with it, and retrieval compares them", ""
		}
		out = append(out, shown)
	}
	for _, role := range []llm.Role{llm.Coding, llm.Reasoning} {
		if m.Coding == "" && role == llm.Coding || m.Reasoning == "" && role == llm.Reasoning {
			out = append(out, Check{"model", "missing", "none is set for " + string(role),
				fmt.Sprintf("set models.%s", role)})
		}
	}
	return out
}

func examineServer(ctx context.Context, o llm.Options, baseURL string) (Check, bool) {
	v, err := llm.ServerVersion(ctx, o, baseURL)
	var down *llm.DownError
	switch {
	case errors.As(err, &down):
		return Check{"model server", "problem", fmt.Sprintf("%s cannot be reached (%v)", baseURL, down.Err),
			llm.HintOf(err)}, false
	case errors.As(err, new(*llm.TimeoutError)):
		return Check{"model server", "error", fmt.Sprintf("%s did not report its version within %s", baseURL, modelLook),
			"try again, or look at the server's log"}, false
	case err != nil:
		return Check{"model server", "error", err.Error(), "is models.base_url an Ollama server?"}, false
	}
	return Check{"model server", "ok", fmt.Sprintf("Ollama %s at %s", v, baseURL), ""}, true
}

// examineModel asks the server about one model and compares the answer with the settings.
func examineModel(ctx context.Context, o llm.Options, m llm.Model) Check {
	what := "model " + m.Name
	info, err := llm.Inspect(ctx, o, m)
	var window *llm.WindowError
	switch {
	case errors.As(err, new(*llm.NotFoundError)):
		return Check{what, "problem", m.Source + "; the server does not have it", llm.HintOf(err)}
	case errors.As(err, &window):
		return Check{what, "problem",
			fmt.Sprintf("%s; it takes %d tokens, but the window is %d", m.Source, info.Context, m.Window), llm.HintOf(err)}
	case errors.As(err, new(*llm.RemoteError)):
		return Check{what, "problem",
			fmt.Sprintf("%s; the server would pass prompts on to %s, which runplan refuses", m.Source, info.Remote),
			llm.HintOf(err)}
	case err != nil:
		return Check{what, "error", m.Source + "; " + err.Error(), ""}
	}
	context := "it takes an unknown number of tokens"
	if info.Context > 0 {
		context = fmt.Sprintf("it takes %d tokens", info.Context)
	}
	if m.Window == 0 {
		return Check{what, "ok", fmt.Sprintf("%s; %s, but no window is configured", m.Source, context),
			"set budget.context_window: without it the server's own window applies"}
	}
	return Check{what, "ok", fmt.Sprintf("%s; %s, the window is %d", m.Source, context, m.Window), ""}
}

// examineModelCommand checks that the program exists. It does not call the program, because a call may cost money.
func examineModelCommand(p *cli.Project, list []llm.Model) []Check {
	prog := p.Config.Models.Command[0]
	shown := Check{"model command", "ok", strings.Join(p.Config.Models.Command, " "), ""}
	if err := p.HasProgram(p.Repo.Root, prog); err != nil {
		fix := "correct models.command"
		if !strings.ContainsRune(prog, '/') {
			fix = "install " + prog + ", or " + fix
		}
		shown = Check{shown.What, "problem", err.Error(), fix}
	}
	out := []Check{shown}
	needsName := slices.ContainsFunc(p.Config.Models.Command,
		func(arg string) bool { return strings.Contains(arg, "{model}") })
	for _, m := range list {
		switch {
		case m.Name == "" && needsName:
			out = append(out, Check{"model", "problem", m.Source + " is not set, but models.command contains {model}",
				"set it"})
		case m.Name != "":
			out = append(out, Check{"model " + m.Name, "unknown", m.Source +
				"; the first question shows whether the program has it", ""})
		}
	}
	return out
}
