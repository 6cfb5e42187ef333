package local

import (
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
)

// Pool hands out workspaces. A workspace is used again for the next batch, so that build caches survive;
// what the last batch left in it is gone but for ignored files.
//
// A batch keeps its workspace between two pieces of work, as long as nobody else needs it: what it holds is in git as
// well, and comes back. So there are no more workspaces than there are pieces of work at the same time.
type Pool struct {
	repo   *git.Repo
	layout Layout
	slug   string
	setup  Setup
	note   func(string) // tells people what is worth knowing
	refs   *refs
	from   string // folder that files are copied from; "" is the user's checkout
	stir   func() // says that the setup was at work, which is no agent; nil says it to nobody

	mu    sync.Mutex
	used  map[string]*Space // by batch
	rests int               // how often a batch rested, to tell the longest rest
}

// Setup says how a fresh workspace is made ready.
type Setup struct {
	Copy    []string // globs, relative to the repository
	Command string   // shell text, run once in each new workspace
	Timeout time.Duration
	Env     []string
	Reaper  *proc.Reaper
	Grace   time.Duration
}

// Space is a workspace in the hands of one batch.
type Space struct {
	*git.Workspace
	dir    string   // of the workspace, from before it is made
	Branch string   // without refs/heads/
	Base   string   // commit it was reset to
	Tree   string   // tree in its index, once known
	Paths  []string // in which Tree differs from Base, sorted
	Copied []string // files copied from the user's checkout, which are never committed
	rest   int      // since when nobody works in it; 0 while somebody does
	keep   bool     // somebody may want to look at it, so others take it last
}

// marker lies beside a workspace and makes it one of ours: gc and reset touch nothing without it.
type marker struct {
	Slug  string    `json:"slug"`
	Made  time.Time `json:"made"`
	Setup string    `json:"setup"` // the command that made it ready, "" until it has
}

func markerOf(dir string) string { return dir + ".json" }

// Acquire returns a workspace for batch, reset to base.
func (p *Pool) Acquire(ctx context.Context, batch, base string) (*Space, error) {
	return p.acquire(ctx, batch, base, "")
}

// acquire returns a workspace for batch that is on commit base, with the files of tree; "" are those of base.
func (p *Pool) acquire(ctx context.Context, batch, base, tree string) (_ *Space, err error) {
	branch := BatchBranch(p.slug, batch)
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

// using returns the workspace of batch, to work in it; nil while it has none.
func (p *Pool) using(batch string) *Space {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := p.used[batch]
	if s != nil {
		s.rest, s.keep = 0, false
	}
	return s
}

// Rest says that nobody works in the workspace of batch for now. With keep, somebody may want to look at what is there.
func (p *Pool) Rest(batch string, keep bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if s := p.used[batch]; s != nil {
		p.rests++
		s.rest, s.keep = p.rests, keep
	}
}

// take books a folder for batch: one that is there and that no batch uses, else one whose batch rests, else a new one.
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

// resting returns the batch that rests longest, "" if none does.
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

// open takes up the workspace in dir, or makes it anew where it is missing or broken.
func (p *Pool) open(ctx context.Context, dir, base string) (*git.Workspace, error) {
	if _, err := os.Stat(markerOf(dir)); err == nil {
		if ws, err := p.repo.OpenWorkspace(dir); err == nil {
			return ws, nil
		}
	} else if _, err := os.Stat(dir); err == nil {
		// A run that was killed between the two steps leaves a folder without its marker. In our own
		// folder nothing else can be the cause, but a file of the user's would be lost: so it must be a
		// worktree of this repository.
		if _, err := p.repo.OpenWorkspace(dir); err != nil && !emptyDir(dir) && !halfMade(dir) {
			return nil, fmt.Errorf("make a workspace: %s is in the way and is not a worktree of runplan; move it away", dir)
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
		// Another workspace may be on the branch still. The files are written later: others wait for this lock.
		ws, err = p.repo.AddEmpty(ctx, dir, base)
		return err
	})
	return ws, err
}

func emptyDir(dir string) bool {
	entries, err := os.ReadDir(dir)
	return err == nil && len(entries) == 0
}

// halfMade is a worktree whose making was cut short: git writes .git first.
func halfMade(dir string) bool {
	_, err := os.Lstat(filepath.Join(dir, ".git"))
	return err == nil
}

// reset brings s to base with the files of tree, copies what git does not carry, and sets a new workspace up.
func (p *Pool) reset(ctx context.Context, s *Space, base, tree string) error {
	fill := func() error {
		if tree == "" {
			return s.Reset(ctx, s.Branch, base)
		}
		return s.Checkout(ctx, s.Branch, base, tree)
	}
	s.Base, s.Tree = "", ""
	if err := fill(); err != nil {
		return err
	}
	s.Base = base
	if err := p.submodules(ctx, s); err != nil {
		return err
	}
	var err error
	if s.Copied, err = p.copyIncluded(ctx, s); err != nil {
		return err
	}
	ran, err := p.setUp(ctx, s)
	if ran && err == nil && tree != "" {
		err = s.Checkout(ctx, s.Branch, base, tree) // the setup may have changed what gates are about to look at
	}
	return err
}

// Restore brings the workspace of batch to tree on top of base, unless it is there already: then it is not fresh.
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

// Release gives the workspace of batch back.
func (p *Pool) Release(batch string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.used, batch)
}

// Retire takes the workspace from a batch that was put back to where it has not begun. Nothing stays of it, neither
// files nor branch; what git ignores stays, as everywhere.
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

// Detach takes the workspace of batch off its branch, which is gone or goes; its files stay as they are.
func (p *Pool) Detach(ctx context.Context, batch, at string) error {
	s, err := p.onBranch(batch)
	if s == nil || err != nil {
		return err
	}
	s.Tree = ""
	return s.Workspace.Detach(ctx, at)
}

// Detaching is [Pool.Detach] as a part of a transaction over refs that removes the branch. It has nothing in it where the
// workspace is not on the branch.
func (p *Pool) Detaching(batch, at string) []git.RefUpdate {
	s, err := p.onBranch(batch)
	if s == nil || err != nil {
		return nil // Detach tells of it, once the branch is gone
	}
	s.Tree = ""
	return []git.RefUpdate{{Ref: s.HeadName(), New: at}}
}

// onBranch returns the workspace of batch if it is on its branch, else nil. It does not rest any more: whoever took it
// meanwhile would be taken off its own branch.
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

// DetachLost takes workspaces off branches that are gone: git calls such a worktree broken.
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
			continue // it is made anew
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

// Remove deletes the worktrees of the pool, but for those of the batches to keep.
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

// made lists the workspaces that bear the mark of this pool, whichever process made them.
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

// peek returns the workspace of batch as it is, nil while it has none. Nobody works in it because of that.
func (p *Pool) peek(batch string) *Space {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.used[batch]
}
