package retrieve

import (
	"context"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/tools/txtar"

	"github.com/runplan/runplan/internal/git"
	"github.com/runplan/runplan/internal/store"
	"github.com/runplan/runplan/internal/tokens"
	"github.com/runplan/runplan/knowledge"
	"github.com/runplan/runplan/llm"
	"github.com/runplan/runplan/patterns"
	"github.com/runplan/runplan/tools/tooltest"
)

// astGrep returns the ast-grep for the tests: $RUNPLAN_AST_GREP, the one in PATH, or the one in bin/tools of the
// repository.
func astGrep(t testing.TB) patterns.Program {
	t.Helper()
	env := tooltest.Environ(t)
	p, err := patterns.Find(t.Context(), env, "")
	if err != nil {
		tooltest.Missing(t, err, tooltest.AstGrep)
	}
	return p
}

// bench holds an indexed repository, a fake model with scripted answers, a log and a session.
type bench struct {
	t       testing.TB
	dir     string
	repo    *git.Repo
	curated string
	raw     string
	journal *store.Journal
	session *store.Session
	program patterns.Program
	base    knowledge.Base
	id      int64

	window, answer int // of the model
	provider       string
	say            func(r llm.Request) string
	asked          []llm.Request
	info           []string
}

var gitEnv = []string{
	"GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null", "GIT_AUTHOR_NAME=Ada", "GIT_AUTHOR_EMAIL=a@example.org",
	"GIT_COMMITTER_NAME=Ada", "GIT_COMMITTER_EMAIL=a@example.org", "GIT_AUTHOR_DATE=2030-01-01T00:00:00Z",
	"GIT_COMMITTER_DATE=2030-01-01T00:00:00Z",
}

// newBench creates a repository from an archive and indexes it. Each of commits lists files that change together in
// one commit.
func newBench(t testing.TB, archive string, p patterns.Program, commits ...[]string) *bench {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	b := &bench{t: t, dir: dir, program: p, curated: filepath.Join(t.TempDir(), "curated.sqlite"), window: 32768,
		answer: 4096, provider: "ollama"}
	b.git("init", "-q", "-b", "main", ".")
	for _, f := range txtar.Parse([]byte(archive)).Files {
		b.write(f.Name, string(f.Data))
	}
	b.commit("first")
	for i, files := range commits {
		for _, f := range files {
			b.write(f, b.read(f)+strings.Repeat("\n", i%2+1))
		}
		b.commit(fmt.Sprintf("change %d", i+1))
	}
	if b.repo, err = git.Open(t.Context(), dir, append(os.Environ(), gitEnv...)); err != nil {
		t.Fatal(err)
	}
	b.index()
	b.raw = filepath.Join(t.TempDir(), "raw.sqlite")
	if b.journal, err = store.OpenJournal(t.Context(), b.raw); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { b.journal.Close() })
	if b.session, err = store.CreateSession(t.Context(), t.TempDir(), "t1"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { b.session.Close() })
	r, err := store.OpenCuratedReader(t.Context(), b.curated)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	b.base = knowledge.NewBase(r)
	if b.id, err = b.base.Repo(t.Context(), b.repo.Root); err != nil {
		t.Fatal(err)
	}
	return b
}

func (b *bench) git(args ...string) {
	b.t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir, cmd.Env = b.dir, append(os.Environ(), gitEnv...)
	if out, err := cmd.CombinedOutput(); err != nil {
		b.t.Fatalf("git %v: %v\n%s", args, err, out)
	}
}

func (b *bench) commit(message string) {
	b.git("add", "-A")
	b.git("commit", "-q", "-m", message)
}

func (b *bench) write(name, text string) {
	b.t.Helper()
	path := filepath.Join(b.dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		b.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		b.t.Fatal(err)
	}
}

func (b *bench) read(name string) string {
	b.t.Helper()
	text, err := os.ReadFile(filepath.Join(b.dir, filepath.FromSlash(name)))
	if err != nil {
		b.t.Fatal(err)
	}
	return string(text)
}

func (b *bench) index() {
	b.t.Helper()
	db, err := store.OpenCurated(b.t.Context(), b.curated)
	if err != nil {
		b.t.Fatal(err)
	}
	defer db.Close()
	if _, err := knowledge.Index(b.t.Context(),
		knowledge.Options{Repo: b.repo, Store: db, Program: b.program, ContinueOnError: true, Now: clock()}); err != nil {
		b.t.Fatal(err)
	}
}

// start records the start of the task; without it, queries do not find the task's decisions.
func (b *bench) start() {
	b.t.Helper()
	if err := b.journal.StartTask(b.t.Context(),
		store.Task{ID: "t1", Repo: b.repo.Root, Mode: store.ModeRetrieve, Model: "thinker", Window: 8192, Reserved: 4096,
			At: clock()}); err != nil {
		b.t.Fatal(err)
	}
}

func clock() time.Time { return time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC) }

func (b *bench) deps() Deps {
	b.t.Helper()
	prompts, err := LoadPrompts()
	if err != nil {
		b.t.Fatal(err)
	}
	return Deps{
		Base: b.base, Repo: b.id, Log: b.journal, Session: b.session, Prompts: prompts, Program: b.program,
		Environ: os.Environ(), Now: clock,
		Info: func(s string) { b.info = append(b.info, s) },
		Model: func(s llm.Stage) (llm.Model, error) {
			return llm.Model{Role: llm.Reasoning, Name: "thinker", Provider: b.provider, Window: b.window, MaxTokens: b.answer},
				nil
		},
		LLM: llm.CompleterFunc(func(ctx context.Context, r llm.Request) (llm.Response, error) {
			if err := llm.Check(r, tokens.Budget{}); err != nil {
				b.t.Errorf("%s: %v", r.Stage, err) // the hard gate of a real client
			}
			b.asked = append(b.asked, r)
			n := 7
			return llm.Response{Text: b.say(r), Model: "thinker", PromptTokens: &n, CompletionTokens: &n, Latency: time.Second},
				nil
		}),
	}
}

func (b *bench) request(task string) Request {
	return Request{Task: "t1", Text: task, Dir: b.dir, Stages: []string{"scope", "precision"},
		Budget: tokens.Budget{Window: 8192, Reserved: 4096, Margin: 0.2}}
}

// answers is a fake model with fixed answers: the analysis of the task, the relevant files, and the level of detail
// for each symbol.
type answers struct {
	analysis string
	relevant []string          // files
	details  map[string]string // by the symbol's definition or, for files, the path; else excluded
}

var fileIDs = regexp.MustCompile(`(?m)^(f\d+)  (\S+)`)
var pieceIDs = regexp.MustCompile(`(?m)^  (s\d+)  (.*?)  \d`)

func (a answers) say(r llm.Request) string {
	var parts []string
	switch r.Stage {
	case llm.TaskAnalysis:
		if a.analysis != "" {
			return a.analysis
		}
		return `{"intent":"do it","task_type":"other","concepts":[],"symbols":[],"domain":"","module":""}`
	case llm.Scope:
		for _, m := range fileIDs.FindAllStringSubmatch(r.Prompt, -1) {
			parts = append(parts, fmt.Sprintf(`%q:{"relevant":%t,"reason":"as planted"}`, m[1],
				slices.Contains(a.relevant, m[2])))
		}
	case llm.Precision:
		keys := slices.Sorted(maps.Keys(a.details))
		for _, m := range pieceIDs.FindAllStringSubmatch(r.Prompt, -1) {
			detail := "excluded"
			for _, k := range keys {
				if strings.Contains(m[2], k) {
					detail = a.details[k]
				}
			}
			parts = append(parts, fmt.Sprintf("%q:%q", m[1], detail))
		}
	}
	return "{" + strings.Join(parts, ",") + "}"
}
