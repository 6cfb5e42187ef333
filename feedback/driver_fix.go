package feedback

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/runplan/runplan/internal/git"
)

// inFix runs the plan, then checks, reviews and publishes the result.
func (d *Driver) inFix(ctx context.Context, i Item, s story) (Item, Waits, error) {
	refuse := func(stage Stage, err error) (Item, Waits, error) {
		r, ok := refused(err)
		if !ok {
			return i, Waits{}, fmt.Errorf("feedback %s: %s: %w", i.ID, stage, err)
		}
		to, end := Triaged, fmt.Sprintf("; another plan is drafted, %d of %d", s.rounds+1, MaxRounds)
		if s.rounds >= MaxRounds {
			to, end = Rejected, fmt.Sprintf("; that was plan %d of %d", s.rounds, MaxRounds)
		}
		why := Refused{Round: s.rounds, Stage: stage, Reason: r.What}
		if s.fix != nil {
			why.Lines = s.fix.Lines
		}
		after, _, err := d.note(ctx, i, to, NotAsked, StageRefused, string(stage)+": "+r.What+end, why)
		return after, Waits{}, err
	}
	done := func(stage Stage, result fmt.Stringer, err error) (Item, Waits, error) {
		if err != nil {
			return refuse(stage, err)
		}
		return d.note(ctx, i, InFix, i.Approval, stage, result.String(), result)
	}
	if s.plan == nil {
		return i, Waits{}, fmt.Errorf("feedback %s: %w: it is in-fix without a plan", i.ID, ErrHistory)
	}
	switch {
	case s.fix == nil:
		if large, why := IsLarge(*s.plan); large {
			if by, err := d.Stages.Agreed(ctx, i, *s.plan); err != nil || by == "" {
				return i, Waits{}, errors.Join(err,
					blocked("runplan audit shows what was signed",
						"feedback %s is a large job (%s), and the audit has no signature for its plan", i.ID, why))
			}
		}
		f, err := d.Stages.Fix(ctx, i, *s.plan)
		return done(StageFix, f, err)
	case s.differ == nil:
		if err := tooLarge(*s.plan, *s.fix); err != nil {
			return refuse(StageFix, err)
		}
		v, err := d.Stages.Differential(ctx, i, *s.plan, *s.fix)
		return done(StageDifferential, v, err)
	case s.review == nil:
		r, err := d.Stages.Review(ctx, i, *s.triage, *s.plan, *s.fix, *s.differ)
		return done(StageReview, r, err)
	case !s.review.ok():
		return refuse(StageReview, s.review.refusal())
	}
	return d.publish(ctx, i, s)
}

// publish opens the draft change request. If that is impossible, the branch remains for people to merge.
func (d *Driver) publish(ctx context.Context, i Item, s story) (Item, Waits, error) {
	if s.pr != nil {
		m, err := d.Stages.Merged(ctx, i, *s.plan, *s.fix, *s.pr)
		if err != nil {
			return i, Waits{}, fmt.Errorf("feedback %s: check whether it is merged: %w", i.ID, err)
		}
		if m.Commit != "" {
			return d.note(ctx, i, PROpen, i.Approval, StageMerge, m.String(), m)
		}
	}
	p, err := d.Stages.Publish(ctx, i, Change{*s.triage, *s.plan, *s.fix, *s.differ, *s.review})
	if err != nil || p.URL != "" {
		return d.result(ctx, i, PROpen, i.Approval, StagePublish, p, err)
	}
	waits := Waits{p.Note, true}
	if s.pr != nil && *s.pr == p {
		return i, waits, nil // unchanged
	}
	after, _, err := d.note(ctx, i, InFix, i.Approval, StagePublish, p.String(), p)
	return after, waits, err
}

// open notifies the author of the feedback and checks whether the change was merged.
func (d *Driver) open(ctx context.Context, i Item, s story) (Item, Waits, error) {
	if s.plan == nil || s.fix == nil {
		return i, Waits{}, fmt.Errorf("feedback %s: %w: a change is open, but its history does not name it", i.ID, ErrHistory)
	}
	pr := Published{Branch: s.fix.Branch}
	if s.pr != nil {
		pr = *s.pr
	}
	// The next process retries a deferred notification. The row is updated only if the result changes.
	if s.told == nil || s.told.Deferred && i.URL != "" && !d.notified[i.ID] {
		t, err := d.Stages.Notify(ctx, i, pr)
		if d.notified == nil {
			d.notified = map[string]bool{}
		}
		d.notified[i.ID] = true
		if err != nil || s.told == nil || !t.Deferred {
			return d.result(ctx, i, PROpen, i.Approval, StageNotify, t, err)
		}
	}
	if s.merged == nil {
		m, err := d.Stages.Merged(ctx, i, *s.plan, *s.fix, pr)
		switch {
		case err != nil:
			return i, Waits{}, fmt.Errorf("feedback %s: check whether it is merged: %w", i.ID, err)
		case m.Closed:
			return d.note(ctx, i, Rejected, i.Approval, StageClose, m.String(), nil)
		case m.Commit == "":
			return i, Waits{cmp.Or(pr.URL, pr.Branch) + " to be merged", true}, nil
		case slices.Contains(s.alarms, m.Commit):
			return i, Waits{"a person to repair " + git.Short(m.Commit) + ": its regression test fails there", true}, nil
		}
		return d.note(ctx, i, PROpen, i.Approval, StageMerge, m.String(), m)
	}
	c, err := d.Stages.Verify(ctx, i, *s.plan, *s.merged)
	if err != nil || c.Green {
		return d.result(ctx, i, Verified, i.Approval, StageVerify, c, err)
	}
	// Raise the alarm before recording it: after a crash it is raised again and never lost.
	if err := d.Stages.Alarm(ctx, i, c); err != nil {
		return i, Waits{}, fmt.Errorf("feedback %s: post the alarm to the inbox: %w", i.ID, err)
	}
	after, _, err := d.note(ctx, i, PROpen, i.Approval, StageAlarm, c.String(), c)
	if err == nil {
		err = &Alarm{i.ID, c}
	}
	return after, Waits{}, err
}

// Alarm reports that a merged fix does not hold.
type Alarm struct {
	ID      string
	Checked Checked
}

func (a *Alarm) Error() string { return "feedback " + a.ID + ": " + a.Checked.String() }

// verified stores the lesson of the fix and closes the row.
func (d *Driver) verified(ctx context.Context, i Item, s story) (Item, Waits, error) {
	switch {
	case s.learned:
		return d.note(ctx, i, Closed, i.Approval, StageClose, "it is fixed, merged and verified", nil)
	case s.triage == nil || s.plan == nil || s.checked == nil:
		return i, Waits{}, fmt.Errorf("feedback %s: %w: it is verified, but its history has no result", i.ID, ErrHistory)
	}
	l := Lesson{Triage: *s.triage, Plan: *s.plan, Rounds: s.rounds, Refused: s.refusals}
	if s.review != nil {
		l.Review = *s.review
	}
	if err := d.Stages.Learn(ctx, i, l); err != nil {
		return i, Waits{}, fmt.Errorf("feedback %s: learn: %w", i.ID, err)
	}
	return d.note(ctx, i, Verified, i.Approval, StageLearn,
		"its lessons are stored in failure_patterns and review_patterns", nil)
}
