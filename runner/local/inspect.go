package local

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/runplan/runplan/internal/atomicfile"
	"github.com/runplan/runplan/internal/git"
	"github.com/runplan/runplan/runner"
	"github.com/runplan/runplan/runner/journal"
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
	// If the agent made commits, its files stay and its branch is reset; the runner makes the one commit later.
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
	if strings.HasPrefix(name, ofRuns+w.info.Slug+"/") {
		if w.refs.strayed(map[string]string{name: now})[name] != "" {
			return fmt.Sprintf("the agent switched to branch %s and moved it; the branch is restored", name)
		}
		return fmt.Sprintf("the agent switched to branch %s", name)
	}
	if !was {
		if now != "" {
			if err := w.Repo.UpdateRefs(ctx, git.RefUpdate{Ref: head, Old: now}); err != nil {
				w.Note(fmt.Sprintf("the agent made branch %s, which could not be removed: %v", name, err))
			}
		}
		w.Note(fmt.Sprintf("the agent made its own branch, %s; its files were kept and the branch was removed", name))
		return ""
	}
	if now != old {
		// Only the agent can have moved a branch that is checked out in its workspace.
		if err := w.Repo.UpdateRefs(ctx, git.RefUpdate{Ref: head, New: old, Old: now}); err != nil {
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
		if err := w.Repo.UpdateRefs(ctx, git.RefUpdate{Ref: "refs/heads/" + name, Old: now[name]}); err != nil {
			w.Note(fmt.Sprintf("the agent made branch %s, which could not be removed: %v", name, err))
			continue
		}
		w.Note(fmt.Sprintf("the agent made its own branch, %s, which was removed; it was at %s", name, now[name]))
	}
}

// glance is the state of git right before an agent began. It stays on disk until the agent's changes are checked. So a
// resume after a kill knows which changes the agent made.
type glance struct {
	Dir     string            `json:"dir"` // of the workspace
	Batch   string            `json:"batch"`
	Base    string            `json:"base"`
	Refs    map[string]string `json:"refs"`
	Stashes []git.Stash       `json:"stashes"`
	Shared  map[string]string `json:"shared"`   // digests of the files that control git in all worktrees
	Idle    bool              `json:"idle"`     // git's own maintenance was neither running nor interrupted
	Locks   []string          `json:"locks"`    // ref locks of other processes
	HeadLog int64             `json:"head_log"` // size of the log of the workspace's HEAD, in bytes

	Submodules []git.Submodule `json:"submodules,omitempty"` // those that differ from the base
}

func (w *work) glancePath(batch string) string {
	return filepath.Join(w.Layout.Temp(w.run), "before-"+batch+".json")
}

// glance records the state of git in a file.
func (w *work) glance(ctx context.Context, s *Space, c runner.Command) (glance, error) {
	g := glance{Dir: s.Dir, Batch: c.Place(), Base: c.Base, Idle: !w.Repo.HasUpkeepLock(), HeadLog: s.HeadLog()}
	var err error
	if g.Refs, err = w.Repo.Refs(ctx); err != nil {
		return g, err
	}
	if g.Stashes, err = w.Repo.Stashes(); err != nil {
		return g, err
	}
	if g.Locks, err = w.Repo.RefLocks(); err != nil {
		return g, err
	}
	if g.Submodules, err = s.Submodules(ctx, c.Base); err != nil {
		return g, err
	}
	g.Shared = w.digests(s.GitDir)
	return g, writeJSON(w.glancePath(c.Place()), g)
}

// digests returns a digest of each file that controls git in all worktrees.
func (w *work) digests(gitDir string) map[string]string {
	w.keeper.mu.Lock()
	settings := w.keeper.settings(w.ownSettings(gitDir))
	w.keeper.mu.Unlock()
	out := map[string]string{}
	for name, f := range w.readShared(settings) {
		out[name] = fmt.Sprintf("%v %x", f.Mode, sha256.Sum256([]byte(f.Data)))
	}
	return out
}

// lookAfter reverts an agent's changes to git. It returns why the attempt cannot count, or "".
func (w *work) lookAfter(ctx context.Context, s *Space, g glance) string {
	w.tidying.Lock()
	defer w.tidying.Unlock()
	w.dropRefLocks(g.Locks)
	w.tidyStashes(ctx, s.Branch, g.Stashes)
	w.dropUpkeepLock(g.Idle)
	why := w.inspect(ctx, s, g)
	if err := os.Remove(w.glancePath(g.Batch)); err != nil && why == "" {
		return err.Error()
	}
	return why
}

// lookAfterCutOff does the same as [work.lookAfter] for attempts that a kill interrupted. It must run before all other
// work, which would change the refs. The run branch must be at tip, or at the commit of a merge that was not yet
// recorded.
func (w *work) lookAfterCutOff(ctx context.Context, tip string, pending []runner.Command) error {
	paths := w.Layout.Glob(w.glancePath("*"))
	if len(paths) == 0 {
		return nil
	}
	now, err := w.Repo.Refs(ctx)
	if err != nil {
		return err
	}
	for _, c := range pending {
		if c.Kind == runner.Merge && now[w.info.Branch] == c.Commit {
			tip = c.Commit
		}
	}
	w.refs.move(w.info.Branch)(tip)
	for _, path := range paths {
		var g glance
		if err := atomicfile.ReadJSON(path, &g); err != nil {
			return fmt.Errorf("check an interrupted attempt: %w", err)
		}
		w.dropUpkeepLock(g.Idle)
		ws, err := w.Repo.OpenWorkspace(g.Dir)
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, git.ErrBroken) {
			continue // open makes the workspace again
		}
		if err != nil {
			return err
		}
		for _, name := range differing(g.Shared, w.digests(ws.GitDir)) {
			// People may have edited these files since then, so only report the change.
			w.Note(fmt.Sprintf(".git/%s changed since the interrupted agent of batch %s began; git uses it in all worktrees, "+
				"so check it if that was not you", name, g.Batch))
		}
		branch := journal.BatchBranch(w.info.Slug, g.Batch)
		w.refs.move(branch)(g.Base)
		w.lookAfter(ctx, &Space{Workspace: ws, Branch: branch}, g)
	}
	return nil
}
