package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"time"
)

// Attempt is one go at a task, with what the gates said of it: the raw material of later training.
type Attempt struct {
	TaskID           string // "<run>/<batch>"
	Repo             string
	Mode             string
	Model            string // of the agent, or the agent's name where it does not tell
	Number           int
	PromptTokens     *int64
	CompletionTokens *int64
	Latency          time.Duration
	Response         string // what the agent said last; redacted
	Applied          bool   // it changed something
	Success          bool
	Final            bool // no further attempt follows
	TestOutput       string
	LintOutput       string
	FailingTests     []string
	At               time.Time
}

// AddAttempt writes the rows of one attempt.
func (j *Journal) AddAttempt(ctx context.Context, a Attempt) error {
	return j.tx(ctx, "attempt of "+a.TaskID, func(ctx context.Context, tx *sql.Tx) error {
		if _, err := tx.ExecContext(ctx, `INSERT INTO task_runs (task_id, repo_path, mode, execute_model, context_window, reserved_tokens, stages, timestamp)
			VALUES (?, ?, ?, ?, 0, 0, '', ?) ON CONFLICT (task_id) DO NOTHING`, a.TaskID, a.Repo, a.Mode, a.Model, stamp(a.At)); err != nil {
			return err
		}
		var task int64
		if err := tx.QueryRowContext(ctx, "SELECT id FROM task_runs WHERE task_id = ?", a.TaskID).Scan(&task); err != nil {
			return err
		}
		res, err := tx.ExecContext(ctx, `INSERT INTO run_attempts (task_run_id, attempt, prompt_tokens, completion_tokens, latency_ms, raw_response, patch_applied, timestamp)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?)`, task, a.Number, a.PromptTokens, a.CompletionTokens, a.Latency.Milliseconds(), a.Response, a.Applied, stamp(a.At))
		if err != nil {
			return err
		}
		id, err := res.LastInsertId()
		if err != nil {
			return err
		}
		failing, err := json.Marshal(append([]string{}, a.FailingTests...)) // none is [], not null
		if err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx, `INSERT INTO validation_results (attempt_id, success, test_output, lint_output, failing_tests) VALUES (?, ?, ?, ?, ?)`,
			id, a.Success, a.TestOutput, a.LintOutput, string(failing)); err != nil {
			return err
		}
		if a.Final {
			// An attempt that does not tell its tokens does not count; where none does, the sum is not known.
			_, err = tx.ExecContext(ctx, `UPDATE task_runs SET success = ?, (total_tokens, total_latency_ms) =
				(SELECT SUM(prompt_tokens + completion_tokens), SUM(latency_ms) FROM run_attempts WHERE task_run_id = task_runs.id)
				WHERE id = ?`, a.Success, task)
		}
		return err
	})
}
