// Package watch holds the commands that show runs: status, log, spend, trace and serve.
package watch

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"time"

	"github.com/spf13/cobra"

	"github.com/runplan/runplan/internal/cli"
	"github.com/runplan/runplan/internal/store"
	"github.com/runplan/runplan/internal/ui"
	"github.com/runplan/runplan/runner"
	"github.com/runplan/runplan/runner/local"
	"github.com/runplan/runplan/runner/report"
)

// statusOptions are the flags of status.
type statusOptions struct{ json, all, lines, metrics bool }

// NewStatusCommand returns the command status.
func NewStatusCommand(a *cli.App) *cobra.Command {
	var o statusOptions
	cmd := &cobra.Command{
		Use:   "status [RUN]",
		Short: "Show the state of runs",
		Long: `Show the newest run, the given one, or all of them, batch by batch: the decisions and their
results. The command only reads the journal.

With --lines each batch is one line, for logs and for programs that read lines:

  Batch 6: small-->medium (escalated) --> PASSED (45s, 3 tests added)

With --metrics it shows the quality of the decisions, over all runs or the given one: predicted and
actual speed-up, attempts, escalations, and the benefit of sampling compared with a plain retry. Unknown values
are shown as "no data".` + cli.ExitStatus(cli.ExitOK, cli.ExitUsage, cli.ExitCannotRun),
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := errors.Join(cli.AtMostOne(cmd, "lines", "json"), cli.AtMostOne(cmd, "lines", "metrics"),
				cli.AtMostOne(cmd, "all", "metrics")); err != nil {
				return err
			}
			name := ""
			if len(args) > 0 {
				name = args[0]
			}
			p, err := a.OpenProject(cmd.Context())
			if err != nil {
				return err
			}
			if o.metrics {
				return showMetrics(cmd.Context(), a, p, name, o.json)
			}
			return showStatus(cmd.Context(), a, p, name, o)
		},
	}
	f := cmd.Flags()
	f.BoolVar(&o.json, "json", false, "print all runs as JSON")
	f.BoolVar(&o.all, "all", false, "show all runs")
	f.BoolVar(&o.lines, "lines", false, "one line a batch, for logs and programs")
	f.BoolVar(&o.metrics, "metrics", false, "show the quality of the decisions")
	return cmd
}

func showStatus(ctx context.Context, a *cli.App, p *cli.Project, name string, o statusOptions) error {
	sums, err := p.Summaries(ctx, runner.Filter{Run: name, Latest: !o.all && !o.json && name == ""})
	if err != nil {
		return err
	}
	p.LookAlive(sums)
	if len(sums) == 0 && name != "" {
		return cli.NoSuchRun(name)
	}
	if len(sums) == 1 {
		a.TellForged(ctx, p, sums[0].Run)
	}
	if o.json {
		if sums == nil {
			sums = []runner.Summary{}
		}
		return cli.AsJSON(a.Stdout, sums)
	}
	if len(sums) == 0 {
		fmt.Fprintln(a.Stdout, "no runs yet")
		return nil
	}
	runs, err := standing(ctx, p, sums)
	if err != nil {
		return err
	}
	if o.lines {
		return report.StatusLines(a.Stdout, runs)
	}
	out := a.StdoutFile()
	width, _ := ui.Size(out)
	if !ui.IsTerminal(out) {
		width = 0
	}
	if err := report.Status(a.Stdout, runs, ui.StyleFor(a.Getenv, out), width); err != nil || o.all || name != "" {
		return err
	}
	return tellOthers(ctx, a, p, sums[0].Run)
}

// tellOthers lists the other unfinished runs, so that the newest one does not hide them.
func tellOthers(ctx context.Context, a *cli.App, p *cli.Project, newest string) error {
	sums, err := p.Summaries(ctx, runner.Filter{})
	if err != nil {
		return err
	}
	p.LookAlive(sums)
	for _, s := range sums {
		if s.Run == newest || s.Status != runner.RunStopped && !s.Status.Live() {
			continue
		}
		if _, err := fmt.Fprintf(a.Stdout, "also unfinished: run %s of %s, %s; runplan status %s\n", s.Run[:8],
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

// logOptions are the flags of log.
type logOptions struct{ json, follow, decisions, sampling bool }

// NewLogCommand returns the command log.
func NewLogCommand(a *cli.App) *cobra.Command {
	var o logOptions
	cmd := &cobra.Command{
		Use:   "log [RUN|decisions|sampling]",
		Short: "Show the events of a run",
		Long: `Print the events of a run, the newest one if none is given; with --follow until it ends.

With --decisions it prints the decisions of the run and their reasons, line by line: mode, order, models, early
starts, verdicts, merges. With --sampling it prints the tournaments of the run: the candidates, the score
of each one term by term, and the winner. Both take --json.` + cli.ExitStatus(cli.ExitOK, cli.ExitUsage, cli.ExitCannotRun),
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := cli.AtMostOne(cmd, "decisions", "sampling", "follow"); err != nil {
				return err
			}
			p, err := a.OpenProject(cmd.Context())
			if err != nil {
				return err
			}
			name := ""
			if len(args) > 0 {
				name = args[0]
			}
			switch name { // the flag values also work without a flag
			case "decisions":
				o.decisions, name = true, ""
			case "sampling":
				o.sampling, name = true, ""
			}
			switch {
			case o.decisions:
				return logDecisions(cmd.Context(), a, p, name, o.json)
			case o.sampling:
				return logSampling(cmd.Context(), a, p, name, o.json)
			}
			return log(cmd.Context(), a, p, name, o.json, o.follow)
		},
	}
	f := cmd.Flags()
	f.BoolVar(&o.json, "json", false, "one JSON event a line")
	f.BoolVarP(&o.follow, "follow", "f", false, "wait for more events until the run ends")
	f.BoolVar(&o.decisions, "decisions", false, "print decisions and their reasons")
	f.BoolVar(&o.sampling, "sampling", false, "print tournaments with their scores term by term")
	return cmd
}

// followEvery is the interval at which --follow reads new events. aliveEvery is the interval at which it checks that
// the run is still running. That check takes the run's lock for a moment, during which a resume would fail.
const (
	followEvery = 200 * time.Millisecond
	aliveEvery  = 2 * time.Second
)

func log(ctx context.Context, a *cli.App, p *cli.Project, name string, asJSON, follow bool) error {
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt)
	defer stop()
	j, err := p.OpenJournal(ctx)
	if err != nil {
		return err
	}
	defer j.Close()
	run, err := findRun(ctx, j, name)
	if err != nil {
		return err
	}
	a.TellForged(ctx, p, run)
	out := a.StdoutFile()
	style := ui.StyleFor(a.Getenv, out)
	printer := report.Printer{Zone: time.Local}
	looked := time.Now()
	for next := 0; ; {
		ended := false
		for ev, err := range local.Events(ctx, j, run, next) {
			if err != nil {
				return err
			}
			next, ended, looked = ev.Seq+1, ev.Kind == runner.RunFinished || ev.Kind.Afterwards(), time.Now()
			if asJSON {
				if err := PrintJSONLine(a, ev); err != nil {
					return err
				}
				continue
			}
			for _, l := range printer.Lines(ev) {
				if _, err := fmt.Fprintf(a.Stdout, "%s %s\n", style.Faint(ev.At.Local().Format("15:04:05")),
					style.Line(l.Tone, l.Text)); err != nil {
					return err
				}
			}
		}
		if !follow || ended {
			return nil
		}
		if time.Since(looked) > aliveEvery {
			looked = time.Now()
			gone, err := gone(ctx, p, run)
			if err != nil {
				return err
			}
			if gone != "" {
				fmt.Fprintf(a.Stderr, "run %s: %s\n", run[:8], gone)
				return nil
			}
		}
		select {
		case <-time.After(followEvery):
		case <-ctx.Done():
			return cli.Fail(cli.ExitInterrupted, errors.New(""), "")
		}
	}
}

// gone reports that an unfinished run has no running process. It returns "" if the run may still be running.
func gone(ctx context.Context, p *cli.Project, run string) (string, error) {
	sums, err := p.Summaries(ctx, runner.Filter{Run: run})
	if err != nil || len(sums) == 0 || !sums[0].Status.Live() {
		return "", err
	}
	p.LookAlive(sums)
	if sums[0].Status.Live() {
		return "", nil
	}
	// The run may have ended between the two checks. Then more events follow.
	again, err := p.Summaries(ctx, runner.Filter{Run: run})
	if err != nil || len(again) == 0 || !again[0].Status.Live() {
		return "", err
	}
	return sums[0].Reason, nil
}

// findRun returns the id of the selected run: by id, by a prefix of the id, by plan, or the newest.
func findRun(ctx context.Context, j *store.Journal, name string) (string, error) {
	runs, err := j.Runs(ctx)
	if err != nil {
		return "", err
	}
	for _, r := range runs {
		if cli.Selects(name, r.ID, r.Slug, r.Plan) {
			return r.ID, nil
		}
	}
	return "", cli.NoSuchRun(name)
}
