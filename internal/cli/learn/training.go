// Package learn holds the commands of training: from logged examples to deployed adapters.
package learn

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/runplan/runplan/internal/cli"
	"github.com/runplan/runplan/internal/redact"
	"github.com/runplan/runplan/internal/ui"
	"github.com/runplan/runplan/training"
	"github.com/runplan/runplan/training/license"
)

// NewTrainingCommand returns the command training.
func NewTrainingCommand(a *cli.App) *cobra.Command {
	return cli.Group("training", "Turn the results of runs into training data",
		`Turn runs and the history of repositories into examples, select some, write them for a trainer,
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
		newTrainingPairsCommand(a), newTrainingOutcomesCommand(a), newTrainingBootstrapCommand(a),
		newTrainingTasksCommand(a), newTrainingTrajectoriesCommand(a), newTrainingPlanCommand(a),
		newTrainingCurateCommand(a), newTrainingExportCommand(a), newTrainingTrainCommand(a),
		newTrainingAdaptersCommand(a), newTrainingValidateCommand(a), newTrainingGraduationCommand(a),
		newTrainingCorpusCommand(a))
}

// trainingGuard returns the guard for training data that leaves a project. It removes known secrets, and the build
// fails if one remains: a secret of the environment, the settings and copied files, or a configured canary.
func trainingGuard(a *cli.App, p *cli.Project) training.Guard {
	secrets := a.Redactor(p)
	var known []training.Secret
	for _, kv := range slices.Concat(a.Environ, p.Secrets()) {
		name, value, _ := strings.Cut(kv, "=")
		if value = strings.TrimSpace(value); redact.SecretName(name) && secrets.String(value) != value {
			known = append(known, training.Secret{Name: "the value of " + name, Value: value})
		}
	}
	for i, value := range p.Config.Training.Canaries {
		known = append(known, training.Secret{Name: fmt.Sprintf("canary %d of training.canaries", i+1), Value: value})
	}
	return training.Guard{
		Redact: func(text string) string { return redact.Clean(secrets.String(text)) },
		Canary: training.NewCanary(known),
	}
}

// trainingOrigin returns the name of the repository in examples, and its license if known.
func trainingOrigin(ctx context.Context, p *cli.Project) (name, spdx string) {
	return training.RepoName(p.Repo.Remote(ctx, "origin"), p.Repo.Root), license.Of(os.DirFS(p.Repo.Root))
}

func noLogYet(p *cli.Project) error {
	return cli.Usage(fmt.Errorf("%s has no journal yet", p.Repo.Root),
		"training learns from runs: runplan PLAN.md; from history alone: runplan training bootstrap")
}

func showTally(a *cli.App, t training.Tally) error {
	var rows, refused ui.Rows
	for _, c := range t.Counts {
		rows.Add(c.Stage, c.Source, cmp.Or(c.Kind, "-"), c.Positive, c.Negative, c.Preference)
	}
	for _, r := range t.Refused {
		refused.Add(r.Reason, r.Rows)
	}
	header := []string{"stage", "source", "kind", ">positive", ">negative", ">preference"}
	ui.Table(a.Stdout, header, rows)
	return anotherTable(a, []string{"refused", ">rows"}, refused)
}
