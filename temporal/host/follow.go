package host

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.temporal.io/api/serviceerror"
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
	for try := 1; ; try++ {
		p, err := ask(ctx, c, run, from)
		if err == nil || try == asks || ctx.Err() != nil || final(err) {
			return p, err
		}
		select {
		case <-time.After(time.Duration(try) * 200 * time.Millisecond):
		case <-ctx.Done():
		}
	}
}

// final tells errors that asking again does not cure: there is no such run, or it is none of ours to see.
func final(err error) bool {
	var none *serviceerror.NotFound
	var namespace *serviceerror.NamespaceNotFound
	var denied *serviceerror.PermissionDenied
	return errors.As(err, &none) || errors.As(err, &namespace) || errors.As(err, &denied)
}

// ask asks a workflow once for its events from a number on.
func ask(ctx context.Context, c client.Client, run string, from int) (p flow.Page, err error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	v, err := c.QueryWorkflow(ctx, flow.ID(run), "", flow.EventsQuery, from)
	if err == nil {
		err = v.Get(&p)
	}
	return p, err
}
