package local

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/runplan/runplan/agents"
	"github.com/runplan/runplan/gates"
	"github.com/runplan/runplan/internal/atomicfile"
	"github.com/runplan/runplan/planparse"
	"github.com/runplan/runplan/runner"
	"github.com/runplan/runplan/runner/journal"
)

// Critic starts to check the steps of one attempt. It calls no model before the first step.
type Critic func(ctx context.Context, dir, task string) StepWatch

// StepWatch checks one attempt. Step never blocks the agent. Close checks the remaining steps and ends the watch.
type StepWatch interface {
	Step(s agents.Step)
	Close() journal.Critique
}

// stepping passes the steps of an attempt to a watch; without a critic it does nothing.
type stepping struct {
	agents.Observer
	watch StepWatch
}

// Step implements [agents.StepObserver].
func (s stepping) Step(step agents.Step) {
	if s.watch != nil {
		s.watch.Step(step)
	}
}

// critic starts to check an attempt. It does not check script agents, because the plan contains their work literally.
func (w *work) critic(ctx context.Context, dir string, b *planparse.Batch, agent agents.Agent,
	obs agents.Observer) stepping {
	if w.Critic == nil || literal(agent) {
		return stepping{Observer: obs}
	}
	return stepping{obs, w.Critic(ctx, dir, b.Title+"\n\n"+b.Text)}
}

// close stores the critique next to the logs of the attempt, so that the gates find it in another process too. An
// error becomes a note and stops nothing.
func (s stepping) close(w *work, c runner.Command, e *runner.Event) {
	if s.watch == nil {
		return
	}
	seen := s.watch.Close()
	if seen.Cost.Calls > 0 {
		e.Critique = &seen.Cost
	}
	data, err := json.MarshalIndent(seen, "", "  ")
	if err == nil {
		err = writeFile(filepath.Join(w.attemptDir(c), journal.CritiqueFile), []byte(w.redact.String(string(data))+"\n"))
	}
	if err != nil {
		w.Note(fmt.Sprintf("the critique of batch %s could not be stored: %v", c.Batch, err))
	}
}

// seen reads the critique of the attempt; false if there is none.
func (w *work) seen(c runner.Command) (journal.Critique, bool) {
	var seen journal.Critique
	if w.Critic == nil {
		return seen, false
	}
	err := atomicfile.ReadJSON(filepath.Join(w.attemptDir(c), journal.CritiqueFile), &seen)
	if errors.Is(err, fs.ErrNotExist) {
		return seen, false
	}
	if err != nil {
		w.Note(fmt.Sprintf("the critique of batch %s could not be read: %v", c.Batch, err))
		return seen, false
	}
	return seen, true
}

// critique returns the report on the steps of the attempt, to add to the reports of its gates. The report is advice: it
// never fails a batch, whatever the file contains.
func (w *work) critique(c runner.Command) []gates.Report {
	seen, ok := w.seen(c)
	if !ok {
		return nil
	}
	rep := seen.Report
	if rep.Gate = "critique"; rep.Status != gates.Skipped {
		rep.Status = gates.Pass
	}
	for i := range rep.Findings {
		rep.Findings[i].Severity, rep.Status = gates.Warning, gates.Warn
	}
	return []gates.Report{rep}
}
