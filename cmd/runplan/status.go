package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/runplan/runplan/internal/ui"
	"github.com/runplan/runplan/runner"
	"github.com/runplan/runplan/runner/local"
	"github.com/runplan/runplan/runner/report"
)

func newStatusCommand(a *App) *cobra.Command {
	var asJSONFlag, all bool
	cmd := &cobra.Command{
		Use:   "status [RUN]",
		Short: "Show how the runs stand",
		Long:  "Show the newest run, the given one, or all of them, batch by batch. It reads the journal and disturbs nothing." + exitStatus(exitOK, exitUsage, exitCannotRun),
		Args:  cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			f := runner.Filter{Latest: !all && len(args) == 0}
			if asJSONFlag {
				f.Latest = false
			}
			if len(args) > 0 {
				f.Run = args[0]
			}
			p, err := a.openProject(cmd.Context())
			if err != nil {
				return err
			}
			sums, err := p.summaries(cmd.Context(), f)
			if err != nil {
				return err
			}
			p.lookAlive(sums)
			if asJSONFlag {
				if sums == nil {
					sums = []runner.Summary{}
				}
				return asJSON(a.Stdout, sums)
			}
			if len(sums) == 0 {
				if f.Run != "" {
					return usage(fmt.Errorf("no run is called %s", f.Run), "runplan status --all lists them")
				}
				fmt.Fprintln(a.Stdout, "no runs yet")
				return nil
			}
			out, _ := a.Stdout.(*os.File)
			width, _ := ui.Size(out)
			if !ui.IsTerminal(out) {
				width = 0
			}
			return report.Status(a.Stdout, sums, ui.StyleFor(a.Getenv, out), width)
		},
	}
	cmd.Flags().BoolVar(&asJSONFlag, "json", false, "print all runs as JSON")
	cmd.Flags().BoolVar(&all, "all", false, "show all runs")
	return cmd
}

// lookAlive corrects runs that the journal has as running although nobody holds their lock: they were killed.
func (p *project) lookAlive(sums []runner.Summary) {
	for i := range sums {
		if sums[i].Status != runner.RunActive {
			continue
		}
		lock, err := local.TakeLock(p.layout.Lock(sums[i].Slug), time.Now())
		if err != nil {
			continue // it is at work
		}
		lock.Release()
		sums[i].Status, sums[i].Stop = runner.RunStopped, runner.OutcomeCancelled
		sums[i].Reason = "its process is gone; runplan resume goes on"
	}
}

func newLogCommand(a *App) *cobra.Command {
	var asJSONFlag, follow bool
	cmd := &cobra.Command{
		Use:   "log [RUN]",
		Short: "Tell the story of a run from its journal",
		Long:  "Print the events of a run, the newest one if none is given; with --follow until it ends." + exitStatus(exitOK, exitUsage, exitCannotRun),
		Args:  cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			p, err := a.openProject(cmd.Context())
			if err != nil {
				return err
			}
			name := ""
			if len(args) > 0 {
				name = args[0]
			}
			return a.log(cmd.Context(), p, name, asJSONFlag, follow)
		},
	}
	cmd.Flags().BoolVar(&asJSONFlag, "json", false, "one JSON event a line")
	cmd.Flags().BoolVarP(&follow, "follow", "f", false, "wait for more until the run ends")
	return cmd
}

// followEvery is how often --follow looks for more.
const followEvery = 200 * time.Millisecond

func (a *App) log(ctx context.Context, p *project, name string, asJSON, follow bool) error {
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt)
	defer stop()
	j, err := p.openJournal(ctx)
	if err != nil {
		return err
	}
	defer j.Close()
	runs, err := j.Runs(ctx)
	if err != nil {
		return err
	}
	run := ""
	for _, r := range runs {
		if name == "" || strings.HasPrefix(r.ID, name) || r.Slug == name || r.Plan == name {
			run = r.ID
			break
		}
	}
	if run == "" {
		return usage(fmt.Errorf("no run is called %s", name), "runplan status --all lists them")
	}
	out, _ := a.Stdout.(*os.File)
	style := ui.StyleFor(a.Getenv, out)
	var printer report.Printer
	for next := 0; ; {
		ended := false
		for ev, err := range local.Events(ctx, j, run, next) {
			if err != nil {
				return err
			}
			next, ended = ev.Seq+1, ev.Kind == runner.RunFinished
			if asJSON {
				line, err := json.Marshal(ev)
				if err != nil {
					return err
				}
				fmt.Fprintf(a.Stdout, "%s\n", line)
				continue
			}
			for _, l := range printer.Lines(ev) {
				fmt.Fprintf(a.Stdout, "%s %s\n", style.Faint(ev.At.Local().Format("15:04:05")), style.Line(l.Tone, l.Text))
			}
		}
		if !follow || ended {
			return nil
		}
		select {
		case <-time.After(followEvery):
		case <-ctx.Done():
			return fail(exitInterrupted, errors.New(""), "")
		}
	}
}
