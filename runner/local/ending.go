package local

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/runplan/runplan/agents"
	"github.com/runplan/runplan/runner"
)

// responseName is the file with the model's answer, next to the logs of an attempt.
const responseName = "answer.md"

// keepResponse stores the model's answer. The row of the attempt is written after the gates, possibly by another
// process.
func (w *work) keepResponse(c runner.Command, res agents.Result) error {
	path := filepath.Join(w.attemptDir(c), responseName)
	if res.Response == "" {
		// of the agent that this one took over from
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("store the agent's answer: %w", err)
		}
		return nil
	}
	return writeFile(path, []byte(w.redact.String(res.Response)))
}

// response returns the model's answer in the attempt of an event, "" if the agent stores none.
func (w *work) response(ev runner.Event) string {
	c := runner.Command{Batch: ev.Batch, Attempt: ev.Attempt}
	if ev.Candidate > 0 {
		c.Slot = &runner.Slot{Number: ev.Candidate}
	}
	text, err := os.ReadFile(filepath.Join(w.attemptDir(c), responseName))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		w.Note("the answer of batch " + ev.Batch + " could not be read: " + err.Error())
	}
	return string(text)
}

// over tells agents that no further attempt at a batch follows, so that they release its state. gc cleans up after
// errors.
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
