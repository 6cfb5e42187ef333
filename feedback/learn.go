package feedback

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/runplan/runplan/gates"
	"github.com/runplan/runplan/internal/fence"
	"github.com/runplan/runplan/internal/store"
	"github.com/runplan/runplan/runner/failures"
)

// Lesson records what a verified fix teaches.
type Lesson struct {
	Triage  Triage
	Plan    Plan
	Review  Reviewed
	Rounds  int
	Refused []Refused
}

// Memory stores lessons.
type Memory struct {
	Store    *store.Feedbacks
	Failures *failures.Store // authoritative store of failure patterns (C-31)
	Now      func() time.Time
}

// Learn stores the lesson of a fix: the failure with its remedy, under the id of the feedback (FAIL-06). It also
// stores the result of the review, for later reviews of the class (REV-09). Repeating it changes nothing.
func (m Memory) Learn(ctx context.Context, i Item, l Lesson) error {
	rows, err := m.Failures.Patterns()
	if err != nil {
		return err
	}
	title, kind := fence.Line(cmp.Or(l.Plan.Change, i.Body)), "feedback:"+string(l.Triage.Class)
	if !slices.ContainsFunc(rows, func(p failures.Pattern) bool { return p.FeedbackID == i.ID }) {
		if err := m.Failures.Record(title, kind, m.Now(), failures.Origin{FeedbackID: i.ID}); err != nil {
			return err
		}
	}
	if err := m.Failures.Won(title, kind, fence.Line(l.Plan.Change)); err != nil {
		return err
	}
	_, err = m.Store.Remember(ctx,
		store.Memory{Topic: TopicReviews, Content: outcome(l), FixClass: string(l.Triage.Class), FeedbackID: i.ID,
			At: m.Now()})
	return err
}

// outcome summarizes the reviews of a fix.
func outcome(l Lesson) string {
	text := fmt.Sprintf("%s: %s after %d plans", l.Triage.Class, cmp.Or(string(l.Review.Verdict), "no review"), l.Rounds)
	for _, p := range l.Review.Passes {
		if len(p.Findings) > 0 && p.Status != gates.Pass {
			text += fmt.Sprintf("; pass %d %s: %s", p.Number, p.Name, strings.Join(p.Findings, ", "))
		}
	}
	for _, r := range l.Refused {
		text += fmt.Sprintf("; plan %d was refused at %s: %s", r.Round, r.Stage, r.Reason)
	}
	return fence.Line(text)
}
