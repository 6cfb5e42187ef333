package llmtest

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/runplan/runplan/internal/config"
	"github.com/runplan/runplan/llm"
)

// ConformanceScript returns a script with which a server of [Start] passes [Conformance], for a model of the given
// name. Its tokens are single characters, as in a tiny model, so estimates are too low.
func ConformanceScript(model string) Script {
	return Script{
		Models: []Model{{Name: model, Context: 2048, PerToken: 1}},
		Answers: []Answer{
			{Match: "JSON", JSON: json.RawMessage(`{"name":"x","count":3}`)},
			{Text: "Some words, and then some more of them."},
		},
	}
}

const conformanceSchema = `{"type":"object","properties":{"name":{"type":"string","maxLength":8},"count":{"type":"integer","minimum":0,"maximum":99}},"required":["name","count"],"additionalProperties":false}`

// Conformance tests the behaviour that package llm requires of a server. It runs against [Start] and against real
// servers. The model needs a context of at least 1024 tokens; its answers do not matter.
func Conformance(t *testing.T, url, model string) {
	t.Helper()
	o := llm.Options{Timeout: time.Minute, Retries: 1}
	m := llm.Model{Role: llm.Coding, Name: model, Provider: llm.Ollama, BaseURL: url, MaxTokens: 200, Window: 1024}
	ask := func(t *testing.T, change func(*llm.Request)) (llm.Response, error) {
		t.Helper()
		r := llm.Request{Model: m, Stage: llm.ExecuteCode, System: "Be terse.", Prompt: "Say something."}
		if change != nil {
			change(&r)
		}
		return llm.New(o).Complete(t.Context(), r)
	}

	t.Run("the server reports its version", func(t *testing.T) {
		v, err := llm.ServerVersion(t.Context(), o, url)
		if err != nil || v == "" {
			t.Fatalf("version %q, %v", v, err)
		}
	})
	t.Run("the server reports the context of a model", func(t *testing.T) {
		info, err := llm.Inspect(t.Context(), o, m)
		if err != nil || info.Context < 1024 || info.Remote != "" {
			t.Fatalf("%+v, %v", info, err)
		}
	})
	t.Run("words are complete, or the model fills its window", func(t *testing.T) {
		res, err := ask(t, func(r *llm.Request) { r.Model.MaxTokens = 0 })
		var length *llm.LengthError
		if err == nil && res.Text == "" || err != nil && (!errors.As(err, &length) || res.Text != "") {
			t.Fatalf("%+v, %v", res, err)
		}
	})
	t.Run("an answer by a schema meets it, and the same question has the same answer", func(t *testing.T) {
		type answer struct {
			Name  string `json:"name"`
			Count int    `json:"count"`
		}
		var first answer
		for i := range 2 {
			r := llm.Request{Model: m, Stage: llm.Scope, Prompt: "Answer with JSON.", Schema: json.RawMessage(conformanceSchema)}
			v, res, err := llm.JSON[answer](t.Context(), llm.New(o), r)
			if err != nil {
				t.Fatal(err)
			}
			if res.PromptTokens == nil || *res.PromptTokens == 0 || res.CompletionTokens == nil || *res.CompletionTokens == 0 ||
				res.Latency <= 0 || res.Model == "" {
				t.Fatalf("the server must count tokens, but returned: %+v", res)
			}
			if i == 0 {
				first = v
			} else if v != first {
				t.Fatalf("%+v, then %+v", first, v)
			}
		}
	})
	for _, c := range []struct {
		name   string
		change func(*llm.Request)
		check  func(error) bool
		text   string
	}{
		{"a missing model gives the advice to pull it", func(r *llm.Request) { r.Model.Name = "no-such-model" },
			func(err error) bool { var e *llm.NotFoundError; return errors.As(err, &e) }, "ollama pull no-such-model"},
		{"an answer cut at max_tokens is an error", func(r *llm.Request) { r.Model.MaxTokens = 3 },
			func(err error) bool {
				var e *llm.LengthError
				return errors.As(err, &e) && errors.Is(err, llm.ErrCutOff)
			}, "models.max_tokens = 3"},
		{"a window above the model's own is refused", func(r *llm.Request) { r.Model.Window = 1 << 24 },
			func(err error) bool { var e *llm.WindowError; return errors.As(err, &e) && e.Context >= 1024 }, "16777216"},
		{"a prompt that the estimate refuses is not sent", func(r *llm.Request) { r.Prompt = strings.Repeat("word ", 2000) },
			func(err error) bool {
				var e *llm.WindowError
				return errors.As(err, &e) && !e.Counted && e.Prompt > 1024
			}, "the window is 1024"},
		{"a prompt that the estimate lets through and the server does not is refused, not cut", func(r *llm.Request) {
			r.Model.MaxTokens, r.Prompt = 16, strings.Repeat("xqzj~{`^", 400)
		}, func(err error) bool { var e *llm.WindowError; return errors.As(err, &e) && e.Counted }, "counts more"},
		{"an invalid schema is the caller's error",
			func(r *llm.Request) { r.Schema = json.RawMessage(`{"type":"bogus"}`) },
			func(err error) bool {
				var e *llm.ServerError
				return errors.As(err, &e) && !e.Passing && e.Status == 500
			}, "invalid JSON schema"},
		{"a missing server gives the advice to start it", func(r *llm.Request) { r.Model.BaseURL = "http://127.0.0.1:1" },
			func(err error) bool { var e *llm.DownError; return errors.As(err, &e) }, "ollama serve"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := ask(t, c.change)
			if err == nil || !c.check(err) || !strings.Contains(err.Error(), c.text) {
				t.Fatalf("%T: %v", err, err)
			}
		})
	}
	t.Run("the same text has the same vector of length 1, and another text another one", func(t *testing.T) {
		e, err := llm.NewEmbedder(t.Context(), o, config.Models{BaseURL: url, Embedding: model})
		if err != nil || !strings.HasPrefix(e.ID, model+"@") {
			t.Fatalf("%+v, %v", e, err)
		}
		v, err := e.Embed(t.Context(), []string{"Add the prices.", "a quite different text", "Add the prices."})
		if err != nil || len(v) != 3 {
			t.Fatal(v, err)
		}
		dot := func(a, b []float32) (sum float64) {
			for i := range a {
				sum += float64(a[i]) * float64(b[i])
			}
			return sum
		}
		if same, other := dot(v[0], v[2]), dot(v[0], v[1]); same < 0.999 || same > 1.001 || other > 0.999 {
			t.Errorf("the same text: %v, another text: %v", same, other)
		}
	})
	t.Run("an embedding model that is missing gives the advice to pull it", func(t *testing.T) {
		_, err := llm.NewEmbedder(t.Context(), o, config.Models{BaseURL: url, Embedding: "no-such-model"})
		var e *llm.NotFoundError
		if !errors.As(err, &e) {
			t.Fatal(err)
		}
	})
	t.Run("a cancelled call returns the cancellation", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_, err := llm.New(o).Complete(ctx, llm.Request{Model: m, Prompt: "Say something."})
		if !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
	})
	t.Run("concurrent calls work", func(t *testing.T) {
		c := llm.New(o)
		var wait sync.WaitGroup
		errs := make([]error, 6)
		for i := range errs {
			wait.Go(func() {
				_, errs[i] = c.Complete(t.Context(),
					llm.Request{Model: m, Prompt: "Answer with JSON.", Schema: json.RawMessage(conformanceSchema)})
			})
		}
		wait.Wait()
		if err := errors.Join(errs...); err != nil {
			t.Fatal(err)
		}
	})
}
