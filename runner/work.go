package runner

import (
	"context"
	"iter"
)

// Work is the only port to the outside. It is called at least once for each command, so each method is
// idempotent by Command.ID. A domain failure (a red gate, a conflict, a limit) is an [Event]; an error is
// infrastructure, and the driver tries again.
type Work interface {
	// Execute lets an agent work on a batch and returns the candidate: a commit that no hook has seen.
	Execute(ctx context.Context, c Command, p Progress) (Event, error)
	// Sample says which candidates are to compete, or why none are.
	Sample(ctx context.Context, c Command, p Progress) (Event, error)
	// Judge compares the candidates of a tournament.
	Judge(ctx context.Context, c Command, p Progress) (Event, error)
	// Rebase puts a candidate on top of another commit, without touching the run branch.
	Rebase(ctx context.Context, c Command, p Progress) (Event, error)
	// Gates checks the candidate's tree.
	Gates(ctx context.Context, c Command, p Progress) (Event, error)
	// Fidelity holds the candidate against the blueprints that its files belong to.
	Fidelity(ctx context.Context, c Command, p Progress) (Event, error)
	// Review looks at what the candidate changes, or without a batch at all that the run made.
	Review(ctx context.Context, c Command, p Progress) (Event, error)
	// Commit makes the batch's one commit of the gated tree, with the repository's hooks and signing.
	Commit(ctx context.Context, c Command, p Progress) (Event, error)
	// Merge moves the run branch to the commit, by compare-and-swap.
	Merge(ctx context.Context, c Command, p Progress) (Event, error)
	// Land brings the run branch to where the user wants it.
	Land(ctx context.Context, c Command, p Progress) (Event, error)
}

// Progress carries signs of life. Lines are for people who watch; they are not facts and not in the journal.
type Progress interface {
	Line(batch, text string)
}

// Engine is the interface for the command line and other front ends.
type Engine interface {
	// Start runs j until it has ended or stopped. It is idempotent by run id: a run that the journal knows
	// goes on where it was.
	Start(ctx context.Context, run string, j Info) (Result, error)
	// Post adds a fact from outside: a stop, an approval, a note.
	Post(ctx context.Context, run string, e Event) error
	// Events yields the journal of a run from seq on, in order.
	Events(ctx context.Context, run string, from int) iter.Seq2[Event, error]
	// List summarises the runs that match f, newest first.
	List(ctx context.Context, f Filter) ([]Summary, error)
}

// Filter selects runs. Zero fields select all.
type Filter struct {
	Run    string // id, or a unique beginning of it
	Slug   string
	Latest bool // only the newest
}
