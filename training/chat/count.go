package chat

import (
	"context"
	"errors"
	"fmt"

	"github.com/runplan/runplan/internal/tokens"
	"github.com/runplan/runplan/llm"
)

// Counter tells how many tokens a text has.
type Counter interface {
	// Name tells how it is counted, for people.
	Name() string
	// Count returns the tokens of text. Where it can only tell that there are more than limit, it returns [ErrMore].
	Count(ctx context.Context, text string, limit int) (int, error)
}

// ErrMore says that a text has more tokens than can be counted.
var ErrMore = errors.New("more tokens than can be counted")

// Estimate counts four characters as a token.
type Estimate struct{}

// Name tells how it is counted.
func (Estimate) Name() string { return "estimate, four characters a token" }

// Count estimates.
func (Estimate) Count(_ context.Context, text string, _ int) (int, error) {
	return tokens.Estimate(text), nil
}

// Server has an Ollama server count, with the tokenizer of a model.
type Server struct {
	Options llm.Options
	Model   llm.Model
}

// Name tells how it is counted.
func (s Server) Name() string { return "the tokenizer of " + s.Model.Name }

// Count asks the server, which reads the text with the model.
func (s Server) Count(ctx context.Context, text string, limit int) (int, error) {
	m := s.Model
	m.Window = limit + 16 // room for the one token that it has to answer, and for what the server keeps to itself
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
