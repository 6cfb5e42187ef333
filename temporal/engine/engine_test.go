package engine

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/mock"
	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	failurepb "go.temporal.io/api/failure/v1"
	"go.temporal.io/api/serviceerror"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/mocks"
	"go.temporal.io/sdk/temporal"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/runplan/runplan/runner"
	"github.com/runplan/runplan/runner/journal"
	"github.com/runplan/runplan/runner/local"
	"github.com/runplan/runplan/temporal/connect"
	"github.com/runplan/runplan/temporal/flow"
	"github.com/runplan/runplan/temporal/shared"
	"github.com/runplan/runplan/temporal/teamtest"
)

const run = teamtest.Run

// checkout is a clone of a shared repository, with an engine whose service answers as the test defines.
type checkout struct {
	*Engine
	service *mocks.Client
	info    runner.Info
	notes   []string
	t       *testing.T
}

func newCheckout(t *testing.T) *checkout {
	t.Helper()
	c := &checkout{service: mocks.NewClient(t), t: t}
	config, info := teamtest.New(t).Clone(t, "here")
	config.Note = func(text string) { c.notes = append(c.notes, text) }
	c.info = info
	c.Engine = &Engine{Config: config, Client: c.service, Coding: connect.Plain(), Queue: "q", Remote: "origin",
		Prefix: local.EvidencePrefix}
	return c
}

// journal returns the journal of a run that started and then ended with this event.
func (c *checkout) journal(end runner.Event) []runner.Event {
	return teamtest.Journal(c.t, c.info, end)
}

// answers makes the workflow return these events and no others.
func (c *checkout) answers(events []runner.Event) {
	c.service.On("QueryWorkflow", mock.Anything, flow.ID(run), "", flow.EventsQuery, mock.Anything).Return(
		func(_ context.Context, _, _, _ string, args ...any) (converter.EncodedValue, error) {
			return page(flow.PageOf(events, args[0].(int))), nil
		}, nil)
}

// page is an answer to a query.
type page flow.Page

func (p page) HasValue() bool { return true }
func (p page) Get(to any) error {
	*to.(*flow.Page) = flow.Page(p)
	return nil
}

// is makes the service report this status for the workflow of the run.
func (c *checkout) is(status enumspb.WorkflowExecutionStatus) *mock.Call {
	return c.service.On("DescribeWorkflowExecution", mock.Anything, flow.ID(run),
		"").Return(&workflowservice.DescribeWorkflowExecutionResponse{
		WorkflowExecutionInfo: &workflowpb.WorkflowExecutionInfo{Status: status},
	}, nil)
}

func (c *checkout) isNot(err error) *mock.Call {
	return c.service.On("DescribeWorkflowExecution", mock.Anything, flow.ID(run), "").Return(nil, err)
}

// starts mocks the start of the workflow, and lets the test inspect the call.
func (c *checkout) starts(err error) *mock.Call {
	return c.service.On("ExecuteWorkflow", mock.Anything, mock.Anything, flow.RunWorkflow, mock.Anything).Return(nil, err)
}

// offered reports whether the shared repository has any refs of the run.
func (c *checkout) offered() bool {
	c.t.Helper()
	out, err := c.Repo.Run(c.t.Context(), "ls-remote", "origin", "refs/runplan/*")
	if err != nil {
		c.t.Fatal(err)
	}
	return out != ""
}

var (
	missing  = serviceerror.NewNotFound("no such workflow")
	denied   = serviceerror.NewPermissionDenied("not yours", "")
	late     = serviceerror.NewDeadlineExceeded("too late")
	away     = serviceerror.NewUnavailable("nobody there")
	already  = serviceerror.NewWorkflowExecutionAlreadyStarted("already", "", "")
	finished = runner.Event{Outcome: runner.OutcomeOK}
)

// A new run is offered to the shared repository, started under its own workflow ID, and followed to its end.
func TestEngineStartsNewRun(t *testing.T) {
	c := newCheckout(t)
	c.isNot(missing)
	var o client.StartWorkflowOptions
	var in flow.Input
	c.starts(nil).Run(func(args mock.Arguments) {
		o, in = args.Get(1).(client.StartWorkflowOptions), args.Get(3).(flow.Input)
	})
	c.answers(c.journal(finished))
	res, err := c.Start(t.Context(), run, c.info)
	if err != nil || res.Status != runner.RunDone {
		t.Fatalf("%+v %v %v", res, err, c.notes)
	}
	if !c.offered() {
		t.Error("the shared repository has nothing of the run")
	}
	if o.ID != "runplan/"+run || o.TaskQueue != "q" ||
		o.WorkflowIDConflictPolicy != enumspb.WORKFLOW_ID_CONFLICT_POLICY_USE_EXISTING {
		t.Errorf("%+v", o)
	}
	if in.Run != run || in.Info == nil || in.Recall || in.Resumed {
		t.Errorf("%+v", in)
	}
}

// If another client starts the same run at the same moment, the engine follows that run.
func TestEngineFollowsConcurrentlyStartedRun(t *testing.T) {
	c := newCheckout(t)
	c.isNot(missing)
	c.starts(already)
	c.answers(c.journal(finished))
	if res, err := c.Start(t.Context(), run, c.info); err != nil || res.Status != runner.RunDone {
		t.Errorf("%+v %v", res, err)
	}
}

// The engine follows an active run without starting or offering anything.
func TestEngineFollowsActiveRun(t *testing.T) {
	c := newCheckout(t)
	c.is(enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING)
	c.answers(c.journal(finished))
	if res, err := c.Start(t.Context(), run, c.info); err != nil || res.Status != runner.RunDone || c.offered() {
		t.Errorf("%+v %v, offered: %v", res, err, c.offered())
	}
}

// If a run ended while no engine followed it, Start reports its result and does not start it again.
func TestEngineReportsEndedRun(t *testing.T) {
	c := newCheckout(t)
	all := c.journal(runner.Event{Outcome: runner.OutcomeFailed, Reason: "batch 1 failed"})
	m, err := local.NewMirror(t.Context(), c.Config, run, c.info)
	if err == nil {
		err = m.Take(t.Context(), all[:1])
	}
	if err != nil {
		t.Fatal(err)
	}
	c.is(enumspb.WORKFLOW_EXECUTION_STATUS_COMPLETED)
	c.answers(all)
	if res, err := c.Start(t.Context(), run, c.info); err != nil || res.Status != runner.RunFailed ||
		res.Reason != "batch 1 failed" {
		t.Errorf("%+v %v", res, err)
	}
}

// A stopped run continues with its journal; the engine pushes the journal if the shared repository has less of it.
func TestEngineContinuesStoppedRun(t *testing.T) {
	c := newCheckout(t)
	stopped := c.journal(runner.Event{Outcome: runner.OutcomeCancelled, Reason: "interrupted"})
	m, err := local.NewMirror(t.Context(), c.Config, run, c.info)
	if err == nil {
		err = m.Take(t.Context(), stopped)
	}
	if err != nil {
		t.Fatal(err)
	}
	c.isNot(missing) // the service keeps ended workflows for a while only
	var in flow.Input
	c.starts(nil).Run(func(args mock.Arguments) { in = args.Get(3).(flow.Input) })
	more := append(slices.Clone(stopped),
		runner.Event{Seq: len(stopped) + 1, Run: run, Kind: runner.RunResumed, Job: &c.info, At: teamtest.Now},
		runner.Event{Seq: len(stopped) + 2, Run: run, Kind: runner.RunFinished, Outcome: runner.OutcomeOK, At: teamtest.Now})
	first := c.service.On("QueryWorkflow", mock.Anything, flow.ID(run), "", flow.EventsQuery, mock.Anything).Return(nil,
		missing).Once()
	c.service.On("QueryWorkflow", mock.Anything, flow.ID(run), "", flow.EventsQuery,
		mock.Anything).NotBefore(first).Return(
		func(_ context.Context, _, _, _ string, args ...any) (converter.EncodedValue, error) {
			return page(flow.PageOf(more, args[0].(int))), nil
		}, nil)
	if res, err := c.Start(t.Context(), run, c.info); err != nil || res.Status != runner.RunDone {
		t.Fatalf("%+v %v", res, err)
	}
	if !in.Recall || !in.Resumed {
		t.Errorf("%+v", in)
	}
	if kept, err := c.sharedRepo(run, c.info.Branch).Journal(t.Context()); err != nil || len(kept) != len(stopped) {
		t.Errorf("the shared repository has %d events, not %d: %v", len(kept), len(stopped), err)
	}
}

// A run whose workflow is still storing the journal of its end is resumed when that workflow is closed. If another
// client resumed it meanwhile, it is followed.
func TestResumeWaitsForClosedWorkflow(t *testing.T) {
	for name, resumed := range map[string]bool{"the workflow closes": false, "another client resumes the run": true} {
		t.Run(name, func(t *testing.T) {
			c := newCheckout(t)
			ended := c.journal(runner.Event{Outcome: runner.OutcomeFailed, Reason: "the worker refuses the run"})
			m, err := local.NewMirror(t.Context(), c.Config, run, c.info)
			if err == nil {
				err = m.Take(t.Context(), ended)
			}
			if err != nil {
				t.Fatal(err)
			}
			all := append(slices.Clone(ended),
				runner.Event{Seq: len(ended) + 1, Run: run, Kind: runner.RunResumed, Job: &c.info, At: teamtest.Now},
				runner.Event{Seq: len(ended) + 2, Run: run, Kind: runner.RunFinished, Outcome: runner.OutcomeOK, At: teamtest.Now})
			started, asked := resumed, 0
			c.service.On("QueryWorkflow", mock.Anything, flow.ID(run), "", flow.EventsQuery, mock.Anything).Return(
				func(_ context.Context, _, _, _ string, args ...any) (converter.EncodedValue, error) {
					if asked++; started && asked > 1 {
						return page(flow.PageOf(all, args[0].(int))), nil
					}
					return page(flow.PageOf(ended, args[0].(int))), nil
				}, nil)
			if resumed {
				c.is(enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING)
			} else {
				c.is(enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING).Twice()
				c.is(enumspb.WORKFLOW_EXECUTION_STATUS_COMPLETED)
				c.starts(nil).Run(func(mock.Arguments) { started = true })
			}
			if res, err := c.Start(t.Context(), run, c.info); err != nil || res.Status != runner.RunDone || !started {
				t.Errorf("%+v %v, started: %v", res, err, started)
			}
		})
	}
}

// If the service rejects the query about the run, the start fails before anything is offered. If it rejects the start
// itself, the run is already offered, and a later start uses that offer.
func TestStartReportsServiceRejection(t *testing.T) {
	for name, err := range map[string]error{"denied": denied, "late": late, "away": away} {
		t.Run("asked, "+name, func(t *testing.T) {
			c := newCheckout(t)
			c.isNot(err)
			_, got := c.Start(t.Context(), run, c.info)
			if !errors.Is(got, err) || !strings.Contains(got.Error(), run) || c.offered() {
				t.Errorf("%v, offered: %v", got, c.offered())
			}
		})
		t.Run("started, "+name, func(t *testing.T) {
			c := newCheckout(t)
			c.isNot(missing)
			c.starts(err).Once()
			if _, got := c.Start(t.Context(), run, c.info); !errors.Is(got, err) || !strings.Contains(got.Error(), run) {
				t.Errorf("%v", got)
			}
			c.starts(nil).Once()
			c.answers(c.journal(finished))
			if res, err := c.Start(t.Context(), run, c.info); err != nil || res.Status != runner.RunDone {
				t.Errorf("a second start: %+v %v", res, err)
			}
		})
	}
}

// Data that does not fit into a message of Temporal is an error before anything starts.
func TestStartRejectsOversizedData(t *testing.T) {
	c := newCheckout(t)
	c.isNot(missing)
	c.info.Batches[0].Title = strings.Repeat("x", runner.MaxMessage)
	if _, err := c.Start(t.Context(), run, c.info); !errors.Is(err, ErrTooLarge) {
		t.Errorf("%v", err)
	}
}

// If no worker answers, the engine prints one notice and keeps following the run.
func TestEngineWaitsForAbsentWorkers(t *testing.T) {
	c := newCheckout(t)
	c.is(enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING)
	// the client does not retry this error
	c.service.On("QueryWorkflow", mock.Anything, flow.ID(run), "", flow.EventsQuery, mock.Anything).Return(nil,
		denied).Twice()
	c.answers(c.journal(finished))
	res, err := c.Start(t.Context(), run, c.info)
	if err != nil || res.Status != runner.RunDone {
		t.Fatalf("%+v %v", res, err)
	}
	said := slices.DeleteFunc(c.notes,
		func(s string) bool { return !strings.HasPrefix(s, "waiting for a worker of task queue q") })
	if len(said) != 1 {
		t.Errorf("%q", c.notes)
	}
}

// If the workflow failed or refused the run, the engine returns the reason.
func TestEngineReportsWorkflowFailure(t *testing.T) {
	c := newCheckout(t)
	c.is(enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING).Once()
	c.is(enumspb.WORKFLOW_EXECUTION_STATUS_FAILED)
	c.service.On("QueryWorkflow", mock.Anything, flow.ID(run), "", flow.EventsQuery, mock.Anything).Return(nil, missing)
	handle := mocks.NewWorkflowRun(t)
	handle.On("Get", mock.Anything,
		nil).Return(temporal.NewNonRetryableApplicationError("the run is of version 9", flow.CoreVersion, nil))
	c.service.On("GetWorkflow", mock.Anything, flow.ID(run), "").Return(handle)
	if _, err := c.Start(t.Context(), run, c.info); err == nil || err.Error() != "the run is of version 9" {
		t.Errorf("%v", err)
	}
}

// A stop at once cancels the workflow. If the workflow has just ended by itself, the engine returns its result; it
// returns any other error.
func TestImmediateStopCancelsWorkflow(t *testing.T) {
	for name, says := range map[string]error{"it is cancelled": nil, "it has ended by itself": missing,
		"it may not be": denied} {
		t.Run(name, func(t *testing.T) {
			c := newCheckout(t)
			c.is(enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING)
			all := c.journal(runner.Event{Outcome: runner.OutcomeCancelled, Reason: "stopped"})
			ctx, cancel := context.WithCancel(t.Context())
			var end bool
			c.service.On("QueryWorkflow", mock.Anything, flow.ID(run), "", flow.EventsQuery, mock.Anything).Return(
				func(_ context.Context, _, _, _ string, args ...any) (converter.EncodedValue, error) {
					cancel()
					if end {
						return page(flow.PageOf(all, args[0].(int))), nil
					}
					return page{}, nil
				}, nil)
			c.service.On("CancelWorkflow", mock.Anything, flow.ID(run),
				"").Return(says).Once().Run(func(mock.Arguments) { end = true })
			res, err := c.Start(ctx, run, c.info)
			if says == denied {
				if !errors.Is(err, denied) {
					t.Errorf("%v", err)
				}
			} else if err != nil || res.Stop == nil || res.Stop.Outcome != runner.OutcomeCancelled {
				t.Errorf("%+v %v", res, err)
			}
		})
	}
}

// A stop at once does not wait forever if no worker is running: the engine returns an error that mentions the stop
// request.
func TestImmediateStopFailsWithoutWorker(t *testing.T) {
	c := newCheckout(t)
	c.is(enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	// the client does not retry this error
	c.service.On("QueryWorkflow", mock.Anything, flow.ID(run), "", flow.EventsQuery, mock.Anything).Return(nil, denied)
	c.service.On("CancelWorkflow", mock.Anything, flow.ID(run), "").Return(nil).Once()
	m, err := local.NewMirror(t.Context(), c.Config, run, c.info)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.follow(ctx, c.sharedRepo(run, c.info.Branch), m, 0); !errors.Is(err, denied) ||
		!strings.Contains(err.Error(), "has a stop request") {
		t.Errorf("%v", err)
	}
}

// Requests and answers of people reach the workflow as signals. An answer also starts the workflow, so that a stopped
// run continues.
func TestRequestsReachWorkflowAsSignals(t *testing.T) {
	for name, tt := range map[string]struct {
		event  runner.Event
		starts bool
		says   error
		want   string // in the error
	}{
		"an answer": {event: runner.Event{Kind: runner.ApprovalGiven, Batch: "1"}, starts: true},
		"a no":      {event: runner.Event{Kind: runner.ApprovalDenied, Batch: "1"}, starts: true},
		"an answer that may not be given": {event: runner.Event{Kind: runner.ApprovalGiven, Batch: "1"}, starts: true,
			says: denied, want: "not yours"},
		"a stop request": {event: runner.Event{Kind: runner.StopAsked}},
		"a stop request for a run that does not exist": {event: runner.Event{Kind: runner.StopAsked}, says: missing,
			want: "run " +
				run + " is no longer running"},
		"a stop request without an answer in time": {event: runner.Event{Kind: runner.StopAsked}, says: late,
			want: "too late"},
		"an event that only the run may write": {event: runner.Event{Kind: runner.Merged},
			want: "only the run itself may write the event"},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCheckout(t)
			var sent any
			switch {
			case tt.starts:
				c.service.On("SignalWithStartWorkflow", mock.Anything, flow.ID(run), flow.PostSignal, mock.Anything, mock.Anything,
					flow.RunWorkflow, mock.Anything).
					Return(nil, tt.says).Once().Run(func(args mock.Arguments) {
					sent = args.Get(3)
					if in := args.Get(6).(flow.Input); !in.Recall || !in.Resumed {
						t.Errorf("%+v", in)
					}
				})
			case tt.event.Kind == runner.StopAsked:
				c.service.On("SignalWorkflow", mock.Anything, flow.ID(run), "", flow.PostSignal,
					mock.Anything).Return(tt.says).Once().Run(func(args mock.Arguments) { sent = args.Get(4) })
			}
			err := c.Post(t.Context(), run, tt.event)
			if got := ""; err != nil || tt.want != "" {
				if err != nil {
					got = err.Error()
				}
				if tt.want == "" || !strings.Contains(got, tt.want) {
					t.Errorf("%q, not %q", got, tt.want)
				}
				return
			}
			if ev, _ := sent.(runner.Event); ev.Kind != tt.event.Kind || ev.Run != run {
				t.Errorf("sent %+v", sent)
			}
		})
	}
}

// The service decides whether a run is active; a run that it does not know is not active.
func TestLive(t *testing.T) {
	for name, tt := range map[string]struct {
		set  func(c *checkout)
		live bool
		err  error
	}{
		"running": {func(c *checkout) { c.is(enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING) }, true, nil},
		"ended":   {func(c *checkout) { c.is(enumspb.WORKFLOW_EXECUTION_STATUS_COMPLETED) }, false, nil},
		"unknown": {func(c *checkout) { c.isNot(missing) }, false, nil},
		"denied":  {func(c *checkout) { c.isNot(denied) }, false, denied},
		"late":    {func(c *checkout) { c.isNot(late) }, false, late},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCheckout(t)
			tt.set(c)
			if live, err := c.Live(t.Context(), run); live != tt.live || !errors.Is(err, tt.err) {
				t.Errorf("%v %v", live, err)
			}
		})
	}
}

// Sync copies the events of a run into the local journal; an error of the service is reported and loses nothing.
func TestSync(t *testing.T) {
	c := newCheckout(t)
	all := c.journal(finished)
	c.service.On("QueryWorkflow", mock.Anything, flow.ID(run), "", flow.EventsQuery, mock.Anything).Return(nil,
		missing).Once()
	if err := c.Sync(t.Context(), run, c.info); !errors.Is(err, missing) {
		t.Errorf("%v", err)
	}
	c.answers(all)
	if err := c.Sync(t.Context(), run, c.info); err != nil {
		t.Fatal(err)
	}
	sums, err := journal.List(t.Context(), c.Journal, runner.Filter{})
	if err != nil || len(sums) != 1 || sums[0].Status != runner.RunDone {
		t.Errorf("%+v %v", sums, err)
	}
}

// Leftovers of runs are not removed if the service reports that the run is active or cannot report its state.
func TestLeftoversOfActiveRunsStay(t *testing.T) {
	c := newCheckout(t)
	d := teamtest.SharedRepo(c.Config, c.info)
	if err := c.offer(t.Context(), d, c.info); err != nil {
		t.Fatal(err)
	}
	if _, err := d.KeepJournal(t.Context(), c.journal(finished)); err != nil {
		t.Fatal(err)
	}
	c.is(enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING).Once()
	if all, err := c.Leftovers(t.Context(), 0); err != nil || len(all) != 2 || all[0].Remove {
		t.Errorf("running: %+v %v", all, err)
	}
	c.isNot(late).Once()
	if _, err := c.Leftovers(t.Context(), 0); !errors.Is(err, late) {
		t.Errorf("%v", err)
	}
	c.isNot(missing)
	all, err := c.Leftovers(t.Context(), 0)
	if err != nil || len(all) != 2 || !all[0].Remove {
		t.Fatalf("ended: %+v %v", all, err)
	}
	for _, x := range all {
		if err := c.Remove(t.Context(), x); err != nil {
			t.Fatal(err)
		}
	}
	if c.offered() {
		t.Error("it is still there")
	}
}

// UnderWay lists each command in progress with its worker, its last heartbeat and its last push, and each waiting
// command with the reason.
func TestUnderWay(t *testing.T) {
	c := newCheckout(t)
	details, err := c.Coding.Data.ToPayloads(shared.Pushed{Ref: "refs/runplan/r/done/7", Commit: "0123456789"})
	if err != nil {
		t.Fatal(err)
	}
	other := &commonpb.Payloads{Payloads: []*commonpb.Payload{{Metadata: map[string][]byte{"encoding": []byte(
		"json/plain")}, Data: []byte(`"of another build"`)}}}
	c.service.On("DescribeWorkflowExecution", mock.Anything, flow.ID(run),
		"").Return(&workflowservice.DescribeWorkflowExecutionResponse{
		PendingActivities: []*workflowpb.PendingActivityInfo{
			{ActivityId: "1/r1-c0/execute@9", State: enumspb.PENDING_ACTIVITY_STATE_STARTED, Attempt: 2,
				LastWorkerIdentity: "worker 5@here", LastHeartbeatTime: timestamppb.New(teamtest.Now.Add(-3 * time.Second)),
				HeartbeatDetails: details},
			{ActivityId: "2/r1-c0/gate@11", State: enumspb.PENDING_ACTIVITY_STATE_SCHEDULED, Attempt: 3,
				LastFailure: &failurepb.Failure{Message: "no such remote\n"}, HeartbeatDetails: other},
		},
	}, nil).Once()
	got, err := c.UnderWay(t.Context(), run)
	want := []string{
		"1/r1-c0/execute: at worker 5@here, last heartbeat 3s ago, try 2, last pushed refs/runplan/r/done/7 at 0123456",
		"2/r1-c0/gate: waits for a worker, try 3 (before: no such remote)",
	}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("%q %v", got, err)
	}
	c.isNot(missing).Once()
	if got, err := c.UnderWay(t.Context(), run); err != nil || got != nil {
		t.Errorf("a run that is not active: %q %v", got, err)
	}
	c.isNot(denied).Once()
	if _, err := c.UnderWay(t.Context(), run); !errors.Is(err, denied) {
		t.Errorf("%v", err)
	}
}
