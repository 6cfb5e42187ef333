package store

import (
	"context"
	"database/sql"
	"errors"
	"time"
)

// Call is one question to a model with its answer, both redacted (RETR-12). Later training uses them (TRAIN-03), so
// calls that execute a task and unusable answers are stored, too.
type Call struct {
	ID               int64  // of the row; set when it is read
	Task             string // of task_runs; its row there may come later
	Type             string // task_analysis, scope_judgment, precision_judgment, execute_code, …
	Stage            string // "" for task analysis, which is not a stage
	Attempt          int    // that it was part of, 0 for none
	Role             string // coding or reasoning: each adapter is for one of them (TRAIN-05)
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

// AddCall records a call.
func (j *Journal) AddCall(ctx context.Context, c Call) error {
	_, err := j.add(ctx, "call of "+c.Task, func() error {
		if c.Task == "" || c.Type == "" {
			return errors.New("a call needs its task and its type")
		}
		return nil
	}, `INSERT INTO retrieval_llm_calls (task_id, call_type, stage_name, model, prompt, response, prompt_tokens, completion_tokens, latency_ms, timestamp, role, system, attempt, error)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`, c.Task, c.Type, null(c.Stage), c.Model, c.Prompt, c.Response, c.PromptTokens, c.CompletionTokens,
		c.Latency.Milliseconds(), stamp(c.At), null(c.Role), null(c.System), nullID(int64(c.Attempt)), null(c.Error))
	return err
}

// CallSum sums up the calls of one type to one model.
type CallSum struct {
	Type             string
	Model            string
	Calls            int
	Failed           int // unusable answers
	PromptTokens     int64
	CompletionTokens int64
	Untold           int // calls with unknown tokens; they are in neither sum
}

// CallsBeside sums up the calls that belong to no run. The events of runs report their own calls, so each counts once.
func (j *Journal) CallsBeside(ctx context.Context) ([]CallSum, error) {
	return rows(ctx, j.db, "the calls of models", func(r *sql.Rows, s *CallSum) error {
		return r.Scan(&s.Type, &s.Model, &s.Calls, &s.Failed, &s.PromptTokens, &s.CompletionTokens, &s.Untold)
	}, `SELECT c.call_type, c.model, COUNT(*), COUNT(c.error),
			COALESCE(SUM(CASE WHEN c.completion_tokens IS NOT NULL THEN c.prompt_tokens END), 0),
			COALESCE(SUM(CASE WHEN c.prompt_tokens IS NOT NULL THEN c.completion_tokens END), 0),
			SUM(c.prompt_tokens IS NULL OR c.completion_tokens IS NULL)
		FROM retrieval_llm_calls c WHERE NOT EXISTS (SELECT 1 FROM runs r WHERE c.task_id = r.run OR substr(c.task_id, 1, length(r.run) + 1) = r.run || '/')
		GROUP BY 1, 2 ORDER BY 1, 2`)
}
