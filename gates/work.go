package gates

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/runplan/runplan/internal/atomicfile"
	"github.com/runplan/runplan/internal/phrase"
	"github.com/runplan/runplan/internal/proc"
)

// DefaultTimeout is the time limit of a gate if neither the subject nor the configuration sets one.
const DefaultTimeout = 20 * time.Minute

// maxStdout limits the bytes of a linter's report. A longer report is an error, because findings would be missed.
const maxStdout = 32 << 20

// builtin is a gate of this package: its description, and its function with a [Look].
type builtin struct {
	info  Info
	limit time.Duration // its own time limit; 0 takes the subject's

	requireTests bool // a suite that runs no test fails
	reruns       int  // how often failing tests are run again
	do           func(ctx context.Context, w *Look) error

	affected func(changed []string) bool
}

func (b builtin) Info() Info { return b.info }

func (b builtin) Check(ctx context.Context, s Subject) (Report, error) {
	w := &Look{subject: s, rep: Report{Gate: b.info.Name}, limit: b.limit, requireTests: b.requireTests, reruns: b.reruns}
	if w.limit <= 0 {
		w.limit = s.Timeout
	}
	if w.limit <= 0 {
		w.limit = DefaultTimeout
	}
	if err := w.start(ctx); err != nil {
		return w.rep, err
	}
	do := b.do
	if b.affected != nil && !b.affected(s.Changed) {
		do = skipping("nothing changed under " + b.info.Root + "/")
	}
	err := do(ctx, w)
	if (errors.Is(err, ErrHindered) || errors.Is(err, proc.ErrNotFound)) && b.apart(ctx, s) {
		w.rep = Report{Gate: b.info.Name}
		w.Skip("nothing changed under %s/, and %v", b.info.Root, err)
		err = nil
	}
	if cerr := w.close(); err == nil {
		err = cerr
	}
	// Reports for programs, such as the events of go test, escape control codes.
	return tidy(w.rep, s.Redact), err
}

// apart reports whether a change does not touch the gate's nested project, whose tests do not run on the base either.
// An example is a website whose packages are not installed: the change needs none of them.
func (b builtin) apart(ctx context.Context, s Subject) bool {
	if !b.info.Untouched(s.Changed) {
		return false
	}
	if s.BaseTests == nil {
		return true
	}
	base, err := s.BaseTests(ctx, b.info.Name)
	return len(base) == 0 && (err == nil || errors.Is(err, ErrHindered) || errors.Is(err, proc.ErrNotFound))
}

// Look is one call of a gate made by [New].
type Look struct {
	subject Subject
	rep     Report
	limit   time.Duration
	end     time.Time

	requireTests bool
	reruns       int

	text  tape
	said  string // output to show instead of machine-readable text
	spoke bool
	user  bool // programs run with a user's environment, without CI variables

	bare    string // options of pytest that turn off what it replaces
	release bool   // cargo builds without debug assertions, as for a release

	pytests map[string]bool // Pythons with their projects, and whether they have pytest
}

func (w *Look) start(ctx context.Context) error {
	if ctx.Err() != nil {
		return fmt.Errorf("stopped before it began: %w", context.Cause(ctx))
	}
	w.end = time.Now().Add(w.limit)
	var err error
	if w.subject.Dir, err = Tree(w.subject.Dir); err != nil {
		return err
	}
	if w.subject.LogDir == "" {
		return nil
	}
	if err := os.MkdirAll(w.subject.LogDir, 0o700); err != nil {
		return fmt.Errorf("make the folder for logs: %w", err)
	}
	name := w.logName()
	if err := os.Remove(name); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("remove the log of an earlier run: %w", err)
	}
	return nil
}

// Tree checks that the tree in dir exists, and returns its absolute path. Many tools report no problems for a missing
// folder.
func Tree(dir string) (string, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return "", fmt.Errorf("check the tree: %w", err)
	}
	fi, err := os.Stat(abs)
	if err != nil {
		return "", fmt.Errorf("check the tree: %w", err)
	}
	if !fi.IsDir() {
		return "", fmt.Errorf("check the tree: %s is not a directory", abs)
	}
	return abs, nil
}

// at returns the absolute path of a file or folder of the tree.
func (w *Look) at(rel string) string { return filepath.Join(w.subject.Dir, filepath.FromSlash(rel)) }

func (w *Look) logName() string { return LogName(w.subject.LogDir, w.rep.Gate) }

// LogName returns the path of a gate's log below dir, "" if there is no folder for logs. It replaces characters that
// are invalid in a file name with dashes.
func LogName(dir, gate string) string {
	if dir == "" {
		return ""
	}
	name := strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', strings.ContainsRune("._-", r):
			return r
		}
		return '-'
	}, gate)
	return filepath.Join(dir, phrase.Fit(strings.TrimLeft(name, "."), 100)+".log")
}

// close derives the status and adds the log to the report.
func (w *Look) close() error {
	if w.rep.Status == "" {
		w.rep.Status = statusOf(w.rep.Findings)
	}
	if text := cmp.Or(w.said, w.text.String()); w.rep.Output == "" && w.spoke {
		w.rep.Output = telling(text, maxOutput)
	}
	name := w.logName()
	if name == "" {
		return nil
	}
	sum, err := atomicfile.Sum(name)
	if errors.Is(err, os.ErrNotExist) {
		return nil // nothing ran
	}
	if err != nil {
		return fmt.Errorf("read the log: %w", err)
	}
	w.rep.Log, w.rep.LogHash = name, sum
	return nil
}

// Skip records that the gate checked nothing, and why.
func (w *Look) Skip(format string, args ...any) {
	w.rep.Status = Skipped
	w.Note(format, args...)
}

// Note adds a sentence to the report's note.
func (w *Look) Note(format string, args ...any) {
	w.rep.AddNote(fmt.Sprintf(format, args...))
}

// Find adds a finding.
func (w *Look) Find(f Finding) { w.rep.Findings = append(w.rep.Findings, f) }

// program is a program to run on behalf of a gate.
type program struct {
	args   []string
	dir    string   // below the tree, slashes
	env    []string // set on top of the subject's
	tests  bool     // it runs tests, which see the TERM and NO_COLOR of the user
	line   func(string)
	limit  time.Duration       // its own time limit; 0 has only that of the gate
	stdout bool                // its standard output contains only a report
	quiet  bool                // a probe, which leaves no trace in report and log
	shown  []string            // the command for people, if args are specific to runplan
	drop   func(string) string // removes output that is not for people; nil keeps everything
}

// ran is the result of one program.
type ran struct {
	exit   int
	signal string
	stdout []byte
	text   string
	shown  string // the part of the text to show
}

func (r ran) ok() bool { return r.exit == 0 && r.signal == "" }

// how returns how the program ended, for people.
func (r ran) how() string {
	if r.signal != "" {
		return "it was killed by " + r.signal
	}
	return fmt.Sprintf("exit %d", r.exit)
}

// run runs p. An error means that there is no result: the program is missing, hit the time limit, was stopped or was
// killed.
func (w *Look) run(ctx context.Context, p program) (ran, error) {
	left := time.Until(w.end)
	if left <= 0 {
		return ran{}, fmt.Errorf("%w %v, before %s could start", ErrTimeLimit, w.limit, p.args[0])
	}
	limit := w.limit
	if p.limit > 0 && p.limit < left {
		left, limit = p.limit, p.limit
	}
	more := p.env
	if !p.tests {
		more = append(slices.Clone(plainTerminal), more...)
	}
	text := &tape{}
	c := proc.Cmd{
		Args: p.args, Dir: w.at(p.dir),
		Env: w.environ(more), Limits: proc.Limits{Total: left}, Redact: w.subject.Redact,
		Sweep: proc.NewTag(), Reaper: w.subject.Reaper,
		Line: func(l string) {
			text.add(l)
			if p.line != nil {
				p.line(l)
			}
		},
	}
	if p.stdout {
		c.KeepStdout = maxStdout
	}
	if !p.quiet {
		c.Log = w.logName()
	}
	res, err := proc.Run(ctx, c)
	if err != nil {
		return ran{}, err
	}
	if !p.quiet {
		w.spoke = true
		said := text.String()
		if p.drop != nil {
			said = p.drop(said)
		}
		w.text.add(strings.TrimRight(said, "\n"))
		line := p.args
		if len(p.shown) > 0 {
			line = p.shown
		}
		w.rep.Command = strings.TrimPrefix(w.rep.Command+" && "+commandLine(p.dir, line), " && ")
		if exit := res.Exit; w.rep.Exit == nil || *w.rep.Exit == 0 {
			w.rep.Exit = &exit
		}
	}
	if res.LogErr != nil {
		w.Note("%v", res.LogErr)
	}
	switch {
	case res.Ended == proc.Cancelled:
		return ran{}, fmt.Errorf("%s was stopped: %w", p.args[0], res.Cause)
	case res.Ended == proc.Total:
		return ran{}, fmt.Errorf("%w %v reached while %s ran; "+
			"raise the limit (runplan config set gates.timeout 30m), or find the cause in its log",
			ErrTimeLimit, limit, commandLine(p.dir, p.args))
	case res.Ended == proc.Signaled && !crash(res.Signal):
		return ran{}, fmt.Errorf("%s was killed by %s from outside; is there enough memory?", p.args[0], res.Signal)
	case res.Truncated:
		return ran{}, fmt.Errorf("the report of %s is longer than %d MiB; make it check fewer files", p.args[0],
			maxStdout>>20)
	}
	return ran{exit: res.Exit, signal: res.Signal, stdout: res.Stdout, text: text.String()}, nil
}

// crash reports whether a program caused the signal itself, and no other process sent it.
func crash(signal string) bool {
	return slices.Contains([]string{"SIGSEGV", "SIGABRT", "SIGBUS", "SIGFPE", "SIGILL", "SIGTRAP", "SIGSYS", "SIGPIPE"},
		signal)
}

// plainTerminal keeps tools from drawing.
var plainTerminal = []string{"NO_COLOR=1", "TERM=dumb"}

// uncached keeps task runners from showing the result of an earlier run, such as one in the workspace of the agent.
var uncached = []string{"TURBO_FORCE=true", "NX_SKIP_NX_CACHE=true", "WIREIT_CACHE=none"}

// toolEnv adds variables to env that keep tools from prompting, watching, writing into the tree and repeating earlier
// results.
func toolEnv(env, more []string) []string {
	if env == nil {
		env = os.Environ()
	}
	out := make([]string, 0, len(env)+8+len(more))
	for _, kv := range env {
		if name, _, _ := strings.Cut(kv, "="); name != "FORCE_COLOR" && name != "CLICOLOR_FORCE" {
			out = append(out, kv)
		}
	}
	out = append(out, "CI=true", "PYTHONDONTWRITEBYTECODE=1", "RUFF_NO_CACHE=true",
		"NPM_CONFIG_UPDATE_NOTIFIER=false", "NPM_CONFIG_FUND=false", "GIT_TERMINAL_PROMPT=0")
	return slices.Concat(out, uncached, more)
}

// environ returns the environment of a program.
func (w *Look) environ(more []string) []string {
	env := toolEnv(w.subject.Env, more)
	if w.user {
		env = slices.DeleteFunc(env, func(kv string) bool {
			name, _, _ := strings.Cut(kv, "=")
			return inCI.MatchString(name)
		})
	}
	if w.bare != "" {
		env = append(env, "PYTEST_ADDOPTS="+strings.TrimSpace(proc.Getenv(env, "PYTEST_ADDOPTS")+w.bare))
	}
	if w.release {
		for _, profile := range []string{"DEV", "TEST"} {
			env = append(env, "CARGO_PROFILE_"+profile+"_DEBUG_ASSERTIONS=false")
		}
	}
	return env
}

// commandLine returns the command as a person would type it in the root of the tree.
func commandLine(dir string, args []string) string {
	var b strings.Builder
	if dir != "" && dir != "." {
		b.WriteString("cd " + quote(dir) + " && ")
	}
	for i, a := range args {
		if i > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(quote(a))
	}
	return b.String()
}

func quote(s string) string {
	if s != "" && strings.IndexFunc(s, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' ||
			strings.ContainsRune("-_./=:,@%+", r))
	}) < 0 {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// existing is [Look.Rel] for a file of the tree; "" if there is no such file.
func (w *Look) existing(dir, p string) string {
	if at := w.Rel(dir, p); at != "" && exists(w.subject.Dir, ".", at) {
		return at
	}
	return ""
}

// Rel returns a path printed by a program in dir relative to the tree; "" if it is outside.
func (w *Look) Rel(dir, p string) string {
	if p == "" {
		return ""
	}
	p = filepath.FromSlash(p)
	if !filepath.IsAbs(p) {
		p = filepath.Join(w.at(dir), p)
	}
	roots := []string{w.subject.Dir}
	if real, err := filepath.EvalSymlinks(w.subject.Dir); err == nil {
		roots = append(roots, real)
	}
	for _, root := range roots {
		if r, err := filepath.Rel(root, p); err == nil && filepath.IsLocal(r) {
			return filepath.ToSlash(r)
		}
	}
	return ""
}

// tape keeps the head and the tail of a text, in whole lines.
type tape struct {
	head     strings.Builder
	tail     []string
	tailSize int
	lost     bool
}

const tapeHalf = 1 << 20

func (t *tape) add(line string) {
	if t.head.Len() < tapeHalf && len(t.tail) == 0 {
		t.head.WriteString(line + "\n")
		return
	}
	t.tail = append(t.tail, line)
	t.tailSize += len(line) + 1
	for t.tailSize > tapeHalf && len(t.tail) > 1 {
		t.tailSize -= len(t.tail[0]) + 1
		t.tail = t.tail[1:]
		t.lost = true
	}
}

func (t *tape) String() string {
	if len(t.tail) == 0 {
		return t.head.String()
	}
	gap := ""
	if t.lost {
		gap = "[…]\n"
	}
	return t.head.String() + gap + strings.Join(t.tail, "\n") + "\n"
}
