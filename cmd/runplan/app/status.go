package app

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/runplan/runplan/internal/store"
	"github.com/runplan/runplan/internal/ui"
	"github.com/runplan/runplan/runner"
	"github.com/runplan/runplan/runner/local"
	"github.com/runplan/runplan/runner/report"
)

// statusOptions are the flags of status.
type statusOptions struct{ json, all, lines, metrics bool }

func newStatusCommand(a *App) *cobra.Command {
	var o statusOptions
	cmd := &cobra.Command{
		Use:   "status [RUN]",
		Short: "Show the state of runs",
		Long: `Show the newest run, the given one, or all of them, batch by batch: what was decided of it, and what came
of that. It reads the journal and disturbs nothing.

With --lines each batch is one line, for logs and for programs that read lines:

  Batch 6: small-->medium (escalated) --> PASSED (45s, 3 tests added)

With --metrics it tells, over all runs or the given one, how well the decisions were: predicted and
real speed-up, attempts, escalations, and what sampling is worth against a plain retry. What
cannot be known is called "no data".` + exitStatus(exitOK, exitUsage, exitCannotRun),
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := errors.Join(atMostOne(cmd, "lines", "json"), atMostOne(cmd, "lines", "metrics"),
				atMostOne(cmd, "all", "metrics")); err != nil {
				return err
			}
			name := ""
			if len(args) > 0 {
				name = args[0]
			}
			p, err := a.openProject(cmd.Context())
			if err != nil {
				return err
			}
			if o.metrics {
				return a.showMetrics(cmd.Context(), p, name, o.json)
			}
			return a.showStatus(cmd.Context(), p, name, o)
		},
	}
	f := cmd.Flags()
	f.BoolVar(&o.json, "json", false, "print all runs as JSON")
	f.BoolVar(&o.all, "all", false, "show all runs")
	f.BoolVar(&o.lines, "lines", false, "one line a batch, for logs and programs")
	f.BoolVar(&o.metrics, "metrics", false, "show how good the decisions were")
	return cmd
}

// atMostOne rejects flags that exclude each other.
func atMostOne(cmd *cobra.Command, flags ...string) error {
	var given []string
	for _, name := range flags {
		if f := cmd.Flags().Lookup(name); f != nil && f.Changed && f.Value.String() != "false" {
			given = append(given, "--"+name)
		}
	}
	if len(given) < 2 {
		return nil
	}
	return usage(fmt.Errorf("%s do not go together", strings.Join(given, " and ")), "give one of them")
}

func (a *App) showStatus(ctx context.Context, p *project, name string, o statusOptions) error {
	sums, err := p.summaries(ctx, runner.Filter{Run: name, Latest: !o.all && !o.json && name == ""})
	if err != nil {
		return err
	}
	p.lookAlive(sums)
	if len(sums) == 0 && name != "" {
		return noSuchRun(name)
	}
	if len(sums) == 1 {
		a.tellForged(ctx, p, sums[0].Run)
	}
	if o.json {
		if sums == nil {
			sums = []runner.Summary{}
		}
		return asJSON(a.Stdout, sums)
	}
	if len(sums) == 0 {
		fmt.Fprintln(a.Stdout, "no runs yet")
		return nil
	}
	runs, err := p.standing(ctx, sums)
	if err != nil {
		return err
	}
	if o.lines {
		return report.StatusLines(a.Stdout, runs)
	}
	out := a.stdoutFile()
	width, _ := ui.Size(out)
	if !ui.IsTerminal(out) {
		width = 0
	}
	return report.Status(a.Stdout, runs, ui.StyleFor(a.Getenv, out), width)
}

func noSuchRun(name string) error {
	return usage(fmt.Errorf("run %s not found", name), "runplan status --all lists them")
}

// standing adds the work in progress to runs that are running.
func (p *project) standing(ctx context.Context, sums []runner.Summary) ([]report.Standing, error) {
	out := make([]report.Standing, len(sums))
	for i, s := range sums {
		out[i].Summary = s
		if !s.Status.Live() {
			continue
		}
		w := report.Watch{Zone: time.Local}
		err := p.eachEvent(ctx, s.Run, w.Apply)
		if err != nil {
			return nil, err
		}
		out[i] = w.Standing()
		out[i].Summary = s // includes the state of its process
	}
	return out, nil
}

// eachEvent calls f for each event of a run, in the order of the journal.
func (p *project) eachEvent(ctx context.Context, run string, f func(runner.Event) error) error {
	j, err := p.openJournal(ctx)
	if err != nil {
		return err
	}
	defer j.Close()
	for ev, err := range local.Events(ctx, j, run, 0) {
		if err != nil {
			return err
		}
		if err := f(ev); err != nil {
			return err
		}
	}
	return nil
}

// lookAlive corrects runs that the journal has as running although no process holds their lock: their process was
// killed.
func (p *project) lookAlive(sums []runner.Summary) {
	for i := range sums {
		if !sums[i].Status.Live() {
			continue
		}
		lock, err := local.TakeLock(p.layout.Lock(sums[i].Slug), time.Now())
		if err != nil {
			continue // the run is still running
		}
		lock.Release()
		if sums[i].Status == runner.RunPaused { // it stays paused; a resume waits for the rest
			sums[i].Reason += "; its process ended, and runplan resume " + sums[i].Run[:8] + " waits for the rest"
			continue
		}
		sums[i].Status, sums[i].Stop = runner.RunStopped, runner.OutcomeCancelled
		sums[i].Reason = "its process ended; to continue it: runplan resume " + sums[i].Run[:8]
	}
}

// logOptions are the flags of log.
type logOptions struct{ json, follow, decisions, sampling bool }

func newLogCommand(a *App) *cobra.Command {
	var o logOptions
	cmd := &cobra.Command{
		Use:   "log [RUN|decisions|sampling]",
		Short: "Show the events of a run",
		Long: `Print the events of a run, the newest one if none is given; with --follow until it ends.

With --decisions it prints what was decided of the run and why, line by line: mode, order, models, early
starts, verdicts, merges. With --sampling it prints the tournaments of the run: who competed, the score
of each candidate term by term, and who won. Both take --json.` + exitStatus(exitOK, exitUsage, exitCannotRun),
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := atMostOne(cmd, "decisions", "sampling", "follow"); err != nil {
				return err
			}
			p, err := a.openProject(cmd.Context())
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
				return a.logDecisions(cmd.Context(), p, name, o.json)
			case o.sampling:
				return a.logSampling(cmd.Context(), p, name, o.json)
			}
			return a.log(cmd.Context(), p, name, o.json, o.follow)
		},
	}
	f := cmd.Flags()
	f.BoolVar(&o.json, "json", false, "one JSON event a line")
	f.BoolVarP(&o.follow, "follow", "f", false, "wait for more until the run ends")
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

func (a *App) log(ctx context.Context, p *project, name string, asJSON, follow bool) error {
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt)
	defer stop()
	j, err := p.openJournal(ctx)
	if err != nil {
		return err
	}
	defer j.Close()
	run, err := findRun(ctx, j, name)
	if err != nil {
		return err
	}
	a.tellForged(ctx, p, run)
	out := a.stdoutFile()
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
				if err := printJSONLine(a, ev); err != nil {
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
			gone, err := p.gone(ctx, run)
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
			return fail(exitInterrupted, errors.New(""), "")
		}
	}
}

// gone reports that an unfinished run has no running process. It returns "" if the run may still be running.
func (p *project) gone(ctx context.Context, run string) (string, error) {
	sums, err := p.summaries(ctx, runner.Filter{Run: run})
	if err != nil || len(sums) == 0 || !sums[0].Status.Live() {
		return "", err
	}
	p.lookAlive(sums)
	if sums[0].Status.Live() {
		return "", nil
	}
	// The run may have ended between the two checks. Then more events follow.
	again, err := p.summaries(ctx, runner.Filter{Run: run})
	if err != nil || len(again) == 0 || !again[0].Status.Live() {
		return "", err
	}
	return sums[0].Reason, nil
}

// selects reports whether the argument RUN of a command means a run: the beginning of its id, its slug or its plan. ""
// means every run.
func selects(name, id, slug, plan string) bool {
	return strings.HasPrefix(id, name) || slug == name || plan == name
}

// findRun returns the id of the selected run: by id, by a prefix of the id, by plan, or the newest.
func findRun(ctx context.Context, j *store.Journal, name string) (string, error) {
	runs, err := j.Runs(ctx)
	if err != nil {
		return "", err
	}
	for _, r := range runs {
		if selects(name, r.ID, r.Slug, r.Plan) {
			return r.ID, nil
		}
	}
	return "", noSuchRun(name)
}
