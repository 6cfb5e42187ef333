package learn

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/runplan/runplan/internal/cli"
	"github.com/runplan/runplan/internal/git"
	"github.com/runplan/runplan/internal/phrase"
	"github.com/runplan/runplan/internal/store"
	"github.com/runplan/runplan/internal/ui"
	"github.com/runplan/runplan/training"
	"github.com/runplan/runplan/training/outcomes"
)

func newTrainingOutcomesCommand(a *cli.App) *cobra.Command {
	days := 30
	cmd := a.Command(cli.With{Exits: "0 2 5 130", Repo: true, JSON: "a JSON object"}, &cobra.Command{
		Use:   "sync",
		Short: "Record from git whether the code of earlier runs was kept, reverted or rewritten",
		Long: `Ask git about each batch that a run merged: whether its commit reached the branch that the run started
from, unchanged, as a commit with the same patch, or in one commit for the whole run; whether it was reverted there;
and which share of its lines was gone some days later. New results go into .runplan/raw.sqlite, where training pairs
finds them: reverted code is not an example to learn from. It fetches nothing, and a repetition changes nothing.`,
		Args: cobra.NoArgs,
		RunE: a.StoppableInProject(func(ctx context.Context, p *cli.Project, _ []string) error {
			if days < 1 {
				return cli.Usage(fmt.Errorf("--days %d: must be at least 1", days), "give the number of days after a merge")
			}
			return syncOutcomes(ctx, p, days)
		}),
	})
	cmd.Flags().IntVar(&days, "days", days, "days after a merge within which a change counts as a rewrite")
	return cli.Group("outcomes", "Find out what happened to the code of earlier runs", "", cmd)
}

type outcomeShown struct {
	Task   string   `json:"task"`
	Commit string   `json:"commit"`
	Signal string   `json:"signal"`
	Value  *float64 `json:"value"`
	Note   string   `json:"note,omitempty"`
}

func syncOutcomes(ctx context.Context, p *cli.Project, days int) error {
	if _, err := os.Stat(p.Layout.Journal()); err != nil {
		return noLogYet(p)
	}
	found, batches, err := lookOutcomes(ctx, p, days)
	if err != nil {
		return err
	}
	if batches == 0 {
		return cli.Usage(errors.New("no run has merged a batch yet"),
			"runplan status shows the runs")
	}
	if ctx.Err() != nil {
		return cli.Interrupted("nothing was written", "")
	}
	ledger, err := training.OpenLedger(ctx, p.Layout.Journal())
	if err != nil {
		return err
	}
	changed, err := ledger.AddSignals(ctx, found)
	if err := errors.Join(err, ledger.Close()); err != nil {
		return err
	}
	return showOutcomes(p.App, changed, batches)
}

func lookOutcomes(ctx context.Context, p *cli.Project, days int) (found []store.TrainingSignal, batches int,
	err error) {
	j, err := p.OpenJournal(ctx)
	if err != nil {
		return nil, 0, err
	}
	defer j.Close()
	runs, err := outcomes.Runs(ctx, j)
	if err != nil {
		return nil, 0, err
	}
	for _, r := range runs {
		if ctx.Err() != nil {
			break
		}
		list, err := outcomes.Look(ctx, p.Repo, r, days, time.Now())
		if err != nil {
			return nil, 0, err
		}
		found, batches = append(found, list...), batches+len(r.Merges)
	}
	return found, batches, nil
}

func showOutcomes(a *cli.App, changed []store.TrainingSignal, batches int) error {
	shown := []outcomeShown{}
	var rows ui.Rows
	for _, s := range changed {
		shown = append(shown, outcomeShown{s.Task, s.Commit, s.Name, s.Value, s.Note})
		rows.Add(s.Task, git.Short(s.Commit), s.Name, phrase.Known("%.2f", s.Value), s.Note)
	}
	return a.Print(struct {
		Batches int            `json:"batches"`
		Changed []outcomeShown `json:"changed"`
	}{batches, shown}, func() {
		if len(rows) > 0 {
			ui.Table(a.Stdout, []string{"task", "commit", "signal", ">value", "note"}, rows)
		}
		fmt.Fprintf(a.Stderr, "%d merged batches checked, %d signals are new\n", batches, len(changed))
	})
}
