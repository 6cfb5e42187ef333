// Package cli holds the shared parts of the commands: the process ([App]), the repository ([Project]), exit codes,
// output, and the consent to run programs. Each folder below it is a group of commands.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/runplan/runplan/gates"
	"github.com/runplan/runplan/internal/config"
	"github.com/runplan/runplan/internal/git"
	"github.com/runplan/runplan/internal/glob"
	"github.com/runplan/runplan/internal/phrase"
	"github.com/runplan/runplan/internal/redact"
	"github.com/runplan/runplan/internal/store"
	"github.com/runplan/runplan/internal/ui"
	"github.com/runplan/runplan/planparse"
	"github.com/runplan/runplan/runner/journal"
)

// App holds what a command uses of its process: arguments, environment, streams and engines.
type App struct {
	Args    []string
	Stdin   io.Reader
	Stdout  io.Writer
	Stderr  io.Writer
	Environ []string

	Engines []RemoteHost // engines that execute runs on other machines

	// Root makes the command tree, or the part of it that is enough for args; Main sets it.
	Root func(a *App, args []string) *cobra.Command
	// Words adds implied words to a command line, such as run before a plan; nil adds nothing.
	Words func(root *cobra.Command, args []string) []string

	Engine string // value of --engine; "" is this machine
	Dir    string // folder in which to look for the repository; "" is the current folder
	JSON   bool   // value of --json: print JSON instead of text
	Trust  string // value of --trust-config
}

// Execute runs one command, prints its error and returns its exit code.
func (a App) Execute(ctx context.Context, args ...string) int {
	out := newOutput(a.Stdout)
	a.Stdout = out
	if f, ok := a.Stderr.(*os.File); ok {
		a.Stderr = wrapper(f)
	}
	err := out.outcome(a.Call(ctx, args...))
	if err == nil {
		return ExitOK
	}
	code, hint := CodeOf(err)
	// Errors may quote plans, file names and the output of programs. Remove control codes before they reach the
	// terminal.
	if text := err.Error(); text != "" {
		fmt.Fprintf(a.Stderr, "runplan: %s\n", redact.Clean(a.Redactor().String(text)))
	}
	if hint != "" {
		fmt.Fprintf(a.Stderr, "  → %s\n", redact.Clean(hint))
	}
	if page := explainable(err); page != "" {
		fmt.Fprintf(a.Stderr, "  → more: runplan explain %s\n", page)
	}
	return code
}

// Call runs one command and returns its error.
func (a *App) Call(ctx context.Context, args ...string) error {
	dir := a.Dir
	root := a.Root(a, args)
	a.Dir = dir // the flag --repo has reset it
	if a.Words != nil {
		args = a.Words(root, args)
	}
	root.SetArgs(args)
	root.SetIn(a.Stdin)
	root.SetOut(a.Stdout)
	root.SetErr(a.Stderr)
	return root.ExecuteContext(ctx)
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

// Env returns the environment as a map, for conditions.
func (a *App) Env() map[string]string {
	m := map[string]string{}
	for _, kv := range a.Environ {
		k, v, _ := strings.Cut(kv, "=")
		m[k] = v
	}
	return m
}

// Project is the repository that a command works on, with the process that works on it.
type Project struct {
	*App
	Repo   *git.Repo
	Layout journal.Layout
	Config *config.Loaded

	Solver SolveOptions // solver settings from the command line

	When      []gates.When // conditions of the configuration
	Overrides []gates.Override
}

// OpenProject finds the repository and reads the settings. Git runs no program that the repository configures until a
// command calls AllowPrograms.
func (a *App) OpenProject(ctx context.Context) (*Project, error) {
	dir := a.Dir
	if dir == "" {
		var err error
		if dir, err = os.Getwd(); err != nil {
			return nil, err
		}
	}
	repo, err := git.OpenReadOnly(ctx, dir, a.Environ)
	if errors.Is(err, git.ErrNotRepo) && a.Dir != "" {
		return nil, NoRepo(err, "give the path of a git repository")
	}
	if errors.Is(err, git.ErrNotRepo) {
		return nil, NoRepo(err, "run it inside a repository, or create one: git init && git add -A && git commit -m start")
	}
	if err != nil {
		return nil, err
	}
	return a.ProjectOf(repo)
}

// ProjectOf is [App.OpenProject] for a repository that is already open.
func (a *App) ProjectOf(repo *git.Repo) (*Project, error) {
	p := &Project{App: a, Repo: repo, Layout: journal.LayoutOf(repo.Root)}
	if err := NoLinks(p.Layout); err != nil {
		return nil, err
	}
	if info, err := os.Stat(p.Layout.Root); err == nil && !info.IsDir() {
		return nil, Fail(ExitCannotRun, fmt.Errorf("%s is not a folder", p.Layout.Root),
			"runplan needs a folder with that name; move the file")
	}
	var err error
	if p.Config, err = a.LoadConfig(p.Layout.Config()); err != nil {
		return nil, err
	}
	p.When, p.Overrides, err = compile(p.Config)
	return p, err
}

// InProject returns the RunE function of a command that works on the repository.
func (a *App) InProject(do func(ctx context.Context, p *Project, args []string) error) runE {
	return func(cmd *cobra.Command, args []string) error {
		p, err := a.OpenProject(cmd.Context())
		if err != nil {
			return err
		}
		return do(cmd.Context(), p, args)
	}
}

// StoppableInProject is [App.InProject] for a command whose context ends like that of [Interruptible].
func (a *App) StoppableInProject(do func(ctx context.Context, p *Project, args []string) error) runE {
	return Stoppable(func(ctx context.Context, args []string) error {
		p, err := a.OpenProject(ctx)
		if err != nil {
			return err
		}
		return do(ctx, p, args)
	})
}

// NoLinks refuses a folder of runplan that is a symbolic link.
func NoLinks(l journal.Layout) error {
	err := l.CheckLinks()
	if errors.As(err, new(*journal.LinkError)) {
		return Named("link-refused", Usage(err,
			"check its target; then remove it, or replace it with a copy: such a link in a repository could make runplan "+
				"write to your own files"))
	}
	return err
}

// NoRepo adds the exit code and a hint to a [git.ErrNotRepo]. The hint differs if no repository exists at all.
func NoRepo(err error, otherwise string) error {
	switch {
	case errors.Is(err, git.ErrBare):
		return Usage(err, "work in a checkout: git clone, or git worktree add")
	case errors.Is(err, git.ErrForeign):
		return Usage(err, "if you trust it, run that command")
	}
	return Usage(err, "%s", otherwise)
}

// LoadConfig reads the settings of the user and of a project.
func (a *App) LoadConfig(projectFile string) (*config.Loaded, error) {
	user, err := config.UserFile(a.Getenv)
	if err != nil {
		// A machine without a home folder has no user settings. That is not an error of the project.
		user = ""
	}
	c, err := config.Load([]string{user, projectFile}, a.Getenv)
	if unread, ok := errors.AsType[*fs.PathError](err); ok {
		if unread.Path == user && errors.Is(err, syscall.ENOTDIR) {
			return nil, Usage(err, "a part of that path is a file, not a folder; set RUNPLAN_HOME to a folder of your own")
		}
		return nil, Usage(err, "check that it is a readable file")
	}
	if err != nil {
		return nil, Named("settings-invalid", Usage(err, "runplan config --keys lists what can be set"))
	}
	return c, nil
}

// nearFile returns a question about the markdown file whose path a mistyped one resembles.
func nearFile(path string) string {
	if near := config.Similar(filepath.Clean(path), glob.Below(filepath.Dir(path), "*.md")); near != "" {
		return "did you mean " + near + "? "
	}
	return ""
}

// ReadPlan reads and parses a plan file.
func ReadPlan(path string) (*planparse.Plan, []byte, error) {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil, Named("plan-not-found",
			Usage(fmt.Errorf("plan %s not found", path), "%sgive the path of a markdown file", nearFile(path)))
	case err != nil:
		return nil, nil, Usage(fmt.Errorf("read the plan: %w", err), "")
	case info.IsDir():
		return nil, nil, Usage(fmt.Errorf("%s is a folder, not a plan", path), "give the path of a markdown file")
	case !info.Mode().IsRegular() && !isDescriptor(path): // opening a pipe blocks until somebody writes to it
		return nil, nil, Usage(fmt.Errorf("%s is a %s, not a file", path, kindOf(info.Mode())),
			"give the path of a markdown file")
	case info.Size() > planparse.MaxSize:
		return nil, nil,
			Usage(fmt.Errorf("%s: %w: %d MiB, the limit is %d MiB", path, planparse.ErrTooBig, info.Size()>>20,
				planparse.MaxSize>>20), "split the plan")
	}
	src, err := os.ReadFile(path)
	if err != nil {
		return nil, nil, Usage(fmt.Errorf("read the plan: %w", err), "")
	}
	p, err := planparse.Parse(path, src)
	if err != nil {
		return nil, nil, Usage(err, "")
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

// Invalid combines the errors of a plan into one error that names each place.
func Invalid(path string, p *planparse.Plan) error {
	errs := p.Errors()
	if len(errs) == 0 {
		return nil
	}
	text := phrase.Join(errs, "\n",
		func(d planparse.Diagnostic) string { return fmt.Sprintf("%s:%d: %s", path, d.Line, d.Message) })
	return Named("plan-invalid", Usage(errors.New(text), "nothing was run; details: runplan check %s", Word(path)))
}

// mostWarnings is the highest number of warnings of a plan that a run shows before it begins.
const mostWarnings = 10

// WarnOfPlan shows the warnings of a plan before a run. An example is a fence that swallows the next batch. Remarks of
// lower severity appear only in runplan check.
func (a *App) WarnOfPlan(path string, p *planparse.Plan) {
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
		fmt.Fprintf(a.Stderr, "and %d more: runplan check %s\n", more, Word(path))
	}
}

// IfExists completes a call that opens a file: found is false, without an error, if the file does not exist.
func IfExists[T any](opened T, err error) (file T, found bool, _ error) {
	if errors.Is(err, fs.ErrNotExist) {
		return opened, false, nil
	}
	return opened, err == nil, err
}

// OpenJournal opens the journal of a project for reading. A project without a journal has no runs.
func (p *Project) OpenJournal(ctx context.Context) (*store.Journal, error) {
	j, err := store.OpenExistingJournal(ctx, p.Layout.Journal())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, p.NoRuns()
	}
	return j, err
}

// NoRuns returns the error of a project without runs.
func (p *Project) NoRuns() error {
	return Named("no-runs", Usage(fmt.Errorf("%s has no runs", p.Repo.Root), "start one: runplan PLAN.md"))
}

// PlanPath returns the name under which a run stores its plan. The path is relative if the plan is inside the
// repository.
func (p *Project) PlanPath(path string) string {
	if rel, ok := Below(p.Repo.Root, path); ok {
		return rel
	}
	return resolved(path)
}

// Below returns the path of a file relative to root, with slashes and without symbolic links. It returns false for a
// file that is not below root.
func Below(root, path string) (string, bool) {
	rel, err := filepath.Rel(resolved(root), resolved(path))
	return filepath.ToSlash(rel), err == nil && filepath.IsLocal(rel)
}

// resolved returns an absolute path, and follows symbolic links if the file exists.
func resolved(path string) string {
	if here, err := CurrentFolder(); err == nil && !filepath.IsAbs(path) {
		path = filepath.Join(here, path)
	}
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	return filepath.Clean(path)
}

// Word returns a file name as one word of a command that the user may paste into a shell.
func Word(name string) string {
	if strings.HasPrefix(name, "-") {
		name = "./" + name
	}
	if name != "" && strings.Trim(name, wordChars) == "" {
		return name
	}
	return "'" + strings.ReplaceAll(name, "'", `'\''`) + "'"
}

// wordChars are the characters that no shell changes.
const wordChars = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./@%+=:,-"

// PlanFile returns the path of the plan of a run, by its stored name, see [Project.PlanPath].
func (p *Project) PlanFile(stored string) string {
	if filepath.IsAbs(stored) {
		return stored
	}
	return filepath.Join(p.Repo.Root, filepath.FromSlash(stored))
}

// PlanWord returns the plan of a run, by its stored name, as a word of a command in the current folder.
func (p *Project) PlanWord(stored string) string {
	if filepath.IsAbs(stored) {
		return Word(stored)
	}
	return Word(Rel(p.PlanFile(stored)))
}

// Rel returns the name of a file relative to the current folder, or path where that is shorter.
func Rel(path string) string {
	if here, err := CurrentFolder(); err == nil {
		if rel, err := filepath.Rel(here, path); err == nil && len(rel) <= len(path) {
			return rel
		}
	}
	return path
}

// CurrentFolder returns the working directory without symbolic links, as git reports it.
func CurrentFolder() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	return filepath.EvalSymlinks(dir)
}
