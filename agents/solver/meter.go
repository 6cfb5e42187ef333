package solver

import (
	"context"
	"time"

	"github.com/runplan/runplan/llm"
)

// meter counts the tokens of calls.
type meter struct {
	llm.Completer
	in, out int64
	calls   int
	unknown bool // a call did not report its tokens
	took    time.Duration
}

// Complete calls the model and counts its tokens.
func (m *meter) Complete(ctx context.Context, r llm.Request) (llm.Response, error) {
	resp, err := m.Completer.Complete(ctx, r)
	m.calls++
	m.took += resp.Latency
	if resp.PromptTokens == nil || resp.CompletionTokens == nil {
		m.unknown = true
		return resp, err
	}
	m.in += int64(*resp.PromptTokens)
	m.out += int64(*resp.CompletionTokens)
	return resp, err
}
