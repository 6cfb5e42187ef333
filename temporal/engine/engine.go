// Package engine starts runs on Temporal and follows them. It answers [runner.Engine], and what it follows it writes into
// the journal of the repository at hand, so that status, live view and reports are the same code as of a local run.
package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
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
)

// Engine runs plans on Temporal.
type Engine struct {
	local.Config
	Client     client.Client
	Coding     connect.Coding // of the client
	Queue      string
	Options    flow.Options
	Remote     string // name or URL of the repository that all share
	Prefix     string // of refs that are no branches
	ConfigText []byte // the project's configuration as it is now
}

var _ runner.Engine = (*Engine)(nil)

// depot is the shared repository of a run.
func (e *Engine) depot(run, branch string) *local.Depot {
	return &local.Depot{Repo: e.Repo, Layout: e.Layout, Remote: e.Remote, Prefix: e.Prefix, Run: run, Branch: branch}
}

// Start starts a run, or goes on with one, and follows it until it has ended or stopped.
func (e *Engine) Start(ctx context.Context, run string, info runner.Info) (runner.Result, error) {
	m, err := local.NewMirror(ctx, e.Config, run, info)
	if err != nil {
		return runner.Result{}, err
	}
	d := e.depot(run, info.Branch)
	in := flow.Input{Run: run, Options: e.Options}
	if e.MaxTime > 0 {
		in.Options.MaxTime = e.MaxTime
	}
	if info.Land == "ff" && info.BaseBranch != "" {
		in.Options.Queue = flow.QueueID(e.repository(ctx), info.BaseBranch)
	}
	running, err := e.Live(ctx, run)
	if err != nil {
		return runner.Result{}, err
	}
	switch {
	case running:
		e.Note("the run is at work; following it")
	case m.Seq() == 0:
		in.Info = &info
		if err := e.offer(ctx, d, info); err != nil {
			return runner.Result{}, err
		}
	default:
		if last, n, err := e.bring(ctx, d, m); err == nil && n > 0 && last.Kind == runner.RunFinished {
			return resultOf(last), nil // it has ended while nobody looked
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

// repository is the address of the shared repository, which is the same for all who work with it.
func (e *Engine) repository(ctx context.Context) string {
	if url, err := e.Repo.Run(ctx, "remote", "get-url", "--", e.Remote); err == nil && url != "" {
		return url
	}
	return e.Remote
}

// Live tells whether the workflow of a run is open.
func (e *Engine) Live(ctx context.Context, run string) (bool, error) {
	got, err := e.Client.DescribeWorkflowExecution(ctx, flow.ID(run), "")
	var none *serviceerror.NotFound
	switch {
	case errors.As(err, &none):
		return false, nil
	case err != nil:
		return false, fmt.Errorf("ask Temporal about run %s: %w", run, err)
	}
	return got.GetWorkflowExecutionInfo().GetStatus() == enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING, nil
}

// offer gives the plan and the configuration to the shared repository.
func (e *Engine) offer(ctx context.Context, d *local.Depot, info runner.Info) error {
	about, err := json.Marshal(info)
	if err != nil {
		return err
	}
	files := map[string][]byte{local.OfferedPlan: e.PlanText, local.OfferedInfo: about}
	if e.ConfigText != nil {
		files[local.OfferedConfig] = e.ConfigText
	}
	return d.Offer(ctx, info.Base, files)
}

// start starts the workflow, once however often it is asked for.
func (e *Engine) start(ctx context.Context, in flow.Input) error {
	if err := fits(in); err != nil {
		return err
	}
	_, err := e.Client.ExecuteWorkflow(ctx, e.workflow(in.Run), flow.RunWorkflow, in)
	var already *serviceerror.WorkflowExecutionAlreadyStarted
	if err == nil || errors.As(err, &already) {
		return nil
	}
	return fmt.Errorf("start run %s on Temporal: %w", in.Run, err)
}

func (e *Engine) workflow(run string) client.StartWorkflowOptions {
	return client.StartWorkflowOptions{
		ID: flow.ID(run), TaskQueue: e.Queue,
		WorkflowIDConflictPolicy: enumspb.WORKFLOW_ID_CONFLICT_POLICY_USE_EXISTING,
		WorkflowIDReusePolicy:    enumspb.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE,
		StaticSummary:            "runplan " + run,
	}
}

// ErrTooLarge says that something does not fit into a message of Temporal.
var ErrTooLarge = errors.New("too large for Temporal")

// fits refuses what would not fit into the history, before anything is begun.
func fits(in flow.Input) error {
	body, err := json.Marshal(in)
	if err == nil && len(body) > runner.MaxMessage {
		err = fmt.Errorf("%w: what the run is about takes %d bytes, at most %d are allowed: split the plan, or give its batches shorter titles", ErrTooLarge, len(body), runner.MaxMessage)
	}
	return err
}

// reconcile brings the journal here and the one in the shared repository to the longer of the two.
func (e *Engine) reconcile(ctx context.Context, d *local.Depot, m *local.Mirror) error {
	kept, err := d.Journal(ctx)
	if err != nil {
		kept = nil // it was never kept: the workflow was ended from outside
	}
	if len(kept) > m.Seq() {
		return m.Take(ctx, kept)
	}
	if len(kept) == m.Seq() {
		return nil
	}
	var own []runner.Event
	for ev, err := range e.Events(ctx, d.Run, 0) {
		if err != nil {
			return err
		}
		own = append(own, ev)
	}
	_, err = d.KeepJournal(ctx, own)
	return err
}

// How often a run is looked at. Where a look takes long, as the shared repository is far away or busy, whoever follows the
// run waits longer: it is to look for a fifth of the time, and not to take it from those who work.
const (
	look     = 400 * time.Millisecond
	lookRare = 10 * time.Second
)

// patience is how long somebody who wants a run to stop waits for a word of it.
const patience = 30 * time.Second

// follow writes down here what happens there, until the run ends. since is the last event from before.
func (e *Engine) follow(ctx context.Context, d *local.Depot, m *local.Mirror, since int) (runner.Result, error) {
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
		if n == 0 { // nothing is heard of it any more, or for a while
			if why := e.ended(free, d.Run); why != nil {
				return runner.Result{}, why
			}
		}
		switch {
		case err == nil:
			told = ""
		case interrupted == nil:
			return runner.Result{}, fmt.Errorf("run %s is to stop, but nobody is there who does: %w; it stops as soon as a worker is", d.Run, err)
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
			var none *serviceerror.NotFound
			if err != nil && !errors.As(err, &none) { // not found: it has ended by itself, and tells how
				return runner.Result{}, fmt.Errorf("stop run %s: %w", d.Run, err)
			}
			e.Note("the run is being stopped")
		}
	}
}

// bring writes down here what has happened since, and returns the last of it.
func (e *Engine) bring(ctx context.Context, d *local.Depot, m *local.Mirror) (last runner.Event, n int, err error) {
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

// needsFiles tells whether an event speaks of logs or commits, which are in the shared repository.
func needsFiles(e runner.Event) bool {
	switch e.Kind {
	case runner.Executed, runner.Gated, runner.Tried, runner.Judged, runner.Merged, runner.Reviewed, runner.Landed, runner.RunFinished:
		return true
	}
	return false
}

// ended says why a workflow ended that has not told so itself; nil while it is at work, or has told.
func (e *Engine) ended(ctx context.Context, run string) error {
	got, err := e.Client.DescribeWorkflowExecution(ctx, flow.ID(run), "")
	if err != nil {
		return nil // the service is away: it may come back
	}
	switch got.GetWorkflowExecutionInfo().GetStatus() {
	case enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING, enumspb.WORKFLOW_EXECUTION_STATUS_COMPLETED, enumspb.WORKFLOW_EXECUTION_STATUS_CONTINUED_AS_NEW, enumspb.WORKFLOW_EXECUTION_STATUS_CANCELED:
		return nil
	}
	err = e.Client.GetWorkflow(ctx, flow.ID(run), "").Get(ctx, nil)
	var app *temporal.ApplicationError
	if errors.As(err, &app) {
		return errors.New(app.Message())
	}
	return err
}

// resultOf is the result that the last event of a run tells of.
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

// Post says something to a run. An answer to what a run that has stopped asked for lets it go on.
func (e *Engine) Post(ctx context.Context, run string, ev runner.Event) error {
	if !ev.Kind.Outside() {
		return fmt.Errorf("post to run %s: an event %s is for the run itself to tell", run, ev.Kind)
	}
	ev.Run = run
	if _, err := ev.Encode(); err != nil {
		return err
	}
	if ev.Kind == runner.ApprovalGiven || ev.Kind == runner.ApprovalDenied {
		in := flow.Input{Run: run, Recall: true, Resumed: true, Options: e.Options}
		_, err := e.Client.SignalWithStartWorkflow(ctx, flow.ID(run), flow.PostSignal, ev, e.workflow(run), flow.RunWorkflow, in)
		return err
	}
	err := e.Client.SignalWorkflow(ctx, flow.ID(run), "", flow.PostSignal, ev)
	var none *serviceerror.NotFound
	if errors.As(err, &none) {
		return fmt.Errorf("nobody is at work on run %s any more", run)
	}
	return err
}

// Sync brings what has happened of a run to the journal here.
func (e *Engine) Sync(ctx context.Context, run string, info runner.Info) error {
	m, err := local.NewMirror(ctx, e.Config, run, info)
	if err != nil {
		return err
	}
	_, _, err = e.bring(ctx, e.depot(run, info.Branch), m)
	return err
}

// Events yields the journal of a run from seq on, as far as it is known here.
func (e *Engine) Events(ctx context.Context, run string, from int) iter.Seq2[runner.Event, error] {
	return local.Events(ctx, e.Journal, run, from)
}

// List summarises the runs that match f, as far as they are known here.
func (e *Engine) List(ctx context.Context, f runner.Filter) ([]runner.Summary, error) {
	return local.List(ctx, e.Journal, f)
}
