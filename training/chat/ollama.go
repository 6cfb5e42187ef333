package chat

import (
	"context"
	"fmt"

	"github.com/runplan/runplan/llm"
	"github.com/runplan/runplan/training"
)

// goTemplate renders with an Ollama template, or on the server if the model uses a built-in renderer.
type goTemplate struct {
	name   string
	render func(context.Context, []llm.Turn) (string, error)
	stops  []string
	end    func(context.Context) (string, error) // returns the end marker of an answer if the template has none
}

// FromServer returns a renderer that works as the Ollama server does for a model.
func FromServer(ctx context.Context, o llm.Options, m llm.Model) (Renderer, error) {
	facts, err := llm.Chat(ctx, o, m)
	if err != nil {
		return nil, fmt.Errorf("get the template of %s: %w", m.Name, err)
	}
	r := &goTemplate{name: "ollama:" + m.Name, stops: facts.Stops}
	if facts.Template != nil {
		r.render = func(_ context.Context, t []llm.Turn) (string, error) { return facts.Template.Render(t) }
	} else {
		r.render = func(ctx context.Context, t []llm.Turn) (string, error) { return llm.RenderOnServer(ctx, o, m, t) }
	}
	known := ""
	r.end = func(ctx context.Context) (string, error) {
		if known == "" {
			if known, err = llm.EndOfSequence(ctx, o, m); err != nil {
				return "", fmt.Errorf("get the end marker of %s: %w", m.Name, err)
			}
		}
		return known, nil
	}
	return r, nil
}

// FromText returns a renderer for an Ollama template. end is the end marker of answers, or "" if the template contains
// it.
func FromText(name, text, end string) (Renderer, error) {
	t, err := llm.ParseChatTemplate(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	r := &goTemplate{
		name:   name,
		render: func(_ context.Context, turns []llm.Turn) (string, error) { return t.Render(turns) },
		end: func(context.Context) (string, error) {
			if end == "" {
				return "", fmt.Errorf("%s: %w: it does not show what ends an answer; give it with --end", name, ErrTemplate)
			}
			return end, nil
		},
	}
	if end != "" {
		r.stops = []string{end}
	}
	return r, nil
}

func (g *goTemplate) Name() string { return g.name }

func (g *goTemplate) Pair(ctx context.Context, prompt []training.Message, answer string) (Pair, error) {
	asked, err := g.render(ctx, turns(prompt))
	if err != nil {
		return Pair{}, err
	}
	said := llm.Turn{Role: "user", Content: next}
	full, err := g.render(ctx, turns(prompt, llm.Turn{Role: "assistant", Content: answer}, said))
	if err != nil {
		return Pair{}, err
	}
	alone, err := g.render(ctx, []llm.Turn{said})
	if err != nil {
		return Pair{}, err
	}
	return cut(asked, answer, full, alone, g.stops, func() (string, error) { return g.end(ctx) })
}
