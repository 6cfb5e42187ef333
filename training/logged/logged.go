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
	"io"
	"slices"
	"strings"
	"time"

	"github.com/runplan/runplan/internal/checksum"
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

// mostRecent limits the runs and the tasks that are kept, to twice as many: rows of a task are close together.
const mostRecent = 8

// build is the state of one reading of a source.
type build struct {
	Source
	Options
	out     io.Writer // of examples
	objects *git.Objects
	tally   training.Tally

	runs    []store.Run // oldest first
	ofPlan  map[string]string
	facts   *recent.Map[string, *run]
	tasks   *recent.Map[string, *task]
	ledgers []ledger
	records map[string]record // reviews of blueprints, by digest of the prompt
}

// newBuild returns a build with nothing read. The caller closes its objects.
func newBuild(ctx context.Context, s Source, o Options, out io.Writer) *build {
	return &build{
		Source: s, Options: o, out: out, objects: s.Repo.Objects(ctx), ofPlan: map[string]string{},
		tally:   training.Tally{Counts: []training.Count{}, Refused: []training.Refusal{}},
		facts:   recent.New[string](mostRecent, func(*run) int { return 1 }),
		tasks:   recent.New[string](mostRecent, func(*task) int { return 1 }),
		records: map[string]record{},
	}
}

// open reads the runs of the journal and the stored reviews.
func (b *build) open(ctx context.Context) error {
	var err error
	if b.runs, err = b.Journal.Runs(ctx); err != nil {
		return err
	}
	slices.Reverse(b.runs)
	for _, r := range b.runs {
		text, err := b.Journal.PlanText(ctx, r.ID)
		if err != nil {
			return err
		}
		b.ofPlan[digestOf(string(text))] = r.ID // the last run of a plan wins
	}
	return b.openReviews()
}

// digestOf identifies the text of a plan.
func digestOf(plan string) string { return checksum.SHA256(strings.TrimSpace(plan)) }

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
	line, err := e.Encode()
	if err == nil {
		_, err = b.out.Write(line)
	}
	return err
}

// refusal is the reason why a row gives no example. It is an error up to [build.refuse].
type refusal struct {
	reason   string
	unproven bool
}

func (r refusal) Error() string { return r.reason }

// The reasons. unproven marks the ones about receipts and about files that were changed later.
var (
	notMerged      = refusal{"no receipt: the batch was not merged", true}
	receiptGone    = refusal{"no receipt: the file does not exist; runplan resume rewrites it", true}
	receiptChanged = refusal{"the receipt differs from the journal", true}
	commitGone     = refusal{"git does not have the commit of the receipt", true}
	noRun          = refusal{"no receipt: the task belongs to no run", true}
	noRecord       = refusal{"no record of the review", true}
	fileChanged    = refusal{"the brief or the log differs from the journal", true}
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

// refuse counts a refused row. where names it. It returns other errors as they are.
func (b *build) refuse(where string, err error) error {
	r, refused := errors.AsType[refusal](err)
	if !refused {
		return err
	}
	b.tally.Refuse(r.reason, r.unproven)
	if r.unproven && (b.Strict || len(b.Tasks) > 0) {
		return fmt.Errorf("%s: %w: %s", where, ErrUnproven, r.reason)
	}
	return nil
}
