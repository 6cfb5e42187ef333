//go:build unix

package script

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/runplan/runplan/agents"
	"github.com/runplan/runplan/internal/proc"
	"github.com/runplan/runplan/planparse"
	"github.com/runplan/runplan/tools/agenttest"
)

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "__testscript" {
		os.Exit(EngineMain(os.Args[2:], os.Environ(), os.Stdout))
	}
	os.Exit(m.Run())
}

func TestConformance(t *testing.T) {
	for _, kind := range []planparse.BlockKind{planparse.BlockShell, planparse.BlockRun} {
		t.Run(string(kind), func(t *testing.T) {
			agenttest.Run(t, func(t *testing.T, script string) (agents.Agent, agents.Task) {
				return New("plan.md", nil), agents.Task{Batch: batch(planparse.Block{Kind: kind, Text: script, Line: 7})}
			})
		})
	}
}

// batch returns a batch with one literal task that holds the blocks.
func batch(blocks ...planparse.Block) planparse.Batch {
	return planparse.Batch{
		Key: "1", StartLine: 3, Blocks: blocks,
		Tasks: []planparse.Task{{Number: "1", Title: "First", Line: 5, Literal: true}},
	}
}

func task(t *testing.T, b planparse.Batch) agents.Task {
	return agents.Task{
		Dir: t.TempDir(), TempDir: t.TempDir(), Batch: b, Attempt: 1,
		Env: []string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir(), "HELLO=world"},
	}
}

func run(t *testing.T, tk agents.Task, a *Agent) (agents.Result, []string) {
	t.Helper()
	if a == nil {
		a = New("plan.md", nil)
		a.Engine = []string{os.Args[0], "__testscript"}
	}
	var lines []string
	res, err := a.Run(t.Context(), tk, agents.ObserverFunc(func(s string) { lines = append(lines, s) }))
	if err != nil {
		t.Fatal(err)
	}
	return res, lines
}

const (
	file   = planparse.BlockFile
	shell  = planparse.BlockShell
	runs   = planparse.BlockRun
	diff   = planparse.BlockDiff
	edits  = planparse.BlockEdit
	del    = planparse.BlockDelete
	txtars = planparse.BlockTestscript
)

func TestRunExecutesBlocksInOrder(t *testing.T) {
	tk := task(t, batch(
		planparse.Block{Kind: file, Path: "dir/a.txt", Text: "one\ntwo\n"},
		planparse.Block{Kind: file, Path: "run.sh", Text: "#!/bin/sh\necho ran\n"},
		planparse.Block{Kind: edits, Path: "dir/a.txt", Text: "<<<<<<< SEARCH\ntwo\n=======\n2\n>>>>>>> REPLACE\n"},
		planparse.Block{Kind: diff,
			Text: "diff --git a/dir/a.txt b/dir/a.txt\n--- a/dir/a.txt\n+++ b/dir/a.txt\n@@ -1,2 +1,3 @@\n one\n 2\n+3\n"},
		planparse.Block{Kind: diff, Text: "--- dir/a.txt\n+++ dir/a.txt\n@@ -1,3 +1,3 @@\n-one\n+1\n 2\n 3"},
		planparse.Block{Kind: diff, Text: "--- /dev/null\n+++ b/new.txt\n@@ -0,0 +1 @@\n+new\n"},
		planparse.Block{Kind: shell, Text: "./run.sh >ran.txt\necho $HELLO >>ran.txt\n"},
		planparse.Block{Kind: runs, Text: "cat ran.txt", Expected: "world"},
		planparse.Block{Kind: del, Path: "run.sh"},
		planparse.Block{Kind: del, Path: "never-was"},
	))
	res, lines := run(t, tk, nil)
	if res.Outcome != agents.Done || res.Summary != "executed 10 blocks of the plan" {
		t.Fatalf("got %+v", res)
	}
	want := []string{
		"write dir/a.txt", "write run.sh", "edit dir/a.txt", "apply the diff of dir/a.txt", "apply the diff of dir/a.txt",
		"apply the diff of new.txt", "shell: ./run.sh >ran.txt …", "run cat ran.txt", "ran", "world", "delete run.sh",
		"delete never-was: it does not exist",
	}
	if d := cmp.Diff(want, lines); d != "" {
		t.Error(d)
	}
	if got := read(t, tk.Dir, "dir/a.txt") + read(t, tk.Dir, "new.txt"); got != "1\n2\n3\nnew\n" {
		t.Errorf("got %q", got)
	}
	if fi, err := os.Stat(filepath.Join(tk.Dir, "dir/a.txt")); err != nil || fi.Mode().Perm() != 0o644 {
		t.Errorf("%v %v", fi, err)
	}
}

func TestFirstFailingBlockEndsAttempt(t *testing.T) {
	tests := map[string]struct {
		block planparse.Block
		line  int
		want  string
	}{
		"shell stops at the first error": {planparse.Block{Kind: shell, Text: "false\ntouch late\n"}, 20,
			"the shell block exited with status 1"},
		"unset variables are errors": {planparse.Block{Kind: shell, Text: "\necho $NOPE\n"}, 20,
			"line 22: NOPE: unbound variable"},
		"so is the left side of a pipe": {planparse.Block{Kind: shell, Text: "false | true\n"}, 20, "status 1"},
		"expected to pass": {planparse.Block{Kind: runs, Text: "exit 2", Expected: "PASS"}, 20,
			"exit 2: exited with status 2, expected to pass"},
		"expected to fail": {planparse.Block{Kind: runs, Text: "true", Expected: "FAIL"}, 20,
			"true: passed, expected to fail"},
		"expected another output": {planparse.Block{Kind: runs, Text: "echo a", Expected: "b"}, 20,
			`does not contain the expected "b"`},
		"a path outside": {planparse.Block{Kind: file, Path: "../x", Text: ""}, 20, "leads upwards"},
		"delete outside": {planparse.Block{Kind: del, Path: "/etc/x"}, 20, "is absolute"},
		"a diff outside": {planparse.Block{Kind: diff, Text: "--- a/../x\n+++ b/../x\n@@ -0,0 +1 @@\n+x\n"},
			20, "leads upwards"},
		"a diff of runplan's own": {planparse.Block{Kind: diff,
			Text: "--- /dev/null\n+++ b/.runplan/config.toml\n@@ -0,0 +1 @@\n+x\n"}, 20, "belongs to runplan"},
		"a diff that does not apply": {planparse.Block{Kind: diff, Text: "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-y\n+x\n"}, 20,
			"git apply exited"},
		"a broken diff": {planparse.Block{Kind: diff, Text: "--- a/x\n+++ b/x\n@@ -1,9 +1 @@\n-y\n+x\n"}, 20,
			"read the diff"},
		"no diff": {planparse.Block{Kind: diff, Text: "hello\n"}, 20, "changes no file"},
		"an edit without a match": {planparse.Block{Kind: edits, Path: "kept",
			Text: "\n<<<<<<< SEARCH\nnope\n=======\n>>>>>>> REPLACE\n"}, 22, "search text was not found"},
		"testscript": {planparse.Block{Kind: txtars, Text: "exec true\n\nexec false\n"}, 23,
			"testscript: exec false: unexpected command failure"},
		"testscript writes outside": {planparse.Block{Kind: txtars, Text: "-- ../x --\n"}, 20, "is outside the script"},
		"testscript writes through env": {planparse.Block{Kind: txtars, Text: "-- $HOME/x --\n"}, 20,
			"is outside the script"},
		"an unknown block": {planparse.Block{Kind: "magic"}, 20, `does not know "magic"`},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			tt.block.Line = 20
			tk := task(t, batch(
				planparse.Block{Kind: file, Path: "kept", Text: "x\n"}, tt.block,
				planparse.Block{Kind: file, Path: "late", Text: ""},
			))
			res, _ := run(t, tk, nil)
			if res.Outcome != agents.GaveUp || !strings.Contains(res.Summary+"\n"+res.Detail, tt.want) {
				t.Fatalf("got %+v, want %q", res, tt.want)
			}
			if len(res.Findings) != 1 || res.Findings[0].Line != tt.line || res.Findings[0].Path != "plan.md" {
				t.Errorf("findings %+v, want line %d", res.Findings, tt.line)
			}
			if _, err := os.Stat(filepath.Join(tk.Dir, "late")); err == nil {
				t.Error("a later task was run")
			}
		})
	}
}

func TestRunRejectsProseTasks(t *testing.T) {
	b := batch(planparse.Block{Kind: file, Path: "a", Text: "a"})
	b.Tasks = append(b.Tasks,
		planparse.Task{Number: "2", Title: "Think of something", Line: 9},
		planparse.Task{Number: "3", Title: "Done before", Line: 11, Done: true},
		planparse.Task{Number: "4", Title: "Holds the next one", Line: 12},
		planparse.Task{Number: "4.1", Title: "Literal", Line: 13, Parent: "4", Literal: true},
	)
	tk := task(t, b)
	res, _ := run(t, tk, nil)
	if res.Outcome != agents.GaveUp ||
		!strings.HasPrefix(res.Summary,
			"task 2 is prose only: the script agent only executes what the plan spells out literally; ") ||
		!strings.Contains(res.Summary, "[agents.NAME] command") || !strings.Contains(res.Summary, "--agent NAME") {
		t.Errorf("got %+v", res)
	}
	if d := cmp.Diff([]agents.Finding{{Path: "plan.md", Line: 9, Message: "task 2 is prose only: Think of something"}},
		res.Findings); d != "" {
		t.Error(d)
	}
	if _, err := os.Stat(filepath.Join(tk.Dir, "a")); err == nil {
		t.Error("a step was done before the plan was refused")
	}
	if res, _ := run(t, task(t, planparse.Batch{Key: "7", StartLine: 4}), nil); res.Outcome != agents.GaveUp ||
		len(res.Findings) != 1 {
		t.Errorf("an empty batch: %+v", res)
	}
}

func TestRunSkipsTickedTasks(t *testing.T) {
	b := batch(
		planparse.Block{Kind: file, Path: "a", Text: "a", Task: 0},
		planparse.Block{Kind: file, Path: "b", Text: "b", Task: 1},
		planparse.Block{Kind: file, Path: "c", Text: "c", Task: -1},
	)
	b.Tasks[0].Done = true
	b.Tasks = append(b.Tasks, planparse.Task{Number: "2", Literal: true})
	tk := task(t, b)
	_, lines := run(t, tk, nil)
	if d := cmp.Diff([]string{"skip task 1: ticked in the plan", "write b", "write c"}, lines); d != "" {
		t.Error(d)
	}
}

func TestParseExpected(t *testing.T) {
	tests := map[string]expected{
		"":                                 {status: pass},
		"PASS":                             {status: pass},
		"**PASS**":                         {status: pass},
		"pass":                             {status: pass},
		"PASS (3 tests)":                   {status: pass},
		"PASSES":                           {status: pass},
		"FAIL":                             {status: fail},
		`FAIL with "function not defined"`: {status: fail, texts: []string{"function not defined"}},
		"FAIL with `undefined: Hello` ok":  {status: fail, texts: []string{"undefined: Hello"}},
		"FAIL — “not found”":               {status: fail, texts: []string{"not found"}},
		"FAILURE is an option":             {texts: []string{"FAILURE is an option"}},
		"pass the salt":                    {texts: []string{"pass the salt"}},
		"`ok`":                             {texts: []string{"ok"}},
		`"hello world"`:                    {texts: []string{"hello world"}},
		"hello world":                      {texts: []string{"hello world"}},
		`a "b" c`:                          {texts: []string{`a "b" c`}},
	}
	for in, want := range tests {
		if d := cmp.Diff(want, parseExpected(in), cmp.AllowUnexported(expected{})); d != "" {
			t.Errorf("%q: %s", in, d)
		}
	}
	for _, tt := range []struct {
		output, text string
		want         bool
	}{{"a\x1b[1mb", "ab", true}, {"a\n  b", "a b", true}, {"a", " ", false}, {"PASS x", "pass x", false}} {
		if got := holds(tt.output, tt.text); got != tt.want {
			t.Errorf("%q holds %q: %v", tt.output, tt.text, got)
		}
	}
}

func TestTestscriptUsesWorkspace(t *testing.T) {
	tk := task(t, batch(
		planparse.Block{Kind: file, Path: "in.txt", Text: "hello\n"},
		planparse.Block{Kind: txtars, Line: 30,
			Text: "exec cat in.txt\nstdout hello\ncmp stdout $WORK/want\ncp $WORK/want out.txt\n" +
				"exists $WORKSPACE/out.txt\nexec sh -c 'echo $HELLO $WORKSPACE'\nstdout ^world\nexec sleep 30 &\n-- want " +
				"--\nhello\n"},
		planparse.Block{Kind: txtars, Line: 40, Text: "skip 'not on a Tuesday'\n"},
	))
	a := New("plan.md", nil)
	a.Engine = []string{os.Args[0], "__testscript"}
	res, _ := run(t, tk, a)
	if res.Outcome != agents.Done || !strings.Contains(res.Summary, "not on a Tuesday") {
		t.Fatalf("got %+v", res)
	}
	if got := read(t, tk.Dir, "out.txt"); got != "hello\n" {
		t.Errorf("got %q", got)
	}
	if left, _ := os.ReadDir(tk.TempDir); len(left) != 0 {
		t.Errorf("left behind: %v", left)
	}
	tk.Batch = batch(planparse.Block{Kind: txtars, Line: 30, Text: "exec echo out\n! exec echo no\n"})
	res, _ = run(t, tk, a)
	if res.Findings[0].Line != 32 || !strings.Contains(res.Detail, "FAIL: plan.md:32: ") {
		t.Errorf("got %+v", res)
	}
	tk.Batch = batch(planparse.Block{Kind: txtars, Line: 30, Text: "exec sh -c 'setsid sleep 3600'\n"})
	tk.Limits = agents.Limits{Total: 300 * time.Millisecond, Grace: 100 * time.Millisecond}
	res, _ = run(t, tk, a)
	if res.Outcome != agents.TimedOut {
		t.Errorf("got %+v", res)
	}
	tk.Limits = agents.Limits{}
	ctx, cancel := context.WithCancelCause(t.Context())
	time.AfterFunc(200*time.Millisecond, func() { cancel(errors.New("enough")) })
	res, err := a.Run(ctx, tk, nil)
	if err != nil || !strings.Contains(res.Summary, "enough") {
		t.Errorf("got %+v, %v", res, err)
	}
}

func TestRunExecutesLongScripts(t *testing.T) {
	tk := task(t, batch(planparse.Block{Kind: shell, Text: "# " + strings.Repeat("x", 300<<10) + "\necho fine >out\n"}))
	if res, _ := run(t, tk, nil); res.Outcome != agents.Done || read(t, tk.Dir, "out") != "fine\n" {
		t.Errorf("got %+v", res)
	}
}

func TestMissingShellIsError(t *testing.T) {
	tk := task(t, batch(planparse.Block{Kind: shell, Text: "true", Line: 4}))
	tk.Env = []string{"PATH=" + t.TempDir()}
	if _, err := New("plan.md", nil).Run(t.Context(), tk, nil); !errors.Is(err, proc.ErrNotFound) ||
		!strings.Contains(err.Error(), "plan.md:4") {
		t.Errorf("got %v", err)
	}
}

// A further attempt would not install a program, but it may make one of the project.
func TestMissingProgramOfCommandIsError(t *testing.T) {
	for text, missing := range map[string]bool{
		"no-such-program --check": true, "./no-such-program": false, "cd . && ./no-such-program": false,
		"bash -c 'echo x: command not found; exit 127'": false,
	} {
		b := batch(planparse.Block{Kind: planparse.BlockRun, Text: text, Line: 7})
		_, err := New("plan.md", nil).Run(t.Context(), task(t, b), nil)
		if errors.Is(err, proc.ErrNotFound) != missing {
			t.Errorf("%s: error %v, want ErrNotFound: %v", text, err, missing)
		}
	}
}

func TestTotalLimitCoversWholeAttempt(t *testing.T) {
	b := planparse.Block{Kind: shell, Text: "sleep 0.3"}
	tk := task(t, batch(b, b, b, b, b, b))
	tk.Limits.Total = 700 * time.Millisecond
	res, _ := run(t, tk, nil)
	if res.Outcome != agents.TimedOut { // any one block would be within the limit
		t.Errorf("%+v", res)
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
