package learn

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"runtime/debug"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/runplan/runplan/agents/solver"
	"github.com/runplan/runplan/internal/cli"
	"github.com/runplan/runplan/internal/cli/models"
	"github.com/runplan/runplan/internal/tokens"
	"github.com/runplan/runplan/internal/ui"
	"github.com/runplan/runplan/knowledge/retrieve"
	"github.com/runplan/runplan/patterns"
	"github.com/runplan/runplan/training/history"
	"github.com/runplan/runplan/training/license"
)

type bootstrapOptions struct {
	history.Options
	stages []string
	since  string
}

func newTrainingBootstrapCommand(a *cli.App) *cobra.Command {
	var o bootstrapOptions
	return a.Command(cli.With{Exits: "0 1 2 5 130", JSON: "the manifest as one JSON object"}, &cobra.Command{
		Use:   "bootstrap REPO",
		Short: "Make training examples from a repository's history",
		Long: `Make examples of the history of a repository, without any run. A commit is a completed task:
its message is the task, the code before it is the context, its diff is the answer. No model is called.

A commit is used if it changes at most 5 files and fewer than 200 lines of code, in Go, Python, TypeScript or JavaScript,
is not a merge, was not reverted later, and has a message that says what changed: a first line of at least 15 characters
and three words, of which at least two are not empty words such as "fix", "wip" and "misc". TypeScript, JavaScript and
Python with unusual syntax need ast-grep. Lines count in hand-written files of these languages; other, generated, bundled, vendored and lock files make
no examples. A commit with a probable secret is omitted completely. The table shows how many commits were refused, and
why.

DIR gets a file of examples for each stage and, at the end, manifest.json, which marks a complete result. Run it again
after it was killed, and it continues. The same commits, options and seed give identical files; the seed decides which
irrelevant files and chunks are offered.

  runplan training bootstrap . --out data
  runplan training bootstrap ../other --out data --stages scope,execute_code --since 2025-01-01 --max 500`,
		Args: cobra.ExactArgs(1),
		PreRunE: func(_ *cobra.Command, args []string) error {
			a.Dir = args[0]
			return o.check()
		},
		RunE: a.StoppableInProject(o.bootstrapExamples),
	}, func(f *cli.Flags) {
		f.StringVar(&o.Dir, "out", "", "output folder: new, empty, or that of an interrupted bootstrap")
		f.Uint64Var(&o.Seed, "seed", 1, "random seed")
		f.StringSliceVar(&o.stages, "stages", nil,
			"task_analysis, scope, precision, execute_plan, execute_code (default: all)")
		f.IntVar(&o.Max, "max", 0, "maximum number of commits, newest first (0: all)")
		f.StringVar(&o.since, "since", "", "ignore commits before this day: 2025-01-31, or an RFC 3339 time")
	})
}

func (o *bootstrapOptions) bootstrapExamples(ctx context.Context, p *cli.Project, _ []string) (err error) {
	h := o.Options
	h.Repo, h.Version, h.License = p.Repo, cli.Version(), license.Of(os.DirFS(p.Repo.Root))
	if h.Program, err = p.AstGrep(ctx); err != nil {
		return err
	}
	if h.Retrieval, err = p.Prompts(retrieve.LoadPrompts); err == nil {
		h.Solver, err = p.Prompts(solver.LoadPrompts)
	}
	if err != nil {
		return err
	}
	h.Budget = history.DefaultBudget()
	if b := p.Config.Budget; b.ContextWindow > 0 {
		h.Budget = tokens.Budget{Window: b.ContextWindow, Reserved: b.ReservedTokens, Margin: p.Config.Models.Margin}
	}
	h.Redact = p.Redactor().String
	if p.Repo.Shallow() {
		p.Warn("the clone is shallow: older commits are not read; to get them: git fetch --unshallow")
	}
	// Memory is cheaper than collection: nothing is collected below the limit. Up to 80 MiB are live, however long the
	// history is. A limit near that doubles the CPU time.
	cli.CollectAt(-1)
	debug.SetMemoryLimit(448 << 20)
	progress, began := models.NewProgress(p.App), time.Now()
	h.Progress = func(s history.Progress) { showBootstrap(progress, time.Since(began), s) }
	m, err := history.Run(ctx, h)
	progress.Clear()
	switch {
	case ctx.Err() != nil:
		return cli.Interrupted("", "run the same command again: it continues where it stopped")
	case err != nil:
		return bootstrapTrouble(err, o.Dir)
	}
	err = p.Print(m, func() { printBootstrap(p.App, m, o.Dir) })
	if err == nil && m.Used == 0 {
		advice := "use a repository with small commits whose messages say what changed"
		if 2*m.Reasons[history.OtherCode] > m.Commits {
			advice = "examples are made of Go, Python, TypeScript and JavaScript"
		}
		return cli.Fail(cli.ExitFailed, fmt.Errorf("found no example in %d commits", m.Commits), "the table shows why; %s",
			advice)
	}
	return err
}

func (o *bootstrapOptions) check() (err error) {
	switch {
	case o.Dir == "":
		return cli.Usage(errors.New("--out is missing"), "choose a new folder: --out data")
	case o.Max < 0:
		return cli.Usage(fmt.Errorf("--max is %d", o.Max), "give a number of commits, or 0 for all")
	}
	if o.Stages, err = stagesOf(o.stages, history.Stages()); err != nil {
		return err
	}
	o.Since, err = dayOf(o.since)
	return err
}

// dayOf parses a flag --since; "" is the zero time.
func dayOf(since string) (time.Time, error) {
	if since == "" {
		return time.Time{}, nil
	}
	for _, layout := range []string{time.DateOnly, time.RFC3339} {
		if at, err := time.Parse(layout, since); err == nil {
			return at.UTC(), nil
		}
	}
	return time.Time{}, cli.Usage(fmt.Errorf("--since %q: not a day", since), "write it as 2025-01-31")
}

func bootstrapTrouble(err error, out string) error {
	return cli.Advise(err,
		cli.On(cli.ExitUsage, "clone it without --filter", history.ErrPartial),
		cli.On(cli.ExitUsage, "it is "+ui.Sanitize(out)+"; remove the folder to start again, or choose another one",
			history.ErrComplete),
		cli.On(cli.ExitUsage, "use the same options to continue it, or choose another folder", history.ErrOther),
		cli.On(cli.ExitUsage, "wait until it is done, or choose another folder", history.ErrBusy),
		cli.On(cli.ExitUsage, "choose a new folder", history.ErrForeign),
		cli.On(cli.ExitCannotRun, "free space and run the same command again: it continues where it stopped",
			syscall.ENOSPC, syscall.EDQUOT, syscall.EFBIG))
}

func printBootstrap(a *cli.App, m history.Manifest, out string) {
	var rows ui.Rows
	rows.Add("used", m.Used, "")
	for _, r := range history.Reasons() {
		if n := m.Reasons[r]; n > 0 {
			rows.Add(r, n, r.Text())
		}
	}
	rows.Add("all", m.Commits, "")
	ui.Table(a.Stdout, []string{"commits", ">count", "why"}, rows)
	for i, h := range m.Hints() {
		if i == 0 {
			fmt.Fprintln(a.Stdout, "\nas a source of examples (the history does not show whether its tests passed):")
		}
		fmt.Fprintf(a.Stdout, "  %-4s  %s\n", map[bool]string{true: "good", false: "poor"}[h.Good], h.Text)
	}
	rows = nil
	for _, s := range m.Stages {
		t := m.Files[s]
		rows.Add(s, t.Examples, t.Bytes, t.Sum[:12])
	}
	anotherTable(a, []string{"stage", ">examples", ">bytes", "sha256"}, rows)
	gap := "\n"
	for _, s := range m.Stages {
		not := m.Files[s].Not
		for _, why := range slices.Sorted(maps.Keys(not)) {
			fmt.Fprintf(a.Stdout, "%s%s: no example from %d used commit(s): %s\n", gap, s, not[why], why)
			gap = ""
		}
	}
	if n := m.Reasons[history.NoReader]; n > 0 {
		fmt.Fprintf(a.Stderr, "%d commit(s) were omitted: %s\n", n, patterns.MissingNote)
	}
	fmt.Fprintf(a.Stderr, "examples are in %s\n", ui.Sanitize(out))
}

// quietFor is the interval between lines without a terminal.
const quietFor = 10 * time.Second

func showBootstrap(p *models.Progress, took time.Duration, s history.Progress) {
	text := fmt.Sprintf("reading the history  %d of %d commits, %d examples", s.Done, s.Total, s.Examples)
	if fresh := s.Done - s.Resumed; fresh > 0 && s.Done < s.Total && took > time.Second {
		text += "  " + ui.Duration((took * time.Duration(s.Total-s.Done) / time.Duration(fresh)).Round(time.Second)) +
			" to go"
	}
	p.Show(strings.Repeat(".", int(took/quietFor)), text, text) // each interval is a stage
}
