package owner

import (
	"cmp"
	"errors"
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/runplan/runplan/internal/cli"
	"github.com/runplan/runplan/internal/phrase"
	"github.com/runplan/runplan/internal/redact"
	"github.com/runplan/runplan/internal/store"
	"github.com/runplan/runplan/internal/ui"
)

// NewAuditCommand returns the command audit.
func NewAuditCommand(a *cli.App) *cobra.Command {
	var verify bool
	return a.Command(cli.With{Exits: "0 1 2 5", JSON: "a JSON array"}, &cobra.Command{
		Use:   "audit",
		Short: "Show decisions about trust, by whom and why",
		Long: `Show the audit, oldest entry first: each change of the tier, and each signature of the owner. Entries are
only added, and each contains the digest of the previous one, so a changed or removed entry is detected
whenever the audit is read. --verify only makes this check, and compares owner.toml with the audit.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := cli.AtMostOne(cmd, "json", "verify"); err != nil {
				return err
			}
			k, err := a.Keeper()
			if err != nil {
				return err
			}
			entries, err := k.Entries(cmd.Context())
			if verify {
				c, cerr := k.Contract(cmd.Context())
				if err = cmp.Or(err, cerr); err != nil {
					return cli.TrustTrouble(err)
				}
				file := "owner.toml agrees"
				switch {
				case c.Behind:
					file = "owner.toml lacks the last change"
				case !c.Owned():
					file = "owner.toml does not exist"
				}
				fmt.Fprintf(a.Stdout, "%s, all unchanged and complete; %s\n", phrase.Count(len(entries), "entry", "entries"), file)
				return nil
			}
			// Show the entries even if the audit fails verification, because they are needed most then.
			for i := range entries {
				entries[i].Reason, entries[i].Subject = redact.Clean(entries[i].Reason), redact.Clean(entries[i].Subject)
			}
			return errors.Join(cli.TrustTrouble(err), showAudit(a, entries))
		},
	}, func(f *cli.Flags) {
		f.BoolVar(&verify, "verify", false, "only verify that no entry was changed or removed")
	})
}

// cellWidth is the highest width of a column with foreign text.
const cellWidth = 60

func showAudit(a *cli.App, entries []store.AuditEntry) error {
	brief := func(text string) string { return ui.Brief(text, cellWidth) }
	var rows ui.Rows
	for _, e := range entries {
		tier := "-"
		if e.ToTier != nil {
			tier = strconv.Itoa(*e.ToTier)
			if e.FromTier != nil {
				tier = strconv.Itoa(*e.FromTier) + " → " + tier
			}
		}
		rows.Add(e.ID, e.At.Local().Format("2006-01-02 15:04"), e.Action, tier, cmp.Or(brief(e.Signature), "-"),
			cmp.Or(brief(e.Subject), "-"), brief(e.Reason))
	}
	header := []string{">id", "at", "action", "tier", "signed", "of", "reason"}
	return a.PrintTable(entries, "nothing was decided yet", header, rows)
}
