package feedback

import (
	"context"
	"time"

	"github.com/runplan/runplan/internal/store"
)

// Parts holds the dependencies of the real stages. Callers that only read leave it empty.
type Parts struct {
	Store    *store.Feedbacks
	Triage   func(ctx context.Context) (Asker, error) // created on first use, because most calls ask no model
	Plan     func(ctx context.Context) (Asker, error)
	Cost     Envelope
	Owner    Owner
	Fixer    Fixer
	Differ   Differ
	Review   func(ctx context.Context, w ReviewRequest) (Reviewed, error)
	PRClient PRClient
	Memory   Memory
	Alarm    func(ctx context.Context, i Item, c Checked) error
	// Critique reviews a step of an agent.
	Critique func(ctx context.Context, t Turn) (Critique, error)
	Now      func() time.Time
	Say      func(i Item, text string)
}

// ReviewRequest is a request for a review of a fix.
type ReviewRequest struct {
	Item         Item
	Plan         Plan
	Fix          Fix
	Differential Differential
	Earlier      string // results of earlier reviews of the class (REV-09)
}

// mostEarlier is the highest number of earlier reviews given to a reviewer.
const mostEarlier = 5

// New builds the loop.
func New(p Parts) *Driver {
	d := &Driver{Store: p.Store, Now: p.Now, Say: p.Say}
	d.Stages = Stages{
		Triage: func(ctx context.Context, i Item) (Triage, error) {
			a, err := p.Triage(ctx)
			if err != nil {
				return Triage{}, err
			}
			return a.Triage(ctx, i.Body)
		},
		Localise: func(ctx context.Context, i Item, t Triage) (Places, error) {
			target, err := p.Fixer.Base(ctx)
			if err != nil {
				return Places{}, err
			}
			out, err := Localise(ctx, AtCommit(p.Fixer.Repo, target.Commit), i.Body, t.CandidateFiles)
			out.Base = target.Commit
			return out, err
		},
		Plan: func(ctx context.Context, i Item, w PlanRequest) (Plan, error) {
			a, err := p.Plan(ctx)
			if err != nil {
				return Plan{}, err
			}
			plan, err := a.Draft(ctx, i.ID, i.Body, w, p.Cost)
			if err != nil {
				return Plan{}, err
			}
			_, err = p.Fixer.Write(i.Body, plan) // for the person who approves it
			return plan, err
		},
		Ask:    func(ctx context.Context, _ Item, plan Plan) (Asked, error) { return p.Owner.Ask(ctx, plan) },
		Agreed: func(ctx context.Context, _ Item, plan Plan) (string, error) { return p.Owner.Agreed(ctx, plan) },
		Fix:    p.Fixer.Fix,
		Differential: func(ctx context.Context, _ Item, plan Plan, f Fix) (Differential, error) {
			return CheckDifferential(ctx, p.Differ, f.Base, f.Tip, plan.Test.Path)
		},
		Review: func(ctx context.Context, i Item, t Triage, plan Plan, f Fix, v Differential) (Reviewed, error) {
			earlier, err := p.Store.Memories(ctx, TopicReviews, string(t.Class), mostEarlier)
			if err != nil {
				return Reviewed{}, err
			}
			return p.Review(ctx, ReviewRequest{i, plan, f, v, EarlierReviews(earlier)})
		},
		Publish: p.PRClient.Publish,
		Notify:  p.PRClient.Notify,
		Merged: func(ctx context.Context, _ Item, _ Plan, f Fix, pr Published) (Merged, error) {
			return p.PRClient.Merged(ctx, f, pr)
		},
		Verify: func(ctx context.Context, _ Item, plan Plan, m Merged) (Checked, error) {
			return CheckMerged(ctx, p.Differ, m.Commit, plan.Test.Path)
		},
		Alarm: p.Alarm,
		Learn: p.Memory.Learn,
	}
	return d
}
