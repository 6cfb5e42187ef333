package store

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// table returns the rows of a query, NULL as nil.
func table(t *testing.T, j *Journal, query string) [][]any {
	t.Helper()
	rows, err := j.db.QueryContext(t.Context(), query)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	names, err := rows.Columns()
	if err != nil {
		t.Fatal(err)
	}
	var out [][]any
	for rows.Next() {
		row, at := make([]any, len(names)), make([]any, len(names))
		for i := range row {
			at[i] = &row[i]
		}
		if err := rows.Scan(at...); err != nil {
			t.Fatal(err)
		}
		out = append(out, row)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return out
}

// The tables have the columns that later training data needs (DB-03).
func TestRawSchema(t *testing.T) {
	j := fresh(t)
	for name, want := range map[string][]string{
		"task_runs": {"id", "task_id!", "repo_path!", "mode!", "execute_model!", "context_window!", "reserved_tokens!",
			"stages!",
			"plan_artifact", "success", "total_tokens", "total_latency_ms", "final_diff", "final_plan", "timestamp!"},
		"run_attempts": {"id", "task_run_id!", "attempt!", "prompt_tokens", "completion_tokens", "latency_ms!",
			"raw_response!",
			"patch_applied!", "timestamp!", "model", "candidate!"},
		"validation_results": {"id", "attempt_id!", "success!", "test_output", "lint_output", "type_check_output",
			"failing_tests"},
		"retrieval_llm_calls": {"id", "task_id!", "call_type!", "stage_name", "model!", "prompt!", "response!",
			"prompt_tokens", "completion_tokens", "latency_ms!", "timestamp!",
			"role", "system", "attempt", "error"},
		"retrieval_decisions": {"id", "task_id!", "stage!", "file_id!", "tier", "included!", "reason", "timestamp!", "path!",
			"symbol"},
		"enrichment_outputs": {"id", "file_id!", "model!", "purpose", "module", "domain", "concepts", "public_api_surface",
			"complexity_notes", "raw_prompt!", "raw_response!", "promoted!", "timestamp!",
			"repo_path!", "path!", "content_hash!", "prompt_tokens", "completion_tokens", "latency_ms!"},
		"session_archives": {"id", "task_id!", "session_blob!", "archived_at!"},
	} {
		var got []string
		for _, row := range table(t, j, "SELECT name, \"notnull\" FROM pragma_table_info('"+name+"') ORDER BY cid") {
			column := row[0].(string)
			if row[1].(int64) == 1 {
				column += "!"
			}
			got = append(got, column)
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Error(name, d)
		}
	}
}

// A task is one row, each of its attempts is one more row, and each attempt has a verdict.
func TestAttempts(t *testing.T) {
	j := fresh(t)
	in, out := int64(1200), int64(34)
	for _, a := range []Attempt{
		{
			TaskID: "r/1", Repo: "/repo", Mode: "batch", Model: "claude", Number: 1, PromptTokens: &in, CompletionTokens: &out,
			Latency:  1500 * time.Millisecond,
			Response: "done", Applied: true, TestOutput: "FAIL", LintOutput: "x.go:1: bad",
			FailingTests: []string{"TestA: \"got\" 1", "TestB"}, At: at(1),
		},
		{TaskID: "r/2", Repo: "/repo", Mode: "batch", Model: "script", Number: 1, Latency: time.Second, At: at(2)},
		{TaskID: "r/1", Repo: "/elsewhere", Mode: "other", Model: "codex", Number: 2, Latency: 500 * time.Millisecond,
			Applied: true, Success: true, Final: true, At: at(3)},
	} {
		if err := j.AddAttempt(t.Context(), a); err != nil {
			t.Fatal(err)
		}
	}
	for query, want := range map[string][][]any{
		"SELECT task_id, repo_path, mode, execute_model, success, total_tokens, total_latency_ms, timestamp FROM task_runs ORDER BY id": {
			{"r/1", "/repo", "batch", "claude", int64(1), int64(1234), int64(2000), "2026-05-04T09:00:01.000000000Z"},
			{"r/2", "/repo", "batch", "script", nil, nil, nil, "2026-05-04T09:00:02.000000000Z"},
		},
		`SELECT task_id, attempt, prompt_tokens, completion_tokens, latency_ms, raw_response, patch_applied, run_attempts.timestamp
			FROM run_attempts JOIN task_runs ON task_runs.id = task_run_id ORDER BY run_attempts.id`: {
			{"r/1", int64(1), int64(1200), int64(34), int64(1500), "done", int64(1), "2026-05-04T09:00:01.000000000Z"},
			{"r/2", int64(1), nil, nil, int64(1000), "", int64(0), "2026-05-04T09:00:02.000000000Z"},
			{"r/1", int64(2), nil, nil, int64(500), "", int64(1), "2026-05-04T09:00:03.000000000Z"},
		},
		"SELECT attempt_id, success, test_output, lint_output, type_check_output, failing_tests FROM validation_results ORDER BY id": {
			{int64(1), int64(0), "FAIL", "x.go:1: bad", nil, `["TestA: \"got\" 1","TestB"]`},
			{int64(2), int64(0), "", "", nil, "[]"},
			{int64(3), int64(1), "", "", nil, "[]"},
		},
	} {
		if d := cmp.Diff(want, table(t, j, query)); d != "" {
			t.Error(query, d)
		}
	}
}

// A task whose final attempt failed is recorded as failed.
func TestFailedFinalAttemptFailsTask(t *testing.T) {
	j := fresh(t)
	if err := j.AddAttempt(t.Context(), Attempt{TaskID: "r/1", Final: true, Latency: time.Second, At: at(1)}); err != nil {
		t.Fatal(err)
	}
	want := [][]any{{int64(0), nil, int64(1000)}}
	if d := cmp.Diff(want, table(t, j, "SELECT success, total_tokens, total_latency_ms FROM task_runs")); d != "" {
		t.Error(d)
	}
}

// Calls of a run are not summed, because the events of the run have its cost; only other calls are. Unknown tokens
// are not 0.
func TestTotalsExcludeRunCalls(t *testing.T) {
	j := fresh(t)
	if err := j.AddRun(t.Context(),
		Run{ID: "run1", Slug: "p", Plan: "p.md", PlanText: []byte("p"), Started: at(1)}); err != nil {
		t.Fatal(err)
	}
	untold, bad := call("b", "review", "", 3, 0, 0), call("b", "review", "", 3, 7, 3)
	untold.PromptTokens, untold.CompletionTokens, bad.Error = nil, nil, "no JSON"
	for _, c := range []Call{
		call("run1", "critique", "", 1, 100, 10), call("run1/1", "execute_code", "", 1, 100, 10),
		call("run1/1", "review", "", 1, 100, 10),
		call("run12", "review", "", 2, 5, 1), untold, bad, call("x", "self_fix_triage", "", 1, 40, 4),
	} {
		if err := j.AddCall(t.Context(), c); err != nil {
			t.Fatal(err)
		}
	}
	got, err := j.CallsOutsideRuns(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	model := call("x", "y", "", 1, 1, 1).Model
	want := []CallSum{
		{Type: "review", Model: model, Calls: 3, Failed: 1, PromptTokens: 12, CompletionTokens: 4, Uncounted: 1},
		{Type: "self_fix_triage", Model: model, Calls: 1, PromptTokens: 40, CompletionTokens: 4},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}
