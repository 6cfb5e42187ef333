package chat_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/runplan/runplan/training"
	"github.com/runplan/runplan/training/chat"
)

func today() time.Time { return time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC) }

var special = map[string]string{"bos_token": "<s>", "eos_token": "</s>"}

// TRAIN-20: conversations rendered with the templates of tokenizers are identical to Jinja's own output, byte for
// byte.
func TestTemplatesMatchJinjaOutput(t *testing.T) {
	b, err := os.ReadFile(filepath.Join("testdata", "jinja.json"))
	if err != nil {
		t.Fatal(err)
	}
	var cases []struct {
		Name     string
		Template string
		Messages []training.Message
		Generate bool
		Want     *string
		Error    string
	}
	if err := json.Unmarshal(b, &cases); err != nil || len(cases) < 50 {
		t.Fatalf("%d cases: %v", len(cases), err)
	}
	for _, c := range cases {
		j, err := chat.ParseJinja(c.Name, c.Template, special, today)
		if err != nil {
			t.Errorf("%s: %v", c.Name, err)
			continue
		}
		got, err := j.Render(c.Messages, c.Generate)
		switch {
		case c.Want == nil && (!errors.Is(err, chat.ErrTemplate) || !strings.Contains(err.Error(), c.Error)):
			t.Errorf("%s, %d messages: %q, %v; want the error %q", c.Name, len(c.Messages), got, err, c.Error)
		case c.Want != nil && err != nil:
			t.Errorf("%s, %d messages: %v", c.Name, len(c.Messages), err)
		case c.Want != nil && got != *c.Want:
			t.Errorf("%s, %d messages, generate %v:\n got %q\nwant %q", c.Name, len(c.Messages), c.Generate, got, *c.Want)
		}
	}
}

// A template is found in every place where models store it.
func TestLoadJinja(t *testing.T) {
	const text = "{% for m in messages %}{{ bos_token }}{{ m.content }}{{ eos_token }}{% endfor %}{% if " +
		"add_generation_prompt %}{{ '>' }}{% endif %}"
	quoted, _ := json.Marshal(text)
	for name, c := range map[string]struct {
		files map[string]string
		load  string
		want  string
		wrong string
	}{
		"in the settings of the tokenizer": {files: map[string]string{"tokenizer_config.json": `{"chat_template":` +
			string(quoted) + `,"bos_token":"<s>","eos_token":{"content":"</s>","lstrip":false}}`}, load: "tokenizer_config.json",
			want: "<s>2+2?</s>>"},
		"one of several":                    {files: map[string]string{"tokenizer_config.json": `{"chat_template":[{"name":"tool_use","template":"no"},{"name":"default","template":` + string(quoted) + `}],"eos_token":"</s>"}`}, load: "tokenizer_config.json", want: "2+2?</s>>"},
		"in a file of its own, by a folder": {files: map[string]string{"tokenizer_config.json": `{"bos_token":"<s>","eos_token":"</s>"}`, "chat_template.jinja": text}, load: ".", want: "<s>2+2?</s>>"},
		"the file itself":                   {files: map[string]string{"x.jinja": text}, load: "x.jinja", want: "2+2?>"},
		"none": {files: map[string]string{"tokenizer_config.json": `{"eos_token":"</s>"}`},
			load: "tokenizer_config.json", wrong: "chat_template is missing"},
		"no JSON": {files: map[string]string{"tokenizer_config.json": `{`},
			load: "tokenizer_config.json", wrong: "tokenizer_config.json"},
		"another file": {files: map[string]string{"x.jinja": "{% include 'y' %}"}, load: "x.jinja",
			wrong: "may not include"},
		"no file": {load: "x.jinja", wrong: "no such file"},
		"not Jinja": {files: map[string]string{"x.jinja": "{% for %}"}, load: "x.jinja",
			wrong: "ollama:MODEL"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			for file, text := range c.files {
				if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			j, err := chat.LoadJinja(filepath.Join(dir, c.load), today)
			if c.wrong != "" {
				if err == nil || !strings.Contains(err.Error(), c.wrong) {
					t.Errorf("%v, want an error with %q", err, c.wrong)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			got, err := j.Render([]training.Message{{Role: "user", Content: "2+2?"}}, true)
			if err != nil || got != c.want {
				t.Errorf("%q, %v; want %q", got, err, c.want)
			}
		})
	}
}

// A completion is the text that a template writes after the prompt; a template that changes the answer or the prompt
// is refused.
func TestJinjaPairs(t *testing.T) {
	for name, c := range map[string]struct{ template, prompt, completion, wrong string }{
		"turns": {template: "{% for m in messages %}<{{ m.role }}>{{ m.content|trim }}</>\n{% endfor %}{% if " +
			"add_generation_prompt %}<assistant>{% endif %}", prompt: "<system>Be terse.</>\n<user>2+2?</>\n<assistant>",
			completion: "4</>\n"},
		"the prompt changes": {template: "{{ messages|length }}{{ messages[-1].content }}",
			wrong: "does not begin with the prompt"},
		"no answer":  {template: "{{ messages[0].content }}", wrong: "changes the answer"},
		"it refuses": {template: "{{ raise_exception('only users') }}", wrong: "only users"},
	} {
		t.Run(name, func(t *testing.T) {
			j, err := chat.ParseJinja("x", c.template, special, today)
			if err != nil {
				t.Fatal(err)
			}
			got, err := j.Pair(t.Context(), question, " 4\n")
			if c.wrong != "" {
				if !errors.Is(err, chat.ErrTemplate) || !strings.Contains(err.Error(), c.wrong) {
					t.Errorf("%q, %v; want an error with %q", got, err, c.wrong)
				}
			} else if err != nil || got.Prompt != c.prompt || got.Completion != c.completion {
				t.Errorf("%q, %v", got, err)
			}
		})
	}
}
