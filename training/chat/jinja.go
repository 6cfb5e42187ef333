package chat

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/ncruces/go-strftime"
	"github.com/nikolalohinski/gonja/v2/builtins"
	"github.com/nikolalohinski/gonja/v2/config"
	"github.com/nikolalohinski/gonja/v2/exec"
	"github.com/nikolalohinski/gonja/v2/loaders"
	"github.com/nikolalohinski/gonja/v2/parser"

	"github.com/runplan/runplan/internal/atomicfile"
	"github.com/runplan/runplan/internal/phrase"
	"github.com/runplan/runplan/training"
)

// Jinja renders with a tokenizer's chat template, as the transformers library does.
type Jinja struct {
	name     string
	template *exec.Template
	tokens   map[string]string // special tokens by their template names
	now      func() time.Time
}

// tokenizerConfig holds the used fields of a tokenizer_config.json.
type tokenizerConfig struct {
	Template json.RawMessage `json:"chat_template"`
	BOS      token           `json:"bos_token"`
	EOS      token           `json:"eos_token"`
	PAD      token           `json:"pad_token"`
	UNK      token           `json:"unk_token"`
}

// token is a special token, stored as a string or as an object that contains it.
type token string

func (t *token) UnmarshalJSON(b []byte) error {
	var object struct{ Content string }
	if err := json.Unmarshal(b, &object); err == nil {
		*t = token(object.Content)
		return nil
	}
	return json.Unmarshal(b, (*string)(t))
}

// LoadJinja loads the template at path: a tokenizer_config.json, a folder that contains one, or a template file. now
// is the clock for templates that print the date.
func LoadJinja(path string, now func() time.Time) (*Jinja, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("read the template: %w", err)
	}
	var c tokenizerConfig
	var text string
	switch {
	case info.IsDir():
		if c, err = readTokenizer(filepath.Join(path, "tokenizer_config.json")); err != nil {
			return nil, err
		}
		b, err := os.ReadFile(filepath.Join(path, "chat_template.jinja")) // newer models have a separate file
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return nil, fmt.Errorf("read the template: %w", err)
		}
		text = string(b)
	case strings.HasSuffix(path, ".json"):
		if c, err = readTokenizer(path); err != nil {
			return nil, err
		}
	default:
		b, err := os.ReadFile(path)
		if err != nil {
			return nil, fmt.Errorf("read the template: %w", err)
		}
		text = string(b)
	}
	if text == "" {
		if text, err = c.template(); err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
	}
	special := map[string]string{"bos_token": string(c.BOS), "eos_token": string(c.EOS), "pad_token": string(c.PAD),
		"unk_token": string(c.UNK)}
	return ParseJinja(path, text, special, now)
}

func readTokenizer(path string) (tokenizerConfig, error) {
	var c tokenizerConfig
	if err := atomicfile.ReadJSON(path, &c); err != nil {
		return c, fmt.Errorf("read the template from %s: %w", path, err)
	}
	return c, nil
}

// template returns the text of the template. If there are several, it returns the one named default.
func (c tokenizerConfig) template() (string, error) {
	var text string
	var several []struct{ Name, Template string }
	switch {
	case len(c.Template) == 0 || bytes.Equal(c.Template, []byte("null")):
		return "",
			fmt.Errorf(
				"%w: chat_template is missing; the model is not for conversations, or has it in a file "+
					"chat_template.jinja next to this one: give the folder", ErrTemplate)
	case json.Unmarshal(c.Template, &text) == nil:
		return text, nil
	case json.Unmarshal(c.Template, &several) == nil:
		for _, t := range several {
			if t.Name == "default" {
				return t.Template, nil
			}
		}
	}
	return "", fmt.Errorf("%w: chat_template is neither a text nor a list with one named default", ErrTemplate)
}

// ParseJinja parses a template. special holds its special tokens, such as bos_token; empty ones are undefined.
func ParseJinja(name, text string, special map[string]string, now func() time.Time) (j *Jinja, err error) {
	defer rescue(&err)
	// Use the options of the transformers library.
	c := config.New()
	c.TrimBlocks, c.LeftStripBlocks = true, true
	filters := exec.NewFilterSet(map[string]exec.FilterFunction{}).Update(builtins.Filters)
	if err := filters.Replace("tojson", toJSON); err != nil {
		return nil, err
	}
	structures := exec.NewControlStructureSet(map[string]parser.ControlStructureParser{}).Update(
		builtins.ControlStructures)
	if err := structures.Register("generation", generation); err != nil {
		return nil, err
	}
	for _, other := range []string{"include", "import", "from", "extends"} { // a template is a single file
		if err := structures.Replace(other, refused(other)); err != nil {
			return nil, err
		}
	}
	const only = "/template"
	loader, err := loaders.NewMemoryLoader(map[string]string{only: text})
	if err != nil {
		return nil, err
	}
	t, err := exec.NewTemplate(only, c, loader, &exec.Environment{
		Context:           exec.EmptyContext().Update(builtins.GlobalFunctions).Update(builtins.GlobalVariables),
		Filters:           filters,
		Tests:             builtins.Tests,
		ControlStructures: structures,
		Methods:           builtins.Methods,
	})
	if err != nil {
		return nil,
			fmt.Errorf(
				"%s: %w: %s. An unsupported template can still be used if an Ollama server has the model: "+
					"--template ollama:MODEL", name, ErrTemplate, short(err))
	}
	return &Jinja{name: name, template: t, tokens: special, now: now}, nil
}

// Name returns the origin of the template.
func (j *Jinja) Name() string { return j.name }

// Begins returns the token with which the template may begin. Some trainers add it a second time.
func (j *Jinja) Begins() string { return j.tokens["bos_token"] }

// Render renders a conversation. With generate it ends where the model's answer would begin.
func (j *Jinja) Render(conversation []training.Message, generate bool) (text string, err error) {
	defer rescue(&err)
	values := map[string]any{
		"messages":              list(objects(conversation)),
		"add_generation_prompt": generate,
		"tools":                 nil,
		"documents":             nil,
		"raise_exception": func(why string) (string, error) {
			return "",
				fmt.Errorf("%w: its error is: %s", ErrTemplate, why)
		},
		"strftime_now": func(format string) string { return strftime.Format(format, j.now()) },
	}
	for name, text := range j.tokens {
		if text != "" {
			values[name] = text
		}
	}
	var b bytes.Buffer
	if err := j.template.Execute(&limited{&b}, exec.NewContext(values)); err != nil {
		return "", fmt.Errorf("%s: %w: %s", j.name, ErrTemplate, short(err))
	}
	return b.String(), nil
}

// Pair renders a prompt and its answer.
func (j *Jinja) Pair(_ context.Context, prompt []training.Message, answer string) (Pair, error) {
	asked, err := j.Render(prompt, true)
	if err != nil {
		return Pair{}, err
	}
	full, err := j.Render(append(prompt[:len(prompt):len(prompt)], training.Message{Role: "assistant", Content: answer}),
		false)
	if err != nil {
		return Pair{}, err
	}
	completion, ok := strings.CutPrefix(full, asked)
	if !ok {
		return Pair{}, fmt.Errorf("%s: %w: its rendering of a conversation with an answer does not begin with the prompt: %s",
			j.name, ErrTemplate, difference(full, asked))
	}
	if said := strings.TrimSpace(answer); !strings.Contains(completion, said) {
		return Pair{}, fmt.Errorf("%s: %w: it changes the answer: %s", j.name, ErrTemplate, difference(completion, said))
	}
	return Pair{asked, completion}, nil
}

// rescue converts a panic of the library into an error, because templates are foreign input.
func rescue(err *error) {
	if p := recover(); p != nil {
		*err = fmt.Errorf("%w: %v", ErrTemplate, p)
	}
}

// short removes the quoted template from a library error.
func short(err error) string {
	text := err.Error()
	if at := strings.LastIndex(text, "': "); at >= 0 && strings.HasPrefix(text, "failed to parse template") {
		text = text[at+3:]
	}
	line, _, _ := strings.Cut(text, "\n")
	return phrase.CutBytes(line, 300)
}

type limited struct{ b *bytes.Buffer }

const mostRendered = 64 << 20

func (l *limited) Write(p []byte) (int, error) {
	if l.b.Len()+len(p) > mostRendered {
		return 0, fmt.Errorf("it renders one conversation to more than %d MiB", mostRendered>>20)
	}
	return l.b.Write(p)
}
