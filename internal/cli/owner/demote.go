package owner

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/runplan/runplan/internal/cli"
	"github.com/runplan/runplan/trust"
)

// NewDemoteCommand returns the command demote.
func NewDemoteCommand(a *cli.App) *cobra.Command {
	var to int
	var reason string
	return a.Command(cli.With{Exits: "0 1 2 5"}, &cobra.Command{
		Use:   "demote --to-tier N --reason TEXT",
		Short: "Lower the trust tier",
		Long: `Lower the tier. It takes effect at once and needs no signature, because anyone may reduce trust.
This also removes opt-ins of higher tiers. Decisions are in the audit: runplan trust audit.`,
		Example: `  runplan demote --to-tier 0 --reason "it pushed to the wrong branch"`,
		Args:    cobra.NoArgs,
		RunE: changeTier(a, func(ctx context.Context, k trust.Keeper) (trust.Contract, error) {
			return k.Demote(ctx, trust.Tier(to), reason)
		}),
	}, func(f *cli.Flags) {
		f.IntVar(&to, "to-tier", 0, "new tier")
		f.StringVar(&reason, "reason", "", "why")
	})
}
