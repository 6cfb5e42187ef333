package runner

import (
	"context"
	"iter"
)

// Progress receives signs of life of running work. Its lines are only for people: they are not facts and not in the
// journal.
type Progress interface {
	Line(batch, text string)
}

// Engine is the interface of a driver for the command line and other front ends.
type Engine interface {
	// Start runs j until it has ended or stopped. It is idempotent by run id: a run in the journal continues.
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
