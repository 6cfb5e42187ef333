package local

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/runplan/runplan/internal/git"
	"github.com/runplan/runplan/internal/proc"
	"github.com/runplan/runplan/runner/journal"
)

// Pool manages workspaces. The next batch reuses a workspace, so that build caches survive: only ignored files of the
// last batch stay.
//
// Between two commands a batch keeps its workspace until another batch needs it. Its content is also in git and
// can be restored. So the pool needs no more workspaces than there are concurrent commands.
type Pool struct {
	repo   *git.Repo
	layout journal.Layout
	slug   string
	setup  Setup
	note   func(string) // shows messages to the user
	refs   *refs
	from   string // source folder of copied files; "" is the user's checkout

	mu    sync.Mutex
	used  map[string]*Space // by batch
	rests int               // counter of rests, to find the workspace that has been unused longest
	told  bool              // the user knows what the setup changes
}

// Setup says how to prepare a new workspace.
type Setup struct {
	Copy    []string // globs, relative to the repository
	Command string   // shell text, run once in each new workspace
	Timeout time.Duration
	Env     []string
	Reaper  *proc.Reaper
	Grace   time.Duration

	none bool // the tree as git has it is enough
}

// Space is a workspace that a batch uses.
type Space struct {
	*git.Workspace
	dir    string   // folder of the workspace, known before it exists
	Branch string   // without refs/heads/
	Base   string   // commit it was reset to
	Tree   string   // tree in its index, once known
	Paths  []string // paths that differ between Base and Tree, sorted
	Copied []string // files copied from the user's checkout or made by the setup, which are never committed
	rest   int      // number of its rest; 0 while it is in use
	keep   bool     // a person may want to inspect it, so other batches take it last
}

// marker lies next to a workspace and marks it as runplan's own. gc and reset touch no workspace without a marker.
type marker struct {
	Slug  string    `json:"slug"`
	Made  time.Time `json:"made"`
	Setup string    `json:"setup"` // the setup command that ran, "" until it succeeds
	// Files made by the setup that git does not ignore, with slashes. A reset removes them, so the setup runs again.
	Files []string `json:"files,omitempty"`
}

func markerOf(dir string) string { return dir + ".json" }

// acquire returns a workspace for batch on commit base, with the files of tree; "" means the tree of base.
func (p *Pool) acquire(ctx context.Context, batch, base, tree string) (_ *Space, err error) {
	branch := journal.BatchBranch(p.slug, batch)
	at := p.refs.move(branch)
	defer func() {
		if err != nil {
			at(unknown)
			return
		}
		at(base)
	}()
	if s := p.using(batch); s != nil {
		if err := s.Check(); err == nil {
			return s, p.reset(ctx, s, base, tree)
		}
		p.Release(batch)
	}
	s := &Space{Branch: branch}
	dir, err := p.take(batch, s)
	if err != nil {
		return nil, err
	}
	if s.Workspace, err = p.open(ctx, dir, base); err == nil {
		err = p.reset(ctx, s, base, tree)
	}
	if err != nil {
		p.Release(batch)
		return nil, err
	}
	return s, nil
}

// using returns the workspace of batch and ends its rest. It returns nil if batch has none.
func (p *Pool) using(batch string) *Space {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := p.used[batch]
	if s != nil {
		s.rest, s.keep = 0, false
	}
	return s
}

// Rest marks the workspace of batch as unused for now. With keep, other batches take it last, so that a person can
// inspect it.
func (p *Pool) Rest(batch string, keep bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if s := p.used[batch]; s != nil {
		p.rests++
		s.rest, s.keep = p.rests, keep
	}
}

// take reserves a folder for batch: an existing unused one, else one whose batch rests, else a new one.
func (p *Pool) take(batch string, s *Space) (dir string, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	dirs := map[string]bool{}
	for _, o := range p.used {
		dirs[o.dir] = true
	}
	made, err := p.made()
	if err != nil {
		return "", err
	}
	if i := slices.IndexFunc(made, func(d string) bool { return !dirs[d] }); i >= 0 {
		dir = made[i]
	} else if from := p.resting(); from != "" {
		dir = p.used[from].dir
		delete(p.used, from)
	}
	for n := 1; dir == ""; n++ {
		if d := p.layout.Workspace(p.slug, n); !dirs[d] {
			dir = d
		}
	}
	s.dir = dir
	p.used[batch] = s
	return dir, nil
}

// resting returns the batch that has rested longest, "" if none rests. Workspaces marked keep come last.
func (p *Pool) resting() string {
	longest := ""
	for _, b := range slices.Sorted(maps.Keys(p.used)) {
		s, l := p.used[b], p.used[longest]
		if s.rest > 0 && (l == nil || !s.keep && l.keep || s.keep == l.keep && s.rest < l.rest) {
			longest = b
		}
	}
	return longest
}

// open opens the workspace in dir, or makes it again if it is missing or broken.
func (p *Pool) open(ctx context.Context, dir, base string) (*git.Workspace, error) {
	if _, err := os.Stat(markerOf(dir)); err == nil {
		if ws, err := p.repo.OpenWorkspace(dir); err == nil {
			return ws, nil
		}
	} else if _, err := os.Stat(dir); err == nil {
		// A run that was killed between the two steps leaves a folder without a marker. Here only runplan makes folders, but
		// a user's file would be lost. So the folder must be a worktree of this repository, empty, or half made.
		if _, err := p.repo.OpenWorkspace(dir); err != nil && !emptyDir(dir) && !halfMade(dir) {
			return nil, fmt.Errorf("create a workspace: %s exists but is not a worktree of runplan; move it away", dir)
		}
	}
	var ws *git.Workspace
	err := with(p.layout.GitLock(), func() error {
		if err := p.repo.RemoveWorkspace(ctx, dir); err != nil {
			return err
		}
		if err := writeJSON(markerOf(dir), marker{Slug: p.slug, Made: time.Now().UTC()}); err != nil {
			return err
		}
		var err error
		// Another workspace may still have the branch checked out. AddEmpty writes no files, as others wait for this lock.
		ws, err = p.repo.AddEmpty(ctx, dir, base)
		return err
	})
	return ws, err
}

func emptyDir(dir string) bool {
	entries, err := os.ReadDir(dir)
	return err == nil && len(entries) == 0
}

// halfMade reports whether dir is a worktree whose creation was interrupted: git writes .git first.
func halfMade(dir string) bool {
	_, err := os.Lstat(filepath.Join(dir, ".git"))
	return err == nil
}

// reset brings s to base with the files of tree, copies the files that git does not track, and sets up a new workspace.
func (p *Pool) reset(ctx context.Context, s *Space, base, tree string) error {
	s.Base, s.Tree = "", ""
	var err error
	if tree == "" {
		err = s.Reset(ctx, s.Branch, base)
	} else {
		err = s.Checkout(ctx, s.Branch, base, tree)
	}
	if err != nil {
		return err
	}
	s.Base = base
	p.submodules(ctx, s)
	if s.Copied, err = p.copyIncluded(ctx, s); err != nil {
		return err
	}
	return p.setUp(ctx, s, cmp.Or(tree, base))
}

// Restore brings the workspace of batch to tree on top of base. fresh is false if it was already in that state.
func (p *Pool) Restore(ctx context.Context, batch, base, tree string) (s *Space, fresh bool, err error) {
	s = p.using(batch)
	if s != nil && s.Base == base && s.Tree == tree && s.Check() == nil {
		return s, false, nil
	}
	if s, err = p.acquire(ctx, batch, base, tree); err != nil {
		return nil, false, err
	}
	if s.Paths, err = s.Changed(ctx, base); err != nil {
		return nil, false, err
	}
	s.Tree = tree
	return s, true, nil
}

// Release returns the workspace of batch to the pool.
func (p *Pool) Release(batch string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.used, batch)
}

// Retire resets the workspace of a withdrawn attempt, releases it and deletes its branch. Ignored files stay.
func (p *Pool) Retire(ctx context.Context, batch, base string) error {
	s := p.using(batch)
	if s == nil {
		return nil
	}
	defer p.Release(batch)
	defer p.refs.move(s.Branch)("")
	if s.Check() == nil {
		if err := s.Leave(ctx, s.Branch, base); err != nil {
			return err
		}
	}
	return p.repo.UpdateRefs(ctx, git.RefUpdate{Ref: "refs/heads/" + s.Branch})
}

// Detach detaches the workspace of batch from its branch, which is deleted or will be. Its files do not change.
func (p *Pool) Detach(ctx context.Context, batch, at string) error {
	s, err := p.onBranch(batch)
	if s == nil || err != nil {
		return err
	}
	s.Tree = ""
	return s.Workspace.Detach(ctx, at)
}

// Detaching returns [Pool.Detach] as ref updates for the transaction that deletes the branch. It returns nil if
// the workspace is not on the branch.
func (p *Pool) Detaching(batch, at string) []git.RefUpdate {
	s, err := p.onBranch(batch)
	if s == nil || err != nil {
		return nil // Detach reports the error once the branch is gone
	}
	s.Tree = ""
	return []git.RefUpdate{{Ref: s.HeadName(), New: at}}
}

// onBranch returns the workspace of batch if it is on its branch, else nil. It ends the rest of the workspace:
// otherwise another batch could take it and lose its own branch.
func (p *Pool) onBranch(batch string) (*Space, error) {
	s := p.using(batch)
	if s == nil || s.Workspace == nil || s.Check() != nil {
		return nil, nil
	}
	if head, err := s.HeadRef(); err != nil || head != "refs/heads/"+s.Branch {
		return nil, err
	}
	return s, nil
}

// DetachLost detaches worktrees from deleted branches: git calls such a worktree broken.
func (p *Pool) DetachLost(ctx context.Context, at string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	dirs, err := p.made()
	if err != nil {
		return err
	}
	for _, dir := range dirs {
		ws, err := p.repo.OpenWorkspace(dir)
		if err != nil {
			continue // open makes it again
		}
		head, err := ws.HeadRef()
		if err != nil || !strings.HasPrefix(head, "refs/heads/") {
			continue
		}
		if hash, err := p.repo.Resolve(ctx, head); err != nil || hash != "" {
			continue
		}
		if err := ws.Detach(ctx, at); err != nil {
			return err
		}
	}
	return nil
}

// Held lists the batches that have a workspace, sorted.
func (p *Pool) Held() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Sorted(maps.Keys(p.used))
}

// Remove deletes the worktrees of the pool, except those of the batches to keep.
func (p *Pool) Remove(ctx context.Context, keep func(batch string) bool) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	kept := map[string]bool{}
	for batch, s := range p.used {
		if keep(batch) {
			kept[s.dir] = true
		} else {
			delete(p.used, batch)
		}
	}
	dirs, err := p.made()
	if err != nil {
		return err
	}
	return with(p.layout.GitLock(), func() error {
		for _, dir := range dirs {
			if kept[dir] {
				continue
			}
			if err := p.repo.RemoveWorkspace(ctx, dir); err != nil {
				return err
			}
			if err := os.Remove(markerOf(dir)); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
		}
		return nil
	})
}

// made lists the workspaces with a marker of this pool, including those of earlier processes.
func (p *Pool) made() ([]string, error) {
	entries, err := os.ReadDir(p.layout.Worktrees())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list the workspaces: %w", err)
	}
	var dirs []string
	for _, e := range entries {
		name, isMark := strings.CutSuffix(e.Name(), markerOf(""))
		number, ours := strings.CutPrefix(name, p.slug+"-w")
		if n, err := strconv.Atoi(number); isMark && ours && err == nil {
			dirs = append(dirs, p.layout.Workspace(p.slug, n))
		}
	}
	return dirs, nil
}

// peek returns the workspace of batch, or nil. Unlike using, it does not end the rest of the workspace.
func (p *Pool) peek(batch string) *Space {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.used[batch]
}
