package solver

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/runplan/runplan/internal/store"
	"github.com/runplan/runplan/internal/tokens"
	"github.com/runplan/runplan/llm"
	"github.com/runplan/runplan/planparse"
	"github.com/runplan/runplan/planparse/draft"
)

const goodPlan = `{"title": "Greet s3cret", "goal": "It greets.", "batches": [
  {"title": "Write it", "rationale": "s3cret is not greeted.", "files": {"create": ["greet.go"], "modify": [], "test": [], "delete": []}, "tasks": ["Write greet.go"], "depends_on": []},
  {"title": "Call it", "rationale": "", "files": {"create": [], "modify": ["a.go"], "test": [], "delete": []}, "tasks": ["Call it"], "depends_on": [1]}]}`

func (b *bench) plan() (Planned, error) {
	return Planner{
		LLM:    llm.CompleterFunc(b.complete),
		Model:  llm.Model{Role: llm.Reasoning, Name: "thinker", Provider: "ollama", Window: 3000, MaxTokens: 100},
		Budget: tokens.Budget{Reserved: 1000}, Stages: []string{"scope"}, Prompts: b.cfg.Prompts, Retrieve: b.cfg.Retrieve,
		Log: b.rows, Repo: "/repo", Now: b.Agent.cfg.Now,
		Redact: b.task(1).Redact, Say: func(s string) { b.lines = append(b.lines, s) },
	}.Plan(b.t.Context(), b.session, "id", "Greet.", b.dir)
}

func TestPlan(t *testing.T) {
	b := newBench(t, goodPlan)
	made, err := b.plan()
	if err != nil {
		t.Fatal(err)
	}
	p, err := planparse.Parse("plan.md", []byte(made.Markdown))
	if err != nil || len(p.Batches) != 2 || p.Title != "Greet …" || cmp.Diff([]string{"1"}, p.Batches[1].DependsOn) != "" {
		t.Errorf("%v\n%s", err, made.Markdown)
	}
	if *made.Tokens != 110 || made.Calls != 1 ||
		strings.Contains(made.Markdown+b.session[store.KeyPlanArtifact]+b.rows.calls[0].Response, "s3cret") {
		t.Errorf("%+v", made)
	}
	if r := b.asked[0]; r.Stage != llm.ExecutePlan || len(r.Schema) == 0 || !strings.Contains(r.Prompt, "Greet.") ||
		!strings.Contains(r.Prompt, "return 1") {
		t.Errorf("%+v", r)
	}
	if d := cmp.Diff([]store.TaskEnd{{Success: true, Plan: made.Markdown}}, b.rows.ends); d != "" {
		t.Error(d)
	}
	if task := b.rows.tasks[0]; task.Mode != store.ModePlan || task.Model != "thinker" || task.Window != 3000 ||
		task.ID != "id" {
		t.Errorf("%+v", task)
	}
}

func TestPlanRejectsUnusableAnswers(t *testing.T) {
	tests := map[string]struct {
		answer any
		is     func(error) bool
	}{
		"prose": {"First, write greet.go.", func(err error) bool { return errors.As(err, new(*llm.AnswerError)) }},
		"no batches": {`{"title": "x", "goal": "", "batches": []}`,
			func(err error) bool { return errors.As(err, new(*llm.AnswerError)) }},
		"outside": {strings.Replace(goodPlan, "greet.go", "../greet.go", 1),
			func(err error) bool { return errors.Is(err, draft.ErrUnusable) }},
		"circle": {strings.Replace(goodPlan, `"depends_on": []`, `"depends_on": [2]`, 1),
			func(err error) bool { return errors.Is(err, draft.ErrUnusable) }},
		"server down": {&llm.DownError{}, func(err error) bool { return errors.As(err, new(*llm.DownError)) }},
		"interrupted": {context.Canceled, func(err error) bool { return errors.Is(err, context.Canceled) }},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, tt.answer)
			made, err := b.plan()
			if err == nil || !tt.is(err) || made.Markdown != "" {
				t.Errorf("%v %+v", err, made)
			}
			if len(b.rows.calls) != 1 || b.rows.calls[0].Error == "" || cmp.Diff([]store.TaskEnd{{}}, b.rows.ends) != "" {
				t.Errorf("%+v %+v", b.rows.calls, b.rows.ends)
			}
		})
	}
}
