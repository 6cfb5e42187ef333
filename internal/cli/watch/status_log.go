package watch

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/runplan/runplan/internal/cli"
	"github.com/runplan/runplan/internal/ui"
	"github.com/runplan/runplan/routing"
	"github.com/runplan/runplan/runner"
	"github.com/runplan/runplan/runner/report"
)

// runNamed returns the id of the named run.
func runNamed(ctx context.Context, p *cli.Project, name string) (string, error) {
	j, err := p.OpenJournal(ctx)
	if err != nil {
		return "", err
	}
	defer j.Close()
	return findRun(ctx, j, name)
}

// logDecisions prints the entries of the decision log about a run.
func logDecisions(ctx context.Context, a *cli.App, p *cli.Project, name string, asJSON bool) error {
	run, err := runNamed(ctx, p, name)
	if err != nil {
		return err
	}
	path := p.Layout.DecisionLog()
	file, err := os.Open(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return cli.Fail(cli.ExitCannotRun, fmt.Errorf("open the log of routing decisions: %w", err), "")
	}
	var all []routing.Line
	if file != nil {
		defer file.Close()
		if all, err = routing.ReadLog(file); err != nil {
			return cli.Fail(cli.ExitCannotRun, err, "")
		}
	}
	found := false
	for _, l := range all {
		if l.Run != run {
			continue
		}
		found = true
		switch {
		case asJSON:
			if err := PrintJSONLine(a, l); err != nil {
				return err
			}
		case l.Kind == "":
			fmt.Fprintln(a.Stdout, l.Text)
		default:
			fmt.Fprintf(a.Stdout, "[%s] %s: %s\n", l.Clock, l.Kind, l.Text)
		}
	}
	if !found && !asJSON {
		fmt.Fprintf(a.Stdout, "%s has no entry for run %s\n", p.Layout.Rel(path), run)
	}
	return nil
}

// logSampling prints the tournaments of a run, or their events.
func logSampling(ctx context.Context, a *cli.App, p *cli.Project, name string, asJSON bool) error {
	run, err := runNamed(ctx, p, name)
	if err != nil {
		return err
	}
	events, err := eventsOf(ctx, p, run)
	if err != nil {
		return err
	}
	if asJSON {
		for _, e := range events {
			if e.Kind == runner.Sampled || e.Kind == runner.Judged {
				if err := PrintJSONLine(a, e); err != nil {
					return err
				}
			}
		}
		return nil
	}
	lines := report.SamplingLog(events)
	if len(lines) == 0 {
		fmt.Fprintf(a.Stdout, "no candidates competed in run %s\n", run)
		return nil
	}
	out := a.StdoutFile()
	style := ui.StyleFor(a.Getenv, out)
	for _, l := range lines {
		fmt.Fprintln(a.Stdout, style.Line(l.Tone, l.Text))
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
