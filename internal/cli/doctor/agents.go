package doctor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/runplan/runplan/agents"
	"github.com/runplan/runplan/agents/command"
	"github.com/runplan/runplan/agents/script"
	"github.com/runplan/runplan/internal/cli"
	"github.com/runplan/runplan/internal/lists"
	"github.com/runplan/runplan/internal/proc"
	"github.com/runplan/runplan/internal/redact"
	"github.com/runplan/runplan/internal/ui"
	"github.com/runplan/runplan/planparse"
)

const doctorAgentHelp = `

With --agent an agent is tried in a temporary repository: it must
answer with a word, then write a file, through the same code as a run. That costs two short
questions.`

func examineAgents(ctx context.Context, p *cli.Project) []Check {
	out := lists.Map(slices.Sorted(maps.Keys(p.Config.Agents)),
		func(name string) Check { return examineAgent(ctx, p, name) })
	for _, preset := range command.Presets() {
		if _, own := p.Config.Agents[preset.Name]; own {
			continue
		}
		if _, err := p.OnPath(preset.Program); err != nil {
			out = append(out, Check{"agent " + preset.Name, "missing", "not installed", preset.Install})
			continue
		}
		out = append(out, Check{"agent " + preset.Name, "ok", programVersion(ctx, p.App, preset, preset.Program), ""})
	}
	return out
}

// examineAgent checks one configured agent. A missing one is a problem, because the settings rely on it.
func examineAgent(ctx context.Context, p *cli.Project, name string) Check {
	c := p.Config.Agents[name]
	preset, known := command.PresetOf(c.Preset)
	what, args := "agent "+name, c.Command
	fix := "correct agents." + name + ".command"
	if len(args) == 0 {
		args = []string{preset.Program}
		fix = "install it: " + preset.Install
	}
	prog := args[0]
	if err := p.HasProgram(p.Repo.Root, prog); err != nil {
		if len(c.Command) > 0 && !strings.ContainsRune(prog, '/') {
			fix = "install " + prog + ", or " + fix
		}
		return Check{what, "problem", err.Error(), fix}
	}
	if known && len(c.Command) == 0 {
		return Check{what, "ok", programVersion(ctx, p.App, preset, prog), ""}
	}
	return Check{what, "ok", strings.Join(args, " "), ""}
}

// programVersion asks a CLI for its version. It waits some seconds for a slow CLI, then gives up.
func programVersion(ctx context.Context, a *cli.App, preset command.Preset, prog string) string {
	res, err := proc.Run(ctx, proc.Cmd{
		Args: []string{prog, "--version"}, Env: redact.AgentEnv(a.Environ, nil), Dir: os.TempDir(),
		Limits: proc.Limits{Total: 10 * time.Second}, Sweep: proc.NewTag(), KeepStdout: 4 << 10,
	})
	switch {
	case err != nil:
		return "its version could not be read: " + err.Error()
	case res.Ended == proc.Total:
		return "installed; --version did not answer within 10 s"
	case !res.OK():
		return fmt.Sprintf("installed; --version exited with status %d", res.Exit)
	}
	line, _, _ := strings.Cut(strings.TrimSpace(redact.Clean(string(res.Stdout))), "\n")
	if line == "" {
		return "installed"
	}
	switch {
	case preset.Seen == "":
		return line + " (supported by its documentation; try it: runplan doctor --agent NAME)"
	case !strings.Contains(line, preset.Seen):
		return line + " (its output was last checked in version " + preset.Seen + ")"
	}
	return line
}

type tried struct {
	Call    string         `json:"call"`
	Outcome agents.Outcome `json:"outcome"`
	Kind    agents.Kind    `json:"kind,omitempty"`
	Rule    string         `json:"rule,omitempty"` // the evidence that decided the result
	Summary string         `json:"summary"`
	Files   []string       `json:"files"`
	Model   string         `json:"model,omitempty"`
	Usage   agents.Usage   `json:"usage"`
	Seconds float64        `json:"seconds"`
	OK      bool           `json:"ok"`
	RetryAt time.Time      `json:"retry_at,omitzero"`
}

const (
	trialFile = "runplan-trial.txt"
	trialTime = 5 * time.Minute
)

// trials returns the two test calls: one needs only an answer, one needs a tool.
func trials() []struct{ name, brief string } {
	return []struct{ name, brief string }{
		{"say a word", "Answer with the single word: ready. Use no tools and change no files.\n"},
		{"write a file", "Write a file with the name " + trialFile +
			" in the current folder. Its content is the word ready on its own line. Do nothing else.\n"},
	}
}

// tryAgent asks an agent to answer and to write a file, through the same code as a run.
func tryAgent(ctx context.Context, a *cli.App, name string) error {
	if name == script.Name {
		return cli.Usage(errors.New("the script agent has no model to test"), "runplan check PLAN.md shows what it would do")
	}
	p, err := a.OpenProject(ctx)
	if err != nil {
		return err
	}
	if name == cli.Auto {
		return cli.Usage(errors.New("--agent auto depends on the plan"), "name one that runplan doctor lists")
	}
	c, err := p.CommandAgent(name)
	if err != nil {
		return err
	}
	if err := p.TrustConfig(); err != nil {
		return err
	}
	ctx, release := cli.Interruptible(ctx, syscall.SIGHUP)
	defer release()
	if c.Reaper, err = cli.StartReaper(); err != nil {
		return err
	}
	defer c.Reaper.Close()
	dir, err := os.MkdirTemp("", "runplan-doctor-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	var list []tried
	for _, trial := range trials() {
		t, err := tryOnce(ctx, a, c, dir, trial.name, trial.brief)
		if err != nil {
			return err
		}
		if ctx.Err() != nil {
			return cli.Interrupted("", "")
		}
		list = append(list, t)
		if !t.OK {
			break // the second call would fail in the same way
		}
	}
	err = showTrials(a, list)
	if last := list[len(list)-1]; err == nil && !last.OK {
		err = cli.Fail(cli.ExitFailed, fmt.Errorf("agent %s: %s: %s", name, last.Call, last.Summary), "")
	}
	return err
}

// tryOnce makes one call in a new repository.
func tryOnce(ctx context.Context, a *cli.App, c command.Config, dir, call, brief string) (tried, error) {
	work, err := os.MkdirTemp(dir, "work-")
	if err != nil {
		return tried{}, err
	}
	temp, err := os.MkdirTemp(dir, "temp-")
	if err != nil {
		return tried{}, err
	}
	env := append(redact.AgentEnv(a.Environ, nil), "TMPDIR="+temp)
	git := func(args ...string) (string, error) {
		out, err := proc.Output(ctx, proc.Cmd{Args: append([]string{"git"}, args...), Dir: work, Env: env})
		return string(out), err
	}
	if _, err := git("init", "--quiet"); err != nil {
		return tried{}, err
	}
	began := time.Now()
	res, err := command.New(c).Run(ctx, agents.Task{
		Dir: work, Brief: agents.Brief{Task: brief}, Run: "doctor", Attempt: 1,
		Batch: planparse.Batch{Key: "doctor"}, TempDir: temp, Env: env,
		Limits: agents.Limits{Total: trialTime, Grace: 2 * time.Second},
		Redact: redact.New(slices.Concat(a.Environ, proc.Pairs(c.Env))).String,
	}, agents.ObserverFunc(func(line string) { fmt.Fprintf(a.Stderr, "  %s\n", line) }))
	if err != nil {
		return tried{}, err
	}
	t := tried{
		Call: call, Outcome: res.Outcome, Kind: res.Kind, Rule: res.Rule, Summary: res.Summary, Model: res.Model,
		Usage:   res.Usage,
		Seconds: time.Since(began).Round(10 * time.Millisecond).Seconds(), RetryAt: res.RetryAt, Files: []string{},
		OK: res.Outcome == agents.Done,
	}
	names, err := git("ls-files", "-z", "--others", "--cached")
	if err != nil {
		return t, err
	}
	t.Files = append(t.Files, strings.FieldsFunc(names, func(r rune) bool { return r == 0 })...)
	if t.OK && strings.Contains(brief, trialFile) {
		text, err := os.ReadFile(filepath.Join(work, trialFile))
		if err != nil || strings.TrimSpace(string(text)) != "ready" {
			t.OK, t.Summary = false, "it reported success, but "+trialFile+
				" is not as requested; check its write permission: agents."+c.Name+".permission"
		}
	}
	return t, nil
}

func showTrials(a *cli.App, list []tried) error {
	var rows ui.Rows
	for _, t := range list {
		status := "ok"
		if !t.OK {
			status = "problem"
		}
		rows.Add(status, t.Call, fmt.Sprint(t.Outcome, " ", t.Kind), fmt.Sprintf("%.1fs", t.Seconds),
			cmp.Or(strings.Join(t.Files, ", "), "none"), usageText(t.Usage))
	}
	return a.PrintTable(list, "", []string{"", "call", "outcome", "time", "files", "usage"}, rows)
}

// usageText describes the known usage of an agent, or says that it is unknown.
func usageText(u agents.Usage) string {
	var parts []string
	count := func(name string, n *int64) {
		if n != nil {
			parts = append(parts, fmt.Sprintf("%d %s", *n, name))
		}
	}
	count("in", u.InputTokens)
	count("out", u.OutputTokens)
	count("from cache", u.CacheReadTokens)
	count("to cache", u.CacheWriteTokens)
	if len(parts) == 0 {
		parts = append(parts, "tokens unknown")
	}
	if u.CostUSD == nil {
		return strings.Join(append(parts, "cost unknown"), ", ")
	}
	return strings.Join(append(parts, fmt.Sprintf("$%.4f (%s)", *u.CostUSD, u.Source)), ", ")
}
