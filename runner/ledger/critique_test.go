package ledger

import (
	"testing"

	"github.com/runplan/runplan/agents"
	"github.com/runplan/runplan/runner"
)

// The usage of critiques of an agent's steps has its own line and is not part of the agent's line (FIX-30). Unknown
// usage is not zero, and an attempt without a critique has no such line.
func TestCritiqueHasOwnLine(t *testing.T) {
	e := used(runner.Executed, "k1", 1, agents.SourceReported, usd(1))
	e.Critique = &runner.CritiqueCost{Model: "critic", Calls: 15,
		Usage: agents.Usage{InputTokens: tokens(7), Source: agents.SourceComputed, CostUSD: usd(0.3)}}
	off := used(runner.Spent, "k1", 2, agents.SourceReported, usd(1))
	off.Critique = &runner.CritiqueCost{Model: "critic", Calls: 1, Usage: agents.Usage{Source: agents.SourceUnknown}}
	lines := ledgerOf(e, off, used(runner.Executed, "k1", 3, agents.SourceReported, usd(1)))
	if len(lines) != 5 {
		t.Fatalf("%d lines, want 5: %+v", len(lines), lines)
	}
	c, lost := lines[1], lines[3]
	if c.Purpose != Critique || c.Calls != 15 || c.Model != "critic" || *c.CostUSD != 0.3 || *c.Input != 7 ||
		c.Output != nil || c.Batch != "1" {
		t.Errorf("%+v", c)
	}
	if lost.Purpose != Critique || lost.CostUSD != nil || lost.Source != agents.SourceUnknown ||
		lost.Outcome != runner.OutcomeCancelled {
		t.Errorf("%+v", lost)
	}
	groups, err := By(lines, "purpose")
	if err != nil {
		t.Fatal(err)
	}
	for _, g := range groups {
		if g.Key == "critique" && (g.Attempts != 2 || g.Unknown != 1 || *g.BilledUSD != 0.3) {
			t.Errorf("%+v", g)
		}
	}
}
