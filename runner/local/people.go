package local

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

	"github.com/runplan/runplan/agents"
	"github.com/runplan/runplan/internal/atomicfile"
	"github.com/runplan/runplan/internal/phrase"
	"github.com/runplan/runplan/internal/redact"
	"github.com/runplan/runplan/internal/store"
	"github.com/runplan/runplan/runner"
	"github.com/runplan/runplan/runner/journal"
)

// forPeople describes an event in progress.txt, and writes the rows for later training. Both are made from events
// that are already in the journal.
func (s *session) forPeople(ev runner.Event) error {
	if line := phrase.Line(redact.Clean(s.work.redact.String(s.progressLine(ev)))); line != "" {
		f, err := atomicfile.Append(s.Layout.Progress(), 0o644)
		if err != nil {
			return fmt.Errorf("write the progress: %w", err)
		}
		_, err = fmt.Fprintf(f, "%s %s\n", ev.At.Local().Format("2006-01-02 15:04:05"), line)
		if err = errors.Join(err, f.Close()); err != nil {
			return fmt.Errorf("write the progress: %w", err)
		}
	}
	return s.attempt(ev)
}

func (s *session) progressLine(ev runner.Event) string {
	name := "batch " + ev.Batch
	if b, ok := s.Plan.Batch(ev.Batch); ok {
		name = fmt.Sprintf("batch %s (%s)", b.Number, b.Title)
	}
	switch ev.Kind {
	case runner.RunStarted:
		return fmt.Sprintf("== %s: run %s from %s, agent %s", ev.Job.Plan, s.run, short(ev.Job.Base), ev.Job.Agent)
	case runner.RunResumed:
		return "resumed at " + short(ev.Commit)
	case runner.BatchPassed:
		return fmt.Sprintf("%s merged as %s after %d attempt(s)", name, short(ev.Commit), ev.Attempt)
	case runner.BatchFailed:
		return name + " failed: " + ev.Reason
	case runner.BatchSkipped:
		return name + " skipped: " + ev.Reason
	case runner.Reopened:
		return name + " is due again: " + ev.Reason
	case runner.BatchPutBack:
		return fmt.Sprintf("%s attempt %d is withdrawn: the candidate of batch %s, on which it started, failed; %s",
			name, ev.Attempt, strings.Join(ev.On, ", "), ev.Reason)
	case runner.Withdrawn:
		if strings.HasSuffix(ev.Command, "/"+string(runner.Execute)) {
			return fmt.Sprintf("%s attempt %d %s", name, ev.Attempt, ev.Reason)
		}
	case runner.Dispatched:
		if ev.Reason != "" {
			return fmt.Sprintf("%s attempt %d continues with %s: %s", name, ev.Attempt, ev.Agent, ev.Reason)
		}
		if ev.Batch == "" && !ev.RetryAt.IsZero() {
			return fmt.Sprintf("no other agent can start until %s, when the limit of %s ends",
				ev.RetryAt.Local().Format("2006-01-02 15:04:05"), ev.Agent)
		}
	case runner.Waited:
		switch {
		case ev.Outcome != runner.OutcomeOK:
		case ev.Batch == "":
			return fmt.Sprintf("the limit of %s is over", ev.Agent)
		default:
			return name + " continues: the limit of its agent has ended"
		}
	case runner.Executed, runner.Rebased, runner.Gated, runner.Committed:
		if ev.Kind == runner.Rebased && ev.Outcome == runner.OutcomeOK && ev.Reason != "" {
			return name + ": " + ev.Reason
		}
		if ev.Outcome != runner.OutcomeOK {
			return fmt.Sprintf("%s attempt %d: %s", name, ev.Attempt, ev.Reason)
		}
	case runner.StopAsked:
		return "stopping: " + ev.Reason
	case runner.RunFinished:
		return strings.TrimSuffix(fmt.Sprintf("run ended: %s, %s", ev.Outcome, ev.Reason), ", ")
	}
	return ""
}

// attempt stores one row for each ended attempt: one that failed before the gates, or one that the gates judged.
// It records the final failure of a batch separately.
func (s *session) attempt(ev runner.Event) error {
	if ev.Kind == runner.BatchFailed {
		task := store.Task{ID: s.run + "/" + ev.Batch, Repo: s.Repo.Root, Mode: store.ModeBatch, Model: s.Agent.Name(),
			At: ev.At}
		if err := s.Journal.StartTask(context.Background(), task); err != nil {
			return err
		}
		return s.Journal.FinishTask(context.Background(), task.ID, store.TaskEnd{})
	}
	if ev.Kind != runner.Gated && (ev.Kind != runner.Executed || ev.Outcome == runner.OutcomeOK) {
		return nil
	}
	switch ev.Outcome {
	case runner.OutcomeCancelled, runner.OutcomeError, runner.OutcomeUnstarted:
		return nil
	}
	f := s.work.factsOf(ev.Batch, ev.Base)
	if made, ok := f.made[ev.Candidate]; ok { // other candidates of the tournament may have ended since
		f.agent, f.model, f.usage = made.Agent, made.Model, made.Usage
	}
	v, _ := s.machine.Batch(ev.Batch)
	a := store.Attempt{
		TaskID: s.run + "/" + ev.Batch, Repo: s.Repo.Root, Mode: "batch", Model: cmp.Or(f.model, f.agent, s.Agent.Name()),
		Number: ev.Attempt, Candidate: ev.Candidate, At: ev.At,
		Applied: ev.Tree != "" && (ev.Kind == runner.Gated || ev.Files > 0), Unjudged: ev.Kind == runner.Executed,
		Success: ev.Outcome == runner.OutcomeOK, Final: ev.Outcome == runner.OutcomeOK || v.Status == runner.Failed,
	}
	if f.usage != nil {
		a.PromptTokens, a.CompletionTokens = f.usage.InputTokens, f.usage.OutputTokens
		if f.usage.ModelMS != nil {
			a.Latency = time.Duration(*f.usage.ModelMS) * time.Millisecond
		}
	}
	for _, r := range ev.Reports {
		switch {
		case r.Gate == "agent":
			a.Response = r.Output // the end of its output; a model's answer is stored completely
		case r.Tests != nil:
			a.TestOutput += r.Output
			for _, f := range r.Findings {
				a.FailingTests = append(a.FailingTests, f.Rule+": "+f.Message)
			}
		case strings.HasPrefix(r.Gate, "types:"):
			a.TypeOutput += r.Output
		default:
			a.LintOutput += r.Output
		}
	}
	a.Response = cmp.Or(s.work.response(ev), a.Response)
	return s.Journal.AddAttempt(context.Background(), a)
}

// keepResponse stores the model's answer. The row of the attempt is written after the gates, possibly by another
// process.
func (w *work) keepResponse(c runner.Command, res agents.Result) error {
	path := filepath.Join(w.attemptDir(c), journal.AnswerFile)
	if res.Response == "" {
		// response of the agent whose work this agent took over
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("store the agent's answer: %w", err)
		}
		return nil
	}
	return writeFile(path, []byte(w.redact.String(res.Response)))
}

// response returns the model's answer in the attempt of an event, "" if the agent stores none.
func (w *work) response(ev runner.Event) string {
	text, err := os.ReadFile(filepath.Join(w.Layout.AttemptOf(ev), journal.AnswerFile))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		w.Note("the answer of batch " + ev.Batch + " could not be read: " + err.Error())
	}
	return string(text)
}

// over notifies agents that a batch has ended, so that they release its state. After an error, gc cleans up.
func (s *session) over(ev runner.Event) {
	if ev.Kind != runner.BatchPassed && ev.Kind != runner.BatchFailed {
		return
	}
	for _, a := range append([]agents.Agent{s.Agent}, s.Fallback...) {
		if ender, ok := a.(agents.Ender); ok {
			s.tell(ender, ev)
		}
	}
}

// tell calls End of one agent.
func (s *session) tell(ender agents.Ender, ev runner.Event) {
	ctx := context.Background()
	end := agents.End{Run: s.run, Batch: ev.Batch, Success: ev.Kind == runner.BatchPassed}
	var err error
	if end.Success && ev.Commit != "" {
		end.Diff, err = s.Repo.Run(ctx, "diff-tree", "-p", "--no-commit-id", "--no-renames", "--no-ext-diff", "--no-color",
			"--root", ev.Commit)
		end.Diff = s.work.redact.String(end.Diff)
	}
	if err == nil {
		err = ender.End(ctx, end)
	}
	if err != nil {
		s.note(fmt.Sprintf("the agent's state for batch %s could not be removed: %v", ev.Batch, err))
	}
}
