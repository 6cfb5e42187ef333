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

// inspect checks the agent's changes to git and reverts them. It returns why the attempt cannot count, or "". It
// does not check files: the agent's own commits count as its work.
func (w *work) inspect(ctx context.Context, s *Space, g glance) string {
	if err := s.Check(); err != nil {
		os.Remove(markerOf(s.Dir)) // the next attempt recreates it
		gone := os.RemoveAll(s.Dir)
		w.pool.Release(g.Batch) // only now, because another batch may take the folder
		if gone != nil {
			return "the agent removed or replaced the .git of its workspace, which cannot be removed: " + gone.Error()
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
		why = "the agent left a merge in the middle, with conflicts in " +
			strings.Join(conflicts[:min(len(conflicts), 5)], ", ")
	}
	if why == "" {
		why = w.inSubmodules(ctx, s, g)
	}
	// After commits of the agent, the files stay and the branch goes back; the runner makes the one commit later.
	if err := w.putBack(ctx); err != nil {
		return err.Error()
	}
	return why
}

// switched handles an agent that switched to another branch. It deletes a branch that the agent made. An existing
// branch belongs to the user, so the attempt fails.
func (w *work) switched(ctx context.Context, s *Space, head, ours string, before map[string]string) string {
	if err := s.SetHead(ctx, ours); err != nil {
		return fmt.Sprintf("the agent left the branch %s and it cannot be brought back: %v", s.Branch, err)
	}
	name, isBranch := strings.CutPrefix(head, "refs/heads/")
	if !isBranch {
		return "" // detached HEAD; only the files matter
	}
	old, was := before[name]
	now, _ := w.Repo.Resolve(ctx, head)
	if w.ofRun(name) {
		if w.refs.strayed(map[string]string{name: now})[name] != "" {
			return fmt.Sprintf("the agent switched to branch %s and moved it; the branch is restored", name)
		}
		return fmt.Sprintf("the agent switched to branch %s", name)
	}
	if !was {
		if now != "" {
			if err := w.mend(ctx, git.RefUpdate{Ref: head, Old: now}); err != nil {
				w.Note(fmt.Sprintf("the agent made branch %s, which could not be removed: %v", name, err))
			}
		}
		w.Note(fmt.Sprintf("the agent made its own branch, %s; its files were kept and the branch was removed", name))
		return ""
	}
	if now != old {
		// Only the agent can have moved a branch that is checked out in its workspace.
		if err := w.mend(ctx, git.RefUpdate{Ref: head, New: old, Old: now}); err != nil {
			return fmt.Sprintf("the agent switched to branch %s and moved it, and it cannot be restored: %v", name, err)
		}
		return fmt.Sprintf("the agent switched to branch %s and moved it; the branch was restored", name)
	}
	return fmt.Sprintf("the agent switched to branch %s", name)
}

// dropMade deletes the branches that the agent made and visited, according to the HEAD log of the workspace, and
// half-made branches. The user's new branches are not in that log.
func (w *work) dropMade(ctx context.Context, s *Space, g glance) {
	visited, err := s.Visited(g.HeadLog)
	if err != nil {
		return // without a log, the agent visited no branch
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
		w.Note(fmt.Sprintf("the agent made its own branch, %s, which was removed; it was at %s", name, now[name]))
	}
}
