package journal

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/runplan/runplan/internal/checksum"
	"github.com/runplan/runplan/internal/store"
	"github.com/runplan/runplan/runner"
)

// Events yields the events of one run from seq on, in order.
func Events(ctx context.Context, j *store.Journal, run string, from int) iter.Seq2[runner.Event, error] {
	return func(yield func(runner.Event, error) bool) {
		for r, err := range j.Events(ctx, run, from) {
			var ev runner.Event
			if err == nil {
				if err = json.Unmarshal(r.Body, &ev); err != nil {
					err = fmt.Errorf("journal: event %d of run %s cannot be read: %w", r.Seq, run, err)
				}
			}
			if !yield(ev, err) || err != nil {
				return
			}
		}
	}
}

// List summarizes the runs that match f, newest first.
func List(ctx context.Context, j *store.Journal, f runner.Filter) ([]runner.Summary, error) {
	runs, err := j.Runs(ctx)
	if err != nil {
		return nil, err
	}
	runs = slices.DeleteFunc(runs, func(r store.Run) bool {
		return f.Run != "" && !strings.HasPrefix(r.ID, f.Run) || f.Slug != "" && r.Slug != f.Slug
	})
	if f.Latest && len(runs) > 1 {
		runs = runs[:1]
	}
	var out []runner.Summary
	for _, r := range runs {
		sum, err := summary(ctx, j, r.ID)
		if errors.Is(err, runner.ErrLoopVersion) {
			// Another version of runplan wrote it; still list the other runs.
			sum, err = runner.Summary{
				Run: r.ID, Plan: r.Plan, Title: r.Plan, Slug: r.Slug, Started: r.Started, Updated: r.Started,
				Status: runner.RunStopped, Stop: runner.OutcomeError, Reason: err.Error(), Batches: []runner.BatchSummary{},
			}, nil
		}
		if err != nil {
			return nil, fmt.Errorf("run %s: %w", r.ID, err)
		}
		out = append(out, sum)
	}
	return out, nil
}

func summary(ctx context.Context, j *store.Journal, run string) (runner.Summary, error) {
	var fold runner.Fold
	for ev, err := range Events(ctx, j, run, 0) {
		if err == nil {
			err = fold.Apply(ev)
		}
		if err != nil {
			return runner.Summary{}, err
		}
	}
	return fold.Summary(), nil
}

// PlanText returns the last accepted plan of a run: the first one, or that of a later plan.changed event. If the
// copy of a changed plan is missing or was edited, it returns the first text with fresh false.
func PlanText(ctx context.Context, j *store.Journal, l Layout, run string) (text []byte, fresh bool, err error) {
	var copied runner.Event
	for ev, err := range Events(ctx, j, run, 0) {
		if err != nil {
			return nil, false, err
		}
		if ev.Kind == runner.PlanChanged {
			copied = ev
		}
	}
	if copied.Log != "" {
		if text, err := l.Read(copied.Log, MaxFile); err == nil && checksum.SHA256(text) == copied.Fingerprint {
			return text, true, nil
		}
	}
	text, err = j.PlanText(ctx, run)
	return text, copied.Log == "", err
}

// Unheard lists the posts that a run has not read yet, in order.
func Unheard(ctx context.Context, j *store.Journal, run string) ([]runner.Event, error) {
	posts, err := j.Posts(ctx, run, 0)
	if err != nil || len(posts) == 0 {
		return nil, err
	}
	heard := int64(0)
	for ev, err := range Events(ctx, j, run, 0) {
		if err != nil {
			return nil, err
		}
		heard = max(heard, ev.Post)
	}
	posts = slices.DeleteFunc(posts, func(p store.Post) bool { return p.ID <= heard || !j.Vouches(p) })
	out := make([]runner.Event, len(posts))
	for i, p := range posts {
		if out[i], err = Posted(p); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// Posted returns the event of a post.
func Posted(p store.Post) (runner.Event, error) {
	var ev runner.Event
	if err := json.Unmarshal(p.Body, &ev); err != nil {
		return ev, fmt.Errorf("journal: post %d to run %s cannot be read: %w", p.ID, p.Run, err)
	}
	ev.Post = p.ID
	return ev, nil
}
