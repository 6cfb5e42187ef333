package owner

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/runplan/runplan/internal/cli"
	"github.com/runplan/runplan/internal/lists"
	"github.com/runplan/runplan/internal/redact"
	"github.com/runplan/runplan/internal/ui"
	"github.com/runplan/runplan/trust"
)

// NewTrustCommand returns the command trust.
func NewTrustCommand(a *cli.App) *cobra.Command {
	var bootstrap bool
	var owner, channel string
	cmd := a.Command(cli.With{Exits: "0 1 2 5", JSON: "a JSON object"}, &cobra.Command{
		Use:   "trust",
		Short: "Show the owner and what runplan may do without asking",
		Long: `Show the contract: the owner, the tier from 0 to 5, what runplan may do by itself at this tier, and
what is never automatic. Without an owner it asks for one. --bootstrap sets the owner, at tier 0;
runplan promote and demote change the tier. The contract is stored in $RUNPLAN_HOME: owner.toml for people, and
audit.sqlite, which is authoritative. See docs/trust.md.`,
		Example: `  runplan trust --bootstrap --owner ada --channel cli
  runplan trust
  runplan trust check merge`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			k, err := a.Keeper()
			if err != nil {
				return err
			}
			switch given := owner != "" || channel != ""; {
			case given && !bootstrap:
				return cli.Usage(errors.New("--owner and --channel need --bootstrap"),
					"runplan trust --bootstrap --owner NAME --channel WHERE")
			case bootstrap && (owner == "" || channel == ""):
				return cli.Usage(errors.New("--bootstrap needs --owner and --channel"),
					"runplan trust --bootstrap --owner NAME --channel WHERE")
			case bootstrap:
				if err := recordOwner(cmd.Context(), a, k, owner, channel); err != nil {
					return err
				}
			}
			return showContract(cmd.Context(), a, k)
		},
	})
	f := cmd.Flags()
	f.BoolVar(&bootstrap, "bootstrap", false, "set the owner, at tier 0")
	f.StringVar(&owner, "owner", "", "with --bootstrap: name of the owner, who signs")
	f.StringVar(&channel, "channel", "", "with --bootstrap: channel on which the owner is reached, such as cli")
	cmd.AddCommand(newTrustConfigCommand(a), newTrustCheckCommand(a), NewAuditCommand(a), newIdentityCommand(a))
	return cmd
}

func recordOwner(ctx context.Context, a *cli.App, k trust.Keeper, owner, channel string) error {
	if err := a.NotAnAgent("naming the owner"); err != nil {
		return err
	}
	made, err := k.Bootstrap(ctx, owner, channel)
	if err == nil && !made {
		fmt.Fprintln(a.Stderr, "this is already the case; nothing was changed")
	}
	return cli.TrustTrouble(err)
}

func showContract(ctx context.Context, a *cli.App, k trust.Keeper) error {
	c, err := k.Contract(ctx)
	if err != nil {
		return cli.TrustTrouble(err)
	}
	if a.JSON {
		allowed, refused := c.Split()
		return cli.AsJSON(a.Stdout, struct {
			trust.Contract
			Allowed []trust.Rule     `json:"allowed"`
			Refused []trust.Rule     `json:"refused"`
			Gates   []trust.GateRule `json:"gates"`
		}{c, allowed, refused, trust.Gates()})
	}
	prompts, err := trust.LoadPrompts()
	if err != nil {
		return err
	}
	text, err := c.Text(prompts)
	if err == nil {
		fmt.Fprint(a.Stdout, text)
	}
	return err
}

func newTrustCheckCommand(a *cli.App) *cobra.Command {
	confidence := -1
	cmd := a.Command(cli.With{Exits: "0 1 2 5"}, &cobra.Command{
		Use:   "check ACTION",
		Short: "Report whether runplan may take an action by itself",
		Long: `Report whether the contract lets runplan take an action by itself, in the repository of the current
folder. If it does not, the command says what would change that. runplan trust lists the actions.

The action merge also needs the owner's threshold, and the confidence of the review (--confidence): without
both a merge is refused.`,
		Args: cli.ExactlyOne("the action"),
		RunE: func(cmd *cobra.Command, args []string) error {
			action, err := trust.ParseAction(args[0])
			if err != nil {
				return cli.Usage(err, "runplan trust explains them")
			}
			if cmd.Flags().Changed("confidence") && action != trust.Merge {
				return cli.Usage(errors.New("--confidence is only for merge"), "see: runplan trust check --help")
			}
			c, err := a.Contract(cmd.Context())
			if err != nil {
				return err
			}
			root, err := a.RootHere(cmd.Context())
			if err != nil {
				return err
			}
			switch {
			case action != trust.Merge:
				err = c.Check(action, root)
			case cmd.Flags().Changed("confidence"):
				err = c.AutoMerge(root, &confidence)
			default:
				err = c.AutoMerge(root, nil)
			}
			if err == nil {
				fmt.Fprintf(a.Stdout, "%s: allowed at tier %d\n", action, c.TierIn(root))
			}
			return cli.TrustTrouble(err)
		},
	})
	cmd.ValidArgs = lists.Map(trust.Table(), func(r trust.Rule) string { return string(r.Action) })
	cmd.Flags().IntVar(&confidence, "confidence", -1, "confidence of the review, in percent")
	return cmd
}

func newIdentityCommand(a *cli.App) *cobra.Command {
	return a.Command(cli.With{Exits: "0 2", JSON: "a JSON array"}, &cobra.Command{
		Use:   "identity",
		Short: "Print the identity documents that begin each prompt",
		Long: `Print the identity documents in their order: RUNPLAN.md, ARCHITECTURE.md, PROJECT_MAP.md. The first two
are built in; .runplan/prompts/identity/ may replace them, and must contain the third: how this
project is built. A missing document is an error.`,
		Args: cobra.NoArgs,
		RunE: a.InProject(func(ctx context.Context, p *cli.Project, _ []string) error {
			docs, err := p.Identity()
			if err != nil {
				return err
			}
			for i := range docs {
				docs[i].Text = redact.Clean(docs[i].Text)
			}
			return a.Print(docs, func() { fmt.Fprint(a.Stdout, trust.IdentityText(docs)) })
		}),
	})
}

func newTrustConfigCommand(a *cli.App) *cobra.Command {
	var show bool
	return a.Command(cli.With{Exits: "0 1 2"}, &cobra.Command{
		Use:   "config [DIGEST]",
		Short: "Show what this repository's configuration can run or turn off, and trust it",
		Long: `Show what .runplan/config.toml can run, send to other machines or turn off, with the digest that pins it. On a terminal it
asks whether to trust it. Without a terminal it only shows it; giving the digest trusts exactly that version.
Any change asks again, including a change of a script in the repository that a command names.

A run without a terminal accepts the digest too: --trust-config DIGEST, or RUNPLAN_TRUST=DIGEST;
RUNPLAN_TRUST=all trusts any configuration, and says so.`,
		Args: cobra.MaximumNArgs(1),
		RunE: a.InProject(func(ctx context.Context, p *cli.Project, args []string) error {
			list := p.Executables()
			digest := trust.Digest(list)
			if a.JSON {
				if list == nil {
					list = []trust.Executable{}
				}
				return cli.AsJSON(a.Stdout, map[string]any{"file": cli.Rel(p.Layout.Config()), "digest": digest, "entries": list})
			}
			if len(list) == 0 {
				fmt.Fprintf(a.Stdout, "%s runs nothing and turns nothing off, so there is nothing to trust\n",
					cli.Rel(p.Layout.Config()))
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
	}, func(f *cli.Flags) {
		f.BoolVar(&show, "show", false, "only show")
		f.BoolVar(&a.JSON, "json", false, "only show it, as a JSON object")
	})
}
