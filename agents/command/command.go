// Package command is the agent that is a program: any command line that reads a brief and changes files.
//
// The program runs in the workspace with the brief on its standard input and in the file $RUNPLAN_BRIEF.
// It may commit what it did or leave it lying; it need not say how it went. Its exit status says whether
// it gave up, and nothing more: whether the work is good is for the gates to find out.
package command

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/runplan/runplan/agents"
	"github.com/runplan/runplan/internal/proc"
	"github.com/runplan/runplan/internal/redact"
)

// Config describes one agent of the configuration, [agents.NAME].
type Config struct {
	Name    string
	Command []string          // the program and its arguments; a program with a slash is relative to Root
	Env     map[string]string // for the program, on top of the task's environment
	PassEnv []string          // names of variables to pass on from Environ
	Environ []string          // where PassEnv is looked up; nil is this process's environment
	Root    string            // the project's root
	Reaper  *proc.Reaper      // may be nil
}

// Agent runs a program.
type Agent struct{ cfg Config }

// New makes an agent of c.
func New(c Config) *Agent { return &Agent{cfg: c} }

// Name returns the name the configuration gives the agent.
func (a *Agent) Name() string { return a.cfg.Name }

// Run runs the program once.
func (a *Agent) Run(ctx context.Context, t agents.Task, obs agents.Observer) (agents.Result, error) {
	res, err := a.run(ctx, t, obs)
	if err != nil {
		return agents.Result{}, fmt.Errorf("agent %s: %w", a.cfg.Name, err)
	}
	return res, nil
}

func (a *Agent) run(ctx context.Context, t agents.Task, obs agents.Observer) (agents.Result, error) {
	if len(a.cfg.Command) == 0 {
		return agents.Result{}, errors.New("no command is configured; give it a command = [\"PROGRAM\", \"ARG\"] in .runplan/config.toml")
	}
	if err := t.CheckDir(); err != nil {
		return agents.Result{}, err
	}
	brief, tidy, err := writeBrief(t)
	if err != nil {
		return agents.Result{}, fmt.Errorf("write the brief: %w", err)
	}
	defer tidy()

	args := slices.Clone(a.cfg.Command)
	if strings.ContainsRune(args[0], '/') && !filepath.IsAbs(args[0]) {
		args[0] = filepath.Join(a.cfg.Root, args[0])
	}
	c := proc.Cmd{
		Args:   args,
		Dir:    t.Dir,
		Env:    a.environ(t, brief),
		Stdin:  strings.NewReader(t.Brief),
		Limits: proc.Limits{Total: t.Limits.Total, Idle: t.Limits.Idle, Grace: t.Limits.Grace},
		Redact: t.Redact,
		Log:    t.LogPath,
		Sweep:  proc.NewTag(),
		Reaper: a.cfg.Reaper,
	}
	if obs != nil {
		c.Line = obs.Line
	}
	res, err := proc.Run(ctx, c)
	if errors.Is(err, proc.ErrNotFound) {
		return agents.Result{}, fmt.Errorf("%w; or change command of [agents.%s] in .runplan/config.toml", err, a.cfg.Name)
	}
	if err != nil {
		return agents.Result{}, err
	}
	return result(res, t.Limits), nil
}

// writeBrief puts the brief into a file, for programs that do not read standard input.
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
	if err := os.WriteFile(path, []byte(t.Brief), 0o600); err != nil {
		tidy()
		return "", nil, err
	}
	return path, tidy, nil
}

// environ is the task's environment, what the configuration adds, and what names this attempt.
func (a *Agent) environ(t agents.Task, brief string) []string {
	var extra []string
	from := a.cfg.Environ
	if from == nil {
		from = os.Environ()
	}
	for _, kv := range from {
		if name, _, ok := strings.Cut(kv, "="); ok && slices.Contains(a.cfg.PassEnv, name) {
			extra = append(extra, kv)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(a.cfg.Env)) {
		extra = append(extra, name+"="+a.cfg.Env[name])
	}
	t.Env = slices.Concat(t.Env, extra)
	return t.Environ("RUNPLAN_BRIEF=" + brief)
}

// result reads the end of the process. Nothing here looks at what the program printed: that is text.
func result(res proc.Result, l agents.Limits) agents.Result {
	out := agents.Result{Outcome: agents.GaveUp, Detail: agents.Tail(res.Tail)}
	switch res.Ended {
	case proc.Total:
		out.Outcome = agents.TimedOut
		out.Summary = fmt.Sprintf("time limit reached: %s for the whole attempt", l.Total)
	case proc.Idle:
		out.Outcome = agents.TimedOut
		out.Summary = fmt.Sprintf("idle limit reached: it printed nothing for %s", l.Idle)
	case proc.Cancelled:
		out.Summary = fmt.Sprintf("stopped: %v", res.Cause)
	case proc.Signaled:
		out.Summary = "killed by " + res.Signal
	case proc.Exited:
		if res.Exit != 0 {
			out.Summary = fmt.Sprintf("exited with status %d", res.Exit)
			break
		}
		out.Outcome = agents.Done
		out.Summary = lastLine(out.Detail)
	}
	if res.Swept > 0 {
		out.Summary += fmt.Sprintf("; %d processes left in the background were killed", res.Swept)
	}
	if res.LogErr != nil {
		out.Summary += "; its log is not complete: " + redact.Clean(res.LogErr.Error())
	}
	return out
}

// lastLine is what a program says last, which most agents make a summary.
func lastLine(detail string) string {
	last := detail[strings.LastIndexByte(detail, '\n')+1:]
	if last == "" {
		return "ended without a word"
	}
	if len(last) > 200 {
		last = strings.ToValidUTF8(last[:200], "") + "…"
	}
	return last
}
