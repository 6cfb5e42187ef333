package learn

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/runplan/runplan/internal/cli"
	"github.com/runplan/runplan/internal/cli/adapters"
	"github.com/runplan/runplan/internal/lists"
	"github.com/runplan/runplan/internal/ui"
	"github.com/runplan/runplan/runner/local"
	"github.com/runplan/runplan/training/folder"
	"github.com/runplan/runplan/training/license"
	"github.com/runplan/runplan/training/tasks"
)

type trainingTasksOptions struct {
	tasks.Options
	commits []string // as the user named them
	since   string
}

func newTrainingTasksCommand(a *cli.App) *cobra.Command {
	var o trainingTasksOptions
	return a.Command(cli.With{Exits: "0 1 2 5 130", Trust: true, JSON: "the manifest as one JSON object"}, &cobra.Command{
		Use:   "tasks REPO",
		Short: "Export commits whose tests fail before them and pass after them",
		Long: `Read the history of a repository, newest commit first, and export the commits that make a runnable task:
their tests fail without their code and pass with it. The tests run in the sealed rooms of gates, each side --runs
times; a test that both passes and fails on one tree is ignored. Go tests and pytest are supported.

DIR gets these files, and manifest.json at the end:

  harbor/TASK/      a folder for Harbor: task.toml, instruction.md, environment, solution and tests
  swebench.jsonl    the same tasks as instances for the loaders of SWE-bench
  receipts.jsonl    one line for each commit whose tests were run: the tests, or why it is not a task

Before a task is kept, its own tests/test.sh runs as a grader would run it: on the repository before the commit, where
it must write the reward 0, and after solution/solve.sh, where it must write 1. The container of environment/Dockerfile
is not built.

It runs the tests of the repository, and its set-up if the settings name one.

  runplan training tasks . --out tasks --max 20
  runplan training tasks ../other --out tasks --commit 3f2a1b`,
		Args: cobra.ExactArgs(1),
		PreRunE: func(_ *cobra.Command, args []string) (err error) {
			if a.Dir, err = filepath.Abs(args[0]); err != nil { // rooms need to know where the repository is
				return err
			}
			return o.check()
		},
		RunE: stoppable(a, o.exportTasks),
	}, func(f *cli.Flags) {
		f.StringVar(&o.Dir, "out", "", "output folder: new or empty")
		f.StringArrayVar(&o.commits, "commit", nil, "use only this commit; may be repeated")
		f.StringVar(&o.since, "since", "", "ignore commits before this day: 2025-01-31, or an RFC 3339 time")
		f.IntVar(&o.Max, "max", 20, "maximum number of tasks (0: all)")
		f.IntVar(&o.Tries, "tries", 200, "maximum number of commits whose tests are run (0: all)")
		f.IntVar(&o.Runs, "runs", 2, "number of runs of the tests on each side")
		f.DurationVar(&o.Limit, "timeout", 5*time.Minute, "time limit of one run of tests")
	})
}

func (o *trainingTasksOptions) check() (err error) {
	switch {
	case o.Dir == "":
		return cli.Usage(errors.New("--out is missing"), "choose a new folder: --out tasks")
	case o.Max < 0 || o.Tries < 0:
		return cli.Usage(errors.New("--max and --tries must not be negative; 0 means all"), "")
	case o.Runs < 1 || o.Limit <= 0:
		return cli.Usage(errors.New("--runs must be 1 or more, and --timeout more than 0"), "")
	}
	o.Since, err = dayOf(o.since)
	return err
}

func (o *trainingTasksOptions) exportTasks(ctx context.Context, p *cli.Project, _ []string) (err error) {
	x := o.Options
	for _, name := range o.commits {
		hash, err := p.Repo.Resolve(ctx, name+"^{commit}")
		if err != nil {
			return cli.Usage(fmt.Errorf("--commit %s: no commit of %s", ui.Sanitize(name), p.Repo.Root), "")
		}
		x.Commits = lists.Add(x.Commits, hash)
	}
	if err := p.TrustConfig(); err != nil {
		return err
	}
	if x.Reaper, err = cli.StartReaper(); err != nil {
		return err
	}
	defer x.Reaper.Close()
	guard := adapters.Guard(p)
	x.Version = cli.Version()
	x.Repo, x.License, x.Redact, x.Canary = p.Repo, license.Of(os.DirFS(p.Repo.Root)), guard.Redact, guard.Canary
	rooms, err := local.NewRooms(ctx, p.CacheDir(), p.Repo, p.Layout, p.WorkspaceSetup(x.Reaper), p.Environ, p.Warn)
	if err != nil {
		return err
	}
	defer func() {
		if err := rooms.Close(ctx); err != nil {
			p.Warn(err.Error())
		}
	}()
	x.Rooms = rooms
	x.Each = func(r tasks.Receipt) {
		text := r.Says
		if r.Reason == "" {
			text = fmt.Sprintf("task: %d red to green, %d stay green", len(r.Fixed), len(r.Kept))
		}
		fmt.Fprintf(p.Stderr, "%.10s  %s;  %s\n", r.Commit, ui.Brief(text, 100), ui.Sanitize(r.Subject))
	}
	m, err := tasks.Export(ctx, x)
	if err != nil {
		return cli.Advise(err, cli.On(cli.ExitUsage, "choose a new folder", folder.ErrExists))
	}
	err = p.Print(m, func() { printTasks(p.App, m, o.Dir) })
	if err == nil && m.Tasks == 0 {
		return cli.Fail(cli.ExitFailed, fmt.Errorf("found no task in %d commits", m.Commits),
			"%s has the reason for each commit whose tests were run", tasks.ReceiptName)
	}
	return err
}

func printTasks(a *cli.App, m tasks.Manifest, out string) {
	few := 0
	for _, n := range m.Messages {
		few += n
	}
	var rows ui.Rows
	rows.Add("tasks", m.Tasks, "")
	if few > 0 && m.Refused[tasks.Unfit] == 0 {
		rows.Add(tasks.Unfit, few, tasks.Unfit.Text())
	}
	for _, r := range tasks.Reasons() {
		if n := m.Refused[r]; n > 0 {
			rows.Add(r, n, r.Text())
		}
	}
	rows.Add("all", m.Commits, "")
	ui.Table(a.Stdout, []string{"commits", ">count", "why"}, rows)
	fmt.Fprintf(a.Stderr, "tasks are in %s\n", ui.Sanitize(out))
}
