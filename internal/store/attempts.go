package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"time"
)

// Attempt is one attempt at a task with the verdict of the gates: raw data for later training.
type Attempt struct {
	TaskID           string // "<run>/<batch>"
	Repo             string
	Mode             Mode
	Model            string // of the agent, or the agent's name if it does not report a model
	Number           int
	Candidate        int // of a tournament, from 1; 0 outside of one
	PromptTokens     *int64
	CompletionTokens *int64
	Latency          time.Duration
	Response         string // the agent's last text; redacted
	Applied          bool   // the agent changed something
	Unjudged         bool   // no gate ran: there is no verdict to store
	Success          bool
	Final            bool // no further attempt follows
	TestOutput       string
	LintOutput       string
	TypeOutput       string // of type checks
	FailingTests     []string
	Diff             string // outcome of the task; with Final
	At               time.Time
}

// AddAttempt writes the rows of one attempt. It starts the task if needed. A started task keeps the values of
// [Journal.StartTask].
func (j *Journal) AddAttempt(ctx context.Context, a Attempt) error {
	return j.tx(ctx, "attempt of "+a.TaskID, func(ctx context.Context, tx *sql.Tx) error {
		task, err := start(ctx, tx, Task{ID: a.TaskID, Repo: a.Repo, Mode: a.Mode, Model: a.Model, At: a.At})
		if err != nil {
			return err
		}
		res, err := tx.ExecContext(ctx, `INSERT INTO run_attempts (task_run_id, attempt, candidate, prompt_tokens, completion_tokens, latency_ms, raw_response, patch_applied, timestamp, model)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`, task, a.Number, a.Candidate, a.PromptTokens, a.CompletionTokens, a.Latency.Milliseconds(), a.Response, a.Applied, stamp(a.At), null(a.Model))
		if err != nil {
			return err
		}
		if !a.Unjudged {
			if err := judge(ctx, tx, res, a); err != nil {
				return err
			}
		}
		if a.Final {
			return finish(ctx, tx, task, TaskEnd{Success: a.Success, Diff: a.Diff})
		}
		return nil
	})
}

// judge writes the verdict of the gates on a new attempt.
func judge(ctx context.Context, tx *sql.Tx, added sql.Result, a Attempt) error {
	id, err := added.LastInsertId()
	if err != nil {
		return err
	}
	failing, err := json.Marshal(append([]string{}, a.FailingTests...)) // none is [], not null
	if err != nil {
		return err
	}
	_, err = tx.ExecContext(ctx,
		"INSERT INTO validation_results (attempt_id, success, test_output, lint_output, type_check_output, failing_tests) "+
			"VALUES (?, ?, ?, ?, ?, ?)",
		id, a.Success, a.TestOutput, a.LintOutput, null(a.TypeOutput), string(failing))
	return err
}
