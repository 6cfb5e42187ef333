package prepare

import (
	"context"
	"errors"
	"time"

	"github.com/spf13/cobra"

	"github.com/runplan/runplan/internal/cli"
	"github.com/runplan/runplan/internal/config"
	"github.com/runplan/runplan/patterns"
	"github.com/runplan/runplan/runner/briefing"
)

// RunOptions holds the flags of run and resume. For a zero value the configuration decides.
type RunOptions struct {
	Agent        string
	Land         string
	MaxAttempts  int
	MaxTime      time.Duration
	AgentTimeout time.Duration
	IdleTimeout  time.Duration
	Route        routeFlags
	Limits       limitFlags
	Sample       sampleFlags
	Solver       cli.SolveOptions
	RequireTests bool
	StrictAST    bool
	AllowDirty   bool
	Fresh        bool
	DryRun       bool
	Tick         bool
	JSON         bool
	Plain        bool
	Accept       bool
	Redo         []string
	AcceptConfig bool
	Serve        bool
	NoCritique   bool
	Round        int // see [runner.Info]
}

// Common adds the flags that run and resume share.
func (o *RunOptions) Common(cmd *cobra.Command) {
	f := cmd.Flags()
	f.Var((*span)(&o.MaxTime), "max-time", "stop after this time (exit 4); resume continues")
	f.Var((*span)(&o.AgentTimeout), "agent-timeout", "time limit of one attempt")
	f.Var((*span)(&o.IdleTimeout), "idle-timeout", "stop an agent that prints nothing for this long")
	f.BoolVar(&o.RequireTests, "require-tests", false, "fail a project without tests instead of skipping its test gate")
	f.BoolVar(&o.StrictAST, "strict-ast", false, cli.StrictASTUse)
	f.BoolVar(&o.Tick, "tick", false, "tick merged tasks in the plan file")
	o.Limits.add(cmd)
	f.BoolVar(&o.NoCritique, "no-critique", false,
		"switch off the critique of agents' steps, also if critique.enabled is set")
	f.BoolVar(&o.JSON, "json", false, "one JSON event a line on standard output")
	f.BoolVar(&o.Plain, "plain", false, "plain lines instead of the live view")
	f.BoolVar(&o.Serve, "serve", false, "serve the page of the run while it runs; see runplan serve")
}

// OfNew adds the flags of commands that start a run.
func (o *RunOptions) OfNew(cmd *cobra.Command) {
	f := cmd.Flags()
	o.Route.Add(cmd)
	o.Sample.Add(cmd)
	f.StringVar(&o.Land, "land", "",
		"branch (leave the run branch), ff (fast-forward the start branch) or pr (push, open a pull request)")
	f.BoolVar(&o.AllowDirty, "allow-dirty", false,
		"run with uncommitted changes in the checkout; they are not part of the run")
	f.BoolVar(&o.DryRun, "dry-run", false, "show what would run, and stop")
}

// OfAgent adds the flag that chooses the agent.
func (o *RunOptions) OfAgent(cmd *cobra.Command) {
	cmd.Flags().StringVar(&o.Agent, "agent", "", "agent to use: script, solver, or a name under [agents]")
}

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

// switches returns the flags without a value that a resume takes over.
func (o *RunOptions) switches() map[string]*bool {
	return map[string]*bool{"require-tests": &o.RequireTests, "strict-ast": &o.StrictAST, "tick": &o.Tick,
		"no-critique": &o.NoCritique}
}

// Flags returns the given flags for the journal.
func (o RunOptions) Flags() map[string]string {
	m := map[string]string{}
	set := func(name, v string, on bool) {
		if on {
			m[name] = v
		}
	}
	for name, on := range o.switches() {
		set(name, "true", *on)
	}
	set("from", o.Route.From, o.Route.From != "")
	set("to", o.Route.To, o.Route.To != "")
	set("allow-dirty", "true", o.AllowDirty)
	set("agent-timeout", o.AgentTimeout.String(), o.AgentTimeout > 0)
	set("idle-timeout", o.IdleTimeout.String(), o.IdleTimeout > 0)
	o.Solver.Keep(set)
	return m
}

// Take restores the flags of the original run. Flags given now take precedence.
func (o *RunOptions) Take(flags map[string]string) {
	for name, on := range o.switches() {
		*on = *on || flags[name] != ""
	}
	o.Solver.Take(flags)
	if d, err := time.ParseDuration(flags["agent-timeout"]); err == nil && o.AgentTimeout == 0 {
		o.AgentTimeout = d
	}
	if d, err := time.ParseDuration(flags["idle-timeout"]); err == nil && o.IdleTimeout == 0 {
		o.IdleTimeout = d
	}
}

// ContextLimits returns the limits of a brief.
func ContextLimits(c config.Context) briefing.Limits {
	return briefing.Limits{
		Tokens: c.Tokens, RefLines: c.RefLines, RefLinesLeast: c.RefLinesLeast, Commits: c.Commits,
		ProgressLines: c.ProgressLines, Similarity: c.Similarity,
	}
}

// StyleOf describes the code style of a folder in one line, and notes which files it skipped.
func StyleOf(ctx context.Context, a *cli.App, dir string) (text, note string, err error) {
	program, err := a.AstGrep(ctx)
	if err != nil {
		return "", "", err
	}
	style, err := patterns.Discover(ctx, program, dir, a.Environ)
	if err != nil {
		return "", "", err
	}
	return style.Text(), style.Note, nil
}
