package plan

import (
	"context"
	"fmt"
	"iter"
	"strings"

	"github.com/runplan/runplan/internal/store"
	"github.com/runplan/runplan/training"
)

// Evidence is the data that a plan can use.
type Evidence struct {
	Calls    []store.StageFigures // of the log
	Tasks    []store.TaskOutcome
	Attempts []store.Attempt
	Examples map[training.Stage]Tally
	Learned  Learned
}

// Tally counts the examples of a stage.
type Tally struct {
	Logged         int     `json:"logged"`
	Synthetic      int     `json:"synthetic"`
	Positive       int     `json:"positive"`
	Negative       int     `json:"negative"`
	Preferences    int     `json:"preferences"`     // in neither of the two above
	LoggedPositive int     `json:"logged_positive"` // good results of the models themselves
	LoggedNegative int     `json:"logged_negative"`
	Forward        int     `json:"forward"`
	Retroactive    int     `json:"retroactive"`
	Qualities      int     `json:"qualities"` // logged examples with known quality
	Quality        float64 `json:"quality"`   // their sum
}

// Count returns the total.
func (t Tally) Count() int { return t.Logged + t.Synthetic }

// Empty reports whether there is no data.
func (e Evidence) Empty() bool {
	return len(e.Calls) == 0 && len(e.Tasks) == 0 && len(e.Examples) == 0
}

// FromLog adds data from the log.
func (e *Evidence) FromLog(ctx context.Context, log *store.Log, f store.TaskFilter) error {
	var err error
	if e.Calls, err = log.Stages(ctx, f); err != nil {
		return fmt.Errorf("read the figures of stages: %w", err)
	}
	if e.Tasks, err = log.Tasks(ctx, f); err != nil {
		return fmt.Errorf("read the tasks: %w", err)
	}
	for _, t := range e.Tasks {
		all, err := log.Attempts(ctx, t.ID)
		if err != nil {
			return fmt.Errorf("read the attempts at %s: %w", t.ID, err)
		}
		e.Attempts = append(e.Attempts, all...)
	}
	return nil
}

// FromExamples adds examples.
func (e *Evidence) FromExamples(all iter.Seq2[training.Example, error]) error {
	for x, err := range all {
		if err != nil {
			return err
		}
		if e.Examples == nil {
			e.Examples = map[training.Stage]Tally{}
		}
		t := e.Examples[x.Stage]
		t.add(x)
		e.Examples[x.Stage] = t
	}
	return nil
}

func (t *Tally) add(x training.Example) {
	logged := x.Source == training.Logged
	if logged {
		t.Logged++
		if x.Quality != nil {
			t.Qualities++
			t.Quality += *x.Quality
		}
	} else {
		t.Synthetic++
	}
	switch {
	case x.Rejected != "":
		t.Preferences++
	case x.Positive:
		t.Positive++
		t.LoggedPositive += one(logged)
	default:
		t.Negative++
		t.LoggedNegative += one(logged)
	}
	t.Forward += one(x.Kind == training.Forward)
	t.Retroactive += one(x.Kind == training.Retroactive)
}

func one(b bool) int {
	if b {
		return 1
	}
	return 0
}

// StageOf returns the stage of a logged call. ok is false for calls that are not trained.
func StageOf(c store.StageFigures) (training.Stage, bool) {
	switch {
	case c.Type == string(training.TaskAnalysis):
		return training.TaskAnalysis, true
	case c.Stage == string(training.Scope), c.Type == "scope_judgment":
		return training.Scope, true
	case c.Stage == string(training.Precision), c.Type == "precision_judgment":
		return training.Precision, true
	case c.Stage == string(training.ExecutePlan):
		return training.ExecutePlan, true
	case c.Stage == string(training.ExecuteCode):
		return training.ExecuteCode, true
	case c.Stage == string(training.Review), strings.Contains(c.Type, "review"):
		return training.Review, true
	}
	return "", false
}
