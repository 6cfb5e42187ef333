package flow

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/mock"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/workflow"

	"github.com/runplan/runplan/runner"
	"github.com/runplan/runplan/temporal/shared"
)

// script maps command IDs to outcomes; all other commands succeed.
type script map[string]runner.Event

// play is a worker that follows a script and records the commands that it receives.
type play struct {
	script
	mu    sync.Mutex
	calls []string
	first []bool // for each call: no worker received it before
}

func (p *play) perform(c runner.Command) shared.Done {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.calls = append(p.calls, c.ID)
	e, ok := p.script[c.ID]
	if !ok {
		e.Outcome = runner.OutcomeOK
		e.Base, e.Tree = c.Base, c.Tree
		switch c.Kind {
		case runner.Execute, runner.Rebase, runner.Commit:
			e.Commit, e.Tree = "commit of "+c.ID, "tree of "+c.Batch
		case runner.Merge, runner.LandRun:
			e.Commit = c.Commit
		}
	}
	return shared.Done{Command: c.ID, Event: c.Report(e)}
}

// environment registers the activities of the play in place of a host's.
func environment(p *play, kept *[]runner.Event) *testsuite.TestWorkflowEnvironment {
	var s testsuite.WorkflowTestSuite
	env := s.NewTestWorkflowEnvironment()
	env.RegisterWorkflowWithOptions(Run, workflow.RegisterOptions{Name: RunWorkflow})
	register := func(name string, f any) { env.RegisterActivityWithOptions(f, activity.RegisterOptions{Name: name}) }
	register(PerformActivity, func(_ context.Context, t Task) (shared.Done, error) {
		if t.Seq == 0 {
			return shared.Done{}, errors.New("a command that no event handed out")
		}
		d := p.perform(t.Command)
		p.first = append(p.first, t.First)
		return d, nil
	})
	register(KeepActivity, func(context.Context, From) error {
		v, err := env.QueryWorkflow(EventsQuery, 1)
		var page Page
		if err == nil {
			err = v.Get(&page)
		}
		*kept = page.Events
		return err
	})
	register(RecallActivity, func(_ context.Context, f From) (Page, error) { return PageOf(*kept, f.From), nil })
	register(StandingActivity, func(context.Context, From) (Standing, error) { return Standing{}, nil })
	return env
}

func info(batches ...runner.BatchInfo) runner.Info {
	return runner.Info{Plan: "p.md", Slug: "p", Branch: "runplan/p/main", Base: "b0", Land: "ff",
		LoopVersion: runner.LoopVersion, Workers: 1, MaxAttempts: 3, Batches: batches}
}

func three() runner.Info {
	return info(runner.BatchInfo{Key: "1", Number: "1", Title: "one"},
		runner.BatchInfo{Key: "2", Number: "2", Title: "two", Needs: []string{"1"}},
		runner.BatchInfo{Key: "3", Number: "3", Title: "three", Needs: []string{"2"}})
}

// reference drives the same machine without Temporal, one command at a time.
func reference(t *testing.T, i runner.Info, p *play) ([]runner.Event, runner.Result) {
	t.Helper()
	m, err := runner.New(i)
	if err != nil {
		t.Fatal(err)
	}
	s := runner.NewRecorder("r", m, func() time.Time { return time.Unix(0, 0) })
	step := s.Begin(i)
	events, queue := step.Events, step.Commands
	for len(queue) > 0 {
		c := queue[0]
		queue = queue[1:]
		step = s.Fold(p.perform(c).Event, queue)
		events = append(events, step.Events...)
		queue = append(queue, step.Commands...)
	}
	res, _ := m.Done()
	return append(events, s.Fold(res.Ending(), nil).Events...), res
}

// Both drivers execute the same commands in the same order, write the same journal and return the same result.
func TestBothDriversAgree(t *testing.T) {
	scripts := map[string]script{
		"all goes well": {},
		"a red gate": {"2/r1-c0/gate": {Outcome: runner.OutcomeFailed, Tree: "tree of 2", Fingerprint: "f",
			Reason: "tests: 1 failed"}},
		"a moved branch":  {"1/r1-c0/merge": {Outcome: runner.OutcomeMoved, Base: "b1", Reason: "moved"}},
		"a changing hook": {"3/r1-c0/commit": {Outcome: runner.OutcomeChanged, Commit: "c9", Tree: "t9"}},
		"no way out": {"1/r1-c0/execute": {Outcome: runner.OutcomeFailed, Reason: "a", Fingerprint: "1"},
			"1/r2-c0/execute": {Outcome: runner.OutcomeFailed, Reason: "b", Fingerprint: "2"},
			"1/r3-c0/execute": {Outcome: runner.OutcomeFailed, Reason: "c", Fingerprint: "3"}},
		"a broken tool": {"2/r1-c0/gate": {Outcome: runner.OutcomeError, Reason: "no such program"}},
		"no landing":    {"run/land": {Outcome: runner.OutcomeRefused, Reason: "main moved"}},
	}
	for name, s := range scripts {
		t.Run(name, func(t *testing.T) {
			want := &play{script: s}
			events, res := reference(t, three(), want)
			got := &play{script: s}
			var kept []runner.Event
			env := environment(got, &kept)
			i := three()
			env.ExecuteWorkflow(RunWorkflow, Input{Run: "r", Info: &i})
			var out Output
			if err := env.GetWorkflowError(); err != nil {
				t.Fatal(err)
			}
			if err := env.GetWorkflowResult(&out); err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(got.calls, want.calls) {
				t.Errorf("calls\n%v\n%v", got.calls, want.calls)
			}
			if out.Status != res.Status || out.Tip != res.Tip {
				t.Errorf("%+v, not %+v", out, res)
			}
			if a, b := lines(kept), lines(events); !slices.Equal(a, b) {
				t.Errorf("journal\n%v\n%v", a, b)
			}
		})
	}
}

// lines formats events without their times.
func lines(events []runner.Event) []string {
	var out []string
	for _, e := range events {
		out = append(out, fmt.Sprintf("%d %s %s %s %s %s", e.Seq, e.Kind, e.Command, e.Outcome, e.Commit, e.Reason))
	}
	return out
}

// A workflow with a long history starts again with the journal and requests no command twice.
func TestLongHistoryContinuesAsNew(t *testing.T) {
	want := &play{}
	reference(t, three(), want)
	p := &play{}
	var kept []runner.Event
	i := three()
	in := Input{Run: "r", Info: &i, Options: Options{Longest: 100}}
	rounds := 0
	var first []bool
	for ; ; rounds++ {
		env := environment(p, &kept)
		for n := len(first); n < len(p.calls); n++ {
			first = append(first, true)
		}
		if rounds > 0 {
			first = append(first, false) // its next command was handed out before the restart
		}
		until := len(p.calls) + 4
		env.SetOnActivityCompletedListener(func(*activity.Info, converter.EncodedValue, error) {
			if len(p.calls) >= until {
				env.SetCurrentHistoryLength(101)
			}
		})
		env.ExecuteWorkflow(RunWorkflow, in)
		err := env.GetWorkflowError()
		if err == nil {
			break
		}
		var again *workflow.ContinueAsNewError
		if !errors.As(err, &again) {
			t.Fatal(err)
		}
		in = Input{}
		if err := converter.GetDefaultDataConverter().FromPayloads(again.Input, &in); err != nil {
			t.Fatal(err)
		}
	}
	if rounds < 2 {
		t.Errorf("it started again %d times", rounds)
	}
	if !slices.Equal(p.calls, want.calls) {
		t.Errorf("%v\n%v", p.calls, want.calls)
	}
	for n := len(first); n < len(p.calls); n++ {
		first = append(first, true)
	}
	if !slices.Equal(p.first, first) {
		t.Errorf("the calls without a previous worker are %v, not %v", p.first, first)
	}
}

// A run stops at a batch that needs approval, and continues after the answer with the kept journal.
func TestAnswerContinuesRun(t *testing.T) {
	i := info(runner.BatchInfo{Key: "1", Number: "1", Title: "one", Approve: true})
	p := &play{}
	var kept []runner.Event
	env := environment(p, &kept)
	env.ExecuteWorkflow(RunWorkflow, Input{Run: "r", Info: &i})
	var out Output
	if err := env.GetWorkflowResult(&out); err != nil || out.Stop != runner.OutcomeHuman {
		t.Fatalf("%+v %v", out, err)
	}
	m, err := runner.New(i)
	if err != nil {
		t.Fatal(err)
	}
	s := runner.NewRecorder("r", m, time.Now)
	for _, e := range kept {
		s.Recall(e)
	}
	asked := m.Waiting()
	if len(asked) != 1 {
		t.Fatalf("%+v", asked)
	}
	asked[0].Run = "r"
	env = environment(p, &kept)
	env.RegisterDelayedCallback(func() { env.SignalWorkflow(PostSignal, asked[0].Yes("ada", "fine")) }, 0)
	env.ExecuteWorkflow(RunWorkflow, Input{Run: "r", Recall: true, Resumed: true})
	if err := env.GetWorkflowError(); err != nil {
		t.Fatal(err)
	}
	if err := env.GetWorkflowResult(&out); err != nil || out.Status != runner.RunDone {
		t.Errorf("%+v %v", out, err)
	}
	for n, e := range kept {
		if e.Seq != n+1 {
			t.Fatalf("event %d has number %d", n, e.Seq)
		}
	}
}

// Cancelling the workflow stops the running commands, waits until they have stopped, and records the cancellation in
// the journal.
func TestCancelStopsCommandsAndIsRecorded(t *testing.T) {
	p := &play{}
	var kept []runner.Event
	env := environment(p, &kept)
	env.OnActivity(PerformActivity, mock.Anything,
		mock.Anything).Return(func(ctx context.Context, task Task) (shared.Done, error) {
		<-ctx.Done()
		return shared.Done{Command: task.Command.ID,
			Event: task.Command.Report(
				runner.Event{Outcome: runner.OutcomeCancelled, Reason: "stopped while it was in progress"})}, nil
	})
	i := three()
	env.RegisterDelayedCallback(env.CancelWorkflow, time.Second)
	env.ExecuteWorkflow(RunWorkflow, Input{Run: "r", Info: &i})
	var cancelled *temporal.CanceledError
	if err := env.GetWorkflowError(); !errors.As(err, &cancelled) {
		t.Errorf("%v", err)
	}
	if n := len(kept); n == 0 || kept[n-1].Kind != runner.RunFinished || kept[n-1].Outcome != runner.OutcomeCancelled {
		t.Errorf("%v", lines(kept))
	}
}

// A run with an unknown loop version fails with an error that says what to do and is not retried.
func TestUnknownLoopVersionIsRefused(t *testing.T) {
	i := three()
	i.LoopVersion = 999
	var kept []runner.Event
	env := environment(&play{}, &kept)
	env.ExecuteWorkflow(RunWorkflow, Input{Run: "r", Info: &i})
	var app *temporal.ApplicationError
	if err := env.GetWorkflowError(); !errors.As(err, &app) || app.Type() != CoreVersion || !app.NonRetryable() ||
		!strings.Contains(app.Message(), "start a worker of that version, or start the run again") {
		t.Errorf("%v", err)
	}
}

// PageOf splits a journal into pages that fit into a message.
func TestPageOfFitsMessageLimit(t *testing.T) {
	var all []runner.Event
	long := make([]byte, 50<<10)
	for i := range long {
		long[i] = 'x'
	}
	for i := range 20 {
		all = append(all, runner.Event{Seq: i + 1, Kind: runner.Note, Reason: string(long)})
	}
	var got []runner.Event
	for next := 1; next > 0; {
		p := PageOf(all, next)
		if len(p.Events) > 5 {
			t.Errorf("%d events of 50 KiB in one page", len(p.Events))
		}
		got, next = append(got, p.Events...), p.Next
	}
	if len(got) != len(all) {
		t.Errorf("%d of %d", len(got), len(all))
	}
}
