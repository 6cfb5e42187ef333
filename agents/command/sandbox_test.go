//go:build unix

package command

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/runplan/runplan/agents"
	"github.com/runplan/runplan/agents/sandbox"
	"github.com/runplan/runplan/internal/proc"
)

// The output of a CLI in a sandbox is read like any other, and the CLI may write its own state in addition to its
// workspace.
func TestRunInSandbox(t *testing.T) {
	if out, err := exec.Command("bwrap", "--ro-bind", "/", "/", "--unshare-pid", "--proc", "/proc",
		"true").CombinedOutput(); err != nil {
		t.Skipf("bubblewrap is not installed, or not allowed here: %v %s", err, out)
	}
	tk, home := task(t), t.TempDir()
	tk.Env = append(tk.Env, "HOME="+home)
	tk.LogPath = filepath.Join(t.TempDir(), "log")
	if err := os.MkdirAll(filepath.Join(home, ".claude"), 0o755); err != nil {
		t.Fatal(err)
	}
	a := play(t, "claude", `cat >brief; cmp brief "$RUNPLAN_BRIEF" && echo x >"$HOME/.claude/session" && ! echo x >"$HOME/other" &&
echo '{"type":"result","subtype":"success","is_error":false,"result":"all done","total_cost_usd":0.5,"usage":{"input_tokens":3,"output_tokens":4}}'`)
	a.cfg.Sandbox, a.cfg.Root = sandbox.Spec{Kind: "bwrap"}, t.TempDir()
	res, err := a.Run(t.Context(), tk, nil)
	if err != nil || res.Outcome != agents.Done || !strings.HasPrefix(res.Summary, "all done") ||
		*res.Usage.CostUSD != 0.5 {
		log, _ := os.ReadFile(tk.LogPath)
		t.Fatalf("got %+v, %v\n%s", res, err, log)
	}
	for path, want := range map[string]bool{filepath.Join(home, ".claude", "session"): true,
		filepath.Join(tk.Dir, "brief"): true, filepath.Join(home, "other"): false} {
		if _, err := os.Stat(path); (err == nil) != want {
			t.Errorf("%s: %v", path, err)
		}
	}
	// The reported exit status is that of the agent. A process of bwrap may end a little later than its parent, and the
	// summary then says that it was killed.
	a = New(Config{Name: "x", Command: []string{"bash", "-c", "exit 173"}, Sandbox: sandbox.Spec{Kind: "bwrap"}})
	if res, err = a.Run(t.Context(), tk, nil); err != nil || !strings.HasPrefix(res.Summary, "exited with status 173") {
		t.Errorf("got %+v, %v", res, err)
	}
}

// The error names what is missing: the agent program or the sandbox.
func TestErrorNamesMissingProgramOrSandbox(t *testing.T) {
	tk := task(t)
	bin := t.TempDir()
	tk.Env = []string{"PATH=" + bin}
	a := New(Config{Name: "x", Command: []string{"no-such-agent"}, Sandbox: sandbox.Spec{Kind: "bwrap"}})
	if _, err := a.Run(t.Context(), tk, nil); !errors.Is(err, proc.ErrNotFound) ||
		!strings.Contains(err.Error(), "run no-such-agent: program not found") ||
		!strings.Contains(err.Error(), "[agents.x]") {
		t.Errorf("got %v", err)
	}
	if err := os.WriteFile(filepath.Join(bin, "agent"), []byte("#!/bin/sh\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	a = New(Config{Name: "x", Command: []string{"agent"}, Sandbox: sandbox.Spec{Kind: "bwrap"}})
	if _, err := a.Run(t.Context(), tk, nil); !errors.Is(err, sandbox.ErrUnusable) ||
		!strings.Contains(err.Error(), "runplan doctor --sandbox x") {
		t.Errorf("got %v", err)
	}
	a = New(Config{Name: "x", Command: []string{"agent"},
		Sandbox: sandbox.Spec{Kind: "custom", Command: []string{"no-such-jail"}}})
	if _, err := a.Run(t.Context(), tk, nil); !errors.Is(err, proc.ErrNotFound) ||
		!strings.Contains(err.Error(), "run no-such-jail") || strings.Contains(err.Error(), "[agents.x]") {
		t.Errorf("got %v", err)
	}
}

func TestPresetState(t *testing.T) {
	codex, _ := PresetOf("codex")
	if got := strings.Join(codex.state([]string{"CODEX_HOME=/c"}), " "); got != "~/.codex /c" {
		t.Error(got)
	}
	if got := strings.Join(codex.state([]string{"CODEX_HOME=c"}), " "); got != "~/.codex" {
		t.Error(got)
	}
	for _, p := range Presets() {
		if len(p.state(nil)) == 0 {
			t.Errorf("the folders of the state of %s are missing in the table", p.Name)
		}
	}
}
