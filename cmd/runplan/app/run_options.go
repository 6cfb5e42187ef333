package app

import (
	"errors"
	"time"

	"github.com/spf13/cobra"
)

// runOptions holds the flags of run and resume. For a zero value the configuration decides.
type runOptions struct {
	agent        string
	land         string
	maxAttempts  int
	maxTime      time.Duration
	agentTimeout time.Duration
	idleTimeout  time.Duration
	route        routeFlags
	limits       limitFlags
	sample       sampleFlags
	solver       solveOptions
	requireTests bool
	strictAST    bool
	allowDirty   bool
	fresh        bool
	dryRun       bool
	tick         bool
	json         bool
	plain        bool
	accept       bool
	redo         []string
	acceptConfig bool
	serve        bool
	trust        string
	noCritique   bool
	round        int // see [runner.Info]
}

// strictASTUse is the help text of --strict-ast.
const strictASTUse = "patterns of severity error fail instead of warning, and so do retry-loop, bare-except, " +
	"async-no-await, empty-catch and unused-import"

// common adds the flags that run and resume share.
func (o *runOptions) common(cmd *cobra.Command) {
	f := cmd.Flags()
	f.Var((*span)(&o.maxTime), "max-time", "stop after this time (exit 4); resume continues")
	f.Var((*span)(&o.agentTimeout), "agent-timeout", "time limit of one attempt")
	f.Var((*span)(&o.idleTimeout), "idle-timeout", "stop an agent that prints nothing for this long")
	f.BoolVar(&o.requireTests, "require-tests", false, "fail a project without tests instead of skipping its test gate")
	f.BoolVar(&o.strictAST, "strict-ast", false, strictASTUse)
	f.BoolVar(&o.tick, "tick", false, "tick merged tasks in the plan file")
	f.StringVar(&o.trust, "trust-config", "", "digest of the repository's configuration, to trust it without a question")
	o.limits.add(cmd)
	f.BoolVar(&o.noCritique, "no-critique", false,
		"switch off the critique of agents' steps, also if critique.enabled is set")
	f.BoolVar(&o.json, "json", false, "one JSON event a line on standard output")
	f.BoolVar(&o.plain, "plain", false, "plain lines instead of the live view")
	f.BoolVar(&o.serve, "serve", false, "serve the page of the run while it runs; see runplan serve")
}

// ofAgent adds the flag that chooses the agent.
func (o *runOptions) ofAgent(cmd *cobra.Command) {
	cmd.Flags().StringVar(&o.agent, "agent", "", "agent to use: script, solver, or a name under [agents]")
}

// span is a flag for a positive duration.
type span time.Duration

func (s *span) String() string {
	if *s == 0 {
		return ""
	}
	return time.Duration(*s).String()
}

func (s *span) Type() string { return "duration" }

func (s *span) Set(text string) error {
	d, err := time.ParseDuration(text)
	if err != nil || d <= 0 {
		return errors.New("use a duration above 0, such as 90s or 30m")
	}
	*s = span(d)
	return nil
}

// flags returns the given flags for the journal.
func (o runOptions) flags() map[string]string {
	m := map[string]string{}
	set := func(name, v string, on bool) {
		if on {
			m[name] = v
		}
	}
	set("from", o.route.from, o.route.from != "")
	set("to", o.route.to, o.route.to != "")
	set("require-tests", "true", o.requireTests)
	set("strict-ast", "true", o.strictAST)
	set("allow-dirty", "true", o.allowDirty)
	set("tick", "true", o.tick)
	set("no-critique", "true", o.noCritique)
	set("agent-timeout", o.agentTimeout.String(), o.agentTimeout > 0)
	set("idle-timeout", o.idleTimeout.String(), o.idleTimeout > 0)
	o.solver.keep(set)
	return m
}

// take restores the flags of the original run. Flags given now take precedence.
func (o *runOptions) take(flags map[string]string) {
	o.requireTests = o.requireTests || flags["require-tests"] != ""
	o.strictAST = o.strictAST || flags["strict-ast"] != ""
	o.tick = o.tick || flags["tick"] != ""
	o.noCritique = o.noCritique || flags["no-critique"] != ""
	o.solver.take(flags)
	if d, err := time.ParseDuration(flags["agent-timeout"]); err == nil && o.agentTimeout == 0 {
		o.agentTimeout = d
	}
	if d, err := time.ParseDuration(flags["idle-timeout"]); err == nil && o.idleTimeout == 0 {
		o.idleTimeout = d
	}
}
