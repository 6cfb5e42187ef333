// Package chat writes a conversation as the text that a model sees, with the template that belongs to the model: the one
// of an Ollama server, or the Jinja of a tokenizer_config.json. No token of any model is written down here (TRAIN-20).
package chat

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/runplan/runplan/llm"
	"github.com/runplan/runplan/training"
)

// Pair is a conversation as text, cut where the model begins to speak.
type Pair struct {
	Prompt     string
	Completion string // the answer, and what ends it
}

// Renderer writes conversations for one model.
type Renderer interface {
	// Name tells where the template is from.
	Name() string
	// Pair writes a prompt and the answer to it.
	Pair(ctx context.Context, prompt []training.Message, answer string) (Pair, error)
}

// ErrTemplate says that a template cannot be used for training: it fails, or makes of a conversation what cannot be cut.
var ErrTemplate = errors.New("the template does not fit")

// next is what somebody says after the answer, so that a template has to end the answer before it.
const next = "What is next?"

// cut finds the completion in full, where the answer and what somebody says next follow the prompt. alone is how a
// conversation looks that begins with what is said next.
func cut(prompt, answer, full, alone string, stops []string, end func() (string, error)) (Pair, error) {
	rest, ok := strings.CutPrefix(full, prompt+answer)
	if !ok {
		// Some templates take the blanks around an answer away, and a model that is taught by them never says any.
		answer = strings.TrimSpace(answer)
		rest, ok = strings.CutPrefix(full, prompt+answer)
	}
	if !ok {
		return Pair{}, fmt.Errorf("%w: it does not put the answer right after the prompt: %s", ErrTemplate, difference(full, prompt+answer))
	}
	closing, whole := strings.CutSuffix(rest, alone)
	if !whole {
		// What is said next looks otherwise after an answer than at the beginning. What ends the answer comes before it.
		closing, _, _ = strings.Cut(rest, next)
	}
	if at, stop := firstOf(closing, stops); at >= 0 {
		return Pair{prompt, answer + closing[:at+len(stop)]}, nil
	}
	if whole && strings.TrimSpace(closing) != "" {
		return Pair{prompt, answer + closing}, nil
	}
	text, err := end()
	switch {
	case err != nil:
		return Pair{}, err
	case text == "":
		return Pair{}, fmt.Errorf("%w: nothing tells what ends an answer", ErrTemplate)
	}
	return Pair{prompt, answer + text}, nil
}

// firstOf finds the first of several words in text.
func firstOf(text string, words []string) (at int, word string) {
	at = -1
	for _, w := range words {
		if i := strings.Index(text, w); w != "" && i >= 0 && (at < 0 || i < at) {
			at, word = i, w
		}
	}
	return at, word
}

// difference quotes the places where two texts part.
func difference(got, want string) string {
	i := 0
	for i < len(got) && i < len(want) && got[i] == want[i] {
		i++
	}
	from := max(0, i-20)
	return fmt.Sprintf("at byte %d there is %.60q, not %.60q", i, got[from:], want[from:])
}

func turns(prompt []training.Message, more ...llm.Turn) []llm.Turn {
	out := make([]llm.Turn, 0, len(prompt)+len(more))
	for _, m := range prompt {
		out = append(out, llm.Turn{Role: m.Role, Content: m.Content})
	}
	return append(out, more...)
}
