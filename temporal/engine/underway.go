package engine

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	workflowpb "go.temporal.io/api/workflow/v1"

	"github.com/runplan/runplan/temporal/flow"
	"github.com/runplan/runplan/temporal/shared"
)

// UnderWay describes each running command of a run in a line: its worker, the last heartbeat and the last push, or
// why it waits.
func (e *Engine) UnderWay(ctx context.Context, run string) ([]string, error) {
	got, err := e.Client.DescribeWorkflowExecution(ctx, flow.ID(run), "")
	if errors.As(err, new(*serviceerror.NotFound)) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var lines []string
	for _, p := range got.GetPendingActivities() {
		command, _, _ := strings.Cut(p.GetActivityId(), "@")
		lines = append(lines, command+": "+e.standing(p))
	}
	return lines, nil
}

func (e *Engine) standing(p *workflowpb.PendingActivityInfo) string {
	var b strings.Builder
	if p.GetState() == enumspb.PENDING_ACTIVITY_STATE_SCHEDULED {
		b.WriteString("waits for a worker")
	} else {
		fmt.Fprintf(&b, "at %s", p.GetLastWorkerIdentity())
		if heard := p.GetLastHeartbeatTime(); heard != nil {
			fmt.Fprintf(&b, ", last heartbeat %s ago", e.Now().Sub(heard.AsTime()).Round(time.Second))
		}
	}
	if n := p.GetAttempt(); n > 1 {
		fmt.Fprintf(&b, ", try %d", n)
	}
	if p.GetLastFailure() != nil {
		fmt.Fprintf(&b, " (before: %s)", strings.TrimSpace(e.Coding.Failures.FailureToError(p.GetLastFailure()).Error()))
	}
	if last, ok := e.pushed(p.GetHeartbeatDetails()); ok {
		fmt.Fprintf(&b, ", last pushed %s at %.7s", last.Ref, last.Commit)
	}
	return b.String()
}

// pushed reads the data of a worker's heartbeats.
func (e *Engine) pushed(details *commonpb.Payloads) (p shared.Pushed, ok bool) {
	if details == nil {
		return p, false
	}
	err := e.Coding.Data.FromPayloads(details, &p)
	return p, err == nil && p.Ref != ""
}
