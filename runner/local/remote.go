package local

import (
	"context"
	"fmt"
	"maps"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/runplan/runplan/internal/git"
	"github.com/runplan/runplan/internal/store"
	"github.com/runplan/runplan/runner"
)

// Mirror keeps a local journal of a run that another machine drives. It also writes what a local driver would
// write: the data for briefs and receipts, progress.txt, failure patterns and attempt rows. Readers of the journal
// need not know which driver wrote it.
type Mirror struct {
	s    *session
	mu   sync.Mutex
	hear func(runner.Event) // called for each new event in order; nil calls nothing
}

// NewMirror opens the mirror of a run and replays the events that the local journal already has.
func NewMirror(ctx context.Context, c Config, run string, info runner.Info) (*Mirror, error) {
	s := New(c).open(ctx, run, info)
	first := info
	switch then, err := s.begun(ctx); {
	case err != nil:
		return nil, err
	case then != nil:
		first = *then
	}
	if err := s.decide(first); err != nil {
		return nil, err
	}
	if _, err := s.replay(ctx); err != nil {
		return nil, err
	}
	return &Mirror{s: s}, nil
}

// Seq returns the number of the last event in the local journal.
func (m *Mirror) Seq() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.s.recorder.Seq()
}

// Take writes the events that follow the last known one to the journal. It skips events that the journal already
// has.
func (m *Mirror) Take(ctx context.Context, events []runner.Event) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	known := m.s.recorder.Seq()
	events = slices.Clone(events)
	events = slices.DeleteFunc(events, func(e runner.Event) bool { return e.Seq <= known })
	if len(events) == 0 {
		return nil
	}
	for i, e := range events {
		if e.Seq != known+1+i || e.Run != m.s.run {
			return fmt.Errorf("run %s: event %d of run %s does not follow on event %d", m.s.run, e.Seq, e.Run, known+i)
		}
	}
	records, err := encode(events)
	if err != nil {
		return err
	}
	if known == 0 {
		first := events[0]
		if first.Job == nil {
			return fmt.Errorf("run %s: its first event does not say what it is about", m.s.run)
		}
		err = m.s.Journal.AddRun(ctx, store.Run{ID: m.s.run, Slug: first.Job.Slug, Plan: first.Job.Plan, PlanText: []byte(m.s.work.redact.String(string(m.s.PlanText))), Started: first.At}, records...)
	} else {
		err = m.s.Journal.Append(ctx, records...)
	}
	if err != nil {
		return err
	}
	for _, e := range events {
		m.s.recorder.Recall(e)
		if m.hear != nil {
			m.hear(e)
		}
		if err := m.s.show([]runner.Event{e}); err != nil {
			return err
		}
	}
	return nil
}

// Close writes the report of a run that ends with the event last. Call it before [Mirror.Take] gets that event: a
// run that the journal calls finished has a report.
func (m *Mirror) Close(last runner.Event) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.s.Report == nil {
		return nil
	}
	if err := m.s.fold.Apply(last); err != nil {
		return err
	}
	if err := m.s.Report(m.s.fold.Summary()); err != nil {
		m.s.Note("the report could not be written: " + err.Error())
	}
	return nil
}

// Summary returns the summary of the run from the events known so far.
func (m *Mirror) Summary() runner.Summary {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.s.fold.Summary()
}

// Result returns the result of the run, and whether the run has ended.
func (m *Mirror) Result() (runner.Result, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.s.machine.Done()
}

// Worker performs single commands of a run that another machine drives. It uses its own clone and the same code as
// [Engine]. Other workers serve the same run from other clones; they exchange data through a [SharedRepo].
type Worker struct {
	*Mirror
	sharedRepo *SharedRepo

	places sync.Map // place → *sync.Mutex: one command at a time in each place
	runRef sync.Mutex

	shared sync.Mutex // held while the run branch of the shared repository is read or moved
	news   news
}

// NewWorker returns a worker. The configuration describes the clone; c.Observe gets each event that the worker
// records.
func NewWorker(ctx context.Context, c Config, run string, info runner.Info, sharedRepo *SharedRepo) (*Worker, error) {
	m, err := NewMirror(ctx, c, run, info)
	if err != nil {
		return nil, err
	}
	m.s.work.sweep()
	w := &Worker{Mirror: m, sharedRepo: sharedRepo, news: news{orders: map[string]int{}, own: map[int]bool{}, some: true}}
	for ev, err := range m.s.Events(ctx, run, 0) {
		if err != nil {
			return nil, err
		}
		w.news.hear(ev)
	}
	m.hear = w.news.hear
	return w, nil
}

// Done is the result of a command as stored in the shared repository. A second worker with the same command reads it from
// there.
type Done struct {
	Command string         `json:"command"`
	Event   runner.Event   `json:"event"`
	Lost    []runner.Event `json:"lost,omitempty"`  // usage of failed tries
	Notes   []string       `json:"notes,omitempty"` // for the journal
}

// again reports whether the command must be performed again: a cancelled or waiting command has no result.
func (d Done) again() bool { return !d.Event.Outcome.Tells() }

// Pushed names the last step of a run that was pushed to the shared repository. Others continue from it if this machine fails.
type Pushed struct {
	Ref    string `json:"ref"`
	Commit string `json:"commit"`
}

// Order is a command for a worker.
type Order struct {
	Seq     int // journal event that issued the command
	Command runner.Command
	First   bool   // no worker ever had it, so no result can exist
	Last    Pushed // last step reported by an earlier try
}

// Perform performs an order exactly once. If another worker, or this one before a crash, has already pushed a
// result, Perform returns that result. An error is a failure of the infrastructure: another try, or another host,
// may succeed. Perform calls mark after each pushed step.
//
// Perform fetches first. It skips the fetch in two cases: o.Last is the result of this very command; or the order
// is a first one and this worker did everything reported since its last fetch.
func (w *Worker) Perform(ctx context.Context, o Order, mark func(Pushed)) (Done, error) {
	c := o.Command
	lock, _ := w.places.LoadOrStore(c.Place(), &sync.Mutex{})
	place := lock.(*sync.Mutex)
	place.Lock()
	defer place.Unlock()
	if o.Last.Ref == w.sharedRepo.doneRef(o.Seq) {
		if d, err := w.sharedRepo.read(ctx, o.Last.Commit); err == nil && d.Command == c.ID {
			return d, nil
		}
	}
	for try := 1; ; try++ {
		again := !o.First || try > 1
		if err := w.sync(ctx, again); err != nil {
			return Done{}, err
		}
		mark(w.sharedRepo.Latest())
		if again {
			if d, ok, err := w.sharedRepo.done(ctx, o.Seq); err != nil || ok && d.Command == c.ID {
				return d, err
			}
		}
		d, moves, err := w.perform(ctx, c)
		if err != nil {
			return Done{}, err
		}
		if d.again() {
			return d, nil
		}
		err = w.keep(ctx, o, d, moves)
		if err == nil {
			mark(w.sharedRepo.Latest())
		}
		if err == nil || try == pushTries || ctx.Err() != nil {
			return d, err
		}
		// Another worker pushed this command or the branch first.
	}
}

// pushTries limits how often a rejected push is tried again after a new fetch.
const pushTries = 5

// keep stores the result of an order in the shared repository.
func (w *Worker) keep(ctx context.Context, o Order, d Done, moves []Move) error {
	files := w.evidence(o.Command, d.Event)
	if !builtOn(o.Command, d) && len(moves) == 0 {
		if err := w.sharedRepo.putOff(ctx, o.Seq, d, files); err != nil {
			return err
		}
		w.news.did(o.Seq)
		w.s.clearing.Go(w.settle)
		return nil
	}
	if len(moves) > 0 { // a concurrent read of the run branch must not end after the move
		w.shared.Lock()
		defer w.shared.Unlock()
	}
	err := w.sharedRepo.keep(ctx, o.Seq, d, files, moves)
	if err == nil {
		w.news.did(o.Seq)
	}
	return err
}

// builtOn reports whether later work needs more of the result than its report: a candidate, a commit, a branch,
// the evidence of a failure, or the landing. All other results, such as passed gates, only have logs for people.
func builtOn(c runner.Command, d Done) bool {
	e := d.Event
	return e.Outcome != runner.OutcomeOK || e.Commit != "" || e.Tree != c.Tree || c.Kind == runner.LandRun
}

// settleAfter limits how long deferred files wait for the next push of the batch, which takes them along.
const settleAfter = 500 * time.Millisecond

// settle pushes the deferred files that no other push has taken along.
func (w *Worker) settle() {
	select {
	case <-time.After(settleAfter):
	case <-w.s.ctx.Done():
	}
	if err := w.sharedRepo.settle(context.WithoutCancel(w.s.ctx)); err != nil {
		w.s.Note("the logs of a command could not be kept: " + err.Error())
	}
}

// sync fetches what others pushed. It skips the fetch if no news is expected, unless certain is set.
func (w *Worker) sync(ctx context.Context, certain bool) error {
	w.shared.Lock()
	defer w.shared.Unlock()
	if some := w.news.take(); !some && !certain {
		return nil
	}
	err := w.sharedRepo.Fetch(ctx)
	if err == nil {
		err = w.sharedRepo.unpack(ctx)
	}
	if err == nil {
		err = w.runBranch(ctx)
	}
	if err != nil {
		w.news.missed()
	}
	return err
}

// runBranch moves the run branch of this clone to its commit in the shared repository.
func (w *Worker) runBranch(ctx context.Context) error {
	w.runRef.Lock()
	defer w.runRef.Unlock()
	tip, err := w.sharedRepo.Tip(ctx)
	if err != nil || tip == "" {
		return err
	}
	return w.put(ctx, w.s.work.info.Branch, tip)
}

// put moves a branch of this clone to the commit to.
func (w *Worker) put(ctx context.Context, branch, to string) error {
	now, err := w.s.Repo.Resolve(ctx, "refs/heads/"+branch)
	if err != nil {
		return err
	}
	at := w.s.work.refs.move(branch)
	if now != to {
		if err := w.s.Repo.UpdateRefs(ctx, git.RefUpdate{Ref: "refs/heads/" + branch, New: to}); err != nil {
			at(unknown)
			return err
		}
	}
	at(to)
	return nil
}

// perform performs c in this clone. It also returns the branches that the shared repository must move.
func (w *Worker) perform(ctx context.Context, c runner.Command) (Done, []Move, error) {
	s := w.s
	var landing string
	switch c.Kind {
	case runner.Merge, runner.LandRun: // the run branch must not move meanwhile
		w.runRef.Lock()
		defer w.runRef.Unlock()
		tip, err := w.sharedRepo.Tip(ctx)
		if err == nil && tip != "" {
			err = w.put(ctx, s.work.info.Branch, tip)
		}
		if err == nil && c.Kind == runner.Merge {
			err = w.put(ctx, BatchBranch(s.work.info.Slug, c.Batch), c.Commit)
		}
		if err == nil && c.Kind == runner.LandRun && s.work.info.Land == "ff" && s.work.info.BaseBranch != "" {
			if landing, err = w.sharedRepo.fetchBranch(ctx, s.work.info.BaseBranch); err == nil && landing != "" {
				err = s.Repo.UpdateRefs(ctx, git.RefUpdate{Ref: "refs/heads/" + s.work.info.BaseBranch, New: landing})
			}
		}
		if err != nil {
			return Done{}, nil, err
		}
		d := w.do(ctx, c)
		moves, err := w.moved(ctx, c, d, tip, landing)
		return d, moves, err
	}
	return w.do(ctx, c), nil, nil
}

// do calls [session.do] and adds the notes written meanwhile.
func (w *Worker) do(ctx context.Context, c runner.Command) Done {
	s := w.s
	ev, lost := s.do(ctx, c)
	s.work.pool.Rest(c.Place(), false)
	s.mu.Lock()
	notes := s.notes
	s.notes = nil
	s.mu.Unlock()
	return Done{Command: c.ID, Event: ev, Lost: lost, Notes: notes}
}

// moved lists the branches that a merge or a landing moved in this clone.
func (w *Worker) moved(ctx context.Context, c runner.Command, d Done, tip, landing string) ([]Move, error) {
	if d.Event.Outcome != runner.OutcomeOK {
		return nil, nil
	}
	branch, was := w.s.work.info.Branch, tip
	if c.Kind == runner.LandRun {
		if landing == "" {
			return nil, nil
		}
		branch, was = w.s.work.info.BaseBranch, landing
	}
	is, err := w.s.Repo.Resolve(ctx, "refs/heads/"+branch)
	if err != nil || is == was || is == "" {
		return nil, err
	}
	return []Move{{Branch: branch, From: was, To: is}}, nil
}

// evidence lists the files that c left for other workers or for people, relative to .runplan.
func (w *Worker) evidence(c runner.Command, e runner.Event) []string {
	l := w.s.Layout
	var paths []string
	add := func(rel string) {
		if rel == "" || slices.Contains(paths, rel) {
			return
		}
		if _, err := os.Stat(l.Root + "/" + rel); err == nil {
			paths = append(paths, rel)
		}
	}
	if c.Batch != "" {
		add(l.Rel(w.s.work.attemptDir(runner.Command{Batch: c.Batch, Attempt: c.Attempt})))
	}
	add(e.Receipt)
	if e.Review != nil {
		add(e.Review.File)
	}
	return paths
}

// Standing checks, before a run resumes, that the merged batches in the journal still hold. It returns the tip of
// the run branch and a Reopened event for each batch to do again.
func (w *Worker) Standing(ctx context.Context) (tip string, reopened []runner.Event, err error) {
	if err := w.sync(ctx, true); err != nil {
		return "", nil, err
	}
	if tip, err = w.sharedRepo.Tip(ctx); err != nil {
		return "", nil, err
	}
	if tip == "" { // the branch was deleted
		tip = w.s.machine.Tip()
		if err := w.sharedRepo.push(ctx, []Move{{Branch: w.s.work.info.Branch, To: tip}}); err != nil {
			return "", nil, err
		}
	}
	bad, err := w.s.work.verify(ctx, w.s.merged, tip)
	if err != nil {
		return "", nil, err
	}
	for _, key := range slices.Sorted(maps.Keys(bad)) {
		reopened = append(reopened, runner.Event{Kind: runner.Reopened, Batch: key, Base: tip, Reason: bad[key]})
	}
	return tip, reopened, nil
}

// Journal stores the known events of the run in the shared repository.
func (w *Worker) Journal(ctx context.Context) (commit string, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	var events []runner.Event
	for ev, err := range w.s.Events(ctx, w.s.run, 0) {
		if err != nil {
			return "", err
		}
		events = append(events, ev)
	}
	return w.sharedRepo.KeepJournal(ctx, events)
}

// Leave cancels all running work of this worker and waits for its end.
func (w *Worker) Leave() {
	w.s.cancel(errStopped)
	w.s.stop()
	w.s.clearing.Wait()
}

// Redacted returns text without the secrets of this machine.
func (w *Worker) Redacted(text string) string { return w.s.work.redact.String(text) }

// Recall reads the events stored in the shared repository.
func (w *Worker) Recall(ctx context.Context) ([]runner.Event, error) {
	return w.sharedRepo.Journal(ctx)
}
