package adapters

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/runplan/runplan/internal/cli"
	"github.com/runplan/runplan/internal/phrase"
	"github.com/runplan/runplan/internal/store"
	"github.com/runplan/runplan/internal/ui"
	"github.com/runplan/runplan/training/adapters"
	"github.com/runplan/runplan/training/curriculum"
	"github.com/runplan/runplan/trust"
)

type trainOptions struct {
	adapter string
	data    string
	yes     bool
	by      trust.Signed
}

// NewTrainCommand returns the command training train.
func NewTrainCommand(a *cli.App) *cobra.Command {
	var o trainOptions
	return a.Command(cli.With{Exits: "0 1 2 3 5 130", Repo: true, Trust: true, JSON: "a JSON object"}, &cobra.Command{
		Use:   "train --adapter NAME --yes",
		Short: "Train an adapter with your own program",
		Long: `Start the program that training.trainer names, and keep the adapter that it makes as the next version.
runplan itself trains nothing. Only the owner starts a training, with --yes and a signature. Without --yes it shows
what would be done, and exits with 3.

knowledge/curricula/NAME/curriculum.json describes the training; the data are train.jsonl and validation.jsonl next to
it, or in the folder --data. The trainer gets, as variables:

  RUNPLAN_TRAIN_DATA     the folder with the data
  RUNPLAN_TRAIN_OUTPUT   the file to write: the adapter, GGUF
  RUNPLAN_TRAIN_PARAMS   a file with the hyperparameters, JSON
  RUNPLAN_TRAIN_METRICS  a file that it may write: a JSON object with training_loss and other measurements
  RUNPLAN_TRAIN_BASE     the base model, by the server's name
  RUNPLAN_TRAIN_ADAPTER, RUNPLAN_TRAIN_VERSION, RUNPLAN_TRAIN_STAGE

It starts in the folder of the output, gets the environment of agents and training.pass_env, and is ended with all
processes that it started if it takes longer than training.timeout or runplan is killed. Its output is stored. Nothing
is deployed.`,
		Example: `  runplan training train --adapter code-architect --yes --signature ada --reason "60 pairs"`,
		Args:    cobra.NoArgs,
		RunE:    a.StoppableInProject(o.train),
	}, func(f *cli.Flags) {
		f.StringVar(&o.adapter, "adapter", "", "name of the adapter")
		f.StringVar(&o.data, "data", "", "folder with train.jsonl (default: that of the curriculum)")
		f.BoolVar(&o.yes, "yes", false, "start it")
		cli.SignFlags(f, &o.by)
	})
}

func (o *trainOptions) train(ctx context.Context, p *cli.Project, _ []string) error {
	if o.adapter == "" {
		return cli.Usage(errors.New("training train needs --adapter"), "such as --adapter %s", curriculum.CodeArchitect)
	}
	spec, err := loadSpec(ctx, p, o.adapter)
	if err != nil {
		return err
	}
	job := adapters.Job{Spec: spec}
	if job.Data, err = trainingData(p, o.data, spec); err != nil {
		return dataTrouble(ctx, err)
	}
	if job.BaseModel, err = baseModel(p, spec.Base()); err != nil {
		return cli.ModelTrouble(ctx, err)
	}
	c := p.Config.Training
	if len(c.Trainer) == 0 {
		return cli.Usage(adapters.ErrNoTrainer,
			"name the program that trains: trainer = [\"program\", \"argument\"] under [training] in .runplan/config.toml; "+
				"runplan training train --help says what it is given")
	}
	what := fmt.Sprintf("%s for stage %s on %d examples of %s, on top of %s, by %s", spec.Name, spec.Stage,
		job.Data.Examples, job.Data.Name, job.BaseModel, strings.Join(c.Trainer, " "))
	if !o.yes || o.by.Name == "" {
		return cli.Fail(cli.ExitHuman, fmt.Errorf("a training of %s %w; nothing was started", ui.Sanitize(what), errUnsigned),
			"the owner starts it: --yes --signature NAME --reason TEXT")
	}
	if err := p.NotAnAgent("starting a training"); err != nil {
		return err
	}
	if err := p.TrustConfig(); err != nil {
		return err
	}
	if err := p.Agree(ctx, trust.GateTraining, what, o.by); err != nil {
		return err
	}
	v, err := runTrainer(ctx, p, job)
	switch {
	case ctx.Err() != nil && err != nil:
		return cli.Interrupted("no version was made", "")
	case err != nil:
		return adapterTrouble(ctx, err)
	case p.JSON:
		return cli.AsJSON(p.Stdout, v)
	}
	fmt.Fprintf(p.Stdout, "%s  %d examples, rank %d, loss %s, %s\n", v.Name(), v.Examples, v.Info.Rank,
		phrase.Known("%.4g", v.Loss),
		ui.Duration(time.Duration(v.DurationSec*float64(time.Second))))
	fmt.Fprintf(p.Stderr,
		"nothing is deployed; to validate it: runplan training validate --adapter %s; to deploy it: runplan "+
			"training adapters deploy %s\n", v.Name(), v.Name())
	return nil
}

func runTrainer(ctx context.Context, p *cli.Project, job adapters.Job) (adapters.Version, error) {
	ledger, err := OpenLedger(ctx, p)
	if err != nil {
		return adapters.Version{}, err
	}
	defer ledger.Close()
	log, err := store.OpenLog(ctx, p.Layout.Journal())
	if err != nil {
		return adapters.Version{}, err
	}
	defer log.Close()
	reaper, err := cli.StartReaper()
	if err != nil {
		return adapters.Version{}, err
	}
	defer reaper.Close()
	c := p.Config.Training
	registry := adapters.RegistryOf(p.Layout.Root)
	v, err := registry.Train(ctx, job, adapters.Trainer{
		Command: c.Trainer, Environ: p.Environ, PassEnv: c.PassEnv, Root: p.Repo.Root, Timeout: time.Duration(c.Timeout),
		Redact: p.Redactor().String, Reaper: reaper, Now: time.Now,
		Line: func(s string) { fmt.Fprintf(p.Stderr, "  %s\n", ui.Sanitize(s)) },
	})
	if err != nil {
		return v, err
	}
	ctx = context.WithoutCancel(ctx) // the version exists: record it even after an interrupt
	if err := registry.Register(ctx, ledger, log); err != nil {
		return v, err
	}
	rows, err := p.DeployedAdapters(ctx)
	if err != nil {
		return v, err
	}
	return v, registry.Prune(job.Spec.Name, job.Spec.Versioning.RetentionCount, func(tag string) bool {
		return slices.ContainsFunc(rows, func(r store.DeployedAdapter) bool { return r.Tag == tag })
	})
}

func trainingData(p *cli.Project, given string, spec curriculum.Spec) (adapters.Data, error) {
	dir := given
	if dir == "" {
		dir = filepath.Join(p.Repo.Root, filepath.FromSlash(curriculum.Dir(spec.Name)))
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return adapters.Data{}, err
	}
	return adapters.ReadData(dir, filepath.ToSlash(cli.Rel(dir)), spec)
}

func dataTrouble(ctx context.Context, err error) error {
	if errors.As(err, new(*adapters.TooFewError)) {
		return adapterTrouble(ctx, err)
	}
	err = cli.Advise(err, cli.On(cli.ExitUsage,
		"create some: runplan training corpus build, or give a folder with --data", adapters.ErrNoData))
	if errors.As(err, new(*cli.Failure)) || isFull(err) {
		return err
	}
	return cli.Fail(cli.ExitFailed, err, "create the data again; nothing was started")
}
