package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"time"
)

// Mode is the purpose of a task.
type Mode string

// In mode batch an agent does the work; in other modes runplan itself calls the models.
const (
	ModeBatch     Mode = "batch"
	ModePlan      Mode = "plan"
	ModeImplement Mode = "implement"
	ModeRetrieve  Mode = "retrieve"
)

// Task is the start of a task. All rows of other tables with its id belong to it (SOLVE-09).
type Task struct {
	ID       string // "<run>/<batch>" for a batch of a run
	Repo     string
	Mode     Mode
	Model    string   // the executing model, or the agent's name if it does not report a model
	Window   int      // tokens; 0: the agent manages its own window
	Reserved int      // tokens of the window that are not for context
	Stages   []string // of retrieval, in their order
	Plan     string   // path of the plan that it follows, "" for none
	At       time.Time
}

// StartTask records that a task began. A repeated call, after a crash or for another attempt, changes nothing: the
// first values count.
func (j *Journal) StartTask(ctx context.Context, t Task) error {
	return j.tx(ctx, "start of "+t.ID, func(ctx context.Context, tx *sql.Tx) error {
		_, err := start(ctx, tx, t)
		return err
	})
}

// start makes sure that a task has its row, and returns the id of the row.
func start(ctx context.Context, tx *sql.Tx, t Task) (int64, error) {
	if t.ID == "" {
		return 0, errors.New("a task needs an id")
	}
	for _, s := range t.Stages {
		if s == "" || strings.Contains(s, ",") {
			return 0, fmt.Errorf("unknown stage %q", s)
		}
	}
	if _, err := tx.ExecContext(ctx, `INSERT INTO task_runs (task_id, repo_path, mode, execute_model, context_window, reserved_tokens, stages, plan_artifact, timestamp)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (task_id) DO NOTHING`,
		t.ID, t.Repo, string(t.Mode), t.Model, t.Window, t.Reserved, strings.Join(t.Stages, ","), null(t.Plan),
		stamp(t.At)); err != nil {
		return 0, err
	}
	return taskID(ctx, tx, t.ID)
}

func taskID(ctx context.Context, tx *sql.Tx, task string) (int64, error) {
	var id int64
	err := tx.QueryRowContext(ctx, "SELECT id FROM task_runs WHERE task_id = ?", task).Scan(&id)
	if errors.Is(err, sql.ErrNoRows) {
		err = errors.New("the task was not started")
	}
	return id, err
}

// TaskEnd is the outcome of a task.
type TaskEnd struct {
	Success bool
	Diff    string // the result of an implementation; "" keeps the stored value
	Plan    string // the result of planning; "" keeps the stored value
}

// FinishTask records how a task ended, with its total usage. A repeated call, after a batch was reopened, replaces
// the outcome.
func (j *Journal) FinishTask(ctx context.Context, task string, e TaskEnd) error {
	return j.tx(ctx, "end of "+task, func(ctx context.Context, tx *sql.Tx) error {
		id, err := taskID(ctx, tx, task)
		if err != nil {
			return err
		}
		return finish(ctx, tx, id, e)
	})
}

// finish writes the outcome of a task. Its cost is the sum of its calls if runplan asked the models itself, else of the
// agent's reported attempts. An attempt without reported tokens does not count; if none reports them, the sum is
// unknown.
func finish(ctx context.Context, tx *sql.Tx, id int64, e TaskEnd) error {
	_, err := tx.ExecContext(ctx, `UPDATE task_runs SET success = ?1, final_diff = COALESCE(?2, final_diff), final_plan = COALESCE(?3, final_plan), (total_tokens, total_latency_ms) = (
		WITH calls AS (SELECT c.prompt_tokens + c.completion_tokens AS tokens, c.latency_ms FROM task_runs t JOIN retrieval_llm_calls c ON c.task_id = t.task_id WHERE t.id = ?4 AND t.mode <> 'batch'),
			attempts AS (SELECT prompt_tokens + completion_tokens AS tokens, latency_ms FROM run_attempts WHERE task_run_id = ?4)
		SELECT SUM(tokens), SUM(latency_ms) FROM (SELECT * FROM calls UNION ALL SELECT * FROM attempts WHERE NOT EXISTS (SELECT 1 FROM calls)))
		WHERE id = ?4`, e.Success, null(e.Diff), null(e.Plan), id)
	return err
}
