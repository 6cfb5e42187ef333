package store

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// told returns a log of three tasks: one succeeded, one failed, and one did not end. All of them included a.go.
func told(t *testing.T) (*Log, *Journal) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "raw.sqlite")
	j := opened(t, path)
	ctx := t.Context()
	check := func(errs ...error) {
		t.Helper()
		if err := errors.Join(errs...); err != nil {
			t.Fatal(err)
		}
	}
	for i, task := range []Task{
		{ID: "r/1", Repo: "/repo", Mode: ModeImplement, Model: "coder", Window: 8192, Reserved: 1024,
			Stages: []string{"scope", "precision"}, Plan: "p.md", At: at(1)},
		{ID: "r/2", Repo: "/repo", Mode: ModeImplement, Model: "coder", At: at(10)},
		{ID: "u", Repo: "/other", Mode: ModeRetrieve, Model: "qwen3", At: at(20)},
	} {
		check(j.StartTask(ctx, task), j.AddDecisions(ctx, []FileDecision{
			{Task: task.ID, Stage: "scope", File: 1, Path: "a.go", Tier: "1", Included: true, Reason: "named", At: at(i)},
			{Task: task.ID, Stage: "scope", File: 2, Path: "b.go", Tier: "2", Included: i == 0, At: at(i)},
			{Task: task.ID, Stage: "precision", File: 1, Path: "a.go", Symbol: "F", Tier: "primary", Included: true, At: at(i)},
		}), j.AddCall(ctx, call(task.ID, "scope_judgment", "scope", i, 100, 10)))
	}
	// Retrieval ran again and now includes b.go.
	check(j.AddDecisions(ctx,
		[]FileDecision{{Task: "r/2", Stage: "scope", File: 2, Path: "b.go", Tier: "2", Included: true, Reason: "missing",
			At: at(12)}}))
	bad := Call{Task: "r/2", Type: "execute_code", Stage: "execute_code", Attempt: 1, Role: "coding", Model: "coder",
		System: "be exact", Prompt: "p", Response: "no", Error: "no edit in it", Latency: 2 * time.Second, At: at(13)}
	check(j.AddCall(ctx, bad), j.AddCall(ctx, call("nobody", "review", "", 14, 1, 1)))
	in := int64(7)
	check(j.AddAttempt(ctx, Attempt{TaskID: "r/1", Model: "coder", Number: 1, PromptTokens: &in, CompletionTokens: &in,
		Latency: time.Second, Response: "done", Applied: true, Success: true, Final: true, Diff: "+x", TestOutput: "ok",
		LintOutput: "l", TypeOutput: "t", At: at(5)}),
		j.AddAttempt(ctx, Attempt{TaskID: "r/2", Model: "coder", Number: 1, Unjudged: true, At: at(15)}),
		j.AddAttempt(ctx, Attempt{TaskID: "r/2", Model: "larger", Number: 2, Final: true, FailingTests: []string{"TestA"},
			At: at(16)}))
	l, err := OpenLog(ctx, path)
	check(err)
	t.Cleanup(func() { l.Close() })
	return l, j
}

// Tasks are found by their fields, each with its outcome.
func TestLogFindsTasks(t *testing.T) {
	l, _ := told(t)
	yes, no, tokens, ms := true, false, int64(110), 250*time.Millisecond
	more := 2250 * time.Millisecond
	one := TaskOutcome{Task: Task{ID: "r/1", Repo: "/repo", Mode: ModeImplement, Model: "coder", Window: 8192,
		Reserved: 1024, Stages: []string{"scope", "precision"}, Plan: "p.md", At: at(1)},
		Success: &yes, Tokens: &tokens, Latency: &ms, Diff: "+x", Attempts: 1, Judged: 1, Calls: 1}
	two := TaskOutcome{Task: Task{ID: "r/2", Repo: "/repo", Mode: ModeImplement, Model: "coder", At: at(10)}, Success: &no,
		Tokens: &tokens, Latency: &more, Attempts: 2, Judged: 1, Calls: 2}
	three := TaskOutcome{Task: Task{ID: "u", Repo: "/other", Mode: ModeRetrieve, Model: "qwen3", At: at(20)}, Calls: 1}
	for _, tt := range []struct {
		f    TaskFilter
		want []TaskOutcome
	}{
		{TaskFilter{}, []TaskOutcome{one, two, three}},
		{TaskFilter{Task: "r/2"}, []TaskOutcome{two}},
		{TaskFilter{Task: "r"}, []TaskOutcome{}},
		{TaskFilter{Since: at(2)}, []TaskOutcome{two, three}},
		{TaskFilter{Task: "r/1", Since: at(2)}, []TaskOutcome{}},
	} {
		got, err := l.Tasks(t.Context(), tt.f)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(tt.want, got); d != "" {
			t.Errorf("%+v: %s", tt.f, d)
		}
	}
}

// Attempts are read back as they were written, and an attempt without a verdict is distinguished from a failed one.
func TestLogAttemptsRoundTrip(t *testing.T) {
	l, _ := told(t)
	in := int64(7)
	for task, want := range map[string][]Attempt{
		"r/1": {{TaskID: "r/1", Repo: "/repo", Mode: ModeImplement, Model: "coder", Number: 1, PromptTokens: &in,
			CompletionTokens: &in, Latency: time.Second, Response: "done", Applied: true, Success: true,
			TestOutput: "ok", LintOutput: "l", TypeOutput: "t", FailingTests: []string{}, At: at(5)}},
		"r/2": {
			{TaskID: "r/2", Repo: "/repo", Mode: ModeImplement, Model: "coder", Number: 1, Unjudged: true,
				FailingTests: []string{}, At: at(15)},
			{TaskID: "r/2", Repo: "/repo", Mode: ModeImplement, Model: "larger", Number: 2, FailingTests: []string{"TestA"},
				At: at(16)},
		},
		"u": {},
	} {
		got, err := l.Attempts(t.Context(), task)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Error(task, d)
		}
	}
}

// Calls are found by their purpose, complete and with the outcome of their task.
func TestLogFindsCalls(t *testing.T) {
	l, j := told(t)
	var out []string
	for c, err := range l.Calls(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		came := "open"
		if c.Success != nil {
			came = fmt.Sprint(*c.Success)
		}
		out = append(out, fmt.Sprint(c.ID, " ", c.Task, " ", came))
		if c.ID == 4 {
			want := Call{ID: 4, Task: "r/2", Type: "execute_code", Stage: "execute_code", Attempt: 1, Role: "coding",
				Model: "coder", System: "be exact", Prompt: "p", Response: "no", Error: "no edit in it", Latency: 2 * time.Second,
				At: at(13)}
			if d := cmp.Diff(want, c.Call); d != "" {
				t.Error(d)
			}
		}
	}
	const want = "1 r/1 true, 2 r/2 false, 3 u open, 4 r/2 false, 5 nobody open"
	if got := strings.Join(out, ", "); got != want {
		t.Errorf("%s; want %s", got, want)
	}
	for range 120 { // more than are held at a time
		if err := j.AddCall(t.Context(), call("u", "many", "", 30, 1, 1)); err != nil {
			t.Fatal(err)
		}
	}
	n, last := 0, int64(0)
	for c, err := range l.Calls(t.Context()) {
		if err != nil || c.ID <= last {
			t.Fatal(c.ID, last, err)
		}
		n, last = n+1, c.ID
	}
	if n != 125 {
		t.Errorf("%d calls, want 125", n)
	}
	for range l.Calls(t.Context()) {
		break // a reader may stop anywhere
	}
}

// The log keeps both the first and the later decision about a file.
func TestLogKeepsBothDecisions(t *testing.T) {
	l, _ := told(t)
	all, err := l.Decisions(t.Context(), "r/2")
	if err != nil || len(all) != 4 || all[2].Stage != "precision" || all[2].Symbol != "F" {
		t.Fatalf("%+v, %v", all, err)
	}
	want := []FileDecision{
		{Task: "r/2", Stage: "scope", File: 2, Path: "b.go", Tier: "2", At: at(1)},
		{Task: "r/2", Stage: "scope", File: 2, Path: "b.go", Tier: "2", Included: true, Reason: "missing", At: at(12)},
	}
	if d := cmp.Diff(want, []FileDecision{all[1], all[3]}); d != "" {
		t.Error(d)
	}
}

// The figures of stages and the outcomes of files match the rows.
func TestLogFiguresMatchRows(t *testing.T) {
	l, _ := told(t)
	stages, err := l.Stages(t.Context(), TaskFilter{})
	if err != nil {
		t.Fatal(err)
	}
	want := []StageFigures{
		{Type: "execute_code", Stage: "execute_code", Role: "coding", Model: "coder", Calls: 1, Failed: 1, Uncounted: 1,
			Latency: 2 * time.Second, Slowest: 2 * time.Second, Tasks: Verdicts{Lost: 1}},
		{Type: "review", Role: "reasoning", Model: "qwen3", Calls: 1, PromptTokens: 1, CompletionTokens: 1,
			Latency: 250 * time.Millisecond, Slowest: 250 * time.Millisecond, Tasks: Verdicts{Open: 1}},
		{Type: "scope_judgment", Stage: "scope", Role: "reasoning", Model: "qwen3", Calls: 3, PromptTokens: 300,
			CompletionTokens: 30, Latency: 750 * time.Millisecond, Slowest: 250 * time.Millisecond, Tasks: Verdicts{1, 1, 1}},
	}
	if d := cmp.Diff(want, stages); d != "" {
		t.Error(d)
	}
	if stages, err = l.Stages(t.Context(), TaskFilter{Task: "r/2"}); err != nil || len(stages) != 2 ||
		stages[1].Calls != 1 {
		t.Errorf("%+v, %v", stages, err)
	}
	files, err := l.Files(t.Context(), TaskFilter{}, "scope")
	if err != nil {
		t.Fatal(err)
	}
	// For r/2 the last decision counts, which included b.go.
	if d := cmp.Diff([]FileOutcome{{Stage: "scope", Path: "a.go", Taken: Verdicts{1, 1, 1}},
		{Stage: "scope", Path: "b.go", Taken: Verdicts{Won: 1, Lost: 1}, LeftOut: Verdicts{Open: 1}}}, files); d != "" {
		t.Error(d)
	}
	if files, err = l.Files(t.Context(), TaskFilter{Task: "u"}, ""); err != nil || len(files) != 2 {
		t.Errorf("%+v, %v", files, err)
	}
}

// The log is opened read-only, and only if this program knows its format.
func TestLogIsReadOnly(t *testing.T) {
	l, _ := told(t)
	if _, err := l.db.ExecContext(t.Context(), "INSERT INTO index_runs VALUES (1, '', 0, 0, 0, '', '')"); err == nil {
		t.Error("the log was written to")
	}
	path := filepath.Join(t.TempDir(), "raw.sqlite")
	if _, err := OpenLog(t.Context(), path); !errors.Is(err, fs.ErrNotExist) || exists(path) {
		t.Error("missing:", err)
	}
	raw(t, path, "PRAGMA user_version = 1", "CREATE TABLE x (y)")
	if _, err := OpenLog(t.Context(), path); !errors.Is(err, ErrOlder) ||
		!strings.Contains(err.Error(), "run: runplan status") {
		t.Error("older:", err)
	}
	raw(t, path, "PRAGMA user_version = 99")
	if _, err := OpenLog(t.Context(), path); !errors.Is(err, ErrNewer) {
		t.Error("newer:", err)
	}
}

const callsEach = 60

// addCalls adds rows of each kind, like one of several processes.
func addCalls(path string) error {
	ctx := context.Background()
	j, err := OpenJournal(ctx, path)
	if err != nil {
		return err
	}
	defer j.Close()
	for n := range callsEach {
		task := fmt.Sprint(os.Getpid(), "/", n)
		if err := errors.Join(j.StartTask(ctx, Task{ID: task, Mode: ModeImplement, At: at(n)}),
			j.AddCall(ctx, call(task, "x", "", n, 1, 1)),
			j.AddDecisions(ctx, []FileDecision{{Task: task, Stage: "scope", Path: "a", At: at(n)},
				{Task: task, Stage: "scope", Path: "b", At: at(n)}}),
			j.FinishTask(ctx, task, TaskEnd{Success: true})); err != nil {
			return err
		}
	}
	fmt.Println("done")
	return nil
}

// Two processes that write to one journal lose no rows of each other, while a third one reads.
func TestTwoProcessesShareJournal(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "raw.sqlite")
	opened(t, path).Close()
	var cmds []*exec.Cmd
	for range 2 {
		cmd := exec.CommandContext(t.Context(), self)
		cmd.Env = append(os.Environ(), writerEnv+"="+path, writerJob+"=calls")
		cmd.Stderr = os.Stderr
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		cmds = append(cmds, cmd)
	}
	l, err := OpenLog(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	for range 20 {
		if _, err := l.Stages(t.Context(), TaskFilter{}); err != nil {
			t.Error(err)
		}
	}
	for _, cmd := range cmds {
		if err := cmd.Wait(); err != nil {
			t.Error(err)
		}
	}
	tasks, err := l.Tasks(t.Context(), TaskFilter{})
	if err != nil || len(tasks) != 2*callsEach {
		t.Fatalf("%d tasks, %v", len(tasks), err)
	}
	for _, task := range tasks {
		if task.Success == nil || !*task.Success || task.Calls != 1 || *task.Tokens != 2 {
			t.Errorf("%+v", task)
		}
		if all, err := l.Decisions(t.Context(), task.ID); err != nil || len(all) != 2 {
			t.Errorf("%d decisions about %s, %v", len(all), task.ID, err)
		}
	}
}
