package local

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/runplan/runplan/internal/atomicfile"
	"github.com/runplan/runplan/internal/git"
	"github.com/runplan/runplan/runner"
)

// glance is the state of git right before an agent began. It stays on disk until the agent's changes are checked.
// After a kill, a resume can thus tell which changes the agent made.
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

// lookAfterCutOff does what [work.lookAfter] does, for attempts that a kill interrupted. It comes before all other
// work, because only until then the refs are as the kill left them. The run branch must be at tip, or at the
// commit of a merge that was not yet recorded.
func (w *work) lookAfterCutOff(ctx context.Context, tip string, pending []runner.Command) error {
	paths, err := filepath.Glob(w.glancePath("*"))
	if err != nil || len(paths) == 0 {
		return err
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
			// Time may have passed and people may have edited these files, so only report it.
			w.Note(
				fmt.Sprintf(
					".git/%s changed since the interrupted agent of batch %s began; git uses it in all worktrees, so check "+
						"it if that was not you", name, g.Batch))
		}
		branch := BatchBranch(w.info.Slug, g.Batch)
		w.refs.move(branch)(g.Base)
		w.lookAfter(ctx, &Space{Workspace: ws, Branch: branch}, g)
	}
	return nil
}
