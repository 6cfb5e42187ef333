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

// asks is the maximum number of successive queries to a workflow. During a restart of the server or a worker, a
// query may fail although the workflow is intact.
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

// Events queries a workflow for its events from a number on, several times if necessary.
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

// final reports whether no retry can cure an error: the run does not exist, or access is denied.
func final(err error) bool {
	var none *serviceerror.NotFound
	var namespace *serviceerror.NamespaceNotFound
	var denied *serviceerror.PermissionDenied
	return errors.As(err, &none) || errors.As(err, &namespace) || errors.As(err, &denied)
}

// ask queries a workflow once for its events from a number on.
func ask(ctx context.Context, c client.Client, run string, from int) (p flow.Page, err error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	v, err := c.QueryWorkflow(ctx, flow.ID(run), "", flow.EventsQuery, from)
	if err == nil {
		err = v.Get(&p)
	}
	return p, err
}
