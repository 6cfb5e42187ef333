package command

import (
	"slices"
	"strings"

	"github.com/runplan/runplan/agents"
	"github.com/runplan/runplan/agents/stream"
)

// usage returns the usage of a run with the source of its cost: the CLI's report, else the price table (of the tokens
// so far, if the attempt was stopped), else unknown. Only a local model is free.
func (a *Agent) usage(t stream.Totals, model string, args []string) agents.Usage {
	u := agents.Usage{
		InputTokens: t.Tokens.Input, OutputTokens: t.Tokens.Output, CacheReadTokens: t.Tokens.CacheRead,
		CacheWriteTokens: t.Tokens.CacheWrite, ReasoningTokens: t.Tokens.Reasoning, Source: agents.SourceUnknown,
	}
	switch cost, known := a.cfg.Prices.Cost(model, u); {
	case isLocal(a.format(), model, args):
		u.CostUSD, u.Source = new(float64), agents.SourceLocal
	case t.CostUSD != nil && t.OnPlan:
		u.CostUSD, u.Source = t.CostUSD, agents.SourcePlan
	case t.CostUSD != nil:
		u.CostUSD, u.Source = t.CostUSD, agents.SourceReported
	case u.InputTokens != nil && u.OutputTokens != nil && !t.Tokens.Any():
		u.CostUSD, u.Source = new(float64), agents.SourceComputed // no tokens cost nothing at any price
	case known && !t.Ended && a.format().Terminal():
		u.CostUSD, u.Source = &cost, agents.SourceSummed
	case known:
		u.CostUSD, u.Source = &cost, agents.SourceComputed
	}
	return u
}

// isLocal reports whether a model is local, by the provider names of the CLIs. A loopback address proves nothing:
// a proxy there may forward to a paid provider.
func isLocal(f stream.Format, model string, args []string) bool {
	if f == stream.Codex && slices.Contains(args, "--oss") {
		return true
	}
	if f == stream.Plain {
		return false
	}
	provider, _, _ := strings.Cut(model, "/")
	return provider != model && slices.Contains([]string{"ollama", "ollama_chat", "lmstudio", "llamacpp"}, provider)
}
