package llm

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/ollama/ollama/api"
	"github.com/ollama/ollama/template"
	"github.com/ollama/ollama/types/model"

	"github.com/runplan/runplan/internal/lists"
)

// Turn is one message of a conversation.
type Turn struct {
	Role    string // system, user or assistant
	Content string
}

// ChatTemplate renders conversations as the text that a model sees. It uses Ollama's template language and code, which
// also supports the older form with .Prompt and .Response.
type ChatTemplate struct {
	parsed *template.Template
	before []Turn // messages that the Modelfile puts before each conversation
	system string // system message of the Modelfile, used if a conversation has none
	thinks bool
}

// ParseChatTemplate reads a template.
func ParseChatTemplate(text string) (*ChatTemplate, error) {
	t, err := template.Parse(text)
	if err != nil {
		return nil, fmt.Errorf("read the template: %w", err)
	}
	return &ChatTemplate{parsed: t}, nil
}

// mostRendered is the highest size of a rendered conversation in bytes.
const mostRendered = 64 << 20

// Render returns the text of a conversation, up to the start of the model's answer.
func (t *ChatTemplate) Render(turns []Turn) (text string, err error) {
	defer func() {
		// Ollama's code for the older form panics on some templates.
		if p := recover(); p != nil {
			err = fmt.Errorf("execute the template: %v", p)
		}
	}()
	turns = t.complete(turns)
	values := template.Values{Messages: messages(turns)}
	if t.thinks {
		think := api.ThinkValue{Value: true} // default of the server
		values.Think, values.ThinkLevel, values.IsThinkSet = true, think.String(), true
	}
	var b bytes.Buffer
	if err := t.parsed.Execute(&bounded{w: &b, left: mostRendered}, values); err != nil {
		return "", fmt.Errorf("execute the template: %w", err)
	}
	return b.String(), nil
}

// complete adds to a conversation what the server adds.
func (t *ChatTemplate) complete(turns []Turn) []Turn {
	out := slices.Concat(t.before, turns)
	if t.system != "" && (len(turns) == 0 || turns[0].Role != "system") {
		out = slices.Insert(out, 0, Turn{"system", t.system})
	}
	return out
}

// messages makes a copy, because Ollama's code joins consecutive messages of a role in place.
func messages(turns []Turn) []api.Message {
	return lists.Map(turns, func(t Turn) api.Message { return api.Message{Role: t.Role, Content: t.Content} })
}

type bounded struct {
	w    io.Writer
	left int
}

func (b *bounded) Write(p []byte) (int, error) {
	if len(p) > b.left {
		return 0, fmt.Errorf("it renders one conversation to more than %d MiB", mostRendered>>20)
	}
	b.left -= len(p)
	return b.w.Write(p)
}

// ChatFacts holds a server's facts about the chat format of a model.
type ChatFacts struct {
	Template *ChatTemplate // nil: the server uses a built-in renderer, see Renderer
	Renderer string        // name of the built-in renderer
	Stops    []string      // stop sequences in the model's parameters
}

// Chat asks an Ollama server for the template of a model.
func Chat(ctx context.Context, o Options, m Model) (ChatFacts, error) {
	show, err := show(ctx, o, m, false)
	if err != nil {
		return ChatFacts{}, err
	}
	f := ChatFacts{Renderer: show.Renderer, Stops: stops(show.Parameters)}
	if f.Renderer != "" {
		return f, nil
	}
	if f.Template, err = ParseChatTemplate(show.Template); err != nil {
		return ChatFacts{}, fmt.Errorf("model %s: %w", m.Name, err)
	}
	f.Template.system = show.System
	for _, t := range show.Messages {
		f.Template.before = append(f.Template.before, Turn{t.Role, t.Content})
	}
	f.Template.thinks = slices.Contains(show.Capabilities, model.CapabilityThinking)
	return f, nil
}

// EndOfSequence asks an Ollama server for the text of the token that ends an answer. It returns "" if the server does
// not report it.
func EndOfSequence(ctx context.Context, o Options, m Model) (string, error) {
	show, err := show(ctx, o, m, true)
	if err != nil {
		return "", err
	}
	all, _ := show.ModelInfo["tokenizer.ggml.tokens"].([]any)
	id, known := show.ModelInfo["tokenizer.ggml.eos_token_id"].(float64)
	if !known || id < 0 || int(id) >= len(all) {
		return "", nil
	}
	text, _ := all[int(id)].(string)
	return text, nil
}

func show(ctx context.Context, o Options, m Model, verbose bool) (s *api.ShowResponse, err error) {
	err = onServer(ctx, o, Request{Model: m}, func(ctx context.Context, c *api.Client) (err error) {
		s, err = c.Show(ctx, &api.ShowRequest{Model: m.Name, Verbose: verbose})
		return err
	})
	return s, err
}

// stops parses the stop parameters of a model in the server's format: a name, spaces, and a value that may be quoted.
func stops(parameters string) []string {
	var out []string
	for line := range strings.Lines(parameters) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), " ")
		if value = strings.TrimSpace(value); name == "stop" && value != "" {
			if inside, quoted := strings.CutPrefix(value, `"`); quoted && strings.HasSuffix(inside, `"`) {
				value = inside[:len(inside)-1]
			}
			out = append(out, value)
		}
	}
	return out
}

// RenderOnServer has an Ollama server render a conversation without asking the model. It uses a debugging feature of
// the server; if the server lacks it, that is an error.
func RenderOnServer(ctx context.Context, o Options, m Model, turns []Turn) (string, error) {
	no := false
	req := &api.ChatRequest{Model: m.Name, Messages: messages(turns), DebugRenderOnly: true, Truncate: &no, Stream: &no}
	var text *string
	err := onServer(ctx, o, Request{Model: m}, func(ctx context.Context, c *api.Client) error {
		err := c.Chat(ctx, req, func(r api.ChatResponse) error {
			if r.DebugInfo == nil {
				return errNotRendered
			}
			text = &r.DebugInfo.RenderedTemplate
			return nil
		})
		if errors.Is(err, errNotRendered) {
			return nil
		}
		return err
	})
	switch {
	case err != nil:
		return "", err
	case text == nil:
		return "", fmt.Errorf("render with model %s at %s: %w", m.Name, m.BaseURL, errNotRendered)
	}
	return *text, nil
}

var errNotRendered = errors.New("the server runs the model instead of only rendering; install a newer version")

// CountTokens has an Ollama server count the exact tokens of a text. It takes time, because the server runs the model
// on the text. If the text exceeds the window of m, it returns a [WindowError].
func CountTokens(ctx context.Context, o Options, m Model, text string) (int, error) {
	no := false
	req := &api.GenerateRequest{
		Model: m.Name, Prompt: text, Raw: true, Truncate: &no, Shift: &no, Stream: &no,
		Options: map[string]any{"num_predict": 1, "temperature": 0},
	}
	if m.Window > 0 {
		req.Options["num_ctx"] = m.Window
	}
	var last api.GenerateResponse
	err := onServer(ctx, o, Request{Model: m, Prompt: text}, func(ctx context.Context, c *api.Client) error {
		return c.Generate(ctx, req, func(r api.GenerateResponse) error { last = r; return nil })
	})
	if err != nil {
		return 0, err
	}
	if !last.Done || last.PromptEvalCount == 0 {
		return 0, fmt.Errorf("count tokens with model %s at %s: the server does not report the count", m.Name, m.BaseURL)
	}
	return last.PromptEvalCount, nil
}
