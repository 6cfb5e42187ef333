package owner

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/runplan/runplan/internal/cli"
	"github.com/runplan/runplan/internal/redact"
	"github.com/runplan/runplan/internal/store"
	"github.com/runplan/runplan/trust"
)

// NewSayCommand returns the constructor of the command ask, note or critical. They differ only in the kind of the item.
func NewSayCommand(kind string) func(*cli.App) *cobra.Command {
	short := map[string]string{
		trust.Ask:      "Leave a question for runplan or its owner",
		trust.Note:     "Leave a note that needs no answer",
		trust.Critical: "Leave a critical message: it is listed first",
	}[kind]
	return func(a *cli.App) *cobra.Command {
		return a.Command(cli.With{Exits: "0 2 5"}, &cobra.Command{
			Use:   kind + " TEXT",
			Short: short,
			Long: short + `. It goes into the inbox of this user and is acknowledged at once; no model
is called. - reads the text from standard input. runplan inbox lists the messages.`,
			Args: cobra.MinimumNArgs(1),
			RunE: func(cmd *cobra.Command, args []string) error {
				text, err := readText(a, args)
				if err != nil {
					return err
				}
				return say(cmd.Context(), a, kind, text)
			},
		})
	}
}

// maxText is the highest number of bytes read from standard input. The inbox accepts less and reports it.
const maxText = 1 << 20

// readText returns the text of a command line, or that of standard input for -.
func readText(a *cli.App, args []string) (string, error) {
	if text := strings.Join(args, " "); text != "-" {
		return text, nil
	}
	text, err := io.ReadAll(io.LimitReader(a.Stdin, maxText))
	if err != nil {
		return "", fmt.Errorf("read the text from standard input: %w", err)
	}
	return string(text), nil
}

func say(ctx context.Context, a *cli.App, kind, text string) error {
	dir, err := a.UserDir()
	if err != nil {
		return err
	}
	prompts, err := trust.LoadPrompts()
	if err != nil {
		return err
	}
	root, err := a.RootHere(ctx)
	if err != nil {
		return err
	}
	channel := "cli"
	if _, ok := a.Getenv("RUNPLAN_BATCH"); ok {
		channel = "agent"
	}
	box, err := store.OpenInbox(ctx, trust.InboxFile(dir))
	if err != nil {
		return a.OfUser(err)
	}
	defer box.Close()
	_, ack, err := trust.Enqueue(ctx, box, prompts,
		trust.Said{Kind: kind, Body: redact.New(a.Environ).String(text), Channel: channel, Repo: root, At: time.Now()})
	if refused := (*trust.Error)(nil); errors.As(err, &refused) {
		return cli.Usage(err, "%s", refused.Do) // not a question of trust: the text is invalid
	}
	if err != nil {
		return err
	}
	fmt.Fprint(a.Stdout, ack)
	return nil
}
