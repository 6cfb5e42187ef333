package watch

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/signal"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/runplan/runplan/internal/cli"
	"github.com/runplan/runplan/routing"
	"github.com/runplan/runplan/runner"
	"github.com/runplan/runplan/runner/journal"
	"github.com/runplan/runplan/runner/report"
)

type logOptions struct{ follow, decisions, sampling bool }

// NewLogCommand returns the command log.
func NewLogCommand(a *cli.App) *cobra.Command {
	var o logOptions
	return a.Command(cli.With{Exits: "0 2 5"}, &cobra.Command{
		Use:   "log [RUN|decisions|sampling]",
		Short: "Show the events of a run",
		Long: `Print the events of a run, the newest one if none is given; with --follow until it ends.

With --decisions it prints the decisions of the run and their reasons, line by line: mode, order, models, early
starts, verdicts, merges. With --sampling it prints the tournaments of the run: the candidates, the score
of each one term by term, and the winner. Both take --json.`,
		Args: cobra.MaximumNArgs(1),
		PreRunE: func(cmd *cobra.Command, _ []string) error {
			return cli.AtMostOne(cmd, "decisions", "sampling", "follow")
		},
		RunE: a.InProject(func(ctx context.Context, p *cli.Project, args []string) error {
			name := strings.Join(args, "")
			switch name { // the flag values also work without a flag
			case "decisions":
				o.decisions, name = true, ""
			case "sampling":
				o.sampling, name = true, ""
			}
			run, err := runNamed(ctx, p, name)
			switch {
			case err != nil:
				return err
			case o.decisions:
				return logDecisions(p, run)
			case o.sampling:
				return logSampling(ctx, p, run)
			}
			return log(ctx, p, run, o.follow)
		}),
	}, func(f *cli.Flags) {
		f.BoolVar(&a.JSON, "json", false, "one JSON event a line")
		f.BoolVarP(&o.follow, "follow", "f", false, "wait for more events until the run ends")
		f.BoolVar(&o.decisions, "decisions", false, "print decisions and their reasons")
		f.BoolVar(&o.sampling, "sampling", false, "print tournaments with their scores term by term")
	})
}

// followEvery is the interval at which --follow reads new events. aliveEvery is the interval at which it checks that
// the run is still running. That check takes the run's lock for a moment, during which a resume would fail.
const (
	followEvery = 200 * time.Millisecond
	aliveEvery  = 2 * time.Second
)

func log(ctx context.Context, p *cli.Project, run string, follow bool) error {
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt)
	defer stop()
	j, err := p.OpenJournal(ctx)
	if err != nil {
		return err
	}
	defer j.Close()
	p.TellForged(ctx, run)
	style, _ := p.Display()
	printer := report.Printer{Zone: time.Local}
	looked := time.Now()
	for next := 0; ; {
		ended := false
		for ev, err := range journal.Events(ctx, j, run, next) {
			if err != nil {
				return err
			}
			next, ended, looked = ev.Seq+1, ev.Kind == runner.RunFinished || ev.Kind.Afterwards(), time.Now()
			if p.JSON {
				if err := PrintJSONLine(p.App, ev); err != nil {
					return err
				}
				continue
			}
			for _, l := range printer.Lines(ev) {
				if _, err := fmt.Fprintf(p.Stdout, "%s %s\n", style.Faint(ev.At.Local().Format("15:04:05")),
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
				fmt.Fprintf(p.Stderr, "run %s: %s\n", run[:8], gone)
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

// runNamed returns the id of the selected run: by id, by a prefix of the id, by plan, or the newest.
func runNamed(ctx context.Context, p *cli.Project, name string) (string, error) {
	j, err := p.OpenJournal(ctx)
	if err != nil {
		return "", err
	}
	defer j.Close()
	runs, err := j.Runs(ctx)
	if err != nil || len(runs) == 0 {
		return "", cmp.Or(err, p.NoRuns())
	}
	for _, r := range runs {
		if cli.Selects(name, r.ID, r.Slug, r.Plan) {
			return r.ID, nil
		}
	}
	return "", cli.NoSuchRun(name)
}

func logDecisions(p *cli.Project, run string) error {
	path := p.Layout.DecisionLog()
	file, err := os.Open(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return cli.Fail(cli.ExitCannotRun, fmt.Errorf("open the log of routing decisions: %w", err), "")
	}
	var all []routing.Line
	if file != nil {
		defer file.Close()
		if all, err = routing.ReadLog(file); err != nil {
			return err
		}
	}
	found := false
	for _, l := range all {
		if l.Run != run {
			continue
		}
		found = true
		switch {
		case p.JSON:
			if err := PrintJSONLine(p.App, l); err != nil {
				return err
			}
		case l.Kind == "":
			fmt.Fprintln(p.Stdout, l.Text)
		default:
			fmt.Fprintf(p.Stdout, "[%s] %s: %s\n", l.Clock, l.Kind, l.Text)
		}
	}
	if !found && !p.JSON {
		fmt.Fprintf(p.Stdout, "%s has no entry for run %s\n", p.Layout.Rel(path), run)
	}
	return nil
}

// logSampling prints the tournaments of a run, or their events.
func logSampling(ctx context.Context, p *cli.Project, run string) error {
	events, err := eventsOf(ctx, p, run)
	if err != nil {
		return err
	}
	if p.JSON {
		for _, e := range events {
			if e.Kind == runner.Sampled || e.Kind == runner.Judged {
				if err := PrintJSONLine(p.App, e); err != nil {
					return err
				}
			}
		}
		return nil
	}
	lines := report.SamplingLog(events)
	if len(lines) == 0 {
		fmt.Fprintf(p.Stdout, "no candidates competed in run %s\n", run)
		return nil
	}
	style, _ := p.Display()
	for _, l := range lines {
		fmt.Fprintln(p.Stdout, style.Line(l.Tone, l.Text))
	}
	return nil
}

// PrintJSONLine prints a value as one line of JSON.
func PrintJSONLine(a *cli.App, v any) error {
	line, err := json.Marshal(v)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(a.Stdout, "%s\n", line)
	return err
}
