package script

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/runplan/runplan/internal/git"
	"github.com/runplan/runplan/internal/proc"
	"github.com/runplan/runplan/planparse"
)

// testscript runs a block in the testscript engine. The script starts in the workspace, $WORKSPACE. The files of its
// archive are in $WORK, a temporary folder.
func (w *work) testscript(ctx context.Context, b planparse.Block) error {
	w.say("testscript: " + summary(b.Text))
	// Empty lines in front let the engine name the lines of the plan.
	text := strings.Repeat("\n", b.Line) + b.Text
	for _, f := range txtar.Parse([]byte(text)).Files {
		if !filepath.IsLocal(f.Name) || strings.ContainsAny(f.Name, `$\`) {
			return fmt.Errorf("the archive's file %q is outside the script's folder", f.Name)
		}
	}
	dir, err := os.MkdirTemp(w.task.TempDir, "testscript-")
	if err != nil {
		return fmt.Errorf("create a folder for the script: %w", err)
	}
	defer func() { _ = git.RemoveAll(dir) }()
	file := filepath.Join(dir, "plan.txtar")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		return fmt.Errorf("create a folder for the script: %w", err)
	}
	res, err := w.run(ctx, proc.Cmd{
		Args:   append(slices.Clip(w.agent.Engine), file, w.task.Dir),
		Limits: proc.Limits{Idle: -1}, // the engine prints after the script has ended
	})
	if err != nil {
		return err
	}
	if res.Ended != proc.Exited {
		return w.expectSuccess(res, "the testscript block")
	}
	return w.judge(ctx, res, file, text)
}

// judge turns the engine's output into a failure that names the line of the plan.
func (w *work) judge(ctx context.Context, res proc.Result, file, text string) error {
	if why := skipLine(res.Tail); why != "" {
		w.notes = append(w.notes, "a testscript block skipped itself: "+why)
	}
	if res.Exit == 0 {
		return nil
	}
	if err := w.check(ctx); err != nil {
		return err
	}
	f := &failure{message: "the testscript block failed", output: strings.ReplaceAll(res.Tail, file, w.agent.planPath)}
	m := regexp.MustCompile(`(?m)^FAIL: .*?plan\.txtar:(\d+): (.*)$`).FindStringSubmatch(res.Tail)
	if m == nil {
		return f
	}
	f.line, _ = strconv.Atoi(m[1])
	f.message = "testscript: " + m[2]
	if lines := strings.Split(text, "\n"); f.line > 0 && f.line <= len(lines) {
		f.message = fmt.Sprintf("testscript: %s: %s", strings.TrimSpace(lines[f.line-1]), m[2])
	}
	return f
}

// EngineMain is the command behind [Agent.Engine]: it runs the script args[0] in the workspace args[1], prints the
// engine's log and returns the exit status. With -own before these, the script starts in its own folder, as
// testscripts usually do; $WORKSPACE is still the workspace.
func EngineMain(args []string, environ []string, stdout io.Writer) int {
	own := len(args) > 0 && args[0] == "-own"
	if own {
		args = args[1:]
	}
	if len(args) != 2 {
		_, _ = fmt.Fprintln(stdout, "usage: [-own] SCRIPT WORKSPACE")
		return 2
	}
	e := runEngine(args[0], args[1], own, environ)
	_, _ = io.WriteString(stdout, e.log.String())
	if e.skipped != "" {
		_, _ = fmt.Fprintln(stdout, skipMark+e.skipped)
	}
	if e.failed {
		return 1
	}
	return 0
}

const skipMark = "SKIP: "

func skipLine(log string) string {
	i := strings.LastIndex("\n"+log, "\n"+skipMark)
	if i < 0 {
		return ""
	}
	text, _, _ := strings.Cut(log[i+len(skipMark):], "\n")
	return text
}

// runEngine runs one script file. It may write to the folder of the file. With own, the script starts in its own
// folder.
func runEngine(file, workspace string, own bool, env []string) *engine {
	t := &engine{}
	p := testscript.Params{
		Files:       []string{file},
		WorkdirRoot: filepath.Dir(file),
		Setup: func(e *testscript.Env) error {
			tmp := e.Getenv("TMPDIR")
			e.Vars = append(e.Vars, env...)
			// The engine's own folders override the environment.
			start := workspace
			if own {
				start = e.WorkDir
			}
			e.Vars = append(e.Vars, "WORK="+e.WorkDir, "WORKSPACE="+workspace, "PWD="+start)
			if tmp != "" {
				e.Vars = append(e.Vars, "TMPDIR="+tmp)
			}
			e.Cd = start
			return nil
		},
	}
	// FailNow ends the goroutine, as in package testing.
	var wg sync.WaitGroup
	wg.Go(func() {
		defer func() {
			if r := recover(); r != nil {
				t.Log(fmt.Sprintf("the script engine failed: %v", r))
				t.mark(true, "")
			}
		}()
		testscript.RunT(t, p)
	})
	wg.Wait()
	return t
}

// engine implements the test interface that the testscript engine needs.
type engine struct {
	mu      sync.Mutex
	failed  bool
	skipped string
	log     strings.Builder
}

const maxEngineLog = 1 << 20

func (e *engine) mark(failed bool, skipped string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.failed = e.failed || failed
	e.skipped = cmp.Or(skipped, e.skipped)
}

func (e *engine) Log(args ...any) {
	e.mu.Lock()
	defer e.mu.Unlock()
	text := strings.Trim(fmt.Sprintln(args...), "\n") + "\n"
	if strings.HasPrefix(text, "WORK=") { // the engine's own folder no longer exists when this is read
		_, text, _ = strings.Cut(text, "\n")
	}
	if room := maxEngineLog - e.log.Len(); len(text) > room {
		text = text[len(text)-max(room, 0):] // the failure is last
	}
	e.log.WriteString(text)
}

func (e *engine) Skip(args ...any) {
	reason := cmp.Or(strings.TrimSpace(fmt.Sprintln(args...)), "without a reason")
	e.mark(false, reason)
	runtime.Goexit()
}

func (e *engine) Fatal(args ...any) {
	e.Log(args...)
	e.FailNow()
}

func (e *engine) FailNow() {
	e.mark(true, "")
	runtime.Goexit()
}

func (e *engine) Run(_ string, f func(testscript.T)) { f(e) }

func (e *engine) Parallel() {}

func (e *engine) Verbose() bool { return false }
