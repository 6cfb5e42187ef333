package local

import (
	"context"
	"fmt"
	"time"

	"github.com/runplan/runplan/internal/store"
	"github.com/runplan/runplan/runner"
)

// AppendAfterwards records a person's action on a stopped run, as its last event. The caller must have the lock of the
// run.
func AppendAfterwards(ctx context.Context, j *store.Journal, ev runner.Event) error {
	if !ev.Kind.Afterwards() {
		return fmt.Errorf("append to run %s: only the run itself may write the event %s", ev.Run, ev.Kind)
	}
	for last, err := range Events(ctx, j, ev.Run, 0) {
		if err != nil {
			return err
		}
		ev.Seq = last.Seq + 1
	}
	ev.At = time.Now().UTC()
	records, err := encode([]runner.Event{ev})
	if err != nil {
		return err
	}
	return j.Append(ctx, records...)
}
