package owner

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/runplan/runplan/feedback"
	"github.com/runplan/runplan/internal/cli"
	"github.com/runplan/runplan/internal/cli/control"
	"github.com/runplan/runplan/internal/store"
	"github.com/runplan/runplan/trust"
)

func newSelfFixApproveCommand(a *cli.App) *cobra.Command {
	var by trust.Signed
	cmd := &cobra.Command{
		Use:   "approve ID",
		Short: "Sign for the plan of a large job",
		Long: `Sign for the plan of a large job, as its owner. The signature covers exactly the waiting plan, and is
stored in the audit; another plan of the same feedback needs another signature.` + cli.ExitStatus(cli.ExitOK, cli.ExitFailed, cli.ExitUsage, cli.ExitCannotRun),
		Args: cli.ExactlyOne("the id of a feedback"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return signFeedback(cmd.Context(), a, strings.TrimPrefix(args[0], "feedback/"), false, by)
		},
	}
	cli.SignFlags(cmd.Flags(), &by)
	return cmd
}

// signFeedback records the owner's decision on the plan of a large job. deny rejects it.
func signFeedback(ctx context.Context, a *cli.App, id string, deny bool, by trust.Signed) error {
	return withLoop(ctx, a, "an approval", func(l *selfFix) error {
		if deny {
			return l.changed(l.driver.Deny(ctx, l.owner, id, by.Reason, false))
		}
		plan, err := l.driver.Approve(ctx, l.owner, id, by)
		if err != nil {
			return control.FeedbackTrouble(cli.TrustTrouble(err), cli.ExitFailed)
		}
		fmt.Fprintf(a.Stdout, "plan %d of %s is approved. To continue: runplan self-fix process\n", plan.Round,
			plan.FeedbackID)
		return nil
	})
}

func newSelfFixDenyCommand(a *cli.App) *cobra.Command {
	var reason string
	var again bool
	cmd := &cobra.Command{
		Use:   "deny ID",
		Short: "Deny the plan of a large job",
		Long: `Deny the plan of a large job. The feedback is rejected; with --again another plan is drafted with the
reason as input, at most three in total.` + cli.ExitStatus(cli.ExitOK, cli.ExitFailed, cli.ExitUsage, cli.ExitCannotRun),
		Args: cli.ExactlyOne("the id of a feedback"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return withLoop(cmd.Context(), a, "a denial", func(l *selfFix) error {
				return l.changed(l.driver.Deny(cmd.Context(), l.owner, strings.TrimPrefix(args[0], "feedback/"), reason, again))
			})
		},
	}
	cmd.Flags().StringVar(&reason, "reason", "", "why")
	cmd.Flags().BoolVar(&again, "again", false, "have another plan drafted")
	return cmd
}

func newSelfFixRecordCommand(a *cli.App) *cobra.Command {
	var pr string
	cmd := &cobra.Command{
		Use:   "record ID --pr URL",
		Short: "Record a change request that was opened by hand",
		Long: "Record the address of a fix's change request that was opened by hand. It is then watched like those that " +
			"runplan opened." + cli.ExitStatus(cli.ExitOK, cli.ExitFailed, cli.ExitUsage, cli.ExitCannotRun),
		Args: cli.ExactlyOne("the id of a feedback"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return withLoop(cmd.Context(), a, "recording", func(l *selfFix) error {
				return l.changed(l.driver.RecordPR(cmd.Context(), args[0], pr))
			})
		},
	}
	cmd.Flags().StringVar(&pr, "pr", "", "address of the change request")
	return cmd
}

func newSelfFixCloseCommand(a *cli.App) *cobra.Command {
	var reason string
	cmd := &cobra.Command{
		Use:   "close ID --reason WHY",
		Short: "Close a feedback that was rejected or is no longer wanted",
		Long: `Close a feedback that was rejected or is no longer wanted. Its history stays. An existing branch and
change request stay too. Only its regression test closes a merged fix.` + cli.ExitStatus(cli.ExitOK, cli.ExitFailed, cli.ExitUsage, cli.ExitCannotRun),
		Args: cli.ExactlyOne("the id of a feedback"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return withLoop(cmd.Context(), a, "closing a feedback", func(l *selfFix) error {
				return l.changed(l.driver.Close(cmd.Context(), l.owner, strings.TrimPrefix(args[0], "feedback/"), reason))
			})
		},
	}
	cmd.Flags().StringVar(&reason, "reason", "", "why")
	return cmd
}

// changed prints the new status of a feedback.
func (l *selfFix) changed(i feedback.Item, err error) error {
	if err != nil {
		return control.FeedbackTrouble(err, cli.ExitFailed)
	}
	fmt.Fprintf(l.app.Stdout, "%s: %s\n", i.ID, i.Status)
	return nil
}

// withLoop opens the loop and calls a function with it, on behalf of a person.
func withLoop(ctx context.Context, a *cli.App, what string, do func(*selfFix) error) error {
	if err := a.NotAnAgent(what); err != nil {
		return err
	}
	p, err := a.OpenProject(ctx)
	if err != nil {
		return err
	}
	if _, err := os.Stat(p.Layout.Feedback()); errors.Is(err, fs.ErrNotExist) {
		return cli.Usage(store.ErrNoFeedback, "runplan feedback TEXT adds one")
	}
	l, err := openLoop(ctx, a, p, selfFixOptions{})
	if err != nil {
		return err
	}
	defer l.Close()
	return do(l)
}
