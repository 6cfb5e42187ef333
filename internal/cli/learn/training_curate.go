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
	"github.com/runplan/runplan/internal/store"
	"github.com/runplan/runplan/internal/ui"
	"github.com/runplan/runplan/llm"
	"github.com/runplan/runplan/training"
	"github.com/runplan/runplan/training/curate"
	"github.com/runplan/runplan/training/folder"
	"github.com/runplan/runplan/training/logged"
	"github.com/runplan/runplan/training/plan"
)

type trainingCurateOptions struct {
	plan    string
	in      []string
	logged  bool
	out     string
	replace bool
	advice
}

func newTrainingCurateCommand(a *cli.App) *cobra.Command {
	var o trainingCurateOptions
	with := cli.With{Exits: "0 1 2 5 130", Repo: true, Trust: true, JSON: "the counts as one JSON object"}
	cmd := a.Command(with, &cobra.Command{
		Use:   "curate --plan FILE --in DIR|--logged --out DIR",
		Short: "Select examples by a training plan, and hold some back for validation",
		Long: `Make a dataset of examples by a training plan. It omits examples of other stages or of low quality,
copies and near-duplicates, and bad examples beyond the plan's ratio. The newest part of each repository is held out
for validation.

Two examples are near-duplicates if the shared part of their groups of words (Jaccard) reaches near_duplicate;
words in nearly all prompts do not count. Train and validation share no commit, no task, no version of a file, no
prompt and no near-duplicate; if both kinds of review pairs exist, both are in validation. When the files are
finished, each example is compared with each one of the other side, and a leak fails the build.

With --ask-model the reasoning model judges the examples that remain after the near-duplicates, in batches that
fit into its window. It can only reject examples. An example without a usable answer is kept, and counted. The folder
then also has judged.jsonl, with the opinion about each example and its reason.

The folder gets train.jsonl, validation.jsonl, left-out.jsonl with the reason for each example, plan.toml and dataset.json.
The same examples, plan and seed give identical files. The dataset is written completely or not at all.

  runplan training curate --plan plan.toml --logged --in history --out set
  runplan training curate --plan plan.toml --in data --out set
  runplan training curate --plan plan.toml --in data --out set --ask-model`,
		Args: cobra.NoArgs,
		RunE: stoppable(a, o.trainingCurate),
	})
	f := cmd.Flags()
	f.StringVar(&o.plan, "plan", "", "training plan to follow")
	f.StringArrayVar(&o.in, "in", nil, "folder or file with examples (repeatable)")
	f.BoolVar(&o.logged, "logged", false, "also use the examples logged here, as in runplan training pairs")
	f.StringVar(&o.out, "out", "", "folder for the dataset")
	f.BoolVar(&o.replace, "replace", false, "replace an existing dataset")
	o.add(cmd, "have the reasoning model reject examples")
	return cmd
}

func (o *trainingCurateOptions) trainingCurate(ctx context.Context, p *cli.Project, _ []string) error {
	if o.plan == "" || len(o.in) == 0 && !o.logged || o.out == "" {
		return cli.Usage(errors.New("training curate needs --plan, --out, and --in or --logged"),
			"draft a plan: runplan training plan --out plan.toml")
	}
	if err := o.unasked(); err != nil {
		return err
	}
	text, err := os.ReadFile(o.plan)
	if err != nil {
		return cli.Usage(fmt.Errorf("read the training plan: %w", err), "draft one: runplan training plan --out plan.toml")
	}
	d, err := plan.Parse(o.plan, text)
	if err != nil {
		return cli.Usage(err, "")
	}
	task := cli.NewTaskID()
	options := curate.Options{Plan: d, PlanText: text, Canary: adapters.Guard(p).Canary, Replace: o.replace}
	if o.ask {
		adviser, err := o.adviser(ctx, p, llm.CurateData, task)
		if err != nil {
			return err
		}
		options.Judge, options.Judging = adviser.Judge, curate.Judging{Model: adviser.Model.Label(), Task: task}
	}
	files, err := curate.Inputs(o.in)
	if err != nil {
		return cli.Usage(err, "give a folder that runplan training pairs or bootstrap wrote")
	}
	if o.logged {
		name, remove, err := loggedExamples(ctx, p, d.Stage)
		if err != nil {
			return err
		}
		defer remove()
		files = append(files, name)
	}
	// Check that the journal is writable before the work, not after it.
	ledger, err := adapters.OpenLedger(ctx, p)
	if err != nil {
		return err
	}
	defer ledger.Close()
	m, err := curate.Build(ctx, files, o.out, options)
	if err != nil {
		return curateTrouble(err)
	}
	err = addDataset(ctx, p, ledger, d, text, task, filepath.Join(o.out, curate.TrainFile), m.Train, "jsonl")
	if err != nil {
		return fmt.Errorf("the dataset is at %s, but could not be logged: %w", o.out, err)
	}
	return p.Print(m, func() { showDataset(p.App, m, o.out) })
}

// loggedExamples builds the examples of a stage from the log, in a temporary folder that remove deletes (RETR-17).
func loggedExamples(ctx context.Context, p *cli.Project, stage training.Stage) (name string, remove func(), err error) {
	s, done, err := loggedSource(ctx, p)
	if err != nil {
		return "", nil, err
	}
	defer done()
	dir, err := os.MkdirTemp("", "runplan-logged-*")
	if err != nil {
		return "", nil, err
	}
	remove = func() { os.RemoveAll(dir) }
	if _, err := logged.Write(ctx, s, logged.Options{Stages: []training.Stage{stage}}, dir); err != nil {
		remove()
		return "", nil, pairsTrouble(err)
	}
	return filepath.Join(dir, logged.PairsName), remove, nil
}

// addDataset records a plan and the training side of its dataset. It does not record the held-out side.
func addDataset(ctx context.Context, p *cli.Project, l *store.Training, d plan.Plan, text []byte, task, path string,
	s curate.Side, format string) error {
	path, err := filepath.Abs(path)
	if err != nil {
		return err
	}
	row, err := addPlan(ctx, p, l, d, text, task)
	if err != nil {
		return err
	}
	_, err = l.AddDataset(ctx, store.Dataset{
		Plan: row, Stage: string(d.Stage), Base: string(d.Base), Source: string(d.Source()), Path: path,
		Examples: s.Examples, Positive: s.Positive, Negative: s.Negative, Format: format, At: time.Now(),
	})
	return err
}

// curateTrouble adds the exit code to dataset errors: 1 for bad contents of examples, 2 for text that is not an
// example.
func curateTrouble(err error) error {
	return pairsTrouble(cli.Advise(err,
		cli.On(cli.ExitFailed, "nothing was written", curate.ErrLeak, curate.ErrSplit),
		cli.On(cli.ExitUsage, "nothing was written; change the plan, or add more examples", curate.ErrNothing),
		cli.On(cli.ExitUsage, "give another folder, or --replace for one that contains a dataset", folder.ErrExists),
		cli.On(cli.ExitFailed, "nothing was written; do not train on examples without proof", training.ErrNoReceipt),
		cli.On(cli.ExitUsage, "nothing was written; the file was changed after it was made: create it again",
			new(*curate.InputError))))
}

func showDataset(a *cli.App, m curate.Manifest, out string) {
	var rows ui.Rows
	add := func(name string, s curate.Side) {
		rows.Add(name, s.Examples, s.Positive, s.Negative, s.Preferences, s.Logged, s.Synthetic, s.Forward, s.Retroactive)
	}
	add("train", m.Train)
	add("validation", m.Validation)
	header := []string{"", ">examples", ">positive", ">negative", ">preference", ">logged", ">synthetic", ">forward",
		">retroactive"}
	ui.Table(a.Stdout, header, rows)
	showLeftOut(a, curate.Reasons(), m.LeftOut)
	if n := m.Licenses[""]; n > 0 {
		fmt.Fprintf(a.Stderr, "note: the license of the repository of %d example(s) is unknown\n", n)
	}
	if j := m.Judging; j != nil {
		fmt.Fprintf(a.Stderr, "model %s kept %d examples and rejected %d; %d have no usable answer and are kept\n",
			ui.Sanitize(j.Model), j.Kept, j.Rejected, j.Unjudged)
	}
	fmt.Fprintf(a.Stderr, "%d of %d examples of %s; written: %s\n", m.Train.Examples+m.Validation.Examples, m.Read,
		m.Plan.Stage, ui.Sanitize(out))
}

func showLeftOut[Reason ~string](a *cli.App, reasons []Reason, count map[Reason]int) {
	var rows ui.Rows
	for _, r := range reasons {
		if n := count[r]; n > 0 {
			rows.Add(r, n)
		}
	}
	anotherTable(a, []string{"omitted", ">examples"}, rows)
}
