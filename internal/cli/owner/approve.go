package owner

import (
	"context"
	"errors"
	"strings"

	"github.com/spf13/cobra"

	"github.com/runplan/runplan/internal/cli"
	"github.com/runplan/runplan/internal/cli/control"
	"github.com/runplan/runplan/internal/cli/selffix"
	"github.com/runplan/runplan/trust"
)

// NewApproveCommand returns the command approve.
func NewApproveCommand(a *cli.App) *cobra.Command {
	var deny bool
	var by trust.Signed
	return a.Command(cli.With{Exits: "0 1 2 5", JSON: "a JSON array of what waits"}, &cobra.Command{
		Use:   "approve [ID]",
		Short: "Approve a waiting item, or list all waiting items",
		Long: `List the items of all runs and all feedback of the repository that wait for a person; or approve the
named one, or reject it with --deny. The id of a run's question may be shortened if it is unambiguous.

A batch waits after its gates pass if the plan says "approve: true" for it, if a checkpoint of the plan follows
it, or if its review defers to a person. Exactly the approved tree is merged: if the run branch
has moved meanwhile, the run asks again. A denial is a failure of the batch, and the reason goes into the brief of
the next attempt.

A run waits before it lands if the final review is below the owner's threshold; then the owner signs. The owner
also signs the plan of a large feedback job: approve feedback/ID is self-fix approve ID.

An active run continues by itself. To continue one that has stopped (exit status 3): runplan resume.`,
		Example: `  runplan approve
  runplan approve 1f0c2a7b/2
  runplan approve 1f0c2a7b/2 --deny --reason "the old endpoint has to stay"`,
		Args: cobra.MaximumNArgs(1),
		RunE: a.InProject(func(ctx context.Context, p *cli.Project, args []string) error {
			if len(args) == 0 {
				if deny || by != (trust.Signed{}) {
					return cli.Usage(errors.New("--deny needs the id of a waiting item"), "runplan approve lists them; give the "+
						"id of one")
				}
				return control.ListWaiting(ctx, p)
			}
			if err := a.NotAnAgent("an approval"); err != nil {
				return err
			}
			if deny && strings.TrimSpace(by.Reason) == "" {
				return cli.Usage(errors.New("--deny needs a reason: the next attempt gets it"),
					"say what must change: --reason TEXT")
			}
			if id, ok := strings.CutPrefix(args[0], "feedback/"); ok {
				return selffix.Sign(ctx, a, id, deny, by)
			}
			return control.Answer(ctx, p, args[0], deny, by)
		}),
	}, func(f *cli.Flags) {
		f.BoolVar(&deny, "deny", false, "deny; needs --reason")
		f.StringVar(&by.Reason, "reason", "", "why")
		f.StringVar(&by.Name, "signature", "", "the owner's name, if the owner must sign")
	})
}
