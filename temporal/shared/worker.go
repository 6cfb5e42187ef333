package shared

import (
	"context"
	"os"
	"slices"
	"sync"

	"github.com/runplan/runplan/internal/git"
	"github.com/runplan/runplan/runner"
	"github.com/runplan/runplan/runner/journal"
	"github.com/runplan/runplan/runner/local"
)

// Worker performs single commands of a run that another machine drives. It uses its own clone and the same code as
// [local.Engine]. Other workers serve the same run from other clones; they exchange data through a [SharedRepo].
type Worker struct {
	*local.Mirror
	config     local.Config
	info       runner.Info
	sharedRepo *SharedRepo

	places sync.Map // place → *sync.Mutex: one command at a time in each place
	runRef sync.Mutex

	shared sync.Mutex // held while the run branch of the shared repository is read or moved
	news   news
}

// NewWorker returns a worker. The configuration describes the clone; c.Observe gets each event that the worker records.
func NewWorker(ctx context.Context, c local.Config, run string, info runner.Info, sharedRepo *SharedRepo) (*Worker,
	error) {
	m, err := local.NewMirror(ctx, c, run, info)
	if err != nil {
		return nil, err
	}
	m.Sweep()
	w := &Worker{
		Mirror: m, config: c, info: info, sharedRepo: sharedRepo,
		news: news{orders: map[string]int{}, own: map[int]bool{}, some: true},
	}
	return w, m.Replay(ctx, w.news.hear)
}

// Done is the result of a command as stored in the shared repository. A second worker with the same command reads it
// from there.
type Done struct {
	Command string         `json:"command"`
	Event   runner.Event   `json:"event"`
	Lost    []runner.Event `json:"lost,omitempty"`  // usage of failed tries
	Notes   []string       `json:"notes,omitempty"` // for the journal
}

// again reports whether the command must be performed again: a cancelled or waiting command has no result.
func (d Done) again() bool { return !d.Event.Outcome.Tells() }

// Pushed names the last step of a run that was pushed to the shared repository. Others continue from it if this machine
// fails.
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
	if len(moves) > 0 { // a concurrent read of the run branch must not end after the move
		w.shared.Lock()
		defer w.shared.Unlock()
	}
	err := w.sharedRepo.keep(ctx, o.Seq, d, w.evidence(o.Command, d.Event), moves)
	if err == nil {
		w.news.did(o.Seq)
	}
	return err
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
	return w.MoveBranch(ctx, w.info.Branch, tip)
}

// perform performs c in this clone. It also returns the branches that the shared repository must move.
func (w *Worker) perform(ctx context.Context, c runner.Command) (Done, []Move, error) {
	var landing string
	switch c.Kind {
	case runner.Merge, runner.LandRun: // the run branch must not move meanwhile
		w.runRef.Lock()
		defer w.runRef.Unlock()
		tip, err := w.sharedRepo.Tip(ctx)
		if err == nil && tip != "" {
			err = w.MoveBranch(ctx, w.info.Branch, tip)
		}
		if err == nil && c.Kind == runner.Merge {
			err = w.MoveBranch(ctx, journal.BatchBranch(w.info.Slug, c.Batch), c.Commit)
		}
		if err == nil && c.Kind == runner.LandRun && w.info.Land == "ff" && w.info.BaseBranch != "" {
			if landing, err = w.sharedRepo.fetchBranch(ctx, w.info.BaseBranch); err == nil && landing != "" {
				err = w.config.Repo.UpdateRefs(ctx, git.RefUpdate{Ref: "refs/heads/" + w.info.BaseBranch, New: landing})
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

// do performs c and adds the notes written meanwhile.
func (w *Worker) do(ctx context.Context, c runner.Command) Done {
	ev, lost, notes := w.Do(ctx, c)
	return Done{Command: c.ID, Event: ev, Lost: lost, Notes: notes}
}

// moved lists the branches that a merge or a landing moved in this clone.
func (w *Worker) moved(ctx context.Context, c runner.Command, d Done, tip, landing string) ([]Move, error) {
	if d.Event.Outcome != runner.OutcomeOK {
		return nil, nil
	}
	branch, was := w.info.Branch, tip
	if c.Kind == runner.LandRun {
		if landing == "" {
			return nil, nil
		}
		branch, was = w.info.BaseBranch, landing
	}
	is, err := w.config.Repo.Resolve(ctx, "refs/heads/"+branch)
	if err != nil || is == was || is == "" {
		return nil, err
	}
	return []Move{{Branch: branch, From: was, To: is}}, nil
}

// evidence lists the files that c left for other workers or for people, relative to .runplan.
func (w *Worker) evidence(c runner.Command, e runner.Event) []string {
	l := w.config.Layout
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
		add(l.Rel(l.Attempt(w.sharedRepo.Run, c.Batch, c.Attempt)))
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
		tip = w.Tip()
		if err := w.sharedRepo.push(ctx, []Move{{Branch: w.info.Branch, To: tip}}); err != nil {
			return "", nil, err
		}
	}
	reopened, err = w.Verify(ctx, tip)
	return tip, reopened, err
}

// Journal stores the known events of the run in the shared repository.
func (w *Worker) Journal(ctx context.Context) (commit string, err error) {
	events, err := w.Events(ctx)
	if err != nil {
		return "", err
	}
	return w.sharedRepo.KeepJournal(ctx, events)
}

// Recall reads the events stored in the shared repository.
func (w *Worker) Recall(ctx context.Context) ([]runner.Event, error) {
	return w.sharedRepo.Journal(ctx)
}
