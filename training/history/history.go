// Package history makes examples of a repository's history, for the five stages of a run (TRAIN-09..13).
//
// A commit is a task that somebody did: its message says what, the code before it is what there was to see, and the diff is
// the answer. What the stages are asked is made of the very prompts that they use, and what they should say is in the form
// that they read; both are tested against the stages themselves. Commits that teach nothing, or the wrong thing, are left
// out, each with a [Reason].
//
// History is read as a stream, newest first, and what is held of it is bounded. [Run] can be killed at any time: what it
// has written is taken up by the next one, and in the end each file has the bytes that it would have had. The same
// commits, options and seed give the same bytes; the seed decides which irrelevant files are offered, and nothing else.
package history

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/runplan/runplan/internal/git"
	"github.com/runplan/runplan/internal/prompt"
	"github.com/runplan/runplan/internal/tokens"
	"github.com/runplan/runplan/knowledge/outline"
	"github.com/runplan/runplan/patterns"
	"github.com/runplan/runplan/training"
)

// Options say what is read and what is made of it.
type Options struct {
	Repo    *git.Repo
	Dir     string           // the folder that is written to
	Seed    uint64           // of what is drawn
	Stages  []training.Stage // none: all five
	Max     int              // commits that make examples; 0: all of them
	Since   time.Time        // commits before it are not read; zero: none is too old
	License string           // SPDX id of the repository, "" where it is not known
	Version string           // of the program, for the manifest

	Retrieval prompt.Set // see [retrieve.LoadPrompts]
	Solver    prompt.Set // see [solver.LoadPrompts]
	Budget    tokens.Budget
	Program   patterns.Program // ast-grep; the zero Program leaves commits in its languages out
	Redact    func(string) string
	Canary    training.Canary
	Progress  func(Progress) // may be nil
}

// Progress is how far a run is.
type Progress struct {
	Done, Total int // commits
	Resumed     int // of Done, before this run
	Examples    int
}

// Stages returns the stages that history teaches, in the order of a run.
func Stages() []training.Stage {
	return []training.Stage{training.TaskAnalysis, training.Scope, training.Precision, training.ExecutePlan, training.ExecuteCode}
}

// DefaultBudget is the window that examples have to fit into where no other is known.
func DefaultBudget() tokens.Budget { return tokens.Budget{Window: 16384, Reserved: 8192, Margin: 0.2} }

// The reasons why nothing can be made of a repository.
var (
	ErrPartial = errors.New("the clone is a partial one: contents of files are not here")
)

// chunk is how many commits are looked at together.
const chunk = 96

// Run reads a history and writes its examples.
func Run(ctx context.Context, o Options) (Manifest, error) {
	if len(o.Stages) == 0 {
		o.Stages = Stages()
	}
	for _, s := range o.Stages {
		if !slices.Contains(Stages(), s) {
			return Manifest{}, fmt.Errorf("history teaches no stage %q; it teaches %v", s, Stages())
		}
	}
	o.Stages = slices.DeleteFunc(Stages(), func(s training.Stage) bool { return !slices.Contains(o.Stages, s) })
	if err := o.Budget.Validate(); err != nil {
		return Manifest{}, err
	}
	if out, err := o.Repo.Run(ctx, "config", "--get-regexp", `^remote\..*\.promisor$`); err == nil && out != "" {
		return Manifest{}, ErrPartial
	}
	head, _, err := o.Repo.Head(ctx)
	if err != nil {
		return Manifest{}, err
	}
	b, err := openBook(o, head)
	if err != nil {
		return Manifest{}, err
	}
	defer b.close()
	span := git.Span{Head: b.state.Plan.Head, Since: o.Since, Skip: b.state.Done}
	total, err := o.Repo.CountPast(ctx, span)
	if err != nil {
		return Manifest{}, err
	}
	if err := o.read(ctx, b, span, total); err != nil {
		_ = b.checkpoint(true) // where even that fails, the last one stands
		return Manifest{}, err
	}
	return b.finish()
}

// read goes through a history, and writes what comes of it.
func (o Options) read(ctx context.Context, b *book, span git.Span, total int) error {
	ctx, stop := context.WithCancel(ctx)
	objects := o.Repo.Objects(ctx)
	loaded := make(chan []*work, 1)
	failed := make(chan error, 1)
	go func() {
		defer close(loaded)
		failed <- o.loadAll(ctx, objects, b.reverted(), span, loaded)
	}()
	defer objects.Close()
	defer func() {
		stop()
		for range loaded { // the loader has left the objects alone before they are closed
		}
	}()
	m := &maker{Options: o, sentry: newSentry(o.Repo.Root, o.Redact), guard: training.Guard{Redact: o.Redact, Canary: o.Canary}, repo: b.state.Plan.Repo}
	resumed := b.state.Done
	for works := range loaded {
		out := make([]made, len(works))
		err := parallel(ctx, len(works), func(i int) error {
			if works[i].reason != "" {
				return nil
			}
			var err error
			if out[i], err = m.examples(ctx, works[i]); err != nil {
				return fmt.Errorf("%v: %w", works[i], err)
			}
			return nil
		})
		if err != nil {
			return err
		}
		for i, w := range works {
			if o.Max > 0 && b.state.Used >= o.Max {
				return nil
			}
			if err := b.add(w, out[i]); err != nil {
				return err
			}
		}
		if err := b.checkpoint(false); err != nil {
			return err
		}
		if o.Progress != nil {
			o.Progress(Progress{Done: b.state.Done, Total: total, Resumed: resumed, Examples: b.examples()})
		}
		if o.Max > 0 && b.state.Used >= o.Max {
			return nil
		}
	}
	return <-failed
}

// loadAll reads commits, chunk by chunk: while one is looked at, the next one is read.
func (o Options) loadAll(ctx context.Context, objects *git.Objects, reverted map[string]bool, span git.Span, to chan<- []*work) error {
	l := &loader{
		objects: objects, forest: newForest(objects), shelf: newShelf(objects, reader{o.Program, o.Repo.Root, outline.NewGoMemory()}), sentry: newSentry(o.Repo.Root, o.Redact),
		seed: o.Seed, reverted: reverted,
	}
	ctx, stop := context.WithCancel(ctx)
	begun := make(chan []*work, 1)
	failed := make(chan error, 1)
	go func() {
		defer close(begun)
		failed <- o.beginAll(ctx, l, span, begun)
	}()
	defer func() {
		stop()
		for range begun { // it has left the objects alone then
		}
	}()
	for works := range begun {
		if err := l.goOn(ctx, works); err != nil {
			return err
		}
		if err := hand(ctx, to, works); err != nil {
			return err
		}
	}
	return <-failed
}

// beginAll goes through a history.
func (o Options) beginAll(ctx context.Context, l *loader, span git.Span, to chan<- []*work) error {
	var list []git.Past
	flush := func() error {
		if len(list) == 0 {
			return nil
		}
		works, err := l.begin(ctx, list)
		if err != nil {
			return err
		}
		list = list[:0]
		return hand(ctx, to, works)
	}
	for c, err := range o.Repo.Past(ctx, span) {
		if err != nil {
			return err
		}
		if list = append(list, c); len(list) == chunk {
			if err := flush(); err != nil {
				return err
			}
		}
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return flush()
}

// hand hands commits on, unless nobody takes them any more.
func hand(ctx context.Context, to chan<- []*work, works []*work) error {
	select {
	case to <- works:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
