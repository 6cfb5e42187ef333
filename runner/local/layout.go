package local

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/gofrs/flock"

	"github.com/runplan/runplan/agents"
	"github.com/runplan/runplan/internal/atomicfile"
	"github.com/runplan/runplan/runner"
)

// Layout holds the paths below .runplan. It is the only definition of them (PLAT-03).
type Layout struct{ Root string }

// DirName is runplan's folder in a repository.
const DirName = ".runplan"

// ignored is the content of .runplan/.gitignore. It does not list settings, lessons, patterns and prompts, which a
// team may commit. It lists itself, so that a run does not change git status.
const ignored = "/.gitignore\n/raw.sqlite*\n/curated.sqlite*\n/sessions/\n/solve/\n/worktrees/\n/locks/\n/logs/\n/reports/\n/tmp/\n/cache/\n/feedback.sqlite*\n/feedback/\n/progress.txt\n/context.md\n"

// LayoutOf returns the layout for a repository.
func LayoutOf(repoRoot string) Layout { return Layout{filepath.Join(repoRoot, DirName)} }

// Make creates the folder and its .gitignore if they are missing.
func (l Layout) Make() error {
	if err := os.MkdirAll(l.Root, 0o755); err != nil {
		return fmt.Errorf("make %s: %w", l.Root, err)
	}
	path := filepath.Join(l.Root, ".gitignore")
	if data, err := os.ReadFile(path); err == nil && string(data) == ignored {
		return nil
	} else if err == nil && !strings.HasPrefix(string(data), "/.gitignore\n") {
		return nil // the user's own file
	}
	if err := os.WriteFile(path, []byte(ignored), 0o644); err != nil {
		return fmt.Errorf("make %s: %w", path, err)
	}
	return nil
}

func (l Layout) Journal() string  { return filepath.Join(l.Root, "raw.sqlite") }
func (l Layout) Config() string   { return filepath.Join(l.Root, "config.toml") }
func (l Layout) Progress() string { return filepath.Join(l.Root, "progress.txt") }

// GateCache returns the folder of cached gate results by tree.
func (l Layout) GateCache() string { return filepath.Join(l.Root, "cache", "gates") }

// DecisionLog returns the log of routing decisions with their reasons.
func (l Layout) DecisionLog() string { return filepath.Join(l.Root, "logs", "routing-decisions.log") }

// SamplingOutcomes returns the file with the results of tournaments.
func (l Layout) SamplingOutcomes() string {
	return filepath.Join(l.Root, "logs", "sampling-outcomes.json")
}

// FailurePatterns returns the file with failure patterns and their fixes.
func (l Layout) FailurePatterns() string {
	return filepath.Join(l.Root, "logs", "failure-patterns.json")
}

// Lock returns the lock file of a running run of slug.
func (l Layout) Lock(slug string) string { return filepath.Join(l.Root, "locks", slug+".lock") }

// Sessions returns the folder with the state of running tasks.
func (l Layout) Sessions() string { return filepath.Join(l.Root, "sessions") }

// Tasks returns the folder with the plans made for tasks.
func (l Layout) Tasks() string { return filepath.Join(l.Root, "solve") }

// Feedback returns the database of the owner's feedback.
func (l Layout) Feedback() string { return filepath.Join(l.Root, "feedback.sqlite") }

// SelfFix returns the folder with plans of fixes and the texts of their change requests.
func (l Layout) SelfFix() string { return filepath.Join(l.Root, "feedback") }

// GitLock returns the lock for git commands that change the list of worktrees.
func (l Layout) GitLock() string   { return filepath.Join(l.Root, "locks", "worktrees.lock") }
func (l Layout) Worktrees() string { return filepath.Join(l.Root, "worktrees") }

// Workspace returns the n-th worktree of slug's pool, counted from 1.
func (l Layout) Workspace(slug string, n int) string {
	return filepath.Join(l.Worktrees(), fmt.Sprintf("%s-w%d", slug, n))
}

// Logs returns the log folder of a run.
func (l Layout) Logs(run string) string { return filepath.Join(l.Root, "logs", run) }

// PlanCopy returns the copy of a plan that was accepted during the run.
func (l Layout) PlanCopy(run, sum string) string {
	return filepath.Join(l.Logs(run), "plan-"+sum[:min(16, len(sum))]+".md")
}

// Findings returns the file with the findings of all review rounds of a batch.
func (l Layout) Findings(run, batch string) string {
	return filepath.Join(l.Logs(run), "review", batch+".json")
}

// Attempt returns the folder with the brief and the logs of one attempt.
func (l Layout) Attempt(run, batch string, attempt int) string {
	return filepath.Join(l.Logs(run), fmt.Sprintf("%s-a%d", batch, attempt))
}
func (l Layout) Report(run string) string { return filepath.Join(l.Root, "reports", run) }
func (l Layout) Receipt(run, batch string) string {
	return filepath.Join(l.Report(run), "receipts", batch+".json")
}
func (l Layout) Temp(run string) string { return filepath.Join(l.Root, "tmp", run) }

// Rel returns a path relative to .runplan, for journals and reports.
func (l Layout) Rel(path string) string {
	if rel, err := filepath.Rel(l.Root, path); err == nil {
		return filepath.ToSlash(rel)
	}
	return path
}

// RunBranch returns the branch into which a run merges its batches.
func RunBranch(slug string) string { return "runplan/" + slug + "/main" }

// CandidateBranch returns a branch with all candidates in its reflog, so that git does not drop them during the run.
func CandidateBranch(slug string) string { return "runplan/" + slug + "/candidates" }

// BatchBranch returns the branch of a batch.
func BatchBranch(slug, batch string) string { return "runplan/" + slug + "/b" + batch }

// LinkError reports that runplan would read or write through a symbolic link in its own folder. A repository can
// contain such a link, which could point to any file of the user.
type LinkError struct {
	Path string // of the link
	To   string // its target
}

func (e *LinkError) Error() string {
	return fmt.Sprintf("%s is a symbolic link to %s, and runplan does not follow links in its own folder", e.Path, e.To)
}

// CheckLinks returns a [LinkError] if the folder itself, or a file or folder with a fixed name in it, is a symbolic
// link. It costs one lstat for each path. It does not check deeper levels, because their names are not known in
// advance.
func (l Layout) CheckLinks() error {
	if err := noLink(l.Root); err != nil {
		return err
	}
	entries, err := os.ReadDir(l.Root)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("check %s: %w", l.Root, err)
	}
	for _, e := range entries {
		path := filepath.Join(l.Root, e.Name())
		if err := noLink(path); err != nil {
			return err
		}
		if !e.IsDir() {
			continue
		}
		inside, err := os.ReadDir(path)
		if err != nil {
			return fmt.Errorf("check %s: %w", path, err)
		}
		for _, i := range inside {
			if i.Type()&fs.ModeSymlink == 0 {
				continue
			}
			if err := noLink(filepath.Join(path, i.Name())); err != nil {
				return err
			}
		}
	}
	return nil
}

// unlink removes symbolic links that appeared in runplan's own folder while an agent worked: because its logs and
// reports would be written to their targets. It returns the removed links.
func (w *work) unlink() (found []change) {
	for range 100 {
		var link *LinkError
		if err := w.Layout.CheckLinks(); !errors.As(err, &link) {
			return found
		}
		found = append(found, change{name: link.Path, steers: "where runplan writes its files",
			stuck: os.Remove(link.Path) != nil})
		if found[len(found)-1].stuck {
			return found
		}
	}
	return found
}

func noLink(path string) error {
	to, err := os.Readlink(path)
	if err != nil {
		return nil // not a link
	}
	return &LinkError{path, to}
}

// writeFile replaces path in one step, and makes its folder. It does not sync to disk, because the journal is
// authoritative.
func writeFile(path string, data []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return atomicfile.WriteLoose(path, data, 0o644)
}

func writeJSON(path string, v any) error {
	data, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return writeFile(path, append(data, '\n'))
}

// copyFile copies a file from one folder to the same place in another, with its rights and its time.
func copyFile(from, to *os.Root, path string) error {
	in, err := from.Open(path)
	if err != nil {
		return err
	}
	defer in.Close()
	info, err := in.Stat()
	if err != nil {
		return err
	}
	if err := to.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	if err := to.RemoveAll(path); err != nil {
		return err
	}
	out, err := to.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, info.Mode().Perm())
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	err = errors.Join(err, out.Close())
	if err == nil {
		err = to.Chtimes(path, info.ModTime(), info.ModTime())
	}
	return err
}

// lastLines returns the last n lines of text that are not blank, joined to one line.
func lastLines(text string, n int) string {
	lines := filled(text)
	return strings.Join(lines[max(0, len(lines)-n):], " / ")
}

// filled returns the lines of text that are not blank.
func filled(text string) []string {
	var lines []string
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" {
			lines = append(lines, line)
		}
	}
	return lines
}

// ErrLocked means that another run holds the lock.
var ErrLocked = errors.New("another runplan is running")

// Owner is the process that holds a lock.
type Owner struct {
	PID     int       `json:"pid"`
	Host    string    `json:"host"`
	Started time.Time `json:"started"`
	Run     string    `json:"run,omitempty"`
}

// Lock is a lock of one process. The system releases it when the process ends for any reason, so only a living
// process can hold it.
type Lock struct{ f *flock.Flock }

// Owners lists the processes on this machine that hold a lock of a repository's runs. A released lock still names its
// process. That process has ended, and its PID may be in use again.
func Owners(l Layout) []Owner {
	here, _ := os.Hostname()
	found, _ := filepath.Glob(l.Lock("*"))
	var out []Owner
	for _, path := range found {
		f := flock.New(path, flock.SetFlag(os.O_RDONLY))
		free, err := f.TryRLock()
		f.Close()
		if err == nil && free {
			continue
		}
		var o Owner
		if data, err := os.ReadFile(path); err == nil && json.Unmarshal(data, &o) == nil && o.Host == here && o.PID > 1 {
			out = append(out, o)
		}
	}
	return out
}

// TakeLock takes the lock at path, or returns the process that has it.
func TakeLock(path string, now time.Time) (*Lock, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return nil, fmt.Errorf("take the lock: %w", err)
	}
	f := flock.New(path)
	// A process that is killed while it starts another one leaves the lock to that one, for the moment until it is
	// started.
	ok, err := f.TryLock()
	for try := 0; err == nil && !ok && try < 10; try++ {
		time.Sleep(30 * time.Millisecond)
		ok, err = f.TryLock()
	}
	if err != nil {
		return nil, fmt.Errorf("take the lock %s: %w", path, err)
	}
	if !ok {
		f.Close()
		who := "unknown process"
		var o Owner
		if data, err := os.ReadFile(path); err == nil && json.Unmarshal(data, &o) == nil {
			who = fmt.Sprintf("process %d on %s, since %s", o.PID, o.Host, o.Started.Local().Format("2006-01-02 15:04:05"))
		}
		return nil, fmt.Errorf("%w: %s (%s)", ErrLocked, who, path)
	}
	host, _ := os.Hostname()
	data, _ := json.Marshal(Owner{PID: os.Getpid(), Host: host, Started: now})
	if err := os.WriteFile(path, data, 0o644); err != nil {
		f.Close()
		return nil, fmt.Errorf("take the lock %s: %w", path, err)
	}
	return &Lock{f}, nil
}

// Release releases the lock. The file stays: otherwise two processes could hold two locks with one name.
func (l *Lock) Release() { l.f.Close() }

// with holds a lock while do runs, waiting for it without a time limit. It is for short work only.
func with(path string, do func() error) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	f := flock.New(path)
	if err := f.Lock(); err != nil {
		return fmt.Errorf("take the lock %s: %w", path, err)
	}
	defer f.Close()
	return do()
}

// agent returns the agent that performs c: the run's own, or a fallback.
func (w *work) agent(c runner.Command) (agents.Agent, error) {
	if c.Agent == "" || c.Agent == w.Agent.Name() {
		return w.Agent, nil
	}
	for _, a := range w.Fallback {
		if a.Name() == c.Agent {
			return a, nil
		}
	}
	return nil,
		fmt.Errorf("batch %s needs agent %s, which this session does not have; stop it, check [run] fallback, and resume",
			c.Batch, c.Agent)
}

// model returns the model for the agent. The model of the run's own agent does not apply to others.
func (w *work) model(c runner.Command) string {
	if c.Agent != "" && c.Agent != w.Agent.Name() {
		return c.Model
	}
	return cmp.Or(c.Model, w.info.Model)
}

// worker names who did the work that a batch is committed with.
func (w *work) worker(batch string) string {
	return cmp.Or(w.factsOf(batch, "").agent, w.Agent.Name())
}
