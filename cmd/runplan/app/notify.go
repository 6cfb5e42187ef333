package app

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/runplan/runplan/internal/proc"
	"github.com/runplan/runplan/internal/redact"
	"github.com/runplan/runplan/internal/ui"
	"github.com/runplan/runplan/runner/notify"
)

func newNotifyCommand(a *App) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "notify",
		Short: "Send notifications about runs",
		Long: `Runs tell a program or a web address what happens: that they need somebody, wait for a limit, run out
of money, failed or are done. [notify] in .runplan/config.toml or in your own file says whom:

  [notify]
  command = ["notify-send", "runplan"]     # gets one JSON object on standard input
  webhook = "https://example.org/hook"     # gets the same, posted

docs/notifications.md describes the messages, with examples.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	var given string
	test := &cobra.Command{
		Use:   "test",
		Short: "Send a message to try the hook",
		Long: "Send one message of the event test to the hook that is configured, and say what came of it." +
			exitStatus(exitOK, exitFailed, exitUsage, exitCannotRun),
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			p, err := a.openProject(cmd.Context())
			if err != nil {
				return err
			}
			if !p.notifies() {
				return usage(errors.New("no notification hook is configured"),
					"set notify.command or notify.webhook in .runplan/config.toml or in your own file; see docs/notifications.md")
			}
			if err := a.trustConfig(p, given); err != nil {
				return err
			}
			self, err := os.Executable()
			if err != nil {
				return fail(exitCannotRun, fmt.Errorf("find the runplan executable: %w", err), "")
			}
			reaper, err := startReaper(self)
			if err != nil {
				return fail(exitCannotRun, fmt.Errorf("start the reaper process: %w", err), "")
			}
			defer reaper.Close()
			hook := a.hook(p, reaper, func(string) {})
			if err := hook.Send(notify.Message{Event: notify.Test, At: time.Now().UTC(),
				Repository: filepath.Base(p.repo.Root)}); err != nil {
				return fail(exitFailed, fmt.Errorf("the message could not be sent: %s", redact.Clean(hook.Redact(err.Error()))), "")
			}
			fmt.Fprintln(a.Stdout, "told")
			return nil
		},
	}
	test.Flags().StringVar(&given, "trust-config", "",
		"digest of the repository's configuration, to trust it without a question")
	cmd.AddCommand(test)
	return cmd
}

// notifies reports whether notifications are configured.
func (p *project) notifies() bool {
	return len(p.config.Notify.Command) > 0 || p.config.Notify.Webhook != ""
}

// hook returns the notification hook of the configuration. Its program gets the environment of agents, the variables
// for desktops, and the variables that the configuration names.
func (a *App) hook(p *project, reaper *proc.Reaper, note func(string)) notify.Hook {
	c := p.config.Notify
	names := slices.Concat([]string{"DISPLAY", "WAYLAND_DISPLAY", "DBUS_SESSION_BUS_ADDRESS"}, c.PassEnv)
	return notify.Hook{
		Command: c.Command, Dir: p.repo.Root, Env: redact.AgentEnv(a.Environ, names), Webhook: c.Webhook,
		Timeout: time.Duration(c.Timeout),
		Reaper:  reaper, Redact: a.redactor(p).String, Note: note,
	}
}

// openNotifier starts the notifications of a run. It returns nil if none are configured. Failed notifications are
// shown as notes; with --json they go to standard error, because standard output carries only events.
func (x *execution) openNotifier(reaper *proc.Reaper, v *view) *notify.Notifier {
	if !x.project.notifies() {
		return nil
	}
	note := func(text string) {
		if x.options.json {
			fmt.Fprintf(x.app.Stderr, "runplan: %s\n", ui.Sanitize(text))
			return
		}
		v.Note(text)
	}
	return notify.New(notify.Options{
		Hook: x.app.hook(x.project, reaper, note), Events: x.project.config.Notify.Events, Info: x.info,
		Repository: filepath.Base(x.project.repo.Root),
	})
}
