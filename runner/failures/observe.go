package failures

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/runplan/runplan/gates"
	"github.com/runplan/runplan/internal/lazyre"
)

// Fact holds what an event says about an attempt. Kind and Outcome have the values of the journal.
type Fact struct {
	Kind    string // "executed", "rebased", "gated", "committed", "merged", "reopened"; others are ignored
	Outcome string
	Reason  string
	Batch   string // key
	Title   string // of the batch, from the plan
	Reports []gates.Report
	Base    string // start commit of the attempt
	Tree    string // resulting tree, "" if there is none
	At      time.Time
}

// Observer turns the failures of one run's batches into rows of a store. It is not safe for concurrent use.
//
// A failure is counted after it is in the journal. If the process is killed in between, the failure is never counted: a
// resume passes old facts to [Observer.Recall], which does not count them.
type Observer struct {
	Store *Store
	// Difference returns the difference between two trees or commits.
	Difference func(ctx context.Context, from, to string) (files []string, added, removed int, err error)

	batches map[string]*course
}

// course is the history of one batch.
type course struct {
	failed []failure // in order; each kind once, with its last failed attempt
	left   string    // tree of the current attempt
}

type failure struct{ kind, tree string }

// Recall applies a fact of an earlier process, without counting it.
func (o *Observer) Recall(f Fact) { o.fold(f) }

// Observe applies a fact. It counts a failure. If a batch merges after failures, it stores the fix.
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

// lessonRule matches the rule names of lesson findings.
var lessonRule = lazyre.New(`^lesson/([0-9]+)$`)

// lessonOf returns the id of the lesson that a failure repeats, or "".
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

// fold returns the failure kind of f, and the failures that f overcomes.
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
		if kind = TypeOf(f.Reports, f.Outcome, f.Reason); kind == "" {
			return "", nil
		}
		tree := cmp.Or(f.Tree, f.Base)
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

// fix describes the difference between the passed attempt and the last one with this failure.
func (o *Observer) fix(ctx context.Context, was failure, f Fact) (string, error) {
	c := o.batches[f.Batch]
	to := cmp.Or(f.Tree, c.left)
	if was.tree == "" || to == "" || o.Difference == nil {
		return "", nil
	}
	files, added, removed, err := o.Difference(ctx, was.tree, to)
	if err != nil {
		return "", err
	}
	return Fix(files, added, removed), nil
}
