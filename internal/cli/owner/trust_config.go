package owner

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/runplan/runplan/internal/cli"
	"github.com/runplan/runplan/internal/ui"
	"github.com/runplan/runplan/trust"
)

func newTrustConfigCommand(a *cli.App) *cobra.Command {
	var show, asJSONFlag bool
	cmd := &cobra.Command{
		Use:   "config [DIGEST]",
		Short: "Show what this repository's configuration can run or turn off, and trust it",
		Long: `Show what .runplan/config.toml can run, send to other machines or turn off, with the digest that pins it. On a terminal it
asks whether to trust it. Without a terminal it only shows it; giving the digest trusts exactly that version.
Any change asks again, including a change of a script in the repository that a command names.

A run without a terminal accepts the digest too: --trust-config DIGEST, or RUNPLAN_TRUST=DIGEST;
RUNPLAN_TRUST=all trusts any configuration, and says so.` + cli.ExitStatus(cli.ExitOK, cli.ExitFailed, cli.ExitUsage),
		Args: cobra.MaximumNArgs(1),
		RunE: a.InProject(func(ctx context.Context, p *cli.Project, args []string) error {
			list := p.Executables()
			digest := trust.Digest(list)
			if asJSONFlag {
				if list == nil {
					list = []trust.Executable{}
				}
				return cli.AsJSON(a.Stdout, map[string]any{"file": p.Rel(p.Layout.Config()), "digest": digest, "entries": list})
			}
			if len(list) == 0 {
				fmt.Fprintf(a.Stdout, "%s runs nothing and turns nothing off, so there is nothing to trust\n",
					p.Rel(p.Layout.Config()))
				return nil
			}
			a.ShowExecutables(list)
			fmt.Fprintf(a.Stdout, "digest: %s\n", digest[:12])
			switch {
			case show:
				return nil
			case len(args) == 1 && !trust.Names(args[0], digest):
				return cli.Usage(fmt.Errorf("the digest of the configuration is %s, not %s", digest[:12], ui.Sanitize(args[0])),
					"inspect the list above")
			}
			if err := a.NotAnAgent("trusting a configuration"); err != nil {
				return err
			}
			if len(args) == 0 && !a.Yes("Trust it?") {
				fmt.Fprintf(a.Stderr, "nothing was trusted; trust it: runplan trust config %s\n", digest[:12])
				return nil
			}
			pins, err := a.Pins()
			if err != nil {
				return cli.Usage(err, "")
			}
			if err := a.OfUser(pins.Trust(p.Repo.Root, digest, time.Now())); err != nil {
				return err
			}
			fmt.Fprintf(a.Stdout, "trusted: %s\n", digest[:12])
			return nil
		}),
	}
	cmd.Flags().BoolVar(&show, "show", false, "only show")
	cmd.Flags().BoolVar(&asJSONFlag, "json", false, "only show it, as a JSON object")
	return cmd
}
