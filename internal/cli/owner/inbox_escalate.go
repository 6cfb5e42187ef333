package owner

import (
	"cmp"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/runplan/runplan/feedback"
	"github.com/runplan/runplan/internal/cli"
	"github.com/runplan/runplan/internal/store"
)

func newInboxEscalateCommand(a *cli.App) *cobra.Command {
	var severity string
	cmd := &cobra.Command{
		Use:   "escalate ID",
		Short: "Turn an item of the inbox into feedback",
		Long: `Copy an item of the inbox into the feedback of this repository, and mark it as done. A critical item
stays critical; a question becomes medium, a note low; --severity overrides this.` + cli.ExitStatus(cli.ExitOK, cli.ExitUsage, cli.ExitCannotRun),
		Args: cli.ExactlyOne("the number of an item"),
		RunE: func(cmd *cobra.Command, args []string) error {
			id, err := itemID(args[0])
			if err != nil {
				return err
			}
			p, err := a.OpenProject(cmd.Context())
			if err != nil {
				return err
			}
			return withInbox(cmd.Context(), a, func(box *store.Inbox) error {
				i, err := box.Item(cmd.Context(), id)
				if err != nil {
					return err
				}
				w := feedback.Words{
					ID: fmt.Sprintf("inbox-%d", id), Body: i.Body,
					Severity: feedback.Severity(cmp.Or(severity, string(feedback.SeverityOf(i.Kind)))),
					Source:   fmt.Sprintf("item %d of the inbox", id),
				}
				if err := enqueue(cmd.Context(), a, p, w, false); err != nil {
					return err
				}
				_, err = box.Finish(cmd.Context(), id, time.Now(), "feedback "+w.ID)
				return err
			})
		},
	}
	cmd.Flags().StringVar(&severity, "severity", "", "severity (default: by the kind of the item)")
	return cmd
}
