package store

import (
	"context"
	"database/sql"
	"time"
)

// Verdicts counts tasks by outcome.
type Verdicts struct {
	Won  int
	Lost int
	Open int // they did not end
}

// StageFigures measures a model at one kind of call (TRAIN-06).
type StageFigures struct {
	Type  string
	Stage string
	Role  string
	Model string

	Calls            int
	Failed           int // unusable answers
	PromptTokens     int64
	CompletionTokens int64
	Untold           int // calls with unknown tokens; they are in neither sum
	Latency          time.Duration
	Slowest          time.Duration
	Tasks            Verdicts // that asked it
}

// Stages returns the figures of all kinds of calls, by type, stage, role and model.
func (l *Log) Stages(ctx context.Context, f TaskFilter) ([]StageFigures, error) {
	where, args := f.where()
	return rows(ctx, l.db, "the figures of stages", func(r *sql.Rows, s *StageFigures) error {
		return r.Scan(&s.Type, &s.Stage, &s.Role, &s.Model, &s.Calls, &s.Failed, &s.PromptTokens, &s.CompletionTokens,
			&s.Untold,
			millis{&s.Latency}, millis{&s.Slowest}, &s.Tasks.Won, &s.Tasks.Lost, &s.Tasks.Open)
	}, `SELECT c.call_type, COALESCE(c.stage_name, ''), COALESCE(c.role, ''), c.model, COUNT(*), COUNT(c.error),
			COALESCE(SUM(CASE WHEN c.completion_tokens IS NOT NULL THEN c.prompt_tokens END), 0),
			COALESCE(SUM(CASE WHEN c.prompt_tokens IS NOT NULL THEN c.completion_tokens END), 0),
			SUM(c.prompt_tokens IS NULL OR c.completion_tokens IS NULL), SUM(c.latency_ms), MAX(c.latency_ms),
			COUNT(DISTINCT CASE WHEN t.success THEN c.task_id END), COUNT(DISTINCT CASE WHEN NOT t.success THEN c.task_id END), COUNT(DISTINCT CASE WHEN t.success IS NULL THEN c.task_id END)
		FROM retrieval_llm_calls c LEFT JOIN task_runs t ON t.task_id = c.task_id WHERE `+where+`
		GROUP BY 1, 2, 3, 4 ORDER BY 1, 2, 3, 4`, args...)
}

// FileOutcome counts the outcomes of tasks in which a stage selected or rejected a file. A success with the file does
// not prove that the file was needed.
type FileOutcome struct {
	Stage   string
	Path    string
	Taken   Verdicts
	LeftOut Verdicts
}

// Files returns the outcomes for the files that a stage judged, or all stages if stage is "". The last decision of a
// task counts.
func (l *Log) Files(ctx context.Context, f TaskFilter, stage string) ([]FileOutcome, error) {
	where, args := f.where()
	return rows(ctx, l.db, "the outcomes of files", func(r *sql.Rows, o *FileOutcome) error {
		return r.Scan(&o.Stage, &o.Path, &o.Taken.Won, &o.Taken.Lost, &o.Taken.Open, &o.LeftOut.Won, &o.LeftOut.Lost,
			&o.LeftOut.Open)
	}, `SELECT d.stage, d.path,
			SUM(d.included AND t.success IS 1), SUM(d.included AND t.success IS 0), SUM(d.included AND t.success IS NULL),
			SUM(NOT d.included AND t.success IS 1), SUM(NOT d.included AND t.success IS 0), SUM(NOT d.included AND t.success IS NULL)
		FROM retrieval_decisions d LEFT JOIN task_runs t ON t.task_id = d.task_id
		WHERE d.id IN (SELECT MAX(id) FROM retrieval_decisions WHERE symbol IS NULL GROUP BY task_id, stage, path) AND `+where+` AND ? IN ('', d.stage)
		GROUP BY 1, 2 ORDER BY 1, 2`, append(args, stage)...)
}
