package adapters

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/runplan/runplan/gates/blueprint"
	"github.com/runplan/runplan/gates/blueprint/lifecycle"
	"github.com/runplan/runplan/internal/atomicfile"
	"github.com/runplan/runplan/internal/cli"
	"github.com/runplan/runplan/internal/cli/blueprints"
	"github.com/runplan/runplan/internal/cli/judge"
	"github.com/runplan/runplan/internal/ui"
	"github.com/runplan/runplan/llm"
	"github.com/runplan/runplan/training"
	"github.com/runplan/runplan/training/adapters"
	"github.com/runplan/runplan/training/corpus"
	"github.com/runplan/runplan/training/curriculum"
)

const corpusCall = "corpus_review"

type corpusOptions struct {
	dry  bool
	seed uint64
}

// NewCorpusCommand returns the command training corpus.
func NewCorpusCommand(a *cli.App) *cobra.Command {
	var o corpusOptions
	cmd := a.Command(cli.With{Exits: "0 1 2 5 130", Repo: true, Trust: true, JSON: "a JSON object"}, &cobra.Command{
		Use:   "corpus",
		Short: "Review live units, as training examples of good code",
		Long: `Have a cold reviewer compare each qualifying live unit with its blueprint, and then each of its files. A
unit qualifies if the confidences in its blueprint have a mean of 0.6 or more (0 without any). Reviewed units that have
not changed since are not reviewed again, so an interrupted review continues.

  runplan training corpus --dry-run   which units qualify; no model is called
  runplan training corpus build       make the pairs, train.jsonl and validation.jsonl
  runplan training corpus status      whether there are enough pairs, for the journal

All of it is in knowledge/curricula/code-architect.`,
		Args: cobra.NoArgs,
		RunE: a.StoppableInProject(o.collectCorpus),
	})
	cmd.Flags().BoolVar(&o.dry, "dry-run", false, "print QUALIFY or SKIP for each live unit, and stop")
	cmd.AddCommand(newCorpusBuildCommand(a), newCorpusStatusCommand(a))
	return cmd
}

func newCorpusBuildCommand(a *cli.App) *cobra.Command {
	var o corpusOptions
	return a.Command(cli.With{Exits: "0 1 2 5 130", Repo: true, JSON: "a JSON object"}, &cobra.Command{
		Use:   "build",
		Short: "Make training pairs from all reviews",
		Long: `Make a pair of each review of a candidate (forward) and of a live unit or file (retroactive) whose code
still exists, and write them, train.jsonl and validation.jsonl into knowledge/curricula/code-architect. All pairs of a
unit are on one side of the split. Reviews whose code has changed, or that have no result yet, are counted and omitted.

The same reviews, code and seed give identical files.`,
		Args: cobra.NoArgs,
		RunE: a.InProject(o.buildCorpus),
	}, func(f *cli.Flags) { f.Uint64Var(&o.seed, "seed", 1, "random seed for the choice of validation units") })
}

func newCorpusStatusCommand(a *cli.App) *cobra.Command {
	return a.Command(cli.With{Exits: "0 2 5", Repo: true, JSON: "a JSON object"}, &cobra.Command{
		Use:   "status",
		Short: "Report whether a training is due",
		Long: `Count the forward and the retroactive pairs, and check whether the adapter was trained on them. If there
are as many as curriculum.json requires, and the adapter is absent or stale, the journal of blueprints gets a note with
the command, once. It never starts a training.`,
		Args: cobra.NoArgs,
		RunE: a.InProject(corpusStatus),
	})
}

func (o *corpusOptions) collectCorpus(ctx context.Context, p *cli.Project, _ []string) error {
	units, err := corpus.Qualify(p.Repo.Root)
	if err != nil {
		return blueprints.BlueprintTrouble(err)
	}
	if len(units) == 0 {
		return cli.Usage(errors.New("there is no live blueprint to review"), "promote a unit: runplan blueprint promote UNIT")
	}
	if o.dry {
		return p.Print(units, func() { showQualified(p.App, units) })
	}
	if err := p.TrustConfig(); err != nil {
		return err
	}
	c, err := corpusCollector(ctx, p)
	if err != nil {
		return err
	}
	done, kept, err := c.Collect(ctx, units)
	if p.JSON && err == nil {
		return cli.AsJSON(p.Stdout, struct {
			Reviewed []corpus.Reviewed `json:"reviewed"`
			Kept     int               `json:"unchanged"`
		}{append([]corpus.Reviewed{}, done...), kept})
	}
	fmt.Fprintf(p.Stdout, "%d reviewed, %d unchanged since their last review\n", len(done), kept)
	switch {
	case ctx.Err() != nil:
		return cli.Interrupted("", "finished reviews are kept; the same command continues")
	case err == nil || isFull(err):
		return err
	}
	return cli.ModelTrouble(ctx, cli.Advise(err,
		cli.On(cli.ExitFailed, "finished reviews are stored; a larger model may follow the format",
			new(*llm.AnswerError), lifecycle.ErrAnswer),
		cli.On(cli.ExitCannotRun, "install ast-grep for Python, TypeScript and JavaScript", lifecycle.ErrNothingSeen)))
}

func showQualified(a *cli.App, units []corpus.Qualified) {
	reviews := 0
	for _, q := range units {
		word := "SKIP"
		if q.OK {
			word = "QUALIFY"
			reviews += 1 + len(q.Files)
		}
		fmt.Fprintf(a.Stdout, "%-7s  %s  confidence %.2f of %d named, %d files\n", word, q.Unit, q.Confidence, q.Named,
			len(q.Files))
	}
	fmt.Fprintf(a.Stdout, "%d reviews in all\n", reviews)
}

func corpusCollector(ctx context.Context, p *cli.Project) (corpus.Collector, error) {
	d, err := blueprints.BlueprintDeps(ctx, p)
	if err != nil {
		return corpus.Collector{}, err
	}
	ask, model, err := blueprints.ReviewModel(ctx, p, corpusCall)
	if err != nil {
		return corpus.Collector{}, err
	}
	return corpus.Collector{
		Root: p.Repo.Root, Adapter: curriculum.CodeArchitect,
		OnReview: func(r corpus.Reviewed) {
			fmt.Fprintf(p.Stderr, "%s  fidelity %.2f\n", ui.Sanitize(cmp.Or(r.File, r.Unit)), r.Fidelity)
		},
		Review: func(ctx context.Context, unit, file string) (*lifecycle.Review, lifecycle.Record, error) {
			r, rec, err := blueprints.ReviewLive(ctx, p.Repo.Root, unit, file, d, ask, model)
			if err == nil && file == "" {
				_, err = r.Handle(rec, time.Now())
			}
			return r, rec, err
		},
	}, nil
}

func (o *corpusOptions) buildCorpus(ctx context.Context, p *cli.Project, _ []string) error {
	spec, err := loadSpec(ctx, p, curriculum.CodeArchitect)
	if err != nil {
		return err
	}
	options, err := judge.SummaryOptions(ctx, p.App, p.Repo.Root)
	if err != nil {
		return err
	}
	guard := Guard(p)
	var from training.Origin
	from.Repo, from.License = Origin(ctx, p)
	b := corpus.Builder{Root: p.Repo.Root, Summary: options, Redact: guard.Redact}
	built, err := b.Build(ctx, spec, from, guard, o.seed)
	switch {
	case errors.Is(err, corpus.ErrNoPairs):
		showRefused(p.App, built.Refused)
		return cli.Usage(err, "review live units: runplan training corpus; or candidates: runplan blueprint review UNIT")
	case errors.As(err, new(*training.LeakError)):
		return cli.Fail(cli.ExitFailed, err, "remove it from the code; nothing was written")
	case errors.As(err, new(blueprint.FileErrors)):
		return blueprints.NoBlueprint(err)
	case err != nil && isFull(err):
		return err
	case err != nil:
		return cli.Fail(cli.ExitFailed, err, "correct or remove that file; nothing was written")
	}
	if err := built.Write(p.Repo.Root); err != nil {
		return err
	}
	return p.Print(built.Metadata, func() {
		var rows ui.Rows
		add := func(name string, c corpus.Counts) {
			rows.Add(name, c.Forward, c.Retroactive, c.Service, c.File, c.Negative)
		}
		add("train", built.Train)
		add("validation", built.Validation)
		add("all", built.All)
		header := []string{"", "FORWARD", "RETROACTIVE", "UNITS", "FILES", "NEGATIVE"}
		ui.Table(p.Stdout, header, rows)
		for _, n := range built.Notes {
			fmt.Fprintf(p.Stderr, "note: %s\n", n)
		}
		showRefused(p.App, built.Refused)
	})
}

func showRefused(a *cli.App, list []corpus.Refused) {
	for _, r := range list {
		fmt.Fprintf(a.Stderr, "omitted: %s: %s\n", ui.Sanitize(r.File), ui.Sanitize(r.Reason))
	}
}

func corpusStatus(ctx context.Context, p *cli.Project, _ []string) error {
	spec, err := loadSpec(ctx, p, curriculum.CodeArchitect)
	if err != nil {
		return err
	}
	pairs, err := corpus.Read(p.Repo.Root, spec.Name)
	if err != nil {
		return cli.Fail(cli.ExitCannotRun, err, "make them again: runplan training corpus build")
	}
	state, err := adapterState(p, spec.Name)
	if err != nil {
		return err
	}
	w, err := corpus.Monitor(p.Repo.Root, spec, pairs, state, time.Now())
	if err != nil {
		return err
	}
	return p.Print(w, func() {
		fmt.Fprintf(p.Stdout, "%s  %d pairs (%d retroactive, %d forward) of %d; the adapter is %s\n", w.Adapter, w.Pairs,
			w.Retroactive, w.Forward, w.Minimum, w.State)
		for _, q := range w.HighPriority {
			fmt.Fprintf(p.Stdout, "high priority  %s\n", ui.Sanitize(q))
		}
		if w.Due {
			fmt.Fprintln(p.Stdout, w.Note)
		}
	})
}

// adapterState reports whether the last version of an adapter was trained on the present corpus.
func adapterState(p *cli.Project, name string) (string, error) {
	versions, err := adapters.RegistryOf(p.Layout.Root).Versions(name)
	if err != nil || len(versions) == 0 {
		return corpus.Absent, err
	}
	sum, err := atomicfile.Sum(filepath.Join(p.Repo.Root, filepath.FromSlash(curriculum.Dir(name)), adapters.TrainFile))
	if errors.Is(err, os.ErrNotExist) || err == nil && sum != versions[len(versions)-1].DataSHA256 {
		return corpus.Stale, nil
	}
	return corpus.Current, err
}
