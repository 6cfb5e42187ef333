package local

import (
	"context"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/runplan/runplan/internal/git"
)

// inspect looks at what the agent did to git itself, puts it right, and returns why the attempt cannot
// count, or "". Files are not looked at: whatever the agent committed on its own is taken as its work.
func (w *work) inspect(ctx context.Context, s *Space, g glance) string {
	if err := s.Check(); err != nil {
		os.Remove(markerOf(s.Dir)) // it is made anew for the next attempt
		gone := os.RemoveAll(s.Dir)
		w.pool.Release(g.Batch) // only now: others may take the folder
		if gone != nil {
			return "the agent removed or replaced the .git of its workspace, which cannot be cleared away: " + gone.Error()
		}
		if err := w.putBack(ctx); err != nil {
			return err.Error()
		}
		return "the agent removed or replaced the .git of its workspace"
	}
	if err := s.Unlock(s.Branch); err != nil {
		return err.Error()
	}
	conflicts, err := s.Conflicts(ctx)
	if err != nil {
		return err.Error()
	}
	if err := s.DropUnfinished(); err != nil {
		return "the agent left a merge in the middle that cannot be undone: " + err.Error()
	}
	ours := "refs/heads/" + s.Branch
	head, err := s.HeadRef()
	if err != nil {
		return err.Error()
	}
	var why string
	if head != ours {
		why = w.switched(ctx, s, head, ours, g.Refs)
	}
	w.dropMade(ctx, s, g)
	if why == "" && len(conflicts) > 0 {
		why = "the agent left a merge in the middle, with conflicts in " + strings.Join(conflicts[:min(len(conflicts), 5)], ", ")
	}
	if why == "" {
		why = w.inSubmodules(ctx, s, g)
	}
	// Commits of the agent's own: the files stay, the branch goes back, and the one commit is made later.
	if err := w.putBack(ctx); err != nil {
		return err.Error()
	}
	return why
}

// switched handles an agent that is on another branch than it was given. A branch of its own making is
// taken for what it is, a detour, and removed; one that was there before is the user's.
func (w *work) switched(ctx context.Context, s *Space, head, ours string, before map[string]string) string {
	if err := s.SetHead(ctx, ours); err != nil {
		return fmt.Sprintf("the agent left the branch %s and it cannot be brought back: %v", s.Branch, err)
	}
	name, isBranch := strings.CutPrefix(head, "refs/heads/")
	if !isBranch {
		return "" // detached; the files are what counts
	}
	old, was := before[name]
	now, _ := w.Repo.Resolve(ctx, head)
	if w.ofRun(name) {
		if w.refs.strayed(map[string]string{name: now})[name] != "" {
			return fmt.Sprintf("the agent switched to branch %s and moved it; the branch is put back", name)
		}
		return fmt.Sprintf("the agent switched to branch %s", name)
	}
	if !was {
		if now != "" {
			if err := w.mend(ctx, git.RefUpdate{Ref: head, Old: now}); err != nil {
				w.Note(fmt.Sprintf("the agent made branch %s, which could not be removed: %v", name, err))
			}
		}
		w.Note(fmt.Sprintf("the agent made a branch of its own, %s; its files were taken over and the branch removed", name))
		return ""
	}
	if now != old {
		// The branch was checked out in the workspace, so nobody but the agent can have moved it.
		if err := w.mend(ctx, git.RefUpdate{Ref: head, New: old, Old: now}); err != nil {
			return fmt.Sprintf("the agent switched to branch %s and moved it, and it cannot be put back: %v", name, err)
		}
		return fmt.Sprintf("the agent switched to branch %s and moved it; the branch was put back", name)
	}
	return fmt.Sprintf("the agent switched to branch %s", name)
}

// dropMade removes the branches that the agent made and was on, as the workspace's own log tells, and those that it was
// cut off in the middle of making. The user may make branches meanwhile as well, but not there.
func (w *work) dropMade(ctx context.Context, s *Space, g glance) {
	visited, err := s.Visited(g.HeadLog)
	if err != nil {
		return // it has no log: nobody went anywhere
	}
	now, err := w.Repo.Refs(ctx)
	if err != nil {
		return
	}
	for _, name := range slices.Sorted(maps.Keys(now)) {
		if _, was := g.Refs[name]; was || strings.HasPrefix(name, ofRuns) {
			continue
		}
		if !slices.Contains(visited, name) && (now[name] != g.Base || !w.Repo.HalfMade(name)) {
			continue
		}
		if err := w.mend(ctx, git.RefUpdate{Ref: "refs/heads/" + name, Old: now[name]}); err != nil {
			w.Note(fmt.Sprintf("the agent made branch %s, which could not be removed: %v", name, err))
			continue
		}
		w.Note(fmt.Sprintf("the agent made a branch of its own, %s, which was removed; it was at %s", name, now[name]))
	}
}
