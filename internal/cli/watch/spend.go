package watch

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/runplan/runplan/agents"
	"github.com/runplan/runplan/agents/price"
	"github.com/runplan/runplan/internal/cli"
	"github.com/runplan/runplan/internal/store"
	"github.com/runplan/runplan/internal/ui"
	"github.com/runplan/runplan/llm"
	"github.com/runplan/runplan/runner/journal"
	"github.com/runplan/runplan/runner/ledger"
)

// spent is the output of runplan spend --json.
type spent struct {
	Runs   []spentRun     `json:"runs"`
	Lines  []ledger.Line  `json:"lines"`
	Total  ledger.Sum     `json:"total"`
	By     string         `json:"by,omitempty"`
	Groups []ledger.Group `json:"groups,omitempty"`
	Calls  []spentCalls   `json:"calls"` // calls outside of runs; empty for a single run
}

type spentRun struct {
	Run     string     `json:"run"`
	Plan    string     `json:"plan"`
	Started time.Time  `json:"started"`
	Total   ledger.Sum `json:"total"`
}

// NewSpendCommand returns the command spend.
func NewSpendCommand(a *cli.App) *cobra.Command {
	var all bool
	var by string
	return a.Command(cli.With{Exits: "0 2 5", JSON: "a JSON object"}, &cobra.Command{
		Use:   "spend [RUN]",
		Short: "Show the cost of a run's agents, attempt by attempt",
		Long: `Show what the agents of the newest run, the given one, or all runs used and cost: a line for each
attempt, with its purpose: work (the first attempt at a batch), fix (another one after a failure)
or sample (a candidate of a tournament). The critique of the steps of an attempt is
a separate line, with the purpose critique, and so is its review.

Model calls outside of runs (plan, retrieve, enrich, inbox process, review, self-fix, ...) are a
second table, by type and model, of all calls in this repository; it is omitted for a named run
and with --by.

Each cost has its source: reported (by the agent), computed (tokens times the price table), plan
(list price of a call that a subscription pays), local (a model on this machine) or unknown. Unknown is
never counted as 0: it is shown next to the sum. The command only reads the journal.`,
		Example: `  runplan spend
  runplan spend --all --by day
  runplan spend --json`,
		Args: cobra.MaximumNArgs(1),
		RunE: a.InProject(func(ctx context.Context, p *cli.Project, args []string) error {
			name := strings.Join(args, "")
			s, err := spentOf(ctx, p, name, all)
			if err != nil {
				return err
			}
			if by != "" {
				s.By = by
				if s.Groups, err = ledger.By(s.Lines, by); err != nil {
					return cli.Usage(err, "see: runplan spend --help")
				}
			}
			if a.JSON {
				return cli.AsJSON(a.Stdout, s)
			}
			return s.print(a.Stdout, all)
		}),
	}, func(f *cli.Flags) {
		f.BoolVar(&all, "all", false, "all runs of the repository")
		f.StringVar(&by, "by", "", "print sums instead of attempts, by "+strings.Join(ledger.Keys(), ", "))
		cli.Values(f, "by", ledger.Keys())
	})
}

// spentOf reads the ledger of the selected runs: all, the named one, or the newest.
func spentOf(ctx context.Context, p *cli.Project, name string, all bool) (spent, error) {
	s := spent{Runs: []spentRun{}, Lines: []ledger.Line{}, Calls: []spentCalls{}}
	j, err := p.OpenJournal(ctx)
	if err != nil {
		return s, err
	}
	defer j.Close()
	runs, err := j.Runs(ctx)
	if err != nil {
		return s, err
	}
	for _, r := range runs {
		if !cli.Selects(name, r.ID, r.Slug, r.Plan) {
			continue
		}
		var l ledger.Ledger
		for ev, err := range journal.Events(ctx, j, r.ID, 0) {
			if err != nil {
				return s, err
			}
			l.Event(ev)
		}
		s.Runs = append(s.Runs, spentRun{r.ID, r.Plan, r.Started, ledger.Add(l.Lines)})
		s.Lines = append(s.Lines, l.Lines...)
		if !all {
			break
		}
	}
	if name == "" {
		if s.Calls, err = callsOutsideRuns(ctx, p, j); err != nil {
			return s, err
		}
	}
	switch {
	case len(s.Runs) == 0 && name == "" && len(s.Calls) == 0:
		return s, p.NoRuns()
	case len(s.Runs) == 0 && name != "":
		return s, cli.NoSuchRun(name)
	}
	s.Total = ledger.Add(s.Lines)
	return s, nil
}

func (s spent) print(w io.Writer, all bool) error {
	if len(s.Runs) == 0 {
		return printCalls(w, s.Calls)
	}
	if err := s.table(w, all); err != nil {
		return err
	}
	what := "run " + s.Runs[0].Run[:8] + " of " + ui.Sanitize(s.Runs[0].Plan)
	if len(s.Runs) > 1 {
		what = fmt.Sprintf("%d runs", len(s.Runs))
	}
	if _, err := fmt.Fprintf(w, "%s: %s\n", what, s.Total); err != nil || s.By != "" || len(s.Calls) == 0 {
		return err
	}
	fmt.Fprintln(w)
	return printCalls(w, s.Calls)
}

func (s spent) table(w io.Writer, all bool) error {
	var rows ui.Rows
	if s.By != "" {
		for _, g := range s.Groups {
			in, out := &g.Input, &g.Output
			if g.Uncounted >= g.Attempts {
				in, out = nil, nil
			}
			rows.Add(g.Key, g.Attempts, cli.TokensOf(in), cli.TokensOf(out), g.Sum)
		}
		return ui.Table(w, []string{s.By, ">attempts", ">in", ">out", "cost"}, rows)
	}
	header := []string{"batch", ">attempt", "purpose", "agent", "model", "outcome", ">in", ">out", ">from cache", ">cost",
		"source"}
	if all {
		header = append([]string{"run"}, header...)
	}
	for _, l := range s.Lines {
		attempt := strconv.Itoa(l.Attempt)
		if l.Candidate > 0 {
			attempt += fmt.Sprintf(" c%d", l.Candidate)
		}
		cost := "unknown"
		if l.CostUSD != nil {
			cost = ledger.Dollars(*l.CostUSD)
		}
		row := []any{l.Batch, attempt, l.Purpose, l.Agent, cmp.Or(l.Model, "-"), l.Outcome, cli.TokensOf(l.Input),
			cli.TokensOf(l.Output), cli.TokensOf(l.CacheRead), cost, l.Source}
		if all {
			row = append([]any{l.Run[:8]}, row...)
		}
		rows.Add(row...)
	}
	return ui.Table(w, header, rows)
}

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

func callsOutsideRuns(ctx context.Context, p *cli.Project, j *store.Journal) ([]spentCalls, error) {
	out := []spentCalls{}
	sums, err := j.CallsOutsideRuns(ctx)
	if err != nil || len(sums) == 0 {
		return out, err
	}
	prices, err := price.Load(p.PriceFile())
	if err != nil {
		p.Warn("no prices: " + err.Error())
	}
	here := localModels(ctx, p)
	for _, s := range sums {
		c := spentCalls{Type: s.Type, Model: s.Model, Calls: s.Calls, Failed: s.Failed, Uncounted: s.Uncounted,
			Source: agents.SourceUnknown}
		if s.Uncounted < s.Calls {
			c.Input, c.Output = &s.PromptTokens, &s.CompletionTokens
		}
		usd, known := prices.Cost(filepath.Base(s.Model), agents.Usage{InputTokens: c.Input, OutputTokens: c.Output})
		switch {
		case here[s.Model]:
			free := 0.0
			c.CostUSD, c.Source = &free, agents.SourceLocal
		case known && s.Uncounted == 0:
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

func printCalls(w io.Writer, calls []spentCalls) error {
	if len(calls) == 0 {
		return nil
	}
	var rows ui.Rows
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
		rows.Add(c.Type, c.Model, c.Calls, c.tokens(c.Input), c.tokens(c.Output), cost, c.Source)
	}
	ui.Table(w, []string{"type", "model", ">calls", ">in", ">out", ">cost", "source"}, rows)
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
