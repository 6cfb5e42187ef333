package owner

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/runplan/runplan/internal/cli"
	"github.com/runplan/runplan/trust"
)

// NewDemoteCommand returns the command demote.
func NewDemoteCommand(a *cli.App) *cobra.Command {
	var to int
	var reason string
	cmd := &cobra.Command{
		Use:   "demote --to-tier N --reason TEXT",
		Short: "Lower the trust tier",
		Long: `Lower the tier. It takes effect at once and needs no signature, because anyone may reduce trust.
This also removes opt-ins of higher tiers. Decisions are in the audit: runplan trust audit.` + cli.ExitStatus(cli.ExitOK, cli.ExitFailed, cli.ExitUsage, cli.ExitCannotRun),
		Example: `  runplan demote --to-tier 0 --reason "it pushed to the wrong branch"`,
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if !cmd.Flags().Changed("to-tier") {
				return errNoTier(cmd)
			}
			k, err := a.Keeper()
			if err != nil {
				return err
			}
			c, err := k.Demote(cmd.Context(), trust.Tier(to), reason)
			if err != nil {
				return cli.TrustTrouble(err)
			}
			fmt.Fprintf(a.Stdout, "%s\n", c.TierText())
			return nil
		},
	}
	cmd.Flags().IntVar(&to, "to-tier", 0, "new tier")
	cmd.Flags().StringVar(&reason, "reason", "", "why")
	return cmd
}
