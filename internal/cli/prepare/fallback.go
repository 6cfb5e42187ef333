package prepare

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/runplan/runplan/agents/script"
	"github.com/runplan/runplan/internal/cli"
	"github.com/runplan/runplan/internal/config"
	"github.com/runplan/runplan/internal/redact"
	"github.com/runplan/runplan/runner"
)

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
func runAgentsOf(a *cli.App, p *cli.Project, path string, agent chosenAgent, others successors) (RunAgents, error) {
	c := RunAgents{List: []chosenAgent{agent}}
	if len(others.names) == 0 || agent.name == script.Name { // the script agent has no limits
		return c, nil
	}
	for _, name := range others.names {
		if slices.ContainsFunc(c.List, func(x chosenAgent) bool { return x.name == name }) {
			continue
		}
		if why := whyNotInstalled(a, p, name); why != "" {
			c.left = append(c.left, name+" ("+why+")")
			continue
		}
		switch other, err := namedAgent(a, p, path, name); {
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
func whyNotInstalled(a *cli.App, p *cli.Project, name string) string {
	program := ""
	if c, err := a.CommandAgent(p, name); err != nil {
		if cannotRun(err) {
			return "it is not installed"
		}
		return ""
	} else if len(c.Command) > 0 {
		program = c.Command[0]
	} else if c.Preset != nil {
		program = c.Preset.Program
	}
	if strings.ContainsRune(program, filepath.Separator) {
		if !filepath.IsAbs(program) {
			program = filepath.Join(p.Repo.Root, program)
		}
		if fi, err := os.Stat(program); err != nil || fi.IsDir() {
			return "there is no " + program
		}
		return ""
	}
	if _, err := a.OnPath(program); program != "" && err != nil {
		return program + " is not installed"
	}
	return ""
}

// cannotRun reports that an agent exists but cannot run on this machine.
func cannotRun(err error) bool {
	code, _ := cli.CodeOf(err)
	return code == cli.ExitCannotRun
}

// Others returns the agents that take over.
func (c RunAgents) Others() []chosenAgent { return c.List[1:] }

// infos returns the agents in the form that the journal stores.
func (c RunAgents) infos(settings config.Config) []runner.AgentInfo {
	out := make([]runner.AgentInfo, len(c.List))
	for i, x := range c.List {
		out[i] = runner.AgentInfo{Name: x.name, Models: modelsOf(settings, x.name)}
	}
	return out
}

// lines describes, before the run, which agents take over after a limit and what happens when all are limited.
func (c RunAgents) lines(onLimit string) []string {
	if len(c.List) == 1 {
		return nil
	}
	var names []string
	for _, x := range c.Others() {
		names = append(names, x.name)
	}
	last := "stop with exit 4"
	if onLimit == "wait" {
		last = "wait for the first limit to end"
	}
	out := fmt.Sprintf("Limits: if %s meets one, %s; once all are limited, %s", c.List[0].name,
		strings.Join(names, ", then "), last)
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
	s := successors{recalled: true}
	for i, x := range info.Agents {
		if i > 0 {
			s.names = append(s.names, x.Name)
		}
	}
	return s, nil
}

// errNoOnLimit reports an invalid value of --on-limit and lists the valid ones.
func errNoOnLimit(given string) error {
	words := config.OnLimits()
	return cli.Usage(errors.New("--on-limit "+given+": unknown"), "use %s or %s", strings.Join(words[:len(words)-1], ", "),
		words[len(words)-1])
}
