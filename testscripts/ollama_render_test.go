//go:build unix

package testscripts

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/ollama/ollama/api"

	"github.com/runplan/runplan/llm"
	"github.com/runplan/runplan/tools/tinymodel"
	"github.com/runplan/runplan/tools/tooltest"
	"github.com/runplan/runplan/training"
	"github.com/runplan/runplan/training/chat"
)

// TRAIN-20: training text is rendered exactly as the real server renders the same conversation, for each kind of
// template: turns between tokens, headers, a last turn that stays open, and the older kind with one question and one
// answer.
func TestOllamaRendering(t *testing.T) {
	tooltest.Slow(t)
	lookAtSources(t)
	server, err := startOllama(ollamaProgram(t), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.stop(); err != nil {
			t.Error(err)
		}
	})
	if err := server.create(t.Context(), "render-base", tinymodel.Model{Seed: 1}); err != nil {
		t.Fatal(err)
	}
	client, err := server.client()
	if err != nil {
		t.Fatal(err)
	}
	options := llm.Options{Timeout: time.Minute}
	for name, c := range map[string]struct {
		template, system string
		stop             []string
		end              string // of a completion
	}{
		// the server's own template for the model's Jinja template
		"chatml": {template: "", stop: []string{"<|im_start|>", "<|im_end|>"}, end: "4<|im_end|>"},
		"llama3": {template: "{{- range .Messages }}<|start_header_id|>{{ .Role }}<|end_header_id|>\n\n{{ .Content " +
			"}}<|eot_id|>\n{{- end }}<|start_header_id|>assistant<|end_header_id|>\n\n",
			stop: []string{"<|start_header_id|>", "<|end_header_id|>", "<|eot_id|>"}, end: "4<|eot_id|>"},
		// the end is the model's end-of-sequence token
		"legacy": {template: "{{ if .System }}[S]{{ .System }}[/S]{{ end }}[Q]{{ .Prompt }}[/Q]{{ .Response }}",
			end: "4<|im_end|>"},
		"legacy-closed": {template: "{{ if .System }}{{ .System }}\n{{ end }}Q: {{ .Prompt }}\nA: {{ .Response }}<done>\n",
			stop: []string{"Q:", "<done>"}, end: "4<done>"},
		"open-end": {
			template: "{{- range $i, $m := .Messages }}{{- $last := eq (len (slice $.Messages $i)) 1 }}<{{ .Role }}>{{ " +
				".Content }}{{ if not $last }}</>{{ end }}{{ if and $last (ne .Role \"assistant\") }}</><assistant>{{ end }}{{ " +
				"end }}",
			stop: []string{"</>"}, end: "4</>",
		},
		"with-system": {template: "{{- range .Messages }}<{{ .Role }}>{{ .Content }}</>{{ end }}<assistant>",
			system: "You are kind.", stop: []string{"</>"}, end: "4</>"},
	} {
		t.Run(name, func(t *testing.T) {
			req := &api.CreateRequest{Model: "render-" + name, From: "render-base", Template: c.template, System: c.system,
				Parameters: map[string]any{"num_thread": 1}}
			if c.stop != nil {
				req.Parameters["stop"] = c.stop
			}
			if err := client.Create(t.Context(), req, func(api.ProgressResponse) error { return nil }); err != nil {
				t.Fatal(err)
			}
			m := llm.Model{Name: "render-" + name, Provider: llm.Ollama, BaseURL: server.url}
			facts, err := llm.Chat(t.Context(), options, m)
			if err != nil || facts.Template == nil {
				t.Fatalf("%+v, %v", facts, err)
			}
			r, err := chat.FromServer(t.Context(), options, m)
			if err != nil {
				t.Fatal(err)
			}
			for _, prompt := range [][]training.Message{
				{{Role: "user", Content: "2+2?"}},
				{{Role: "system", Content: "Be terse.\n"}, {Role: "user", Content: " {{ .Prompt }} \"q\" <b> ü\n\n"}},
				{{Role: "system", Content: "S"}, {Role: "user", Content: "a"}, {Role: "assistant", Content: "b"},
					{Role: "user", Content: "c"}},
				{{Role: "system", Content: "S"}, {Role: "system", Content: "T"}, {Role: "user", Content: "a"},
					{Role: "user", Content: "b"}},
			} {
				var asked []llm.Turn
				for _, p := range prompt {
					asked = append(asked, llm.Turn{Role: p.Role, Content: p.Content})
				}
				want, err := llm.RenderOnServer(t.Context(), options, m, asked)
				if err != nil {
					t.Fatal(err)
				}
				got, err := facts.Template.Render(asked)
				if err != nil || got != want {
					t.Errorf("%v\n got %q\nwant %q", err, got, want)
				}
				pair, err := r.Pair(t.Context(), prompt, "4")
				if err != nil || pair.Prompt != want || pair.Completion != c.end {
					t.Errorf("%v\n got %q, %q\nwant %q, %q", err, pair.Prompt, pair.Completion, want, c.end)
				}
				full, err := llm.RenderOnServer(t.Context(), options, m,
					append(asked, llm.Turn{Role: "assistant", Content: "4"}, llm.Turn{Role: "user", Content: "and?"}))
				if err != nil || name != "legacy" && !strings.HasPrefix(full, pair.Prompt+pair.Completion) {
					t.Errorf("%v\nin a conversation that goes on: %q", err, full)
				}
			}
		})
	}
	t.Run("tokens", func(t *testing.T) { countsTokens(t, server, client, options) })
}

// countsTokens checks that tokens are counted as the server counts them, and that a text with more tokens than the
// limit is an error.
func countsTokens(t *testing.T, server *ollamaServer, client *api.Client, options llm.Options) {
	m := llm.Model{Name: "render-base", Provider: llm.Ollama, BaseURL: server.url}
	count := chat.Server{Options: options, Model: m}
	for _, text := range []string{"a", "Be terse. 2+2?", strings.Repeat("word after word ", 40)} {
		var last api.GenerateResponse
		stream := false
		err := client.Generate(t.Context(),
			&api.GenerateRequest{Model: m.Name, Prompt: text, Template: "{{ .Prompt }}", Stream: &stream,
				Options: map[string]any{"num_predict": 4}}, func(r api.GenerateResponse) error {
				last = r
				return nil
			})
		if err != nil {
			t.Fatal(err)
		}
		want := len(last.Context) - last.EvalCount // the context is what was asked and what was answered
		got, err := count.Count(t.Context(), text, 2000)
		if err != nil || got < want-1 || got > want+1 || got != last.PromptEvalCount {
			t.Errorf("%.20q: %d tokens, %v; the server says %d, and its context has %d", text, got, err, last.PromptEvalCount,
				want)
		}
	}
	if n, err := count.Count(t.Context(), strings.Repeat("word after word ", 400), 50); !errors.Is(err, chat.ErrMore) {
		t.Errorf("%d, %v", n, err)
	}
	m.Name = "no-such-model"
	if _, err := (chat.Server{Options: options, Model: m}).Count(t.Context(), "a", 10); err == nil {
		t.Error("a missing model counts tokens")
	}
}
