package store

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func count(n int) *int { return &n }

// call returns a call with known token counts.
func call(task, kind, stage string, seconds, in, out int) Call {
	return Call{Task: task, Type: kind, Stage: stage, Role: "reasoning", Model: "qwen3", Prompt: "p", Response: "{}",
		PromptTokens: count(in), CompletionTokens: count(out), Latency: 250 * time.Millisecond, At: at(seconds)}
}

const taskColumns = `SELECT task_id, mode, execute_model, context_window, reserved_tokens, stages, plan_artifact, success, total_tokens, total_latency_ms, final_diff, final_plan FROM task_runs ORDER BY id`

// A task that calls models itself has one row from its start to its end; its totals are the sums of its calls.
func TestTask(t *testing.T) {
	j := fresh(t)
	task := Task{ID: "u", Repo: "/repo", Mode: ModePlan, Model: "qwen3", Window: 32768, Reserved: 4096,
		Stages: []string{"scope", "precision"}, Plan: "docs/plan.md", At: at(1)}
	again := task
	again.Model, again.Window, again.Stages = "other", 1, nil
	for _, s := range []Task{task, again} {
		if err := j.StartTask(t.Context(), s); err != nil {
			t.Fatal(err)
		}
	}
	want := [][]any{{"u", "plan", "qwen3", int64(32768), int64(4096), "scope,precision", "docs/plan.md", nil, nil, nil,
		nil, nil}}
	if d := cmp.Diff(want, table(t, j, taskColumns)); d != "" {
		t.Error("started:", d)
	}
	untold := call("u", "execute_plan", "", 3, 0, 0)
	untold.PromptTokens, untold.CompletionTokens = nil, nil
	for _, c := range []Call{call("u", "task_analysis", "", 1, 100, 10), call("u", "scope_judgment", "scope", 2, 200, 20),
		untold, call("other", "task_analysis", "", 1, 1000, 1000)} {
		if err := j.AddCall(t.Context(), c); err != nil {
			t.Fatal(err)
		}
	}
	if err := j.FinishTask(t.Context(), "u", TaskEnd{Success: true, Plan: "# Plan\n"}); err != nil {
		t.Fatal(err)
	}
	want[0] = append(want[0][:7], int64(1), int64(330), int64(750), nil, "# Plan\n")
	if d := cmp.Diff(want, table(t, j, taskColumns)); d != "" {
		t.Error("finished:", d)
	}
	if err := j.FinishTask(t.Context(), "unknown", TaskEnd{}); err == nil || !strings.Contains(err.Error(), "unknown") {
		t.Error("a task that was never started ended:", err)
	}
}

// An attempt does not change the description of a task that was started before. The totals of the task count its
// usage once, although both its calls and its attempts report it.
func TestAttemptKeepsTaskDescription(t *testing.T) {
	j := fresh(t)
	if err := j.StartTask(t.Context(),
		Task{ID: "r/1", Repo: "/repo", Mode: ModeImplement, Model: "coder", Window: 8192, Reserved: 1024,
			Stages: []string{"scope"}, At: at(1)}); err != nil {
		t.Fatal(err)
	}
	for n := range 2 {
		c := call("r/1", "execute_code", "execute_code", 2, 300, 30)
		c.Attempt = n + 1
		in, out := int64(300), int64(30)
		a := Attempt{TaskID: "r/1", Repo: "/repo", Mode: ModeBatch, Model: "solver", Number: n + 1, PromptTokens: &in,
			CompletionTokens: &out, Latency: time.Minute,
			Unjudged: n == 0, Success: n == 1, Final: n == 1, Diff: "--- a\n", TypeOutput: "x.py:1", At: at(3)}
		if err := j.AddCall(t.Context(), c); err != nil {
			t.Fatal(err)
		}
		if err := j.AddAttempt(t.Context(), a); err != nil {
			t.Fatal(err)
		}
	}
	want := [][]any{{"r/1", "implement", "coder", int64(8192), int64(1024), "scope", nil, int64(1), int64(660), int64(500),
		"--- a\n", nil}}
	if d := cmp.Diff(want, table(t, j, taskColumns)); d != "" {
		t.Error(d)
	}
	// No gate checked the first attempt, so it has no verdict.
	if d := cmp.Diff([][]any{{int64(2), int64(1), "x.py:1"}},
		table(t, j, "SELECT attempt_id, success, type_check_output FROM validation_results")); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([][]any{{"solver"}, {"solver"}}, table(t, j, "SELECT model FROM run_attempts ORDER BY id")); d != "" {
		t.Error(d)
	}
}

// The totals of a batch include the usage of its agent, but not that of its reviewers.
func TestBatchTotalsExcludeReviewers(t *testing.T) {
	j := fresh(t)
	in, out := int64(5), int64(6)
	if err := j.AddCall(t.Context(), call("r/1", "review", "", 1, 1000, 1000)); err != nil {
		t.Fatal(err)
	}
	if err := j.AddAttempt(t.Context(),
		Attempt{TaskID: "r/1", Mode: ModeBatch, PromptTokens: &in, CompletionTokens: &out, Latency: time.Second, Final: true,
			At: at(1)}); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([][]any{{int64(11), int64(1000)}},
		table(t, j, "SELECT total_tokens, total_latency_ms FROM task_runs")); d != "" {
		t.Error(d)
	}
}

// A row without its task, or without a required name, is refused.
func TestRowsRequireTask(t *testing.T) {
	j := fresh(t)
	for what, err := range map[string]error{
		"a task":               j.StartTask(t.Context(), Task{At: at(1)}),
		"a stage with a comma": j.StartTask(t.Context(), Task{ID: "t", Stages: []string{"a,b"}, At: at(1)}),
		"an attempt":           j.AddAttempt(t.Context(), Attempt{At: at(1)}),
		"a call":               j.AddCall(t.Context(), Call{Type: "x", At: at(1)}),
		"a call of no type":    j.AddCall(t.Context(), Call{Task: "t", At: at(1)}),
		"a decision": j.AddDecisions(t.Context(),
			[]FileDecision{{Task: "t", Stage: "scope", Path: "a", At: at(1)}, {Stage: "scope", Path: "b", At: at(1)}}),
		"a decision on no file":  j.AddDecisions(t.Context(), []FileDecision{{Task: "t", Stage: "scope", At: at(1)}}),
		"a promotion of nothing": j.MarkPromoted(t.Context(), at(1), 4711),
	} {
		if err == nil {
			t.Error(what, "was written")
		}
	}
	for _, name := range []string{"task_runs", "run_attempts", "retrieval_llm_calls", "retrieval_decisions",
		"enrichment_promotions"} {
		if got := table(t, j, "SELECT COUNT(*) FROM "+name); got[0][0] != int64(0) {
			t.Errorf("%v rows in %s", got[0][0], name)
		}
	}
	if err := j.AddDecisions(t.Context(), nil); err != nil {
		t.Error("no decision:", err)
	}
}

// Rows are added and never changed (DB-03), except that a task gets its end and an enrichment its promotion.
func TestRawIsAppendOnly(t *testing.T) {
	j := fresh(t)
	ctx := t.Context()
	if err := j.AddAttempt(ctx, Attempt{TaskID: "t", Success: true, Final: true, At: at(1)}); err != nil {
		t.Fatal(err)
	}
	if err := j.AddCall(ctx, call("t", "x", "", 1, 1, 1)); err != nil {
		t.Fatal(err)
	}
	if err := j.AddDecisions(ctx, []FileDecision{{Task: "t", Stage: "scope", Path: "a", At: at(1)}}); err != nil {
		t.Fatal(err)
	}
	one, err := j.AddEnrichment(ctx, Enrichment{Repo: "/r", Path: "a", At: at(1)})
	if err != nil {
		t.Fatal(err)
	}
	if err := j.MarkPromoted(ctx, at(2), one); err != nil {
		t.Fatal(err)
	}
	if _, err := j.AddEnrichment(ctx, Enrichment{Repo: "/r", Path: "b", At: at(1)}); err != nil {
		t.Fatal(err)
	}
	if err := j.keepSession(ctx, "t", []byte("x"), at(1)); err != nil {
		t.Fatal(err)
	}
	if err := j.AddIndexRun(ctx, IndexRun{Repo: "/r", Status: "ok", At: at(1)}); err != nil {
		t.Fatal(err)
	}
	for name, columns := range map[string]string{
		"task_runs":    "task_id repo_path mode execute_model context_window reserved_tokens stages plan_artifact timestamp",
		"run_attempts": "*", "validation_results": "*",
		"retrieval_llm_calls": "*", "retrieval_decisions": "*", "session_archives": "*", "index_runs": "*",
		"enrichment_promotions": "*",
		"enrichment_outputs":    "*", // promoted too: it follows its row
	} {
		if columns == "*" {
			columns = ""
			for _, row := range table(t, j, "SELECT name FROM pragma_table_info('"+name+"')") {
				columns += " " + row[0].(string)
			}
		}
		for _, column := range strings.Fields(columns) {
			if _, err := j.db.ExecContext(ctx, "UPDATE "+name+" SET "+column+" = 99"); err == nil {
				t.Errorf("%s.%s was changed", name, column)
			}
		}
		if _, err := j.db.ExecContext(ctx, "DELETE FROM "+name); err == nil {
			t.Errorf("rows of %s were deleted", name)
		}
	}
	for _, statement := range []string{
		"UPDATE task_runs SET success = NULL", "UPDATE enrichment_outputs SET promoted = 0 WHERE path = 'a'",
		"UPDATE enrichment_outputs SET promoted = 1 WHERE path = 'b'",
		"INSERT INTO enrichment_outputs SELECT 77, file_id, model, purpose, module, domain, concepts, public_api_surface, " +
			"complexity_notes, raw_prompt, raw_response, 1, timestamp, repo_path, path, content_hash, NULL, NULL, 0 FROM " +
			"enrichment_outputs LIMIT 1",
	} {
		if _, err := j.db.ExecContext(ctx, statement); err == nil {
			t.Errorf("%s: it was done", statement)
		}
	}
}

// Foreign keys require that an attempt refers to an existing task, and a verdict to an existing attempt.
func TestRawEnforcesForeignKeys(t *testing.T) {
	j := fresh(t)
	for _, statement := range []string{
		"INSERT INTO run_attempts (task_run_id, attempt, latency_ms, raw_response, patch_applied, timestamp) VALUES (7, 1, " +
			"0, '', 0, '')",
		"INSERT INTO validation_results (attempt_id, success) VALUES (7, 1)",
		"INSERT INTO enrichment_promotions (enrichment_id, timestamp) VALUES (7, '')",
	} {
		if _, err := j.db.ExecContext(t.Context(), statement); err == nil || !strings.Contains(err.Error(), "FOREIGN KEY") {
			t.Errorf("%s: %v", statement, err)
		}
	}
}
