package main

import (
	"fmt"
	"sort"
	"strings"

	"github.com/runplan/runplan/agents"
	"github.com/runplan/runplan/agents/command"
	"github.com/runplan/runplan/agents/script"
	"github.com/runplan/runplan/internal/proc"
	"github.com/runplan/runplan/planparse"
	"github.com/runplan/runplan/routing"
)

// chosenAgent is an agent that is decided on but not built yet: it needs the run's own helpers.
type chosenAgent struct {
	name  string
	build func(self string, r *proc.Reaper) agents.Agent
}

// Name is the agent's name.
func (c chosenAgent) Name() string { return c.name }

// chooseAgent picks the agent: asked for, else configured, else script for a literal plan, else the only
// one there is. It says why, where nobody asked for it.
func (a *App) chooseAgent(p *project, path string, plan *planparse.Plan, d routing.Decision, asked string) (chosenAgent, string, error) {
	name, why := asked, ""
	if name == "" {
		if name = p.config.Run.Agent; name != "" {
			why = "from " + p.config.Source("run.agent")
		}
	}
	if name == "" {
		prose := proseLines(plan, d)
		switch {
		case len(prose) == 0:
			name, why = script.Name, "the plan spells everything out, so no model is needed"
		case len(p.config.Agents) == 1:
			for n := range p.config.Agents {
				name, why = n, "the only one that is configured"
			}
		default:
			return chosenAgent{}, "", usage(fmt.Errorf("the plan needs an agent: %s", prose[0]),
				"name one: --agent NAME, or run.agent in .runplan/config.toml, with [agents.NAME] command = [\"program\", \"argument\"]")
		}
	}
	if name == script.Name {
		return chosenAgent{name, func(self string, r *proc.Reaper) agents.Agent {
			agent := script.New(path, r)
			agent.Engine = []string{self, testscriptCommand}
			return agent
		}}, why, nil
	}
	c, ok := p.config.Agents[name]
	if !ok {
		known := []string{script.Name}
		for n := range p.config.Agents {
			known = append(known, n)
		}
		sort.Strings(known)
		return chosenAgent{}, "", usage(fmt.Errorf("there is no agent %q; there are: %s", name, strings.Join(known, ", ")),
			"add it to .runplan/config.toml:\n    [agents.%s]\n    command = [\"program\", \"argument\"]", name)
	}
	return chosenAgent{name, func(_ string, r *proc.Reaper) agents.Agent {
		return command.New(command.Config{Name: name, Command: c.Command, Env: c.Env, PassEnv: c.PassEnv, Root: p.repo.Root, Environ: a.Environ, Reaper: r})
	}}, why, nil
}

// proseLines says which tasks to run are prose, which only an agent with a model can carry out.
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
