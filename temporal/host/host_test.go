package host

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/mock"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/log"
	"go.temporal.io/sdk/mocks"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"

	"github.com/runplan/runplan/runner"
	"github.com/runplan/runplan/runner/local"
	"github.com/runplan/runplan/temporal/flow"
	"github.com/runplan/runplan/temporal/shared"
	"github.com/runplan/runplan/temporal/teamtest"
)

const run = teamtest.Run

var (
	missing = serviceerror.NewNotFound("no such workflow")
	denied  = serviceerror.NewPermissionDenied("not yours", "")
	late    = serviceerror.NewDeadlineExceeded("too late")
	away    = serviceerror.NewUnavailable("nobody there")
)

// bench is a host with one run, whose service returns the events that the test sets.
type bench struct {
	*Host
	t          *testing.T
	team       *teamtest.Team
	service    *mocks.Client
	config     local.Config
	info       runner.Info
	sharedRepo *shared.SharedRepo
	events     []runner.Event
	opened     atomic.Int32
	closed     atomic.Int32
}

func newBench(t *testing.T) *bench {
	t.Helper()
	b := &bench{t: t, team: teamtest.New(t), service: mocks.NewClient(t)}
	b.config, b.info = b.team.Clone(t, "worker")
	b.info.Land = "ff"
	b.team.Git(t, "-C", "worker", "checkout", "-q", "--detach")
	b.sharedRepo = teamtest.SharedRepo(b.config, b.info)
	if err := b.sharedRepo.Offer(t.Context(), b.info.Base, nil); err != nil {
		t.Fatal(err)
	}
	b.events = teamtest.Journal(t, b.info, runner.Event{Outcome: runner.OutcomeOK})
	b.Host = &Host{Client: b.service, Queue: "q",
		Open: func(ctx context.Context, run string) (*shared.Worker, func(), error) {
			b.opened.Add(1)
			w, err := shared.NewWorker(context.WithoutCancel(ctx), b.config, run, b.info, b.sharedRepo)
			return w, func() { b.closed.Add(1) }, err
		}}
	t.Cleanup(b.close)
	return b
}

// answers makes the workflow return its events for any number of queries.
func (b *bench) answers() *bench {
	b.service.On("QueryWorkflow", mock.Anything, flow.ID(run), "", flow.EventsQuery, mock.Anything).Return(
		func(_ context.Context, _, _, _ string, args ...any) (converter.EncodedValue, error) {
			return page(flow.PageOf(b.events, args[0].(int))), nil
		}, nil).Maybe()
	return b
}

// page is an answer to a query.
type page flow.Page

func (p page) HasValue() bool { return true }
func (p page) Get(to any) error {
	*to.(*flow.Page) = flow.Page(p)
	return nil
}

// land returns a command that needs neither agent nor gates: it lands a run that has merged nothing.
func land(seq int) flow.Task {
	return flow.Task{Run: run, Seq: seq, Command: runner.Command{ID: "run/land", Kind: runner.LandRun}}
}

// call executes an activity as the SDK does.
func (b *bench) call(set func(*testsuite.TestActivityEnvironment), f any, arg any) (converter.EncodedValue, error) {
	env := environment()
	if set != nil {
		set(env)
	}
	env.RegisterActivity(f)
	return env.ExecuteActivity(f, arg)
}

func environment() *testsuite.TestActivityEnvironment {
	var s testsuite.WorkflowTestSuite
	s.SetLogger(log.NewStructuredLogger(slog.New(slog.DiscardHandler)))
	return s.NewTestActivityEnvironment()
}

// eventually waits until a condition becomes true in the background.
func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); !is(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("it never came: ", what)
		}
	}
}

// A command is executed once; a retry returns the report that the first try stored.
func TestRetryReturnsStoredReport(t *testing.T) {
	b := newBench(t).answers()
	var done [2]shared.Done
	for i := range done {
		v, err := b.call(nil, b.Perform, land(1))
		if err == nil {
			err = v.Get(&done[i])
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if done[0].Event.Outcome != runner.OutcomeOK || fmt.Sprint(done[0]) != fmt.Sprint(done[1]) {
		t.Errorf("%+v\n%+v", done[0], done[1])
	}
	if refs := b.team.Git(t, "--git-dir", b.team.URL, "for-each-ref", "refs/runplan/"+run+"/done"); strings.Count(refs,
		"\n") != 1 {
		t.Error(refs)
	}
}

// A retry fetches nothing if the heartbeat of the previous try named the stored report; any other retry fetches.
func TestRetryFetchesUnlessHeartbeatNamedReport(t *testing.T) {
	b := newBench(t).answers()
	if _, err := b.call(nil, b.Perform, land(1)); err != nil {
		t.Fatal(err)
	}
	last := b.sharedRepo.Latest()
	if err := os.RemoveAll(b.team.URL); err != nil {
		t.Fatal(err)
	}
	again := func(told any) error {
		_, err := b.call(func(env *testsuite.TestActivityEnvironment) { env.SetHeartbeatDetails(told) }, b.Perform, land(1))
		return err
	}
	if err := again(last); err != nil {
		t.Errorf("a retry whose report is in the heartbeat: %v", err)
	}
	for name, told := range map[string]any{
		"nothing":                  shared.Pushed{},
		"another step":             shared.Pushed{Ref: "refs/runplan/" + run + "/done/2", Commit: last.Commit},
		"a missing commit":         shared.Pushed{Ref: last.Ref, Commit: strings.Repeat("0", 40)},
		"what another build tells": "something else",
	} {
		if err := again(told); err == nil {
			t.Errorf("a retry with the heartbeat %s did not fetch from the shared repository", name)
		}
	}
}

// An error that a retry cannot fix is marked as final; all other errors are retried. No message contains secrets.
func TestPermanentErrorsAreNotRetried(t *testing.T) {
	const canary = "hunter2-" + "hunter2"
	for name, tt := range map[string]struct {
		err   error
		final bool
	}{
		"a refusal":          {&Refusal{errors.New("not trusted here")}, true},
		"a wrapped refusal":  {fmt.Errorf("open: %w", &Refusal{errors.New("not trusted here")}), true},
		"a clone that fails": {errors.New("no such host"), false},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			b.Open = func(context.Context, string) (*shared.Worker, func(), error) { return nil, nil, tt.err }
			for what, call := range map[string]func() error{
				"perform":  func() error { _, err := b.call(nil, b.Perform, land(1)); return err },
				"standing": func() error { _, err := b.call(nil, b.Standing, flow.From{Run: run}); return err },
				"keep":     func() error { _, err := b.call(nil, b.Keep, flow.From{Run: run}); return err },
				"recall":   func() error { _, err := b.call(nil, b.Recall, flow.From{Run: run}); return err },
			} {
				var app *temporal.ApplicationError
				if err := call(); !errors.As(err, &app) || app.NonRetryable() != tt.final ||
					(app.Type() == flow.Refused) != tt.final {
					t.Errorf("%s: %v", what, err)
				}
			}
		})
	}
	t.Run("a missing remote", func(t *testing.T) {
		b := newBench(t).answers()
		b.config.Secrets = []string{"TOKEN=" + canary}
		b.sharedRepo.Remote = "/nowhere/" + canary
		var app *temporal.ApplicationError
		if _, err := b.call(nil, b.Perform, land(1)); !errors.As(err, &app) || app.NonRetryable() ||
			strings.Contains(err.Error(), canary) {
			t.Errorf("%v", err)
		}
	})
	t.Run("a report that is too large", func(t *testing.T) {
		err := told(t.Context(),
			fits(shared.Done{Command: "1/r1-c0/gate", Notes: []string{strings.Repeat("x", runner.MaxMessage)}}), hidden)
		var app *temporal.ApplicationError
		if !errors.As(err, &app) || !app.NonRetryable() || !strings.Contains(err.Error(), "1/r1-c0/gate") {
			t.Errorf("%v", err)
		}
	})
}

// Recall returns the journal as it was kept, from the event that the caller asks for.
func TestRecallReturnsKeptJournal(t *testing.T) {
	b := newBench(t).answers()
	if _, err := b.call(nil, b.Recall, flow.From{Run: run, From: 1}); err == nil {
		t.Error("Recall returns a journal although none was stored")
	}
	if _, err := b.call(nil, b.Keep, flow.From{Run: run, From: len(b.events)}); err != nil {
		t.Fatal(err)
	}
	v, err := b.call(nil, b.Recall, flow.From{Run: run, From: 2})
	var p flow.Page
	if err == nil {
		err = v.Get(&p)
	}
	if err != nil || len(p.Events) != len(b.events)-1 || p.Events[0].Seq != 2 {
		t.Errorf("%+v %v", p, err)
	}
}

// Before a run continues, the host reads the tip of its branch and recreates the branch if it was removed.
func TestStandingRestoresRunBranch(t *testing.T) {
	b := newBench(t).answers()
	b.events = b.events[:1]
	b.team.Git(t, "--git-dir", b.team.URL, "update-ref", "-d", "refs/heads/"+b.info.Branch)
	v, err := b.call(nil, b.Standing, flow.From{Run: run, From: 1})
	var s flow.Standing
	if err == nil {
		err = v.Get(&s)
	}
	if err != nil || s.Tip != b.info.Base {
		t.Fatalf("%+v %v", s, err)
	}
	if at := strings.TrimSpace(
		b.team.Git(t, "--git-dir", b.team.URL, "rev-parse", "refs/heads/"+b.info.Branch)); at != s.Tip {
		t.Errorf("it is at %s", at)
	}
}

// A landing is sent to the merge queue of its branch; if the service rejects it, the activity fails and is retried.
func TestHostEnqueuesLanding(t *testing.T) {
	for name, says := range map[string]error{"taken": nil, "denied": denied, "late": late} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			l := flow.Landing{Task: land(3), Options: flow.Options{Queue: "queue of main"}}
			b.service.On("SignalWithStartWorkflow", mock.Anything, "queue of main", flow.EnqueueSignal, l, mock.Anything,
				flow.QueueWorkflow, flow.Waiting{}).Return(nil, says).Once()
			_, err := b.call(nil, b.Enqueue, l)
			var app *temporal.ApplicationError
			if (err != nil) != (says != nil) || errors.As(err, &app) && app.NonRetryable() {
				t.Errorf("%v", err)
			}
		})
	}
}

// A query to a workflow is retried after a temporary error, and not after an error that a retry cannot fix.
func TestQueryRetriesTemporaryErrors(t *testing.T) {
	for name, tt := range map[string]struct {
		says  error
		times int // before it answers; 0 if it never does
	}{
		"the service is away for a moment": {says: away, times: 2},
		"the service is late for once":     {says: late, times: 1},
		"the run does not exist":           {says: missing},
		"it is of another program":         {says: denied},
		"the namespace does not exist":     {says: serviceerror.NewNamespaceNotFound("x")},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			b.service.On("QueryWorkflow", mock.Anything, flow.ID(run), "", flow.EventsQuery, 1).Return(nil,
				tt.says).Times(max(1, tt.times))
			if tt.times > 0 {
				b.service.On("QueryWorkflow", mock.Anything, flow.ID(run), "", flow.EventsQuery,
					1).Return(page(flow.PageOf(b.events, 1)), nil).Once()
			}
			p, err := Events(t.Context(), b.service, run, 1)
			if tt.times > 0 && (err != nil || len(p.Events) != len(b.events)) || tt.times == 0 && !errors.Is(err, tt.says) {
				t.Errorf("%+v %v", p, err)
			}
		})
	}
	t.Run("no caller waits for the answer", func(t *testing.T) {
		b := newBench(t)
		ctx, cancel := context.WithCancel(t.Context())
		b.service.On("QueryWorkflow", mock.Anything, flow.ID(run), "", flow.EventsQuery, 1).Return(nil,
			away).Once().Run(func(mock.Arguments) { cancel() })
		if _, err := Events(ctx, b.service, run, 1); !errors.Is(err, away) {
			t.Errorf("%v", err)
		}
	})
	t.Run("it has not got as far", func(t *testing.T) {
		b := newBench(t).answers()
		if _, err := b.call(nil, b.Perform, land(99)); err == nil ||
			!strings.Contains(err.Error(), fmt.Sprintf("has no event %d", len(b.events)+1)) {
			t.Errorf("%v", err)
		}
	})
}
