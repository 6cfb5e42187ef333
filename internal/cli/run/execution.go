package run

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/signal"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/runplan/runplan/agents"
	"github.com/runplan/runplan/gates"
	"github.com/runplan/runplan/gates/mutants"
	"github.com/runplan/runplan/internal/atomicfile"
	"github.com/runplan/runplan/internal/cli"
	"github.com/runplan/runplan/internal/cli/control"
	"github.com/runplan/runplan/internal/cli/models"
	"github.com/runplan/runplan/internal/cli/prepare"
	"github.com/runplan/runplan/internal/cli/watch"
	"github.com/runplan/runplan/internal/config"
	"github.com/runplan/runplan/internal/proc"
	"github.com/runplan/runplan/internal/store"
	"github.com/runplan/runplan/patterns"
	"github.com/runplan/runplan/planparse"
	"github.com/runplan/runplan/routing"
	"github.com/runplan/runplan/runner"
	"github.com/runplan/runplan/runner/journal"
	"github.com/runplan/runplan/runner/local"
	"github.com/runplan/runplan/runner/report"
	"github.com/runplan/runplan/sampling"
)

// Execution is the work of one process on a run, from the decision to run to the exit code.
type Execution struct {
	prepare.Prepared
	journal *store.Journal
}

// start runs the plan. It converts the result into an error with the exit code.
func (x *Execution) start(ctx context.Context) error {
	raw, err := store.OpenJournal(ctx, x.Project.Layout.Journal())
	if err != nil {
		return err
	}
	defer raw.Close()
	if err := x.App.Signed(raw); err != nil {
		return err
	}
	x.journal = raw
	// Clean up what an earlier process of this run left behind. That is needed if its reaper was killed too.
	if x.App.Engine == "" || x.App.Engine == cli.Here { // with another engine, a local worker may have the same run
		proc.Sweep("RUNPLAN_RUN=" + x.Run)
	}
	reaper, err := cli.StartReaper()
	if err != nil {
		return err
	}
	defer reaper.Close()
	reaper.Hire(min(x.Info.Workers, 4) - 1) // it has one already
	// Every process in a workspace carries this mark, so that all of them end if the run is killed.
	if x.App.Engine == "" || x.App.Engine == cli.Here {
		defer reaper.Tag("RUNPLAN_RUN=" + x.Run)()
	}
	view := newView(x.App, x.Options)
	view.printer.Brief = true // the run ends with an error that gives the reason
	defer view.Close()
	if x.Options.Serve {
		note := view.Note
		if x.Options.JSON { // standard output carries the event stream, so the view shows no notes
			note = func(text string) { fmt.Fprintln(x.App.Stderr, text) }
		}
		stop, err := watch.ServeDuring(ctx, x.Project, note)
		if err != nil {
			return err
		}
		defer stop()
	}
	decisions, err := x.openDecisions()
	if err != nil {
		return err
	}
	defer decisions.Close()
	told := x.openNotifier(reaper, view)
	defer told.Close()
	for ev, err := range journal.Events(ctx, raw, x.Run, 0) {
		if err != nil {
			return err
		}
		view.Recall(ev)
		decisions.Recall(ev)
		told.Recall(ev)
	}
	config, done, err := x.ready(ctx, reaper, view)
	if err != nil {
		return err
	}
	defer done()
	config.Observe = func(ev runner.Event) { view.Event(ev); decisions.Event(ev); told.Event(ev) }
	engine, left, err := x.engineFor(ctx, config)
	if err != nil {
		return err
	}
	defer left()
	ctx, release := x.signals(ctx, engine, view)
	defer release()
	res, err := engine.Start(ctx, x.Run, x.Info)
	told.Close() // close it while notes can still be shown
	view.Close()
	if err != nil {
		return x.lost(ctx, err)
	}
	return x.result(res)
}

func (x *Execution) config(settings gates.Settings, raw *store.Journal, agent agents.Agent, v *view) (local.Config,
	error) {
	c := x.Project.Config.Config
	tournaments, err := x.sampling(c)
	if err != nil {
		return local.Config{}, err
	}
	return local.Config{
		Sampling: tournaments, Home: x.App.CacheDir(),
		Mutants: mutants.Options{
			Budget: c.Gates.Mutants.Budget.Time(), Share: c.Gates.Mutants.Budget.Percent(), Bar: c.Gates.Mutants.Bar,
			Program: func(ctx context.Context) (patterns.Program, error) {
				return patterns.Find(ctx, x.App.Environ, c.Gates.AstGrep)
			},
		},
		Repo: x.Project.Repo, Layout: x.Project.Layout, Journal: raw, Plan: x.Plan, PlanText: x.Text, Agent: agent,
		Limits: agents.Limits{
			Total: cmp.Or(x.Options.AgentTimeout, time.Duration(c.Run.AgentTimeout)),
			Idle:  cmp.Or(x.Options.IdleTimeout, time.Duration(c.Run.IdleTimeout)),
			Grace: time.Duration(c.Run.Grace),

			MaxRepeats: c.Run.MaxRepeats, MaxTokens: int64(c.Run.MaxTokens), MaxCostUSD: c.Run.MaxAttemptUSD,
		},
		GateConfig: settings, Baseline: c.Gates.Baseline, GateTimeout: time.Duration(c.Gates.Timeout), Format: c.Gates.Format,
		Setup:   x.Project.WorkspaceSetup(nil),
		Context: prepare.ContextLimits(c.Context), ContextFile: c.Context.File, Where: models.Where(x.Project),
		Style: func(ctx context.Context, dir string) string {
			text, note, err := prepare.StyleOf(ctx, x.App, dir)
			if err != nil {
				note = "the style of the code could not be determined: " + err.Error()
			}
			if note != "" {
				v.Note("note: briefs omit the style of the code: " + note)
			}
			return text
		},
		MaxTime: cmp.Or(x.Options.MaxTime, time.Duration(c.Run.MaxTime)), Environ: x.App.Environ,
		Secrets: x.Project.Secrets(), Now: time.Now,
		StrictCheckout: c.Run.StrictCheckout,
		MemoryFloor:    uint64(c.Routing.WorkerMemThresholdGB * (1 << 30)), Memory: routing.AvailableMemory,
		Notes: x.Found, Change: x.Change, Redo: x.Redo, Observe: v.Event, Line: v.Line, Note: v.Note, Report: x.writeReport,
	}, nil
}

// signals handles signals: the first Ctrl-C stops softly, the second stops at once. SIGHUP and SIGTERM stop at once.
func (x *Execution) signals(ctx context.Context, engine runner.Engine, v *view) (context.Context, func()) {
	cli.OutliveReader()
	ctx, cancel := context.WithCancelCause(ctx)
	got := make(chan os.Signal, 4)
	signal.Notify(got, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	var count atomic.Int32
	handle := func(s os.Signal) {
		if s != os.Interrupt {
			cancel(fmt.Errorf("got %s", nameOf(s)))
			return
		}
		if count.Add(1) > 1 {
			cancel(errors.New("interrupted twice"))
			return
		}
		v.Note("stopping after the current step; Ctrl-C again stops at once")
		// The engine may be between two batches. It reads the request the next time that it waits for events.
		engine.Post(ctx, x.Run, runner.Event{Kind: runner.StopAsked, Outcome: runner.OutcomeCancelled, Reason: "interrupted"})
	}
	v.OnInterrupt(func() { got <- os.Interrupt })
	done := make(chan struct{})
	go func() {
		for {
			select {
			case s := <-got:
				handle(s)
			case <-done:
				return
			}
		}
	}()
	return ctx, func() { signal.Stop(got); close(done); cancel(nil) }
}

func nameOf(s os.Signal) string {
	switch s {
	case syscall.SIGTERM:
		return "SIGTERM"
	case syscall.SIGHUP:
		return "SIGHUP"
	}
	return s.String()
}

// result reports the outcome of a run and what to do next.
func (x *Execution) result(res runner.Result) error {
	if x.Options.Tick {
		x.tickPlan()
	}
	out, page := x.App.Stderr, filepath.Join(x.Project.Layout.Report(x.Run), "report")
	if res.Status == runner.RunDone && !x.Options.JSON {
		fmt.Fprintf(out, "report: %s\n", cli.Rel(page+".html"))
		if x.Info.Land == "branch" && res.Tip != x.Info.Base {
			if files, err := x.Project.Repo.InTheWay(context.Background(), res.Tip); err == nil && len(files) > 0 {
				fmt.Fprintf(out, "before you merge, commit or move %s: the run has its own version of what is not committed here\n",
					cli.ListOf(files, 5))
			}
			fmt.Fprintf(out, "merge it: git merge %s\n", x.Info.Branch)
		} else if x.Info.Land == "branch" &&
			slices.ContainsFunc(x.Info.Batches, func(b runner.BatchInfo) bool { return b.Skip == "" }) {
			fmt.Fprintln(out, "nothing to merge: the base already has everything in the plan")
		}
	}
	switch res.Status {
	case runner.RunDone:
		if now, err := os.ReadFile(x.File); err == nil && !planparse.SameButTicks(x.Text, now) {
			fmt.Fprintf(out,
				"runplan: %s was edited during the run, which did what it said before; for the edits, start another run\n",
				cli.Rel(x.File))
		}
		return nil
	case runner.RunFailed:
		x.exhausted()
		return cli.Fail(cli.ExitFailed, errors.New(res.Reason), "see %s; then: runplan resume %s",
			cli.Rel(page+".md"), x.Run[:8])
	}
	err := fmt.Errorf("run %s stopped: %s", x.Run[:8], res.Stop.Reason)
	switch res.Stop.Outcome {
	case runner.OutcomeCancelled:
		return cli.Fail(cli.ExitInterrupted, err, "continue: runplan resume %s", x.Run[:8])
	case runner.OutcomeLimited:
		return cli.Fail(cli.ExitLimit, err, "continue: runplan resume %s", x.Run[:8])
	case runner.OutcomeHuman:
		return cli.Fail(cli.ExitHuman, err, "%s", x.whatToAnswer())
	}
	return cli.Fail(cli.ExitCannotRun, err,
		"fix it, then: runplan resume %[1]s; if the fix is a commit: runplan discard %[1]s, and run the plan again",
		x.Run[:8])
}

func (x *Execution) writeReport(s runner.Summary) error {
	dir := x.Project.Layout.Report(x.Run)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	// The report of a long run is the peak of memory use. It is written once, so it may take more time.
	defer debug.SetGCPercent(debug.SetGCPercent(5))
	debug.FreeOSMemory()
	past, err := report.PastOf(journal.Events(context.Background(), x.journal, x.Run, 0))
	if err != nil {
		return err
	}
	debug.FreeOSMemory() // reading the events used more memory than the result keeps
	if err := atomicfile.WriteLoose(filepath.Join(dir, "report.md"), []byte(report.Markdown(s, past)), 0o644); err != nil {
		return err
	}
	html := filepath.Join(dir, "report.html")
	if err := os.Remove(html); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	page, err := os.OpenFile(html, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644) // do not follow a link
	if err != nil {
		return err
	}
	to := bufio.NewWriter(page)
	return cmp.Or(report.WriteHTML(to, s, past), to.Flush(), page.Close())
}

// tickPlan ticks the merged tasks in the user's plan. Only the runner writes ticks, never an agent.
func (x *Execution) tickPlan() {
	warn := func(err error) { fmt.Fprintf(x.App.Stderr, "runplan: the plan could not be ticked: %v\n", err) }
	sums, err := x.Project.Summaries(context.Background(), runner.Filter{Run: x.Run})
	if err != nil || len(sums) == 0 {
		warn(err)
		return
	}
	lines := map[int]bool{}
	merged := 0
	for _, b := range sums[0].Batches {
		pb, ok := x.Plan.Batch(b.Key)
		if !ok || b.State != string(runner.Passed) {
			continue
		}
		merged++
		for _, line := range pb.Boxes() {
			lines[line] = true
		}
	}
	if merged > 0 && len(lines) == 0 {
		fmt.Fprintf(x.App.Stderr, "runplan: nothing was ticked: the merged batches have no checkboxes in %s\n",
			filepath.Base(x.File))
		return
	}
	src, err := os.ReadFile(x.File)
	if err == nil && !planparse.SameButTicks(x.Text, src) {
		err = errors.New("it was edited during the run")
	}
	if err == nil {
		if ticked, n := planparse.Tick(src, lines); n > 0 {
			err = replaceFile(x.File, ticked)
		}
	}
	if err != nil {
		warn(err)
	}
}

// replaceFile atomically replaces a file of the user. It resolves symbolic links and keeps the permissions.
func replaceFile(path string, text []byte) error {
	path, err := filepath.EvalSymlinks(path)
	if err != nil {
		return err
	}
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	return atomicfile.Write(path, text, info.Mode().Perm())
}

// whatToAnswer explains how to resume a run that stopped for an approval.
func (x *Execution) whatToAnswer() string {
	sums, err := x.Project.Summaries(context.Background(), runner.Filter{Run: x.Run})
	if err != nil || len(sums) == 0 || len(sums[0].Waiting) == 0 {
		return "then continue: runplan resume " + x.Run[:8]
	}
	var lines []string
	for _, w := range sums[0].Waiting {
		if w.Batch != "" {
			lines = append(lines, control.CheckpointLines(w.Number, x.Plan.Asked(w.Batch))...)
		}
		lines = append(lines, fmt.Sprintf(
			"show it: git diff %s; then: runplan approve %s, or runplan approve %s --deny --reason TEXT", w.Diff(), w.ID, w.ID))
	}
	return strings.Join(append(lines, "  → then continue: runplan resume "+x.Run[:8]), "\n")
}

// sampling returns the tournament settings of this run, with the flags that it was started with.
func (x *Execution) sampling(c config.Config) (local.Sampling, error) {
	scorer, err := sampling.NewScorer(c.Sampling.Score)
	f, wrong := prepare.KeptFlags(x.Info.Flags)
	if err = cmp.Or(err, wrong, f.Check(c.Sampling.MaxCount)); err != nil {
		return local.Sampling{}, cli.Usage(err, "")
	}
	o := sampling.DefaultOptions()
	o.Close, o.StopAtFirst, o.LearnAfter = c.Sampling.Close, c.Sampling.StopAtFirst, c.Sampling.LearnAfter
	return local.Sampling{
		Settings: prepare.SamplingSettings(c.Sampling), Options: o, Scorer: scorer, Flags: f,
		Outcomes: sampling.Store{Path: x.Project.Layout.SamplingOutcomes()}, Tokens: 4 * c.Context.Tokens,
		HoldOut: c.Sampling.HoldOut,
	}, nil
}
