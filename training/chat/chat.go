// Package chat renders conversations as the text that a model sees. It uses the template of the model: from an Ollama
// server, or the Jinja template in tokenizer_config.json. The code contains no model-specific tokens (TRAIN-20).
package chat

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/runplan/runplan/internal/lists"
	"github.com/runplan/runplan/llm"
	"github.com/runplan/runplan/training"
)

// Pair is a rendered conversation, split where the model's answer begins.
type Pair struct {
	Prompt     string
	Completion string // the answer and its end marker
}

// Renderer renders conversations for one model.
type Renderer interface {
	// Name returns the origin of the template.
	Name() string
	// Pair renders a prompt and its answer.
	Pair(ctx context.Context, prompt []training.Message, answer string) (Pair, error)
}

// ErrTemplate reports a template that cannot be used for training: it fails, or its output cannot be split.
var ErrTemplate = errors.New("the template does not fit")

// next is a user message after the answer, which makes a template end the answer.
const next = "What is next?"

// cut finds the completion in full, the rendering of prompt, answer and a next user message. alone is the rendering of
// a conversation that starts with that message.
func cut(prompt, answer, full, alone string, stops []string, end func() (string, error)) (Pair, error) {
	rest, ok := strings.CutPrefix(full, prompt+answer)
	if !ok {
		// Some templates trim the answer, so a model trained with them never produces surrounding blanks.
		answer = strings.TrimSpace(answer)
		rest, ok = strings.CutPrefix(full, prompt+answer)
	}
	if !ok {
		return Pair{}, fmt.Errorf("%w: the answer does not follow directly after the prompt: %s", ErrTemplate,
			difference(full, prompt+answer))
	}
	closing, whole := strings.CutSuffix(rest, alone)
	if !whole {
		// A message after an answer is rendered differently from a first message. The text before it ends the answer.
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
		return Pair{}, fmt.Errorf("%w: the end of an answer is unknown", ErrTemplate)
	}
	return Pair{prompt, answer + text}, nil
}

// firstOf returns the first occurrence of any of the words in text.
func firstOf(text string, words []string) (at int, word string) {
	at = -1
	for _, w := range words {
		if i := strings.Index(text, w); w != "" && i >= 0 && (at < 0 || i < at) {
			at, word = i, w
		}
	}
	return at, word
}

// difference quotes the position where two texts differ.
func difference(got, want string) string {
	i := 0
	for i < len(got) && i < len(want) && got[i] == want[i] {
		i++
	}
	from := max(0, i-20)
	return fmt.Sprintf("at byte %d it has %.60q, not %.60q", i, got[from:], want[from:])
}

func turns(prompt []training.Message, more ...llm.Turn) []llm.Turn {
	return append(lists.Map(prompt, func(m training.Message) llm.Turn { return llm.Turn(m) }), more...)
}
