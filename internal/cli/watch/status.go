// Package watch holds the commands that show runs: status, log, spend, trace and serve. They read the journal, so they
// work during a run, after it, and after a crash. On the page of serve, a person can also answer what waits.
package watch

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/runplan/runplan/internal/cli"
	"github.com/runplan/runplan/internal/ui"
	"github.com/runplan/runplan/runner"
	"github.com/runplan/runplan/runner/report"
	"github.com/runplan/runplan/sampling"
	"github.com/runplan/runplan/training/adapters"
	"github.com/runplan/runplan/training/graduate"
	"github.com/runplan/runplan/training/validate"
)

type statusOptions struct{ all, lines, metrics bool }

// NewStatusCommand returns the command status.
func NewStatusCommand(a *cli.App) *cobra.Command {
	var o statusOptions
	return a.Command(cli.With{Exits: "0 2 5", JSON: "all runs as JSON"}, &cobra.Command{
		Use:   "status [RUN]",
		Short: "Show the state of runs",
		Long: `Show the newest run, the given one, or all of them, batch by batch: the decisions and their
results. The command only reads the journal.

With --lines each batch is one line, for logs and for programs that read lines:

  Batch 6: small-->medium (escalated) --> PASSED (45s, 3 tests added)

With --metrics it shows the quality of the decisions, over all runs or the given one: predicted and
actual speed-up, attempts, escalations, and the benefit of sampling compared with a plain retry. Unknown values
are shown as "no data".`,
		Args: cobra.MaximumNArgs(1),
		PreRunE: func(cmd *cobra.Command, _ []string) error {
			return errors.Join(cli.AtMostOne(cmd, "lines", "json"), cli.AtMostOne(cmd, "lines", "metrics"),
				cli.AtMostOne(cmd, "all", "metrics"))
		},
		RunE: a.InProject(func(ctx context.Context, p *cli.Project, args []string) error {
			name := strings.Join(args, "")
			if o.metrics {
				return showMetrics(ctx, p, name)
			}
			return showStatus(ctx, p, name, o)
		}),
	}, func(f *cli.Flags) {
		f.BoolVar(&o.all, "all", false, "show all runs")
		f.BoolVar(&o.lines, "lines", false, "one line a batch, for logs and programs")
		f.BoolVar(&o.metrics, "metrics", false, "show the quality of the decisions")
	})
}

func showStatus(ctx context.Context, p *cli.Project, name string, o statusOptions) error {
	sums, err := p.Summaries(ctx, runner.Filter{Run: name, Latest: !o.all && !p.JSON && name == ""})
	if err != nil {
		return err
	}
	p.LookAlive(sums)
	if len(sums) == 0 && name != "" {
		return cli.NoSuchRun(name)
	}
	if len(sums) == 1 {
		p.TellForged(ctx, sums[0].Run)
	}
	if p.JSON {
		return cli.AsJSON(p.Stdout, sums)
	}
	if len(sums) == 0 {
		fmt.Fprintln(p.Stdout, "no runs yet")
		return nil
	}
	runs, err := standing(ctx, p, sums)
	if err != nil {
		return err
	}
	if o.lines {
		return report.StatusLines(p.Stdout, runs)
	}
	style, width := p.Display()
	err = report.Status(p.Stdout, runs, style, width)
	if err != nil || o.all || name != "" {
		return err
	}
	return tellOthers(ctx, p, sums[0].Run)
}

// tellOthers lists the other unfinished runs, so that the newest one does not hide them.
func tellOthers(ctx context.Context, p *cli.Project, newest string) error {
	sums, err := p.Summaries(ctx, runner.Filter{})
	if err != nil {
		return err
	}
	p.LookAlive(sums)
	for _, s := range sums {
		if s.Run == newest || s.Status != runner.RunStopped && !s.Status.Live() {
			continue
		}
		if _, err := fmt.Fprintf(p.Stdout, "also unfinished: run %s of %s, %s; runplan status %s\n", s.Run[:8],
			ui.Sanitize(s.Plan), s.Status, s.Run[:8]); err != nil {
			return err
		}
	}
	return nil
}

// standing adds the work in progress to runs that are running.
func standing(ctx context.Context, p *cli.Project, sums []runner.Summary) ([]report.Standing, error) {
	out := make([]report.Standing, len(sums))
	for i, s := range sums {
		out[i].Summary = s
		if !s.Status.Live() {
			continue
		}
		w := report.Watch{Zone: time.Local}
		err := p.EachEvent(ctx, s.Run, w.Apply)
		if err != nil {
			return nil, err
		}
		out[i] = w.Standing()
		out[i].Summary = s // includes the state of its process
	}
	return out, nil
}

// showMetrics prints the quality of the decisions of one run or of all runs (MET-02, MET-04, MET-06, MET-07), and the
// quality of adapters (MET-08).
func showMetrics(ctx context.Context, p *cli.Project, name string) error {
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
		return err
	}
	outcomes := slices.DeleteFunc(all, func(o sampling.Outcome) bool { return name != "" && !ours[o.Run] })
	rates := sampling.Rates(outcomes, sampling.Retries{Tries: m.Retries, Successes: m.Successes})
	trained, err := AdapterMetrics(p)
	if err != nil {
		return err
	}
	return p.Print(struct {
		report.Metrics
		Sampling sampling.Comparison `json:"sampling"`
		Adapters []AdapterMetric     `json:"adapters"`
	}{m, rates, trained}, func() {
		for _, l := range append(m.Lines(), rates.Lines()...) {
			fmt.Fprintln(p.Stdout, l)
		}
		for _, t := range trained {
			fmt.Fprintln(p.Stdout, t.Line())
		}
	})
}

func eventsOf(ctx context.Context, p *cli.Project, run string) ([]runner.Event, error) {
	var out []runner.Event
	err := p.EachEvent(ctx, run, func(e runner.Event) error {
		out = append(out, e)
		return nil
	})
	return out, err
}

// AdapterMetric is the score of an adapter's last version (MET-08).
type AdapterMetric struct {
	Version   string          `json:"version"`
	Score     *validate.Score `json:"score"` // null: never validated
	Validator string          `json:"validator,omitempty"`
	Graduated *time.Time      `json:"graduated_at"` // null: each generation is reviewed
}

// AdapterMetrics returns the metrics of all adapters trained in this project.
func AdapterMetrics(p *cli.Project) ([]AdapterMetric, error) {
	registry := adapters.RegistryOf(p.Layout.Root)
	names, err := registry.Adapters()
	if err != nil {
		return nil, err
	}
	out := []AdapterMetric{}
	for _, name := range names {
		versions, err := registry.Versions(name)
		if err != nil {
			return nil, err
		}
		if len(versions) == 0 {
			continue
		}
		v := versions[len(versions)-1]
		m := AdapterMetric{Version: v.Name()}
		last, there, err := validate.Last(v.ValidationFile())
		if err != nil {
			return nil, err
		}
		if there {
			m.Score, m.Validator = &last.Score, last.Validator
		}
		state, err := graduate.Load(p.Repo.Root, name)
		if err != nil {
			return nil, err
		}
		m.Graduated = state.Since
		out = append(out, m)
	}
	return out, nil
}

// Line returns the metric as one line of text.
func (m AdapterMetric) Line() string {
	score := "never validated"
	if m.Score != nil {
		score = m.Validator + " " + m.Score.String()
	}
	graduated := "not graduated"
	if m.Graduated != nil {
		graduated = "graduated " + m.Graduated.Format(time.DateOnly)
	}
	return ui.Sanitize(fmt.Sprintf("adapter %s: %s; %s", m.Version, score, graduated))
}
