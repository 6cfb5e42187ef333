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
	"os"
	"strings"
	"time"

	"github.com/runplan/runplan/agents"
	"github.com/runplan/runplan/internal/atomicfile"
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

	// Engine is the command that calls [EngineMain]: the testscript engine then runs in its own process, under the
	// limits of the attempt. Without it, the engine runs in this process and keeps the output of its commands in
	// memory. In both cases it prints only at its end, so the idle limit does not apply.
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
	defer w.closeLog()
	res, err := w.all(ctx)
	var none int64
	var free float64
	res.Usage = agents.Usage{InputTokens: &none, OutputTokens: &none, CostUSD: &free} // no model was used
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

// work is one attempt.
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
	msg := w.clean(f.message)
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

// block performs one block.
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

// clean removes secrets and control codes from text.
func (w *work) clean(text string) string {
	return redact.Clean(w.task.Hide(text))
}

const maxSay = 300

// say reports a line to the observer and to the log.
func (w *work) say(text string) {
	text = phrase.CutBytes(strings.ReplaceAll(w.clean(text), "\n", " "), maxSay)
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

func (w *work) closeLog() {
	if w.log != nil {
		_ = w.log.Close()
	}
}

// Literal reports that a successful attempt did all that was required, even without a change.
func (a *Agent) Literal() bool { return true }
