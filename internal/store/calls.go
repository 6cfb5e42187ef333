package store

import (
	"context"
	"database/sql"
	"errors"
	"time"
)

// Call is one question to a model with its answer, both redacted (RETR-12). What a model is trained on later is made of
// these (TRAIN-03): also the calls that execute a task are kept, and answers that could not be used.
type Call struct {
	ID               int64  // of the row; given when it is read
	Task             string // of task_runs; its row there may come later
	Type             string // task_analysis, scope_judgment, precision_judgment, execute_code, …
	Stage            string // "" for task analysis, which is no stage
	Attempt          int    // that it was part of, 0 for none
	Role             string // coding or reasoning: an adapter is for one of them (TRAIN-05)
	Model            string
	System           string
	Prompt           string
	Response         string
	Error            string // why the answer could not be used, "" if it could
	PromptTokens     *int   // nil: unknown
	CompletionTokens *int
	Latency          time.Duration
	At               time.Time
}

// AddCall writes down a call.
func (j *Journal) AddCall(ctx context.Context, c Call) error {
	return j.tx(ctx, "call of "+c.Task, func(ctx context.Context, tx *sql.Tx) error {
		if c.Task == "" || c.Type == "" {
			return errors.New("a call needs its task and its type")
		}
		_, err := tx.ExecContext(ctx, `INSERT INTO retrieval_llm_calls (task_id, call_type, stage_name, model, prompt, response, prompt_tokens, completion_tokens, latency_ms, timestamp, role, system, attempt, error)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`, c.Task, c.Type, null(c.Stage), c.Model, c.Prompt, c.Response, c.PromptTokens, c.CompletionTokens,
			c.Latency.Milliseconds(), stamp(c.At), null(c.Role), null(c.System), nullID(int64(c.Attempt)), null(c.Error))
		return err
	})
}
