package feedback

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/runplan/runplan/internal/fence"
	"github.com/runplan/runplan/internal/prompt"
	"github.com/runplan/runplan/internal/store"
	"github.com/runplan/runplan/trust"
)

// ErrNoInbox reports that the owner cannot be asked, because the inbox is missing or unusable (FIX-14).
var ErrNoInbox = errors.New("no inbox")

// Asked is the state of the approval of a large job.
type Asked struct {
	Plan  string `json:"plan"`            // digest of the plan
	Inbox int64  `json:"inbox,omitempty"` // number of the inbox item
	By    string `json:"by,omitempty"`    // who approved
}

// Owner is the person who approves large jobs.
type Owner struct {
	Keeper  trust.Keeper
	Prompts prompt.Set // inbox of this package
	Acks    prompt.Set // of trust
	Repo    string     // repository of the plan
	Plans   string     // folder of the rendered plans
	Now     func() time.Time
}

// subject names in the audit what was signed: this feedback and this version of its plan.
func subject(id, digest string) string {
	return "feedback/" + id + " plan " + digest[:min(16, len(digest))]
}

// marker is the first line of the inbox item, by which it is found again.
func marker(p Plan) string {
	return fmt.Sprintf("Plan %d for feedback/%s (%s)", p.Round, p.FeedbackID, p.Digest[:min(16, len(p.Digest))])
}

// Ask posts a plan to the owner's inbox (FIX-13). It posts each plan once.
func (o Owner) Ask(ctx context.Context, p Plan) (Asked, error) {
	_, why := IsLarge(p)
	text, err := o.Prompts.Render("plan_review", map[string]string{
		"marker": marker(p), "why": why, "root_cause": fence.Line(p.RootCause), "change": fence.Line(p.Change),
		"files": strings.Join(p.Files, ", "),
		"test":  p.Test.Path, "estimate": fmt.Sprint(p.LineEstimate), "cost": p.Cost.String(),
		"alternatives": strings.Join(p.Alternatives, "; "),
		"plan_file":    filepath.ToSlash(PlanFile(o.Plans, p)),
		"approve":      "runplan self-fix approve " + p.FeedbackID + " --signature NAME --reason WHY",
		"deny":         "runplan self-fix deny " + p.FeedbackID + " --reason WHY",
	})
	if err != nil {
		return Asked{}, err
	}
	box, err := store.OpenInbox(ctx, trust.InboxFile(o.Keeper.Dir))
	if err != nil {
		return Asked{}, fmt.Errorf("%w: %w", ErrNoInbox, err)
	}
	defer box.Close()
	pending, err := box.Pending(ctx)
	if err != nil {
		return Asked{}, fmt.Errorf("%w: %w", ErrNoInbox, err)
	}
	for _, i := range pending {
		if i.Repo == o.Repo && strings.HasPrefix(i.Body, marker(p)+"\n") {
			return Asked{Plan: p.Digest, Inbox: i.ID}, nil
		}
	}
	id, _, err := trust.Enqueue(ctx, box, o.Acks,
		trust.Said{Kind: trust.Ask, Body: text, Channel: "self-fix", Repo: o.Repo, At: o.Now()})
	if err != nil {
		return Asked{}, fmt.Errorf("%w: %w", ErrNoInbox, err)
	}
	return Asked{Plan: p.Digest, Inbox: id}, nil
}

// Agreed returns who signed for a plan. Only the audit counts, not the contents of the repository.
func (o Owner) Agreed(ctx context.Context, p Plan) (string, error) {
	entries, err := o.Keeper.Entries(ctx)
	if err != nil {
		return "", err
	}
	for _, e := range entries {
		if e.Action == string(trust.GateLargeJob) && e.Subject == subject(p.FeedbackID, p.Digest) {
			return e.Signature, nil
		}
	}
	return "", nil
}

// Approve records the owner's signature for a waiting plan. The row continues when it is processed next.
func (d *Driver) Approve(ctx context.Context, o Owner, id string, by trust.Signed) (Plan, error) {
	i, s, err := d.waiting(ctx, id)
	if err != nil {
		return Plan{}, err
	}
	if who, err := o.Agreed(ctx, *s.plan); err != nil || who != "" {
		return *s.plan, err
	}
	if err := o.Keeper.Agree(ctx, trust.GateLargeJob, subject(id, s.plan.Digest), by); err != nil {
		return Plan{}, err
	}
	if _, _, err := d.note(ctx, i, Triaged, Given, StageApproval, by.Name+" approved it: "+fence.Line(by.Reason),
		Asked{Plan: s.plan.Digest, By: by.Name}); err != nil {
		return Plan{}, err
	}
	return *s.plan, o.settle(ctx, s, "approved")
}

// Deny ends a feedback with a waiting plan. With again, another plan is drafted with the reason as input (FIX-15).
func (d *Driver) Deny(ctx context.Context, o Owner, id, reason string, again bool) (Item, error) {
	i, s, err := d.waiting(ctx, id)
	if err != nil {
		return Item{}, err
	}
	if strings.TrimSpace(reason) == "" {
		return Item{}, refuse("say why with --reason", "a plan is not denied without a reason")
	}
	why := Refused{Round: s.rounds, Stage: StageApproval, Reason: reason}
	if again && s.rounds < MaxRounds {
		i, _, err = d.note(ctx, i, Triaged, Denied, StageRefused,
			fmt.Sprintf("the plan is denied: %s; a new plan is drafted, %d of %d", fence.Line(reason), s.rounds+1, MaxRounds),
			why)
	} else {
		i, _, err = d.note(ctx, i, Rejected, Denied, StageRefused, "the plan is denied: "+fence.Line(reason), why)
	}
	if err != nil {
		return Item{}, err
	}
	return i, o.settle(ctx, s, "denied")
}

// settle marks the inbox item as done.
func (o Owner) settle(ctx context.Context, s story, outcome string) error {
	if s.asked == nil || s.asked.Inbox == 0 {
		return nil
	}
	box, err := store.OpenInbox(ctx, trust.InboxFile(o.Keeper.Dir))
	if err != nil {
		return fmt.Errorf("the decision is recorded, but the inbox item could not be closed: %w", err)
	}
	defer box.Close()
	_, err = box.Finish(ctx, s.asked.Inbox, o.Now(), outcome)
	return err
}

// waiting finds a row whose plan needs approval.
func (d *Driver) waiting(ctx context.Context, id string) (Item, story, error) {
	i, s, err := d.at(ctx, id)
	if err != nil {
		return i, s, err
	}
	if _, waits, err := i.Waits(); err != nil || !waits {
		return i, s, refuse("runplan self-fix list shows the waiting ones", "feedback %s does not wait for an "+
			"approval: it is %s", id, i.Status)
	}
	return i, s, nil
}

// LargeJob is a plan that needs the owner's approval.
type LargeJob struct {
	Plan  Plan
	Why   string // why it is large
	Since time.Time
}

// Waits returns the plan that waits for the owner's approval (C-40). ok is false if there is none.
func (i Item) Waits() (job LargeJob, ok bool, err error) {
	s, err := i.tell()
	if err != nil || i.Status != Triaged || s.plan == nil || i.Approval != Waiting && i.Approval != Deferred {
		return LargeJob{}, false, err
	}
	_, why := IsLarge(*s.plan)
	return LargeJob{Plan: *s.plan, Why: why, Since: i.Updated}, true, nil
}

// RecordPR records the change request of a fix that a person opened by hand.
func (d *Driver) RecordPR(ctx context.Context, id, url string) (Item, error) {
	i, s, err := d.at(ctx, id)
	if err != nil {
		return i, err
	}
	switch {
	case urlForm.FindString(url) != url || url == "":
		return i, refuse("give it with --pr https://…/pull/N", "%q is not the URL of a pull request", oneLine(url))
	case i.Status == PROpen && s.pr != nil && s.pr.URL == url:
		return i, nil
	case i.Status != InFix || s.review == nil || !s.review.ok():
		return i, refuse("runplan self-fix show "+id+" shows its state",
			"feedback %s has no reviewed fix that waits for a change request: it is %s", id, i.Status)
	}
	p := Published{Branch: s.fix.Branch, Base: s.fix.Into, URL: url}
	if s.pr != nil {
		p.Remote = s.pr.Remote
	}
	i, _, err = d.note(ctx, i, PROpen, i.Approval, StagePublish, "opened by hand: "+url, p)
	return i, err
}

// Close lets a person end a feedback with a reason, if it was rejected or is no longer wanted. A merged fix that fails
// its test and a verified fix cannot be closed by hand (FIX-23).
func (d *Driver) Close(ctx context.Context, o Owner, id, reason string) (Item, error) {
	i, s, err := d.at(ctx, id)
	if err != nil {
		return i, err
	}
	switch {
	case strings.TrimSpace(reason) == "":
		return i, refuse("say why with --reason", "a feedback is not closed without a reason")
	case i.Status == Closed:
		return i, refuse("runplan self-fix show "+id+" shows its history", "feedback %s is closed already", id)
	case i.Status == Verified:
		return i, refuse("runplan self-fix process "+id+" stores its lesson and closes it",
			"feedback %s is fixed and verified", id)
	case len(s.alarms) > 0 || s.merged != nil:
		return i, refuse("it is closed when its regression test passes on the branch",
			"the fix of feedback %s is merged, and its regression test has not passed there", id)
	}
	why := fence.Line(reason)
	if i.Status != Rejected {
		if i, _, err = d.note(ctx, i, Rejected, i.Approval, StageClose, "withdrawn: "+why, nil); err != nil {
			return i, err
		}
	}
	if i, _, err = d.note(ctx, i, Closed, i.Approval, StageClose, "closed by hand: "+why, nil); err != nil {
		return i, err
	}
	return i, o.settle(ctx, s, "closed")
}
