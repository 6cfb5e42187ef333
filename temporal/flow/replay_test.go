package flow

import (
	"path/filepath"
	"testing"
	"time"

	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"
)

// Runs that started under an earlier build continue under this one: their histories, recorded against a real server,
// replay without differences. To record new ones, run go test -record in temporal/servertest.
func TestRecordedHistoriesReplay(t *testing.T) {
	files, err := filepath.Glob("testdata/*.json")
	if err != nil || len(files) < 3 {
		t.Fatalf("recorded histories: %v %v", files, err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			r := worker.NewWorkflowReplayer()
			r.RegisterWorkflowWithOptions(Run, workflow.RegisterOptions{Name: RunWorkflow})
			r.RegisterWorkflowWithOptions(MergeQueue, workflow.RegisterOptions{Name: QueueWorkflow})
			if err := r.ReplayWorkflowHistoryFromJSONFile(nil, file); err != nil {
				t.Error(err)
			}
		})
	}
}

// A workflow that issues its commands in another order does not replay.
func TestChangedCommandOrderDoesNotReplay(t *testing.T) {
	r := worker.NewWorkflowReplayer()
	r.RegisterWorkflowWithOptions(func(ctx workflow.Context, in Input) (Output, error) {
		if err := workflow.Sleep(ctx, time.Second); err != nil {
			return Output{}, err
		}
		return Run(ctx, in)
	}, workflow.RegisterOptions{Name: RunWorkflow})
	if err := r.ReplayWorkflowHistoryFromJSONFile(nil, "testdata/three-batches.json"); err == nil {
		t.Error("the history replays with a changed workflow")
	}
}
