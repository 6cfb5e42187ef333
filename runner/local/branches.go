package local

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/runplan/runplan/internal/git"
)

// refs knows where the branches of a run are to be: agents can move them, and several are at work at once.
type refs struct {
	mu     sync.Mutex
	at     map[string]string // branch → commit
	moving map[string]int    // branches that the run itself is moving now
}

func newRefs() *refs { return &refs{at: map[string]string{}, moving: map[string]int{}} }

// move is held while the run itself moves a branch; what it returns is told where the branch is then, "" for gone.
// With the word "unknown" nobody looks at it until it is moved again.
func (r *refs) move(branch string) (to func(commit string)) {
	r.mu.Lock()
	r.moving[branch]++
	r.mu.Unlock()
	return func(commit string) {
		r.mu.Lock()
		defer r.mu.Unlock()
		if r.moving[branch]--; r.moving[branch] == 0 {
			delete(r.moving, branch)
		}
		switch commit {
		case "", unknown:
			delete(r.at, branch)
		default:
			r.at[branch] = commit
		}
	}
}

const unknown = "unknown"

// strayed returns the branches that are not where they are to be, with where that is.
func (r *refs) strayed(now map[string]string) map[string]string {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := map[string]string{}
	for branch, commit := range r.at {
		if r.moving[branch] == 0 && now[branch] != commit {
			out[branch] = commit
		}
	}
	return out
}

// putBack brings the branches of the run to where they are to be. The run may move them meanwhile, so what is
// believed to be astray is looked at again before it is given up on.
func (w *work) putBack(ctx context.Context) error {
	var last error
	for range 5 {
		now, err := w.Repo.Refs(ctx)
		if err != nil {
			return err
		}
		astray := w.refs.strayed(now)
		if len(astray) == 0 {
			return nil
		}
		last = nil
		for _, branch := range slices.Sorted(maps.Keys(astray)) {
			updates := []git.RefUpdate{{Ref: "refs/heads/" + branch, New: astray[branch], Old: now[branch]}}
			found, isNew := w.found(ctx, branch, now[branch], astray[branch])
			if isNew {
				updates = append(updates, git.RefUpdate{Ref: "refs/heads/" + found, New: now[branch]})
			}
			if err := w.Repo.UpdateRefs(ctx, updates...); err != nil {
				last = err
				continue
			}
			if found != "" {
				w.Note(fmt.Sprintf("somebody moved %s from %s to %s while an agent worked. It was put back; what was found there is kept, to look at or to merge: git log %s..%s",
					branch, short(astray[branch]), now[branch], short(astray[branch]), found))
			}
		}
	}
	if last != nil {
		return fmt.Errorf("put the branches of the run back: %w", last)
	}
	return nil
}

// found names the branch that keeps what the run branch was moved to, and tells whether it has to be made. It is "" where
// nothing would be lost. Nobody can tell the user's commits there from an agent's. The branches of batches are not
// kept: they are the agents' to commit on, and their files are taken over.
func (w *work) found(ctx context.Context, branch, is, was string) (name string, isNew bool) {
	if branch != w.info.Branch || is == "" {
		return "", false
	}
	if in, err := w.Repo.IsAncestor(ctx, is, was); err == nil && in {
		return "", false
	}
	name = FoundBranch(w.info.Slug, is)
	at, err := w.Repo.Resolve(ctx, "refs/heads/"+name)
	return name, err != nil || at != is
}

// FoundBranch is the branch that keeps a commit which the run branch was moved to by somebody else.
func FoundBranch(slug, commit string) string {
	return ofRuns + slug + "/found-" + short(commit)
}

// ofRun tells whether a branch belongs to this run.
func (w *work) ofRun(branch string) bool {
	return strings.HasPrefix(branch, "runplan/"+w.info.Slug+"/")
}
