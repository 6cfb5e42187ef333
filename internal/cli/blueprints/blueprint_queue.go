package blueprints

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/runplan/runplan/gates/blueprint/lifecycle"
	"github.com/runplan/runplan/internal/cli"
	"github.com/runplan/runplan/internal/ui"
	"github.com/runplan/runplan/trust"
)

func newBlueprintQueueCommand(a *cli.App) *cobra.Command {
	var all bool
	cmd := a.Command(cli.With{Exits: "0 2 5", JSON: "a JSON array"}, &cobra.Command{
		Use:   "queue",
		Short: "List critical discrepancies that wait for a person",
		Long: `List the critical discrepancies of reviews, with the claim of the blueprint, the evidence and the
remedy. Only a person closes one: runplan blueprint queue close.`,
		Args: cobra.NoArgs,
		RunE: a.InProject(func(ctx context.Context, p *cli.Project, _ []string) error {
			items, err := lifecycle.Queue(p.Repo.Root, all)
			if err != nil {
				return err
			}
			return a.Print(items, func() { showQueue(a, items) })
		}),
	})
	cmd.Flags().BoolVar(&all, "all", false, "include closed items")
	cmd.AddCommand(newBlueprintCloseCommand(a))
	return cmd
}

func showQueue(a *cli.App, items []lifecycle.Item) {
	if len(items) == 0 {
		fmt.Fprintln(a.Stdout, "nothing waits")
	}
	for _, i := range items {
		fmt.Fprintf(a.Stdout, "%s  %s  %s, %s  %s\n", i.ID, ui.Sanitize(i.Unit), i.Severity,
			ui.Sanitize(i.Dimension), i.Status)
		fmt.Fprintf(a.Stdout, "  blueprint  %s\n  code       %s\n  to do      %s\n", ui.Sanitize(i.Claim),
			ui.Sanitize(i.Evidence), ui.Sanitize(i.Recommendation))
		if i.Status != lifecycle.Open {
			fmt.Fprintf(a.Stdout, "  closed     by %s: %s\n", ui.Sanitize(i.ClosedBy), ui.Sanitize(i.Reason))
		}
	}
}

func newBlueprintCloseCommand(a *cli.App) *cobra.Command {
	var approve, fixed bool
	var by trust.Signed
	return a.Command(cli.With{Exits: "0 1 2 5"}, &cobra.Command{
		Use:   "close ID --approve --signature NAME --reason TEXT",
		Short: "Close an item of the queue",
		Long: `Close an item. Closing it without a fix acknowledges the discrepancy; with --fixed the code was
corrected, and the unit must go through a new cycle: review and promotion. It is never automatic: the owner signs, as
for runplan promote.`,
		Args: cli.ExactlyOne("the id of an item"),
		RunE: a.InProject(func(ctx context.Context, p *cli.Project, args []string) error {
			if !approve {
				return cli.Usage(errors.New("closing an item approves the discrepancy"),
					"add --approve, and --fixed if the code was corrected")
			}
			if err := a.NotAnAgent("closing an item of the review queue"); err != nil {
				return err
			}
			item, err := lifecycle.Find(p.Repo.Root, args[0])
			if err != nil {
				return cli.Usage(err, "runplan blueprint queue lists the items")
			}
			if err := a.Agree(ctx, trust.GateQueueClose, item.Unit+" "+item.ID, by); err != nil {
				return err
			}
			if item, err = lifecycle.Close(p.Repo.Root, item.ID, fixed, by.Name, by.Reason, time.Now()); err != nil {
				return err
			}
			fmt.Fprintf(a.Stdout, "%s is %s\n", item.ID, item.Status)
			if fixed {
				fmt.Fprintf(a.Stderr, "a new cycle begins: runplan blueprint review %s, then runplan blueprint promote %s\n",
					item.Unit, item.Unit)
			}
			return nil
		}),
	}, func(f *cli.Flags) {
		f.BoolVar(&approve, "approve", false, "confirm that you agree to the discrepancy")
		f.BoolVar(&fixed, "fixed", false, "the code was corrected")
		cli.SignFlags(f, &by)
	})
}

func newBlueprintJournalCommand(a *cli.App) *cobra.Command {
	return a.Command(cli.With{Exits: "0 2 5", JSON: "a JSON array"}, &cobra.Command{
		Use:   "journal",
		Short: "List what happened to blueprints",
		Long:  "List generations, reviews, promotions and closed queue items, in order.",
		Args:  cobra.NoArgs,
		RunE: a.InProject(func(ctx context.Context, p *cli.Project, _ []string) error {
			entries, err := lifecycle.Journal(p.Repo.Root)
			if err != nil {
				return err
			}
			return a.Print(entries, func() {
				if len(entries) == 0 {
					fmt.Fprintln(a.Stderr, "no blueprint has a history yet; start one: runplan blueprint init")
				}
				for _, e := range entries {
					fmt.Fprintf(a.Stdout, "%s  %s  %s  %s\n", e.At.Format("2006-01-02 15:04:05"), ui.Sanitize(e.Unit),
						ui.Sanitize(e.Kind), ui.Sanitize(e.Text))
				}
			})
		}),
	})
}
