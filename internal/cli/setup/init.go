// Package setup holds the commands that set up and maintain runplan: init, config, doctor, gc, explain, demo and
// version.
package setup

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/pelletier/go-toml/v2"
	"github.com/spf13/cobra"

	agentcommand "github.com/runplan/runplan/agents/command"
	"github.com/runplan/runplan/internal/cli"
	"github.com/runplan/runplan/internal/config"
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
found (agents, linters, tests) with the settings that are changed most often. Only values that you give are set. An existing
file is never changed; runplan config set changes one setting of it.` + cli.ExitStatus(cli.ExitOK, cli.ExitUsage, cli.ExitCannotRun),
		Example: `  runplan init --agent claude
  runplan init --agent mine --command ./agent.sh --command --fast
  runplan init --ollama http://localhost:11434 --coding-model qwen2.5-coder:3b-instruct --reasoning-model qwen3:4b-instruct-2507
  runplan init --model-command claude --model-command -p --model-command --model --model-command {model} --coding-model opus --reasoning-model sonnet`,
		Args: cobra.NoArgs,
		RunE: a.InProject(func(ctx context.Context, p *cli.Project, _ []string) error {
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
			found := foundHere(ctx, a, p)
			text := "# Settings of runplan for this repository. runplan config --keys lists what can be set.\n\n" +
				string(data) + section + found.comments(agent != "")
			// Report an error before the file is written.
			if err := config.Check(path, []byte(text)); err != nil {
				return cli.Usage(err, "nothing was written")
			}
			if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
				return cli.Fail(cli.ExitCannotRun, err, "")
			}
			fmt.Fprintf(a.Stdout, "wrote %s\n", p.Rel(path))
			found.print(a.Stdout)
			return trustOwn(a, p)
		}),
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
