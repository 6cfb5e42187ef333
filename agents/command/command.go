// Package command runs programs as agents: a CLI with a preset (see [Presets]), or any command line that reads a
// brief and changes files.
//
// The program runs in the workspace, with the brief on its standard input and in the file $RUNPLAN_BRIEF. It may commit
// its changes or leave them uncommitted. For unknown programs, only the exit status shows a failure. For CLIs with a
// preset, package outcome reads their events. In both cases, the gates check the changes.
package command

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/runplan/runplan/agents"
	"github.com/runplan/runplan/agents/outcome"
	"github.com/runplan/runplan/agents/price"
	"github.com/runplan/runplan/agents/sandbox"
	"github.com/runplan/runplan/agents/stream"
	"github.com/runplan/runplan/internal/git"
	"github.com/runplan/runplan/internal/lists"
	"github.com/runplan/runplan/internal/proc"
	"github.com/runplan/runplan/internal/redact"
)

// Config describes one agent of the configuration, [agents.NAME].
type Config struct {
	Name    string
	Command []string          // the program and its arguments; a program with a slash is relative to Root
	Env     map[string]string // for the program, on top of the task's environment
	PassEnv []string          // names of variables to pass on from Environ
	Environ []string          // source of PassEnv; nil is this process's environment
	Root    string            // the project's root
	Reaper  *proc.Reaper      // may be nil

	Preset     *Preset           // how to run the CLI; nil for unknown programs
	Permission string            // of the preset; "" is Workspace
	Models     map[string]string // model by tier; overrides the preset's
	Prices     *price.Table      // may be nil
	Now        func() time.Time  // nil is time.Now
	Sandbox    sandbox.Spec      // sandbox of the program; a preset may also write its own state
}

// Agent runs a program as an agent.
type Agent struct{ cfg Config }

// New returns an agent with configuration c.
func New(c Config) *Agent {
	if c.Now == nil {
		c.Now = time.Now
	}
	return &Agent{cfg: c}
}

// Name returns the name the configuration gives the agent.
func (a *Agent) Name() string { return a.cfg.Name }

// ModelOf returns the model of a tier: small, medium or large. "" lets the program choose.
func (a *Agent) ModelOf(tier string) string {
	if m, ok := a.cfg.Models[tier]; ok {
		return m
	}
	if a.cfg.Preset != nil {
		return a.cfg.Preset.Models[tier]
	}
	return ""
}

// Run runs the program once.
func (a *Agent) Run(ctx context.Context, t agents.Task, obs agents.Observer) (agents.Result, error) {
	res, err := a.run(ctx, t, obs)
	if err != nil {
		return agents.Result{}, fmt.Errorf("agent %s: %w", a.cfg.Name, err)
	}
	return res, nil
}

func (a *Agent) run(ctx context.Context, t agents.Task, obs agents.Observer) (agents.Result, error) {
	if len(a.cfg.Command) == 0 && a.cfg.Preset == nil {
		return agents.Result{}, errors.New(
			"no command is configured; give it a command = [\"PROGRAM\", \"ARG\"] in .runplan/config.toml")
	}
	if err := t.CheckDir(); err != nil {
		return agents.Result{}, err
	}
	brief, tidy, err := writeBrief(t)
	if err != nil {
		return agents.Result{}, fmt.Errorf("write the brief: %w", err)
	}
	defer tidy()
	if err := a.writeFiles(filepath.Dir(brief)); err != nil {
		return agents.Result{}, err
	}
	args, err := a.arguments(t, brief)
	if err != nil {
		return agents.Result{}, err
	}
	env := a.environ(t, brief)
	if p := a.cfg.Preset; p != nil && len(a.cfg.Command) == 0 {
		if err := p.asRoot(a.cfg.Name, a.cfg.Permission, env); err != nil {
			return agents.Result{}, err
		}
	}
	box, err := a.confine(ctx, t, filepath.Dir(brief), args, env)
	if err != nil {
		return agents.Result{}, err
	}
	w := a.watch(ctx, t, args, obs)
	w.hide = t.Redact
	defer w.stop()
	c := proc.Cmd{
		Args:   box.Args(args),
		Dir:    t.Dir,
		Env:    box.Environ(),
		Stdin:  strings.NewReader(t.Brief.Text()),
		Limits: proc.Limits{Total: t.Limits.Total, Idle: t.Limits.Idle, Grace: t.Limits.Grace},
		Line:   w.line,
		Redact: t.Redact,
		Log:    t.LogPath,
		Sweep:  proc.NewTag(),
		Reaper: a.cfg.Reaper,
	}
	if a.format().Lines() {
		c.Stdout = w.whole
	}
	res, err := proc.Run(w.ctx, c)
	left := box.Close(context.WithoutCancel(ctx)) // for every outcome
	if errors.Is(err, proc.ErrNotFound) && !a.cfg.Sandbox.On() {
		return agents.Result{}, fmt.Errorf("%w; %s", err, a.remedy())
	}
	if err != nil {
		return agents.Result{}, err
	}
	if err := box.Unusable(res); err != nil {
		return agents.Result{}, err
	}
	out := a.result(t, args, env, w, res)
	if left != nil {
		out.Summary += "; " + t.Hide(redact.Clean(left.Error()))
	}
	return out, nil
}

// confine makes the sandbox of one call. It reports a missing program itself, because the sandbox would report it
// as a failure of the agent.
func (a *Agent) confine(ctx context.Context, t agents.Task, temp string, args, env []string) (*sandbox.Box, error) {
	s := a.cfg.Sandbox
	if s.On() && s.Kind != "docker" {
		if _, err := proc.LookPath(args[0], env); errors.Is(err, proc.ErrNotFound) {
			return nil, fmt.Errorf("run %s: %w; %s", args[0], err, a.remedy())
		}
	}
	if p := a.cfg.Preset; p != nil && s.On() {
		s.Write = slices.Concat(p.state(env), s.Write)
	}
	at := sandbox.Places{Workspace: t.Dir, Temp: temp, Home: proc.Getenv(env, "HOME"), Root: a.cfg.Root}
	box, err := sandbox.Open(ctx, s, at, args[0], env)
	if errors.Is(err, sandbox.ErrUnusable) {
		return nil, fmt.Errorf("%w; runplan doctor --sandbox %s tries it, and agents.%s.sandbox = \"none\" turns it off", err,
			a.cfg.Name, a.cfg.Name)
	}
	return box, err
}

// remedy says how to fix a missing program.
func (a *Agent) remedy() string {
	if p := a.cfg.Preset; p != nil && len(a.cfg.Command) == 0 {
		return "install it: " + p.Install
	}
	return "or change command of [agents." + a.cfg.Name + "] in .runplan/config.toml"
}

func (a *Agent) format() stream.Format {
	if a.cfg.Preset == nil {
		return stream.Plain
	}
	return a.cfg.Preset.Format
}

// arguments returns the command line. A configured command replaces the preset's arguments, including the model,
// which it can read from $RUNPLAN_MODEL.
func (a *Agent) arguments(t agents.Task, brief string) ([]string, error) {
	if len(a.cfg.Command) > 0 {
		args := slices.Clone(a.cfg.Command)
		if strings.ContainsRune(args[0], '/') && !filepath.IsAbs(args[0]) {
			args[0] = filepath.Join(a.cfg.Root, args[0])
		}
		return args, nil
	}
	args, err := a.cfg.Preset.arguments(a.cfg.Permission, t.Model, brief, filepath.Dir(brief))
	if err != nil {
		return nil, err
	}
	return append([]string{a.cfg.Preset.Program}, args...), nil
}

// writeBrief writes the brief to a file, for programs that do not read standard input.
func writeBrief(t agents.Task) (path string, tidy func(), err error) {
	dir := t.TempDir
	tidy = func() {}
	if dir == "" {
		if dir, err = os.MkdirTemp("", "runplan-brief-"); err != nil {
			return "", nil, err
		}
		tidy = func() { _ = os.RemoveAll(dir) }
	} else if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", nil, err
	}
	path = filepath.Join(dir, "brief.md")
	if err := os.WriteFile(path, []byte(t.Brief.Text()), 0o600); err != nil {
		tidy()
		return "", nil, err
	}
	return path, tidy, nil
}

func (a *Agent) writeFiles(temp string) error {
	if a.cfg.Preset == nil {
		return nil
	}
	for name, text := range a.cfg.Preset.Files {
		if err := os.WriteFile(filepath.Join(temp, name), []byte(text), 0o600); err != nil {
			return fmt.Errorf("write the settings of the CLI: %w", err)
		}
	}
	return nil
}

// environ returns the task's environment, with the variables of the preset, the configuration and this attempt.
func (a *Agent) environ(t agents.Task, brief string) []string {
	pass := slices.Clone(a.cfg.PassEnv)
	var set []string
	if p := a.cfg.Preset; p != nil {
		pass = append(pass, p.PassEnv...)
		set = p.environ(a.cfg.Permission, filepath.Dir(brief))
	}
	from := a.cfg.Environ
	if from == nil {
		from = os.Environ()
	}
	t.Env = git.NoUpkeep(slices.Concat(t.Env, set, a.seen(from, pass))) // overrides git settings from all three
	return t.Environ("RUNPLAN_BRIEF=" + brief)
}

// seen returns the variables of the user that pass names, and the variables of the settings.
func (a *Agent) seen(from, pass []string) []string {
	passed := lists.Filter(from, func(kv string) bool {
		name, _, ok := strings.Cut(kv, "=")
		return ok && slices.Contains(pass, name)
	})
	return append(passed, proc.Pairs(a.cfg.Env)...)
}

// result evaluates the run of the program.
func (a *Agent) result(t agents.Task, args, env []string, w *watcher, res proc.Result) agents.Result {
	totals := w.totals()
	out := agents.Result{Detail: agents.Tail(res.Tail), Model: totals.Model}
	if a.format() == stream.Codex {
		fromRollout(&totals, env)
		out.Model = totals.Model
	}
	if out.Model == "" && a.format() != stream.Plain {
		out.Model = t.Model
	}
	if a.format() != stream.Plain {
		out.Detail = agents.Tail(strings.Join(w.shown, "\n"))
	}
	runaway := ""
	if errors.Is(res.Cause, errRunaway) {
		runaway = res.Cause.Error()
	}
	v := outcome.Decide(outcome.Evidence{
		Name: a.cfg.Name, Format: a.format(), Result: res, Limits: t.Limits, Totals: totals,
		Last: out.Detail[strings.LastIndexByte(out.Detail, '\n')+1:], Lingered: errors.Is(res.Cause, errLingers),
		Waits: errors.Is(res.Cause, errWaits), Runaway: runaway, Now: a.cfg.Now(),
	})
	out.Outcome, out.Kind, out.Rule, out.Summary, out.RetryAt = v.Outcome, v.Kind, v.Rule, v.Summary, v.RetryAt
	out.Usage = a.usage(totals, out.Model, args)
	out.Summary, out.Detail = t.Hide(out.Summary), t.Hide(out.Detail)
	return out
}

// usage returns the usage of a run with the source of its cost: the CLI's report, else the price table (of the tokens
// so far, if the attempt was stopped), else unknown. Only a local model is free.
func (a *Agent) usage(t stream.Totals, model string, args []string) agents.Usage {
	u := agents.Usage{
		InputTokens: t.Tokens.Input, OutputTokens: t.Tokens.Output, CacheReadTokens: t.Tokens.CacheRead,
		CacheWriteTokens: t.Tokens.CacheWrite, ReasoningTokens: t.Tokens.Reasoning, Source: agents.SourceUnknown,
	}
	switch cost, known := a.cfg.Prices.Cost(model, u); {
	case isLocal(a.format(), model, args):
		u.CostUSD, u.Source = new(float64), agents.SourceLocal
	case t.CostUSD != nil && t.OnPlan:
		u.CostUSD, u.Source = t.CostUSD, agents.SourcePlan
	case t.CostUSD != nil:
		u.CostUSD, u.Source = t.CostUSD, agents.SourceReported
	case u.InputTokens != nil && u.OutputTokens != nil && !t.Tokens.Any():
		u.CostUSD, u.Source = new(float64), agents.SourceComputed // no tokens cost nothing at any price
	case known && !t.Ended && a.format().Terminal():
		u.CostUSD, u.Source = &cost, agents.SourceSummed
	case known:
		u.CostUSD, u.Source = &cost, agents.SourceComputed
	}
	return u
}

// isLocal reports whether a model is local, by the provider names of the CLIs. A loopback address proves nothing:
// a proxy there may forward to a paid provider.
func isLocal(f stream.Format, model string, args []string) bool {
	if f == stream.Codex && slices.Contains(args, "--oss") {
		return true
	}
	if f == stream.Plain {
		return false
	}
	provider, _, _ := strings.Cut(model, "/")
	return provider != model && slices.Contains([]string{"ollama", "ollama_chat", "lmstudio", "llamacpp"}, provider)
}
