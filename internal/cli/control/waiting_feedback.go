package control

import (
	"context"
	"errors"
	"path/filepath"

	"github.com/runplan/runplan/feedback"
	"github.com/runplan/runplan/internal/cli"
	"github.com/runplan/runplan/internal/redact"
	"github.com/runplan/runplan/internal/store"
	"github.com/runplan/runplan/llm"
	"github.com/runplan/runplan/runner"
	"github.com/runplan/runplan/trust"
)

// approveLargeJob is the kind of approval for the plan of a feedback. No run waits for it.
const approveLargeJob = "large_job"

// WaitingFeedback lists the feedback plans that wait for the owner.
func WaitingFeedback(ctx context.Context, a *cli.App, p *cli.Project) ([]waitingItem, error) {
	items, err := FeedbackItems(ctx, a)
	if err != nil {
		return nil, err
	}
	var out []waitingItem
	for _, i := range items {
		job, ok, err := i.Waits()
		if err != nil {
			return out, FeedbackTrouble(err, cli.ExitCannotRun)
		}
		if !ok {
			continue
		}
		file, err := p.PlanPath(feedback.PlanFile(p.Layout.SelfFix(), job.Plan))
		if err != nil {
			return out, err
		}
		out = append(out, waitingItem{Plan: filepath.ToSlash(file), Branch: feedback.Branch(i.ID), Approval: runner.Approval{
			ID: "feedback/" + i.ID, Kind: approveLargeJob, Gate: string(trust.GateLargeJob), Title: job.Plan.Change,
			Question: job.Why, Since: job.Since,
		}})
	}
	return out, nil
}

// FeedbackTrouble adds the exit code and a hint to errors of the feedback loop.
func FeedbackTrouble(err error, code int) error {
	var refused *feedback.Refusal
	var blocked *feedback.Blocked
	var alarm *feedback.Alarm
	var known *cli.Failure
	var answer *llm.AnswerError
	switch {
	case errors.As(err, &answer):
		return cli.ModelTrouble(context.Background(), err)
	case errors.As(err, &known):
		return cli.Fail(known.Code, err, "%s", known.Hint)
	case errors.As(err, &refused):
		return cli.Fail(code, err, "%s", refused.Do)
	case errors.As(err, &blocked):
		return cli.Fail(cli.ExitUsage, err, "%s", blocked.Do)
	case errors.As(err, &alarm):
		return cli.Fail(cli.ExitFailed, err,
			"it stays open until the test passes on the branch; revert the merge, or fix the code")
	case errors.Is(err, store.ErrNoFeedback):
		return cli.Usage(err, "runplan self-fix list shows all feedback")
	case errors.Is(err, feedback.ErrHistory):
		return cli.Fail(cli.ExitCannotRun, err,
			"the row was not changed; restore a backup of .runplan/feedback.sqlite, or move the file")
	case errors.Is(err, store.ErrFeedbackMoved):
		return cli.Fail(cli.ExitLocked, err, "show it again: runplan self-fix list")
	}
	return err
}

// ShownFeedback removes terminal control codes from text that others wrote. The stored row keeps the original text.
func ShownFeedback(i feedback.Item) feedback.Item {
	i.Body, i.URL, i.Source = redact.Clean(i.Body), redact.Clean(i.URL), redact.Clean(i.Source)
	notes := make([]feedback.Note, len(i.Notes))
	for n, note := range i.Notes {
		note.Text = redact.Clean(note.Text)
		notes[n] = note
	}
	i.Notes = notes
	return i
}

// FeedbackItems reads all feedback. A repository without feedback has none.
func FeedbackItems(ctx context.Context, a *cli.App) ([]feedback.Item, error) {
	p, err := a.OpenProject(ctx)
	if err != nil {
		return nil, err
	}
	s, found, err := cli.IfExists(store.ReadFeedback(ctx, p.Layout.Feedback()))
	if !found {
		return []feedback.Item{}, err
	}
	defer s.Close()
	rows, err := s.All(ctx)
	if err != nil {
		return nil, err
	}
	items := make([]feedback.Item, 0, len(rows))
	for _, r := range rows {
		i, err := feedback.Read(r)
		if err != nil {
			return nil, FeedbackTrouble(err, cli.ExitCannotRun)
		}
		items = append(items, ShownFeedback(i))
	}
	return items, nil
}
