// Package setup holds the commands that set up and maintain runplan: init, config, doctor, gc, explain, demo and
// version.
package setup

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
	"github.com/runplan/runplan/internal/cli"
	"github.com/runplan/runplan/internal/cli/judge"
	"github.com/runplan/runplan/internal/cli/prepare"
	"github.com/runplan/runplan/internal/config"
	"github.com/runplan/runplan/internal/proc"
	"github.com/runplan/runplan/trust"
)

// NewInitCommand returns the command init.
func NewInitCommand(a *cli.App) *cobra.Command {
	var agent string
	var command []string
	var models modelFlags
	cmd := &cobra.Command{
		Use:   "init",
		Short: "Inspect the project and write .runplan/config.toml",
		Long: `Inspect the project and write .runplan/config.toml: the values that you give, and as comments what was
found (agents, linters, tests) with the settings that are changed most. Only values that you give are set. An existing
file is never changed; runplan config set changes one setting of it.` + cli.ExitStatus(cli.ExitOK, cli.ExitUsage, cli.ExitCannotRun),
		Example: `  runplan init --agent claude
  runplan init --agent mine --command ./agent.sh --command --fast
  runplan init --ollama http://localhost:11434 --coding-model qwen2.5-coder:3b-instruct --reasoning-model qwen3:4b-instruct-2507
  runplan init --model-command claude --model-command -p --model-command --model --model-command {model} --coding-model opus --reasoning-model sonnet`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			p, err := a.OpenProject(cmd.Context())
			if err != nil {
				return err
			}
			_, preset := agentcommand.PresetOf(agent)
			if (agent == "") != (len(command) == 0) && agent != "script" && !preset {
				return cli.Usage(errors.New("--agent and --command require each other"), "see: runplan init --help")
			}
			if err := models.wrong(); err != nil {
				return cli.Usage(err, "see: runplan init --help")
			}
			path := p.Layout.Config()
			if _, err := os.Stat(path); err == nil {
				return cli.Usage(fmt.Errorf("%s already exists", path),
					"change it with runplan config set KEY VALUE, or with an editor; runplan config shows the effective values")
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
			if err := p.Layout.Make(); err != nil {
				return cli.Fail(cli.ExitCannotRun, err, "")
			}
			found := foundHere(cmd.Context(), a, p)
			text := "# Settings of runplan for this repository. runplan config --keys lists what can be set.\n\n" +
				string(data) + section + found.comments(agent != "")
			// Report an error before the file is written.
			if err := config.Check(path, []byte(text)); err != nil {
				return cli.Usage(err, "nothing was written")
			}
			if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
				return cli.Fail(cli.ExitCannotRun, err, "")
			}
			rel, err := filepath.Rel(cli.MustGetwd(), path)
			if err != nil {
				rel = path
			}
			fmt.Fprintf(a.Stdout, "wrote %s\n", rel)
			found.print(a.Stdout)
			return trustOwn(a, p)
		},
	}
	cmd.Flags().StringVar(&agent, "agent", "", "name of the agent to use")
	cmd.Flags().StringArrayVar(&command, "command", nil, "program of the agent, and its arguments (repeat the flag)")
	models.add(cmd.Flags())
	return cmd
}

// trustOwn pins a configuration that the user has just written.
func trustOwn(a *cli.App, p *cli.Project) error {
	var err error
	if p.Config, err = a.LoadConfig(p.Layout.Config()); err != nil {
		return err
	}
	list := p.Executables()
	pins, err := a.Pins()
	if err != nil || len(list) == 0 {
		return nil // the user will be asked later
	}
	return a.OfUser(pins.Trust(p.Repo.Root, trust.Digest(list), time.Now()))
}

// NewConfigCommand returns the command config.
func NewConfigCommand(a *cli.App) *cobra.Command {
	var asJSONFlag, keys bool
	cmd := &cobra.Command{
		Use:   "config",
		Short: "Show each setting and where its value comes from",
		Long: `Show each setting, its value and its source: a file, a variable, or the default.
The command line overrides variables, variables override .runplan/config.toml, and that overrides your own file.` + cli.ExitStatus(cli.ExitOK, cli.ExitUsage),
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if keys && asJSONFlag {
				return cli.AsJSON(a.Stdout, config.Describe())
			}
			if keys {
				for _, k := range config.Describe() {
					fmt.Fprintf(a.Stdout, "%-28s %s\n", k.Key, k.Doc)
				}
				return nil
			}
			p, err := a.OpenProject(cmd.Context())
			if err != nil {
				return err
			}
			values := p.Config.Values()
			if asJSONFlag {
				return cli.AsJSON(a.Stdout, values)
			}
			var rows [][]string
			for _, v := range values {
				rows = append(rows, []string{v.Key, v.Value, v.Source, v.Env})
			}
			return cli.Table(a.Stdout, []string{"key", "value", "from", "variable"}, rows)
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

// NewDoctorCommand returns the command doctor.
func NewDoctorCommand(a *cli.App) *cobra.Command {
	var asJSONFlag bool
	var agent, confined string
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Check the requirements of a run, and show how to meet them",
		Long: "Check git, the repository, the settings, the agents, the models and the tools of gates." +
			doctorAgentHelp + doctorSandboxHelp +
			cli.ExitStatus(cli.ExitOK, cli.ExitFailed, cli.ExitUsage, cli.ExitCannotRun, cli.ExitInterrupted),
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if agent != "" {
				return tryAgent(cmd.Context(), a, agent, asJSONFlag)
			}
			if confined != "" {
				return trySandbox(cmd.Context(), a, confined, asJSONFlag)
			}
			list := examine(a, cmd)
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
				err = cli.AsJSON(a.Stdout, list)
			} else {
				err = cli.Table(a.Stdout, []string{"", "what", "found", "to do"}, rows)
			}
			if err == nil && bad > 0 {
				err = cli.Fail(cli.ExitFailed, fmt.Errorf("%d problem(s)", bad), "")
			}
			if err == nil && unseen > 0 {
				err = cli.Fail(cli.ExitCannotRun, fmt.Errorf("%d item(s) could not be checked", unseen), "")
			}
			return err
		},
	}
	cmd.Flags().BoolVar(&asJSONFlag, "json", false, "print a JSON array")
	cmd.Flags().StringVar(&agent, "agent", "",
		"try an agent in a scratch repository: it answers a question and writes a file")
	cmd.Flags().StringVar(&confined, "sandbox", "",
		"try the sandbox of an agent: what must work inside, and what must not")
	return cmd
}

// examineGates reports for each gate of the tree whether its tools are installed. It runs nothing of the tree.
func examineGates(ctx context.Context, a *cli.App, p *cli.Project) []checked {
	settings := judge.GateSettings(p, "", false)
	settings.Found = judge.Detected(ctx, p.Repo)
	var infos []gates.Info
	for _, g := range suite.All(p.Repo.Root, settings) {
		infos = append(infos, g.Info())
	}
	var out []checked
	for i, r := range gates.Examine(ctx, p.Repo.Root, a.Environ, infos) {
		found, fix := judge.FoundTools(r)
		if command := infos[i].Command; r.State != gates.StateOff && command != "" {
			found = strings.TrimSuffix(command+": "+found, ": ")
		}
		out = append(out, checked{"gate " + infos[i].Name, string(r.State), found, fix})
	}
	return out
}

// examine runs the checks of doctor. Only findings that would stop a run are problems.
func examine(a *cli.App, cmd *cobra.Command) []checked {
	var out []checked
	add := func(what, status, detail, fix string) { out = append(out, checked{what, status, detail, fix}) }
	ctx := cmd.Context()
	add("runplan", "ok", cli.Version()+", "+runtime.GOOS+"/"+runtime.GOARCH, "")
	if v, err := proc.Output(ctx, proc.Cmd{Args: []string{"git", "--version"}, Env: a.Environ}); err != nil {
		add("git", "problem", err.Error(), "install git 2.30 or newer")
		return out
	} else {
		add("git", "ok", strings.TrimSpace(string(v)), "")
	}
	p, err := a.OpenProject(ctx)
	if err != nil {
		_, hint := cli.CodeOf(err)
		add("repository", "problem", err.Error(), hint)
		return out
	}
	add("repository", "ok", p.Repo.Root, "")
	if _, _, err := p.Repo.Head(ctx); err != nil {
		add("commits", "problem", err.Error(), "git add -A && git commit -m start")
	}
	if err := p.Repo.Ident(ctx); err != nil {
		add("author", "problem", err.Error(), "git config user.name and user.email")
	} else {
		add("author", "ok", "user.name and user.email are set", "")
	}
	if err := a.Signing(ctx, p); err != nil {
		_, hint := cli.CodeOf(err)
		add("signing", "problem", err.Error(), hint)
	}
	if free, err := prepare.FreeMiB(p.Repo.Root); err != nil {
		add("disk", "problem", err.Error(), "")
	} else if free < uint64(p.Config.Run.MinFreeMB) {
		add("disk", "problem", fmt.Sprintf("%d MiB free", free), "runplan gc, or free some space")
	} else {
		add("disk", "ok", fmt.Sprintf("%d MiB free", free), "")
	}
	add("agent script", "ok", "embedded", "")
	out = append(out, examineAgents(ctx, a, p)...)
	out = append(out, examineModels(ctx, a, p)...)
	out = append(out, examineGates(ctx, a, p)...)
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
