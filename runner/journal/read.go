package journal

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/runplan/runplan/internal/rooted"
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
		if text, err := l.Read(copied.Log, MaxFile); err == nil && Sum(text) == copied.Fingerprint {
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

// Reader reads a journal and the files that belong to its events.
type Reader struct {
	*store.Journal
	Layout
}

// MaxFile limits the bytes of files that are read as a whole.
const MaxFile = 64 << 20

// Read reads a file of at most limit bytes. name is relative to .runplan, as in events. It follows no link out of that
// folder. Errors include [fs.ErrNotExist].
func (l Layout) Read(name string, limit int) ([]byte, error) { return rooted.Read(l.Root, name, limit) }

// ErrFileChanged means that a file of an attempt is not the one of the journal.
var ErrFileChanged = errors.New("the file is not the one of the journal")

// Attached reads a file of the attempt that an event reports on, such as [BriefFile]. A file of which the event has the
// hash must be the same; otherwise the error is [ErrFileChanged].
func (l Layout) Attached(e runner.Event, file string, limit int) ([]byte, error) {
	data, err := l.Read(l.Rel(filepath.Join(l.AttemptOf(e), file)), limit)
	if sum := e.Sums[file]; err == nil && sum != "" && Sum(data) != sum {
		err = ErrFileChanged
	}
	if err != nil {
		return nil, fmt.Errorf("read %s of attempt %d at batch %s of run %s: %w", file, e.Attempt, e.Batch, e.Run, err)
	}
	return data, nil
}

// SumFiles returns the SHA-256 of files in a folder below .runplan, by name, for an event. A file that does not exist or
// is larger than [MaxFile] has none.
func (l Layout) SumFiles(dir string, names ...string) map[string]string {
	sums := map[string]string{}
	for _, name := range names {
		if data, err := l.Read(l.Rel(filepath.Join(dir, name)), MaxFile); err == nil {
			sums[name] = Sum(data)
		}
	}
	return sums
}

// Changed returns the names of the files in a folder below .runplan that do not have their hash in sums, sorted. A file
// that no longer exists is not among them.
func (l Layout) Changed(dir string, sums map[string]string) []string {
	now := l.SumFiles(dir, slices.Collect(maps.Keys(sums))...)
	maps.DeleteFunc(now, func(name, sum string) bool { return sum == sums[name] })
	return slices.Sorted(maps.Keys(now))
}

// Ledgers lists the files with the findings of reviews: of branches, and of the batches of runs.
func (l Layout) Ledgers() ([]string, error) {
	ofRuns, err := fs.Glob(os.DirFS(l.Root), l.Rel(l.Findings("*", "*")))
	if err != nil {
		return nil, err
	}
	ofBranches, err := fs.Glob(os.DirFS(l.Root), l.Rel(filepath.Join(l.BranchFindings(), "*.json")))
	return append(ofRuns, ofBranches...), err // sorted
}
