package app

import (
	"context"
	"fmt"

	"github.com/runplan/runplan/runner"
	"github.com/runplan/runplan/runner/report"
	"github.com/runplan/runplan/sampling"
)

// showMetrics prints the quality of the decisions of one run or of all runs (MET-02, MET-04, MET-06, MET-07), and the
// quality of adapters (MET-08).
func (a *App) showMetrics(ctx context.Context, p *project, name string, json bool) error {
	sums, err := p.summaries(ctx, runner.Filter{Run: name})
	if err != nil {
		return err
	}
	if len(sums) == 0 && name != "" {
		return noSuchRun(name)
	}
	p.lookAlive(sums)
	var m report.Metrics
	ours := map[string]bool{}
	for _, s := range sums {
		events, err := p.eventsOf(ctx, s.Run)
		if err != nil {
			return err
		}
		m.Add(s, events)
		ours[s.Run] = true
	}
	all, err := sampling.Store{Path: p.layout.SamplingOutcomes()}.Read()
	if err != nil {
		return fail(exitCannotRun, err, "")
	}
	var outcomes []sampling.Outcome
	for _, o := range all {
		if name == "" || ours[o.Run] {
			outcomes = append(outcomes, o)
		}
	}
	rates := sampling.Rates(outcomes, sampling.Retries{Tries: m.Retries, Successes: m.Successes})
	trained, err := p.adapterMetrics()
	if err != nil {
		return fail(exitCannotRun, err, "")
	}
	if json {
		return asJSON(a.Stdout, struct {
			report.Metrics
			Sampling sampling.Comparison `json:"sampling"`
			Adapters []adapterMetric     `json:"adapters"`
		}{m, rates, trained})
	}
	for _, l := range append(m.Lines(), rates.Lines()...) {
		fmt.Fprintln(a.Stdout, l)
	}
	for _, t := range trained {
		fmt.Fprintln(a.Stdout, t.line())
	}
	return nil
}

// eventsOf returns all events of a run.
func (p *project) eventsOf(ctx context.Context, run string) ([]runner.Event, error) {
	var out []runner.Event
	err := p.eachEvent(ctx, run, func(e runner.Event) error {
		out = append(out, e)
		return nil
	})
	return out, err
}
