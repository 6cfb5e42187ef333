package app

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/pelletier/go-toml/v2"
	"github.com/spf13/cobra"

	agentcommand "github.com/runplan/runplan/agents/command"
	"github.com/runplan/runplan/gates"
	"github.com/runplan/runplan/gates/suite"
	"github.com/runplan/runplan/internal/config"
	"github.com/runplan/runplan/internal/proc"
	"github.com/runplan/runplan/trust"
)

func newInitCommand(a *App) *cobra.Command {
	var agent string
	var command []string
	var models modelFlags
	cmd := &cobra.Command{
		Use:   "init",
		Short: "Inspect the project and write .runplan/config.toml",
		Long: `Look at the project and write .runplan/config.toml: the values you give, and as comments what was found (agents,
linters, tests) with the settings that are changed most. Nothing that you do not give is set. An existing file is never
changed; runplan config set changes one setting of it.` + exitStatus(exitOK, exitUsage, exitCannotRun),
		Example: `  runplan init --agent claude
  runplan init --agent mine --command ./agent.sh --command --fast
  runplan init --ollama http://localhost:11434 --coding-model qwen2.5-coder:3b-instruct --reasoning-model qwen3:4b-instruct-2507
  runplan init --model-command claude --model-command -p --model-command --model --model-command {model} --coding-model opus --reasoning-model sonnet`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			p, err := a.openProject(cmd.Context())
			if err != nil {
				return err
			}
			_, preset := agentcommand.PresetOf(agent)
			if (agent == "") != (len(command) == 0) && agent != "script" && !preset {
				return usage(errors.New("--agent and --command belong together"), "see: runplan init --help")
			}
			if err := models.wrong(); err != nil {
				return usage(err, "see: runplan init --help")
			}
			path := p.layout.Config()
			if _, err := os.Stat(path); err == nil {
				return usage(fmt.Errorf("%s already exists", path),
					"change it with runplan config set KEY VALUE, or with an editor; runplan config shows what holds")
			}
			doc := map[string]any{}
			if agent != "" {
				doc["run"] = map[string]any{"agent": agent}
			}
			if len(command) > 0 {
				doc["agents"] = map[string]any{agent: map[string]any{"command": command}}
			}
			data, err := toml.Marshal(doc)
			if err != nil {
				return err
			}
			section, err := models.section()
			if err != nil {
				return err
			}
			if err := p.layout.Make(); err != nil {
				return fail(exitCannotRun, err, "")
			}
			found := a.foundHere(cmd.Context(), p)
			text := "# Settings of runplan for this repository. runplan config --keys lists what can be set.\n\n" +
				string(data) + section + found.comments(agent != "")
			// Report an error before the file is written.
			if err := config.Check(path, []byte(text)); err != nil {
				return usage(err, "nothing was written")
			}
			if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
				return fail(exitCannotRun, err, "")
			}
			rel, err := filepath.Rel(mustGetwd(), path)
			if err != nil {
				rel = path
			}
			fmt.Fprintf(a.Stdout, "wrote %s\n", rel)
			found.print(a.Stdout)
			return a.trustOwn(p)
		},
	}
	cmd.Flags().StringVar(&agent, "agent", "", "name of the agent to use")
	cmd.Flags().StringArrayVar(&command, "command", nil, "program of the agent, and its arguments (repeat the flag)")
	models.add(cmd.Flags())
	return cmd
}

// trustOwn pins a configuration that the user has just written.
func (a *App) trustOwn(p *project) error {
	var err error
	if p.config, err = a.loadConfig(p.layout.Config()); err != nil {
		return err
	}
	list := p.executables()
	pins, err := a.pins()
	if err != nil || len(list) == 0 {
		return nil // the user will be asked later
	}
	return a.ofUser(pins.Trust(p.repo.Root, trust.Digest(list), time.Now()))
}

func newConfigCommand(a *App) *cobra.Command {
	var asJSONFlag, keys bool
	cmd := &cobra.Command{
		Use:   "config",
		Short: "Show each setting and where its value comes from",
		Long: `Show each setting, its value and its source: a file, a variable, or the default.
The command line wins over variables, those over .runplan/config.toml, that over your own file.` + exitStatus(exitOK, exitUsage),
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if keys && asJSONFlag {
				return asJSON(a.Stdout, config.Describe())
			}
			if keys {
				for _, k := range config.Describe() {
					fmt.Fprintf(a.Stdout, "%-28s %s\n", k.Key, k.Doc)
				}
				return nil
			}
			p, err := a.openProject(cmd.Context())
			if err != nil {
				return err
			}
			values := p.config.Values()
			if asJSONFlag {
				return asJSON(a.Stdout, values)
			}
			var rows [][]string
			for _, v := range values {
				rows = append(rows, []string{v.Key, v.Value, v.Source, v.Env})
			}
			return table(a.Stdout, []string{"key", "value", "from", "variable"}, rows)
		},
	}
	cmd.Flags().BoolVar(&asJSONFlag, "json", false, "print a JSON array")
	cmd.Flags().BoolVar(&keys, "keys", false, "list all settings with their meaning")
	cmd.AddCommand(newConfigSetCommand(a), newConfigUnsetCommand(a))
	return cmd
}

// checked is one line of doctor.
type checked struct {
	What string `json:"what"`
	// ok, missing, problem; error: could not be checked; unknown, skipped; of gates: not configured, off
	Status string `json:"status"`
	Detail string `json:"detail"`
	Fix    string `json:"fix,omitempty"`
}

func newDoctorCommand(a *App) *cobra.Command {
	var asJSONFlag bool
	var agent, confined string
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Check that everything a run needs is present, and say what to do",
		Long: "Look at git, the repository, the settings, the agents, the models and the tools that gates use." +
			doctorAgentHelp + doctorSandboxHelp + exitStatus(exitOK, exitFailed, exitUsage, exitCannotRun, exitInterrupted),
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if agent != "" {
				return a.tryAgent(cmd.Context(), agent, asJSONFlag)
			}
			if confined != "" {
				return a.trySandbox(cmd.Context(), confined, asJSONFlag)
			}
			list := a.examine(cmd)
			bad, unseen := 0, 0
			var rows [][]string
			for _, c := range list {
				switch c.Status {
				case "problem":
					bad++
				case "error":
					unseen++
				}
				rows = append(rows, []string{c.Status, c.What, c.Detail, c.Fix})
			}
			var err error
			if asJSONFlag {
				err = asJSON(a.Stdout, list)
			} else {
				err = table(a.Stdout, []string{"", "what", "found", "to do"}, rows)
			}
			if err == nil && bad > 0 {
				err = fail(exitFailed, fmt.Errorf("%d problem(s)", bad), "")
			}
			if err == nil && unseen > 0 {
				err = fail(exitCannotRun, fmt.Errorf("%d item(s) could not be checked", unseen), "")
			}
			return err
		},
	}
	cmd.Flags().BoolVar(&asJSONFlag, "json", false, "print a JSON array")
	cmd.Flags().StringVar(&agent, "agent", "",
		"try an agent in a scratch repository: it answers a question and writes a file")
	cmd.Flags().StringVar(&confined, "sandbox", "",
		"try the sandbox of an agent: what must work inside it, and what must not")
	return cmd
}

// examineGates reports for each gate of the tree whether its tools are installed. It runs nothing of the tree.
func (a *App) examineGates(ctx context.Context, p *project) []checked {
	var infos []gates.Info
	for _, g := range suite.All(p.repo.Root, p.gateSettings("", false)) {
		infos = append(infos, g.Info())
	}
	var out []checked
	for i, r := range gates.Examine(ctx, p.repo.Root, a.Environ, infos) {
		found, fix := foundTools(r)
		if command := infos[i].Command; r.State != gates.StateOff && command != "" {
			found = strings.TrimSuffix(command+": "+found, ": ")
		}
		out = append(out, checked{"gate " + infos[i].Name, string(r.State), found, fix})
	}
	return out
}

// examine runs the checks of doctor. Only what would stop a run is a problem.
func (a *App) examine(cmd *cobra.Command) []checked {
	var out []checked
	add := func(what, status, detail, fix string) { out = append(out, checked{what, status, detail, fix}) }
	ctx := cmd.Context()
	add("runplan", "ok", version()+", "+runtime.GOOS+"/"+runtime.GOARCH, "")
	if v, err := proc.Output(ctx, proc.Cmd{Args: []string{"git", "--version"}, Env: a.Environ}); err != nil {
		add("git", "problem", err.Error(), "install git 2.30 or newer")
		return out
	} else {
		add("git", "ok", strings.TrimSpace(string(v)), "")
	}
	p, err := a.openProject(ctx)
	if err != nil {
		_, hint := codeOf(err)
		add("repository", "problem", err.Error(), hint)
		return out
	}
	add("repository", "ok", p.repo.Root, "")
	if _, _, err := p.repo.Head(ctx); err != nil {
		add("commits", "problem", err.Error(), "git add -A && git commit -m start")
	}
	if err := p.repo.Ident(ctx); err != nil {
		add("author", "problem", err.Error(), "git config user.name and user.email")
	} else {
		add("author", "ok", "user.name and user.email are set", "")
	}
	if err := a.signing(ctx, p); err != nil {
		_, hint := codeOf(err)
		add("signing", "problem", err.Error(), hint)
	}
	if free, err := freeMiB(p.repo.Root); err != nil {
		add("disk", "problem", err.Error(), "")
	} else if free < uint64(p.config.Run.MinFreeMB) {
		add("disk", "problem", fmt.Sprintf("%d MiB free", free), "runplan gc, or free some space")
	} else {
		add("disk", "ok", fmt.Sprintf("%d MiB free", free), "")
	}
	add("agent script", "ok", "embedded", "")
	out = append(out, a.examineAgents(ctx, p)...)
	out = append(out, a.examineModels(ctx, p)...)
	out = append(out, a.examineGates(ctx, p)...)
	for _, tool := range []string{"bash", "gh", "ast-grep"} {
		if path, err := a.onPath(tool); err != nil {
			add(tool, "missing", err.Error(),
				map[string]string{"bash": "install bash: literal plans and shell gates need it", "gh": "needed for --land pr only",
					"ast-grep": "optional"}[tool])
		} else {
			add(tool, "ok", path, "")
		}
	}
	return out
}
