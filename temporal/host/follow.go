package host

import (
	"context"
	"fmt"
	"time"

	"go.temporal.io/sdk/client"

	"github.com/runplan/runplan/runner/local"
	"github.com/runplan/runplan/temporal/flow"
)

// asks is how often a workflow is asked for its events in a row. Around a restart of the server or of a worker a query can
// fail although the workflow is sound.
const asks = 10

// Follow brings the events of a run to a mirror, until it has them up to seq.
func Follow(ctx context.Context, c client.Client, run string, seq int, m *local.Mirror) error {
	for m.Seq() < seq {
		p, err := Events(ctx, c, run, m.Seq()+1)
		if err == nil && len(p.Events) == 0 {
			err = fmt.Errorf("run %s has no event %d", run, m.Seq()+1)
		}
		if err == nil {
			err = m.Take(ctx, p.Events)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// Events asks a workflow for its events from a number on, more than once if need be.
func Events(ctx context.Context, c client.Client, run string, from int) (flow.Page, error) {
	var p flow.Page
	for try := 1; ; try++ {
		qctx, cancel := context.WithTimeout(ctx, 10*time.Second)
		v, err := c.QueryWorkflow(qctx, flow.ID(run), "", flow.EventsQuery, from)
		cancel()
		if err == nil {
			err = v.Get(&p)
		}
		if err == nil || try == asks || ctx.Err() != nil {
			return p, err
		}
		select {
		case <-time.After(time.Duration(try) * 200 * time.Millisecond):
		case <-ctx.Done():
		}
	}
}
