//go:build unix

// Package agenttest is a test suite for agents that run programs. An agent that passes it works only in its
// workspace, stops when asked, and leaves nothing behind.
package agenttest

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/runplan/runplan/agents"
)

// Make makes an agent and a task for it. The agent runs the bash script in the workspace. It sets the parts of the task
// that depend on the agent; the suite sets the rest.
type Make func(t *testing.T, script string) (agents.Agent, agents.Task)

// Run runs the suite.
func Run(t *testing.T, makeAgent Make) {
	suite := map[string]func(*testing.T, Make){
		"works in the workspace":                      inWorkspace,
		"an error of the program is an outcome":       failing,
		"a missing workspace is an error":             noWorkspace,
		"standard input comes to an end":              stdin,
		"the total limit is named":                    totalLimit,
		"the idle limit is named":                     idleLimit,
		"a cancelled context ends it and all it runs": cancelled,
		"nothing stays in the background":             background,
		"observed lines are safe to show":             observed,
		"secrets are taken out":                       redacted,
		"git does not find a repository above":        gitCeiling,
	}
	for name, f := range suite {
		t.Run(name, func(t *testing.T) { f(t, makeAgent) })
	}
}

type collector struct{ lines []string }

func (c *collector) Line(s string) { c.lines = append(c.lines, s) }

// prepare makes an agent, a task and a workspace.
func prepare(t *testing.T, makeAgent Make, script string) (agents.Agent, agents.Task) {
	t.Helper()
	a, task := makeAgent(t, script)
	task.Dir = filepath.Join(t.TempDir(), "workspace")
	if err := os.Mkdir(task.Dir, 0o755); err != nil {
		t.Fatal(err)
	}
	task.TempDir = t.TempDir()
	task.LogPath = filepath.Join(t.TempDir(), "agent.log")
	task.Run, task.Attempt = "run-1", 2
	task.Env = append(task.Env, "PATH="+os.Getenv("PATH"), "HOME="+t.TempDir(), "OUT="+t.TempDir())
	task.Limits.Grace = 200 * time.Millisecond
	return a, task
}

func run(ctx context.Context, t *testing.T, a agents.Agent, task agents.Task) (agents.Result, []string) {
	t.Helper()
	var c collector
	res, err := a.Run(ctx, task, &c)
	if err != nil {
		t.Fatalf("Run: %v", err)
	}
	return res, c.lines
}

func inWorkspace(t *testing.T, m Make) {
	a, task := prepare(t, m, `pwd >where; echo "$RUNPLAN_RUN $RUNPLAN_ATTEMPT $TMPDIR" >which; echo said`)
	res, lines := run(t.Context(), t, a, task)
	if res.Outcome != agents.Done || res.Summary == "" {
		t.Errorf("got %+v", res)
	}
	if got := read(t, task.Dir, "where"); got != task.Dir+"\n" {
		t.Errorf("it ran in %q", got)
	}
	if got, want := read(t, task.Dir, "which"), "run-1 2 "+task.TempDir+"\n"; got != want {
		t.Errorf("its environment is %q, want %q", got, want)
	}
	if !contains(lines, "said") || !strings.Contains(read(t, task.LogPath), "said\n") {
		t.Errorf("observed %q, logged %q", lines, read(t, task.LogPath))
	}
	if a.Name() == "" {
		t.Error("an agent has a name")
	}
}

func failing(t *testing.T, m Make) {
	a, task := prepare(t, m, `echo the reason >&2; exit 3`)
	res, _ := run(t.Context(), t, a, task)
	if res.Outcome != agents.GaveUp || !strings.Contains(res.Summary, "status 3") ||
		!strings.Contains(res.Detail, "the reason") {
		t.Errorf("got %+v", res)
	}
	a, task = prepare(t, m, `kill -KILL $$`)
	res, _ = run(t.Context(), t, a, task)
	if res.Outcome != agents.GaveUp || !strings.Contains(res.Summary, "killed by SIGKILL") {
		t.Errorf("got %+v", res)
	}
}

func noWorkspace(t *testing.T, m Make) {
	a, task := prepare(t, m, `true`)
	task.Dir += "/gone"
	if _, err := a.Run(t.Context(), task, nil); err == nil || !strings.Contains(err.Error(), "gone") {
		t.Errorf("got %v", err)
	}
}

func stdin(t *testing.T, m Make) {
	a, task := prepare(t, m, `cat >/dev/null; echo at the end`)
	task.Limits.Total = 10 * time.Second
	if res, _ := run(t.Context(), t, a, task); res.Outcome != agents.Done {
		t.Errorf("got %+v", res)
	}
}

func totalLimit(t *testing.T, m Make) {
	a, task := prepare(t, m, `while :; do echo x; sleep 0.05; done`)
	task.Limits.Total = 300 * time.Millisecond
	res, _ := run(t.Context(), t, a, task)
	if res.Outcome != agents.TimedOut || !strings.Contains(res.Summary, "time limit reached: 300ms") {
		t.Errorf("got %+v", res)
	}
}

func idleLimit(t *testing.T, m Make) {
	a, task := prepare(t, m, `echo x; sleep 20`)
	task.Limits.Idle = 200 * time.Millisecond
	res, _ := run(t.Context(), t, a, task)
	if res.Outcome != agents.TimedOut || !strings.Contains(res.Summary, "idle limit reached") ||
		!strings.Contains(res.Summary, "200ms") {
		t.Errorf("got %+v", res)
	}
}

const stubborn = `
setsid bash -c 'trap "" TERM HUP; echo $$ >$OUT/pid; while :; do sleep 0.05; done' >/dev/null 2>&1 </dev/null &
while [ ! -s $OUT/pid ]; do sleep 0.01; done
echo ready
`

func cancelled(t *testing.T, m Make) {
	a, task := prepare(t, m, stubborn+`while :; do sleep 0.05; done`)
	ctx, cancel := context.WithCancelCause(t.Context())
	var at time.Time
	res, err := a.Run(ctx, task, agents.ObserverFunc(func(s string) {
		if s == "ready" {
			at = time.Now()
			cancel(errors.New("enough of it"))
		}
	}))
	if err != nil {
		t.Fatal(err)
	}
	if d := time.Since(at); d > 3*time.Second {
		t.Errorf("it took %s to end", d)
	}
	if res.Outcome == agents.Done || !strings.Contains(res.Summary, "enough of it") {
		t.Errorf("got %+v", res)
	}
	gone(t, task)
}

func background(t *testing.T, m Make) {
	a, task := prepare(t, m, stubborn)
	res, _ := run(t.Context(), t, a, task)
	if res.Outcome != agents.Done || !strings.Contains(res.Summary, "in the background") {
		t.Errorf("got %+v", res)
	}
	gone(t, task)
}

// gone checks that the process of stubborn is.
func gone(t *testing.T, task agents.Task) {
	t.Helper()
	var out string
	for _, kv := range task.Env {
		if v, ok := strings.CutPrefix(kv, "OUT="); ok {
			out = v
		}
	}
	pid, err := strconv.Atoi(strings.TrimSpace(read(t, out, "pid")))
	if err != nil {
		t.Fatal(err)
	}
	for range 50 {
		b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
		if err != nil && syscall.Kill(pid, 0) != nil || strings.Contains(string(b), ") Z ") {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	_ = syscall.Kill(pid, syscall.SIGKILL)
	t.Error("a process survived")
}

func observed(t *testing.T, m Make) {
	a, task := prepare(t, m, `printf '\033]0;title\007\033[31mred\033[0m\n'; head -c 200000 /dev/zero | tr '\0' x; echo`)
	res, lines := run(t.Context(), t, a, task)
	if res.Outcome != agents.Done || !contains(lines, "red") {
		t.Errorf("got %+v, %.200q", res, lines)
	}
	for _, s := range append(lines, res.Summary, res.Detail) {
		if len(s) > 10<<10 || strings.ContainsAny(s, "\x1b\x07\r") {
			t.Errorf("%d bytes: %.100q", len(s), s)
		}
	}
}

func redacted(t *testing.T, m Make) {
	a, task := prepare(t, m, `echo "the canary: $SECRET_CANARY"; exit 1`)
	task.Env = append(task.Env, "SECRET_CANARY=tweet-tweet")
	task.Redact = func(s string) string { return strings.ReplaceAll(s, "tweet-tweet", "[redacted]") }
	res, lines := run(t.Context(), t, a, task)
	all := strings.Join(lines, "\n") + res.Summary + res.Detail + read(t, task.LogPath)
	for _, f := range res.Findings {
		all += f.Message
	}
	if strings.Contains(all, "tweet-tweet") || !strings.Contains(all, "the canary: [redacted]") {
		t.Errorf("got %q", all)
	}
}

func gitCeiling(t *testing.T, m Make) {
	a, task := prepare(t, m, `if git rev-parse --show-toplevel; then exit 1; fi; echo none`)
	if out, err := exec.Command("git", "init", "-q", filepath.Dir(task.Dir)).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if res, lines := run(t.Context(), t, a, task); res.Outcome != agents.Done {
		t.Errorf("got %+v, %q", res, lines)
	}
}

func read(t *testing.T, path ...string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(path...))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func contains(lines []string, want string) bool {
	for _, l := range lines {
		if l == want {
			return true
		}
	}
	return false
}
