package store

import (
	"context"
	"database/sql"
)

// TrainingPlans returns all training plans, oldest first.
func (l *Log) TrainingPlans(ctx context.Context) ([]TrainingPlan, error) {
	return rows(ctx, l.db, "training plans", func(r *sql.Rows, p *TrainingPlan) error {
		return r.Scan(&p.ID, &p.Task, &p.Stage, &p.Base, &p.Source, &p.Criteria, &p.Hyperparameters, &p.Targets, &p.Raw,
			moment{&p.At})
	}, `SELECT id, task_id, target_stage, base_model, source, data_criteria, COALESCE(hyperparameters, ''), COALESCE(improvement_targets, ''), raw_plan, timestamp
		FROM training_plans ORDER BY id`)
}

// Datasets returns all datasets, oldest first.
func (l *Log) Datasets(ctx context.Context) ([]Dataset, error) {
	return rows(ctx, l.db, "datasets", func(r *sql.Rows, d *Dataset) error {
		return r.Scan(&d.ID, &d.Plan, &d.Stage, &d.Base, &d.Source, &d.Path, &d.Examples, &d.Positive, &d.Negative, &d.Format,
			moment{&d.At})
	}, `SELECT id, training_plan_id, stage_name, base_model, source, dataset_path, example_count, positive_count, negative_count, format, timestamp
		FROM training_datasets ORDER BY id`)
}

// TrainedAdapters returns all adapters, oldest first.
func (l *Log) TrainedAdapters(ctx context.Context) ([]TrainedAdapter, error) {
	return rows(ctx, l.db, "adapters", func(r *sql.Rows, a *TrainedAdapter) error {
		return r.Scan(&a.ID, &a.Dataset, &a.Stage, &a.Base, &a.Tag, &a.Loss, &a.Metrics, &a.Deployed, moment{&a.At})
	},
		`SELECT id, dataset_id, stage_name, base_model, model_tag, training_loss, COALESCE(eval_metrics, ''), deployed, trained_at FROM adapter_registry ORDER BY id`)
}

// Signals returns the last signal for each commit and name of a task, or of all tasks if task is "". They are in the
// order of task, commit and name.
func (l *Log) Signals(ctx context.Context, task string) ([]TrainingSignal, error) {
	return rows(ctx, l.db, "signals", scanSignal, lastSignals+" ORDER BY s.task_id, s.commit_hash, s.name", task)
}

const lastSignals = `SELECT s.id, s.task_id, s.commit_hash, s.name, s.value, COALESCE(s.note, ''), s.timestamp FROM training_signals s
	WHERE s.id IN (SELECT MAX(id) FROM training_signals GROUP BY task_id, commit_hash, name) AND ?1 IN ('', s.task_id)`

func scanSignal(r *sql.Rows, s *TrainingSignal) error {
	return r.Scan(&s.ID, &s.Task, &s.Commit, &s.Name, &s.Value, &s.Note, moment{&s.At})
}
