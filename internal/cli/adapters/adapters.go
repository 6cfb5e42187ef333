package adapters

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/runplan/runplan/internal/cli"
	"github.com/runplan/runplan/internal/phrase"
	"github.com/runplan/runplan/internal/store"
	"github.com/runplan/runplan/internal/ui"
	"github.com/runplan/runplan/llm"
	"github.com/runplan/runplan/training/adapters"
)

// NewAdaptersCommand returns the command training adapters.
func NewAdaptersCommand(a *cli.App) *cobra.Command {
	cmd := a.Command(cli.With{Exits: "0 2 5", Repo: true, JSON: "a JSON object"}, &cobra.Command{
		Use:   "adapters",
		Short: "List trained adapters and the model of each stage",
		Long: `List the model of each stage and how it was chosen, then the versions of all adapters that were trained
here.

The model of a stage comes from the flag of a command, else from [models.overrides] of the settings, else it is the
active adapter, else the model of the role. A stage has at most one active adapter. deploy activates it, rollback
reverts that; both are only for the owner.`,
		Args: cobra.NoArgs,
		RunE: a.InProject(listAdapters),
	})
	cmd.AddCommand(newTrainingDeployCommand(a), newTrainingRollbackCommand(a))
	return cmd
}

type stageChoice struct {
	Stage  llm.Stage `json:"stage"`
	Model  string    `json:"model"`
	By     string    `json:"chosen_by"`
	Active string    `json:"active_adapter"` // "": none
}

type versionRow struct {
	adapters.Version
	State string `json:"state"` // active, deployed before, or trained
}

func listAdapters(ctx context.Context, p *cli.Project, _ []string) error {
	rows, err := p.DeployedAdapters(ctx)
	if err != nil {
		return cli.CuratedTrouble(err)
	}
	versions, err := adapters.RegistryOf(p.Layout.Root).All()
	if err != nil {
		return err
	}
	choices, err := stageChoices(ctx, p, rows)
	if err != nil {
		return cli.ModelTrouble(ctx, err)
	}
	list := []versionRow{}
	for _, v := range versions {
		row := versionRow{v, "trained"}
		for _, r := range rows {
			switch {
			case r.Tag != v.Tag || r.Stage != string(v.Stage):
			case r.Active:
				row.State = "active"
			default:
				row.State = "deployed before"
			}
		}
		list = append(list, row)
	}
	return p.Print(struct {
		Stages   []stageChoice `json:"stages"`
		Versions []versionRow  `json:"versions"`
	}{choices, list}, func() { showAdapters(p.App, choices, list) })
}

func showAdapters(a *cli.App, choices []stageChoice, list []versionRow) {
	var table ui.Rows
	for _, c := range choices {
		table.Add(c.Stage, c.Model, c.By, cmp.Or(c.Active, "-"))
	}
	if len(table) == 0 {
		fmt.Fprintln(a.Stdout, "no models are configured")
	} else {
		ui.Table(a.Stdout, []string{"STAGE", "MODEL", "CHOSEN BY", "ACTIVE ADAPTER"}, table)
	}
	fmt.Fprintln(a.Stdout)
	if len(list) == 0 {
		fmt.Fprintln(a.Stdout, "no adapter was trained here yet")
		return
	}
	table = nil
	for _, v := range list {
		table.Add(v.Name(), v.State, v.Tag, v.Stage, v.Examples, phrase.Known("%.4g", v.Loss), v.TrainedAt.Format(time.DateTime))
	}
	ui.Table(a.Stdout, []string{"VERSION", "STATE", "MODEL", "STAGE", "EXAMPLES", "LOSS", "TRAINED"}, table)
}

// stageChoices resolves the model of each stage, as commands that call models do. Without models it returns none.
func stageChoices(ctx context.Context, p *cli.Project, rows []store.DeployedAdapter) ([]stageChoice, error) {
	out := []stageChoice{}
	router, err := p.Models(ctx)
	if errors.Is(err, llm.ErrNoModels) {
		return out, nil
	}
	if err != nil {
		return nil, err
	}
	for _, s := range llm.Stages() {
		c := stageChoice{Stage: s}
		for _, r := range rows {
			if r.Active && r.Stage == string(s) {
				c.Active = r.Tag
			}
		}
		m, err := router.Model(s)
		var missing *llm.MissingModelError
		switch {
		case errors.As(err, &missing):
			c.Model, c.By = "-", fmt.Sprintf("models.%s is not set", missing.Role)
		case err != nil:
			return nil, err
		default:
			c.Model, c.By = m.Label(), m.Source
		}
		out = append(out, c)
	}
	return out, nil
}
