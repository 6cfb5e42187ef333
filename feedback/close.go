package feedback

import (
	"context"
	"strings"

	"github.com/runplan/runplan/internal/fence"
)

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
