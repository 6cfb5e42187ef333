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
	"github.com/runplan/runplan/internal/cli/adapters"
	"github.com/runplan/runplan/internal/phrase"
	"github.com/runplan/runplan/internal/store"
	"github.com/runplan/runplan/internal/ui"
	"github.com/runplan/runplan/runner/journal"
	"github.com/runplan/runplan/training"
	"github.com/runplan/runplan/training/folder"
	"github.com/runplan/runplan/training/logged"
)

type trainingPairsOptions struct {
	out    string
	stages []string
	rows   logRows
}

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
	return a.Command(cli.With{Exits: "0 1 2 5 130", Repo: true, JSON: "the counts as one JSON object"}, &cobra.Command{
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
  runplan training pairs --stage execute_code --since 720h --out -`,
		Args: cobra.NoArgs,
		RunE: stoppable(a, o.trainingPairs),
	}, func(f *cli.Flags) {
		f.StringVar(&o.out, "out", "", "folder to write to; - is standard output")
		f.StringSliceVar(&o.stages, "stage", nil, "stages to make examples of: "+phrase.List(training.Stages()))
		cli.Values(f, "stage", training.Stages())
		o.rows.flags(f, "row")
	})
}

// stagesOf returns the stages that a flag names, of those in known.
func stagesOf(names []string, known []training.Stage) (out []training.Stage, err error) {
	for _, name := range names {
		if !slices.Contains(known, training.Stage(name)) {
			return nil, cli.Usage(fmt.Errorf("unknown stage %q", ui.Sanitize(name)), "stages are %s", phrase.List(known))
		}
		out = append(out, training.Stage(name))
	}
	return out, nil
}

func (o *trainingPairsOptions) trainingPairs(ctx context.Context, p *cli.Project, _ []string) error {
	if p.JSON && o.out == "-" {
		return cli.Usage(errors.New("--json and --out - both write to standard output"), "use only one of them")
	}
	options, err := o.rows.options(time.Now())
	if err != nil {
		return err
	}
	if options.Stages, err = stagesOf(o.stages, training.Stages()); err != nil {
		return err
	}
	s, done, err := loggedSource(ctx, p)
	if err != nil {
		return err
	}
	defer done()
	tally, err := writePairs(ctx, p.App, s, options, o.out)
	if err != nil {
		return pairsTrouble(err)
	}
	if err := tellPairs(p.App, tally, s, o); err != nil {
		return err
	}
	if tally.Examples == 0 {
		return cli.Usage(errors.New("no logged row became an example"),
			"refused rows are listed above; a batch becomes an example when it is merged")
	}
	return nil
}

// loggedSource opens the sources of examples from the log. done closes them.
func loggedSource(ctx context.Context, p *cli.Project) (s logged.Source, done func(), err error) {
	s = logged.Source{Repo: p.Repo, Journal: journal.Reader{Layout: p.Layout}, Guard: adapters.Guard(p)}
	if s.Journal.Journal, err = store.OpenExistingJournal(ctx, p.Layout.Journal()); errors.Is(err, fs.ErrNotExist) {
		return s, nil, noLogYet(p)
	} else if err != nil {
		return s, nil, err
	}
	if s.Log, err = store.OpenLog(ctx, p.Layout.Journal()); err != nil {
		s.Journal.Close()
		return s, nil, err
	}
	s.Name, s.License = adapters.Origin(ctx, p)
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

func pairsTrouble(err error) error {
	return cli.Advise(err,
		cli.On(cli.ExitFailed, "find out how it got there; do not train on examples that contain it",
			new(*training.LeakError)),
		cli.On(cli.ExitFailed, "without --strict and --task such rows are omitted and counted", logged.ErrUnproven),
		cli.On(cli.ExitFailed, "nothing was written and the journal was not changed: restore a backup of the journal",
			store.ErrRow))
}

func tellPairs(a *cli.App, t training.Tally, s logged.Source, o *trainingPairsOptions) error {
	return a.Print(struct {
		Repo    string `json:"repo"`
		License string `json:"license"`
		training.Tally
	}{s.Name, s.License, t}, func() {
		shown := *a
		if o.out == "-" {
			shown.Stdout = a.Stderr
		}
		showTally(&shown, t)
		fmt.Fprintf(a.Stderr, "%d examples of %s (%s)\n", t.Examples, ui.Sanitize(s.Name),
			cmp.Or(s.License, "its license is unknown"))
		if o.out != "" && o.out != "-" {
			fmt.Fprintf(a.Stderr, "written: %s\n", ui.Sanitize(filepath.Join(o.out, logged.PairsName)))
		}
	})
}

type trajectoriesOptions struct {
	out  string
	rows logRows
}

func newTrainingTrajectoriesCommand(a *cli.App) *cobra.Command {
	var o trajectoriesOptions
	return a.Command(cli.With{Exits: "0 1 2 5 130", Repo: true, JSON: "the counts as one JSON object"}, &cobra.Command{
		Use:   "trajectories",
		Short: "Write the attempts of agents as trajectories, proven by receipts",
		Long: `Write each attempt of an agent at a merged batch as a trajectory in the Agent Trajectory Interchange
Format: the brief, the agent's text, its tool calls and their results, its tokens and cost, and the verdict of the
gates as reward. Attempts at batches without a receipt are refused and counted, as in training pairs.

DIR gets one file for each attempt and manifest.json. The log of a program whose output runplan cannot read is one message.
Secrets are removed; if one remains, nothing is written.

  runplan training trajectories --out trajectories
  runplan training trajectories --task 20300101-100000-4f2a/1 --out one`,
		Args: cobra.NoArgs,
		RunE: stoppable(a, o.writeTrajectories),
	}, func(f *cli.Flags) {
		f.StringVar(&o.out, "out", "", "output folder: new or empty")
		o.rows.flags(f, "attempt")
	})
}

func (o *trajectoriesOptions) writeTrajectories(ctx context.Context, p *cli.Project, _ []string) error {
	if o.out == "" {
		return cli.Usage(errors.New("--out is missing"), "choose a new folder: --out trajectories")
	}
	options, err := o.rows.options(time.Now())
	if err != nil {
		return err
	}
	s, done, err := loggedSource(ctx, p)
	if err != nil {
		return err
	}
	defer done()
	out, err := folder.New(o.out, logged.ManifestName, false)
	if err != nil {
		return cli.Usage(err, "choose a new folder")
	}
	defer out.Discard()
	write := func(name string, v any) error {
		return out.File(name, folder.JSON(v))
	}
	tally, err := logged.Trajectories(ctx, s, options, p.FormatOf,
		func(name string, t logged.Trajectory) error { return write(name+".json", t) })
	if err != nil {
		return pairsTrouble(err)
	}
	m := struct {
		Format  int                `json:"format"` // 1
		Schema  string             `json:"schema"`
		Repo    string             `json:"repo"`
		License string             `json:"license"`
		Count   int                `json:"trajectories"`
		Refused []training.Refusal `json:"refused"`
		Sums    map[string]string  `json:"sha256"`
	}{1, logged.TrajectoryVersion, s.Name, s.License, tally.Examples, append([]training.Refusal{}, tally.Refused...),
		out.Sums}
	if err := write(logged.ManifestName, m); err != nil {
		return err
	}
	var rows ui.Rows
	rows.Add("written", tally.Examples)
	for _, r := range tally.Refused {
		rows.Add(r.Reason, r.Rows)
	}
	switch err := p.PrintTable(m, "", []string{"trajectories", ">count"}, rows); {
	case err != nil:
		return err
	case tally.Examples == 0:
		return cli.Usage(errors.New("no attempt became a trajectory"), "refused attempts are listed above")
	}
	if err := out.Publish(); err != nil {
		return err
	}
	fmt.Fprintf(p.Stderr, "written: %s\n", ui.Sanitize(o.out))
	return nil
}
