// Package tokens estimates tokens and limits the input and output of models. A token is the unit that a model reads and
// a provider bills; here it is four characters, because each model counts in its own way. A budget divides the window
// of a model into the part for context and the part that is reserved for the task and the answer.
package tokens

import (
	"fmt"
	"math"
	"unicode/utf8"
)

// PerToken is the estimated number of characters in a token (BUD-04).
const PerToken = 4

// Estimate returns the number of tokens of text, rounded up (BUD-04).
func Estimate(text string) int { return OfChars(utf8.RuneCountInString(text)) }

// OfChars returns the number of tokens of so many characters, rounded up.
func OfChars(n int) int { return (n + PerToken - 1) / PerToken }

// Budget is the size limit of a model's input and output, in tokens (BUD-01).
type Budget struct {
	Window   int `json:"context_window" toml:"context_window"`   // prompt and answer together
	Reserved int `json:"reserved_tokens" toml:"reserved_tokens"` // for system prompt, task, retries, answer
	// safety margin of estimates, as a share (BUD-04)
	Margin float64 `json:"margin,omitempty" toml:"-"`
}

// Validate returns an error for an invalid budget (BUD-07).
func (b Budget) Validate() error {
	switch {
	case b.Window <= 0:
		return fmt.Errorf("context_window is %d; it must be above 0", b.Window)
	case b.Reserved < 0:
		return fmt.Errorf("reserved_tokens is %d; it must not be below 0", b.Reserved)
	case b.Reserved >= b.Window:
		return fmt.Errorf("reserved_tokens (%d) leaves nothing of context_window (%d)", b.Reserved, b.Window)
	case b.Margin < 0:
		return fmt.Errorf("the margin of estimates is %v; it must not be below 0", b.Margin)
	}
	return nil
}

// Retrieval returns the tokens left for context (BUD-02).
func (b Budget) Retrieval() int { return b.Window - b.Reserved }

// Of estimates the tokens of a text, given in one or several parts, with the margin of the budget (BUD-04).
func (b Budget) Of(text ...string) int {
	n := 0
	for _, t := range text {
		n += utf8.RuneCountInString(t)
	}
	return int(math.Ceil(float64(OfChars(n)) * (1 + b.Margin)))
}
