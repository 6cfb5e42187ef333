// Package flow drives a run as a Temporal workflow. It contains no rules of a run: [runner.Machine] decides and
// [runner.Recorder] records the events, as in local runs. Here commands become activities, and their results become
// events.
//
// The workflow history stays small: it holds commands and events, which name commits and files. Contents are in git.
package flow

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/runplan/runplan/internal/lists"
	"github.com/runplan/runplan/runner"
	"github.com/runplan/runplan/temporal/shared"
)

// Fixed names for Temporal: the name of a Go function could change, and a replay would then fail.
const (
	RunWorkflow   = "runplan.Run"
	QueueWorkflow = "runplan.MergeQueue"

	PerformActivity  = "runplan.Perform"
	StandingActivity = "runplan.Standing"
	KeepActivity     = "runplan.Keep"
	RecallActivity   = "runplan.Recall"
	EnqueueActivity  = "runplan.Enqueue"

	PostSignal  = "post"
	EventsQuery = "events"
)

// ID returns the workflow id of a run.
func ID(run string) string { return "runplan/" + run }

// Options configures how the workflow drives a run.
type Options struct {
	Heartbeat time.Duration `json:"heartbeat"`          // after this silence a host counts as dead
	Deadline  time.Duration `json:"deadline"`           // for one command, including all tries on all hosts
	MaxTime   time.Duration `json:"max_time,omitempty"` // of this session of the run; 0 sets no limit
	Longest   int           `json:"longest,omitempty"`  // Temporal events before the workflow continues as new
	Queue     string        `json:"queue,omitempty"`    // id of the merge queue for landings; "" uses none
}

// Defaults of [Options].
const (
	DefaultHeartbeat = time.Minute
	DefaultDeadline  = 24 * time.Hour
	DefaultLongest   = 10_000
)

// Input starts one session of a run. It holds neither contents nor secrets.
type Input struct {
	Run     string        `json:"run"`
	Info    *runner.Info  `json:"info,omitempty"` // of a new run, or the changed settings of a known one
	Recall  bool          `json:"recall"`         // read the journal from the shared repository
	Resumed bool          `json:"resumed"`        // the run resumes after a stop
	Options Options       `json:"options"`
	Spent   time.Duration `json:"spent,omitempty"` // used part of MaxTime
}

// Output is the result of one session of a run.
type Output struct {
	Status runner.RunStatus `json:"status"`
	Stop   runner.Outcome   `json:"stop,omitempty"`
	Reason string           `json:"reason,omitempty"`
	Tip    string           `json:"tip,omitempty"`
	Events int              `json:"events"`
}

// Task is a command for a worker. Seq is the event that issued it.
type Task struct {
	Run     string         `json:"run"`
	Seq     int            `json:"seq"`
	Command runner.Command `json:"command"`
	First   bool           `json:"first,omitempty"` // no worker ever had it before
}

// From requests the events of a run from a number on.
type From struct {
	Run  string `json:"run"`
	From int    `json:"from"`
}

// Page is a part of a journal. More pages follow unless Next is 0.
type Page struct {
	Events []runner.Event `json:"events"`
	Next   int            `json:"next,omitempty"`
}

const pageBytes = runner.MaxMessage * 3 / 4

// PageOf returns the page of events that begins with number from.
func PageOf(events []runner.Event, from int) Page {
	var p Page
	size := 0
	for i := max(0, from-1); i < len(events); i++ {
		body, err := json.Marshal(events[i])
		if size += len(body); err != nil || size > pageBytes && len(p.Events) > 0 {
			p.Next = events[i].Seq
			return p
		}
		p.Events = append(p.Events, events[i])
	}
	return p
}

// Standing is the state that a worker found before a run resumes.
type Standing struct {
	Tip      string         `json:"tip"`
	Reopened []runner.Event `json:"reopened,omitempty"`
}

// Types of errors that no retry can cure.
const (
	CoreVersion = "CoreVersion"
	BadInput    = "BadInput"
	Refused     = "Refused"
)

type run struct {
	Input
	free     workflow.Context // not cancelled with the workflow: the machine decides what a cancellation means
	recorder *runner.Recorder
	events   []runner.Event
	known    int            // number of events when this execution began
	seqOf    map[string]int // by command: the last event that issued it
	jobs     []*job         // running, in the order of their start
	last     map[string]*job
	inbox    []result
	notes    []string
	erred    bool
	stops    []runner.Event // requests to stop at once
	tired    bool           // the history is long: start nothing until the workflow continues as new
	due      []runner.Command
	posts    workflow.ReceiveChannel
}

type job struct {
	runner.Command
	seq    int // event that issued it
	cancel workflow.CancelFunc
	over   bool
	stale  bool
}

type result struct {
	*job
	shared.Done
}

// Run is the workflow of a run.
func Run(ctx workflow.Context, in Input) (Output, error) {
	r := &run{Input: in, seqOf: map[string]int{}, last: map[string]*job{},
		posts: workflow.GetSignalChannel(ctx, PostSignal)}
	r.free, _ = workflow.NewDisconnectedContext(ctx)
	if err := workflow.SetQueryHandler(ctx, EventsQuery,
		func(from int) (Page, error) { return PageOf(r.events, from), nil }); err != nil {
		return Output{}, err
	}
	if r.Options.Heartbeat <= 0 {
		r.Options.Heartbeat = DefaultHeartbeat
	}
	if r.Options.Deadline <= 0 {
		r.Options.Deadline = DefaultDeadline
	}
	if r.Options.Longest <= 0 {
		r.Options.Longest = DefaultLongest
	}
	began := workflow.Now(ctx)
	cmds, err := r.begin()
	if err != nil {
		return Output{}, err
	}
	workflow.Go(r.free, func(free workflow.Context) { // only once: a cancelled context would stay ready forever
		ctx.Done().Receive(free, nil)
		r.stops = append(r.stops,
			runner.Event{Kind: runner.StopAsked, Outcome: runner.OutcomeCancelled, Reason: "the workflow was cancelled"})
	})
	if r.Options.MaxTime > 0 {
		workflow.Go(r.free, func(free workflow.Context) {
			if workflow.Sleep(free, max(time.Second, r.Options.MaxTime-in.Spent)) == nil {
				r.stops = append(r.stops,
					runner.Event{Kind: runner.StopAsked, Outcome: runner.OutcomeLimited,
						Reason: fmt.Sprintf("the time limit of %s is reached", r.Options.MaxTime)})
			}
		})
	}
	res, again, err := r.loop(cmds)
	if err != nil {
		return Output{}, err
	}
	if err := r.keep(); err != nil {
		workflow.GetLogger(ctx).Warn("the journal could not be stored in the shared repository", "error", err)
		if again {
			return Output{}, err
		}
	}
	if again {
		next := Input{Run: in.Run, Recall: true, Options: in.Options, Spent: in.Spent + workflow.Now(r.free).Sub(began)}
		return Output{}, workflow.NewContinueAsNewError(r.free, RunWorkflow, next)
	}
	out := Output{Status: res.Status, Reason: res.Reason, Tip: res.Tip, Events: len(r.events)}
	if res.Stop != nil {
		out.Stop, out.Reason = res.Stop.Outcome, res.Stop.Reason
	}
	if ctx.Err() != nil {
		return out, temporal.NewCanceledError(out)
	}
	return out, nil
}

// begin starts the run or replays its journal, and returns the first commands.
func (r *run) begin() ([]runner.Command, error) {
	info := r.Info
	var known []runner.Event
	if r.Recall {
		for next := 1; next > 0; {
			var p Page
			if err := workflow.ExecuteActivity(r.brief("recall"), RecallActivity, From{r.Run, next}).Get(r.free,
				&p); err != nil {
				return nil, err
			}
			known, next = append(known, p.Events...), p.Next
		}
		if len(known) == 0 || known[0].Job == nil {
			return nil, temporal.NewNonRetryableApplicationError("the journal of run "+r.Run+" does not contain its start",
				BadInput, nil)
		}
		info = known[0].Job
	}
	if info == nil {
		return nil, temporal.NewNonRetryableApplicationError("run "+r.Run+": the journal does not describe the run", BadInput, nil)
	}
	machine, err := runner.New(*info)
	if errors.Is(err, runner.ErrLoopVersion) {
		return nil, temporal.NewNonRetryableApplicationError(err.Error()+
			"; start a worker of that version, or start the run again", CoreVersion, nil)
	}
	if err != nil {
		return nil, temporal.NewNonRetryableApplicationError(err.Error(), BadInput, nil)
	}
	r.recorder = runner.NewRecorder(r.Run, machine, func() time.Time { return workflow.Now(r.free) })
	if !r.Recall {
		return r.take(r.recorder.Begin(*info)), nil
	}
	for _, e := range known {
		r.recorder.Recall(e)
		r.handedOut(e)
	}
	r.events, r.known = known, len(known)
	if !r.Resumed {
		return machine.Pending(), nil
	}
	var s Standing
	if err := workflow.ExecuteActivity(r.brief("check the run branch"), StandingActivity,
		From{r.Run, len(known)}).Get(r.free, &s); err != nil {
		return nil, err
	}
	for _, e := range s.Reopened {
		r.record(e)
	}
	r.record(runner.Event{Kind: runner.RunResumed, Commit: s.Tip, Job: r.Info})
	r.hear(true)
	return machine.Pending(), nil
}

// loop starts commands and records their results until no command is running. again means that the history is long
// and the run must continue in a new execution.
func (r *run) loop(cmds []runner.Command) (_ runner.Result, again bool, err error) {
	r.due = cmds
	for {
		r.tired = r.tired || workflow.GetInfo(r.free).GetCurrentHistoryLength() > r.Options.Longest
		if !r.tired {
			for _, c := range r.due {
				r.start(c)
			}
			r.due = nil
		}
		if len(r.inbox) == 0 && r.idle() && len(r.stops) == 0 {
			if r.due = append(r.due, r.hear(false)...); len(r.due) > 0 && !r.tired {
				continue
			}
			if len(r.due) > 0 {
				return runner.Result{}, true, nil
			}
			res, done := r.recorder.Machine().Done()
			if !done {
				return res, false, temporal.NewNonRetryableApplicationError("run "+r.Run+
					": internal error: no pending command and the run is not finished; please report it", BadInput, nil)
			}
			r.record(res.Ending())
			return res, false, nil
		}
		if err := workflow.Await(r.free,
			func() bool { return len(r.inbox) > 0 || len(r.stops) > 0 || r.posts.Len() > 0 }); err != nil {
			return runner.Result{}, false, err
		}
		for len(r.inbox) > 0 {
			first := r.inbox[0]
			r.inbox = r.inbox[1:]
			r.due = append(r.due, r.done(first)...)
		}
		r.due = append(r.due, r.hear(false)...)
		for len(r.stops) > 0 {
			ev := r.stops[0]
			r.stops = r.stops[1:]
			r.record(ev)
			for _, j := range r.jobs {
				j.cancel()
			}
		}
		r.due = r.wanted(r.due)
	}
}

// wanted removes commands that were cancelled before their start.
func (r *run) wanted(cmds []runner.Command) []runner.Command {
	pending := lists.SetBy(r.recorder.Machine().Pending(), func(c runner.Command) string { return c.ID })
	return lists.Filter(cmds, func(c runner.Command) bool { return pending[c.ID] })
}

// idle reports whether no job is running, including cancelled ones.
func (r *run) idle() bool {
	for _, j := range r.last {
		if !j.over {
			return false
		}
	}
	return len(r.jobs) == 0
}

// take applies the consequences of a fact to the run.
func (r *run) take(step runner.Step) []runner.Command {
	for _, e := range step.Events {
		r.handedOut(e)
		r.events = append(r.events, e)
	}
	if step.Note != "" {
		r.notes = append(r.notes, step.Note)
	}
	for _, c := range step.CalledOff {
		r.jobs = slices.DeleteFunc(r.jobs, func(j *job) bool {
			if j.ID != c.ID {
				return false
			}
			j.stale = true
			j.cancel()
			return true
		})
	}
	return step.Commands
}

func (r *run) handedOut(e runner.Event) {
	if e.Kind == runner.Dispatched {
		r.seqOf[e.Command] = e.Seq
	}
}

// record folds one fact.
func (r *run) record(e runner.Event) []runner.Command {
	if _, err := e.Encode(); err != nil { // an event too large for the journal becomes an error
		e = runner.Event{Kind: e.Kind, Command: e.Command, Batch: e.Batch, Attempt: e.Attempt, Outcome: runner.OutcomeError,
			Reason: err.Error(), Usage: e.Usage}
	}
	underWay := lists.Map(r.jobs, func(j *job) runner.Command { return j.Command })
	cmds := r.take(r.recorder.Fold(e, underWay))
	if e.Kind == runner.StopAsked {
		r.stopWaiting()
	}
	for len(r.notes) > 0 {
		text := r.notes[0]
		r.notes = r.notes[1:]
		r.record(runner.Event{Kind: runner.Note, Reason: text})
	}
	return cmds
}

// stopWaiting cancels the jobs that wait for the end of a limit.
func (r *run) stopWaiting() {
	for _, j := range r.jobs {
		if j.Kind == runner.Wait {
			j.cancel()
		}
	}
}

// hear records the posts of people.
func (r *run) hear(resuming bool) []runner.Command {
	var cmds []runner.Command
	for {
		var e runner.Event
		if !r.posts.ReceiveAsync(&e) {
			return cmds
		}
		if e.Kind.Outside() {
			cmds = append(cmds, r.record(r.recorder.Machine().Heard(e, resuming))...)
		}
	}
}

// done records the result of a command, unless it was cancelled.
func (r *run) done(x result) []runner.Command {
	r.jobs = slices.DeleteFunc(r.jobs, func(j *job) bool { return j == x.job })
	if x.stale && x.Kind == runner.Execute && x.Event.Usage != nil {
		x.Lost = append(x.Lost, x.Spending(x.Event)) // its result is ignored, but its cost counts
	}
	for _, text := range x.Notes {
		r.record(runner.Event{Kind: runner.Note, Reason: text})
	}
	for _, e := range x.Lost {
		r.record(e)
	}
	var cmds []runner.Command
	if !x.stale {
		cmds = r.record(x.Event)
	}
	r.erred = len(cmds) == 0 && (r.erred || x.Event.Outcome == runner.OutcomeError && !x.stale)
	if r.erred && !slices.ContainsFunc(r.jobs, func(j *job) bool { return j.Kind != runner.Wait }) {
		r.stopWaiting() // the error stopped the run, so waiting for the end of a limit is useless
	}
	return cmds
}

// brief returns the context of an activity that the workflow itself needs.
func (r *run) brief(summary string) workflow.Context {
	return workflow.WithActivityOptions(r.free, workflow.ActivityOptions{
		StartToCloseTimeout: 10 * time.Minute, ScheduleToCloseTimeout: r.Options.Deadline,
		HeartbeatTimeout: r.Options.Heartbeat,
		RetryPolicy:      retries(), Summary: summary,
	})
}

func (r *run) keep() error {
	return workflow.ExecuteActivity(r.brief("keep the journal"), KeepActivity, From{r.Run, len(r.events)}).Get(r.free, nil)
}

// retries returns a policy without a maximum number of attempts: only the deadline ends it. A frozen host may use
// up any number of attempts. Compare-and-swap protects the branches, not the number of attempts.
func retries() *temporal.RetryPolicy {
	return &temporal.RetryPolicy{
		InitialInterval: time.Second, BackoffCoefficient: 2, MaximumInterval: 30 * time.Second,
		NonRetryableErrorTypes: []string{BadInput, CoreVersion, Refused},
	}
}
