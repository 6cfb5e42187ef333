package local

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/runplan/runplan/internal/git"
	"github.com/runplan/runplan/internal/store"
	"github.com/runplan/runplan/runner"
)

// refs holds the expected commits of the run's branches. Agents can move branches, and several agents run
// concurrently.
type refs struct {
	mu     sync.Mutex
	at     map[string]string // branch → commit
	moving map[string]int    // branches that the run itself is moving
}

func newRefs() *refs { return &refs{at: map[string]string{}, moving: map[string]int{}} }

// move marks a branch as being moved by the run. Call the result with the new commit, or with "" if the branch is
// gone. With unknown, the branch is not checked until the next move.
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

// strayed returns the branches that are not at their expected commit, with that commit.
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

// putBack moves the run's branches back to their expected commits. Because the run may move them concurrently, it
// checks again before it reports an error.
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
				w.Note(
					fmt.Sprintf(
						"another program moved %s from %s to %s while an agent worked. It was restored; the commits found there are "+
							"kept, "+
							"to look "+
							"at or to merge: git log %s..%s",
						branch, short(astray[branch]), now[branch], short(astray[branch]), found))
			}
		}
	}
	if last != nil {
		return fmt.Errorf("restore the branches of the run: %w", last)
	}
	return nil
}

// found returns the branch that keeps the commits to which the run branch was moved, and whether it must be made.
// It returns "" if nothing would be lost. These commits may be the user's or an agent's. Commits on batch branches
// are not kept: agents may commit there, and the runner uses only their files.
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

// FoundBranch returns the name of a branch for a found commit: another program moved the run branch to it.
func FoundBranch(slug, commit string) string {
	return ofRuns + slug + "/found-" + short(commit)
}

// ofRun reports whether a branch belongs to this run.
func (w *work) ofRun(branch string) bool {
	return strings.HasPrefix(branch, "runplan/"+w.info.Slug+"/")
}

// UnverifiedBranch returns the branch for commits of the run branch without a verified event.
func UnverifiedBranch(slug, commit string) string {
	return "runplan/" + slug + "/unverified-" + short(commit)
}

// Rewind moves the run branch back to its position after the event upTo. It returns the branch that keeps the removed
// commits; "" if it was already there. Call it before later events are removed, because they may be the only record of
// later merges.
func Rewind(ctx context.Context, repo *git.Repo, j *store.Journal, run string, upTo int) (kept string, err error) {
	var recorder *runner.Recorder
	var info runner.Info
	for ev, err := range Events(ctx, j, run, 0) {
		if ev.Seq > upTo {
			break
		}
		if err != nil {
			return "", err
		}
		if recorder == nil {
			if ev.Job == nil {
				return "", fmt.Errorf("journal: the first event of run %s does not describe the run", run)
			}
			info = *ev.Job
			machine, err := runner.New(info)
			if err != nil {
				return "", err
			}
			recorder = runner.NewRecorder(run, machine, nil)
		}
		recorder.Recall(ev)
	}
	if recorder == nil {
		return "", nil
	}
	ref, tip := "refs/heads/"+info.Branch, recorder.Machine().Tip()
	now, err := repo.Resolve(ctx, ref)
	if err != nil || now == "" || now == tip {
		return "", err
	}
	kept = UnverifiedBranch(info.Slug, now)
	if at, err := repo.Resolve(ctx, "refs/heads/"+kept); err != nil || at == "" {
		if err := repo.UpdateRefs(ctx, git.RefUpdate{Ref: "refs/heads/" + kept, New: now}); err != nil {
			return "", fmt.Errorf("keep the commits of %s: %w", info.Branch, err)
		}
	}
	if err := repo.UpdateRefs(ctx, git.RefUpdate{Ref: ref, Old: now, New: tip}); err != nil {
		return "", fmt.Errorf("move %s back to %s: %w", info.Branch, short(tip), err)
	}
	return kept, nil
}
