package tokens_test

import (
	"strings"
	"testing"

	"github.com/runplan/runplan/internal/tokens"
)

// BUD-04: four characters count as one token, rounded up; a character counts once, however many bytes it has.
func TestEstimate(t *testing.T) {
	for text, want := range map[string]int{"": 0, "a": 1, "abcd": 1, "abcde": 2, "üüüü": 1, "\xff\xff\xff\xff\xff": 2,
		strings.Repeat("x", 4001): 1001} {
		if got := tokens.Estimate(text); got != want {
			t.Errorf("%.10q has %d tokens, want %d", text, got, want)
		}
	}
}

// BUD-04: the margin increases an estimate, and the result is rounded up.
func TestMargin(t *testing.T) {
	text := strings.Repeat("x", 400)
	for margin, want := range map[float64]int{0: 100, 0.2: 120, 0.001: 101, 1: 200} {
		if got := (tokens.Budget{Margin: margin}).Of(text); got != want {
			t.Errorf("with a margin of %v: %d, want %d", margin, got, want)
		}
	}
}

// BUD-02, BUD-07: reserved tokens are not available for context, and a budget that leaves no tokens is refused.
func TestBudget(t *testing.T) {
	if got := (tokens.Budget{Window: 32768, Reserved: 4096}).Retrieval(); got != 28672 {
		t.Errorf("%d for context", got)
	}
	for name, c := range map[string]struct {
		b    tokens.Budget
		want string
	}{
		"as in the example":      {tokens.Budget{Window: 32768, Reserved: 4096}, ""},
		"nothing is reserved":    {tokens.Budget{Window: 1}, ""},
		"one token is left":      {tokens.Budget{Window: 10, Reserved: 9}, ""},
		"no window":              {tokens.Budget{}, "context_window is 0"},
		"a window below 0":       {tokens.Budget{Window: -1}, "context_window is -1"},
		"reserved below 0":       {tokens.Budget{Window: 1, Reserved: -1}, "reserved_tokens is -1"},
		"everything is reserved": {tokens.Budget{Window: 10, Reserved: 10}, "leaves nothing"},
		"more than all of it":    {tokens.Budget{Window: 10, Reserved: 11}, "leaves nothing"},
		"a margin that shrinks":  {tokens.Budget{Window: 10, Margin: -0.1}, "margin"},
	} {
		err := c.b.Validate()
		if (c.want == "") != (err == nil) || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
