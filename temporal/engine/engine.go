// Package engine starts runs on Temporal and follows them. It implements [runner.Engine]. It copies the events
// into the journal of the local repository, so status, live view and reports use the same code as for local runs.
package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"

	"github.com/runplan/runplan/runner"
	"github.com/runplan/runplan/runner/local"
	"github.com/runplan/runplan/temporal/connect"
	"github.com/runplan/runplan/temporal/flow"
	"github.com/runplan/runplan/temporal/host"
	"github.com/runplan/runplan/temporal/shared"
)

// Engine runs plans on Temporal.
type Engine struct {
	local.Config
	Client     client.Client
	Coding     connect.Coding // of the client
	Queue      string
	Options    flow.Options
	Remote     string // name or URL of the shared repository
	Prefix     string // of refs that are not branches
	ConfigText []byte // current configuration of the project
}

var _ runner.Engine = (*Engine)(nil)

func (e *Engine) sharedRepo(run, branch string) *shared.SharedRepo {
	return &shared.SharedRepo{Repo: e.Repo, Layout: e.Layout, Remote: e.Remote, Prefix: e.Prefix, Run: run, Branch: branch}
}

// Start starts or resumes a run, and follows it until it ends or stops.
func (e *Engine) Start(ctx context.Context, run string, info runner.Info) (runner.Result, error) {
	m, err := local.NewMirror(ctx, e.Config, run, info)
	if err != nil {
		return runner.Result{}, err
	}
	d := e.sharedRepo(run, info.Branch)
	in := flow.Input{Run: run, Options: e.Options}
	if e.MaxTime > 0 {
		in.Options.MaxTime = e.MaxTime
	}
	if info.Land == "ff" && info.BaseBranch != "" {
		in.Options.Queue = flow.QueueID(e.repository(ctx), info.BaseBranch)
	}
	running, err := e.Live(ctx, run)
	if err == nil && running && m.Seq() > 0 && !m.Summary().Status.Live() {
		running, err = e.closing(ctx, run, m.Seq())
	}
	if err != nil {
		return runner.Result{}, err
	}
	switch {
	case running:
		e.Note("the run is active; following it")
	case m.Seq() == 0:
		in.Info = &info
		if err := e.offer(ctx, d, info); err != nil {
			return runner.Result{}, err
		}
	default:
		if last, n, err := e.bring(ctx, d, m); err == nil && n > 0 && last.Kind == runner.RunFinished {
			return resultOf(last), nil // it ended while no engine followed it
		}
		if err := e.reconcile(ctx, d, m); err != nil {
			return runner.Result{}, err
		}
		in.Recall, in.Resumed, in.Info = true, true, &info
	}
	if !running {
		if err := e.start(ctx, in); err != nil {
			return runner.Result{}, err
		}
	}
	return e.follow(ctx, d, m, m.Seq())
}

// repository returns the URL of the shared repository, which identifies it for all users.
func (e *Engine) repository(ctx context.Context) string {
	if url, err := e.Repo.Run(ctx, "remote", "get-url", "--", e.Remote); err == nil && url != "" {
		return url
	}
	return e.Remote
}

// Live reports whether the workflow of a run is open.
func (e *Engine) Live(ctx context.Context, run string) (bool, error) {
	got, err := e.Client.DescribeWorkflowExecution(ctx, flow.ID(run), "")
	switch {
	case errors.As(err, new(*serviceerror.NotFound)):
		return false, nil
	case err != nil:
		return false, fmt.Errorf("query Temporal about run %s: %w", run, err)
	}
	return got.GetWorkflowExecutionInfo().GetStatus() == enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING, nil
}

// closing waits for the workflow of a run that has ended: after the last event, number seq, it stores the journal. It
// reports whether the run is active, because another client resumed it.
func (e *Engine) closing(ctx context.Context, run string, seq int) (active bool, err error) {
	e.Note("the run has ended; waiting until its workflow is closed")
	for {
		asking, done := context.WithTimeout(ctx, 5*look)
		p, err := host.Events(asking, e.Client, run, seq+1)
		done()
		if err == nil && len(p.Events) > 0 {
			return true, nil
		}
		if running, err := e.Live(ctx, run); err != nil || !running {
			return false, err
		}
		select {
		case <-time.After(look):
		case <-ctx.Done():
			return false, ctx.Err()
		}
	}
}

// offer pushes the plan and the configuration to the shared repository.
func (e *Engine) offer(ctx context.Context, d *shared.SharedRepo, info runner.Info) error {
	about, err := json.Marshal(info)
	if err != nil {
		return err
	}
	files := map[string][]byte{shared.OfferedPlan: e.PlanText, shared.OfferedInfo: about}
	if e.ConfigText != nil {
		files[shared.OfferedConfig] = e.ConfigText
	}
	return d.Offer(ctx, info.Base, files)
}

// start starts the workflow. A repeated call has no effect.
func (e *Engine) start(ctx context.Context, in flow.Input) error {
	if err := fits(in); err != nil {
		return err
	}
	_, err := e.Client.ExecuteWorkflow(ctx, e.workflow(in.Run), flow.RunWorkflow, in)
	if err == nil || errors.As(err, new(*serviceerror.WorkflowExecutionAlreadyStarted)) {
		return nil
	}
	return fmt.Errorf("start run %s on Temporal: %w", in.Run, err)
}

func (e *Engine) workflow(run string) client.StartWorkflowOptions {
	return client.StartWorkflowOptions{
		ID: flow.ID(run), TaskQueue: e.Queue, WorkflowIDConflictPolicy: enumspb.WORKFLOW_ID_CONFLICT_POLICY_USE_EXISTING,
		WorkflowIDReusePolicy: enumspb.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE, StaticSummary: "runplan " + run,
	}
}

// ErrTooLarge means that a value exceeds the size of a Temporal message.
var ErrTooLarge = errors.New("too large for Temporal")

// fits rejects an input that exceeds the size limit, before any work begins.
func fits(in flow.Input) error {
	body, err := json.Marshal(in)
	if err == nil && len(body) > runner.MaxMessage {
		err = fmt.Errorf("%w: the data of the run has %d bytes, and the limit is %d: split the plan, or give its batches "+
			"shorter titles", ErrTooLarge, len(body), runner.MaxMessage)
	}
	return err
}

// reconcile copies the longer of the local and the shared journal over the shorter one.
func (e *Engine) reconcile(ctx context.Context, d *shared.SharedRepo, m *local.Mirror) error {
	kept, err := d.Journal(ctx)
	if err != nil {
		kept = nil // it was never stored: the workflow was ended from outside
	}
	if len(kept) > m.Seq() {
		return m.Take(ctx, kept)
	}
	if len(kept) == m.Seq() {
		return nil
	}
	own, err := m.Events(ctx)
	if err == nil {
		_, err = d.KeepJournal(ctx, own)
	}
	return err
}

// Polling intervals. If a poll is slow, because the shared repository is far away or busy, follow waits longer:
// polling takes at most a fifth of the time.
const (
	look     = 400 * time.Millisecond
	lookRare = 10 * time.Second
)

// patience limits how long a stop request waits for a response of the run.
const patience = 30 * time.Second

// follow copies the events of a run into the local journal until the run ends. since is the last earlier event.
func (e *Engine) follow(ctx context.Context, d *shared.SharedRepo, m *local.Mirror, since int) (runner.Result, error) {
	free := context.WithoutCancel(ctx)
	interrupted := ctx.Done()
	var told string
	for {
		began := e.Now()
		asking, done := free, context.CancelFunc(func() {})
		if interrupted == nil {
			asking, done = context.WithTimeout(free, patience)
		}
		last, n, err := e.bring(asking, d, m)
		done()
		if n == 0 { // no new events
			if why := e.ended(free, d.Run); why != nil {
				return runner.Result{}, why
			}
		}
		switch {
		case err == nil:
			told = ""
		case interrupted == nil:
			return runner.Result{}, fmt.Errorf(
				"run %s has a stop request, but no worker is running: %w; it stops when a worker starts", d.Run, err)
		case told != err.Error():
			told = err.Error()
			e.Note("waiting for a worker of task queue " + e.Queue + " or for the Temporal service: " + told)
		}
		if n > 0 && last.Kind == runner.RunFinished && last.Seq > since {
			return resultOf(last), nil
		}
		select {
		case <-time.After(min(lookRare, max(look, 4*e.Now().Sub(began)))):
		case <-interrupted:
			interrupted = nil
			err := e.Client.CancelWorkflow(free, flow.ID(d.Run), "")
			// Not found: it has ended, and its last event has the result.
			if err != nil && !errors.As(err, new(*serviceerror.NotFound)) {
				return runner.Result{}, fmt.Errorf("stop run %s: %w", d.Run, err)
			}
			e.Note("the run is being stopped")
		}
	}
}

// bring copies new events into the local journal, and returns the last one and their number.
func (e *Engine) bring(ctx context.Context, d *shared.SharedRepo, m *local.Mirror) (last runner.Event, n int,
	err error) {
	for {
		p, err := host.Events(ctx, e.Client, d.Run, m.Seq()+1)
		if err != nil || len(p.Events) == 0 {
			return last, n, err
		}
		for _, ev := range p.Events {
			if needsFiles(ev) {
				if err := d.Collect(ctx); err != nil {
					e.Note(err.Error())
				}
				break
			}
		}
		end := p.Events[len(p.Events)-1]
		if end.Kind == runner.RunFinished && p.Next == 0 {
			if err := m.Take(ctx, p.Events[:len(p.Events)-1]); err != nil {
				return last, n, err
			}
			if err := m.Close(end); err != nil {
				return last, n, err
			}
		}
		if err := m.Take(ctx, p.Events); err != nil {
			return last, n, err
		}
		last, n = end, n+len(p.Events)
		if p.Next == 0 {
			return last, n, nil
		}
	}
}

// needsFiles reports whether an event refers to logs or commits, which are in the shared repository.
func needsFiles(e runner.Event) bool {
	switch e.Kind {
	case runner.Executed, runner.Gated, runner.Tried, runner.Judged, runner.Merged, runner.Reviewed, runner.Landed,
		runner.RunFinished:
		return true
	}
	return false
}

// ended returns why a workflow ended without a final event; nil if it runs or has a final event.
func (e *Engine) ended(ctx context.Context, run string) error {
	got, err := e.Client.DescribeWorkflowExecution(ctx, flow.ID(run), "")
	if err != nil {
		return nil // the service is unavailable, perhaps temporarily
	}
	switch got.GetWorkflowExecutionInfo().GetStatus() {
	case enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING, enumspb.WORKFLOW_EXECUTION_STATUS_COMPLETED,
		enumspb.WORKFLOW_EXECUTION_STATUS_CONTINUED_AS_NEW, enumspb.WORKFLOW_EXECUTION_STATUS_CANCELED:
		return nil
	}
	err = e.Client.GetWorkflow(ctx, flow.ID(run), "").Get(ctx, nil)
	if app, ok := errors.AsType[*temporal.ApplicationError](err); ok {
		return errors.New(app.Message())
	}
	return err
}

// resultOf converts the last event of a run to a result.
func resultOf(last runner.Event) runner.Result {
	r := runner.Result{Status: runner.RunDone, Tip: last.Commit}
	switch last.Outcome {
	case runner.OutcomeOK:
	case runner.OutcomeFailed:
		r.Status, r.Reason = runner.RunFailed, last.Reason
	default:
		r.Status, r.Stop = runner.RunStopped, &runner.Stop{Outcome: last.Outcome, Reason: last.Reason}
	}
	return r
}

// Post sends an event to a run. An answer to a stopped run's question resumes the run.
func (e *Engine) Post(ctx context.Context, run string, ev runner.Event) error {
	if !ev.Kind.Outside() {
		return fmt.Errorf("post to run %s: only the run itself may write the event %s", run, ev.Kind)
	}
	ev.Run = run
	if _, err := ev.Encode(); err != nil {
		return err
	}
	if ev.Kind == runner.ApprovalGiven || ev.Kind == runner.ApprovalDenied {
		in := flow.Input{Run: run, Recall: true, Resumed: true, Options: e.Options}
		_, err := e.Client.SignalWithStartWorkflow(ctx, flow.ID(run), flow.PostSignal, ev, e.workflow(run), flow.RunWorkflow,
			in)
		return err
	}
	err := e.Client.SignalWorkflow(ctx, flow.ID(run), "", flow.PostSignal, ev)
	if errors.As(err, new(*serviceerror.NotFound)) {
		return fmt.Errorf("run %s is no longer running", run)
	}
	return err
}

// Sync copies new events of a run into the local journal.
func (e *Engine) Sync(ctx context.Context, run string, info runner.Info) error {
	m, err := local.NewMirror(ctx, e.Config, run, info)
	if err != nil {
		return err
	}
	_, _, err = e.bring(ctx, e.sharedRepo(run, info.Branch), m)
	return err
}
