// Package script is the embedded agent that performs the literal instructions of a plan, in document order. It
// needs no model and no network.
//
// It writes file blocks, runs shell blocks, applies diffs and edits, and runs commands and checks their expected
// results. The first failure ends the attempt. If a task is only prose, it does nothing at all, and the findings
// name the lines of such tasks.
package script

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/bluekeyes/go-gitdiff/gitdiff"

	"github.com/runplan/runplan/agents"
	"github.com/runplan/runplan/internal/atomicfile"
	"github.com/runplan/runplan/internal/edit"
	"github.com/runplan/runplan/internal/phrase"
	"github.com/runplan/runplan/internal/proc"
	"github.com/runplan/runplan/internal/redact"
	"github.com/runplan/runplan/planparse"
)

// Name is the agent's name in configuration and in the journal.
const Name = "script"

// Agent performs literal plans.
type Agent struct {
	planPath string
	reaper   *proc.Reaper

	// Engine is the command that calls [EngineMain]: the testscript engine runs in its own process, under the limits of
	// the attempt.
	Engine []string
}

// New returns the agent for the plan at planPath, the path in findings. reaper may be nil.
func New(planPath string, reaper *proc.Reaper) *Agent {
	return &Agent{planPath: planPath, reaper: reaper}
}

// Name returns "script".
func (a *Agent) Name() string { return Name }

// Run performs the blocks of t.Batch.
func (a *Agent) Run(ctx context.Context, t agents.Task, obs agents.Observer) (agents.Result, error) {
	if err := t.CheckDir(); err != nil {
		return agents.Result{}, fmt.Errorf("agent script: %w", err)
	}
	if res, refused := a.refuse(t.Batch); refused {
		return res, nil
	}
	w := &work{agent: a, task: t, obs: obs, tag: proc.NewTag()}
	if t.Limits.Total > 0 {
		w.deadline = time.Now().Add(t.Limits.Total)
	}
	if err := w.openLog(); err != nil {
		return agents.Result{}, fmt.Errorf("agent script: %w", err)
	}
	if w.log != nil {
		defer w.log.Close()
	}
	res, err := w.all(ctx)
	res.Usage = agents.Usage{InputTokens: new(int64), OutputTokens: new(int64), CostUSD: new(float64)} // no model was used
	return res, err
}

// refuse rejects a batch with non-literal tasks, and names all of them.
func (a *Agent) refuse(b planparse.Batch) (agents.Result, bool) {
	if len(b.Tasks) == 0 && len(b.Blocks) == 0 {
		return agents.Result{
			Outcome:  agents.GaveUp,
			Summary:  fmt.Sprintf("batch %s has nothing that can be executed literally; %s", b.Key, configure),
			Findings: []agents.Finding{{Path: a.planPath, Line: b.StartLine, Message: "the batch has no literal block"}},
		}, true
	}
	literal := map[string]bool{} // parents of literal tasks: their subtasks contain the instructions
	for _, task := range b.Tasks {
		if task.Literal && task.Parent != "" {
			literal[task.Parent] = true
		}
	}
	var findings []agents.Finding
	var names []string
	for _, task := range b.Tasks {
		if task.Done || task.Literal || literal[task.Number] {
			continue
		}
		findings = append(findings, agents.Finding{
			Path: a.planPath, Line: task.Line,
			Message: fmt.Sprintf("task %s is prose only: %s", task.Number, redact.Clean(task.Title)),
		})
		names = append(names, task.Number)
	}
	if len(findings) == 0 {
		return agents.Result{}, false
	}
	what := "task " + names[0] + " is prose only"
	if len(names) > 1 {
		what = "tasks " + strings.Join(names[:min(len(names), 10)], ", ") + " are prose only"
	}
	return agents.Result{
		Outcome:  agents.GaveUp,
		Summary:  what + ": the script agent only executes what the plan spells out literally; " + configure,
		Findings: findings,
	}, true
}

const configure = "to have an agent write it, set [agents.NAME] command = [\"PROGRAM\", \"ARG\"] in " +
	".runplan/config.toml and pass --agent NAME"

type work struct {
	agent    *Agent
	task     agents.Task
	obs      agents.Observer
	log      *os.File
	tag      string
	deadline time.Time // zero if none
	done     int
	notes    []string // important remarks for the summary
}

// failure is a block that could not be performed. The cause is the plan or the code, not the agent.
type failure struct {
	line    int
	message string
	output  string
	outcome agents.Outcome // "" is gave_up
}

func (f *failure) Error() string { return f.message }

func (w *work) all(ctx context.Context) (agents.Result, error) {
	skipped := map[int]bool{}
	for _, b := range w.task.Batch.Blocks {
		if w.ticked(b.Task) {
			if !skipped[b.Task] {
				skipped[b.Task] = true
				w.say("skip task " + w.task.Batch.Tasks[b.Task].Number + ": ticked in the plan")
			}
			continue
		}
		err := w.check(ctx)
		if err == nil {
			err = w.block(ctx, b)
		}
		var f *failure
		switch {
		case err == nil:
			w.done++
		case errors.As(err, &f):
			return w.failed(b, f), nil
		case errors.Is(err, proc.ErrNotFound):
			return agents.Result{}, fmt.Errorf("agent script: %s:%d: %w", w.agent.planPath, b.Line, err)
		default:
			return w.failed(b, &failure{message: err.Error()}), nil
		}
	}
	sum := fmt.Sprintf("executed %d blocks of the plan", w.done)
	switch {
	case w.done == 0:
		sum = "nothing to do: everything is ticked in the plan"
	case w.done == 1:
		sum = "executed 1 block of the plan"
	}
	return agents.Result{Outcome: agents.Done, Summary: strings.Join(append([]string{sum}, w.notes...), "; ")}, nil
}

func (w *work) ticked(task int) bool {
	return task >= 0 && task < len(w.task.Batch.Tasks) && w.task.Batch.Tasks[task].Done
}

func (w *work) failed(b planparse.Block, f *failure) agents.Result {
	line := cmp.Or(f.line, b.Line)
	msg := w.task.Clean(f.message)
	w.say(fmt.Sprintf("line %d: %s", line, msg))
	first, _, _ := strings.Cut(msg, "\n")
	outcome := cmp.Or(f.outcome, agents.GaveUp)
	return agents.Result{
		Outcome:  outcome,
		Summary:  fmt.Sprintf("%s:%d: %s", w.agent.planPath, line, strings.TrimSuffix(first, ":")),
		Detail:   agents.Tail(f.output),
		Findings: []agents.Finding{{Path: w.agent.planPath, Line: line, Message: msg}},
	}
}

// check returns an error if the attempt must end between two blocks.
func (w *work) check(ctx context.Context) error {
	if ctx.Err() != nil {
		return &failure{message: fmt.Sprintf("stopped: %v", context.Cause(ctx))}
	}
	if !w.deadline.IsZero() && !time.Now().Before(w.deadline) {
		return &failure{message: w.overTotal(), outcome: agents.TimedOut}
	}
	return nil
}

func (w *work) overTotal() string {
	return fmt.Sprintf("time limit reached: %s for the whole attempt", w.task.Limits.Total)
}

func (w *work) block(ctx context.Context, b planparse.Block) error {
	switch b.Kind {
	case planparse.BlockFile:
		return w.file(b)
	case planparse.BlockDelete:
		return w.remove(b)
	case planparse.BlockEdit:
		return w.edit(b)
	case planparse.BlockDiff:
		return w.diff(ctx, b)
	case planparse.BlockShell:
		return w.shell(ctx, b)
	case planparse.BlockRun:
		return w.command(ctx, b)
	case planparse.BlockTestscript:
		return w.testscript(ctx, b)
	}
	return &failure{message: fmt.Sprintf("the script agent does not know %q blocks", b.Kind)}
}

const maxSay = 300

// say reports a line to the observer and to the log.
func (w *work) say(text string) {
	text = phrase.CutBytes(strings.ReplaceAll(w.task.Clean(text), "\n", " "), maxSay)
	if w.obs != nil {
		w.obs.Line(text)
	}
	if w.log != nil {
		_, _ = w.log.WriteString(text + "\n") // proc.Run reports a log that cannot be written
	}
}

func (w *work) openLog() (err error) {
	if w.task.LogPath == "" {
		return nil
	}
	w.log, err = atomicfile.Append(w.task.LogPath, 0o600)
	return err
}

// Literal reports that a successful attempt did all that was required, even without a change.
func (a *Agent) Literal() bool { return true }

// file writes a file, and makes scripts executable.
func (w *work) file(b planparse.Block) error {
	path, err := edit.SafePath(w.task.Dir, b.Path)
	if err != nil {
		return err
	}
	w.say("write " + b.Path)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return fmt.Errorf("write %s: %w", b.Path, err)
	}
	if err := os.WriteFile(path, []byte(b.Text), 0o644); err != nil {
		return fmt.Errorf("write %s: %w", b.Path, err)
	}
	if strings.HasPrefix(b.Text, "#!") {
		if err := os.Chmod(path, 0o755); err != nil {
			return fmt.Errorf("write %s: %w", b.Path, err)
		}
	}
	return nil
}

// remove deletes a file or folder. A missing one is not an error.
func (w *work) remove(b planparse.Block) error {
	path, err := edit.SafePath(w.task.Dir, b.Path)
	if err != nil {
		return err
	}
	if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
		w.say("delete " + b.Path + ": it does not exist")
		return nil
	}
	w.say("delete " + b.Path)
	if err := os.RemoveAll(path); err != nil {
		return fmt.Errorf("delete %s: %w", b.Path, err)
	}
	return nil
}

func (w *work) edit(b planparse.Block) error {
	edits, err := edit.Parse(b.Text, b.Path)
	if err != nil {
		return fmt.Errorf("edit block: %w", err)
	}
	for _, e := range edits {
		w.say("edit " + e.Path)
	}
	_, err = edit.Files(w.task.Dir, edits)
	if m, ok := errors.AsType[*edit.MatchError](err); ok {
		return &failure{line: b.Line + m.Edit.Line, message: m.Error()}
	}
	return err
}

// diff has git apply a patch, after its paths have been checked.
func (w *work) diff(ctx context.Context, b planparse.Block) error {
	text := b.Text
	if !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	files, _, err := gitdiff.Parse(strings.NewReader(text))
	if err != nil {
		return fmt.Errorf("read the diff: %w", err)
	}
	if len(files) == 0 {
		return errors.New("the diff changes no file; it must begin with diff --git, or with --- and +++")
	}
	strip, cut := stripLevel(text)
	for _, f := range files {
		for _, name := range []string{f.OldName, f.NewName} {
			if cut {
				_, name, _ = strings.Cut(name, "/")
			}
			if name == "" {
				continue
			}
			if _, err := edit.SafePath(w.task.Dir, name); err != nil {
				return err
			}
		}
		name := f.NewName
		if f.IsDelete || name == "" {
			name = f.OldName
		}
		if cut {
			_, name, _ = strings.Cut(name, "/")
		}
		w.say("apply the diff of " + name)
	}
	res, err := w.run(ctx, proc.Cmd{
		Args:  []string{"git", "apply", "--whitespace=nowarn", fmt.Sprintf("-p%d", strip), "-"},
		Stdin: strings.NewReader(text),
	})
	if err != nil {
		return err
	}
	return w.expectSuccess(res, "git apply")
}

// stripLevel returns 1 for paths with the prefixes a/ and b/ of git, and 0 for plain ones. Without a line "diff
// --git" the parser keeps the prefixes; then cut reports that the caller has to remove them.
func stripLevel(diff string) (level int, cut bool) {
	lines := strings.Split(diff, "\n")
	for i, line := range lines {
		if strings.HasPrefix(line, "diff --git ") {
			return 1, false
		}
		from, ok := strings.CutPrefix(line, "--- ")
		if !ok || i+1 == len(lines) {
			continue
		}
		to, ok := strings.CutPrefix(lines[i+1], "+++ ")
		if !ok {
			continue
		}
		if !hasPrefix(from, "a/") || !hasPrefix(to, "b/") {
			return 0, false
		}
	}
	return 1, true
}

func hasPrefix(name, prefix string) bool {
	return strings.HasPrefix(strings.TrimPrefix(name, `"`), prefix) || strings.HasPrefix(name, "/dev/null")
}
