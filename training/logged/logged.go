// Package logged makes examples of what runs left behind: the calls of models, what agents made of batches, and reviews
// (TRAIN-03, TRAIN-04, TRAIN-08).
//
// Only what a receipt proves becomes an example. The journal says that a batch merged, its receipt says as what, and git
// has what it says: where one of the three is missing or says something else, the row is refused and counted. Rows are read
// in the order in which they were written, few at a time, so that the same journal makes the same bytes.
package logged

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/runplan/runplan/internal/git"
	"github.com/runplan/runplan/internal/store"
	"github.com/runplan/runplan/runner/local"
	"github.com/runplan/runplan/training"
)

// Source is where the rows are, and what examples are to say of where they come from.
type Source struct {
	Repo    *git.Repo
	Layout  local.Layout
	Journal *store.Journal
	Log     *store.Log
	Name    string // of the repository, see [training.RepoName]
	License string
	Guard   training.Guard
}

// Options say which rows are wanted. What is empty does not matter.
type Options struct {
	Stages []training.Stage
	Since  time.Time
	Tasks  []string // ids; what has no receipt of these is an error
	Strict bool     // any row without a receipt is an error
}

// ErrUnproven says that a row was asked for that nothing proves.
var ErrUnproven = errors.New("asked for without a receipt")

// Build yields the examples of a source, and returns what became of all rows. An error of yield ends it.
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

// build is a source at work.
type build struct {
	Source
	Options
	yield   func(training.Example) error
	objects *git.Objects
	tally   training.Tally

	runs    []store.Run // oldest first
	ofPlan  map[string]string
	facts   recent[*run]
	tasks   recent[*task]
	reviews *reviews
}

// open reads what is small and needed for all rows.
func (b *build) open(ctx context.Context) error {
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
		b.ofPlan[digest([]byte(strings.TrimSpace(string(text))))] = r.ID // the last run of a plan counts
	}
	b.reviews, err = openReviews(b.Repo.Root, b.Layout, b.Guard.Redact)
	return err
}

// wants tells whether a stage is wanted.
func (b *build) wants(s training.Stage) bool {
	return len(b.Stages) == 0 || slices.Contains(b.Stages, s)
}

func (b *build) wantsTask(id string) bool { return len(b.Tasks) == 0 || slices.Contains(b.Tasks, id) }

// emit hands an example over. where names the row, for errors.
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

// refusal is a reason for which a row becomes no example.
type refusal struct {
	reason   string
	unproven bool
}

// The reasons. Those that say unproven are about receipts.
func notMerged() refusal { return refusal{"no receipt: the batch was not merged", true} }
func receiptGone() refusal {
	return refusal{"no receipt: the file is gone; runplan resume writes it again", true}
}
func receiptChanged() refusal {
	return refusal{"the receipt is not the one of the journal", true}
}
func commitGone() refusal { return refusal{"git does not have the commit of the receipt", true} }
func noRun() refusal      { return refusal{"no receipt: the task belongs to no run", true} }
func noRecord() refusal   { return refusal{"no record of the review", true} }
func noBrief() refusal    { return refusal{"the brief is gone", false} }
func noChange() refusal   { return refusal{"the attempt changed nothing", false} }
func noAnswer() refusal   { return refusal{"no answer was given", false} }
func noVerdict() refusal  { return refusal{"no gate judged the attempt", false} }
func noStage() refusal    { return refusal{"the call is of no stage that is trained", false} }
func notEdits() refusal {
	return refusal{"the change cannot be written as edits", false}
}
func changeGone() refusal { return refusal{"the change is gone", false} }
func alike() refusal      { return refusal{"winner and loser wrote the same", false} }
func superseded() refusal {
	return refusal{"the attempt passed, and another one was merged", false}
}
func undone() refusal { return refusal{"the winner was reverted later", false} }

// refuse counts a row that becomes no example. where names it.
func (b *build) refuse(where string, r refusal) error {
	b.tally.Refuse(r.reason, r.unproven)
	if r.unproven && (b.Strict || len(b.Tasks) > 0) {
		return fmt.Errorf("%s: %w: %s", where, ErrUnproven, r.reason)
	}
	return nil
}

// recent keeps the few last things that were looked up: rows of a task stand close together.
type recent[T any] struct {
	keys   []string
	values []T
}

const mostRecent = 16

func (r *recent[T]) get(key string, make func() (T, error)) (T, error) {
	if i := slices.Index(r.keys, key); i >= 0 {
		return r.values[i], nil
	}
	v, err := make()
	if err != nil {
		return v, err
	}
	if len(r.keys) == mostRecent {
		r.keys, r.values = slices.Delete(r.keys, 0, 1), slices.Delete(r.values, 0, 1)
	}
	r.keys, r.values = append(r.keys, key), append(r.values, v)
	return v, nil
}
