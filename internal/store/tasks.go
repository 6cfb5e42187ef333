package store

import (
	"context"
	"database/sql"
	"encoding/json"
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
			"VALUES (?, ?, ?, ?, ?, ?)", id, a.Success, a.TestOutput, a.LintOutput, null(a.TypeOutput), string(failing))
	return err
}

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
	Uncounted        int // calls with unknown tokens; they are in neither sum
}

// CallsOutsideRuns sums up the calls that belong to no run. The events of runs report their own calls, so each counts
// once.
func (j *Journal) CallsOutsideRuns(ctx context.Context) ([]CallSum, error) {
	return rows[CallSum](ctx, j.db, "the calls of models", `SELECT c.call_type, c.model, COUNT(*), COUNT(c.error),
			COALESCE(SUM(CASE WHEN c.completion_tokens IS NOT NULL THEN c.prompt_tokens END), 0),
			COALESCE(SUM(CASE WHEN c.prompt_tokens IS NOT NULL THEN c.completion_tokens END), 0),
			SUM(c.prompt_tokens IS NULL OR c.completion_tokens IS NULL)
		FROM retrieval_llm_calls c WHERE NOT EXISTS (SELECT 1 FROM runs r WHERE c.task_id = r.run OR substr(c.task_id, 1, length(r.run) + 1) = r.run || '/')
		GROUP BY 1, 2 ORDER BY 1, 2`)
}

// FileDecision records whether a stage of retrieval selected a file or one of its symbols, and why (RETR-12). A
// repeated retrieval adds rows. For the same item in the same stage of a task, the last row counts.
type FileDecision struct {
	Task     string
	Stage    string
	File     int64  // its id in curated.sqlite at that time, 0 if it is not there; only the path is permanent
	Path     string // from the root of the repository, with slashes
	Symbol   string // "" for the whole file
	Tier     string // of scope 0 to 4; of precision primary, supporting, type_context or excluded; "" for none
	Included bool
	Reason   string
	At       time.Time
}

// AddDecisions records the decisions of a stage, all or nothing.
func (j *Journal) AddDecisions(ctx context.Context, all []FileDecision) error {
	if len(all) == 0 {
		return nil
	}
	return j.tx(ctx, "decisions of "+all[0].Task, func(ctx context.Context, tx *sql.Tx) error {
		for _, d := range all {
			if d.Task == "" || d.Stage == "" || d.Path == "" {
				return errors.New("a decision needs its task, its stage and the path of its file")
			}
			if _, err := tx.ExecContext(ctx,
				"INSERT INTO retrieval_decisions (task_id, stage, file_id, tier, included, reason, timestamp, path, symbol) "+
					"VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
				d.Task, d.Stage, d.File, null(d.Tier), d.Included, null(d.Reason), stamp(d.At), d.Path,
				null(d.Symbol)); err != nil {
				return err
			}
		}
		return nil
	})
}

// IndexRun is the journal's record of one indexing.
type IndexRun struct {
	Repo     string        `json:"repo_path"`
	Scanned  int           `json:"files_scanned"`
	Changed  int           `json:"files_changed"`
	Duration time.Duration `json:"-"`
	Status   string        `json:"status"`
	At       time.Time     `json:"timestamp"`
}

// AddIndexRun records the end and the result of an indexing.
func (j *Journal) AddIndexRun(ctx context.Context, r IndexRun) error {
	_, err := j.add(ctx, "index of "+r.Repo, nil,
		"INSERT INTO index_runs (repo_path, files_scanned, files_changed, duration_ms, status, timestamp) VALUES (?, ?, "+
			"?, ?, ?, ?)", r.Repo, r.Scanned, r.Changed, r.Duration.Milliseconds(), r.Status, stamp(r.At))
	return err
}
