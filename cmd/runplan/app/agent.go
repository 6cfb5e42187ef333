package app

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"sort"
	"strings"
	_ "time/tzdata" // providers state limits in the time zone of the account, which the machine may not know

	"github.com/runplan/runplan/agents"
	"github.com/runplan/runplan/agents/command"
	"github.com/runplan/runplan/agents/price"
	"github.com/runplan/runplan/agents/script"
	"github.com/runplan/runplan/agents/solver"
	"github.com/runplan/runplan/internal/config"
	"github.com/runplan/runplan/internal/proc"
	"github.com/runplan/runplan/internal/store"
	"github.com/runplan/runplan/planparse"
	"github.com/runplan/runplan/routing"
)

// chosenAgent is an agent that is selected but not built yet. Building it needs the helpers of the run.
type chosenAgent struct {
	name  string
	build func(self string, r *proc.Reaper) agents.Agent
	// open builds an agent that needs the journal of the run. It returns a function that closes the agent.
	open func(ctx context.Context, j *store.Journal, r *proc.Reaper) (agents.Agent, func(), error)
}

// start builds the agent for a run.
func (c chosenAgent) start(ctx context.Context, j *store.Journal, self string, r *proc.Reaper) (agents.Agent, func(),
	error) {
	if c.open != nil {
		return c.open(ctx, j, r)
	}
	return c.build(self, r), func() {}, nil
}

// Name is the agent's name.
func (c chosenAgent) Name() string { return c.name }

// auto is the value of --agent that leaves the choice to runplan.
const auto = "auto"

// chooseAgent picks the agent of a run. In order of preference: the requested agent, the configured agent, script for
// a literal plan, the only configured agent, the first installed CLI. It gives the reason if no agent was requested.
func (a *App) chooseAgent(p *project, path string, plan *planparse.Plan, d routing.Decision, asked string) (chosenAgent,
	string, error) {
	name, why := asked, ""
	if name == auto {
		name = ""
	}
	if name == "" {
		if name = p.config.Run.Agent; name != "" {
			why = "from " + p.config.Source("run.agent")
		}
	}
	if name == "" || name == auto {
		var err error
		if name, why, err = a.anyAgent(p, plan, d); err != nil {
			return chosenAgent{}, "", err
		}
	}
	agent, err := a.namedAgent(p, path, name)
	return agent, why, err
}

// namedAgent returns the agent with the given name.
func (a *App) namedAgent(p *project, path, name string) (chosenAgent, error) {
	if name == script.Name {
		return chosenAgent{name: name, build: func(self string, r *proc.Reaper) agents.Agent {
			agent := script.New(path, r)
			agent.Engine = []string{self, testscriptCommand}
			return agent
		}}, nil
	}
	if name == solver.Name {
		return a.solverAgent(context.Background(), p, path)
	}
	c, err := a.commandAgent(p, name)
	if err != nil {
		return chosenAgent{}, err
	}
	return chosenAgent{name: name, build: func(_ string, r *proc.Reaper) agents.Agent {
		c.Reaper = r
		return command.New(c)
	}}, nil
}

// anyAgent picks an agent if no name was given.
func (a *App) anyAgent(p *project, plan *planparse.Plan, d routing.Decision) (name, why string, err error) {
	prose := proseLines(plan, d)
	if len(prose) == 0 {
		return script.Name, "the plan spells everything out, so no model is needed", nil
	}
	switch len(p.config.Agents) {
	case 0:
		for _, preset := range command.Presets() {
			if path, err := a.onPath(preset.Program); err == nil {
				return preset.Name, "none is configured; the first installed one is " + path, nil
			}
		}
	case 1:
		for n := range p.config.Agents {
			return n, "the only configured one", nil
		}
	}
	return "", "", usage(fmt.Errorf("this plan needs an agent: %s", prose[0]),
		"choose one: --agent NAME, or run.agent in .runplan/config.toml, with [agents.NAME] command = [\"program\", "+
			"\"argument\"] or preset = \"claude\"; runplan doctor lists the installed ones")
}

// commandAgent returns the settings of the named agent. Without settings it uses the preset of that name, if its CLI
// is installed.
func (a *App) commandAgent(p *project, name string) (command.Config, error) {
	c, configured := p.config.Agents[name]
	out := command.Config{
		Name: name, Command: c.Command, Env: c.Env, PassEnv: c.PassEnv, Root: p.repo.Root, Environ: a.Environ,
		Permission: c.Permission, Models: c.Models, Sandbox: a.sandboxOf(c),
	}
	presetName := c.Preset
	if !configured {
		presetName = name
	}
	preset, known := command.PresetOf(presetName)
	switch {
	case known:
		out.Preset = &preset
	case !configured:
		return out, a.unknownAgent(p, name)
	}
	if !configured {
		if _, err := a.onPath(preset.Program); err != nil {
			return out, fail(exitCannotRun, fmt.Errorf("agent %s: %s is %w", name, preset.Program, err), "install it: %s",
				preset.Install)
		}
	}
	var err error
	if out.Prices, err = price.Load(a.priceFile()); err != nil {
		return out, usage(err, "the form is described at the top of the built-in table, agents/price/prices.toml")
	}
	return out, nil
}

// errNoAgent reports a name that is neither a configured agent nor a built-in one.
var errNoAgent = errors.New("unknown agent")

func (a *App) unknownAgent(p *project, name string) error {
	known := []string{script.Name, solver.Name}
	for n := range p.config.Agents {
		known = append(known, n)
	}
	for _, preset := range command.Presets() {
		if _, err := a.onPath(preset.Program); err == nil && !slices.Contains(known, preset.Name) {
			known = append(known, preset.Name)
		}
	}
	sort.Strings(known)
	return usage(fmt.Errorf("%w %q; there are: %s", errNoAgent, name, strings.Join(known, ", ")),
		"add it to .runplan/config.toml:\n    [agents.%s]\n    command = [\"program\", \"argument\"]", name)
}

// priceFile returns the path of the user's own price table.
func (a *App) priceFile() string {
	file, err := config.UserFile(a.Getenv)
	if err != nil {
		return "" // without a home folder there is no user price table
	}
	return filepath.Join(filepath.Dir(file), "prices.toml")
}

// proseLines returns the lines of the tasks to run that are prose. Only an agent with a model can do these tasks.
func proseLines(plan *planparse.Plan, d routing.Decision) []string {
	var out []string
	for i, s := range d.Steps {
		if s.Skip != "" {
			continue
		}
		b := &plan.Batches[i]
		for _, t := range b.Tasks {
			if !t.Literal && !t.Done {
				out = append(out, fmt.Sprintf("line %d: task %s is prose", t.Line, strings.TrimSpace(t.Number+" "+t.Title)))
			}
		}
		if len(b.Tasks) == 0 && len(b.Blocks) == 0 {
			out = append(out, fmt.Sprintf("line %d: batch %s is prose", b.StartLine, b.Number))
		}
	}
	return out
}
