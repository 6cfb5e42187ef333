package command

import (
	"errors"
	"fmt"

	"github.com/runplan/runplan/agents"
	"github.com/runplan/runplan/agents/stream"
	"github.com/runplan/runplan/internal/phrase"
)

// errRunaway reports that an attempt was stopped because it made no progress, or used too many tokens or too much
// money. The text after it names the limit.
var errRunaway = errors.New("runaway attempt")

// maxCalls bounds the memory of a brake. An agent that makes more different calls than this is not in a loop.
const maxCalls = 50_000

// brake stops a running attempt if the agent only repeats earlier calls, or if it has used more tokens or money than
// one attempt may use.
type brake struct {
	limits  agents.Limits
	stop    func(error)
	cost    func(stream.Totals) *float64 // US dollars so far; nil if unknown
	seen    map[string]bool
	repeats int
}

// call records a tool call.
func (b *brake) call(e stream.Event) {
	if b.limits.MaxRepeats <= 0 || e.Cut {
		b.repeats = 0 // two calls that were cut may differ
		return
	}
	key := e.Tool + "\x00" + e.Text + "\x00" + e.Input
	if !b.seen[key] {
		b.repeats = 0
		if len(b.seen) < maxCalls {
			b.seen[key] = true
		}
		return
	}
	if b.repeats++; b.repeats >= b.limits.MaxRepeats {
		b.stop(fmt.Errorf("%w: its last %d tool calls were all repetitions, most recently %s; run.max_repeats sets the limit",
			errRunaway, b.repeats, e.Tool))
	}
}

// used checks the tokens and the cost so far.
func (b *brake) used(t stream.Totals) {
	if sum := t.Tokens.Sum(); b.limits.MaxTokens > 0 && sum > b.limits.MaxTokens {
		b.stop(fmt.Errorf("%w: it used %d tokens, and one attempt may use %d; run.max_attempt_tokens sets the limit",
			errRunaway, sum, b.limits.MaxTokens))
	}
	if b.limits.MaxCostUSD <= 0 && b.limits.RunCostUSD <= 0 {
		return
	}
	cost := b.cost(t)
	if cost == nil {
		return
	}
	beside := 0.0
	if b.limits.Beside != nil {
		beside = b.limits.Beside(*cost)
	}
	switch most := b.limits.MaxCostUSD; {
	case most > 0 && *cost > most:
		b.stop(fmt.Errorf("%w: it cost %s, and it may cost %s; run.max_attempt_cost_usd sets the limit",
			errRunaway, phrase.Money(*cost), phrase.Money(most)))
	case b.limits.RunCostUSD <= 0 || *cost+beside <= b.limits.RunCostUSD:
	case beside == 0:
		b.stop(fmt.Errorf("%w: it cost %s, and it may cost %s; --max-cost sets the limit",
			errRunaway, phrase.Money(*cost), phrase.Money(b.limits.RunCostUSD)))
	default:
		b.stop(
			fmt.Errorf(
				"%w: it cost %s and the concurrent attempts cost %s; together they may cost %s; --max-cost sets the limit",
				errRunaway, phrase.Money(*cost), phrase.Money(beside), phrase.Money(b.limits.RunCostUSD)))
	}
}
