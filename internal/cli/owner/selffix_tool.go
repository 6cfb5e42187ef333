package owner

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/runplan/runplan/feedback"
	"github.com/runplan/runplan/internal/cli"
	"github.com/runplan/runplan/internal/cli/control"
)

func newSelfFixToolCommand(a *cli.App) *cobra.Command {
	var given string
	cmd := &cobra.Command{
		Use:   "tool [NAME]",
		Short: "Run one operation of the loop, as JSON",
		Long: `Run one operation of the loop: one JSON object on standard input, one on standard output. These are the
functions that process calls. Without a name it lists them.

` + toolList() + cli.ExitStatus(cli.ExitOK, cli.ExitFailed, cli.ExitUsage, cli.ExitCannotRun),
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				fmt.Fprint(a.Stdout, toolList())
				return nil
			}
			return selfFixTool(cmd.Context(), a, args[0], given)
		},
	}
	cmd.Flags().StringVar(&given, "trust-config", "",
		"digest of the repository's configuration, to trust it without a question")
	return cmd
}

func toolList() string {
	var b strings.Builder
	for _, t := range feedback.Tools() {
		fmt.Fprintf(&b, "  %-34s %s\n", t.Name, t.What)
	}
	return b.String()
}

// mostInput is the highest size of a tool's input, in bytes.
const mostInput = 1 << 20

func selfFixTool(ctx context.Context, a *cli.App, name, given string) error {
	t, ok := feedback.ToolNamed(name)
	if !ok {
		return cli.Usage(fmt.Errorf("unknown tool %q", name), "runplan self-fix tool lists them")
	}
	p, err := a.OpenProject(ctx)
	if err != nil {
		return err
	}
	if t.Acts {
		if err := mayFix(ctx, a, p); err != nil {
			return err
		}
	}
	if err := a.TrustConfig(p, given); err != nil {
		return err
	}
	in, err := io.ReadAll(io.LimitReader(a.Stdin, mostInput+1))
	if err != nil {
		return fmt.Errorf("read standard input: %w", err)
	}
	if len(in) > mostInput || !json.Valid(bytes.TrimSpace(in)) {
		return cli.Usage(errors.New("standard input is not a JSON object, or is larger than 1 MiB"),
			"docs/feedback.md shows the input of each tool")
	}
	l, err := openLoop(ctx, a, p, selfFixOptions{trust: given})
	if err != nil {
		return err
	}
	defer l.Close()
	out, err := t.Do(ctx, l.driver, l.parts, in)
	var bad *feedback.InputError
	if errors.As(err, &bad) {
		return cli.Usage(err, "docs/feedback.md shows the input of each tool")
	}
	if err != nil {
		return control.FeedbackTrouble(err, cli.ExitFailed)
	}
	return cli.AsJSON(a.Stdout, out)
}
