// Package host is a machine that works for runs on Temporal: activities that are skins over [local.Worker].
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
	"github.com/runplan/runplan/runner/local"
	"github.com/runplan/runplan/temporal/flow"
)

// Host works for any number of runs.
type Host struct {
	Client client.Client
	Queue  string // task queue

	// Open makes a clone ready for a run, and what works in it; closed puts it away again. An error that [Refusal] wraps is
	// final.
	Open func(ctx context.Context, run string) (w *local.Worker, closed func(), err error)
	// Rest is how long a run without work here stays open; 0 is [DefaultRest].
	Rest time.Duration

	mu   sync.Mutex
	runs map[string]*place
}

// Refusal is an error that no other try can cure, such as a configuration that nobody trusts here.
type Refusal struct{ Err error }

func (r *Refusal) Error() string { return r.Err.Error() }
func (r *Refusal) Unwrap() error { return r.Err }

// Options are those of the process.
type Options struct {
	Slots      int // commands at the same time
	Deployment string
	Build      string
}

// Start begins to work. What it returns stops it.
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
			DefaultVersioningBehavior: workflow.VersioningBehaviorPinned, // a run stays on the build that it began with
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

// Registry takes workflows and activities: a worker, or an environment of tests.
type Registry interface {
	RegisterWorkflowWithOptions(w any, o workflow.RegisterOptions)
	RegisterActivityWithOptions(a any, o activity.RegisterOptions)
}

// Register names all that a host can do.
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

// Perform carries out one command.
func (h *Host) Perform(ctx context.Context, t flow.Task) (local.Done, error) {
	p := beat(ctx)
	defer p.stop()
	w, leave, err := h.enter(ctx, t.Run, t.Seq)
	if err != nil {
		return local.Done{}, told(ctx, err, hidden)
	}
	defer func() {
		if ctx.Err() == nil {
			leave(false)
			return
		}
		go func() { leave(h.stopped(ctx, t.Run, t.Seq)) }() // whoever waits for the report need not wait for this
	}()
	first := t.First && activity.GetInfo(ctx).Attempt == 1
	d, err := w.Perform(ctx, local.Order{Seq: t.Seq, Command: t.Command, First: first, Last: p.last}, p.mark)
	if err == nil && d.Event.Outcome == runner.OutcomeCancelled && !calledOff(ctx) {
		err = errors.New("it was stopped here, though the run had not asked for that")
	}
	if err == nil {
		err = fits(d)
	}
	if err != nil {
		return local.Done{}, told(ctx, err, w.Redacted)
	}
	return d, nil
}

// calledOff tells whether the run has no use for a command any more. Its context can end for other reasons: this process is
// on its way out, or the service has not heard of it for long and gave the command to somebody else.
func calledOff(ctx context.Context) bool { return temporal.IsCanceledError(context.Cause(ctx)) }

// fits refuses a report that is too large for the history: contents belong into git.
func fits(d local.Done) error {
	body, err := json.Marshal(d)
	if err == nil && len(body) > runner.MaxMessage {
		err = &Refusal{fmt.Errorf("the report on %s takes %d bytes, at most %d are allowed", d.Command, len(body), runner.MaxMessage)}
	}
	return err
}

// told is an error as Temporal is told of it: without secrets, and final where another try cures nothing. With a command
// that was called off, whatever broke, broke for that.
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

// hidden is for errors that have nothing to hide any more.
func hidden(text string) string { return text }

// Standing looks whether a run can go on where its journal says.
func (h *Host) Standing(ctx context.Context, f flow.From) (flow.Standing, error) {
	defer beat(ctx).stop()
	w, leave, err := h.enter(ctx, f.Run, f.From)
	if err != nil {
		return flow.Standing{}, told(ctx, err, hidden)
	}
	defer leave(false)
	tip, reopened, err := w.Standing(ctx)
	return flow.Standing{Tip: tip, Reopened: reopened}, told(ctx, err, w.Redacted)
}

// Keep keeps the journal in the shared repository.
func (h *Host) Keep(ctx context.Context, f flow.From) error {
	defer beat(ctx).stop()
	w, leave, err := h.enter(ctx, f.Run, f.From)
	if err != nil {
		return told(ctx, err, hidden)
	}
	defer func() {
		s := w.Summary().Status
		leave(s != runner.RunActive && s != runner.RunPaused)
	}()
	_, err = w.Journal(ctx)
	return told(ctx, err, w.Redacted)
}

// Recall reads a part of the journal from the shared repository.
func (h *Host) Recall(ctx context.Context, f flow.From) (flow.Page, error) {
	defer beat(ctx).stop()
	w, leave, err := h.enter(ctx, f.Run, 0)
	if err != nil {
		return flow.Page{}, told(ctx, err, hidden)
	}
	defer leave(false)
	events, err := w.Recall(ctx)
	return flow.PageOf(events, f.From), told(ctx, err, w.Redacted)
}

// Enqueue hands a landing to the merge queue, which begins with the first one.
func (h *Host) Enqueue(ctx context.Context, l flow.Landing) error {
	_, err := h.Client.SignalWithStartWorkflow(ctx, l.Options.Queue, flow.EnqueueSignal, l,
		client.StartWorkflowOptions{ID: l.Options.Queue, TaskQueue: h.Queue}, flow.QueueWorkflow, flow.Waiting{})
	return err
}
