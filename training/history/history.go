// Package history makes examples for the five stages of a run from a repository's history (TRAIN-09..13).
//
// A commit is a completed task: its message is the task, the code before it is the context, and its diff is the answer.
// The examples use the prompts and answer formats of the stages; tests check both against the stages. Commits without
// value for training are rejected with a [Reason].
//
// History is read as a stream, newest first, with bounded memory. [Run] can be killed at any time: the next run
// continues, and the final files are the same. The same commits, options and seed give the same bytes. The seed decides
// only which irrelevant files and unchanged chunks are shown.
package history

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"time"

	"github.com/runplan/runplan/internal/fence"
	"github.com/runplan/runplan/internal/git"
	"github.com/runplan/runplan/internal/lists"
	"github.com/runplan/runplan/internal/prompt"
	"github.com/runplan/runplan/internal/recent"
	"github.com/runplan/runplan/internal/tokens"
	"github.com/runplan/runplan/patterns"
	"github.com/runplan/runplan/training"
)

// Options holds the parameters of [Run].
type Options struct {
	Repo    *git.Repo
	Dir     string           // output folder
	Seed    uint64           // random seed
	Stages  []training.Stage // empty: all five
	Max     int              // highest number of used commits; 0: all
	Since   time.Time        // oldest commit time; zero: no limit
	License string           // SPDX id of the repository; "" if unknown
	Version string           // version of the program, for the manifest

	Retrieval prompt.Set // see [retrieve.LoadPrompts]
	Solver    prompt.Set // see [solver.LoadPrompts]
	Budget    tokens.Budget
	Program   patterns.Program    // ast-grep; the zero Program skips commits in its languages
	Redact    func(string) string // removes secrets, those by their form included; nil removes those alone
	Canary    training.Canary
	Progress  func(Progress) // may be nil
}

// Progress is the progress of a run.
type Progress struct {
	Done, Total int // commits
	Resumed     int // part of Done from earlier runs
	Examples    int
}

// Stages returns the stages that history teaches, in the order of a run.
func Stages() []training.Stage {
	return []training.Stage{training.TaskAnalysis, training.Scope, training.Precision, training.ExecutePlan,
		training.ExecuteCode}
}

// DefaultBudget returns the window for examples if no other is known.
func DefaultBudget() tokens.Budget { return tokens.Budget{Window: 16384, Reserved: 8192, Margin: 0.2} }

// ErrPartial reports a repository whose history cannot be read completely.
var ErrPartial = errors.New("the clone is partial: file contents are missing")

// Numbers of commits that steps of the pipeline process together.
const (
	chunk     = 96   // read by git
	batch     = 32   // commits that may make examples, or more
	mostBatch = 1920 // with all other commits that are read for a batch, or up to a chunk more
)

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
	if o.Redact == nil {
		o.Redact = fence.Hide
	}
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
		_ = b.checkpoint(true) // on failure the previous checkpoint remains valid
		return Manifest{}, err
	}
	return b.finish()
}

// read processes a history and writes the examples.
func (o Options) read(ctx context.Context, b *book, span git.Span, total int) error {
	ctx, cancel := context.WithCancel(ctx)
	var objects [3]*git.Objects // one process of git for each step that reads, so that none waits for another one
	for i := range objects {
		objects[i] = o.Repo.Objects(ctx)
		defer objects[i].Close()
	}
	newSentry := func() sentry { return newSentry(o.Repo.Root, o.Redact) }
	cache := newVersionCache(newReader(o.Program, o.Repo.Root))
	l := &loader{objects: objects[0], forest: newForest(objects[0]), cache: cache, seed: o.Seed,
		reverted: maps.Clone(b.taken)}
	others, code := otherText{objects[1], newSentry()}, changedCode{cache, newSentry()}
	around := newSurroundings(objects[2], cache, newSentry())
	// Commits go through a pipeline: each step works on other commits at the same time.
	pipe := o.begun(ctx, l, span)
	var stops []func()
	for _, steps := range [][]step{nil, {others.refuse}, {code.look}, {around.near, around.choose}} {
		ahead, stop := lists.Ahead(then(ctx, pipe, steps...), 1)
		pipe, stops = ahead, append(stops, stop)
	}
	defer func() { // nothing may use the objects any longer
		cancel()
		for _, stop := range slices.Backward(stops) {
			stop()
		}
	}()
	m := &maker{Options: o, sentry: newSentry(),
		guard: training.Guard{Redact: o.Redact, Canary: o.Canary}, repo: b.state.Plan.Repo,
		words: recent.NewShared[uint64](mostTerms, func(terms []uint64) int { return len(terms) + 10 })}
	resumed := b.state.Done
	for works, err := range pipe {
		if err != nil {
			return err
		}
		out := make([]made, len(works))
		err = parallel(ctx, len(works), func(i int) error {
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
	if b.state.Done < total {
		return fmt.Errorf("git printed only %d of %d commits; run it again to continue", b.state.Done, total)
	}
	return nil
}

// begun walks through a history and begins its commits in chunks.
func (o Options) begun(ctx context.Context, l *loader, span git.Span) iter.Seq2[[]*work, error] {
	return func(yield func([]*work, error) bool) {
		var list []git.Past
		var ready []*work
		known := min(span.Skip, lookBack) // commits of an earlier run, of which only the successors count
		span.Skip -= known
		for c, err := range o.Repo.Past(ctx, span) {
			if err != nil {
				yield(nil, err)
				return
			}
			if known > 0 {
				l.later.add(c)
				known--
				continue
			}
			if list = append(list, c); len(list) < chunk {
				continue
			}
			works, err := l.begin(ctx, list)
			list, ready = list[:0], append(ready, works...)
			if err != nil || len(open(ready)) >= batch || len(ready) >= mostBatch {
				if !yield(ready, err) {
					return
				}
				ready = nil
			}
		}
		if ctx.Err() != nil {
			yield(nil, context.Cause(ctx))
			return
		}
		works, err := l.begin(ctx, list)
		yield(append(ready, works...), err)
	}
}

// step works on commits without a reason, and may give them one.
type step func(context.Context, []*work) error

// then applies steps to the commits of a pipeline.
func then(ctx context.Context, seq iter.Seq2[[]*work, error], steps ...step) iter.Seq2[[]*work, error] {
	return func(yield func([]*work, error) bool) {
		for works, err := range seq {
			if err == nil {
				err = each(ctx, works, steps...)
			}
			if !yield(works, err) {
				return
			}
		}
	}
}
