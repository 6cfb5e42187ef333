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

	// Open makes a clone ready for a run, and what works in it. An error that [Refusal] wraps is final.
	Open func(ctx context.Context, run string) (*local.Worker, error)

	mu   sync.Mutex
	runs map[string]*place
}

// place is one run on this host.
type place struct {
	mu     sync.Mutex // held while it is opened, and while events are brought here
	worker *local.Worker
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
		h.mu.Lock()
		defer h.mu.Unlock()
		for _, p := range h.runs {
			if p.worker != nil {
				p.worker.Leave()
			}
		}
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
	defer beat(ctx)()
	w, err := h.worker(ctx, t.Run, t.Seq)
	if err != nil {
		return local.Done{}, refused(err)
	}
	d, err := w.Perform(ctx, t.Seq, t.Command)
	if err == nil && stopping(ctx) && d.Event.Outcome == runner.OutcomeCancelled {
		err = errors.New("the worker was stopped meanwhile")
	}
	if err == nil {
		err = fits(d)
	}
	if err != nil {
		return local.Done{}, refused(errors.New(w.Redacted(err.Error())))
	}
	return d, nil
}

// stopping tells whether this process is on its way out: then somebody else is to do it.
func stopping(ctx context.Context) bool {
	select {
	case <-activity.GetWorkerStopChannel(ctx):
		return true
	default:
		return false
	}
}

// fits refuses a report that is too large for the history: contents belong into git.
func fits(d local.Done) error {
	body, err := json.Marshal(d)
	if err == nil && len(body) > runner.MaxMessage {
		err = &Refusal{fmt.Errorf("the report on %s takes %d bytes, at most %d are allowed", d.Command, len(body), runner.MaxMessage)}
	}
	return err
}

// refused tells Temporal what another try cannot cure.
func refused(err error) error {
	var r *Refusal
	if errors.As(err, &r) {
		return temporal.NewNonRetryableApplicationError(r.Error(), flow.Refused, nil)
	}
	return err
}

// Standing looks whether a run can go on where its journal says.
func (h *Host) Standing(ctx context.Context, f flow.From) (flow.Standing, error) {
	defer beat(ctx)()
	w, err := h.worker(ctx, f.Run, f.From)
	if err != nil {
		return flow.Standing{}, refused(err)
	}
	tip, reopened, err := w.Standing(ctx)
	return flow.Standing{Tip: tip, Reopened: reopened}, err
}

// Keep keeps the journal in the shared repository.
func (h *Host) Keep(ctx context.Context, f flow.From) error {
	defer beat(ctx)()
	w, err := h.worker(ctx, f.Run, f.From)
	if err != nil {
		return refused(err)
	}
	_, err = w.Journal(ctx)
	return err
}

// Recall reads a part of the journal from the shared repository.
func (h *Host) Recall(ctx context.Context, f flow.From) (flow.Page, error) {
	defer beat(ctx)()
	w, err := h.worker(ctx, f.Run, 0)
	if err != nil {
		return flow.Page{}, refused(err)
	}
	events, err := w.Recall(ctx)
	return flow.PageOf(events, f.From), err
}

// Enqueue hands a landing to the merge queue, which begins with the first one.
func (h *Host) Enqueue(ctx context.Context, l flow.Landing) error {
	_, err := h.Client.SignalWithStartWorkflow(ctx, l.Options.Queue, flow.EnqueueSignal, l,
		client.StartWorkflowOptions{ID: l.Options.Queue, TaskQueue: h.Queue}, flow.QueueWorkflow, flow.Waiting{})
	return err
}

// worker returns what works for a run here, and knows all events up to seq.
func (h *Host) worker(ctx context.Context, run string, seq int) (*local.Worker, error) {
	h.mu.Lock()
	if h.runs == nil {
		h.runs = map[string]*place{}
	}
	p := h.runs[run]
	if p == nil {
		p = &place{}
		h.runs[run] = p
	}
	h.mu.Unlock()
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.worker == nil {
		w, err := h.Open(ctx, run)
		if err != nil {
			return nil, err
		}
		p.worker = w
	}
	return p.worker, Follow(ctx, h.Client, run, seq, p.worker.Mirror)
}

// beat tells the server on a clock that this host is alive: an agent that says nothing for long is no dead host.
func beat(ctx context.Context) (stop func()) {
	every := activity.GetInfo(ctx).HeartbeatTimeout / 4
	if every <= 0 {
		return func() {}
	}
	done := make(chan struct{})
	activity.RecordHeartbeat(ctx)
	go func() {
		tick := time.NewTicker(every)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				activity.RecordHeartbeat(ctx)
			case <-done:
				return
			}
		}
	}()
	return func() { close(done) }
}
