package selffix

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/runplan/runplan/feedback"
	"github.com/runplan/runplan/internal/cli"
	"github.com/runplan/runplan/internal/cli/control"
	"github.com/runplan/runplan/internal/store"
	"github.com/runplan/runplan/internal/ui"
	"github.com/runplan/runplan/trust"
)

// NewSelfFixCommand returns the command self-fix.
func NewSelfFixCommand(a *cli.App) *cobra.Command {
	return cli.Group("self-fix", "Turn feedback into changes with a regression test",
		`Turn messages of runplan feedback into changes: triage, localise, plan, approval for large jobs, a run
of the plan on a branch auto/runplan/ID, a regression test that fails without the fix and passes with it, a review in
seven passes, a draft change request, and after its merge the test again. Nothing is merged automatically.

See docs/feedback.md.`,
		newSelfFixProcessCommand(a), newSelfFixListCommand(a), newSelfFixShowCommand(a), newSelfFixApproveCommand(a),
		newSelfFixDenyCommand(a), newSelfFixRecordCommand(a), newSelfFixCloseCommand(a), newSelfFixToolCommand(a))
}

func newSelfFixProcessCommand(a *cli.App) *cobra.Command {
	var agent string
	var all bool
	cmd := a.Command(cli.With{Exits: "0 1 2 3 4 5 6 130", Trust: true, JSON: "the result as a JSON object"},
		&cobra.Command{
			Use:   "process [ID]",
			Short: "Process one feedback until it needs a person",
			Long: `Take the most severe feedback that can continue, and process its stages until it waits for a person or is
finished; with an ID, that feedback. The result of a stage is stored in its history before anything follows from it, so
after a kill the next process continues. For waiting feedback, it checks whether it was approved and
whether its change was merged.

It acts by itself, so it needs trust tier 2. It needs [models], the identity documents, and an agent for the fix.`,
			Args: cobra.MaximumNArgs(1),
			RunE: a.InProject(func(ctx context.Context, p *cli.Project, args []string) error {
				ctx, stop := signal.NotifyContext(ctx, syscall.SIGTERM, syscall.SIGHUP)
				defer stop()
				id := strings.Join(args, "")
				if id != "" && all {
					return cli.Usage(errors.New("--all and an ID exclude each other"), "use one of them")
				}
				return processFeedback(ctx, p, id, selfFixOptions{agent: agent, all: all})
			}),
		})
	f := cmd.Flags()
	f.BoolVar(&all, "all", false, "continue until no feedback can continue by itself")
	f.StringVar(&agent, "agent", "", "agent that makes the fix (else feedback.agent, run.agent)")
	return cmd
}

type selfFixOptions struct {
	agent string
	all   bool
}

func processFeedback(ctx context.Context, p *cli.Project, id string, o selfFixOptions) error {
	if err := mayFix(ctx, p); err != nil {
		return err
	}
	if err := p.TrustConfig(); err != nil {
		return err
	}
	l, err := openLoop(ctx, p, o)
	if err != nil {
		return err
	}
	defer l.Close()
	told := map[string]bool{}
	for {
		out, err := l.driver.Process(ctx, id)
		for _, passed := range out.PassedOver {
			if text := passed.Error(); !told[text] {
				told[text] = true
				l.project.Warn("skipped: " + text)
			}
		}
		if o.all && err == nil && out.Moved {
			continue
		}
		if p.JSON && out.Item.ID != "" {
			if werr := cli.AsJSON(p.Stdout, control.ShownFeedback(out.Item)); werr != nil {
				return werr
			}
		}
		if err != nil {
			if ctx.Err() != nil {
				return cli.Interrupted("finished results are stored", "continue: runplan self-fix process")
			}
			return control.FeedbackTrouble(err, cli.ExitFailed)
		}
		return toldOutcome(p.App, out)
	}
}

func toldOutcome(a *cli.App, out feedback.Outcome) error {
	text := "nothing to do"
	if out.Item.ID != "" {
		text = fmt.Sprintf("%s: %s", out.Item.ID, out.Item.Status)
	}
	if !a.JSON {
		fmt.Fprintln(a.Stdout, text)
	}
	switch {
	case out.Item.ID == "":
	case out.Waits.Human:
		return cli.Fail(cli.ExitHuman, fmt.Errorf("feedback %s waits for %s", out.Item.ID, out.Waits.For),
			"then continue: runplan self-fix process")
	case out.Item.Status == feedback.Rejected:
		last := out.Item.Notes[len(out.Item.Notes)-1]
		return cli.Fail(cli.ExitFailed, fmt.Errorf("feedback %s is rejected: %s", out.Item.ID, last.Text),
			"runplan self-fix show %s shows its history", out.Item.ID)
	}
	return nil
}

// mayFix checks that the owner allows runplan to create branches and drafts without asking.
func mayFix(ctx context.Context, p *cli.Project) error {
	if err := p.NotAnAgent("self-fix"); err != nil {
		return err
	}
	c, err := p.Contract(ctx)
	if err != nil {
		return err
	}
	for _, action := range []trust.Action{trust.Branch, trust.DraftChange} {
		if err := c.Check(action, p.Repo.Root); err != nil {
			return cli.TrustTrouble(err)
		}
	}
	return nil
}

func newSelfFixListCommand(a *cli.App) *cobra.Command {
	return a.Command(cli.With{Exits: "0 2 5", JSON: "a JSON array"}, &cobra.Command{
		Use:   "list",
		Short: "List the feedback of this repository, most severe first",
		Long:  "List the feedback of this repository with its state, most severe first.",
		Args:  cobra.NoArgs,
		RunE: a.InProject(func(ctx context.Context, p *cli.Project, _ []string) error {
			items, err := control.FeedbackItems(ctx, p)
			if err != nil {
				return err
			}
			var rows ui.Rows
			for _, i := range items {
				last := i.Notes[len(i.Notes)-1]
				rows.Add(i.ID, i.Severity, i.Status, cmp.Or(i.Approval, "-"), ui.Brief(i.Body, 40),
					ui.Brief(last.Text, noteWidth))
			}
			return a.PrintTable(items, "no feedback", []string{"id", "severity", "status", "approval", "text", "last"}, rows)
		}),
	})
}

func newSelfFixShowCommand(a *cli.App) *cobra.Command {
	return a.Command(cli.With{Exits: "0 2 5", JSON: "a JSON object"}, &cobra.Command{
		Use:   "show ID",
		Short: "Print a feedback with its history",
		Long:  "Print a feedback with its full text and its history, step by step.",
		Args:  cli.ExactlyOne("the id of a feedback"),
		RunE: a.InProject(func(ctx context.Context, p *cli.Project, args []string) error {
			items, err := control.FeedbackItems(ctx, p)
			if err != nil {
				return err
			}
			for _, i := range items {
				if i.ID != args[0] {
					continue
				}
				return a.Print(i, func() {
					fmt.Fprintf(a.Stdout, "%s\n\n%s\n\n",
						strings.TrimSuffix(fmt.Sprintf("%s, %s, %s, on %s", i.ID, i.Severity, i.Status, ui.Sanitize(i.URL)), ", on "),
						strings.TrimRight(i.Body, "\n"))
					for _, n := range i.Notes {
						fmt.Fprintf(a.Stdout, "%s  %-11s  %-12s  %s\n", n.At.Local().Format("2006-01-02 15:04:05"), n.To, n.Stage,
							ui.Sanitize(n.Text))
					}
				})
			}
			return cli.Usage(fmt.Errorf("feedback %s: %w", ui.Sanitize(args[0]), store.ErrNoFeedback),
				"runplan self-fix list shows all feedback")
		}),
	})
}

func newSelfFixToolCommand(a *cli.App) *cobra.Command {
	return a.Command(cli.With{Exits: "0 1 2 5", Trust: true}, &cobra.Command{
		Use:   "tool [NAME]",
		Short: "Run one operation of the loop, as JSON",
		Long: `Run one operation of the loop: one JSON object on standard input, one on standard output. These are the
functions that process calls. Without a name it lists them.

` + toolList(),
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				fmt.Fprint(a.Stdout, toolList())
				return nil
			}
			return selfFixTool(cmd.Context(), a, args[0])
		},
	})
}

func toolList() string {
	var b strings.Builder
	for _, t := range feedback.Tools() {
		fmt.Fprintf(&b, "  %-34s %s\n", t.Name, t.What)
	}
	return b.String()
}

const mostInput = 1 << 20

func selfFixTool(ctx context.Context, a *cli.App, name string) error {
	t, ok := feedback.ToolNamed(name)
	if !ok {
		return cli.Usage(fmt.Errorf("unknown tool %q", name), "runplan self-fix tool lists them")
	}
	p, err := a.OpenProject(ctx)
	if err != nil {
		return err
	}
	if t.Acts {
		if err := mayFix(ctx, p); err != nil {
			return err
		}
	}
	if err := p.TrustConfig(); err != nil {
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
	l, err := openLoop(ctx, p, selfFixOptions{})
	if err != nil {
		return err
	}
	defer l.Close()
	out, err := t.Do(ctx, l.driver, l.parts, in)
	if errors.As(err, new(*feedback.InputError)) {
		return cli.Usage(err, "docs/feedback.md shows the input of each tool")
	}
	if err != nil {
		return control.FeedbackTrouble(err, cli.ExitFailed)
	}
	return cli.AsJSON(a.Stdout, out)
}

// noteWidth is the highest width of the column with the last note.
const noteWidth = 60
