package watch

import (
	"context"
	"fmt"
	"slices"

	"github.com/runplan/runplan/internal/cli"
	"github.com/runplan/runplan/runner"
	"github.com/runplan/runplan/runner/report"
	"github.com/runplan/runplan/sampling"
)

// showMetrics prints the quality of the decisions of one run or of all runs (MET-02, MET-04, MET-06, MET-07), and the
// quality of adapters (MET-08).
func showMetrics(ctx context.Context, a *cli.App, p *cli.Project, name string, json bool) error {
	sums, err := p.Summaries(ctx, runner.Filter{Run: name})
	if err != nil {
		return err
	}
	if len(sums) == 0 && name != "" {
		return cli.NoSuchRun(name)
	}
	p.LookAlive(sums)
	var m report.Metrics
	ours := map[string]bool{}
	for _, s := range sums {
		events, err := eventsOf(ctx, p, s.Run)
		if err != nil {
			return err
		}
		m.Add(s, events)
		ours[s.Run] = true
	}
	all, err := sampling.Store{Path: p.Layout.SamplingOutcomes()}.Read()
	if err != nil {
		return cli.Fail(cli.ExitCannotRun, err, "")
	}
	outcomes := slices.DeleteFunc(all, func(o sampling.Outcome) bool { return name != "" && !ours[o.Run] })
	rates := sampling.Rates(outcomes, sampling.Retries{Tries: m.Retries, Successes: m.Successes})
	trained, err := AdapterMetrics(p)
	if err != nil {
		return cli.Fail(cli.ExitCannotRun, err, "")
	}
	if json {
		return cli.AsJSON(a.Stdout, struct {
			report.Metrics
			Sampling sampling.Comparison `json:"sampling"`
			Adapters []AdapterMetric     `json:"adapters"`
		}{m, rates, trained})
	}
	for _, l := range append(m.Lines(), rates.Lines()...) {
		fmt.Fprintln(a.Stdout, l)
	}
	for _, t := range trained {
		fmt.Fprintln(a.Stdout, t.Line())
	}
	return nil
}

// eventsOf returns all events of a run.
func eventsOf(ctx context.Context, p *cli.Project, run string) ([]runner.Event, error) {
	var out []runner.Event
	err := p.EachEvent(ctx, run, func(e runner.Event) error {
		out = append(out, e)
		return nil
	})
	return out, err
}
