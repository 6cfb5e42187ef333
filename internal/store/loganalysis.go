package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"iter"
	"reflect"
	"strings"
	"time"
)

// Log answers questions about tasks and their outcomes (IDX-16). It cannot write. It reads a journal that others may be
// writing to, and is safe for concurrent use.
type Log struct{ file }

// OpenLog opens the journal at path for reading. A missing one is an error that wraps fs.ErrNotExist.
func OpenLog(ctx context.Context, path string) (*Log, error) {
	return openedAs[Log](rawFile().openReader(ctx, path))
}

// TaskFilter selects tasks. Empty fields match all.
type TaskFilter struct {
	Task  string // id
	Since time.Time
}

// where returns the condition for the rows t of task_runs. Rows without a task are included only if the filter is
// empty.
func (f TaskFilter) where() (cond string, args []any) {
	cond = "1"
	if f.Task != "" {
		cond, args = cond+" AND t.task_id = ?", append(args, f.Task)
	}
	if !f.Since.IsZero() {
		cond, args = cond+" AND t.timestamp >= ?", append(args, stamp(f.Since))
	}
	return cond, args
}

// TaskOutcome is a task with its outcome.
type TaskOutcome struct {
	Task
	Success   *bool // nil if it did not end
	Tokens    *int64
	Latency   *time.Duration
	Diff      string
	FinalPlan string
	Attempts  int
	Judged    int // attempts with a verdict of the gates
	Calls     int
}

// Tasks returns tasks with their outcomes, oldest first.
func (l *Log) Tasks(ctx context.Context, f TaskFilter) ([]TaskOutcome, error) {
	where, args := f.where()
	return rowsBy(ctx, l.db, "tasks", func(r *sql.Rows, t *TaskOutcome) error {
		var stages string
		var ms *int64
		if err := r.Scan(&t.ID, &t.Repo, &t.Mode, &t.Model, &t.Window, &t.Reserved, &stages, &t.Plan, moment{&t.At},
			&t.Success, &t.Tokens, &ms, &t.Diff, &t.FinalPlan, &t.Attempts, &t.Judged, &t.Calls); err != nil {
			return err
		}
		if stages != "" {
			t.Stages = strings.Split(stages, ",")
		}
		if ms != nil {
			t.Latency = new(time.Duration(*ms) * time.Millisecond)
		}
		return nil
	}, `SELECT t.task_id, t.repo_path, t.mode, t.execute_model, t.context_window, t.reserved_tokens, t.stages, COALESCE(t.plan_artifact, ''), t.timestamp,
			t.success, t.total_tokens, t.total_latency_ms, COALESCE(t.final_diff, ''), COALESCE(t.final_plan, ''),
			(SELECT COUNT(*) FROM run_attempts a WHERE a.task_run_id = t.id),
			(SELECT COUNT(*) FROM run_attempts a JOIN validation_results v ON v.attempt_id = a.id WHERE a.task_run_id = t.id),
			(SELECT COUNT(*) FROM retrieval_llm_calls c WHERE c.task_id = t.task_id)
		FROM task_runs t WHERE `+where+` ORDER BY t.id`, args...)
}

// Attempts returns the attempts at a task in order, with the verdicts of the gates. It does not set Final.
func (l *Log) Attempts(ctx context.Context, task string) ([]Attempt, error) {
	return rowsBy(ctx, l.db, "attempts", func(r *sql.Rows, a *Attempt) error {
		var failing string
		if err := r.Scan(&a.TaskID, &a.Repo, &a.Mode, &a.Model, &a.Number, &a.PromptTokens, &a.CompletionTokens,
			millis{&a.Latency}, &a.Response, &a.Applied, moment{&a.At},
			&a.Unjudged, &a.Success, &a.TestOutput, &a.LintOutput, &a.TypeOutput, &failing); err != nil {
			return err
		}
		return failed(json.Unmarshal([]byte(failing), &a.FailingTests), "failing tests of attempt %d", a.Number)
	}, `SELECT t.task_id, t.repo_path, t.mode, COALESCE(a.model, t.execute_model), a.attempt, a.prompt_tokens, a.completion_tokens, a.latency_ms, a.raw_response, a.patch_applied, a.timestamp,
			v.id IS NULL, COALESCE(v.success, 0), COALESCE(v.test_output, ''), COALESCE(v.lint_output, ''), COALESCE(v.type_check_output, ''), COALESCE(v.failing_tests, '[]')
		FROM task_runs t JOIN run_attempts a ON a.task_run_id = t.id LEFT JOIN validation_results v ON v.attempt_id = a.id WHERE t.task_id = ? ORDER BY a.id`, task)
}

// JudgedCall is a call with the outcome of its task.
type JudgedCall struct {
	Call
	Success *bool // nil: the task did not end
}

// Calls yields calls in chronological order. It keeps few of them in memory, because prompts are long.
func (l *Log) Calls(ctx context.Context) iter.Seq2[JudgedCall, error] {
	const page = 50
	return paged(page, func(last *JudgedCall) ([]JudgedCall, error) {
		var after int64
		if last != nil {
			after = last.ID
		}
		return rowsBy(ctx, l.db, "calls", scanCall, `SELECT c.id, c.task_id, c.call_type, COALESCE(c.stage_name, ''), COALESCE(c.attempt, 0), COALESCE(c.role, ''), c.model, COALESCE(c.system, ''), c.prompt, c.response,
				COALESCE(c.error, ''), c.prompt_tokens, c.completion_tokens, c.latency_ms, c.timestamp, t.success
			FROM retrieval_llm_calls c LEFT JOIN task_runs t ON t.task_id = c.task_id
			WHERE c.id > ? ORDER BY c.id LIMIT ?`, after, page)
	})
}

func scanCall(r *sql.Rows, c *JudgedCall) error {
	err := r.Scan(fields(nil, reflect.ValueOf(c).Elem())...)
	if err != nil {
		err = fmt.Errorf("%w: call %d: %w", ErrRow, c.ID, err) // the id is the first column
	}
	return err
}

// Decisions returns the decisions of stages about a task in order, including those replaced later.
func (l *Log) Decisions(ctx context.Context, task string) ([]FileDecision, error) {
	return rows[FileDecision](ctx, l.db, "decisions", `SELECT d.task_id, d.stage, d.file_id, d.path, COALESCE(d.symbol, ''), COALESCE(d.tier, ''), d.included, COALESCE(d.reason, ''), d.timestamp
		FROM retrieval_decisions d WHERE d.task_id = ? ORDER BY d.id`, task)
}

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
	Uncounted        int // calls with unknown tokens; they are in neither sum
	Latency          time.Duration
	Slowest          time.Duration
	Tasks            Verdicts // that asked it
}

// Stages returns the figures of all kinds of calls, by type, stage, role and model.
func (l *Log) Stages(ctx context.Context, f TaskFilter) ([]StageFigures, error) {
	where, args := f.where()
	return rows[StageFigures](ctx, l.db, "the figures of stages", `SELECT c.call_type, COALESCE(c.stage_name, ''), COALESCE(c.role, ''), c.model, COUNT(*), COUNT(c.error),
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
	return rows[FileOutcome](ctx, l.db, "the outcomes of files", `SELECT d.stage, d.path,
			SUM(d.included AND t.success IS 1), SUM(d.included AND t.success IS 0), SUM(d.included AND t.success IS NULL),
			SUM(NOT d.included AND t.success IS 1), SUM(NOT d.included AND t.success IS 0), SUM(NOT d.included AND t.success IS NULL)
		FROM retrieval_decisions d LEFT JOIN task_runs t ON t.task_id = d.task_id
		WHERE d.id IN (SELECT MAX(id) FROM retrieval_decisions WHERE symbol IS NULL GROUP BY task_id, stage, path) AND `+where+` AND ? IN ('', d.stage)
		GROUP BY 1, 2 ORDER BY 1, 2`, append(args, stage)...)
}
