package chat

import (
	"context"
	"errors"
	"fmt"

	"github.com/runplan/runplan/internal/tokens"
	"github.com/runplan/runplan/llm"
)

// Counter counts the tokens of a text.
type Counter interface {
	// Name describes the method of counting.
	Name() string
	// Count returns the number of tokens. If it only knows that the number is above limit, it returns [ErrMore].
	Count(ctx context.Context, text string, limit int) (int, error)
}

// ErrMore reports that a text has more tokens than the counter can count.
var ErrMore = errors.New("more tokens than can be counted")

// Estimate counts one token for four characters.
type Estimate struct{}

// Name describes the method of counting.
func (Estimate) Name() string { return "estimate, four characters a token" }

// Count estimates the number of tokens.
func (Estimate) Count(_ context.Context, text string, _ int) (int, error) {
	return tokens.Estimate(text), nil
}

// Server counts tokens with the tokenizer of a model on an Ollama server.
type Server struct {
	Options llm.Options
	Model   llm.Model
}

// Name describes the method of counting.
func (s Server) Name() string { return "the tokenizer of " + s.Model.Name }

// Count asks the server, which runs the model on the text.
func (s Server) Count(ctx context.Context, text string, limit int) (int, error) {
	m := s.Model
	m.Window = limit + 16 // room for the one token of the answer and for the server's own tokens
	n, err := llm.CountTokens(ctx, s.Options, m, text)
	var long *llm.WindowError
	switch {
	case errors.As(err, &long):
		return 0, ErrMore
	case err != nil:
		return 0, fmt.Errorf("count tokens: %w", err)
	}
	return n, nil
}
