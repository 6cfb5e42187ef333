package owner

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/runplan/runplan/internal/cli"
	"github.com/runplan/runplan/trust"
)

// changeTier returns the RunE function of a command with the flag --to-tier.
func changeTier(a *cli.App,
	change func(ctx context.Context, k trust.Keeper) (trust.Contract, error)) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, _ []string) error {
		if !cmd.Flags().Changed("to-tier") {
			return cli.Usage(errors.New("the tier is missing"), "%s --to-tier N …; runplan trust lists the tiers",
				cmd.CommandPath())
		}
		k, err := a.Keeper()
		if err != nil {
			return err
		}
		c, err := change(cmd.Context(), k)
		if err != nil {
			return cli.TrustTrouble(err)
		}
		fmt.Fprintf(a.Stdout, "%s\n", c.TierText())
		return nil
	}
}

// NewPromoteCommand returns the command promote.
func NewPromoteCommand(a *cli.App) *cobra.Command {
	var p trust.Promotion
	return a.Command(cli.With{Exits: "0 1 2 5"}, &cobra.Command{
		Use:   "promote --to-tier N --reason TEXT --signature NAME",
		Short: "Raise what runplan may do without asking",
		Long: `Raise the tier. The owner signs for it, with the name that runplan trust shows, and gives a reason; any
other signature is refused and changes nothing. Decisions are in the audit: runplan trust audit.

Tier 4, editing its own prompts and loop, is opt-in: it comes with --to-tier 4, or with --self-edit at tier 5,
and not with another tier. At tier 5, --auto-merge sets the minimum confidence of a review with which a change is
merged without a signature; without it each change needs the owner's signature.`,
		Example: `  runplan promote --to-tier 2 --reason "a month of clean runs" --signature ada`,
		Args:    cobra.NoArgs,
		RunE: changeTier(a, func(ctx context.Context, k trust.Keeper) (trust.Contract, error) {
			if err := a.NotAnAgent("a promotion"); err != nil {
				return trust.Contract{}, err
			}
			return k.Promote(ctx, p)
		}),
	}, func(f *cli.Flags) {
		f.IntVar((*int)(&p.To), "to-tier", 0, "new tier")
		cli.SignFlags(f, &p.Signed)
		f.BoolVar(&p.SelfEdit, "self-edit", false, "with tier 5: also allow runplan to edit its own prompts and loop")
		f.IntVar(&p.MergeBar, "auto-merge", 0, "with tier 5: minimum confidence of a review for a merge, in percent, 60 "+
			"to 100")
	})
}
