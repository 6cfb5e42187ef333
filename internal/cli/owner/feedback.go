// Package owner holds the commands for the owner of runplan: feedback and messages, the inbox, approvals, the audit,
// the tiers of trust and the stand-up. They record what the owner says and show what waits for the owner. Package
// selffix acts on feedback.
package owner

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/runplan/runplan/feedback"
	"github.com/runplan/runplan/internal/cli"
	"github.com/runplan/runplan/internal/cli/control"
	"github.com/runplan/runplan/internal/store"
)

// NewFeedbackCommand returns the command feedback.
func NewFeedbackCommand(a *cli.App) *cobra.Command {
	var id, severity, url string
	return a.Command(cli.With{Exits: "0 2 5", JSON: "a JSON object"}, &cobra.Command{
		Use:   "feedback TEXT",
		Short: "Report a problem, to have it fixed",
		Long: `Report a problem of this project. It becomes pending feedback of this repository; no model is
called, and nothing is changed. runplan self-fix process continues with it. - reads the text from standard input.

  runplan feedback "Total leaves out the last price" --severity high --on https://github.com/ada/shop/issues/7`,
		Args: cobra.MinimumNArgs(1),
		RunE: a.InProject(func(ctx context.Context, p *cli.Project, args []string) error {
			text, err := readText(a, args)
			if err != nil {
				return err
			}
			if id == "" {
				id = "fb-" + uuid.NewString()[:8]
			}
			w := feedback.Words{ID: id, Body: p.Redactor().String(text), Severity: feedback.Severity(severity), URL: url,
				Source: "cli"}
			if _, ok := a.Getenv("RUNPLAN_BATCH"); ok {
				w.Source = "agent"
			}
			return enqueue(ctx, p, w)
		}),
	}, func(f *cli.Flags) {
		f.StringVar(&severity, "severity", "medium", "severity: "+strings.Join(feedback.Severities(), ", "))
		cli.Values(f, "severity", feedback.Severities())
		f.StringVar(&url, "on", "", "URL of the pull request or issue that it concerns; the fix is announced there")
		f.StringVar(&id, "id", "", "id of lower-case letters, digits and dashes (default: generated)")
	})
}

func enqueue(ctx context.Context, p *cli.Project, w feedback.Words) error {
	w.At = time.Now()
	if err := p.Layout.Make(); err != nil {
		return err
	}
	s, err := store.OpenFeedback(ctx, p.Layout.Feedback())
	if err != nil {
		return err
	}
	defer s.Close()
	added, err := feedback.Enqueue(ctx, s, w)
	if err != nil {
		return control.FeedbackTrouble(err, cli.ExitUsage)
	}
	if p.JSON {
		row, err := s.Get(ctx, w.ID)
		if err != nil {
			return err
		}
		i, err := feedback.Read(row)
		if err != nil {
			return control.FeedbackTrouble(err, cli.ExitCannotRun)
		}
		return cli.AsJSON(p.Stdout, control.ShownFeedback(i))
	}
	if !added {
		fmt.Fprintf(p.Stdout, "feedback %s already exists\n", w.ID)
		return nil
	}
	fmt.Fprintf(p.Stdout, "feedback %s is pending. To continue: runplan self-fix process\n", w.ID)
	return nil
}
