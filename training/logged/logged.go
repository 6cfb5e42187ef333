// Package logged makes examples from the records of runs: model calls, results of agents, and reviews (TRAIN-03,
// TRAIN-04, TRAIN-08).
//
// Only work with a receipt becomes an example. The journal records that a batch was merged, the receipt names the
// commit, and git contains it. If one of the three is missing or disagrees, the row is rejected and counted. Rows are
// read in the order of writing, a few at a time, so that the same journal gives the same bytes.
package logged

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/runplan/runplan/internal/git"
	"github.com/runplan/runplan/internal/recent"
	"github.com/runplan/runplan/internal/store"
	"github.com/runplan/runplan/runner/journal"
	"github.com/runplan/runplan/training"
)

// Source describes where the rows are and the origin of the examples.
type Source struct {
	Repo    *git.Repo
	Journal journal.Reader
	Log     *store.Log
	Name    string // name of the repository, see [training.RepoName]
	License string
	Guard   training.Guard
}

// Options selects rows. Empty fields select all.
type Options struct {
	Stages []training.Stage
	Since  time.Time
	Tasks  []string // ids; a missing receipt is an error
	Strict bool     // any missing receipt is an error
}

// ErrUnproven reports a requested row without a receipt.
var ErrUnproven = errors.New("requested row has no receipt")

// Build yields the examples of a source and returns the counts of all rows. It stops at an error of yield.
func Build(ctx context.Context, s Source, o Options, yield func(training.Example) error) (training.Tally, error) {
	b := &build{Source: s, Options: o, yield: yield, objects: s.Repo.Objects(ctx)}
	defer b.objects.Close()
	if err := b.open(ctx); err != nil {
		return b.tally, err
	}
	if err := b.batches(ctx); err != nil {
		return b.tally, err
	}
	if err := b.calls(ctx); err != nil {
		return b.tally, err
	}
	if b.tally.Counts == nil {
		b.tally.Counts = []training.Count{}
	}
	if b.tally.Refused == nil {
		b.tally.Refused = []training.Refusal{}
	}
	return b.tally, nil
}

// mostRecent limits the runs and the tasks that are kept, to twice as many: rows of a task are close together.
const mostRecent = 8

// build is the state of one [Build] call.
type build struct {
	Source
	Options
	yield   func(training.Example) error
	objects *git.Objects
	tally   training.Tally

	runs    []store.Run // oldest first
	ofPlan  map[string]string
	facts   *recent.Map[string, *run]
	tasks   *recent.Map[string, *task]
	reviews *reviews
}

// open reads the small data that all rows need.
func (b *build) open(ctx context.Context) error {
	b.facts = recent.New[string](mostRecent, func(*run) int { return 1 })
	b.tasks = recent.New[string](mostRecent, func(*task) int { return 1 })
	var err error
	if b.runs, err = b.Journal.Runs(ctx); err != nil {
		return err
	}
	slices.Reverse(b.runs)
	b.ofPlan = map[string]string{}
	for _, r := range b.runs {
		text, err := b.Journal.PlanText(ctx, r.ID)
		if err != nil {
			return err
		}
		b.ofPlan[journal.Sum([]byte(strings.TrimSpace(string(text))))] = r.ID // the last run of a plan wins
	}
	b.reviews, err = openReviews(b.Repo.Root, b.Journal.Layout, b.Guard.Redact)
	return err
}

// wants reports whether a stage is selected.
func (b *build) wants(s training.Stage) bool {
	return len(b.Stages) == 0 || slices.Contains(b.Stages, s)
}

func (b *build) wantsTask(id string) bool { return len(b.Tasks) == 0 || slices.Contains(b.Tasks, id) }

// emit passes an example on. where names the row in errors.
func (b *build) emit(where string, e training.Example) error {
	e.Source, e.Base = training.Logged, training.BaseOf(e.Stage)
	e.Origin.Repo, e.Origin.License = b.Name, b.License
	e, err := b.Guard.Seal(e)
	if err != nil {
		return fmt.Errorf("%s: %w", where, err)
	}
	b.tally.Add(e)
	return b.yield(e)
}

// refusal is the reason why a row gives no example.
type refusal struct {
	reason   string
	unproven bool
}

// The reasons. unproven marks the ones about receipts.
var (
	notMerged      = refusal{"no receipt: the batch was not merged", true}
	receiptGone    = refusal{"no receipt: the file does not exist; runplan resume rewrites it", true}
	receiptChanged = refusal{"the receipt is not the one of the journal", true}
	commitGone     = refusal{"git does not have the commit of the receipt", true}
	noRun          = refusal{"no receipt: the task belongs to no run", true}
	noRecord       = refusal{"no record of the review", true}
	noBrief        = refusal{"the brief no longer exists", false}
	noLog          = refusal{"the agent's log is missing or empty", false}
	noChange       = refusal{"the attempt changed nothing", false}
	noAnswer       = refusal{"no answer was given", false}
	noVerdict      = refusal{"no gate judged the attempt", false}
	noStage        = refusal{"the stage of the call is not trained", false}
	notEdits       = refusal{"the change cannot be written as edits", false}
	changeGone     = refusal{"the change no longer exists", false}
	alike          = refusal{"winner and loser wrote the same", false}
	superseded     = refusal{"the attempt passed, and another one was merged", false}
	undone         = refusal{"the winner was reverted later", false}
)

// refuse counts a refused row. where names it.
func (b *build) refuse(where string, r refusal) error {
	b.tally.Refuse(r.reason, r.unproven)
	if r.unproven && (b.Strict || len(b.Tasks) > 0) {
		return fmt.Errorf("%s: %w: %s", where, ErrUnproven, r.reason)
	}
	return nil
}
