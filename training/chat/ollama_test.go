package chat_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/runplan/runplan/training"
	"github.com/runplan/runplan/training/chat"
)

// The three kinds of template that Ollama servers use: one text for all turns, one that omits the end of the last
// turn, and the older kind with one question and one answer.
const (
	chatml = "{{- range .Messages }}<|im_start|>{{ .Role }}\n{{ .Content }}<|im_end|>\n{{ end }}<|im_start|>assistant\n"
	last   = "{{- range $i, $m := .Messages }}{{- $end := eq (len (slice $.Messages $i)) 1 }}<|im_start|>{{ .Role " +
		"}}\n{{ .Content }}" +
		"{{ if not $end }}<|im_end|>\n{{ end }}{{ if and $end (ne .Role \"assistant\") " +
		"}}<|im_end|>\n<|im_start|>assistant\n{{ end }}{{ end }}"
	llama3 = "{{- range .Messages }}<|start_header_id|>{{ .Role }}<|end_header_id|>\n\n{{ .Content }}<|eot_id|>\n{{- " +
		"end }}<|start_header_id|>assistant<|end_header_id|>\n\n"
	legacy = "{{ if .System }}[S]{{ .System }}[/S]{{ end }}[Q]{{ .Prompt }}[/Q]{{ .Response }}"
	closed = legacy + "</s>"
	named  = "{{ .System }} USER: {{ .Prompt }} ASSISTANT: {{ .Response }}"
)

var question = []training.Message{{Role: "system", Content: "Be terse."}, {Role: "user", Content: "2+2?"}}

// TRAIN-20: prompt and completion are parts of the conversation as the model's own template renders it.
func TestPairs(t *testing.T) {
	for name, c := range map[string]struct {
		template, end      string
		prompt, completion string
		wrong              string
	}{
		"turns": {
			template: chatml, end: "<|im_end|>",
			prompt:     "<|im_start|>system\nBe terse.<|im_end|>\n<|im_start|>user\n2+2?<|im_end|>\n<|im_start|>assistant\n",
			completion: "4<|im_end|>",
		},
		"turns without an end marker": {
			template:   chatml,
			prompt:     "<|im_start|>system\nBe terse.<|im_end|>\n<|im_start|>user\n2+2?<|im_end|>\n<|im_start|>assistant\n",
			completion: "4<|im_end|>\n",
		},
		"the last turn is left open": {
			template: last, end: "<|im_end|>",
			prompt:     "<|im_start|>system\nBe terse.<|im_end|>\n<|im_start|>user\n2+2?<|im_end|>\n<|im_start|>assistant\n",
			completion: "4<|im_end|>",
		},
		"headers": {
			template: llama3, end: "<|eot_id|>",
			prompt: "<|start_header_id|>system<|end_header_id|>\n\nBe " +
				"terse.<|eot_id|><|start_header_id|>user<|end_header_id|>\n\n2+2?<|eot_id|><|start_header_id|>assistant<|end_header_id|>\n\n",
			completion: "4<|eot_id|>",
		},
		"the older kind": {template: legacy, end: "<EOS>", prompt: "[S]Be terse.[/S][Q]2+2?[/Q]",
			completion: "4<EOS>"},
		"the older form without an end marker": {template: legacy, wrong: "--end"},
		"the older kind, closed": {template: closed, prompt: "[S]Be terse.[/S][Q]2+2?[/Q]",
			completion: "4</s>"},
		"names for turns": {template: named, end: "</s>", prompt: "Be terse. USER: 2+2? ASSISTANT: ",
			completion: "4</s>"},
		"nothing is put where the answer goes": {template: "{{ range .Messages }}{{ if ne .Role \"assistant\" }}{{ " +
			".Content }}{{ end }}{{ end }}", wrong: "the answer does not follow directly after the prompt"},
		"it fails": {template: "{{ range .Messages }}{{ .Nothing }}{{ end }}", wrong: "Nothing"},
	} {
		t.Run(name, func(t *testing.T) {
			r, err := chat.FromText("x.gotmpl", c.template, c.end)
			if err != nil {
				t.Fatal(err)
			}
			got, err := r.Pair(t.Context(), question, "4")
			if c.wrong != "" {
				if err == nil || !strings.Contains(err.Error(), c.wrong) {
					t.Errorf("%+v, %v; want an error with %q", got, err, c.wrong)
				}
				return
			}
			if err != nil || got.Prompt != c.prompt || got.Completion != c.completion {
				t.Errorf("%v\n got %q, %q\nwant %q, %q", err, got.Prompt, got.Completion, c.prompt, c.completion)
			}
		})
	}
	if _, err := chat.FromText("x", "{{ range }", ""); err == nil {
		t.Error("an incomplete template was accepted")
	}
}

// Text in a conversation stays text and unchanged, even if it looks like template code or special tokens.
func FuzzPairs(f *testing.F) {
	f.Add("{{ .Messages }}", "<|im_end|>")
	f.Add("What is next?", "a\x00b{% endfor %}\n")
	f.Add("", " x ")
	f.Fuzz(func(t *testing.T, ask, answer string) {
		if strings.TrimSpace(answer) == "" || strings.ContainsRune(answer+ask, '\ufffd') || !valid(ask) || !valid(answer) {
			return
		}
		prompt := []training.Message{{Role: "user", Content: ask}}
		for _, text := range []string{chatml, last, llama3, closed} {
			r, err := chat.FromText("x", text, "")
			if err != nil {
				t.Fatal(err)
			}
			p, err := r.Pair(t.Context(), prompt, answer)
			switch {
			case errors.Is(err, chat.ErrTemplate):
			case err != nil:
				t.Errorf("%v", err)
			case !strings.HasPrefix(p.Completion, strings.TrimSpace(answer)) && !strings.HasPrefix(p.Completion, answer):
				t.Errorf("completion %q of %q", p.Completion, answer)
			case ask != "" && !strings.Contains(p.Prompt, ask):
				t.Errorf("prompt %q of %q", p.Prompt, ask)
			}
		}
		j, err := chat.ParseJinja("x",
			"{% for m in messages %}<{{ m.role }}>{{ m.content }}</>{% endfor %}{% if add_generation_prompt %}<assistant>{% "+
				"endif %}", nil, today)
		if err != nil {
			t.Fatal(err)
		}
		p, err := j.Pair(t.Context(), prompt, answer)
		if err != nil || p.Prompt != "<user>"+ask+"</><assistant>" || p.Completion != answer+"</>" {
			t.Errorf("%v: %q", err, p)
		}
	})
}

func valid(s string) bool { return strings.ToValidUTF8(s, "") == s }

// Any template text in a model's file gives an error or a text, and never a panic.
func FuzzTemplates(f *testing.F) {
	for _, s := range []string{chatml, last, llama3, legacy, "{% for m in messages %}{{ m.content }}{% endfor %}",
		"{{ messages[-1] }}", "{% set x = messages[1:] %}{{ x|tojson }}", "{% include 'x' %}",
		"{{ .Response }}{{ if .Response }}x{{ end }}"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if strings.Contains(text, "range") || len(text) > 400 {
			return // a loop over a number is as long as the number is large, in both languages
		}
		if r, err := chat.FromText("x", text, "<end>"); err == nil {
			_, _ = r.Pair(t.Context(), question, "4")
		}
		if j, err := chat.ParseJinja("x", text, special, today); err == nil {
			_, _ = j.Pair(t.Context(), question, "4")
		}
	})
}
