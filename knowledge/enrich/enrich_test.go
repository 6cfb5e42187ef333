package enrich

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"github.com/runplan/runplan/internal/git"
	"github.com/runplan/runplan/internal/store"
	"github.com/runplan/runplan/knowledge"
	"github.com/runplan/runplan/llm"
)

// desk holds an indexed repository and a fake model with scripted answers.
type desk struct {
	Deps
	dir, curated, raw string
	window            int
	say               func(r llm.Request) string
	asked             []llm.Request
}

func newDesk(t *testing.T, archive string) *desk {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range txtar.Parse([]byte(archive)).Files {
		path := filepath.Join(dir, filepath.FromSlash(f.Name))
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, f.Data, 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	for _, args := range [][]string{{"init", "-q", "."}, {"add", "-A"},
		{"-c", "user.name=a", "-c", "user.email=a@example.org", "commit", "-qm", "first"}} {
		cmd := exec.Command("git", args...)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
	d := &desk{dir: dir, curated: filepath.Join(t.TempDir(), "curated.sqlite"),
		raw: filepath.Join(t.TempDir(), "raw.sqlite"), window: 32768}
	db, err := store.OpenCurated(t.Context(), d.curated)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	repo, err := git.Open(t.Context(), dir, os.Environ())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := knowledge.Index(t.Context(), knowledge.Options{Repo: repo, Store: db, Now: now()}); err != nil {
		t.Fatal(err)
	}
	reader, err := store.OpenCuratedReader(t.Context(), d.curated)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { reader.Close() })
	journal, err := store.OpenJournal(t.Context(), d.raw)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { journal.Close() })
	prompts, err := LoadPrompts()
	if err != nil {
		t.Fatal(err)
	}
	base := knowledge.NewBase(reader)
	id, err := base.Repo(t.Context(), repo.Root)
	if err != nil {
		t.Fatal(err)
	}
	d.Deps = Deps{
		Base: base, Repo: id, Root: repo.Root, Task: "t1", Log: journal, Prompts: prompts, Margin: 0.2, Now: now,
		Redact: func(s string) string { return strings.ReplaceAll(s, "hunter2", "***") },
		Model: func(llm.Stage) (llm.Model, error) {
			return llm.Model{Role: llm.Reasoning, Name: "thinker", Provider: "ollama", Window: d.window, MaxTokens: 500}, nil
		},
		LLM: llm.CompleterFunc(func(_ context.Context, r llm.Request) (llm.Response, error) {
			d.asked = append(d.asked, r)
			n := 5
			return llm.Response{Text: d.say(r), PromptTokens: &n, CompletionTokens: &n, Latency: time.Second}, nil
		}),
	}
	return d
}

func now() time.Time { return time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC) }

const answer = `{"purpose":"Does\n it with hunter2.","module":"Core","domain":"Shop","concepts":["Money","money","Tax"],"public_api_surface":["Do","Undo","T.Do()"],"complexity_notes":""}`

const two = "-- go.mod --\nmodule m\n-- a/a.go --\npackage a\n\n// Do does.\nfunc Do() {}\n-- b/b.go --\npackage " +
	"b\n\nimport \"m/a\"\n\nfunc B() { a.Do() }\n"

// The answers of a model are cleaned: search terms are in lower case and invented names are removed. The log contains
// questions and answers without secrets (IDX-12).
func TestFiles(t *testing.T) {
	d := newDesk(t, two)
	d.say = func(llm.Request) string { return answer }
	res, err := Files(t.Context(), d.Deps, -1)
	if err != nil {
		t.Fatal(err)
	}
	// Do exists only in a/a.go; for b/b.go the model invented all three names.
	tokens := int64(20)
	if diff := cmp.Diff(Result{Files: 2, Asked: 2, Refused: 1 + 3, Tokens: &tokens, Waiting: 2, Skipped: []Skip{}},
		res); diff != "" {
		t.Error(diff)
	}
	all, err := d.Log.Enrichments(t.Context(), d.Root)
	if err != nil || len(all) != 2 {
		t.Fatal(err, all)
	}
	got := all[0].Metadata
	got.File = 0
	want := store.Metadata{Purpose: "Does it with ***.", Module: "core", Domain: "shop", Concepts: `["money","tax"]`,
		API: `["Do","T.Do"]`}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	for _, want := range []string{"Path: a/a.go\n", "Imported by: `b/b.go`\n", "func Do()\n", "// Do does."} {
		if !strings.Contains(d.asked[0].Prompt, want) {
			t.Errorf("the question does not say %q:\n%s", want, d.asked[0].Prompt)
		}
	}
	// A second call does not ask about the same files again.
	if res, err = Files(t.Context(), d.Deps, -1); err != nil || res.Asked != 0 || res.Current != 2 || res.Waiting != 2 ||
		*res.Tokens != 0 || len(d.asked) != 2 {
		t.Errorf("%v %+v", err, res)
	}
}

// Probable secrets in a file are not sent to the model. If an answer reports no token count, the total is unknown.
func TestSecretsAndUnknownTokens(t *testing.T) {
	d := newDesk(t, "-- go.mod --\nmodule m\n-- a/a.go --\npackage a\n\n// Do uses hunter2.\nfunc Do(hunter2 int) {}\n")
	d.say = func(llm.Request) string { return answer }
	ask := d.LLM
	d.LLM = llm.CompleterFunc(func(ctx context.Context, r llm.Request) (llm.Response, error) {
		res, err := ask.Complete(ctx, r)
		res.PromptTokens = nil
		return res, err
	})
	res, err := Files(t.Context(), d.Deps, -1)
	if err != nil || res.Asked != 1 || res.Tokens != nil {
		t.Fatalf("%v %+v", err, res)
	}
	if p := d.asked[0].Prompt; strings.Contains(p, "hunter2") || strings.Count(p, "***") < 3 {
		t.Error(p)
	}
}

// Files beyond the limit wait for the next call. An error keeps the earlier results, and the log contains the invalid
// answer.
func TestLimitAndErrorKeepResults(t *testing.T) {
	d := newDesk(t, two)
	d.say = func(llm.Request) string { return answer }
	res, err := Files(t.Context(), d.Deps, 1)
	if err != nil || res.Asked != 1 || res.Left != 1 {
		t.Fatal(err, res)
	}
	d.say = func(llm.Request) string { return "no" }
	var bad *llm.AnswerError
	if res, err = Files(t.Context(), d.Deps, -1); !errors.As(err, &bad) ||
		!strings.HasPrefix(err.Error(), "enrich b/b.go: ") || res.Current != 1 {
		t.Errorf("%v %+v", err, res)
	}
	log, err := store.OpenLog(t.Context(), d.raw)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	n := 0
	for c, err := range log.Calls(t.Context()) {
		if c.Stage != "enrichment" {
			continue
		}
		if n++; err != nil || c.Response != "no" || c.Error == "" || c.Task != "t1" {
			t.Errorf("%v %+v", err, c)
		}
	}
	if n != 1 {
		t.Errorf("%d calls in the log", n)
	}
}

// Of a file that is too long for the window, only the beginning is sent; a question that does not fit is not sent.
func TestWindowLimitsQuestion(t *testing.T) {
	var long strings.Builder
	for i := range 3000 {
		fmt.Fprintf(&long, "// F%d does.\nfunc F%d() {}\n\n", i, i)
	}
	d := newDesk(t, "-- go.mod --\nmodule m\n-- a.go --\npackage a\n\n"+long.String())
	d.window = 3000
	d.say = func(llm.Request) string { return answer }
	if _, err := Files(t.Context(), d.Deps, -1); err != nil {
		t.Fatal(err)
	}
	if p := d.asked[0].Prompt; !strings.Contains(p, "func F0()") || !strings.Contains(p, "characters more]") {
		t.Errorf("%.300s", p)
	}
	var small *llm.WindowError
	if _, err := d.question(t.Context(), llm.Model{Window: 600, MaxTokens: 500},
		knowledge.FileContext{File: store.File{Path: "a.go", Language: "go"}}, "x"); !errors.As(err, &small) {
		t.Errorf("%v", err)
	}
}

// Files that changed since they were indexed are skipped, and the reason says what to do.
func TestChangedFilesAreSkipped(t *testing.T) {
	d := newDesk(t, two)
	d.say = func(llm.Request) string { return answer }
	if err := errors.Join(os.WriteFile(filepath.Join(d.dir, "a", "a.go"), []byte("package a"), 0o644),
		os.Remove(filepath.Join(d.dir, "b", "b.go"))); err != nil {
		t.Fatal(err)
	}
	res, err := Files(t.Context(), d.Deps, -1)
	if err != nil {
		t.Fatal(err)
	}
	want := []Skip{{"a/a.go", "it changed since the index; run: runplan index"},
		{"b/b.go", "it is not in the working tree"}}
	if diff := cmp.Diff(want, res.Skipped); diff != "" || len(d.asked) > 0 {
		t.Error(diff)
	}
}

// Promoted results are in the index and marked in the log; promoting them again changes nothing.
func TestPromote(t *testing.T) {
	d := newDesk(t, two)
	d.say = func(llm.Request) string { return answer }
	if _, err := Files(t.Context(), d.Deps, -1); err != nil {
		t.Fatal(err)
	}
	db, err := store.OpenCurated(t.Context(), d.curated)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for range 2 {
		if n, err := Promote(t.Context(), d.Deps, db); err != nil || n != 2 {
			t.Fatal(n, err)
		}
		found, err := d.Base.FilesByMetadata(t.Context(), d.Repo, "shop", "", []string{"tax"})
		if err != nil || len(found) != 2 {
			t.Errorf("%v %v", err, found)
		}
		all, err := d.Log.Enrichments(t.Context(), d.Root)
		if err != nil || slices.ContainsFunc(all, func(e store.Enrichment) bool { return !e.Promoted }) {
			t.Errorf("%v %+v", err, all)
		}
	}
}
