// Package learn holds the commands of training that make examples: of logged calls, of the steps of agents, of a
// repository's history and of its commits as tasks. A plan says which examples are worth training on, curate selects
// them, and export writes them for a trainer. No command trains anything by itself; package adapters has the commands
// for what was trained.
package learn

import (
	"cmp"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/runplan/runplan/internal/cli"
	"github.com/runplan/runplan/internal/cli/adapters"
	"github.com/runplan/runplan/internal/ui"
	"github.com/runplan/runplan/training"
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
		newTrainingCurateCommand(a), newTrainingExportCommand(a), adapters.NewTrainCommand(a),
		adapters.NewAdaptersCommand(a), adapters.NewValidateCommand(a), adapters.NewGraduationCommand(a),
		adapters.NewCorpusCommand(a))
}

func noLogYet(p *cli.Project) error {
	return cli.Usage(fmt.Errorf("%s has no journal yet", p.Repo.Root),
		"training learns from runs: runplan PLAN.md; from history alone: runplan training bootstrap")
}

func showTally(a *cli.App, t training.Tally) {
	var rows, refused ui.Rows
	for _, c := range t.Counts {
		rows.Add(c.Stage, c.Source, cmp.Or(c.Kind, "-"), c.Positive, c.Negative, c.Preference)
	}
	for _, r := range t.Refused {
		refused.Add(r.Reason, r.Rows)
	}
	header := []string{"stage", "source", "kind", ">positive", ">negative", ">preference"}
	ui.Table(a.Stdout, header, rows)
	anotherTable(a, []string{"refused", ">rows"}, refused)
}
