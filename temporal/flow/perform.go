package flow

import (
	"errors"
	"fmt"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/runplan/runplan/agents"
	"github.com/runplan/runplan/runner"
	"github.com/runplan/runplan/temporal/shared"
)

// start starts a command. A place has one command at a time: the next one waits until the last has left the place.
func (r *run) start(c runner.Command) {
	ctx, cancel := workflow.WithCancel(r.free)
	j := &job{Command: c, seq: r.seqOf[c.ID], cancel: cancel}
	before := r.last[c.Place()]
	if c.Kind == runner.Wait && c.Batch == "" {
		before = nil // it uses no place
	}
	r.jobs = append(r.jobs, j)
	r.last[c.Place()] = j
	workflow.Go(r.free, func(free workflow.Context) {
		if before != nil {
			if err := workflow.Await(free, func() bool { return before.over }); err != nil {
				return // the workflow is being destroyed
			}
		}
		began := workflow.Now(free)
		done := r.perform(free, ctx, j)
		if c.Kind == runner.Wait {
			done.Event.DurationMS = workflow.Now(free).Sub(began).Milliseconds()
		}
		j.over = true
		r.inbox = append(r.inbox, result{j, done})
	})
}

// perform performs a command and returns its result as an event. It waits in the coroutine of free; ctx is the
// context that cancels the command.
func (r *run) perform(free, ctx workflow.Context, j *job) shared.Done {
	c := j.Command
	d := shared.Done{Command: c.ID}
	var err error
	switch {
	case c.Kind == runner.Ask:
		d.Event = c.Asked()
		return d
	case c.Kind == runner.Wait:
		d.Event = c.Report(runner.Event{Outcome: runner.OutcomeOK, Agent: c.Agent})
		if left := c.Until.Sub(workflow.Now(ctx)); left > 0 {
			err = workflow.NewTimerWithOptions(ctx, left, workflow.TimerOptions{Summary: "the limit of " + c.Agent}).Get(free,
				nil)
		}
	case c.Kind == runner.LandRun && r.Options.Queue != "":
		d, err = r.queued(free, j)
	default:
		err = workflow.ExecuteActivity(workflow.WithActivityOptions(ctx, commandOptions(r.Options, c, j.seq)),
			PerformActivity, r.task(j)).Get(free, &d)
	}
	if err != nil {
		d.Event = failure(c, err)
	}
	return d
}

// task returns the worker's task for a job. A worker may already have had the task if it was in the journal before
// this execution, or if an operator reset the workflow.
func (r *run) task(j *job) Task {
	i := workflow.GetInfo(r.free)
	reset := i.OriginalRunID != "" && i.OriginalRunID != i.WorkflowExecution.RunID
	return Task{r.Run, j.seq, j.Command, j.seq > r.known && !reset}
}

func commandOptions(o Options, c runner.Command, seq int) workflow.ActivityOptions {
	return workflow.ActivityOptions{
		ActivityID:          fmt.Sprintf("%s@%d", c.ID, seq),
		StartToCloseTimeout: o.Deadline, ScheduleToCloseTimeout: o.Deadline, HeartbeatTimeout: o.Heartbeat,
		WaitForCancellation: true, // a cancelled command must leave its place before the next one starts there
		RetryPolicy:         retries(), Summary: c.ID,
	}
}

// failure returns the event for a command without a report from a worker.
func failure(c runner.Command, err error) runner.Event {
	if errors.As(err, new(*temporal.CanceledError)) {
		return c.Report(runner.Event{Outcome: runner.OutcomeCancelled, Reason: "stopped while it was in progress"})
	}
	text := err.Error()
	if app, ok := errors.AsType[*temporal.ApplicationError](err); ok {
		text = app.Message()
	}
	e := runner.Event{Outcome: runner.OutcomeError, Reason: text}
	if late, ok := errors.AsType[*temporal.TimeoutError](err); ok {
		e.Reason = "no worker has reported on it in time: " + late.Message()
		if c.Kind == runner.Execute { // its agent may have worked, so its cost is unknown and not zero
			e.Usage = &agents.Usage{Source: agents.SourceUnknown}
		}
	}
	return c.Report(e)
}

// Landing is a run's request to land.
type Landing struct {
	Task    Task    `json:"task"`
	Options Options `json:"options"`
	ReplyTo string  `json:"reply_to"` // workflow
	Signal  string  `json:"signal"`
}

// queued performs a landing through the merge queue of the target branch. It cannot be cancelled: after its push
// it has landed.
func (r *run) queued(free workflow.Context, j *job) (shared.Done, error) {
	var d shared.Done
	signal := fmt.Sprintf("landed/%d", j.seq)
	l := Landing{Task{Run: r.Run, Seq: j.seq, Command: j.Command}, r.Options, workflow.GetInfo(free).WorkflowExecution.ID,
		signal}
	if err := workflow.ExecuteActivity(r.brief("query the merge queue"), EnqueueActivity, l).Get(free, nil); err != nil {
		return d, err
	}
	workflow.GetSignalChannel(free, signal).Receive(free, &d)
	return d, nil
}

// QueueID returns the workflow id of the merge queue of a branch. It contains a digest of the repository's
// address, because the address may contain secrets.
func QueueID(repository, branch string) string {
	return "runplan/merge-queue/" + runner.Fingerprint(repository) + "/" + branch
}

// EnqueueSignal is the signal that adds a [Landing] to a merge queue.
const EnqueueSignal = "enqueue"

// Waiting holds the landings that a merge queue has not started.
type Waiting struct {
	Landings []Landing `json:"landings,omitempty"`
}

// queueLongest is the number of landings after which a queue continues as new. queueIdle is how long an empty
// queue waits before it ends.
const (
	queueLongest = 200
	queueIdle    = 10 * time.Minute
)

// MergeQueue lands runs on one branch, one after the other, in the order of their requests. It ends after a period
// without requests; the next request starts it again.
func MergeQueue(ctx workflow.Context, w Waiting) error {
	in := workflow.GetSignalChannel(ctx, EnqueueSignal)
	drain := func() {
		for {
			var l Landing
			if !in.ReceiveAsync(&l) {
				return
			}
			w.Landings = append(w.Landings, l)
		}
	}
	for n := 0; ; n++ {
		drain()
		if n >= queueLongest || workflow.GetInfo(ctx).GetContinueAsNewSuggested() {
			return workflow.NewContinueAsNewError(ctx, QueueWorkflow, w)
		}
		if len(w.Landings) == 0 {
			some, err := workflow.AwaitWithTimeout(ctx, queueIdle, func() bool { return in.Len() > 0 })
			if err != nil {
				return err
			}
			if !some {
				return nil
			}
			drain()
		}
		l := w.Landings[0]
		w.Landings = w.Landings[1:]
		var d shared.Done
		actx := workflow.WithActivityOptions(ctx, commandOptions(l.Options, l.Task.Command, l.Task.Seq))
		if err := workflow.ExecuteActivity(actx, PerformActivity, l.Task).Get(ctx, &d); err != nil {
			d = shared.Done{Command: l.Task.Command.ID, Event: failure(l.Task.Command, err)}
		}
		// A run that no longer exists cannot receive the result; ignore that.
		_ = workflow.SignalExternalWorkflow(ctx, l.ReplyTo, "", l.Signal, d).Get(ctx, nil)
	}
}
