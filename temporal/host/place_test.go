package host

import (
	"context"
	"testing"
	"time"

	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/worker"

	"github.com/runplan/runplan/runner"
	"github.com/runplan/runplan/temporal/flow"
)

// An idle run is closed after a while, and opened again for its next command.
func TestHostClosesIdleRun(t *testing.T) {
	b := newBench(t).answers()
	b.Rest = time.Hour
	for range 2 {
		if _, err := b.call(nil, b.Perform, land(1)); err != nil {
			t.Fatal(err)
		}
	}
	if b.opened.Load() != 1 || b.closed.Load() != 0 {
		t.Errorf("with work now and then: opened %d times, closed %d times", b.opened.Load(), b.closed.Load())
	}
	b.Rest = time.Millisecond
	if _, err := b.call(nil, b.Perform, land(1)); err != nil {
		t.Fatal(err)
	}
	eventually(t, "it is put away", func() bool { return b.closed.Load() == 1 })
	if _, err := b.call(nil, b.Perform, land(1)); err != nil || b.opened.Load() != 2 {
		t.Errorf("opened %d times: %v", b.opened.Load(), err)
	}
	eventually(t, "it is put away again", func() bool { return b.closed.Load() == 2 })
}

// A run that has ended is closed as soon as its journal is kept, and not before.
func TestHostClosesEndedRun(t *testing.T) {
	b := newBench(t).answers()
	b.Rest = time.Hour
	all := b.events
	b.events = all[:1] // a history that has grown long is kept while the run goes on
	if _, err := b.call(nil, b.Keep, flow.From{Run: run, From: 1}); err != nil {
		t.Fatal(err)
	}
	b.events = all
	if _, err := b.call(nil, b.Keep, flow.From{Run: run, From: len(all)}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "it is put away", func() bool { return b.closed.Load() == 1 })
	if n := b.opened.Load(); n != 1 {
		t.Errorf("it was opened %d times", n)
	}
}

// waiting returns a command that runs until it is cancelled.
func waiting() flow.Task {
	return flow.Task{Run: run, Seq: 1,
		Command: runner.Command{ID: "run/wait", Kind: runner.Wait, Until: time.Now().AddDate(100, 0, 0)}}
}

// under executes a command that runs until the test ends its context.
func (b *bench) under(t *testing.T, end func(cancel context.CancelCauseFunc)) error {
	t.Helper()
	perform := func(ctx context.Context, task flow.Task) error {
		ctx, cancel := context.WithCancelCause(ctx)
		defer cancel(nil)
		go func() {
			for b.opened.Load() == 0 {
				time.Sleep(5 * time.Millisecond)
			}
			end(cancel)
		}()
		_, err := b.Perform(ctx, task)
		return err
	}
	_, err := b.call(nil, perform, waiting())
	return err
}

// If a command is cancelled because the run must stop, the host closes the run, since it expects no more work for it.
// If a command is cancelled while the run continues, the run stays open.
func TestHostClosesStoppingRun(t *testing.T) {
	for name, tt := range map[string]struct {
		then   runner.Event // what happened meanwhile
		closed int32
	}{
		"the run is to stop": {runner.Event{Seq: 2, Run: run, Kind: runner.StopAsked, Outcome: runner.OutcomeCancelled}, 1},
		"the run continues":  {runner.Event{Seq: 2, Run: run, Kind: runner.Note, Reason: "something"}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t).answers()
			b.Rest = time.Hour
			b.events = b.events[:1]
			if err := b.under(t, func(cancel context.CancelCauseFunc) {
				b.events = append(b.events, tt.then)
				cancel(temporal.NewCanceledError())
			}); err != nil {
				t.Fatal(err)
			}
			eventually(t, "somebody looked what became of the run", func() bool {
				b.mu.Lock()
				defer b.mu.Unlock()
				return b.runs[run].atWork == 0
			})
			eventually(t, "it is as it is to be", func() bool { return b.closed.Load() >= tt.closed })
			if _, err := b.call(nil, b.Perform, land(1)); err != nil || b.opened.Load() != 1+tt.closed {
				t.Errorf("opened %d times: %v", b.opened.Load(), err)
			}
		})
	}
}

// A command that stops on this host without a request from the run is not reported as cancelled, which would stop the
// run: another try executes it again.
func TestUnrequestedStopIsRetried(t *testing.T) {
	for name, cause := range map[string]error{
		"the service considers this host dead": serviceerror.NewNotFound("activity not found"),
		"this worker is stopped":               worker.ErrWorkerShutdown,
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t).answers()
			if err := b.under(t, func(cancel context.CancelCauseFunc) { cancel(cause) }); err == nil {
				t.Error("the step was reported")
			}
			b.close()
			if b.closed.Load() != 1 {
				t.Errorf("closed %d times", b.closed.Load())
			}
		})
	}
}
