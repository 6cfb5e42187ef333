package watch

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"strconv"

	"github.com/runplan/runplan/agents"
	"github.com/runplan/runplan/agents/price"
	"github.com/runplan/runplan/internal/cli"
	"github.com/runplan/runplan/internal/store"
	"github.com/runplan/runplan/internal/ui"
	"github.com/runplan/runplan/llm"
	"github.com/runplan/runplan/runner/ledger"
)

// spentCalls sums up model calls outside of runs. A null value is unknown.
type spentCalls struct {
	Type      string        `json:"type"`
	Model     string        `json:"model"`
	Calls     int           `json:"calls"`
	Failed    int           `json:"failed"`    // unusable answers
	Uncounted int           `json:"uncounted"` // calls without a token count
	Input     *int64        `json:"input_tokens"`
	Output    *int64        `json:"output_tokens"`
	CostUSD   *float64      `json:"cost_usd"`
	Source    agents.Source `json:"source"`
}

// callsBeside sums up the model calls outside of runs.
func callsBeside(ctx context.Context, a *cli.App, p *cli.Project, j *store.Journal) ([]spentCalls, error) {
	out := []spentCalls{}
	sums, err := j.CallsBeside(ctx)
	if err != nil || len(sums) == 0 {
		return out, err
	}
	prices, err := price.Load(a.PriceFile())
	if err != nil {
		fmt.Fprintf(a.Stderr, "warning: no prices: %s\n", ui.Sanitize(err.Error()))
	}
	here := localModels(ctx, p)
	for _, s := range sums {
		c := spentCalls{Type: s.Type, Model: s.Model, Calls: s.Calls, Failed: s.Failed, Uncounted: s.Untold,
			Source: agents.SourceUnknown}
		if s.Untold < s.Calls {
			c.Input, c.Output = &s.PromptTokens, &s.CompletionTokens
		}
		usd, known := prices.Cost(filepath.Base(s.Model), agents.Usage{InputTokens: c.Input, OutputTokens: c.Output})
		switch {
		case here[s.Model]:
			free := 0.0
			c.CostUSD, c.Source = &free, agents.SourceLocal
		case known && s.Untold == 0:
			c.CostUSD, c.Source = &usd, agents.SourceComputed
		}
		out = append(out, c)
	}
	return out, nil
}

// localModels returns the models of the settings that a model server serves, which cost nothing. The log of calls
// stores only model names.
func localModels(ctx context.Context, p *cli.Project) map[string]bool {
	here := map[string]bool{}
	router, err := p.Models(ctx)
	if err != nil {
		return here // without settings, no model is local
	}
	for _, s := range llm.Stages() {
		if m, err := router.Model(s); err == nil && m.Provider == llm.Ollama {
			here[m.Label()] = true
		}
	}
	return here
}

// printCalls prints the calls outside of runs as a separate table.
func printCalls(w io.Writer, calls []spentCalls) error {
	if len(calls) == 0 {
		return nil
	}
	var lines [][]string
	n, unknown, billed := 0, 0, 0.0
	for _, c := range calls {
		cost := "unknown"
		if c.CostUSD != nil {
			cost = ledger.Dollars(*c.CostUSD)
			billed += *c.CostUSD
		} else {
			unknown += c.Calls
		}
		n += c.Calls
		lines = append(lines, []string{c.Type, ui.Sanitize(c.Model), strconv.Itoa(c.Calls), c.tokens(c.Input),
			c.tokens(c.Output), cost, string(c.Source)})
	}
	if err := cli.Table(w, []string{"type", "model", ">calls", ">in", ">out", ">cost", "source"}, lines); err != nil {
		return err
	}
	total := fmt.Sprintf("%d of unknown cost", unknown)
	switch {
	case unknown == 0:
		total = ledger.Dollars(billed)
	case unknown < n:
		total = ledger.Dollars(billed) + " + " + total
	}
	_, err := fmt.Fprintf(w, "model calls outside of runs, total: %d: %s\n", n, total)
	return err
}

func (c spentCalls) tokens(n *int64) string {
	text := cli.TokensOf(n)
	if n != nil && c.Uncounted > 0 {
		text = "at least " + text
	}
	return text
}
