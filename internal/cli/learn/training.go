// Package learn holds the commands of training: from logged examples to deployed adapters.
package learn

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/runplan/runplan/internal/cli"
	"github.com/runplan/runplan/internal/redact"
	"github.com/runplan/runplan/internal/store"
	"github.com/runplan/runplan/internal/ui"
	"github.com/runplan/runplan/training"
	"github.com/runplan/runplan/training/license"
)

// NewTrainingCommand returns the command training.
func NewTrainingCommand(a *cli.App) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "training",
		Short: "Turn the results of runs into training data",
		Long: `Turn runs and the history of repositories into examples, select some, write them for a trainer,
and deploy the result. Nothing is trained or deployed unless a person says so.

  runplan training outcomes sync                                    what happened to the code of earlier runs
  runplan training pairs --out data                                 examples of all logged calls with a receipt
  runplan training bootstrap . --seed 1 --out history               examples of commits
  runplan training trajectories --out trajectories                  the steps of agents
  runplan training tasks . --out tasks                              commits as tasks with tests that judge an answer
  runplan training plan --in data --in history --out plan.toml      a plan against the weaknesses
  runplan training curate --plan plan.toml --in data --out set      a dataset by the plan
  runplan training export --help                                    the dataset in a trainer's format
  runplan training adapters                                         trained and deployed adapters`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(
		newTrainingPairsCommand(a), newTrainingOutcomesCommand(a), newTrainingBootstrapCommand(a),
		newTrainingTasksCommand(a), newTrainingTrajectoriesCommand(a),
		newTrainingPlanCommand(a), newTrainingCurateCommand(a), newTrainingExportCommand(a),
		newTrainingTrainCommand(a), newTrainingAdaptersCommand(a), newTrainingValidateCommand(a),
		newTrainingGraduationCommand(a), newTrainingCorpusCommand(a),
	)
	return cmd
}

// trainingGuard returns the guard for training data that leaves a project. It removes known secrets, and the build
// fails if one remains.
func trainingGuard(a *cli.App, p *cli.Project) training.Guard {
	secrets := a.Redactor(p)
	return training.Guard{
		Redact: func(text string) string { return redact.Clean(secrets.String(text)) },
		Canary: training.NewCanary(forbidden(a, p, secrets)),
	}
}

// forbidden lists what training data must not contain: the secrets of the environment, the settings and copied files,
// and the configured canaries.
func forbidden(a *cli.App, p *cli.Project, secrets *redact.Redactor) []training.Secret {
	var out []training.Secret
	for _, kv := range slices.Concat(a.Environ, p.Secrets()) {
		name, value, _ := strings.Cut(kv, "=")
		if value = strings.TrimSpace(value); redact.SecretName(name) && secrets.String(value) != value {
			out = append(out, training.Secret{Name: "the value of " + name, Value: value})
		}
	}
	for i, value := range p.Config.Training.Canaries {
		out = append(out, training.Secret{Name: fmt.Sprintf("canary %d of training.canaries", i+1), Value: value})
	}
	return out
}

// trainingOrigin returns the name of the repository in examples, and its license if known.
func trainingOrigin(ctx context.Context, p *cli.Project) (name, spdx string) {
	return training.RepoName(p.Repo.Remote(ctx, "origin"), p.Repo.Root), license.Of(os.DirFS(p.Repo.Root))
}

// openLog opens the journal for reading examples. It is an error if the journal does not exist.
func openLog(ctx context.Context, p *cli.Project) (*store.Log, error) {
	l, err := store.OpenLog(ctx, p.Layout.Journal())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, noLogYet(p)
	}
	return l, err
}

func noLogYet(p *cli.Project) error {
	return cli.Usage(fmt.Errorf("%s has no journal yet", p.Repo.Root),
		"training learns from runs: runplan PLAN.md; from history alone: runplan training bootstrap")
}

// showTally prints the number of examples and of refusals.
func showTally(a *cli.App, t training.Tally) error {
	out := a.Stdout
	var rows [][]string
	for _, c := range t.Counts {
		kind := cmp.Or(string(c.Kind), "-")
		rows = append(rows, []string{string(c.Stage), string(c.Source), kind, fmt.Sprint(c.Positive), fmt.Sprint(c.Negative),
			fmt.Sprint(c.Preference)})
	}
	if err := cli.Table(out, []string{"stage", "source", "kind", ">positive", ">negative", ">preference"},
		rows); err != nil {
		return err
	}
	if len(t.Refused) == 0 {
		return nil
	}
	rows = nil
	for _, r := range t.Refused {
		rows = append(rows, []string{ui.Sanitize(r.Reason), fmt.Sprint(r.Rows)})
	}
	fmt.Fprintln(out)
	return cli.Table(out, []string{"refused", ">rows"}, rows)
}
