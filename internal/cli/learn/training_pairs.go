package learn

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/runplan/runplan/internal/cli"
	"github.com/runplan/runplan/internal/phrase"
	"github.com/runplan/runplan/internal/store"
	"github.com/runplan/runplan/internal/ui"
	"github.com/runplan/runplan/training"
	"github.com/runplan/runplan/training/logged"
)

type trainingPairsOptions struct {
	out    string
	stages []string
	json   bool
	rows   logRows
}

// logRows holds the flags that select rows of the log.
type logRows struct {
	since  time.Duration
	tasks  []string
	strict bool
}

// flags adds the flags. row is the word for one, such as "attempt".
func (o *logRows) flags(f *pflag.FlagSet, row string) {
	f.DurationVar(&o.since, "since", 0, "maximum age of runs, such as 720h")
	f.StringArrayVar(&o.tasks, "task", nil,
		"id of a task, RUN/BATCH; may be repeated; any "+row+" of it without a receipt fails the build")
	f.BoolVar(&o.strict, "strict", false, "any "+row+" without a receipt fails the build")
}

// options checks the flags.
func (o logRows) options(now time.Time) (logged.Options, error) {
	out := logged.Options{Tasks: o.tasks, Strict: o.strict}
	switch {
	case o.since < 0:
		return out, cli.Usage(errors.New("--since must be in the past"), "such as --since 720h")
	case o.since > 0:
		out.Since = now.Add(-o.since)
	}
	return out, nil
}

func newTrainingPairsCommand(a *cli.App) *cobra.Command {
	var o trainingPairsOptions
	cmd := &cobra.Command{
		Use:   "pairs",
		Short: "Make training examples from the log, proven by receipts",
		Long: `Make examples of the records of runs: the questions to models in each stage, with their results; the
work of agents on batches, with preference pairs from the winner and the losers of a tournament; and the answers of
reviewers.

Only rows proven by a receipt become examples: the journal says that a batch was merged, its receipt under
.runplan/reports names the commit, and git has that commit. A review is proven by its record. Other rows are refused,
and counted by reason.
--task asks for the rows of one task, and --strict for all: then a row without a receipt fails the build.

With --out DIR the examples are written to DIR/pairs.jsonl, one JSON object a line, and their sources to
DIR/manifest.json; with --out - to standard output. Without --out they are only counted. Secrets are removed. If one
remains, of the environment, the settings, copied files or training.canaries, the build fails and nothing is written.

  runplan training pairs                            count the examples
  runplan training pairs --out data                 write the examples
  runplan training pairs --stage execute_code --since 720h --out -` +
			cli.ExitStatus(cli.ExitOK, cli.ExitFailed, cli.ExitUsage, cli.ExitCannotRun, cli.ExitInterrupted),
		Args: cobra.NoArgs,
		RunE: cli.Stoppable(func(ctx context.Context, _ []string) error {
			return interrupted(ctx, trainingPairs(ctx, a, o))
		}),
	}
	f := cmd.Flags()
	a.RepoFlag(f)
	f.StringVar(&o.out, "out", "", "folder to write to; - is standard output")
	f.StringSliceVar(&o.stages, "stage", nil, "stages to make examples of: "+phrase.List(training.Stages()))
	o.rows.flags(f, "row")
	f.BoolVar(&o.json, "json", false, "print the counts as one JSON object")
	return cmd
}

// options checks and parses the flags.
func (o trainingPairsOptions) options(now time.Time) (logged.Options, error) {
	out, err := o.rows.options(now)
	if err != nil {
		return out, err
	}
	for _, s := range o.stages {
		if !slices.Contains(training.Stages(), training.Stage(s)) {
			return out, cli.Usage(fmt.Errorf("unknown stage %q", ui.Sanitize(s)), "stages are %s",
				phrase.List(training.Stages()))
		}
		out.Stages = append(out.Stages, training.Stage(s))
	}
	if o.json && o.out == "-" {
		return out, cli.Usage(errors.New("--json and --out - both write to standard output"), "leave one of them out")
	}
	return out, nil
}

func trainingPairs(ctx context.Context, a *cli.App, o trainingPairsOptions) error {
	options, err := o.options(time.Now())
	if err != nil {
		return err
	}
	p, err := a.OpenProject(ctx)
	if err != nil {
		return err
	}
	s, done, err := loggedSource(ctx, a, p)
	if err != nil {
		return err
	}
	defer done()
	tally, err := writePairs(ctx, a, s, options, o.out)
	if err != nil {
		return pairsTrouble(err)
	}
	if err := tellPairs(a, tally, s, o); err != nil {
		return err
	}
	if tally.Examples == 0 {
		return cli.Usage(errors.New("no logged row became an example"),
			"refused rows are listed above; a batch becomes an example when it is merged")
	}
	return nil
}

// loggedSource opens the sources of examples from the log. done closes them.
func loggedSource(ctx context.Context, a *cli.App, p *cli.Project) (s logged.Source, done func(), err error) {
	s = logged.Source{Repo: p.Repo, Layout: p.Layout, Guard: trainingGuard(a, p)}
	if s.Journal, err = store.OpenExistingJournal(ctx, p.Layout.Journal()); errors.Is(err, fs.ErrNotExist) {
		return s, nil, noLogYet(p)
	} else if err != nil {
		return s, nil, err
	}
	if s.Log, err = openLog(ctx, p); err != nil {
		s.Journal.Close()
		return s, nil, err
	}
	s.Name, s.License = trainingOrigin(ctx, p)
	return s, func() { s.Log.Close(); s.Journal.Close() }, nil
}

// writePairs builds the examples and writes them to out. For standard output it builds into a temporary file first, so
// that a failed build prints nothing.
func writePairs(ctx context.Context, a *cli.App, s logged.Source, o logged.Options, out string) (training.Tally,
	error) {
	switch out {
	case "":
		return logged.To(ctx, s, o, io.Discard)
	case "-":
	default:
		return logged.Write(ctx, s, o, out)
	}
	f, err := os.CreateTemp("", "runplan-pairs-*")
	if err != nil {
		return training.Tally{}, err
	}
	defer os.Remove(f.Name())
	defer f.Close()
	tally, err := logged.To(ctx, s, o, f)
	if err == nil {
		_, err = f.Seek(0, io.SeekStart)
	}
	if err == nil {
		_, err = io.Copy(a.Stdout, f)
	}
	return tally, err
}

// pairsTrouble adds the exit code to build errors.
func pairsTrouble(err error) error {
	var leak *training.LeakError
	switch {
	case errors.As(err, &leak):
		return cli.Fail(cli.ExitFailed, err, "find out how it got there; do not train on examples that contain it")
	case errors.Is(err, logged.ErrUnproven):
		return cli.Fail(cli.ExitFailed, err, "without --strict and --task such rows are omitted and counted")
	case errors.Is(err, store.ErrRow):
		return cli.Fail(cli.ExitFailed, err, "nothing was written and the journal was not changed: restore a backup of "+
			"the journal")
	}
	return err
}

func tellPairs(a *cli.App, t training.Tally, s logged.Source, o trainingPairsOptions) error {
	if o.json {
		return cli.AsJSON(a.Stdout, struct {
			Repo    string `json:"repo"`
			License string `json:"license"`
			training.Tally
		}{s.Name, s.License, t})
	}
	shown := *a
	if o.out == "-" {
		shown.Stdout = a.Stderr
	}
	if err := showTally(&shown, t); err != nil {
		return err
	}
	fmt.Fprintf(a.Stderr, "%d examples of %s (%s)\n", t.Examples, ui.Sanitize(s.Name),
		cmp.Or(s.License, "its license is unknown"))
	if o.out != "" && o.out != "-" {
		fmt.Fprintf(a.Stderr, "written: %s\n", ui.Sanitize(filepath.Join(o.out, logged.PairsName)))
	}
	return nil
}
