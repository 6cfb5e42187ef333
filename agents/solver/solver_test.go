package solver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/runplan/runplan/agents"
	"github.com/runplan/runplan/internal/store"
	"github.com/runplan/runplan/internal/tokens"
	"github.com/runplan/runplan/knowledge/retrieve"
	"github.com/runplan/runplan/llm"
	"github.com/runplan/runplan/planparse"
)

// memory is an in-memory session.
type memory map[string]string

func (m memory) Set(_ context.Context, key string, value any) error {
	text, err := json.Marshal(value)
	m[key] = string(text)
	return err
}

func (m memory) Get(_ context.Context, key string, into any) (bool, error) {
	text, ok := m[key]
	if !ok {
		return false, nil
	}
	return true, json.Unmarshal([]byte(text), into)
}

func (m memory) Close() error { return nil }

// rows is an in-memory journal.
type rows struct {
	tasks []store.Task
	calls []store.Call
	ends  []store.TaskEnd
}

func (r *rows) StartTask(_ context.Context, t store.Task) error {
	r.tasks = append(r.tasks, t)
	return nil
}
func (r *rows) AddCall(ctx context.Context, c store.Call) error {
	if err := ctx.Err(); err != nil {
		return err // as a journal would
	}
	r.calls = append(r.calls, c)
	return nil
}
func (r *rows) FinishTask(_ context.Context, _ string, e store.TaskEnd) error {
	r.ends = append(r.ends, e)
	return nil
}

// bench is a solver in its own workspace with a model that gives the answers of the test.
type bench struct {
	*Agent
	t        *testing.T
	cfg      Config
	dir      string
	session  memory
	rows     *rows
	answers  []any // string or error
	asked    []llm.Request
	lines    []string
	pack     retrieve.Package
	refined  retrieve.Package
	requests []retrieve.Request
	archived []string
}

func newBench(t *testing.T, answers ...any) *bench {
	b := &bench{t: t, dir: t.TempDir(), session: memory{}, rows: &rows{}, answers: answers}
	b.write("a.go", "package a\n\nfunc A() int {\n\treturn 1\n}\n")
	b.pack = retrieve.Package{Parts: []retrieve.Part{{Path: "a.go", Start: 3, End: 5, Detail: retrieve.Primary,
		Whole: true, Text: "func A() int {\n\treturn 1\n}\n", Tokens: 8}}, Tokens: 8, Budget: 900}
	set, err := LoadPrompts()
	if err != nil {
		t.Fatal(err)
	}
	b.cfg = Config{
		LLM: llm.CompleterFunc(b.complete),
		Model: func(name string) (llm.Model, error) {
			if name != "" {
				return llm.Model{}, &llm.UnknownModelError{Name: name}
			}
			return llm.Model{Role: llm.Coding, Name: "tiny", Provider: "ollama", BaseURL: "http://127.0.0.1:11434", Window: 2000,
				MaxTokens: 100}, nil
		},
		Budget: tokens.Budget{Window: 1, Reserved: 1000}, Stages: []string{"scope", "precision"}, Loops: 1, Prompts: set,
		Retrieve: func(_ context.Context, _ llm.Completer, _ Session, r retrieve.Request) (retrieve.Package, error) {
			b.requests = append(b.requests, r)
			return b.pack, nil
		},
		Refine: func(_ context.Context, _ llm.Completer, _ Session, r retrieve.Request) (retrieve.Package, error) {
			b.requests = append(b.requests, r)
			return b.refined, nil
		},
		Sessions: func(context.Context, string) (Session, error) { return b.session, nil },
		Log:      b.rows, Repo: "/repo", Plan: "plan.md",
		Archive: func(_ context.Context, task string) error { b.archived = append(b.archived, task); return nil },
	}
	b.Agent = New(b.cfg)
	return b
}

func (b *bench) complete(_ context.Context, r llm.Request) (llm.Response, error) {
	b.asked = append(b.asked, r)
	if len(b.answers) == 0 {
		b.t.Fatalf("question %d was not expected:\n%s", len(b.asked), r.Prompt)
	}
	a := b.answers[0]
	b.answers = b.answers[1:]
	if err, ok := a.(error); ok {
		return llm.Response{}, err
	}
	in, out := 100, 10
	return llm.Response{Text: a.(string), Model: "tiny", PromptTokens: &in, CompletionTokens: &out,
		Latency: 30 * time.Millisecond}, nil
}

func (b *bench) write(path, text string) {
	b.t.Helper()
	if err := os.WriteFile(filepath.Join(b.dir, path), []byte(text), 0o644); err != nil {
		b.t.Fatal(err)
	}
}

// tree returns the content of all files of the workspace by path.
func (b *bench) tree() map[string]string {
	out := map[string]string{}
	err := filepath.WalkDir(b.dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		rel, _ := filepath.Rel(b.dir, path)
		out[filepath.ToSlash(rel)] = string(text)
		return err
	})
	if err != nil {
		b.t.Fatal(err)
	}
	return out
}

func (b *bench) task(attempt int) agents.Task {
	t := agents.Task{
		Dir: b.dir, Run: "run", Attempt: attempt, LogPath: filepath.Join(b.t.TempDir(), "agent.log"),
		Batch: planparse.Batch{Key: "1", Title: "double it", Text: "A returns 2.",
			Files: planparse.Files{Modify: []string{"a.go"}}},
		Brief: agents.Brief{Head: "# Batch 1: double it\n", Block: "## Run-Plan: Batch 1\n",
			Instead: "\n## You take over\n", Task: "\n## The batch, as the plan has it\n\nA returns 2.\n"},
		Redact: func(s string) string { return strings.ReplaceAll(s, "s3cret", "…") },
	}
	if attempt > 1 {
		t.Brief.Failure = fmt.Sprintf("\n## Attempt %d failed\n\nno: details of s3cret\n", attempt-1)
	}
	return t
}

func (b *bench) run(attempt int) agents.Result {
	b.t.Helper()
	res, err := b.Run(b.t.Context(), b.task(attempt), agents.ObserverFunc(func(s string) { b.lines = append(b.lines, s) }))
	if err != nil {
		b.t.Fatal(err)
	}
	return res
}

const doubled = "a.go\n<<<<<<< SEARCH\n\treturn 1\n=======\n\treturn 2\n>>>>>>> REPLACE\n"

func TestRunAppliesAnswer(t *testing.T) {
	b := newBench(t, "With s3cret:\n"+doubled+"\nb.go\n<<<<<<< SEARCH\n=======\npackage a\n>>>>>>> REPLACE\n")
	res := b.run(1)
	if res.Outcome != agents.Done || res.Summary != "changed 2 files: a.go, b.go" || res.Model != "tiny" ||
		!strings.HasPrefix(res.Response, "With …:\na.go") {
		t.Errorf("%+v", res)
	}
	if d := cmp.Diff(map[string]string{"a.go": "package a\n\nfunc A() int {\n\treturn 2\n}\n", "b.go": "package a\n"},
		b.tree()); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]string{"retrieved 1 part, about 8 of 900 tokens", "ask tiny", "edit a.go", "edit b.go"},
		b.lines); d != "" {
		t.Error(d)
	}
	u := res.Usage
	if *u.InputTokens != 100 || *u.OutputTokens != 10 || *u.CostUSD != 0 || u.Source != agents.SourceLocal ||
		*u.ModelMS != 30 {
		t.Errorf("usage %+v", u)
	}
	want := store.Task{ID: "run/1", Repo: "/repo", Mode: store.ModeImplement, Model: "tiny", Window: 2000, Reserved: 1000,
		Stages: []string{"scope", "precision"}, Plan: "plan.md"}
	if b.rows.tasks[0].At = (time.Time{}); cmp.Diff(want, b.rows.tasks[0]) != "" {
		t.Error(cmp.Diff(want, b.rows.tasks[0]))
	}
	c := b.rows.calls[0]
	if len(b.rows.calls) != 1 || c.Type != "execute_code" || c.Attempt != 1 || c.Role != "coding" || c.Error != "" ||
		c.Response != res.Response || *c.PromptTokens != 100 || c.Latency != 30*time.Millisecond {
		t.Errorf("%+v", b.rows.calls)
	}
	if r := b.requests[0]; r.Task != "run/1" || r.Dir != b.dir || r.Text != "double it\n\nA returns 2.\n" ||
		r.Budget.Retrieval() != 1000 || cmp.Diff([]string{"a.go"}, r.Files) != "" {
		t.Errorf("%+v", r)
	}
	if err := b.End(t.Context(), agents.End{Run: "run", Batch: "1", Success: true, Diff: "diff"}); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]store.TaskEnd{{Success: true, Diff: "diff"}}, b.rows.ends); d != "" ||
		cmp.Diff([]string{"run/1"}, b.archived) != "" {
		t.Errorf("%s %v", d, b.archived)
	}
}

// An unusable answer is a failed attempt with a class; the workspace does not change (SOLVE-03, SOLVE-07).
func TestUnusableAnswerFailsAttempt(t *testing.T) {
	block := func(path, search, replace string) string {
		return path + "\n<<<<<<< SEARCH\n" + search + "=======\n" + replace + ">>>>>>> REPLACE\n"
	}
	tests := map[string]struct {
		answer string
		class  Class
		want   string
	}{
		"wrong match": {block("a.go", "\treturn 3\n", "\treturn 2\n"), NoMatch,
			"  | \treturn 3\nnearest is line 4:\n  | \treturn 1"},
		"two matches":  {block("two.go", "x\n", "y\n"), TwoMatches, "the search text occurs 2 times"},
		"missing file": {block("none.go", "x\n", "y\n"), MissingFile, "file does not exist; leave the search text empty"},
		"wrong whitespace": {block("a.go", "    return 1\n", "    return 2\n"), NoMatch,
			`differ in white space only: the file has "\treturn 1", the block has "    return 1"`},
		"partly":         {doubled + block("two.go", "x\n", "y\n"), TwoMatches, "occurs 2 times"},
		"new over old":   {block("a.go", "", "x\n"), FileExists, "file exists"},
		"no change":      {block("a.go", "\treturn 1\n", "\treturn 1\n"), NoChange, "search and replace are the same"},
		"outside":        {block("../a.go", "", "x\n"), UnsafePath, "leads upwards"},
		"into git":       {block(".git/config", "", "x\n"), UnsafePath, "belongs to git"},
		"delete nothing": {"none.go\n<<<<<<< DELETE\n>>>>>>> DELETE\n", MissingFile, "remove the edit that deletes it"},
		"no end":         {"a.go\n<<<<<<< SEARCH\n\treturn 1\n", BadEdit, "has no end"},
		"prose":          {"Let A return 2 instead of s3cret.", NoEdits, "The answer was:\nLet A return 2 instead of …."},
		"bad request":    {"{\"refinement_request\": {\"why\": 1}}", BadJSON, "unknown field"},
		"no evidence":    {"{\"refinement_request\": {\"reason\": \"more context\"}}", InsufficientContext, ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, tt.answer)
			b.write("two.go", "x\nx\n")
			before := b.tree()
			res := b.run(1)
			if res.Outcome != agents.GaveUp || res.Rule != string(tt.class) ||
				!strings.HasPrefix(res.Summary, string(tt.class)+": ") || !strings.Contains(res.Detail, tt.want) {
				t.Errorf("%+v\nwant %s with %q", res, tt.class, tt.want)
			}
			if d := cmp.Diff(before, b.tree()); d != "" {
				t.Errorf("the workspace changed: %s", d)
			}
			if res.Response == "" || strings.Contains(res.Response, "s3cret") || len(b.asked) != 1 {
				t.Errorf("response %q, %d questions", res.Response, len(b.asked))
			}
			var past history
			if found, err := b.session.Get(t.Context(), store.KeyRetryContext, &past); err != nil || !found || len(past) != 1 ||
				past[0].Class != tt.class || past[0].Attempt != 1 {
				t.Errorf("%v %v %+v", found, err, past)
			}
		})
	}
}

// The prompt has each part of the brief once. What changes between attempts stands at its end.
func TestPromptHasEachPartOnce(t *testing.T) {
	b := newBench(t, "prose", doubled)
	b.run(1)
	b.run(2)
	for i, prompt := range []string{b.asked[0].Prompt, b.asked[1].Prompt} {
		brief := reflect.ValueOf(b.task(i + 1).Brief)
		for f, part := range brief.Fields() {
			n := strings.Count(prompt, strings.TrimSpace(part.String()))
			if part.String() == "" != (i == 0 && f.Name == "Failure") || part.String() != "" && n != 1 {
				t.Errorf("attempt %d has %s %d times:\n%s", i+1, f.Name, n, prompt)
			}
		}
	}
	if p := b.asked[1].Prompt; strings.Index(p, "details of s3cret") < strings.Index(p, "# Attempts before") {
		t.Errorf("the failure is not at the end:\n%s", p)
	}
}

// The next attempt reuses the retrieved context. Its prompt names the class of the last failure, the failure digest
// and the advice.
func TestNextAttemptGetsFailureDigest(t *testing.T) {
	b := newBench(t, "prose", doubled, doubled)
	b.run(1)
	b.run(2)
	b.write("a.go", "package a\n\nfunc A() int {\n\treturn 1\n}\n")
	b.run(3)
	if len(b.requests) != 1 {
		t.Errorf("retrieved %d times", len(b.requests))
	}
	for _, want := range []string{"- attempt 1: no_edits (the answer contains neither", "This time: " + NoEdits.Advice(),
		"no: details of s3cret"} {
		if !strings.Contains(b.asked[1].Prompt, want) {
			t.Errorf("attempt 2 lacks %q:\n%s", want, b.asked[1].Prompt)
		}
	}
	if !strings.Contains(b.asked[2].Prompt, "- attempt 2: gates (changed 1 file: a.go)") ||
		strings.Contains(b.asked[2].Prompt, NoEdits.Advice()) {
		t.Errorf("attempt 3:\n%s", b.asked[2].Prompt)
	}
	if strings.Contains(b.rows.calls[1].Prompt, "s3cret") {
		t.Error("a secret is in the log")
	}
	// Text that is the same in all attempts comes first in the prompt (MODEL-13).
	same := 0
	for same < len(b.asked[0].Prompt) && b.asked[0].Prompt[same] == b.asked[1].Prompt[same] {
		same++
	}
	if at := strings.Index(b.asked[0].Prompt, "# Attempts before"); same < at || at < 0 ||
		b.asked[0].System != b.asked[1].System {
		t.Errorf("the prompts differ from byte %d on, which is before %d", same, at)
	}
	// Context of files that changed since is retrieved again.
	b.write("a.go", "package a\n\nfunc A() int {\n\treturn 7\n}\n")
	b.answers = []any{"prose"}
	b.run(4)
	if len(b.requests) != 2 {
		t.Error("the context of changed files was used again")
	}
}

func TestRefinement(t *testing.T) {
	ask := "```json\n{\"refinement_request\": {\"reason\": \"who calls A\", \"missing_files\": [\"b.go\"], " +
		"\"missing_symbols\": [\"B\"]}}\n```"
	b := newBench(t, ask, doubled)
	b.refined = b.pack
	b.refined.Added, b.refined.NotFound = []string{"b.go"}, []string{"B"}
	if res := b.run(1); res.Outcome != agents.Done || *res.Usage.InputTokens != 200 {
		t.Fatalf("%+v", res)
	}
	if !strings.Contains(b.asked[1].Prompt,
		"You asked for more context: b.go, B. The context above has it now: b.go. Not available: B.") {
		t.Errorf("%s", b.asked[1].Prompt)
	}
	if !strings.Contains(b.session[store.KeyRefinementRequest], "who calls A") ||
		b.session[store.KeyAttemptSummary] != `["attempt 1: insufficient_context"]` {
		t.Errorf("%v", b.session)
	}

	b = newBench(t, ask, ask)
	b.refined = b.pack
	b.refined.Added = []string{"b.go"}
	if res := b.run(1); res.Rule != string(InsufficientContext) ||
		!strings.Contains(res.Summary, "after 1 refinement, and solve.max_refinement_loops allows no more") {
		t.Errorf("bounded: %+v", res)
	}

	// Another candidate made the same request before: it is not new to retrieval, but it is new to this candidate.
	b = newBench(t, ask, doubled)
	b.refined = b.pack
	b.refined.Parts = append(b.refined.Parts[:1:1],
		retrieve.Part{Path: "b.go", Symbol: "B", Start: 1, End: 1, Detail: retrieve.Primary, Text: "func B()"})
	if res := b.run(1); res.Outcome != agents.Done || !strings.Contains(b.asked[1].Prompt, "has it now: b.go:B.") {
		t.Errorf("another name for the same request: %+v", res)
	}

	b = newBench(t, ask)
	b.refined = b.pack
	if res := b.run(1); res.Rule != string(InsufficientContext) || !strings.Contains(res.Summary, "which is not new") {
		t.Errorf("nothing new: %+v", res)
	}
}

// A failure that a retry cannot fix is an error, not an outcome of the attempt.
func TestPermanentFailureReturnsError(t *testing.T) {
	tests := map[string]struct {
		err  error
		kind agents.Kind
	}{
		"no such model": {&llm.NotFoundError{Model: "tiny"}, agents.KindMissingModel},
		"server down":   {&llm.DownError{BaseURL: "http://x"}, agents.KindNetwork},
		"too small":     {&llm.WindowError{Model: "tiny", Window: 1}, agents.KindContext},
		"elsewhere":     {&llm.RemoteError{Model: "tiny"}, agents.KindSettings},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, tt.err)
			_, err := b.Run(t.Context(), b.task(1), nil)
			var u *agents.UnusableError
			if !errors.As(err, &u) || u.Kind != tt.kind || !errors.Is(err, tt.err) {
				t.Errorf("%v", err)
			}
			if len(b.rows.calls) != 1 || b.rows.calls[0].Error == "" || b.session[store.KeyRetryContext] != "" {
				t.Errorf("%+v %v", b.rows.calls, b.session)
			}
		})
	}
	b := newBench(t)
	task := b.task(1)
	task.Model = "opus"
	if _, err := b.Run(t.Context(), task, nil); !errors.As(err, new(*agents.UnusableError)) {
		t.Errorf("unknown model: %v", err)
	}
}

func TestRetryableFailureFailsAttempt(t *testing.T) {
	for name, tt := range map[string]struct {
		err  error
		rule Class
		kind agents.Kind
	}{
		"cut off":      {llm.ErrCutOff, CutOff, agents.KindCut},
		"too long":     {&llm.LengthError{Model: "tiny", MaxTokens: 1}, CutOff, agents.KindCut},
		"server error": {&llm.ServerError{Status: 500, Message: "x"}, NoAnswer, agents.KindServer},
		"too slow":     {&llm.TimeoutError{Model: "tiny"}, NoAnswer, agents.KindNoAnswer},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, tt.err)
			if res := b.run(1); res.Outcome != agents.Failed || res.Rule != string(tt.rule) || res.Kind != tt.kind ||
				res.Usage.InputTokens != nil {
				t.Errorf("%+v", res)
			}
		})
	}
}

func TestTimeLimitAndCancellation(t *testing.T) {
	b := newBench(t)
	b.Agent.cfg.LLM = llm.CompleterFunc(func(ctx context.Context, _ llm.Request) (llm.Response, error) {
		<-ctx.Done()
		return llm.Response{}, ctx.Err()
	})
	task := b.task(1)
	task.Limits.Total = 20 * time.Millisecond
	if res, err := b.Run(t.Context(), task, nil); err != nil || res.Outcome != agents.TimedOut ||
		res.Kind != agents.KindTotal || !strings.Contains(res.Summary, "20ms") {
		t.Errorf("%+v %v", res, err)
	}
	if !strings.Contains(b.session[store.KeyRetryContext], "time limit reached") {
		t.Errorf("the context of the next attempt lacks the time limit: %v", b.session)
	}
	stop := errors.New("stopped by the user")
	ctx, cancel := context.WithCancelCause(t.Context())
	go cancel(stop)
	if _, err := b.Run(ctx, b.task(1), nil); !errors.Is(err, stop) {
		t.Errorf("%v", err)
	}
	for i, c := range b.rows.calls {
		if c.Error == "" {
			t.Errorf("call %d has no reason: %+v", i, c)
		}
	}
	if len(b.rows.calls) == 0 {
		t.Error("a question that was stopped is not in the log")
	}
}

// A model on this machine costs 0. The cost of another server or of a program is unknown, which is not 0 (MODEL-15).
func TestOnlyLocalModelsHaveKnownCost(t *testing.T) {
	for name, c := range map[string]struct {
		model llm.Model
		local bool
	}{
		"localhost":      {llm.Model{Provider: "ollama", BaseURL: "http://localhost:11434"}, true},
		"loopback":       {llm.Model{Provider: "ollama", BaseURL: "http://127.0.0.1:11434"}, true},
		"loopback, IPv6": {llm.Model{Provider: "ollama", BaseURL: "http://[::1]:11434"}, true},
		"a host":         {llm.Model{Provider: "ollama", BaseURL: "http://192.0.2.1:11434"}, false},
		"a name":         {llm.Model{Provider: "ollama", BaseURL: "http://localhost.example.org:11434"}, false},
		"a program": {llm.Model{Provider: "command", BaseURL: "http://localhost:11434", Command: []string{"ask"}},
			false},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, doubled)
			c.model.Window, c.model.MaxTokens = 2000, 100
			b.Agent.cfg.Model = func(string) (llm.Model, error) { return c.model, nil }
			u := b.run(1).Usage
			if c.local && (u.CostUSD == nil || *u.CostUSD != 0 || u.Source != agents.SourceLocal) || !c.local &&
				(u.CostUSD != nil || u.Source != agents.SourceUnknown) {
				t.Errorf("%v %s", u.CostUSD, u.Source)
			}
		})
	}
}

// A prompt that is too long loses its parts in a fixed order; if that is not enough, the error has the figures
// (BUD-05, BUD-06).
func TestPromptTrimmingOrder(t *testing.T) {
	b := newBench(t)
	part := func(path string, d retrieve.Detail, n int) retrieve.Part {
		return retrieve.Part{Path: path, Symbol: "S", Start: 1, End: 1, Detail: d, Text: strings.Repeat("x", n),
			Tokens: n / 4}
	}
	q := question{
		prompt: executeCode,
		context: retrieve.Package{Parts: []retrieve.Part{
			part("p.go", retrieve.Primary, 400), part("s1.go", retrieve.Supporting, 400),
			part("t.go", retrieve.TypeContext, 400), part("s2.go", retrieve.Supporting, 400),
		}},
		brief:   agents.Brief{Task: strings.Repeat("b", 400), Failure: strings.Repeat("f", 400)},
		history: history{{Attempt: 1, Class: NoMatch}, {Attempt: 2, Class: NoEdits}},
	}
	all := []string{"attempts before the last one", "details of the last failure", "type_context context t.go:S",
		"supporting context s2.go:S", "supporting context s1.go:S"}
	model, _ := b.cfg.Model("")
	full, _, err := q.fit(b.cfg.Prompts, llm.Request{Model: llm.Model{}}, tokens.Budget{})
	if err != nil {
		t.Fatal(err)
	}
	most := llm.Size(full, 0.2) + 100
	seen := 0
	for window := most; ; window-- {
		model.Window = window
		r, left, err := q.fit(b.cfg.Prompts, llm.Request{Model: model}, tokens.Budget{Window: window, Margin: 0.2})
		if err != nil {
			var w *llm.WindowError
			if !errors.As(err, &w) || w.Window != window || w.Prompt == 0 || seen != len(all) {
				t.Errorf("window %d: %v after %d steps", window, err, seen)
			}
			break
		}
		if llm.Size(r, 0.2)+100 > window {
			t.Fatalf("window %d: the prompt has %d tokens", window, llm.Size(r, 0.2))
		}
		if len(left) < seen || cmp.Diff(all[:len(left)], left) != "" && len(left) > 0 {
			t.Fatalf("window %d: left out %v", window, left)
		}
		seen = len(left)
		if !strings.Contains(r.Prompt, q.brief.Task) || !strings.Contains(r.Prompt, "p.go") || seen > 0 &&
			!strings.Contains(r.Prompt, "attempt 2: no_edits") {
			t.Fatalf("window %d: a required part is missing", window)
		}
	}
	if len(q.context.Parts) != 4 {
		t.Error("the package itself was changed")
	}
}

// The solver knows the repository only from retrieval and does not open the index (SOLVE-08).
func TestSolverDoesNotOpenIndex(t *testing.T) {
	files, err := filepath.Glob("*.go")
	if err != nil || len(files) < 5 {
		t.Fatalf("%v %v", files, err)
	}
	for _, f := range files {
		src, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.HasSuffix(f, "_test.go") && strings.Contains(strings.ToLower(string(src)), "curated") {
			t.Errorf("%s speaks of the index's file", f)
		}
	}
}
