package feedback

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/runplan/runplan/internal/store"
	"github.com/runplan/runplan/llm"
)

// Stages holds the stages of the driver as functions with typed results, so that each can be replaced (FIX-25). An
// error that is a [Refusal] is a decision about the change. Any other error means that the stage could not run, and
// the row waits.
type Stages struct {
	Triage       func(ctx context.Context, i Item) (Triage, error)
	Localise     func(ctx context.Context, i Item, t Triage) (Places, error)
	Plan         func(ctx context.Context, i Item, w PlanRequest) (Plan, error)
	Ask          func(ctx context.Context, i Item, p Plan) (Asked, error) // posts a large job to the owner
	Agreed       func(ctx context.Context, i Item, p Plan) (by string, err error)
	Fix          func(ctx context.Context, i Item, p Plan) (Fix, error)
	Differential func(ctx context.Context, i Item, p Plan, f Fix) (Differential, error)
	Review       func(ctx context.Context, i Item, t Triage, p Plan, f Fix, d Differential) (Reviewed, error)
	Publish      func(ctx context.Context, i Item, c Change) (Published, error)
	Notify       func(ctx context.Context, i Item, p Published) (Notice, error)
	Merged       func(ctx context.Context, i Item, p Plan, f Fix, pr Published) (Merged, error)
	Verify       func(ctx context.Context, i Item, p Plan, m Merged) (Checked, error)
	Alarm        func(ctx context.Context, i Item, c Checked) error
	Learn        func(ctx context.Context, i Item, l Lesson) error
}

// Refused is the reason why a fix was not good enough. The next plan receives it.
type Refused struct {
	Round  int    `json:"round"`
	Stage  Stage  `json:"stage"`
	Reason string `json:"reason"`
	Lines  int    `json:"lines,omitempty"` // lines of the change
}

// Change is all data of a fix when it is published.
type Change struct {
	Triage       Triage
	Plan         Plan
	Fix          Fix
	Differential Differential
	Review       Reviewed
}

// Driver moves rows through the stages.
type Driver struct {
	Store  *store.Feedbacks
	Stages Stages
	Now    func() time.Time
	Say    func(i Item, text string) // called for each step; may be nil

	notified map[string]bool // rows whose notification this process has tried; it tries only once
}

// Waits is the reason why a row waits.
type Waits struct {
	For   string // for people; "" if it does not wait
	Human bool   // a person has to act
}

// Outcome is the result of one call of Process.
type Outcome struct {
	Item  Item
	Moved bool // something was recorded
	Waits Waits
	// PassedOver holds the errors of earlier rows that were skipped.
	PassedOver []error
}

// Process takes the first row that can continue, and advances it until it waits or ends (FIX-02). It skips rows that
// wait and rows with an error, so that one bad row does not block the others. If no row can continue, it returns the
// first such error. A non-empty id selects a single row.
func (d *Driver) Process(ctx context.Context, id string) (Outcome, error) {
	if id != "" {
		i, _, err := d.at(ctx, id)
		if err != nil {
			return Outcome{}, err
		}
		return d.advance(ctx, i)
	}
	all, err := d.Store.All(ctx)
	if err != nil {
		return Outcome{}, err
	}
	var waiting, stuck Outcome
	var passed []error
	for _, row := range all {
		i, err := Read(row)
		if err != nil {
			return Outcome{}, err
		}
		if i.Status == Closed || i.Status == Rejected {
			continue
		}
		out, err := d.advance(ctx, i)
		out.PassedOver = passed
		switch {
		case err != nil && !out.Moved && ownTrouble(err):
			if passed = append(passed, err); len(passed) == 1 {
				stuck = out
			}
			continue
		case err != nil || out.Moved:
			return out, err
		}
		if waiting.Item.ID == "" || out.Waits.Human && !waiting.Waits.Human {
			waiting = out
		}
	}
	if len(passed) > 0 {
		stuck.PassedOver = passed[1:]
		return stuck, passed[0]
	}
	return waiting, nil
}

// ownTrouble reports whether an error concerns only one row: an invalid answer about it, a run of its fix that did not
// finish, or a blocked change.
func ownTrouble(err error) bool {
	return errors.As(err, new(*Blocked)) || errors.As(err, new(*Stopped)) || errors.As(err, new(*llm.AnswerError))
}

// advance moves one row as far as possible.
func (d *Driver) advance(ctx context.Context, i Item) (Outcome, error) {
	out := Outcome{Item: i}
	for {
		if err := ctx.Err(); err != nil {
			return out, context.Cause(ctx)
		}
		before := len(out.Item.Notes)
		after, waits, err := d.step(ctx, out.Item)
		out.Item, out.Waits = after, waits
		out.Moved = out.Moved || len(after.Notes) > before
		if err != nil || len(after.Notes) == before {
			return out, err
		}
		if waits.For != "" {
			return out, nil
		}
	}
}

// step executes the next step of a row. If the row has no new note, it waits or has ended.
func (d *Driver) step(ctx context.Context, i Item) (Item, Waits, error) {
	s, err := i.tell()
	if err != nil {
		return i, Waits{}, err
	}
	switch i.Status {
	case Pending:
		t, err := d.Stages.Triage(ctx, i)
		return d.result(ctx, i, Triaged, i.Approval, StageTriage, t, err)
	case Triaged:
		return d.triaged(ctx, i, s)
	case InFix:
		return d.inFix(ctx, i, s)
	case PROpen:
		return d.open(ctx, i, s)
	case Verified:
		return d.verified(ctx, i, s)
	}
	return i, Waits{}, nil
}

// triaged finds the places, drafts the plan, and gets approval for a large job.
func (d *Driver) triaged(ctx context.Context, i Item, s story) (Item, Waits, error) {
	switch {
	case s.triage == nil:
		return i, Waits{}, fmt.Errorf("feedback %s: %w: it is triaged, but its history has no triage result", i.ID,
			ErrHistory)
	case s.triage.Class == OutOfScope:
		return d.note(ctx, i, Rejected, i.Approval, StageClose, "rejected as "+s.triage.String(), nil)
	case s.places == nil:
		p, err := d.Stages.Localise(ctx, i, *s.triage)
		return d.result(ctx, i, Triaged, i.Approval, StageLocalise, p, err)
	case s.plan == nil:
		p, err := d.Stages.Plan(ctx, i,
			PlanRequest{Triage: *s.triage, Places: *s.places, Round: s.rounds + 1, Refused: s.refusals})
		// Another plan needs its own approval.
		return d.result(ctx, i, Triaged, NotAsked, StagePlan, p, err)
	}
	if large, _ := IsLarge(*s.plan); large {
		// The approval in the row is only a copy. The signature must be in the audit.
		by, err := d.Stages.Agreed(ctx, i, *s.plan)
		if err != nil {
			return i, Waits{}, fmt.Errorf("feedback %s: approval: %w", i.ID, err)
		}
		if by == "" || i.Approval != Given {
			return d.approval(ctx, i, s, by)
		}
	}
	return d.note(ctx, i, InFix, i.Approval, StageStart, "the runner begins with plan "+fmt.Sprint(s.plan.Round), nil)
}

// approval posts a large job to the owner, and continues once the owner signed this plan (FIX-13, C-40).
func (d *Driver) approval(ctx context.Context, i Item, s story, by string) (Item, Waits, error) {
	if by != "" {
		return d.note(ctx, i, Triaged, Given, StageApproval, by+" approved it", Asked{Plan: s.plan.Digest, By: by})
	}
	_, why := IsLarge(*s.plan)
	waits := Waits{"the owner's approval of a large job (" + why + "): runplan self-fix approve " + i.ID +
		" --signature NAME --reason WHY", true}
	if i.Approval == Waiting {
		return i, waits, nil
	}
	asked, err := d.Stages.Ask(ctx, i, *s.plan)
	switch {
	case errors.Is(err, ErrNoInbox) && i.Approval == Deferred:
		return i, waits, nil // unchanged
	case errors.Is(err, ErrNoInbox):
		asked = Asked{Plan: s.plan.Digest}
		after, _, err := d.note(ctx, i, Triaged, Deferred, StageApproval, "warning: the owner could not be asked: "+
			err.Error()+"; runplan self-fix process tries again", asked)
		return after, waits, err
	case err != nil:
		return i, Waits{}, fmt.Errorf("feedback %s: approval: %w", i.ID, err)
	}
	after, _, err := d.note(ctx, i, Triaged, Waiting, StageApproval,
		fmt.Sprintf("a large job (%s): the owner is asked, item %d of the inbox", why, asked.Inbox), asked)
	return after, waits, err
}

// note records an event before the driver acts on it.
func (d *Driver) note(ctx context.Context, i Item, to Status, approval Approval, stage Stage, text string,
	data any) (Item, Waits, error) {
	after, err := record(ctx, d.Store, i,
		Note{At: d.Now().UTC(), From: i.Status, To: to, Approval: approval, Stage: stage, Text: text}, data)
	if err == nil && d.Say != nil {
		d.Say(after, text)
	}
	return after, Waits{}, err
}

// result notes the result of a stage, unless the stage could not run.
func (d *Driver) result(ctx context.Context, i Item, to Status, approval Approval, stage Stage, r fmt.Stringer,
	err error) (Item, Waits, error) {
	if err != nil {
		return i, Waits{}, fmt.Errorf("feedback %s: %s: %w", i.ID, stage, err)
	}
	return d.note(ctx, i, to, approval, stage, r.String(), r)
}

func record(ctx context.Context, s *store.Feedbacks, i Item, n Note, data any) (Item, error) {
	if !slices.Contains(next()[n.From], n.To) && n.From != n.To {
		return i, fmt.Errorf("feedback %s: there is no transition from %s to %s", i.ID, n.From, n.To)
	}
	if data != nil {
		raw, err := json.Marshal(data)
		if err != nil {
			return i, fmt.Errorf("feedback %s: record the result of %s: %w", i.ID, n.Stage, err)
		}
		n.Data = raw
	}
	raw, err := json.Marshal(n)
	if err != nil {
		return i, fmt.Errorf("feedback %s: record the result of %s: %w", i.ID, n.Stage, err)
	}
	row, err := s.Note(ctx, i.row, string(n.To), string(n.Approval), string(raw), n.At)
	if err != nil {
		return i, err
	}
	return Read(row)
}

func short(commit string) string { return commit[:min(10, len(commit))] }
