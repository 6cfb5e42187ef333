package failures

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/runplan/runplan/gates"
	"github.com/runplan/runplan/internal/lazyre"
)

// Fact is what an event says of an attempt. The words of Kind and Outcome are those of the journal.
type Fact struct {
	Kind    string // "executed", "rebased", "gated", "committed", "merged", "reopened"; all others are passed over
	Outcome string
	Reason  string
	Batch   string // key
	Title   string // of the batch, as the plan has it
	Attempt int
	Reports []gates.Report
	Base    string // commit that the attempt began at
	Tree    string // what it left, "" where it left nothing
	Summary string // what the agent said at its end, if that is known
	At      time.Time
}

// Observer turns what happens to the batches of one run into rows of a store. It is used by one goroutine.
//
// A failure is counted after it is in the journal. A process that is killed in between does not count it, and one that
// resumes does not count it twice: the facts it reads back go to [Observer.Recall].
type Observer struct {
	Store *Store
	// Difference tells what differs between two trees or commits.
	Difference func(ctx context.Context, from, to string) (files []string, added, removed int, err error)

	batches map[string]*course
}

// course is what became of one batch so far.
type course struct {
	failed  []failure // in order; each kind once, with the last attempt that failed so
	left    string    // tree of the attempt under way
	summary string
}

type failure struct{ kind, tree string }

// Recall takes up a fact of an earlier process. It is in the store already, or was lost with that process.
func (o *Observer) Recall(f Fact) { o.fold(f) }

// Observe takes up a fact, counts it when it is a failure, and keeps what helped when it is a merge after failures.
func (o *Observer) Observe(ctx context.Context, f Fact) error {
	kind, won := o.fold(f)
	var errs []error
	if kind != "" {
		errs = append(errs, o.Store.RecordFrom(f.Title, kind, f.At, Origin{LessonID: lessonOf(kind, f.Reports)}))
	}
	for _, w := range won {
		fix, err := o.fix(ctx, w, f)
		if err == nil {
			err = o.Store.Won(f.Title, w.kind, fix)
		}
		errs = append(errs, err)
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("remember the failures of batch %s: %w", f.Batch, err)
	}
	return nil
}

// lessonRule is how the gate of lessons names a finding.
var lessonRule = lazyre.New(`^lesson/([0-9]+)$`)

// lessonOf is the lesson that a failure repeats, "" where it repeats none.
func lessonOf(kind string, reports []gates.Report) string {
	if kind != lessonRepeated {
		return ""
	}
	for _, r := range reports {
		for _, f := range r.Findings {
			if m := lessonRule.FindStringSubmatch(f.Rule); m != nil && f.Severity == gates.Error && !f.Known {
				return m[1]
			}
		}
	}
	return ""
}

// fold returns the kind of failure that f is, and the failures that are overcome with it.
func (o *Observer) fold(f Fact) (kind string, won []failure) {
	if o.batches == nil {
		o.batches = map[string]*course{}
	}
	c := o.batches[f.Batch]
	if c == nil {
		c = &course{}
		o.batches[f.Batch] = c
	}
	switch f.Kind {
	case "reopened":
		delete(o.batches, f.Batch)
	case "executed", "rebased", "gated", "committed":
		if f.Tree != "" {
			c.left = f.Tree
		}
		if f.Summary != "" {
			c.summary = f.Summary
		}
		if kind = TypeOf(f.Reports, f.Outcome, f.Reason); kind == "" {
			return "", nil
		}
		tree := f.Tree
		if tree == "" {
			tree = f.Base
		}
		c.fail(failure{kind, tree})
	case "merged":
		if f.Outcome == "conflict" {
			kind = byOutcome[f.Outcome]
			c.fail(failure{kind, c.left})
			return kind, nil
		}
		if f.Outcome == "ok" {
			won, c.failed = c.failed, nil
		}
	}
	return kind, won
}

func (c *course) fail(f failure) {
	for i := range c.failed {
		if c.failed[i].kind == f.kind {
			c.failed[i] = f
			return
		}
	}
	c.failed = append(c.failed, f)
}

// fix says what the attempt that passed did otherwise than the last one that failed in this way.
func (o *Observer) fix(ctx context.Context, was failure, f Fact) (string, error) {
	c := o.batches[f.Batch]
	to := f.Tree
	if to == "" {
		to = c.left
	}
	if was.tree == "" || to == "" || o.Difference == nil {
		return Fix(nil, 0, 0, c.summary), nil
	}
	files, added, removed, err := o.Difference(ctx, was.tree, to)
	if err != nil {
		return "", err
	}
	return Fix(files, added, removed, c.summary), nil
}
