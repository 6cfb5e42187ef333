package owner

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/runplan/runplan/internal/cli"
	"github.com/runplan/runplan/internal/cli/control"
	"github.com/runplan/runplan/internal/git"
	"github.com/runplan/runplan/internal/lists"
	"github.com/runplan/runplan/internal/ui"
	"github.com/runplan/runplan/runner"
	"github.com/runplan/runplan/runner/ledger"
	"github.com/runplan/runplan/trust"
)

// NewStandupCommand returns the command standup.
func NewStandupCommand(a *cli.App) *cobra.Command {
	since := 24 * time.Hour
	return a.Command(cli.With{Exits: "0 1 2 5", JSON: "a JSON object"}, &cobra.Command{
		Use:   "standup",
		Short: "Report finished, active, stuck and waiting work",
		Long: `Print a stand-up report of this repository as markdown: what runs did in the period, what is in
progress, what is stuck and why, the cost, the open inbox messages, and the trust tier. It is made from the journal; no
model is called. .runplan/prompts/standup.md replaces the built-in template.`,
		Args: cobra.NoArgs,
		RunE: a.InProject(func(ctx context.Context, p *cli.Project, _ []string) error {
			if since <= 0 {
				return cli.Usage(errors.New("--since must be in the past"), "such as --since 72h")
			}
			prompts, err := p.Prompts(trust.LoadPrompts)
			if err != nil {
				return err
			}
			now := time.Now()
			s, err := standup(ctx, p, now.Add(-since), now)
			if err != nil {
				return err
			}
			if a.JSON {
				return cli.AsJSON(a.Stdout, s)
			}
			text, err := s.Render(prompts)
			if err != nil {
				return cli.Usage(err, "correct .runplan/prompts/standup.md, or remove it")
			}
			fmt.Fprint(a.Stdout, text)
			return nil
		}),
	}, func(f *cli.Flags) { f.DurationVar(&since, "since", since, "length of the period to report") })
}

func standup(ctx context.Context, p *cli.Project, from, to time.Time) (trust.Standup, error) {
	s := trust.Standup{Repository: filepath.Base(p.Repo.Root), From: from, To: to, Done: []string{}, UnderWay: []string{},
		Stuck: []string{}, Inbox: []string{}}
	sums, err := p.Summaries(ctx, runner.Filter{})
	if err != nil {
		return s, err
	}
	p.LookAlive(sums)
	var lines []ledger.Line
	for _, r := range sums {
		if r.Updated.Before(from) && !r.Status.Live() {
			continue
		}
		addRun(&s, r)
		var l ledger.Ledger
		if err := p.EachEvent(ctx, r.Run, func(e runner.Event) error { l.Event(e); return nil }); err != nil {
			return s, err
		}
		lines = append(lines, lists.Filter(l.Lines, func(line ledger.Line) bool { return !line.At.Before(from) })...)
	}
	s.Spent = "nothing: no agent was running"
	if len(lines) > 0 {
		s.Spent = ledger.Add(lines).String()
	}
	waiting, err := control.Waiting(ctx, p)
	if err != nil {
		return s, err
	}
	for _, w := range waiting {
		if w.Answered == "" {
			s.Inbox = append(s.Inbox,
				fmt.Sprintf("%s: %s of %s waits for approval: runplan approve %s", s.Repository, w.What(), ui.Sanitize(w.Plan),
					w.ID))
		}
	}
	items, err := control.InboxItems(ctx, p.App, false)
	if err != nil {
		return s, err
	}
	for _, i := range items {
		s.Inbox = append(s.Inbox,
			fmt.Sprintf("%s %d (%s): %s", i.Kind, i.ID, control.RepoName(i), ui.Brief(i.Body, 2*cellWidth)))
	}
	k, err := p.Keeper()
	if err != nil {
		return s, err
	}
	// Report a contract that fails verification here, because the owner reads this report.
	if c, err := k.Contract(ctx); err != nil {
		s.Trust = "not trusted: " + ui.Sanitize(err.Error())
	} else {
		s.Trust = c.TierText()
	}
	return s, nil
}

func addRun(s *trust.Standup, r runner.Summary) {
	plan := fmt.Sprintf("%s (%.8s)", ui.Sanitize(r.Plan), r.Run) // a plan may have several runs
	for _, b := range r.Batches {
		if b.State == string(runner.Failed) && r.Status != runner.RunDiscarded {
			s.Stuck = append(s.Stuck,
				fmt.Sprintf("%s, batch %s %s: %s", plan, ui.Sanitize(b.Number), ui.Sanitize(b.Title),
					cmp.Or(ui.Sanitize(b.Reason), "failed")))
		}
	}
	line := fmt.Sprintf("%s: %s, %d of %d batches merged", plan, r.Status, r.Tally().Merged, len(r.Batches))
	if r.Undone != "" {
		line += ", undone by " + git.Short(r.Undone)
	}
	if r.Reason != "" {
		line += "; " + ui.Brief(strings.TrimSpace(r.Reason), 4*cellWidth)
	}
	switch {
	case r.Status.Over():
		s.Done = append(s.Done, line)
	case r.Status.Live():
		s.UnderWay = append(s.UnderWay, line)
	default:
		s.Stuck = append(s.Stuck, line)
	}
}
