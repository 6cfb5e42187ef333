package store

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"time"
)

// Training adds training data to the journal: plans, datasets, adapters, and later facts about code. Only the folder
// training opens it (DB-13); others read with [Log].
type Training struct{ j *Journal }

// OpenTraining opens the journal at path for training data, and creates it if it is missing: learning from a
// repository's history needs no earlier run.
func OpenTraining(ctx context.Context, path string) (*Training, error) {
	j, err := OpenJournal(ctx, path)
	if err != nil {
		return nil, err
	}
	return &Training{j}, nil
}

// Close releases the file.
func (t *Training) Close() error { return t.j.Close() }

// TrainingPlan is a plan to train a stage, with the reason (TRAIN-06).
type TrainingPlan struct {
	ID              int64  // of the row; set when it is read
	Task            string // task that made the plan
	Stage           string
	Base            string // coding or reasoning
	Source          string // logged or synthetic; "" is logged
	Criteria        string // of the data, JSON
	Hyperparameters string // JSON, "" for none
	Targets         string // of improvement, JSON, "" for none
	Raw             string // the text of the plan
	At              time.Time
}

// AddTrainingPlan records a plan, and returns the id of the row.
func (t *Training) AddTrainingPlan(ctx context.Context, p TrainingPlan) (int64, error) {
	return t.j.add(ctx, "training plan of "+p.Stage, func() error {
		if p.Task == "" || p.Raw == "" {
			return errors.New("a training plan needs its task and its text")
		}
		return errors.Join(ofStage(p.Stage, p.Base, p.Source), isJSON("data criteria", p.Criteria, true),
			isJSON("hyperparameters", p.Hyperparameters, false), isJSON("improvement targets", p.Targets, false))
	}, `INSERT INTO training_plans (task_id, target_stage, base_model, source, data_criteria, hyperparameters, improvement_targets, raw_plan, timestamp)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`, p.Task, p.Stage, p.Base, cmp.Or(p.Source, "logged"), p.Criteria, null(p.Hyperparameters), null(p.Targets), p.Raw, stamp(p.At))
}

// Dataset is a file of examples selected by a plan (TRAIN-07).
type Dataset struct {
	ID       int64 // of the row; given when it is read
	Plan     int64 // id of the training plan
	Stage    string
	Base     string
	Source   string // "" is logged
	Path     string // of the file
	Examples int
	Positive int
	Negative int
	Format   string // "" is jsonl
	At       time.Time
}

// AddDataset stores a dataset and returns the id of its row. Its plan must exist.
func (t *Training) AddDataset(ctx context.Context, d Dataset) (int64, error) {
	return t.j.add(ctx, "dataset "+d.Path, func() error {
		switch {
		case d.Path == "":
			return errors.New("a dataset needs its path")
		case d.Examples < 0 || d.Positive < 0 || d.Negative < 0 || d.Positive+d.Negative > d.Examples:
			return fmt.Errorf("impossible counts: %d positive and %d negative of %d examples", d.Positive, d.Negative,
				d.Examples)
		}
		return ofStage(d.Stage, d.Base, d.Source)
	}, `INSERT INTO training_datasets (training_plan_id, stage_name, base_model, source, dataset_path, example_count, positive_count, negative_count, format, timestamp)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, COALESCE(?, 'jsonl'), ?)`, d.Plan, d.Stage, d.Base, cmp.Or(d.Source, "logged"), d.Path, d.Examples, d.Positive, d.Negative, null(d.Format), stamp(d.At))
}

// TrainedAdapter is the adapter that a trainer made from a dataset (TRAIN-28).
type TrainedAdapter struct {
	ID       int64 // of the row; given when it is read
	Dataset  int64 // id of the dataset
	Stage    string
	Base     string
	Tag      string   // the model's name on the server
	Loss     *float64 // nil if the trainer did not report it
	Metrics  string   // JSON, "" for none
	Deployed bool     // set when it is read; [Training.AddDeployment] writes it
	At       time.Time
}

// AddTrainedAdapter stores an adapter and returns the id of its row. Its dataset must exist.
func (t *Training) AddTrainedAdapter(ctx context.Context, a TrainedAdapter) (int64, error) {
	return t.j.add(ctx, "adapter "+a.Tag, func() error {
		switch {
		case a.Tag == "":
			return errors.New("an adapter needs the tag of its model")
		case a.Loss != nil && (math.IsNaN(*a.Loss) || math.IsInf(*a.Loss, 0)):
			return fmt.Errorf("the loss %v is not a number; leave it unknown", *a.Loss)
		}
		return errors.Join(ofStage(a.Stage, a.Base, ""), isJSON("metrics", a.Metrics, false))
	}, "INSERT INTO adapter_registry (dataset_id, stage_name, base_model, model_tag, training_loss, eval_metrics, "+
		"trained_at) VALUES (?, ?, ?, ?, ?, ?, ?)",
		a.Dataset, a.Stage, a.Base, a.Tag, a.Loss, null(a.Metrics), stamp(a.At))
}

// AddDeployment records that an adapter was deployed or withdrawn.
func (t *Training) AddDeployment(ctx context.Context, adapter int64, deployed bool, at time.Time) error {
	_, err := t.j.add(ctx, fmt.Sprintf("deployment of adapter %d", adapter), nil,
		"INSERT INTO adapter_deployments (adapter_id, deployed, timestamp) VALUES (?, ?, ?)", adapter, deployed, stamp(at))
	return err
}

// ofStage checks that a row names its stage and role, so that an adapter is never used for the other kind of model
// (TRAIN-05).
func ofStage(stage, base, source string) error {
	switch {
	case stage == "":
		return errors.New("the stage is missing")
	case base != "coding" && base != "reasoning":
		return fmt.Errorf("base %q is neither coding nor reasoning", base)
	case source != "" && source != "logged" && source != "synthetic":
		return fmt.Errorf("source %q is neither logged nor synthetic", source)
	}
	return nil
}

func isJSON(what, text string, needed bool) error {
	if text == "" && !needed || json.Valid([]byte(text)) {
		return nil
	}
	return fmt.Errorf("%s are not JSON: %.60q", what, text)
}

// TrainingPlans returns all training plans, oldest first.
func (l *Log) TrainingPlans(ctx context.Context) ([]TrainingPlan, error) {
	return rows[TrainingPlan](ctx, l.db, "training plans", `SELECT id, task_id, target_stage, base_model, source, data_criteria, COALESCE(hyperparameters, ''), COALESCE(improvement_targets, ''), raw_plan, timestamp
		FROM training_plans ORDER BY id`)
}

// Datasets returns all datasets, oldest first.
func (l *Log) Datasets(ctx context.Context) ([]Dataset, error) {
	return rows[Dataset](ctx, l.db, "datasets", `SELECT id, training_plan_id, stage_name, base_model, source, dataset_path, example_count, positive_count, negative_count, format, timestamp
		FROM training_datasets ORDER BY id`)
}

// TrainedAdapters returns all adapters, oldest first.
func (l *Log) TrainedAdapters(ctx context.Context) ([]TrainedAdapter, error) {
	return rows[TrainedAdapter](ctx, l.db, "adapters",
		`SELECT id, dataset_id, stage_name, base_model, model_tag, training_loss, COALESCE(eval_metrics, ''), deployed, trained_at FROM adapter_registry ORDER BY id`)
}

// Signals returns the last signal for each commit and name of a task, or of all tasks if task is "". They are in the
// order of task, commit and name.
func (l *Log) Signals(ctx context.Context, task string) ([]TrainingSignal, error) {
	return rows[TrainingSignal](ctx, l.db, "signals", lastSignals+" ORDER BY s.task_id, s.commit_hash, s.name", task)
}

const lastSignals = `SELECT s.id, s.task_id, s.commit_hash, s.name, s.value, COALESCE(s.note, ''), s.timestamp FROM training_signals s
	WHERE s.id IN (SELECT MAX(id) FROM training_signals GROUP BY task_id, commit_hash, name) AND ?1 IN ('', s.task_id)`

// TrainingSignal is one fact about the code of a task after its run. For the same commit and name, the last one counts.
type TrainingSignal struct {
	ID     int64    // of the row; given when it is read
	Task   string   // "<run>/<batch>"
	Commit string   // commit of the signal
	Name   string   // merged, reverted, rewritten
	Value  *float64 // 0 to 1; nil if unknown
	Note   string
	At     time.Time
}

// same reports whether s adds nothing to t.
func (s TrainingSignal) same(t TrainingSignal) bool {
	return s.Note == t.Note && (s.Value == t.Value || s.Value != nil && t.Value != nil && *s.Value == *t.Value)
}

// AddSignals records those signals that differ from the last ones, all or nothing, and returns them. A repeated call
// adds nothing.
func (t *Training) AddSignals(ctx context.Context, all []TrainingSignal) (added []TrainingSignal, err error) {
	err = t.j.tx(ctx, "signals about code", func(ctx context.Context, tx *sql.Tx) error {
		for _, s := range all {
			if s.Task == "" || s.Commit == "" || s.Name == "" {
				return errors.New("a signal needs its task, its commit and its name")
			}
			if s.Value != nil && !(*s.Value >= 0 && *s.Value <= 1) {
				return fmt.Errorf("signal %s of %s: %v is not between 0 and 1", s.Name, s.Task, *s.Value)
			}
			last, err := rows[TrainingSignal](ctx, tx, "signals", lastSignals+" AND s.commit_hash = ?2 AND s.name = ?3", s.Task,
				s.Commit, s.Name)
			if err != nil {
				return err
			}
			if len(last) == 1 && s.same(last[0]) {
				continue
			}
			if _, err := tx.ExecContext(ctx,
				"INSERT INTO training_signals (task_id, commit_hash, name, value, note, timestamp) VALUES (?, ?, ?, ?, ?, ?)",
				s.Task, s.Commit, s.Name, s.Value, null(s.Note), stamp(s.At)); err != nil {
				return err
			}
			added = append(added, s)
		}
		return nil
	})
	return added, err
}
