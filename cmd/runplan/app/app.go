// Package app implements the command line: flags, wiring and exit codes, with one file for each command group. Other
// packages hold the logic. It is not a main package, so that other programs can add engines to runplan.
package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/runplan/runplan/agents/script"
	"github.com/runplan/runplan/gates"
	"github.com/runplan/runplan/internal/config"
	"github.com/runplan/runplan/internal/git"
	"github.com/runplan/runplan/internal/proc"
	"github.com/runplan/runplan/internal/redact"
	"github.com/runplan/runplan/internal/store"
	"github.com/runplan/runplan/internal/ui"
	"github.com/runplan/runplan/planparse"
	"github.com/runplan/runplan/runner/local"
)

// App holds what a command uses of its process: arguments, environment, streams and engines.
type App struct {
	Args    []string
	Stdin   io.Reader
	Stdout  io.Writer
	Stderr  io.Writer
	Environ []string

	Engines []RemoteHost // engines that carry out runs on other machines

	Root func(*App) *cobra.Command // makes the command tree; Main sets it

	engine string // value of --engine; "" is this machine
	dir    string // folder in which to look for the repository; "" is the current folder
}

// Main runs one command line and returns its exit code.
func Main(a App) int {
	if len(a.Args) > 0 {
		// Both commands are internal: runplan starts itself to run them in a process of their own.
		switch a.Args[0] {
		case reapCommand:
			proc.ReapMain(a.Stdin)
			return exitOK
		case testscriptCommand:
			return script.EngineMain(a.Args[1:], a.Environ, a.Stdout)
		}
	}
	// A run mostly waits for agents and gates, so low memory use matters more than CPU time. Without the ballast, a
	// small heap would be collected after each megabyte. The ballast raises the heap target, so about seven megabytes
	// of garbage gather between two collections. It uses no physical memory, because nothing touches it.
	ballast := make([]byte, 28<<20)
	defer runtime.KeepAlive(ballast)
	debug.SetGCPercent(20)
	a.Root = newRootCommand
	return a.execute(context.Background(), withRun(newRootCommand(&a), a.Args)...)
}

// execute runs one command, prints its error and returns its exit code.
func (a App) execute(ctx context.Context, args ...string) int {
	out := newOutput(a.Stdout)
	a.Stdout = out
	if f, ok := a.Stderr.(*os.File); ok {
		a.Stderr = wrapper(f)
	}
	dir := a.dir
	root := a.Root(&a)
	a.dir = dir // the flag --repo has reset it
	root.SetArgs(args)
	root.SetIn(a.Stdin)
	root.SetOut(a.Stdout)
	root.SetErr(a.Stderr)
	err := out.outcome(root.ExecuteContext(ctx))
	if err == nil {
		return exitOK
	}
	code, hint := codeOf(err)
	// Errors may quote plans, file names and the output of programs. Remove control codes before they reach the
	// terminal.
	if text := err.Error(); text != "" {
		fmt.Fprintf(a.Stderr, "runplan: %s\n", redact.Clean(a.redactor(nil).String(text)))
	}
	if hint != "" {
		fmt.Fprintf(a.Stderr, "  → %s\n", redact.Clean(hint))
	}
	if page := explainable(err); page != "" {
		fmt.Fprintf(a.Stderr, "  → more: runplan explain %s\n", page)
	}
	return code
}

// Getenv looks up an environment variable. The last entry of a name counts, as for other programs.
func (a *App) Getenv(name string) (string, bool) {
	for i := len(a.Environ) - 1; i >= 0; i-- {
		if v, ok := strings.CutPrefix(a.Environ[i], name+"="); ok {
			return v, true
		}
	}
	return "", false
}

// env returns the environment as a map, for conditions.
func (a *App) env() map[string]string {
	m := map[string]string{}
	for _, kv := range a.Environ {
		k, v, _ := strings.Cut(kv, "=")
		m[k] = v
	}
	return m
}

// project is the repository that a command works on.
type project struct {
	repo   *git.Repo
	layout local.Layout
	config *config.Loaded

	solver solveOptions // solver settings from the command line

	when      []gates.When // conditions of the configuration
	overrides []gates.Override
}

// openProject finds the repository and reads the settings. Git runs no program that the repository configures until a
// command calls AllowPrograms.
func (a *App) openProject(ctx context.Context) (*project, error) {
	dir := a.dir
	if dir == "" {
		var err error
		if dir, err = os.Getwd(); err != nil {
			return nil, err
		}
	}
	repo, err := git.OpenReadOnly(ctx, dir, a.Environ)
	if errors.Is(err, git.ErrNotRepo) && a.dir != "" {
		return nil, noRepo(err, "give the path of a git repository")
	}
	if errors.Is(err, git.ErrNotRepo) {
		return nil, noRepo(err, "run it inside a repository, or create one: git init && git add -A && git commit -m start")
	}
	if err != nil {
		return nil, err
	}
	p := &project{repo: repo, layout: local.LayoutOf(repo.Root)}
	if err := noLinks(p.layout); err != nil {
		return nil, err
	}
	if info, err := os.Stat(p.layout.Root); err == nil && !info.IsDir() {
		return nil, fail(exitCannotRun, fmt.Errorf("%s is not a folder", p.layout.Root),
			"runplan needs a folder of that name; move the file")
	}
	if p.config, err = a.loadConfig(p.layout.Config()); err != nil {
		return nil, err
	}
	return p, p.conditions()
}

// noLinks refuses a folder of runplan that is a symbolic link.
func noLinks(l local.Layout) error {
	err := l.CheckLinks()
	var link *local.LinkError
	if errors.As(err, &link) {
		return usage(err,
			"check its target; then remove it, or replace it with a copy: such a link in a repository could make runplan "+
				"write to your own files")
	}
	return err
}

// noRepo adds the exit code and a hint to a [git.ErrNotRepo]. The hint is otherwise if no repository exists at all.
func noRepo(err error, otherwise string) error {
	switch {
	case errors.Is(err, git.ErrBare):
		return usage(err, "work in a checkout: git clone, or git worktree add")
	case errors.Is(err, git.ErrForeign):
		return usage(err, "if you trust it, run that command")
	}
	return usage(err, "%s", otherwise)
}

// conditions compiles the conditions of the gates, so that an error in one is reported before anything runs.
func (p *project) conditions() error {
	c := p.config.Gates
	wrong := func(key, what string, err error) error {
		return usage(fmt.Errorf("%s: %s: %w", p.rel(p.config.Source(key)), what, err),
			"a condition of gates.when may read gate, changed, all, batch and env; one of gates.severity gate, rule, path, "+
				"line, severity, message, test and env")
	}
	for _, name := range slices.Sorted(maps.Keys(c.When)) {
		w, err := gates.ParseWhen(name, c.When[name])
		if err != nil {
			return wrong("gates.when", "gates.when."+name, err)
		}
		p.when = append(p.when, w)
	}
	for _, g := range c.Command {
		if g.When == "" {
			continue
		}
		w, err := gates.ParseWhen(g.Name, g.When)
		if err != nil {
			return wrong("gates.command", "gate "+g.Name, err)
		}
		p.when = append(p.when, w)
	}
	for i, s := range c.Severity {
		o, err := gates.ParseOverride(s.When, s.Severity)
		if err != nil {
			return wrong("gates.severity", fmt.Sprintf("gates.severity %d", i+1), err)
		}
		p.overrides = append(p.overrides, o)
	}
	return nil
}

func (a *App) loadConfig(projectFile string) (*config.Loaded, error) {
	user, err := config.UserFile(a.Getenv)
	if err != nil {
		// A machine without a home folder has no user settings. That is not an error of the project.
		user = ""
	}
	c, err := config.Load([]string{user, projectFile}, a.Getenv)
	var unread *fs.PathError
	if errors.As(err, &unread) {
		if unread.Path == user && errors.Is(err, syscall.ENOTDIR) {
			return nil, usage(err, "a part of that path is a file, not a folder; set RUNPLAN_HOME to a folder of your own")
		}
		return nil, usage(err, "check that it is a readable file")
	}
	if err != nil {
		return nil, usage(err, "runplan config --keys lists what can be set")
	}
	return c, nil
}

// readPlan reads and parses a plan file.
func readPlan(path string) (*planparse.Plan, []byte, error) {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil, usage(fmt.Errorf("plan %s not found", path), "give the path of a markdown file")
	case err != nil:
		return nil, nil, usage(fmt.Errorf("read the plan: %w", err), "")
	case info.IsDir():
		return nil, nil, usage(fmt.Errorf("%s is a folder, not a plan", path), "give the path of a markdown file")
	case !info.Mode().IsRegular() && !isDescriptor(path): // opening a pipe blocks until somebody writes to it
		return nil, nil, usage(fmt.Errorf("%s is a %s, not a file", path, kindOf(info.Mode())),
			"give the path of a markdown file")
	case info.Size() > planparse.MaxSize:
		return nil, nil,
			usage(fmt.Errorf("%s: %w: %d MiB, at most %d MiB are read", path, planparse.ErrTooBig, info.Size()>>20,
				planparse.MaxSize>>20), "split the plan")
	}
	src, err := os.ReadFile(path)
	if err != nil {
		return nil, nil, usage(fmt.Errorf("read the plan: %w", err), "")
	}
	p, err := planparse.Parse(path, src)
	if err != nil {
		return nil, nil, usage(err, "")
	}
	return p, src, nil
}

// isDescriptor reports whether path is an open file descriptor, such as /dev/stdin or the file of <(command).
func isDescriptor(path string) bool {
	return path == "/dev/stdin" || strings.HasPrefix(path, "/dev/fd/") || strings.HasPrefix(path, "/proc/self/fd/")
}

// kindOf names a file type that is neither a regular file nor a folder.
func kindOf(m fs.FileMode) string {
	switch {
	case m&fs.ModeNamedPipe != 0:
		return "named pipe"
	case m&fs.ModeSocket != 0:
		return "socket"
	}
	return "device"
}

// invalid combines the errors of a plan into one error that names each place.
func invalid(path string, p *planparse.Plan) error {
	errs := p.Errors()
	if len(errs) == 0 {
		return nil
	}
	var b strings.Builder
	for i, d := range errs {
		if i > 0 {
			b.WriteString("\n")
		}
		fmt.Fprintf(&b, "%s:%d: %s", path, d.Line, d.Message)
	}
	return usage(errors.New(b.String()), "nothing was run; details: runplan check %s", path)
}

// mostWarnings is the highest number of warnings of a plan that a run shows before it begins.
const mostWarnings = 10

// warnOfPlan shows the warnings of a plan before a run. An example is a fence that swallows the next batch. Remarks of
// lower severity appear only in runplan check.
func (a *App) warnOfPlan(path string, p *planparse.Plan) {
	shown, more := 0, 0
	for _, d := range p.Diagnostics {
		switch {
		case d.Severity != planparse.SeverityWarning:
		case shown == mostWarnings:
			more++
		default:
			shown++
			fmt.Fprintf(a.Stderr, "%s:%d: %s: %s [%s]\n", path, d.Line, d.Severity, ui.Sanitize(d.Message), d.Code)
		}
	}
	if more > 0 {
		fmt.Fprintf(a.Stderr, "and %d more: runplan check %s\n", more, path)
	}
}

// openJournal opens the journal of a project for reading. A project without a journal has no runs.
func (p *project) openJournal(ctx context.Context) (*store.Journal, error) {
	j, err := store.OpenExistingJournal(ctx, p.layout.Journal())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fail(exitUsage, fmt.Errorf("%s has no runs", p.repo.Root), "start one: runplan PLAN.md")
	}
	return j, err
}

// planPath returns the name under which a run stores its plan. The path is relative if the plan is inside the
// repository.
func (p *project) planPath(path string) (string, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	if real, err := filepath.EvalSymlinks(abs); err == nil {
		abs = real
	}
	root := p.repo.Root
	if real, err := filepath.EvalSymlinks(root); err == nil {
		root = real
	}
	rel, err := filepath.Rel(root, abs)
	if err != nil || strings.HasPrefix(rel, "..") {
		return abs, nil
	}
	return filepath.ToSlash(rel), nil
}
