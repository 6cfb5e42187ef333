// Package setup holds the commands that set up, explain and maintain an installation: init, config, gc, explain, demo
// and version. Package doctor checks it.
package setup

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/pelletier/go-toml/v2"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	agentcommand "github.com/runplan/runplan/agents/command"
	"github.com/runplan/runplan/gates"
	"github.com/runplan/runplan/internal/atomicfile"
	"github.com/runplan/runplan/internal/cli"
	"github.com/runplan/runplan/internal/cli/doctor"
	"github.com/runplan/runplan/internal/config"
	"github.com/runplan/runplan/internal/lists"
	"github.com/runplan/runplan/internal/ui"
	"github.com/runplan/runplan/trust"
)

// NewInitCommand returns the command init.
func NewInitCommand(a *cli.App) *cobra.Command {
	var agent string
	var command []string
	var models modelFlags
	return a.Command(cli.With{Exits: "0 2 5"}, &cobra.Command{
		Use:   "init",
		Short: "Inspect the project and write .runplan/config.toml",
		Long: `Inspect the project and write .runplan/config.toml: the values that you give, and as comments what was
found (agents, linters, tests) with the settings that are changed most often. Only values that you give are set. An existing
file is never changed; runplan config set changes one setting of it.`,
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
				return err
			}
			found := foundHere(ctx, p)
			text := "# Settings of runplan for this repository. runplan config --keys lists what can be set.\n\n" +
				string(data) + section + found.comments(agent != "")
			// Report an error before the file is written.
			if err := config.Check(path, []byte(text)); err != nil {
				return cli.Usage(err, "nothing was written")
			}
			if err := atomicfile.Write(path, []byte(text), 0o644); err != nil {
				return err
			}
			fmt.Fprintf(a.Stdout, "wrote %s\n", cli.Rel(path))
			found.print(a.Stdout)
			return trustOwn(p)
		}),
	}, func(f *cli.Flags) {
		f.StringVar(&agent, "agent", "", "name of the agent to use")
		f.StringArrayVar(&command, "command", nil, "program of the agent, and its arguments (repeat the flag)")
		models.add(f)
	})
}

// trustOwn pins a configuration that the user has just written.
func trustOwn(p *cli.Project) error {
	var err error
	if p.Config, err = p.LoadConfig(p.Layout.Config()); err != nil {
		return err
	}
	list := p.Executables()
	pins, err := p.Pins()
	if err != nil || len(list) == 0 {
		return nil // the user will be asked later
	}
	return p.OfUser(pins.Trust(p.Repo.Root, trust.Digest(list), time.Now()))
}

// foundInProject holds the findings of init: agents on this machine, and gates for the project.
type foundInProject struct {
	agents []string
	gates  []doctor.Check // of linters and tests, as doctor lists them
	remote bool           // whether the repository has a remote
	tests  string         // the command that probably runs the tests, if there is no gate for them
}

func foundHere(ctx context.Context, p *cli.Project) foundInProject {
	var f foundInProject
	f.agents = lists.Map(p.Installed(), func(preset agentcommand.Preset) string { return preset.Name })
	remote, err := p.Repo.PushRemote(ctx, "")
	f.remote = err == nil && remote != ""
	_, f.tests = gates.ProposedTests(p.Repo.Root)
	for _, c := range doctor.ExamineGates(ctx, p) {
		name := strings.TrimPrefix(c.What, "gate ")
		if !strings.HasPrefix(name, "tests:") && !strings.HasPrefix(name, "lint:") && !strings.HasPrefix(name, "types:") {
			continue
		}
		if state := gates.State(c.Status); state != gates.StateOff && state != gates.StateUnset {
			c.What = name
			f.gates = append(f.gates, c)
		}
	}
	return f
}

// comments returns the proposals for the file as comments, so that the defaults apply until a person decides.
func (f foundInProject) comments(withAgent bool) string {
	var b strings.Builder
	line := func(key, value, what string) { fmt.Fprintf(&b, "#   %-20s %-10s %s\n", key, value, what) }
	b.WriteString("\n# Proposals; to accept one: runplan config set KEY VALUE\n")
	switch {
	case withAgent:
	case len(f.agents) > 0:
		line("run.agent", f.agents[0], "the agent that executes plans; installed: "+strings.Join(f.agents, ", "))
	default:
		line("run.agent", "script", "executes literal plans; no other agent was found")
	}
	land := "ff" // a pull request needs a remote
	if f.remote {
		land = "pr"
	}
	line("run.land", land, "branch, ff or pr: the destination of the work")
	line("run.max_cost_usd", "5", "cost limit of a run, in US dollars")
	line("team.enabled", "true", "concurrent batches, if the plan allows it")
	if !f.tested() {
		fmt.Fprintf(&b, "\n# No tests were found. To run yours, correct the command and remove the # signs:\n# [[gates.command]]\n"+
			"# name = \"tests\"\n# run = %q\n", cmp.Or(f.tests, "make check"))
	}
	if len(f.gates) == 0 {
		return b.String()
	}
	b.WriteString("\n# Gates for this project; to turn one off, use gates.disable:\n")
	for _, g := range f.gates {
		fmt.Fprintf(&b, "#   %-20s %s%s\n", g.What, ui.Sanitize(g.Detail), missing(g))
	}
	return b.String()
}

// tested reports whether a gate runs tests.
func (f foundInProject) tested() bool {
	return slices.ContainsFunc(f.gates, func(c doctor.Check) bool { return gates.IsSuite(c.What) })
}

func missing(c doctor.Check) string {
	if gates.State(c.Status) == gates.StateMissing && c.Fix != "" {
		return " (missing: " + ui.Sanitize(c.Fix) + ")"
	}
	return ""
}

func (f foundInProject) print(w io.Writer) {
	if len(f.agents) > 0 {
		fmt.Fprintf(w, "agents found: %s\n", strings.Join(f.agents, ", "))
	}
	for _, g := range f.gates {
		fmt.Fprintf(w, "gate %-14s %s%s\n", g.What, ui.Sanitize(g.Detail), missing(g))
	}
	if !f.tested() {
		fmt.Fprintln(w, "no tests found; to run yours, see [[gates.command]] in the file")
	}
	fmt.Fprintln(w, "next: runplan check PLAN.md, then runplan PLAN.md")
}

// modelFlags holds the flags of init for models. Init writes only values that were given (CFG-01).
type modelFlags struct {
	coding, reasoning, ollama string
	command                   []string
	window, reserved          int
}

func (f *modelFlags) add(to *pflag.FlagSet) {
	to.StringVar(&f.coding, "coding-model", "", "model that writes code, such as qwen2.5-coder:3b-instruct")
	to.StringVar(&f.reasoning, "reasoning-model", "", "model that plans and judges, such as qwen3:4b-instruct-2507")
	to.StringVar(&f.ollama, "ollama", "", "URL of the Ollama server with the models, such as http://localhost:11434")
	to.StringArrayVar(&f.command, "model-command", nil,
		"instead of Ollama: program that answers, and its arguments (repeat the flag)")
	to.IntVar(&f.window, "context-window", 0, "context window: tokens of a prompt and its answer together")
	to.IntVar(&f.reserved, "reserved-tokens", 0,
		"tokens of the window reserved for instructions, task, retries and answer")
}

// wrong reports flags that exclude each other or need others.
func (f *modelFlags) wrong() error {
	named := f.coding != "" || f.reasoning != ""
	switch {
	case len(f.command) > 0 && f.ollama != "":
		return errors.New("--ollama and --model-command exclude each other")
	case named && f.ollama == "" && len(f.command) == 0:
		return errors.New("--coding-model and --reasoning-model need --ollama or --model-command")
	case f.ollama != "" && !named:
		return errors.New("--ollama needs --coding-model, --reasoning-model or both")
	case f.window < 0 || f.reserved < 0 || (f.window == 0) != (f.reserved == 0):
		return errors.New("--context-window and --reserved-tokens require each other, both above 0")
	}
	return nil
}

// section returns the text for config.toml, with a comment on each key.
func (f *modelFlags) section() (string, error) {
	var b strings.Builder
	var errs []error
	line := func(why, key string, value any) {
		text, err := toml.Marshal(map[string]any{key: value})
		if err == nil {
			fmt.Fprintf(&b, "# %s\n%s", why, text)
		}
		errs = append(errs, err)
	}
	if f.ollama != "" || len(f.command) > 0 {
		b.WriteString("\n# Language models for plan, solve, retrieve, enrich and reviews. See docs/models.md.\n[models]\n")
	}
	if len(f.command) > 0 {
		line("A program answers: it gets the question on its standard input; {model} in an argument is replaced.",
			"provider", "command")
		line("The program and its arguments.", "command", f.command)
	}
	if f.ollama != "" {
		line("The Ollama server. A local one sends no data elsewhere.", "base_url", f.ollama)
	}
	if f.coding != "" {
		line("Writes code.", "coding", f.coding)
	}
	if f.reasoning != "" {
		line("Plans and judges.", "reasoning", f.reasoning)
	}
	if f.ollama != "" || len(f.command) > 0 {
		b.WriteString(
			"# Windows, temperatures, max_tokens, timeout, retries and margin: runplan config --keys.\n# A single stage can " +
				"have its own model:\n# [models.overrides]\n# scope = \"name:tag\"\n")
	}
	if f.window > 0 {
		b.WriteString("\n[budget]\n")
		line("Maximum number of tokens of a prompt and its answer together. The model must support it.",
			"context_window", f.window)
		line("The part of them for instructions, the task, retries and the answer; the rest is for context.",
			"reserved_tokens", f.reserved)
	}
	return b.String(), errors.Join(errs...)
}
