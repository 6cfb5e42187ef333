package advise_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/runplan/runplan/internal/tokens"
	"github.com/runplan/runplan/llm"
	"github.com/runplan/runplan/training"
	"github.com/runplan/runplan/training/advise"
	"github.com/runplan/runplan/training/curate"
)

// adviser returns an adviser with a small budget, whose model answers with say.
func adviser(t *testing.T, say func(llm.Request) (string, error)) advise.Adviser {
	t.Helper()
	prompts, err := advise.LoadPrompts()
	if err != nil {
		t.Fatal(err)
	}
	return advise.Adviser{
		Model: llm.Model{Name: "thinker", Provider: llm.Ollama, MaxTokens: 600}, Prompts: prompts,
		Budget: tokens.Budget{Window: 3000, Reserved: 600},
		Redact: func(s string) string { return strings.ReplaceAll(s, "hunter2", "***") },
		LLM: llm.CompleterFunc(func(_ context.Context, r llm.Request) (llm.Response, error) {
			text, err := say(r)
			return llm.Response{Text: text}, err
		}),
	}
}

// examples yields examples whose prompts have size characters.
func examples(n, size int) func(func(training.Example, error) bool) {
	return func(yield func(training.Example, error) bool) {
		for i := range n {
			e := training.Example{ID: fmt.Sprint(i), Stage: training.Scope, Completion: "x hunter2", Positive: true,
				Prompt: []training.Message{{Role: "user", Content: strings.Repeat("word ", size/5)}}}
			if !yield(e, nil) {
				return
			}
		}
	}
}

// TRAIN-07, BUD-05: each question about examples fits into the budget and has no secret; long prompts are cut, so that
// they are judged too; each example has one opinion, in order.
func TestQuestionsFitIntoBudget(t *testing.T) {
	for _, size := range []int{40, 3000, 400_000} {
		asked := 0
		a := adviser(t, func(r llm.Request) (string, error) {
			asked++
			if n := (tokens.Budget{}).Of(r.Prompt); n > 2400 || strings.Contains(r.Prompt, "hunter2") {
				t.Errorf("a question of %d tokens, or with a secret", n)
			}
			var all []string
			for i := range strings.Count(r.Prompt, ", marked good") {
				all = append(all, fmt.Sprintf(`"e%02d":{"keep":%v,"reason":"why hunter2"}`, i+1, i != 0))
			}
			return "{" + strings.Join(all, ",") + "}", nil
		})
		var got []curate.Opinion
		err := a.Judge(t.Context(), examples(11, size), func(o curate.Opinion) { got = append(got, o) })
		if err != nil {
			t.Fatal(err)
		}
		for i, o := range got {
			if o.ID != fmt.Sprint(i) || o.Unjudged != "" || o.Reason != "why ***" {
				t.Errorf("%d characters, opinion %d: %+v", size, i, o)
			}
		}
		rejected := len(slices.DeleteFunc(got, func(o curate.Opinion) bool { return o.Keep }))
		if asked < 2 || rejected != asked {
			t.Errorf("%d characters: %d questions, %d rejected", size, asked, rejected)
		}
	}
}

// TRAIN-07: an answer that leaves an example out, invents one or is no JSON keeps the whole batch; an error of the
// server is an error.
func TestUnusableAnswersKeepExamples(t *testing.T) {
	const one = `"e01":{"keep":false,"reason":"r"}`
	for _, answer := range []string{"no", "{}", "{" + one + "}", "{" + one + `,"e02":{"keep":false,"reason":""}}`,
		"{" + one + `,"e02":{"keep":false,"reason":"r"},"e03":{"keep":false,"reason":"r"}}`, "{" + one + "," + one + "}"} {
		a := adviser(t, func(llm.Request) (string, error) { return answer, nil })
		n := 0
		err := a.Judge(t.Context(), examples(2, 40), func(o curate.Opinion) {
			if n++; !o.Keep || o.Unjudged == "" {
				t.Errorf("%s: %+v", answer, o)
			}
		})
		if err != nil || n != 2 {
			t.Errorf("%s: %d opinions, %v", answer, n, err)
		}
	}
	down := errors.New("down")
	a := adviser(t, func(llm.Request) (string, error) { return "", down })
	if err := a.Judge(t.Context(), examples(2, 40), func(curate.Opinion) {}); !errors.Is(err, down) {
		t.Error(err)
	}
}
