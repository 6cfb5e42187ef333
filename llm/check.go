package llm

import (
	"math"

	"github.com/runplan/runplan/internal/tokens"
)

// Check rejects a call that does not fit into the window (BUD-05). It adds the estimate for system text and prompt,
// raised by the margin of b, and the limit of the answer. The window is the smaller of b's and the model's; if both
// are unknown, Check accepts. The caller decides what to leave out (BUD-06).
func Check(r Request, b tokens.Budget) error {
	window := r.Model.Window
	if b.Window > 0 && (window == 0 || b.Window < window) {
		window = b.Window
	}
	if window <= 0 {
		return nil
	}
	prompt := Size(r, b.Margin)
	if prompt+r.Model.MaxTokens <= window {
		return nil
	}
	return &WindowError{Model: r.Model.Label(), Role: r.Model.Role, Prompt: prompt, Answer: r.Model.MaxTokens,
		Window: window}
}

// Size estimates the tokens of a question, with a margin (BUD-04).
func Size(r Request, margin float64) int {
	return int(math.Ceil(float64(tokens.Estimate(r.System)+tokens.Estimate(r.Prompt)) * (1 + margin)))
}
