//go:build unix

package command

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/runplan/runplan/agents"
	"github.com/runplan/runplan/internal/proc"
	"github.com/runplan/runplan/planparse"
	"github.com/runplan/runplan/tools/agenttest"
)

func TestConformance(t *testing.T) {
	agenttest.Run(t, func(t *testing.T, script string) (agents.Agent, agents.Task) {
		return New(Config{Name: "fake", Command: []string{"bash", "-c", script}}),
			agents.Task{Brief: agents.Brief{Task: "do it"}}
	})
}

func task(t *testing.T) agents.Task {
	return agents.Task{
		Dir: t.TempDir(), TempDir: t.TempDir(), Brief: agents.Brief{Head: "make it\n", Task: "so"},
		Run: "r1", Attempt: 3, Model: "m", Variant: "v",
		Batch: planparse.Batch{Key: "2"}, Env: []string{"PATH=" + os.Getenv("PATH"), "A=task", "B=task"},
	}
}

func TestBriefOnStdinAndInFile(t *testing.T) {
	tk := task(t)
	a := New(Config{Name: "x", Command: []string{"bash", "-c", `cat >stdin; cat "$RUNPLAN_BRIEF" >file`}})
	if _, err := a.Run(t.Context(), tk, nil); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"stdin", "file"} {
		b, err := os.ReadFile(filepath.Join(tk.Dir, name))
		if err != nil || string(b) != "make it\nso" {
			t.Errorf("%s: %q, %v", name, b, err)
		}
	}
	tk.TempDir = ""
	if res, err := a.Run(t.Context(), tk, nil); err != nil || res.Outcome != agents.Done {
		t.Errorf("without a temporary folder: %+v, %v", res, err)
	}
}

func TestEnvironment(t *testing.T) {
	tk := task(t)
	a := New(Config{
		Name: "x", Command: []string{"env"}, Env: map[string]string{"A": "config", "RUNPLAN_RUN": "forged"},
		PassEnv: []string{"KEY_FOR_IT"}, Environ: []string{"KEY_FOR_IT=k", "KEY_FOR_OTHERS=o"},
	})
	got := map[string]string{}
	_, err := a.Run(t.Context(), tk, agents.ObserverFunc(func(s string) {
		name, value, _ := strings.Cut(s, "=")
		got[name] = value
	}))
	if err != nil {
		t.Fatal(err)
	}
	delete(got, "PATH")
	delete(got, "RUNPLAN_TAG")
	want := map[string]string{
		"A": "config", "B": "task", "KEY_FOR_IT": "k", "RUNPLAN_RUN": "r1", "RUNPLAN_BATCH": "2", "RUNPLAN_ATTEMPT": "3",
		"RUNPLAN_VARIANT": "v", "RUNPLAN_MODEL": "m", "RUNPLAN_BRIEF": filepath.Join(tk.TempDir, "brief.md"),
		"TMPDIR": tk.TempDir, "PWD": tk.Dir, "GIT_CEILING_DIRECTORIES": filepath.Dir(tk.Dir),
		"GIT_CONFIG_COUNT": "4", // no maintenance of git in the background
		"GIT_CONFIG_KEY_0": "maintenance.auto", "GIT_CONFIG_VALUE_0": "false", "GIT_CONFIG_KEY_1": "gc.auto",
		"GIT_CONFIG_VALUE_1": "0",
		"GIT_CONFIG_KEY_2":   "gc.autoDetach", "GIT_CONFIG_VALUE_2": "false", "GIT_CONFIG_KEY_3": "maintenance.autoDetach",
		"GIT_CONFIG_VALUE_3": "false",
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

func TestMissingProgramErrorNamesFix(t *testing.T) {
	for _, prog := range []string{"no-such-agent", "./bin/none"} {
		_, err := New(Config{Name: "x", Command: []string{prog}, Root: t.TempDir()}).Run(t.Context(), task(t), nil)
		if !errors.Is(err, proc.ErrNotFound) || !strings.Contains(err.Error(), "[agents.x]") ||
			!strings.Contains(err.Error(), "agent x: run ") {
			t.Errorf("got %v", err)
		}
	}
	if _, err := New(Config{Name: "x"}).Run(t.Context(), task(t), nil); err == nil {
		t.Error("an agent without a command cannot run")
	}
}

func TestProgramPathIsRelativeToProject(t *testing.T) {
	root := t.TempDir()
	if err := os.WriteFile(filepath.Join(root, "agent.sh"), []byte("#!/bin/sh\necho from the project\n"),
		0o755); err != nil {
		t.Fatal(err)
	}
	res, err := New(Config{Name: "x", Command: []string{"./agent.sh"}, Root: root}).Run(t.Context(), task(t), nil)
	if err != nil || res.Summary != "from the project" {
		t.Errorf("got %+v, %v", res, err)
	}
}

func TestShellExitStatusIsNotSignal(t *testing.T) {
	res, err := New(Config{Name: "x", Command: []string{"bash", "-c", "exit 173"}}).Run(t.Context(), task(t), nil)
	if err != nil || res.Summary != "exited with status 173" {
		t.Errorf("got %+v, %v", res, err)
	}
}
