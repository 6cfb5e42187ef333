// Package local runs a plan on this machine: goroutines, git worktrees and the SQLite journal around
// [runner.Machine].
//
// Each fact is in the journal before anything acts on it. Everything else on disk (receipts, reports,
// progress.txt, logs) is made from the journal or for people. Kill the process anywhere: the next one reads
// the journal, puts the workspaces back and goes on.
package local

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"encoding/json"

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
)

// Config is what an engine needs to run a plan.
type Config struct {
	Repo        *git.Repo
	Layout      Layout
	Home        string // folder of runplan's own files, outside of the repository; rooms for gates are made in it
	Journal     *store.Journal
	Plan        *planparse.Plan
	PlanText    []byte
	Agent       agents.Agent
	Fallback    []agents.Agent // who takes over, in order, from those that met a limit
	Limits      agents.Limits
	GateConfig  gates.Settings
	Baseline    bool // a failure that the base has as well does not count against a batch
	GateTimeout time.Duration
	Format      bool
	Copy        []string
	Setup       string
	SetupTime   time.Duration
	MaxTime     time.Duration // of this session; 0 is no limit
	Environ     []string      // the user's environment; agents and gates see a part of it
	Secrets     []string      // KEY=VALUE of settings and copied files, which nothing that is kept may have in it
	Reaper      *proc.Reaper
	Mark        string // KEY=VALUE in the environment of all that works in a workspace, besides RUNPLAN_RUN; "" is none

	Mutants  mutants.Options // Tree is set by the driver; a Budget of 0 tries none
	Sampling Sampling
	Reviews  Reviews
	Critic   Critic // looks at the steps of agents; nil looks at none

	Context     briefing.Limits                                          // figures of the context block
	ContextFile string                                                   // file of the workspace that gets the block as a section; "" none
	Where       func(ctx context.Context, text string) ([]string, error) // places that a text is probably about; nil does not tell
	Style       func(ctx context.Context, dir string) string             // how the code in a folder is written; nil does not tell

	// StrictCheckout fails an attempt during which the user's checkout changed, instead of warning.
	StrictCheckout bool

	// MemoryFloor is how much memory has to be available, in bytes, before an agent is started beside others; 0 does
	// not look. Memory reads it.
	MemoryFloor uint64
	Memory      func() (uint64, error)

	Change *Change // the plan is another than the run had, and that was accepted; nil where it is the same

	Redo []string // keys of merged batches that are done again

	Notes []string // what the journal is to tell of this go at a run, before anything is done

	Now     func() time.Time
	Observe func(runner.Event)         // each event once it is in the journal, in order
	Line    func(batch, text string)   // live output, not in the journal
	Note    func(text string)          // what is worth knowing and not an event
	Report  func(runner.Summary) error // writes the run's report; nil writes none
}

// Change is what the acceptance of a changed plan means for a run.
type Change struct {
	Report gates.Report // what became of each batch
	Anew   []string     // keys of batches that are begun, and are begun again
}

// Engine runs one plan at a time. It implements [runner.Engine].
type Engine struct {
	Config
	posts chan runner.Event
}

var _ runner.Engine = (*Engine)(nil)

// New returns an engine.
func New(c Config) *Engine { return &Engine{Config: c, posts: make(chan runner.Event, 16)} }

// Post adds a fact to the run that is at work.
func (e *Engine) Post(ctx context.Context, _ string, ev runner.Event) error {
	select {
	case e.posts <- ev:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// session is one process's go at a run.
type session struct {
	*Engine
	run     string
	machine *runner.Machine
	fold    runner.Fold
	work    *work
	books   *runner.Scribe
	heard   int64 // id of the post that was taken up last
	results chan result
	jobs    map[string]*job // under way, by the id of their command
	last    map[string]*job // of each batch, the one started last
	guard   guard
	ctx     context.Context // of the work; cancelled to stop at once
	cancel  context.CancelCauseFunc
	mu      sync.Mutex
	facts   map[string]*facts
	merged  map[string]merge // by batch
	tip     seen             // what was last said of what was merged last
	final   *runner.ReviewInfo
	tests   map[string]*gates.TestCount // by commit of the run branch
	live    bool                        // what is remembered happens now, and is not read back
	notes   []string
	noted   chan struct{}
	history chronicle
	limits  limits // of the run, as the journal last had them
	config  string // digest of the settings, likewise
	watch   failures.Observer
	digests map[string]string // of the batches' texts, as the run last knew them

	erred    bool           // something could not be done at all, and nothing was asked for since
	stopping chan struct{}  // closed once no more is begun
	stopOnce sync.Once      // closes it
	clearing sync.WaitGroup // clears away what batches left that were put back
}

// errStopped is the cause of a context that ends because the run is to stop at once.
var errStopped = errors.New("the run was stopped")

// Start runs the plan until it has ended or stopped. A run that the journal knows goes on where it was;
// the caller holds the lock of its slug.
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

// open makes the session of a run, which knows nothing yet.
func (e *Engine) open(ctx context.Context, run string, info runner.Info) *session {
	s := &session{
		Engine: e, run: run, results: make(chan result),
		jobs: map[string]*job{}, last: map[string]*job{},
		facts: map[string]*facts{}, merged: map[string]merge{}, tests: map[string]*gates.TestCount{}, digests: map[string]string{}, noted: make(chan struct{}, 1),
		stopping: make(chan struct{}),
	}
	s.ctx, s.cancel = context.WithCancelCause(context.WithoutCancel(ctx))
	s.guard = guard{floor: e.MemoryFloor, memory: e.Memory, note: s.note}
	cfg := e.Config
	cfg.Note = s.note
	s.work = &work{Config: cfg, run: run, info: info, redact: redact.New(slices.Concat(e.Environ, e.Secrets)), digest: s.digest, factsOf: s.factsOf, atTip: s.atTip, finalReview: s.finalReview, refs: newRefs()}
	s.work.failures = failures.Open(e.Layout.FailurePatterns(), s.note)
	s.watch = failures.Observer{Store: s.work.failures, Difference: func(ctx context.Context, from, to string) ([]string, int, int, error) {
		return failures.Difference(ctx, e.Repo, from, to)
	}}
	s.work.chronicle = func() chronicle {
		s.mu.Lock()
		defer s.mu.Unlock()
		return chronicle{slices.Clone(s.history.ended), slices.Clone(s.history.working)}
	}
	s.work.pool = &Pool{
		repo: e.Repo, layout: e.Layout, slug: info.Slug, note: s.note, used: map[string]*Space{}, refs: s.work.refs, stir: s.work.lookout.drop,
		setup: Setup{e.Copy, e.Setup, e.SetupTime, s.work.agentEnv(e.Layout.Temp(run)), e.Reaper, e.Limits.Grace},
	}
	return s
}

// loop hands out commands and folds what comes back, until nothing is under way.
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
			if pending, err = s.hear(context.WithoutCancel(ctx), false); err != nil { // what was said just before the end counts
				return runner.Result{}, err
			}
			if len(pending) > 0 {
				continue
			}
			if res, done := s.machine.Done(); done {
				return res, s.finish(ctx, res)
			}
			return runner.Result{}, fmt.Errorf("run %s: internal error: no pending command and the run is not finished; please report it", s.run)
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
			_, err = s.record(runner.Event{Kind: runner.StopAsked, Outcome: runner.OutcomeLimited, Reason: fmt.Sprintf("the time limit of %s is reached", s.MaxTime)})
			s.cancel(errStopped)
		case <-interrupted:
			interrupted = nil
			_, err = s.record(runner.Event{Kind: runner.StopAsked, Outcome: runner.OutcomeCancelled, Reason: context.Cause(ctx).Error()})
			s.cancel(errStopped)
		}
		if err != nil {
			// Without a journal nothing may go on; what is under way is stopped and not waited for in vain.
			s.cancel(errStopped)
			for ; running > 0; running-- {
				<-s.results
			}
			return runner.Result{}, err
		}
	}
}

// note puts what is worth knowing into the journal, from whichever goroutine.
func (s *session) note(text string) {
	s.mu.Lock()
	s.notes = append(s.notes, s.work.redact.String(text))
	s.mu.Unlock()
	select {
	case s.noted <- struct{}{}:
	default: // the loop was woken already
	}
}

// writeNotes brings the notes into the journal.
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

// do carries out one command and turns whatever comes of it into an event. What was spent on tries that came to nothing
// is told beside it.
func (s *session) do(ctx context.Context, c runner.Command) (ev runner.Event, lost []runner.Event) {
	start := s.Now()
	ev, lost, err := s.tries(ctx, c)
	ev = c.Report(ev)
	ev.DurationMS = since(start, s.Now())
	if err != nil {
		ev.Outcome, ev.Reason = runner.OutcomeError, s.work.redact.String(err.Error())
		if unstarted := (*agentError)(nil); errors.As(err, &unstarted) {
			ev.Outcome = runner.OutcomeUnstarted
		}
		if errors.Is(err, errStopped) || ctx.Err() != nil {
			ev.Outcome, ev.Reason = runner.OutcomeCancelled, "stopped while it was under way"
		}
	}
	return ev, lost
}

// mostTries is how often something is tried that may go well another time.
const mostTries = 3

// pauseAfter is how long to wait after the nth try.
func pauseAfter(try int) time.Duration { return time.Duration(try*try) * 200 * time.Millisecond }

// tries calls the port. Errors of the infrastructure are tried again, unless no other try can cure them.
func (s *session) tries(ctx context.Context, c runner.Command) (ev runner.Event, lost []runner.Event, err error) {
	for try := 1; ; try++ {
		switch c.Kind {
		case runner.Execute:
			ev, err = s.execute(ctx, c)
		case runner.Sample:
			ev, err = s.work.Sample(ctx, c, lines(s.Line))
		case runner.Judge:
			ev, err = s.work.Judge(ctx, c, lines(s.Line))
		case runner.Rebase:
			ev, err = s.work.Rebase(ctx, c, lines(s.Line))
		case runner.Wait:
			ev, err = s.wait(ctx, c)
		case runner.Gate, runner.Trial:
			ev, err = s.work.Gates(ctx, c, lines(s.Line))
		case runner.Commit:
			ev, err = s.work.Commit(ctx, c, lines(s.Line))
		case runner.Merge:
			ev, err = s.work.Merge(ctx, c, lines(s.Line))
		case runner.LandRun:
			ev, err = s.work.Land(ctx, c, lines(s.Line))
		case runner.Review:
			ev, err = s.work.Review(ctx, c, lines(s.Line))
		case runner.Fidelity:
			ev, err = s.work.Fidelity(ctx, c, lines(s.Line))
		case runner.Ask: // the fact is all: who answers posts it
			ev = c.Asked()
		default:
			return runner.Event{}, nil, fmt.Errorf("command %s: this driver does not know kind %q", c.ID, c.Kind)
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

// lines makes a [runner.Progress] of a function.
type lines func(batch, text string)

// Line calls f.
func (f lines) Line(batch, text string) { f(batch, text) }

// record writes an event and what follows from it, in one transaction, and returns what is to be done.
func (s *session) record(ev runner.Event) ([]runner.Command, error) {
	step := s.books.Fold(ev, s.underWay())
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

// append writes events to the journal and then shows them.
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

// show folds events that are in the journal into everything that is made from it.
func (s *session) show(events []runner.Event) error {
	for _, ev := range events {
		if err := s.remember(ev); err != nil {
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

// remember keeps what later commands ask for.
func (s *session) remember(ev runner.Event) error {
	if err := s.fold.Apply(ev); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if ev.Batch == "" {
		if ev.Kind == runner.Reviewed && ev.Review != nil {
			s.final = ev.Review
		}
		return nil
	}
	f := s.facts[ev.Batch]
	if f == nil {
		f = &facts{}
		s.facts[ev.Batch] = f
	}
	f.add(ev)
	s.history.add(ev, s.fold.Summary())
	switch ev.Kind {
	case runner.Merged:
		if ev.Outcome == runner.OutcomeOK {
			s.merged[ev.Batch] = merge{ev.Base, ev.Commit, ev.Tree, ev.Fingerprint}
			f.before, f.merged = s.tests[ev.Base], true
			s.tip, f.last = f.last, seen{}
			if s.tests[ev.Commit] = f.after; f.after == nil {
				s.tests[ev.Commit] = f.before // nobody counted, so nothing newer is known
			}
		}
	case runner.BatchPassed:
		if s.live { // the receipt is written, and a resume has all of it from the journal
			delete(s.facts, ev.Batch)
			delete(s.merged, ev.Batch)
		}
	case runner.Reopened:
		delete(s.merged, ev.Batch)
		delete(s.facts, ev.Batch)
	}
	return nil
}

// atTip returns what was last said of what was merged last.
func (s *session) atTip() seen {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.tip
}

// finalReview returns what the final review came to, nil without one.
func (s *session) finalReview() *runner.ReviewInfo {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.final
}

// factsOf returns what is known of a batch that is, or will be, merged on commit base.
func (s *session) factsOf(batch, base string) facts {
	s.mu.Lock()
	defer s.mu.Unlock()
	var now facts
	if f := s.facts[batch]; f != nil {
		now = *f
	}
	if !now.merged {
		now.before = s.tests[base]
	}
	return now
}

// digest returns the failure digest of an earlier event, and the file with its changes.
func (s *session) digest(seq int) (text, patch string) {
	for ev, err := range events(context.Background(), s.Journal, s.run, seq) {
		if err != nil {
			s.note("the failure of the last attempt could not be read: " + err.Error())
			return "", ""
		}
		at := runner.Command{Batch: ev.Batch, Attempt: ev.Attempt}
		if ev.Candidate > 0 {
			at.Slot = &runner.Slot{Number: ev.Candidate}
		}
		path := filepath.Join(s.work.attemptDir(at), patchName)
		if _, err := os.Stat(path); err != nil {
			path = ""
		}
		return gates.Digest(gates.Verdict{Reports: ev.Reports}, digestBytes), path
	}
	return "", ""
}

// digestBytes bounds the failure digest in a brief.
const digestBytes = 6 << 10

// Events yields the journal of a run from seq on, in order.
func (e *Engine) Events(ctx context.Context, run string, from int) iter.Seq2[runner.Event, error] {
	return events(ctx, e.Journal, run, from)
}

func events(ctx context.Context, j *store.Journal, run string, from int) iter.Seq2[runner.Event, error] {
	return func(yield func(runner.Event, error) bool) {
		for r, err := range j.Events(ctx, run, from) {
			var ev runner.Event
			if err == nil {
				if err = json.Unmarshal(r.Body, &ev); err != nil {
					err = fmt.Errorf("journal: event %d of run %s cannot be read: %w", r.Seq, run, err)
				}
			}
			if !yield(ev, err) || err != nil {
				return
			}
		}
	}
}
