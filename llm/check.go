package llm

import (
	"math"

	"github.com/runplan/runplan/internal/tokens"
)

// Check refuses a call that does not fit into the window (BUD-05): system text and prompt by estimate, raised by the
// margin of b, and what the answer may have. The window is the smaller of b's and the model's; where neither is known,
// nothing can be checked. What to leave out is the caller's decision (BUD-06).
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
	return &WindowError{Model: r.Model.Label(), Role: r.Model.Role, Prompt: prompt, Answer: r.Model.MaxTokens, Window: window}
}

// Size estimates the tokens of a question with a margin (BUD-04).
func Size(r Request, margin float64) int {
	return int(math.Ceil(float64(tokens.Estimate(r.System)+tokens.Estimate(r.Prompt)) * (1 + margin)))
}
