// Package local runs a plan on this machine, with goroutines, git worktrees and the SQLite journal around
// [runner.Machine].
//
// The journal records each fact before any code acts on it. All other files on disk (receipts, reports,
// progress.txt, logs) are derived from the journal or serve people. The process can be killed at any time: the
// next one reads the journal, restores the workspaces and continues.
package local

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/runplan/runplan/agents"
	"github.com/runplan/runplan/gates"
	"github.com/runplan/runplan/gates/mutants"
	"github.com/runplan/runplan/internal/git"
	"github.com/runplan/runplan/internal/proc"
	"github.com/runplan/runplan/internal/redact"
	"github.com/runplan/runplan/internal/store"
	"github.com/runplan/runplan/planparse"
	"github.com/runplan/runplan/runner"
	"github.com/runplan/runplan/runner/briefing"
	"github.com/runplan/runplan/runner/failures"
	"github.com/runplan/runplan/runner/journal"
)

// Config holds what an engine needs to run a plan.
type Config struct {
	Repo        *git.Repo
	Layout      journal.Layout
	Home        string // folder of runplan's own files, outside the repository; gate rooms are made in it
	Journal     *store.Journal
	Plan        *planparse.Plan
	PlanText    []byte
	Agent       agents.Agent
	Fallback    []agents.Agent // agents that take over, in order, when one meets a limit
	Limits      agents.Limits
	GateConfig  gates.Settings
	Baseline    bool // failures that the base has too do not count against a batch
	GateTimeout time.Duration
	Format      bool
	Setup       Setup         // of workspaces; the driver sets Env, Reaper and Grace
	MaxTime     time.Duration // of this session; 0 is no limit
	Environ     []string      // the user's environment; agents and gates get a part of it
	Secrets     []string      // KEY=VALUE of settings and copied files; redacted from all stored text
	Reaper      *proc.Reaper
	Mark        string // KEY=VALUE set for all processes in workspaces, besides RUNPLAN_RUN; "" sets none

	Mutants  mutants.Options // Tree is set by the driver; without Budget and Share none are tried
	Sampling Sampling
	Reviews  Reviews
	Critic   Critic // checks each step of an agent; nil checks none

	Context     briefing.Limits                                                  // figures of the context block
	ContextFile string                                                           // workspace file for the block; "" writes none
	Where       func(ctx context.Context, commit, text string) ([]string, error) // likely places of a text; or nil
	Style       func(ctx context.Context, dir string) string                     // describes a folder's code style; or nil

	// StrictCheckout makes an attempt fail if the user's checkout changed during it. Otherwise this is a warning.
	StrictCheckout bool

	// MemoryFloor is the minimum available memory, in bytes, for starting one more concurrent agent; 0 disables the check.
	// Memory reads the available memory.
	MemoryFloor uint64
	Memory      func() (uint64, error)

	Change *Change // the accepted change of the plan; nil if the plan is unchanged

	Redo []string // keys of merged batches to do again

	Notes []string // notes for the journal, written before the session begins work

	Now     func() time.Time
	Observe func(runner.Event)         // called for each event in order, after it is in the journal
	Line    func(batch, text string)   // live output, not in the journal
	Note    func(text string)          // called with messages for the user that are not events
	Report  func(runner.Summary) error // writes the run's report; nil writes none
}

// Change is the effect of an accepted plan change on a run.
type Change struct {
	Report gates.Report // the fate of each batch
	Anew   []string     // keys of started batches that begin again
}

// Engine runs one plan at a time. It implements [runner.Engine].
type Engine struct {
	Config
	posts chan runner.Event
}

var _ runner.Engine = (*Engine)(nil)

// New returns an engine.
func New(c Config) *Engine { return &Engine{Config: c, posts: make(chan runner.Event, 16)} }

// Post sends a fact to the running session.
func (e *Engine) Post(ctx context.Context, _ string, ev runner.Event) error {
	select {
	case e.posts <- ev:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// session is one process's execution of a run; a resume is a new session.
type session struct {
	*Engine
	run      string
	machine  *runner.Machine
	work     *work
	recorder *runner.Recorder
	heard    int64 // id of the last post read
	results  chan result
	jobs     map[string]*job // running, by command id
	last     map[string]*job // the last job started in each place
	guard    guard
	ctx      context.Context // of all jobs; cancelled to stop at once
	cancel   context.CancelCauseFunc
	mu       sync.Mutex // of notes
	live     bool       // events happen now; false during replay
	notes    []string
	noted    chan struct{}
	settings string // last written to the journal
	watch    failures.Observer
	digests  map[string]string // of the batches' texts, as last recorded

	erred    bool           // a command failed with an error, and no command followed
	stopping chan struct{}  // closed when no further work may begin
	stopOnce sync.Once      // closes it
	clearing sync.WaitGroup // cleanup of withdrawn attempts
}

// errStopped is the cause of a context that ends because the run must stop at once.
var errStopped = errors.New("the run was stopped")

// Start runs the plan until it ends or stops. If the run is already in the journal, Start resumes it. The caller must
// have the lock of its slug.
func (e *Engine) Start(ctx context.Context, run string, info runner.Info) (runner.Result, error) {
	s := e.open(ctx, run, info)
	defer s.work.closeRooms(context.WithoutCancel(ctx))
	defer s.clearing.Wait()
	defer s.work.background.Wait()
	defer s.cancel(errStopped)
	pending, err := s.begin(ctx, info)
	if err != nil {
		return runner.Result{}, err
	}
	return s.loop(ctx, pending)
}

// open returns a new session of a run, without any events.
func (e *Engine) open(ctx context.Context, run string, info runner.Info) *session {
	s := &session{
		Engine: e, run: run, results: make(chan result), jobs: map[string]*job{}, last: map[string]*job{},
		digests: map[string]string{}, noted: make(chan struct{}, 1), stopping: make(chan struct{}),
	}
	s.ctx, s.cancel = context.WithCancelCause(context.WithoutCancel(ctx))
	s.guard = guard{floor: e.MemoryFloor, memory: e.Memory, note: s.note}
	cfg := e.Config
	cfg.Note = s.note
	s.work = &work{Config: cfg, run: run, info: info, redact: redact.New(slices.Concat(e.Environ, e.Secrets)),
		refs: newRefs(), before: newReports(), proofs: newProofs()}
	s.work.failures = failures.Open(e.Layout.FailurePatterns(), s.note)
	s.watch = failures.Observer{Store: s.work.failures, LineCounts: e.Repo.LineCounts}
	setup := e.Setup
	setup.Env, setup.Reaper, setup.Grace = s.work.agentEnv(e.Layout.Temp(run)), e.Reaper, e.Limits.Grace
	s.work.pool = &Pool{
		repo: e.Repo, layout: e.Layout, slug: info.Slug, note: s.note, used: map[string]*Space{}, refs: s.work.refs,
		setup: setup,
	}
	return s
}

// loop starts commands and records their results until no command is running.
func (s *session) loop(ctx context.Context, pending []runner.Command) (runner.Result, error) {
	interrupted := ctx.Done()
	look := time.NewTicker(postLook)
	defer look.Stop()
	var deadline <-chan time.Time
	if s.MaxTime > 0 {
		t := time.NewTimer(s.MaxTime)
		defer t.Stop()
		deadline = t.C
	}
	for running := 0; ; {
		for _, c := range pending {
			running++
			s.start(c)
		}
		pending = nil
		if running == 0 {
			s.clearing.Wait()
			if err := s.writeNotes(); err != nil {
				return runner.Result{}, err
			}
			var err error
			// includes posts just before the end
			if pending, err = s.hear(context.WithoutCancel(ctx), false); err != nil {
				return runner.Result{}, err
			}
			if len(pending) > 0 {
				continue
			}
			if res, done := s.machine.Done(); done {
				return res, s.finish(ctx, res)
			}
			return runner.Result{}, fmt.Errorf(
				"run %s: internal error: no pending command and the run is not finished; please report it", s.run)
		}
		var err error
		select {
		case r := <-s.results:
			running--
			pending, err = s.done(r)
		case ev := <-s.posts:
			pending, err = s.record(ev)
		case <-look.C:
			pending, err = s.hear(context.WithoutCancel(ctx), false)
		case <-s.noted:
			err = s.writeNotes()
		case <-deadline:
			deadline = nil
			_, err = s.record(runner.Event{Kind: runner.StopAsked, Outcome: runner.OutcomeLimited,
				Reason: fmt.Sprintf("the time limit of %s is reached", s.MaxTime)})
			s.cancel(errStopped)
		case <-interrupted:
			interrupted = nil
			_, err = s.record(runner.Event{Kind: runner.StopAsked, Outcome: runner.OutcomeCancelled,
				Reason: context.Cause(ctx).Error()})
			s.cancel(errStopped)
		}
		if err != nil {
			// Without a journal the run cannot continue: cancel all jobs and wait for their end.
			s.cancel(errStopped)
			for ; running > 0; running-- {
				<-s.results
			}
			return runner.Result{}, err
		}
	}
}

// note queues a message for the journal. Any goroutine may call it.
func (s *session) note(text string) {
	s.mu.Lock()
	s.notes = append(s.notes, s.work.redact.String(text))
	s.mu.Unlock()
	select {
	case s.noted <- struct{}{}:
	default: // the loop already has a wake-up
	}
}

func (s *session) writeNotes() error {
	s.mu.Lock()
	notes := s.notes
	s.notes = nil
	s.mu.Unlock()
	for _, text := range notes {
		if _, err := s.record(runner.Event{Kind: runner.Note, Reason: text}); err != nil {
			return err
		}
	}
	return nil
}

// do performs one command and returns its result as an event. lost holds the usage of failed tries.
func (s *session) do(ctx context.Context, c runner.Command) (ev runner.Event, lost []runner.Event) {
	start := s.Now()
	ev, lost, err := s.tries(ctx, c)
	ev = c.Report(ev)
	ev.DurationMS = max(0, s.Now().Sub(start).Milliseconds()-ev.DurationMS) // less the time that its agent waited for the base
	if err != nil {
		ev.Outcome, ev.Reason = runner.OutcomeError, s.work.redact.String(err.Error())
		if unstarted := (*agentError)(nil); errors.As(err, &unstarted) {
			ev.Outcome = runner.OutcomeUnstarted
		}
		if errors.Is(err, errStopped) || ctx.Err() != nil {
			ev.Outcome, ev.Reason = runner.OutcomeCancelled, "stopped while it was in progress"
		}
	}
	return ev, lost
}

// mostTries is the maximum number of tries after infrastructure errors.
const mostTries = 3

func pauseAfter(try int) time.Duration { return time.Duration(try*try) * 200 * time.Millisecond }

// tries performs the command. It repeats after infrastructure errors, except those that another try cannot cure.
func (s *session) tries(ctx context.Context, c runner.Command) (ev runner.Event, lost []runner.Event, err error) {
	w := s.work
	perform, known := map[runner.CommandKind]func(context.Context, runner.Command, runner.Progress) (runner.Event, error){
		runner.Execute: s.execute, runner.Wait: s.wait, runner.Ask: asked, runner.Sample: w.Sample, runner.Judge: w.Judge,
		runner.Rebase: w.Rebase, runner.Gate: w.Gates, runner.Trial: w.Gates, runner.Commit: w.Commit,
		runner.Merge: w.Merge, runner.LandRun: w.Land, runner.Review: w.Review, runner.Fidelity: w.Fidelity,
	}[c.Kind]
	if !known {
		return runner.Event{}, nil, fmt.Errorf("command %s: this driver does not know kind %q", c.ID, c.Kind)
	}
	if _, ok := w.Plan.Batch(c.Batch); c.Batch != "" && !ok {
		return runner.Event{}, nil, fmt.Errorf("command %s: the plan has no batch %s", c.ID, c.Batch)
	}
	for try := 1; ; try++ {
		ev, err = perform(ctx, c, s.Line)
		if wrote, ok := s.work.wroteFirst.LoadAndDelete(c.ID); ok { // the tests' writer was paid as well
			lost = append(lost, c.Spending(wrote.(runner.Event)))
		}
		if err == nil || try == mostTries || ctx.Err() != nil || errors.Is(err, errStopped) || infrastructure(err) {
			return ev, lost, err
		}
		if c.Kind == runner.Execute && ev.Usage != nil {
			lost = append(lost, c.Spending(ev))
		}
		s.note(fmt.Sprintf("%s could not be carried out and is tried again: %v", c.ID, err))
		s.work.pool.Release(c.Place())
		select {
		case <-time.After(pauseAfter(try)):
		case <-ctx.Done():
		}
	}
}

// asked records a question; the answer arrives as a post.
func asked(_ context.Context, c runner.Command, _ runner.Progress) (runner.Event, error) {
	return c.Asked(), nil
}

// record writes an event and its consequences in one transaction, and returns the commands to start.
func (s *session) record(ev runner.Event) ([]runner.Command, error) {
	step := s.recorder.Fold(ev, s.underWay())
	if step.Note != "" {
		s.note(step.Note)
	}
	if ev.Kind == runner.StopAsked {
		s.stop()
	}
	s.callOff(step.CalledOff)
	if err := s.append(step.Events); err != nil {
		return nil, err
	}
	return step.Commands, nil
}

// append writes events to the journal and then applies them.
func (s *session) append(events []runner.Event) error {
	records, err := encode(events)
	if err != nil {
		return err
	}
	if err := s.Journal.Append(context.Background(), records...); err != nil {
		return err
	}
	return s.show(events)
}

func encode(events []runner.Event) ([]store.Record, error) {
	records := make([]store.Record, len(events))
	for i, ev := range events {
		body, err := ev.Encode()
		if err != nil {
			return nil, err
		}
		records[i] = store.Record{Run: ev.Run, Seq: ev.Seq, At: ev.At, Kind: string(ev.Kind), Batch: ev.Batch, Body: body}
	}
	return records, nil
}

// show applies journal events to all derived state and files.
func (s *session) show(events []runner.Event) error {
	for _, ev := range events {
		if err := s.work.add(ev, s.live); err != nil {
			return err
		}
		if err := s.forPeople(ev); err != nil {
			return err
		}
		s.learn(ev)
		s.over(ev)
		s.Observe(ev)
	}
	return nil
}
