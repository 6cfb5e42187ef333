package prepare

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/runplan/runplan/agents"
	"github.com/runplan/runplan/agents/command"
	"github.com/runplan/runplan/agents/script"
	"github.com/runplan/runplan/agents/solver"
	"github.com/runplan/runplan/internal/cli"
	"github.com/runplan/runplan/internal/cli/models"
	"github.com/runplan/runplan/internal/config"
	"github.com/runplan/runplan/internal/lists"
	"github.com/runplan/runplan/internal/phrase"
	"github.com/runplan/runplan/internal/proc"
	"github.com/runplan/runplan/internal/redact"
	"github.com/runplan/runplan/internal/store"
	"github.com/runplan/runplan/knowledge/retrieve"
	"github.com/runplan/runplan/llm"
	"github.com/runplan/runplan/planparse"
	"github.com/runplan/runplan/routing"
	"github.com/runplan/runplan/runner"
)

// chosenAgent is an agent that is selected but not built yet. Building it needs the helpers of the run.
type chosenAgent struct {
	name  string
	Start startAgent
}

// startAgent builds an agent for a run, and returns a function that closes it.
type startAgent func(ctx context.Context, j *store.Journal, r *proc.Reaper) (agents.Agent, func(), error)

// startNow is the startAgent of an agent without files of its own.
func startNow(build func(r *proc.Reaper) agents.Agent) startAgent {
	return func(_ context.Context, _ *store.Journal, r *proc.Reaper) (agents.Agent, func(), error) {
		return build(r), func() {}, nil
	}
}

// chooseAgent picks the agent of a run. In order of preference: the requested agent, the configured agent, script for
// a literal plan, the only configured agent, the first installed CLI. It gives the reason if no agent was requested.
func chooseAgent(p *cli.Project, path string, due []*planparse.Batch, asked string) (chosenAgent, string, error) {
	name, why := asked, ""
	if name == "" || name == cli.Auto {
		if name = p.Config.Run.Agent; name != "" {
			why = "from " + p.Config.Source("run.agent")
		}
	}
	if name == "" || name == cli.Auto {
		var err error
		if name, why, err = anyAgent(p, due); err != nil {
			return chosenAgent{}, "", err
		}
	}
	agent, err := namedAgent(p, path, name)
	return agent, why, err
}

func namedAgent(p *cli.Project, path, name string) (chosenAgent, error) {
	if name == script.Name {
		return chosenAgent{name, startNow(func(r *proc.Reaper) agents.Agent {
			agent := script.New(path, r)
			agent.Engine = []string{cli.Self(), cli.TestscriptCommand}
			return agent
		})}, nil
	}
	if name == solver.Name {
		return SolverAgent(context.Background(), p, path)
	}
	c, err := p.CommandAgent(name)
	if err != nil {
		return chosenAgent{}, err
	}
	return chosenAgent{name, startNow(func(r *proc.Reaper) agents.Agent {
		c.Reaper = r
		return command.New(c)
	})}, nil
}

func anyAgent(p *cli.Project, due []*planparse.Batch) (name, why string, err error) {
	prose := ProseLines(due)
	if len(prose) == 0 {
		return script.Name, "the plan is literal, so no model is needed", nil
	}
	switch len(p.Config.Agents) {
	case 0:
		for _, preset := range command.Presets() {
			if path, err := p.OnPath(preset.Program); err == nil {
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
			out = append(out, fmt.Sprintf("line %d: batch %s is prose", b.StartLine, b.Called()))
		}
	}
	return out
}

// RunAgents holds the agents of a run: its own agent, then the agents that take over in order after a limit.
type RunAgents struct {
	List []chosenAgent
	left []string // named agents that cannot take over, with the reason
}

// successors holds the names of the agents that take over. A resumed run uses the names that it began with. The
// present settings may lack them, which is not an error.
type successors struct {
	names    []string
	recalled bool
}

// runAgentsOf returns the agents that can work for a run: agent, and those of others that this machine can run. Without
// names there is no fallback.
func runAgentsOf(p *cli.Project, path string, agent chosenAgent, others successors) (RunAgents, error) {
	c := RunAgents{List: []chosenAgent{agent}}
	if len(others.names) == 0 || agent.name == script.Name { // the script agent has no limits
		return c, nil
	}
	for _, name := range others.names {
		if slices.ContainsFunc(c.List, func(x chosenAgent) bool { return x.name == name }) {
			continue
		}
		if why := whyNotInstalled(p, name); why != "" {
			c.left = append(c.left, name+" ("+why+")")
			continue
		}
		switch other, err := namedAgent(p, path, name); {
		case err == nil:
			c.List = append(c.List, other)
		case others.recalled && errors.Is(err, cli.ErrNoAgent):
			c.left = append(c.left, name+" (the settings no longer have this agent)")
		case cannotRun(err): // the agent may never be needed
			c.left = append(c.left, fmt.Sprintf("%s (%v)", name, err))
		default:
			return c, fmt.Errorf("run.fallback: %w", err)
		}
	}
	if len(c.List) == 1 && len(c.left) > 0 && !others.recalled {
		return c, cli.Named("no-fallback", cli.Fail(cli.ExitCannotRun,
			fmt.Errorf("no agent can take over from %s: %s", agent.name, strings.Join(c.left, ", ")),
			"install one, name others in run.fallback, or choose --on-limit exit or wait"))
	}
	return c, nil // the only name is the agent itself, which is allowed
}

// whyNotInstalled gives the reason why the program of an agent cannot be started. It returns "" if it can, or if the
// agent has no program.
func whyNotInstalled(p *cli.Project, name string) string {
	program := ""
	switch c, err := p.CommandAgent(name); {
	case err != nil && cannotRun(err):
		return "it is not installed"
	case err != nil:
		return ""
	case len(c.Command) > 0:
		program = c.Command[0]
	case c.Preset != nil:
		program = c.Preset.Program
	}
	if program == "" || p.HasProgram(p.Repo.Root, program) == nil {
		return ""
	}
	return program + " is not installed"
}

// cannotRun reports that an agent exists but cannot run on this machine.
func cannotRun(err error) bool {
	code, _ := cli.CodeOf(err)
	return code == cli.ExitCannotRun
}

// infos returns the agents in the form that the journal stores.
func (c RunAgents) infos(settings config.Config) []runner.AgentInfo {
	return lists.Map(c.List, func(x chosenAgent) runner.AgentInfo {
		return runner.AgentInfo{Name: x.name, Models: modelsOf(settings, x.name)}
	})
}

// lines describes, before the run, which agents take over after a limit and what happens when all are limited.
func (c RunAgents) lines(onLimit string) []string {
	if len(c.List) == 1 {
		return nil
	}
	last := "stop with exit 4"
	if onLimit == "wait" {
		last = "wait for the first limit to end"
	}
	out := fmt.Sprintf("Limits: if %s meets one, %s; once all are limited, %s", c.List[0].name,
		phrase.Join(c.List[1:], ", then ", func(x chosenAgent) string { return x.name }), last)
	if len(c.left) > 0 {
		out += "; not available: " + strings.Join(c.left, ", ")
	}
	return []string{redact.Clean(out)}
}

// missed describes which agents of a resumed run can no longer take over.
func (c RunAgents) missed() string {
	if len(c.left) == 0 {
		return ""
	}
	return "if " + c.List[0].name + " meets a limit, these agents cannot take over: " + strings.Join(c.left, ", ")
}

// fallback returns the successors for a new run.
func (l *limitFlags) fallback(c config.Run) (successors, error) {
	asked := cmp.Or(l.onLimit, c.OnLimit)
	over, _ := config.Fallback(asked)
	switch {
	case !over:
		return successors{}, nil
	case len(c.Fallback) == 0:
		return successors{}, cli.Named("no-fallback",
			cli.Usage(fmt.Errorf("--on-limit %s: %w", asked, config.ErrNoFallback), ""))
	}
	return successors{names: c.Fallback}, nil
}

// fallbackAgain returns the successors for a resumed run: from the flags if given, else those of the run.
func (l *limitFlags) fallbackAgain(info runner.Info, c config.Run) (successors, error) {
	if l.onLimit != "" {
		return l.fallback(c)
	}
	names := lists.Map(info.Agents, func(x runner.AgentInfo) string { return x.Name })
	return successors{names: names[min(1, len(names)):], recalled: true}, nil
}

// SolverAgent returns the agent that calls a local model directly. It checks its requirements before the run begins
// (ERR-06).
func SolverAgent(ctx context.Context, p *cli.Project, path string) (chosenAgent, error) {
	s, err := models.SolvingOf(p, p.Solver, llm.ExecuteCode)
	if err != nil {
		return chosenAgent{}, err
	}
	tools, err := models.OpenSolving(ctx, p, s, nil)
	if err != nil {
		return chosenAgent{}, err
	}
	tools.Close() // the run may begin much later
	return chosenAgent{solver.Name,
		func(ctx context.Context, j *store.Journal, r *proc.Reaper) (agents.Agent, func(), error) {
			tools, err := models.OpenSolving(ctx, p, s, r)
			if err != nil {
				return nil, nil, err
			}
			return solver.New(solver.Config{
				LLM: tools.LLM, Model: func(name string) (llm.Model, error) { return tools.Router.Pick(llm.ExecuteCode, name) },
				Budget: s.Budget, Stages: s.Stages, Loops: s.Loops, Prompts: tools.Solver, Task: p.Solver.Task,
				Retrieve: tools.Finder(j, retrieve.Retrieve), Refine: tools.Finder(j, retrieve.Refine),
				Sessions: tools.Session, Log: j, Repo: p.Repo.Root, Plan: givenPlan(p, path), Now: time.Now,
				Archive: func(ctx context.Context, task string) error {
					return j.ArchiveSession(ctx, p.Layout.Sessions(), task, time.Now())
				},
			}), tools.Close, nil
		}}, nil
}

// givenPlan returns the path of a plan that the user wrote, or "" for a plan that solve generated from a task.
func givenPlan(p *cli.Project, path string) string {
	name := p.PlanPath(path)
	if strings.HasPrefix(name,
		filepath.ToSlash(filepath.Join(filepath.Base(p.Layout.Root), filepath.Base(p.Layout.Tasks())))+"/") {
		return ""
	}
	return name
}
