package runner

import (
	"testing"

	"github.com/runplan/runplan/agents"
)

// The cost limit includes the cost of critiques of an agent's steps, but the expected cost of the next attempt does
// not.
func TestCritiqueCountsAgainstCostLimit(t *testing.T) {
	one, some := 1.0, 0.25
	e := Event{Kind: Executed, Batch: "a", Outcome: OutcomeOK, Usage: &agents.Usage{CostUSD: &one},
		Critique: &CritiqueCost{Calls: 3, Usage: agents.Usage{CostUSD: &some}}}
	var c costs
	c.add(e)
	if c.sum != 1.25 || c.next() != 1 || c.unknown != "" {
		t.Errorf("%+v", c)
	}
	e.Critique.Usage.CostUSD = nil
	if c.add(e); c.unknown != "a" {
		t.Error("a critique of unknown cost is taken for one that cost nothing")
	}
}
