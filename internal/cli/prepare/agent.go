package prepare

import (
	"context"
	"fmt"
	"strings"

	"github.com/runplan/runplan/agents"
	"github.com/runplan/runplan/agents/command"
	"github.com/runplan/runplan/agents/script"
	"github.com/runplan/runplan/agents/solver"
	"github.com/runplan/runplan/internal/cli"
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

// Start builds the agent for a run.
func (c chosenAgent) Start(ctx context.Context, j *store.Journal, self string, r *proc.Reaper) (agents.Agent, func(),
	error) {
	if c.open != nil {
		return c.open(ctx, j, r)
	}
	return c.build(self, r), func() {}, nil
}

// Name returns the agent's name.
func (c chosenAgent) Name() string { return c.name }

// chooseAgent picks the agent of a run. In order of preference: the requested agent, the configured agent, script for
// a literal plan, the only configured agent, the first installed CLI. It gives the reason if no agent was requested.
func chooseAgent(a *cli.App, p *cli.Project, path string, due []*planparse.Batch, asked string) (chosenAgent, string,
	error) {
	name, why := asked, ""
	if name == cli.Auto {
		name = ""
	}
	if name == "" {
		if name = p.Config.Run.Agent; name != "" {
			why = "from " + p.Config.Source("run.agent")
		}
	}
	if name == "" || name == cli.Auto {
		var err error
		if name, why, err = anyAgent(a, p, due); err != nil {
			return chosenAgent{}, "", err
		}
	}
	agent, err := namedAgent(a, p, path, name)
	return agent, why, err
}

// namedAgent returns the agent with the given name.
func namedAgent(a *cli.App, p *cli.Project, path, name string) (chosenAgent, error) {
	if name == script.Name {
		return chosenAgent{name: name, build: func(self string, r *proc.Reaper) agents.Agent {
			agent := script.New(path, r)
			agent.Engine = []string{self, cli.TestscriptCommand}
			return agent
		}}, nil
	}
	if name == solver.Name {
		return SolverAgent(context.Background(), a, p, path)
	}
	c, err := a.CommandAgent(p, name)
	if err != nil {
		return chosenAgent{}, err
	}
	return chosenAgent{name: name, build: func(_ string, r *proc.Reaper) agents.Agent {
		c.Reaper = r
		return command.New(c)
	}}, nil
}

// anyAgent picks an agent if no name was given.
func anyAgent(a *cli.App, p *cli.Project, due []*planparse.Batch) (name, why string, err error) {
	prose := ProseLines(due)
	if len(prose) == 0 {
		return script.Name, "the plan is literal, so no model is needed", nil
	}
	switch len(p.Config.Agents) {
	case 0:
		for _, preset := range command.Presets() {
			if path, err := a.OnPath(preset.Program); err == nil {
				return preset.Name, "no agent is configured; the first installed one is " + path, nil
			}
		}
	case 1:
		for n := range p.Config.Agents {
			return n, "the only configured one", nil
		}
	}
	return "", "", cli.Named("no-agent", cli.Usage(fmt.Errorf("this plan needs an agent: %s", prose[0]),
		"choose one: --agent NAME, or run.agent in .runplan/config.toml, with [agents.NAME] command = [\"program\", "+
			"\"argument\"] or preset = \"claude\"; runplan doctor lists the installed ones"))
}

// Due returns the batches of a plan that a decision does not skip.
func Due(plan *planparse.Plan, d routing.Decision) []*planparse.Batch {
	var out []*planparse.Batch
	for i, s := range d.Steps {
		if s.Skip == "" {
			out = append(out, &plan.Batches[i])
		}
	}
	return out
}

// ProseLines returns the lines of the tasks in batches that are prose. Only an agent with a model can do these tasks.
func ProseLines(batches []*planparse.Batch) []string {
	var out []string
	for _, b := range batches {
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
