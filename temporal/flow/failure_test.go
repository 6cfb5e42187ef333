package flow

import (
	"testing"

	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/temporal"

	"github.com/runplan/runplan/runner"
)

// The agent of a worker that did not report in time may have worked: its cost is unknown. Another command has no cost.
func TestSilentWorkerHasUnknownCost(t *testing.T) {
	late := temporal.NewTimeoutError(enums.TIMEOUT_TYPE_HEARTBEAT, nil)
	if e := failure(runner.Command{ID: "a/r1-c0/execute", Kind: runner.Execute}, late); !e.Attempted() ||
		e.Usage.CostUSD != nil {
		t.Errorf("%+v", e)
	}
	if e := failure(runner.Command{ID: "a/r1-c0/gate", Kind: runner.Gate}, late); e.Usage != nil {
		t.Errorf("%+v", e)
	}
}
