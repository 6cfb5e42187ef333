package local

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/runplan/runplan/agents"
	"github.com/runplan/runplan/gates"
	"github.com/runplan/runplan/planparse"
	"github.com/runplan/runplan/runner"
)

// Critic looks at the steps of agents while they work. It begins with an attempt and asks nobody before the first step.
type Critic func(ctx context.Context, dir, task string) StepWatch

// StepWatch looks at one attempt. Step never keeps the agent waiting; Close ends it, after what it takes to look at the
// steps that wait.
type StepWatch interface {
	Step(s agents.Step)
	Close() Critique
}

// Critique is what came of it. High are the findings that are shown before the work goes on, Kept those for a review.
type Critique struct {
	High   []gates.Finding     `json:"high_confidence_findings"`
	Kept   []gates.Finding     `json:"kept_for_review"`
	Report gates.Report        `json:"report"`
	Cost   runner.CritiqueCost `json:"cost"`
}

// CritiqueFile is where an attempt's critique lies, in its folder of logs.
const CritiqueFile = "critique.json"

// stepping is an attempt whose steps are looked at; without a critic it does nothing.
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

// critic begins to look at an attempt. What the plan spells out to the letter is nobody's to criticise.
func (w *work) critic(ctx context.Context, dir string, b *planparse.Batch, agent agents.Agent, obs agents.Observer) stepping {
	if w.Critic == nil || literal(agent) {
		return stepping{Observer: obs}
	}
	return stepping{obs, w.Critic(ctx, dir, b.Title+"\n\n"+b.Text)}
}

// close takes up what was seen. It is kept beside the logs of the attempt, where the gates of the attempt find it also in
// another process. A critique that cannot be kept stops nothing.
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
		err = writeFile(filepath.Join(w.attemptDir(c), CritiqueFile), []byte(w.redact.String(string(data))+"\n"))
	}
	if err != nil {
		w.Note(fmt.Sprintf("the critique of batch %s could not be kept: %v", c.Batch, err))
	}
}

// Execute lets the agent work in a fresh workspace and stages what it left. An attempt that ends there takes what was
// seen of its steps with it: no gates will.
func (w *work) Execute(ctx context.Context, c runner.Command, p runner.Progress) (runner.Event, error) {
	e, err := w.execute(ctx, c, p)
	if err != nil || e.Outcome == runner.OutcomeOK {
		return e, err
	}
	for _, rep := range w.critique(c) {
		if rep.Status == gates.Warn {
			e.Reports = w.trim(append(e.Reports, rep))
		}
	}
	return e, nil
}

// seen reads what was seen of the steps of the attempt; false where nobody looked.
func (w *work) seen(c runner.Command) (Critique, bool) {
	var seen Critique
	if w.Critic == nil {
		return seen, false
	}
	data, err := os.ReadFile(filepath.Join(w.attemptDir(c), CritiqueFile))
	if errors.Is(err, fs.ErrNotExist) {
		return seen, false
	}
	if err == nil {
		err = json.Unmarshal(data, &seen)
	}
	if err != nil {
		w.Note(fmt.Sprintf("the critique of batch %s could not be read: %v", c.Batch, err))
		return seen, false
	}
	return seen, true
}

// inheritCritique gives the batch what was seen of the steps of the candidate that won: who looks at the batch looks at that.
func (w *work) inheritCritique(c runner.Command, winner int) {
	data, err := os.ReadFile(filepath.Join(w.candidateDir(c, winner), CritiqueFile))
	if errors.Is(err, fs.ErrNotExist) {
		return
	}
	if err == nil {
		c.Slot = nil
		err = writeFile(filepath.Join(w.attemptDir(c), CritiqueFile), data)
	}
	if err != nil {
		w.Note(fmt.Sprintf("the critique of candidate %d of batch %s is not handed on: %v", winner, c.Batch, err))
	}
}

// critique is the report on the steps of the attempt, for the verdict that its gates give. It advises: whatever the file
// says, it neither fails nor passes anything.
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

// doubts are what the critic saw and was not sure enough of to show at once. A review is told to look at it (FIX-29).
func (w *work) doubts(c runner.Command) []gates.Finding {
	seen, _ := w.seen(c)
	return seen.Kept
}
