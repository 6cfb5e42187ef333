// Package host runs the Temporal activities of runs on this machine. The activities are thin wrappers of
// [shared.Worker].
package host

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/runplan/runplan/runner"
	"github.com/runplan/runplan/temporal/flow"
	"github.com/runplan/runplan/temporal/shared"
)

// Host works for any number of runs.
type Host struct {
	Client client.Client
	Queue  string // task queue

	// Open prepares a clone and a worker for a run; closed releases them. An error that wraps a [Refusal] is final.
	Open func(ctx context.Context, run string) (w *shared.Worker, closed func(), err error)
	// Rest is how long an idle run stays open; 0 is [DefaultRest].
	Rest time.Duration

	mu   sync.Mutex
	runs map[string]*place
}

// Refusal is an error that no retry can cure, such as an untrusted configuration.
type Refusal struct{ Err error }

func (r *Refusal) Error() string { return r.Err.Error() }
func (r *Refusal) Unwrap() error { return r.Err }

// Options are the options of the worker process.
type Options struct {
	Slots      int // maximum of concurrent commands
	Deployment string
	Build      string
}

// Start starts the host. Call stop to stop it.
func (h *Host) Start(o Options) (stop func(), err error) {
	wo := worker.Options{
		MaxConcurrentActivityExecutionSize: max(1, o.Slots),
		WorkerStopTimeout:                  10 * time.Second,
		MaxHeartbeatThrottleInterval:       time.Second,
		DefaultHeartbeatThrottleInterval:   time.Second,
		DisableRegistrationAliasing:        true,
	}
	if o.Deployment != "" {
		wo.DeploymentOptions = worker.DeploymentOptions{
			UseVersioning: true, Version: worker.WorkerDeploymentVersion{DeploymentName: o.Deployment, BuildID: o.Build},
			DefaultVersioningBehavior: workflow.VersioningBehaviorPinned, // a run stays on the build that started it
		}
	}
	w := worker.New(h.Client, h.Queue, wo)
	Register(w, h)
	if err := w.Start(); err != nil {
		return nil, err
	}
	return func() {
		w.Stop()
		h.close()
	}, nil
}

// Registry registers workflows and activities: a worker, or a test environment.
type Registry interface {
	RegisterWorkflowWithOptions(w any, o workflow.RegisterOptions)
	RegisterActivityWithOptions(a any, o activity.RegisterOptions)
}

// Register registers all workflows and activities of a host.
func Register(r Registry, h *Host) {
	r.RegisterWorkflowWithOptions(flow.Run, workflow.RegisterOptions{Name: flow.RunWorkflow})
	r.RegisterWorkflowWithOptions(flow.MergeQueue, workflow.RegisterOptions{Name: flow.QueueWorkflow})
	for name, f := range map[string]any{
		flow.PerformActivity: h.Perform, flow.StandingActivity: h.Standing, flow.KeepActivity: h.Keep,
		flow.RecallActivity: h.Recall, flow.EnqueueActivity: h.Enqueue,
	} {
		r.RegisterActivityWithOptions(f, activity.RegisterOptions{Name: name})
	}
}

// Perform performs one command.
func (h *Host) Perform(ctx context.Context, t flow.Task) (shared.Done, error) {
	p := beat(ctx)
	defer p.stop()
	w, leave, err := h.enter(ctx, t.Run, t.Seq)
	if err != nil {
		return shared.Done{}, told(ctx, err, hidden)
	}
	defer func() {
		if ctx.Err() == nil {
			leave(false)
			return
		}
		go func() { leave(h.stopped(ctx, t.Run, t.Seq)) }() // the caller does not wait for the cleanup
	}()
	first := t.First && activity.GetInfo(ctx).Attempt == 1
	d, err := w.Perform(ctx, shared.Order{Seq: t.Seq, Command: t.Command, First: first, Last: p.last}, p.mark)
	if err == nil && d.Event.Outcome == runner.OutcomeCancelled && !calledOff(ctx) {
		err = errors.New("it was stopped on this worker without a request of the run")
	}
	if err == nil {
		err = fits(d)
	}
	if err != nil {
		return shared.Done{}, told(ctx, err, w.Redacted)
	}
	return d, nil
}

// calledOff reports whether the run cancelled a command. The context may also end because this process exits, or
// because Temporal gave the command to another host after a missed heartbeat.
func calledOff(ctx context.Context) bool { return temporal.IsCanceledError(context.Cause(ctx)) }

// fits rejects a result that is too large for the workflow history: contents belong in git.
func fits(d shared.Done) error {
	body, err := json.Marshal(d)
	if err == nil && len(body) > runner.MaxMessage {
		err = &Refusal{fmt.Errorf("the report on %s has %d bytes, and the limit is %d", d.Command, len(body),
			runner.MaxMessage)}
	}
	return err
}

// told converts an error for Temporal: without secrets, and final if no retry can cure it. Errors after a
// cancellation count as that cancellation.
func told(ctx context.Context, err error, hide func(string) string) error {
	var r *Refusal
	switch {
	case err == nil:
		return nil
	case calledOff(ctx):
		return ctx.Err()
	case errors.As(err, &r):
		return temporal.NewNonRetryableApplicationError(hide(err.Error()), flow.Refused, nil)
	}
	return errors.New(hide(err.Error()))
}

// hidden is the redaction for errors without secrets.
func hidden(text string) string { return text }

// Standing checks whether a run can continue from its journal.
func (h *Host) Standing(ctx context.Context, f flow.From) (s flow.Standing, err error) {
	err = h.at(ctx, f, false, func(w *shared.Worker) (err error) {
		s.Tip, s.Reopened, err = w.Standing(ctx)
		return err
	})
	return s, err
}

// Keep stores the journal in the shared repository.
func (h *Host) Keep(ctx context.Context, f flow.From) error {
	return h.at(ctx, f, true, func(w *shared.Worker) error {
		_, err := w.Journal(ctx)
		return err
	})
}

// Recall reads a page of the journal from the shared repository.
func (h *Host) Recall(ctx context.Context, f flow.From) (p flow.Page, err error) {
	err = h.at(ctx, flow.From{Run: f.Run}, false, func(w *shared.Worker) error {
		events, err := w.Recall(ctx)
		p = flow.PageOf(events, f.From)
		return err
	})
	return p, err
}

// at runs do with the worker of a run, which has the events up to f.From. If it is the last activity of a run that has
// ended, the run is closed.
func (h *Host) at(ctx context.Context, f flow.From, last bool, do func(w *shared.Worker) error) error {
	defer beat(ctx).stop()
	w, leave, err := h.enter(ctx, f.Run, f.From)
	if err != nil {
		return told(ctx, err, hidden)
	}
	defer func() { leave(last && !w.Summary().Status.Live()) }()
	return told(ctx, do(w), w.Redacted)
}

// Enqueue adds a landing to the merge queue. The first one starts the queue's workflow.
func (h *Host) Enqueue(ctx context.Context, l flow.Landing) error {
	_, err := h.Client.SignalWithStartWorkflow(ctx, l.Options.Queue, flow.EnqueueSignal, l,
		client.StartWorkflowOptions{ID: l.Options.Queue, TaskQueue: h.Queue}, flow.QueueWorkflow, flow.Waiting{})
	return err
}
