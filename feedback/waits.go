package feedback

import "time"

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
