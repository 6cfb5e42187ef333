package history

import (
	"context"
	"encoding/json"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/runplan/runplan/agents/solver"
	"github.com/runplan/runplan/internal/edit"
	"github.com/runplan/runplan/internal/git"
	"github.com/runplan/runplan/internal/store"
	"github.com/runplan/runplan/internal/tokens"
	"github.com/runplan/runplan/knowledge"
	"github.com/runplan/runplan/knowledge/retrieve"
	"github.com/runplan/runplan/llm"
	"github.com/runplan/runplan/patterns"
	"github.com/runplan/runplan/training"
)

// asked returns the product's own prompts for a task, by stage.
func asked(t *testing.T, r *repo, program patterns.Program, task string) map[llm.Stage]llm.Request {
	t.Helper()
	opened, err := git.Open(t.Context(), r.dir, r.env)
	if err != nil {
		t.Fatal(err)
	}
	at := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	file := filepath.Join(t.TempDir(), "curated.sqlite")
	db, err := store.OpenCurated(t.Context(), file)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := knowledge.Index(t.Context(),
		knowledge.Options{Repo: opened, Store: db, Program: program, Now: at}); err != nil {
		t.Fatal(err)
	}
	db.Close()
	reader, err := store.OpenCuratedReader(t.Context(), file)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { reader.Close() })
	base := knowledge.NewBase(reader)
	id, err := base.Repo(t.Context(), opened.Root)
	if err != nil {
		t.Fatal(err)
	}
	journal, err := store.OpenJournal(t.Context(), filepath.Join(t.TempDir(), "raw.sqlite"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { journal.Close() })
	if err := journal.StartTask(t.Context(),
		store.Task{ID: "t", Repo: opened.Root, Mode: store.ModeRetrieve, Model: "m", Window: 32768, Reserved: 4096,
			At: at}); err != nil {
		t.Fatal(err)
	}
	session, err := store.CreateSession(t.Context(), t.TempDir(), "t")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { session.Close() })
	prompts, err := retrieve.LoadPrompts()
	if err != nil {
		t.Fatal(err)
	}
	out := map[llm.Stage]llm.Request{}
	ids := regexp.MustCompile(`(?m)^ *([fs]\d+)  `)
	_, err = retrieve.Retrieve(t.Context(), retrieve.Deps{
		Base: base, Repo: id, Log: journal, Session: session, Prompts: prompts, Program: program, Environ: r.env,
		Now: func() time.Time { return at },
		Model: func(llm.Stage) (llm.Model, error) {
			return llm.Model{Name: "m", Provider: "ollama", Window: 32768, MaxTokens: 4096}, nil
		},
		LLM: llm.CompleterFunc(func(_ context.Context, q llm.Request) (llm.Response, error) {
			out[q.Stage] = q
			if q.Stage == llm.TaskAnalysis {
				return llm.Response{Text: `{"intent":"x","task_type":"feature","concepts":[],"symbols":["Cart.Total","Discount","report","draw"],"domain":"","module":""}`}, nil
			}
			var parts []string
			for _, m := range ids.FindAllStringSubmatch(q.Prompt, -1) {
				answer := `"primary"`
				if q.Stage == llm.Scope {
					answer = `{"relevant":true,"reason":"x"}`
				}
				parts = append(parts, `"`+m[1]+`":`+answer)
			}
			return llm.Response{Text: "{" + strings.Join(parts, ",") + "}"}, nil
		}),
	}, retrieve.Request{Task: "t", Text: task, Dir: r.dir, Stages: []string{"scope", "precision"},
		Budget: tokens.Budget{Window: 32768, Reserved: 4096}})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// lessons makes one commit on top of the shop, and returns the example of each stage.
func lessons(t *testing.T, message, archive string) (*repo, patterns.Program, map[training.Stage]training.Example) {
	t.Helper()
	program := astGrep(t)
	r := newRepo(t)
	r.commit("Begin the shop with carts and prices", shop)
	r.commit(message, archive)
	o := r.options(t.TempDir())
	o.Program = program
	m, err := Run(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	out := map[training.Stage]training.Example{}
	for _, s := range Stages() {
		list := examples(t, o.Dir, s)
		if len(list) != 1 {
			t.Fatalf("%d examples of %s: %+v", len(list), s, m.Files[s])
		}
		out[s] = list[0]
	}
	return r, program, out
}

// without removes the IDs and the reasons, which are random or guessed, from a line about a file or a symbol.
func without(line string) string {
	line = regexp.MustCompile(`^ *[fs]\d+  `).ReplaceAllString(line, "")
	line = regexp.MustCompile(`^(\S+  )\(.*?\)`).ReplaceAllString(line, "$1")
	line, _, _ = strings.Cut(line, "  — ")
	return line
}

// The stages later send their own prompts to a model that was trained on history. So the prompts of the examples must
// equal the prompts of the stages exactly, where both have the same information.
func TestPromptsMatchStages(t *testing.T) {
	for name, tc := range map[string]struct{ message, archive string }{
		"Go": {"Support a discount of the price on the sum of total carts with many items, by len\n\nFive percent, from ten " +
			"things on.", discounted},
		"Python": {"Support sorted lines, and draw the carts of a report in sorted order", sorted},
	} {
		t.Run(name, func(t *testing.T) {
			r, program, got := lessons(t, tc.message, tc.archive)
			r.git("reset", "-q", "--hard", "HEAD^")
			want := asked(t, r, program, tc.message)
			if a, b := got[training.TaskAnalysis].Prompt[0].Content, want[llm.TaskAnalysis].Prompt; a != b {
				t.Errorf("the analysis is asked\n%s\nand the product asks\n%s", a, b)
			}
			for _, s := range []llm.Stage{llm.Scope, llm.Precision} {
				text := got[training.Stage(s)].Prompt[0].Content
				frame := func(text string) string { // all but the list, and what the model said before
					text = regexp.MustCompile(`(?m)^(What it comes down to|Sort of work): .*$`).ReplaceAllString(text, "$1")
					text = regexp.MustCompile(`(?s)## Files that are in already\n\n.*?\n\n`).ReplaceAllString(text, "")
					return text[:strings.LastIndex(strings.TrimRight(text, "~\n"), "\n~~~~\n")]
				}
				if frame(text) != frame(want[s].Prompt) {
					t.Errorf("%s is asked\n%s\nand the product asks\n%s", s, frame(text), frame(want[s].Prompt))
				}
				have := map[string]bool{}
				for line := range strings.Lines(want[s].Prompt) {
					have[without(strings.TrimRight(line, "\n"))] = true
				}
				same := 0
				for line := range strings.Lines(text) {
					line = strings.TrimRight(line, "\n")
					if !regexp.MustCompile(`^ *[fs]\d+  `).MatchString(line) {
						continue
					}
					// A path or a definition. The examples also offer items that the product considers less worth a
					// question.
					what, _, _ := strings.Cut(regexp.MustCompile(`^ *[fs]\d+  `).ReplaceAllString(line, ""), "  ")
					if !have[without(line)] && strings.Contains(want[s].Prompt, "  "+what+"  ") {
						t.Errorf("%s: the product says nothing like %q in\n%s", s, line, want[s].Prompt)
					}
					if have[without(line)] {
						same++
					}
				}
				if same == 0 {
					t.Errorf("%s: no line is one of the product's:\n%s\n%s", s, text, want[s].Prompt)
				}
			}
			answersAreRead(t, want, got)
		})
	}
}

// answersAreRead checks that each stage's own schema and parser accept the answers.
func answersAreRead(t *testing.T, want map[llm.Stage]llm.Request, got map[training.Stage]training.Example) {
	t.Helper()
	if _, err := llm.ParseJSON[map[string]any](got[training.TaskAnalysis].Completion,
		want[llm.TaskAnalysis].Schema); err != nil {
		t.Errorf("task analysis: %v", err)
	}
	for _, s := range []llm.Stage{llm.Scope, llm.Precision} {
		var schema struct {
			Type       string                     `json:"type"`
			Properties map[string]json.RawMessage `json:"properties"`
			Required   []string                   `json:"required"`
			More       bool                       `json:"additionalProperties"`
		}
		if err := json.Unmarshal(want[s].Schema, &schema); err != nil {
			t.Fatal(err)
		}
		each := schema.Properties[schema.Required[0]]
		schema.Properties, schema.Required = map[string]json.RawMessage{}, nil
		for _, m := range regexp.MustCompile(`(?m)^ *([fs]\d+)  `).FindAllStringSubmatch(
			got[training.Stage(s)].Prompt[0].Content, -1) {
			schema.Properties[m[1]] = each
			schema.Required = append(schema.Required, m[1])
		}
		if _, err := llm.ParseJSON[map[string]any](got[training.Stage(s)].Completion,
			json.RawMessage(marshal(schema))); err != nil {
			t.Errorf("%s: %v\n%s", s, err, got[training.Stage(s)].Completion)
		}
	}
}

// planLog is a log that discards everything.
type planLog struct{}

func (planLog) StartTask(context.Context, store.Task) error             { return nil }
func (planLog) AddCall(context.Context, store.Call) error               { return nil }
func (planLog) FinishTask(context.Context, string, store.TaskEnd) error { return nil }

type noSession struct{}

func (noSession) Set(context.Context, string, any) error         { return nil }
func (noSession) Get(context.Context, string, any) (bool, error) { return false, nil }
func (noSession) Close() error                                   { return nil }

// With the same context, the solver's planner sends exactly the prompt of the example, and accepts its answer.
func TestPlannerAcceptsExample(t *testing.T) {
	message := "Support a discount of the price on the sum of total carts with many items, by len\n\nFive percent, from ten " +
		"things on."
	r, _, got := lessons(t, message, discounted)
	e := got[training.ExecutePlan]
	o := r.options(t.TempDir())
	var prompt llm.Request
	p := solver.Planner{
		Model: llm.Model{Name: "m", Provider: "ollama", Window: o.Budget.Window}, Budget: o.Budget, Prompts: o.Solver,
		Log: planLog{}, Say: func(string) {}, Now: time.Now,
		Retrieve: func(context.Context, llm.Completer, solver.Session, retrieve.Request) (retrieve.Package, error) {
			return retrieve.Package{}, nil
		},
		LLM: llm.CompleterFunc(func(_ context.Context, q llm.Request) (llm.Response, error) {
			prompt = q
			return llm.Response{Text: e.Completion}, nil
		}),
	}
	_, details, _ := strings.Cut(e.Prompt[1].Content, "\n\nNames and values")
	details, _, _ = strings.Cut(details, "\n")
	made, err := p.Plan(t.Context(), noSession{}, "t", message+"\n\nNames and values"+details, r.dir)
	if err != nil {
		t.Fatalf("%v\n%s", err, e.Completion)
	}
	files := made.Artifact.Batches[0].Files
	if !slices.Equal(files.Modify, []string{"cart/cart.go"}) || len(files.Test) > 0 { // the message asks for no test
		t.Errorf("files %+v", files)
	}
	if e.Prompt[0].Content != prompt.System {
		t.Errorf("the system text is\n%s\nand the product's\n%s", e.Prompt[0].Content, prompt.System)
	}
	context := e.Prompt[1].Content[:strings.Index(e.Prompt[1].Content, "\n\n\n# The task")+1]
	if again := strings.Replace(prompt.Prompt, "(none)", context, 1); e.Prompt[1].Content != again {
		t.Errorf("the prompt is\n%s\nand the product's\n%s", e.Prompt[1].Content, again)
	}
	for _, part := range []string{"`cart/cart.go`", "func Discount(cents, percent int) int", "exact:"} {
		if !strings.Contains(context, part) {
			t.Errorf("the context has no %q:\n%s", part, context)
		}
	}
}

// Applied to the parent commit, the answer produces the commit without its test, for which the task does not ask; and
// the prompt contains everything that the answer quotes.
func TestEditsReproduceCommit(t *testing.T) {
	r, _, got := lessons(t, "Support a discount of the price on the sum of total carts with many items, by len", discounted)
	want := r.git("rev-parse", "HEAD^{tree}")
	r.git("reset", "-q", "--hard", "HEAD^")
	e := got[training.ExecuteCode]
	answer, err := solver.ParseAnswer(e.Completion)
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range answer.Edits {
		if !strings.Contains(e.Prompt[1].Content, x.Search) {
			t.Errorf("the prompt does not have\n%s", x.Search)
		}
	}
	if _, err := edit.Files(r.dir, answer.Edits); err != nil {
		t.Fatal(err)
	}
	r.git("add", "-A")
	if d := r.git("diff", "--cached", "--name-only", want); d != "cart/cart_test.go" {
		t.Errorf("the edits make another tree:\n%s", r.git("diff", "--cached", want))
	}
	files := map[string]bool{}
	for _, f := range e.Origin.Files {
		files[f.Path] = true
		if f.Blob == "" {
			t.Errorf("%s has no version", f.Path)
		}
	}
	if paths := slices.Collect(maps.Keys(files)); !files["cart/cart.go"] || !files["price/price.go"] ||
		files["cart/cart_test.go"] {
		t.Errorf("the origin names %v", paths)
	}
	if e.Origin.Commit == "" || e.Origin.Parent != r.git("rev-parse", "HEAD") || e.Origin.Repo != "shop" ||
		e.Source != training.Synthetic {
		t.Errorf("origin %+v", e.Origin)
	}
}

// Changed code is primary, code that it uses is supporting, and the rest is excluded (TRAIN-12).
func TestLabels(t *testing.T) {
	_, _, got := lessons(t, "Support a discount of the price on the sum of total carts with many items, by len", discounted)
	said := func(s training.Stage, part string) string {
		t.Helper()
		e := got[s]
		answer := map[string]json.RawMessage{}
		if err := json.Unmarshal([]byte(e.Completion), &answer); err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(e.Prompt[0].Content) {
			if f := strings.Fields(line); len(f) > 1 && answer[f[0]] != nil && strings.Contains(line, part) {
				return string(answer[f[0]])
			}
		}
		t.Errorf("%s has no line with %q:\n%s", s, part, e.Prompt[0].Content)
		return ""
	}
	for part, want := range map[string]string{"cart/cart.go": "true", "price/price.go": "true",
		"mail/discount_letter.go": "false", "cart/names.go": "false"} {
		if a := said(training.Scope, part); !strings.Contains(a, `"relevant":`+want) {
			t.Errorf("%s: %s", part, a)
		}
	}
	for part, want := range map[string]string{"Total() int": "primary", "func Discount(": "supporting",
		"func Format(": "excluded", "Describe() string": "excluded"} {
		if a := said(training.Precision, part); a != `"`+want+`"` {
			t.Errorf("%s: %s, want %s", part, a, want)
		}
	}
	a, err := llm.ParseJSON[analysed](got[training.TaskAnalysis].Completion, nil)
	if err != nil || !slices.Contains(a.Symbols, "Cart.Total") || a.Kind == "" || a.Module != "cart" {
		t.Errorf("analysis %+v %v", a, err)
	}
}
