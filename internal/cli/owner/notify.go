package owner

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/runplan/runplan/internal/cli"
	"github.com/runplan/runplan/internal/redact"
	"github.com/runplan/runplan/runner/notify"
)

// NewNotifyCommand returns the command notify.
func NewNotifyCommand(a *cli.App) *cobra.Command {
	return cli.Group("notify", "Send notifications about runs",
		`Runs notify a program or a web address if they need a person, wait for a limit, have used
most of their cost limit, failed or are done. [notify] in .runplan/config.toml or in your own file configures it:

  [notify]
  command = ["notify-send", "runplan"]     # gets one JSON object on standard input
  webhook = "https://example.org/hook"     # gets the same by POST

docs/notifications.md describes the messages, with examples.`, newNotifyTestCommand(a))
}

func newNotifyTestCommand(a *cli.App) *cobra.Command {
	return a.Command(cli.With{Exits: "0 1 2 5", Trust: true}, &cobra.Command{
		Use:   "test",
		Short: "Send a message to try the hook",
		Long:  "Send a message for the event test to the configured hook, and report the result.",
		Args:  cobra.NoArgs,
		RunE: a.InProject(func(ctx context.Context, p *cli.Project, _ []string) error {
			if !p.Notifies() {
				return cli.Usage(errors.New("no notification hook is configured"),
					"set notify.command or notify.webhook in .runplan/config.toml or in your own file; see docs/notifications.md")
			}
			if err := p.TrustConfig(); err != nil {
				return err
			}
			reaper, err := cli.StartReaper()
			if err != nil {
				return err
			}
			defer reaper.Close()
			hook := p.Hook(reaper, func(string) {})
			if err := hook.Send(notify.Message{Event: notify.Test, At: time.Now().UTC(),
				Repository: filepath.Base(p.Repo.Root)}); err != nil {
				return cli.Fail(cli.ExitFailed,
					fmt.Errorf("the message could not be sent: %s", redact.Clean(hook.Redact(err.Error()))), "")
			}
			fmt.Fprintln(a.Stdout, "told")
			return nil
		}),
	})
}
