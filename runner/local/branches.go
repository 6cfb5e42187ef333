package local

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"

	"github.com/runplan/runplan/internal/git"
	"github.com/runplan/runplan/internal/proc"
	"github.com/runplan/runplan/internal/store"
	"github.com/runplan/runplan/runner"
	"github.com/runplan/runplan/runner/journal"
)

// refs holds the expected commits of the run's branches. Agents can move branches, and several agents run concurrently.
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
				w.Note(fmt.Sprintf("another program moved %s from %s to %s while an agent worked. It was restored; the commits "+
					"found there are kept, to look at or to merge: git log %s..%s", branch, short(astray[branch]), now[branch],
					short(astray[branch]), found))
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

// UnverifiedBranch returns the branch for commits of the run branch without a verified event.
func UnverifiedBranch(slug, commit string) string {
	return "runplan/" + slug + "/unverified-" + short(commit)
}

// Rewind moves the run branch back to its position after the event upTo. It returns the branch that keeps the removed
// commits; "" if no commit was removed. Call it before later events are removed, because they may be the only record of
// later merges.
func Rewind(ctx context.Context, repo *git.Repo, j *store.Journal, run string, upTo int) (kept string, err error) {
	var recorder *runner.Recorder
	var info runner.Info
	for ev, err := range journal.Events(ctx, j, run, 0) {
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

const ofRuns = "runplan/"

// tidyStashes removes an agent's stashes from the user's list, because git has one list for all worktrees. It
// identifies them by the branch on which they were made. A missing entry may have been removed by the agent or by
// the user, so tidyStashes notes how to restore it.
func (w *work) tidyStashes(ctx context.Context, branch string, before []git.Stash) {
	after, err := w.Repo.Stashes()
	if err != nil {
		w.Note(err.Error())
		return
	}
	if slices.Equal(before, after) {
		return
	}
	for _, e := range after {
		if slices.Contains(before, e) || !madeOn(e, branch+":") {
			continue
		}
		if err := w.dropStash(ctx, e); err != nil {
			w.Note("a stash of the agent could not be dropped: " + err.Error())
			return
		}
	}
	for _, s := range before {
		if !slices.Contains(after, s) && !strings.Contains(s.Message, "n "+ofRuns) { // may be another agent's
			w.Note(fmt.Sprintf("the stash %q disappeared since the agent began; if you did not drop it: git stash "+
				"store -m %q %s", s.Message, s.Message, s.Hash))
		}
	}
}

// madeOn reports whether a stash was made on a branch whose name begins with branch.
func madeOn(e git.Stash, branch string) bool {
	// "WIP on BRANCH: …", or "On BRANCH: …" if the agent gave a message
	return strings.HasPrefix(e.Message, "WIP on "+branch) || strings.HasPrefix(e.Message, "On "+branch)
}

// sweepStashes removes the remaining stashes of agents. Call it when no agent is running, because agents can change the
// list.
func (w *work) sweepStashes(ctx context.Context) {
	list, err := w.Repo.Stashes()
	if err != nil {
		w.Note(err.Error())
		return
	}
	for _, e := range list {
		if !madeOn(e, ofRuns+w.info.Slug+"/b") {
			continue
		}
		if err := w.dropStash(ctx, e); err != nil {
			w.Note("a stash of an agent could not be dropped: " + err.Error())
		}
	}
}

// dropStash drops one entry. Git identifies entries by position, and counts before it locks the list. If another agent
// adds one meanwhile, git drops the wrong entry. So dropStash checks the result and restores a wrongly dropped entry.
func (w *work) dropStash(ctx context.Context, e git.Stash) error {
	var last error
	var before []git.Stash
	for range 10 {
		list, err := w.Repo.Stashes()
		if err != nil {
			return err
		}
		for _, lost := range before {
			if lost != e && !slices.Contains(list, lost) {
				if _, err := w.Repo.Run(ctx, "stash", "store", "-m", lost.Message, lost.Hash); err != nil {
					return fmt.Errorf("restore the stash %s: %w", lost.Hash, err)
				}
			}
		}
		i := slices.Index(list, e)
		if i < 0 {
			return nil
		}
		before = list
		// its position may no longer exist
		_, last = w.Repo.Run(ctx, "stash", "drop", "--quiet", fmt.Sprintf("stash@{%d}", len(list)-1-i))
	}
	if last == nil {
		last = errors.New("other programs kept changing the list")
	}
	return fmt.Errorf("drop the stash %q: %w", e.Message, last)
}

// dropUpkeepLock removes a lock of git maintenance that a killed git left during the run. While the lock exists, git
// does no maintenance in the user's repository. A running git keeps the file open. If dropUpkeepLock cannot determine
// whether any process has it open, it keeps the lock and notes that. It also keeps a lock from before the run.
func (w *work) dropUpkeepLock(idle bool) {
	if !idle || !w.Repo.HasUpkeepLock() {
		return
	}
	path := w.Repo.UpkeepLock()
	switch open, known := proc.Opened(path); {
	case open:
		return
	case !known:
		w.Note("git's lock .git/objects/maintenance.lock was created during the run; it is unknown whether a git " +
			"process still uses it. If none is running, remove it: rm " + path)
		return
	}
	if err := os.Remove(path); err != nil {
		w.Note("git's maintenance was interrupted during the run, and its lock cannot be removed: " + err.Error())
		return
	}
	w.Note("git's maintenance was interrupted during the run; its lock .git/objects/maintenance.lock was removed")
}

// dropRefLocks removes the ref locks that a killed git of an agent left. With such a lock, neither the run nor the
// user could update the ref. Other code handles the locks of the run's own branches, because the run moves those
// all the time.
func (w *work) dropRefLocks(before []string) {
	now, err := w.Repo.RefLocks()
	if err != nil {
		w.Note(err.Error())
		return
	}
	for _, name := range now {
		if slices.Contains(before, name) || strings.HasPrefix(name, "refs/heads/"+ofRuns) {
			continue
		}
		if err := w.Repo.RemoveLock(name); err != nil {
			w.Note("a git process was killed while an agent worked: " + err.Error())
		}
	}
}
