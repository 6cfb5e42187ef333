package app

import (
	"context"
	"path/filepath"

	"github.com/runplan/runplan/feedback"
	"github.com/runplan/runplan/runner"
	"github.com/runplan/runplan/trust"
)

// approveLargeJob is the kind of approval for the plan of a feedback. No run waits for it.
const approveLargeJob = "large_job"

// waitingFeedback lists the feedback plans that wait for the owner.
func (a *App) waitingFeedback(ctx context.Context, p *project) ([]waitingItem, error) {
	items, err := a.feedbackItems(ctx)
	if err != nil {
		return nil, err
	}
	var out []waitingItem
	for _, i := range items {
		job, ok, err := i.Waits()
		if err != nil {
			return out, feedbackTrouble(err, exitCannotRun)
		}
		if !ok {
			continue
		}
		file, err := p.planPath(feedback.PlanFile(p.layout.SelfFix(), job.Plan))
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
