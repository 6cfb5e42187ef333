// Package room makes the rooms in which gates look at a candidate.
//
// A room is a checkout of exactly one tree, with a home and temporary folders of its own, in a folder outside of every
// repository. Nothing that an agent left beside its tree is in it: no ignored file, no setting, no build cache. What
// builds need besides the tree is made in the room itself, see [Config.Prepare]. After the gates [Room.Check] compares
// the room with its tree, file by file, so that a file that somebody swapped meanwhile is named.
//
// Rooms are pooled: one that is free moves from tree to tree, which costs what differs between the two.
//
// The limit: without a sandbox an agent has the rights of the user, and can write into a room that it finds. That is
// noticed for the files of the tree, and not prevented.
package room

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/runplan/runplan/internal/git"
)

// Config says where rooms are and what is in them.
type Config struct {
	Repo    *git.Repo
	Dir     string   // folder for the rooms of this process; removed by [Rooms.Close]
	Environ []string // environment of the programs that run in rooms, from before the run

	// Tie runs do while nobody else changes the list of worktrees; nil just runs it.
	Tie func(do func() error) error
	// Prepare makes a new room ready: submodules, files that git does not carry, the project's set-up. What it leaves
	// beside the tree stays as long as the room's key does. nil prepares nothing.
	Prepare func(ctx context.Context, ws *git.Workspace, env []string) error
	// Key names what Prepare follows from in a tree; a room of another key is made anew. nil is one key for all trees.
	Key func(ctx context.Context, tree string) (string, error)
}

// Rooms is a pool of rooms. Its methods may be called by several goroutines.
type Rooms struct {
	Config

	once sync.Once
	user *home
	err  error

	mu      sync.Mutex
	free    []*Room
	number  int
	closed  bool
	habits  map[string]bool // files that the suites rewrite at the base as well
	watch   []string        // folders outside of the rooms
	watched map[string]stamp
	idle    sync.WaitGroup // rooms that are being cleared
}

// New returns a pool without rooms. The user's settings are read now, or at the first [Rooms.Take] if that is earlier.
func New(c Config) *Rooms { return &Rooms{Config: c, habits: map[string]bool{}} }

// Room is a room that somebody has taken.
type Room struct {
	Dir  string   // the checkout
	Temp string   // for temporary files; empty at first
	Env  []string // for programs, complete

	pool    *Rooms
	root    string
	user    *home
	ws      *git.Workspace
	key     string
	base    string
	tree    string
	tracked map[string]stamp
	links   []string         // submodules; what is in them is compared with nothing
	made    map[string]stamp // what Prepare left beside the tree
	ready   chan struct{}    // closed once the room is clear
	broken  error            // why it cannot be used again
}

// GitDir is the room's folder below .git/worktrees of the repository.
func (rm *Room) GitDir() string { return rm.ws.GitDir }

func (rm *Room) home() string { return filepath.Join(rm.root, "home") }

// Settle reads the user's settings, once. Call it before anything runs that could change them.
func (r *Rooms) Settle(ctx context.Context) error {
	r.once.Do(func() {
		h, err := readHome(ctx, r.Repo, r.Environ)
		r.user, r.err = &h, err
	})
	return r.err
}

// Take returns a room with the files of tree, whose HEAD is commit base. [Room.Release] gives it back.
func (r *Rooms) Take(ctx context.Context, base, tree string) (*Room, error) {
	if err := r.Settle(ctx); err != nil {
		return nil, err
	}
	key := ""
	if r.Key != nil {
		var err error
		if key, err = r.Key(ctx, tree); err != nil {
			return nil, fmt.Errorf("make a room for the gates: %w", err)
		}
	}
	rm := r.pick(key, tree)
	if rm.ready != nil {
		<-rm.ready
	}
	err := rm.move(ctx, key, base, tree)
	if err != nil && rm.ws != nil && ctx.Err() == nil { // whatever is wrong with the room, a new one has nothing of it
		rm.broken = err
		err = rm.move(ctx, key, base, tree)
	}
	if err != nil {
		rm.broken = err
		rm.Release()
		return nil, fmt.Errorf("make a room for the gates: %w", err)
	}
	return rm, nil
}

// pick books a free room, best one that holds tree, or one with the same key; else a new one.
func (r *Rooms) pick(key, tree string) *Room {
	r.mu.Lock()
	defer r.mu.Unlock()
	best := -1
	for i, rm := range r.free {
		switch {
		case rm.key == key && rm.tree == tree:
			best = i
		case best < 0 || rm.key == key && r.free[best].key != key:
			best = i
		}
	}
	if best >= 0 {
		rm := r.free[best]
		r.free = slices.Delete(r.free, best, best+1)
		return rm
	}
	r.number++
	root := filepath.Join(r.Dir, fmt.Sprint(r.number))
	return &Room{pool: r, root: root, user: r.user, Dir: filepath.Join(root, "room"), Temp: filepath.Join(root, "tmp")}
}

// Files returns the paths of the files of the tree, sorted.
func (rm *Room) Files() []string { return slices.Sorted(maps.Keys(rm.tracked)) }

// Ignored returns those of the paths that git ignores in the tree.
func (rm *Room) Ignored(ctx context.Context, paths []string) (map[string]bool, error) {
	return rm.ws.Ignored(ctx, paths)
}

// move brings the room to tree.
func (rm *Room) move(ctx context.Context, key, base, tree string) error {
	spoilt := rm.broken != nil || rm.ws == nil || rm.key != key || rm.ws.Check() != nil
	if !spoilt {
		now, err := rm.madeNow()
		spoilt = err != nil || !maps.Equal(now, rm.made)
	}
	if spoilt {
		if err := rm.renew(ctx, base); err != nil {
			return err
		}
	}
	if err := rm.fill(ctx, base, tree); err != nil {
		return err
	}
	if err := rm.user.make(rm.home()); err != nil {
		return err
	}
	if err := renewFolder(rm.Temp); err != nil {
		return err
	}
	rm.Env = rm.pool.env(rm)
	if !spoilt || rm.pool.Prepare == nil {
		return nil
	}
	if err := rm.pool.Prepare(ctx, rm.ws, rm.Env); err != nil {
		return err
	}
	// Prepare may have changed files of the tree, which gates are about to look at.
	if err := rm.fill(ctx, base, tree); err != nil {
		return err
	}
	var err error
	rm.key = key
	rm.made, err = rm.madeNow()
	return err
}

// renew makes the room's worktree anew.
func (rm *Room) renew(ctx context.Context, base string) error {
	tie := rm.pool.Tie
	if tie == nil {
		tie = func(do func() error) error { return do() }
	}
	rm.made, rm.tracked, rm.key, rm.broken = nil, nil, "", nil
	return tie(func() error {
		if err := rm.pool.Repo.RemoveWorkspace(ctx, rm.Dir); err != nil {
			return err
		}
		if err := os.MkdirAll(rm.root, 0o700); err != nil {
			return err
		}
		var err error
		rm.ws, err = rm.pool.Repo.AddEmpty(ctx, rm.Dir, base)
		return err
	})
}

// fill checks tree out and stamps its files.
func (rm *Room) fill(ctx context.Context, base, tree string) error {
	if err := rm.ws.Fill(ctx, base, tree); err != nil {
		return err
	}
	entries, err := rm.ws.Index()
	if err != nil {
		return err
	}
	rm.base, rm.tree = base, tree
	rm.tracked, rm.links = make(map[string]stamp, len(entries)), nil
	for _, e := range entries {
		if e.Mode == gitlink {
			rm.links = append(rm.links, e.Path)
			continue
		}
		info, err := os.Lstat(filepath.Join(rm.Dir, filepath.FromSlash(e.Path)))
		if err != nil {
			if errors.Is(err, fs.ErrNotExist) && e.Size == 0 {
				continue // a sparse checkout leaves it out
			}
			return fmt.Errorf("%s is not there after git wrote it: %w", e.Path, err)
		}
		s := stampOf(info)
		if uint32(s.size) != e.Size && s.mode.IsRegular() {
			return fmt.Errorf("%s changed while git wrote the tree", e.Path)
		}
		rm.tracked[e.Path] = s
	}
	return nil
}

const gitlink = 0o160000

// madeNow stamps what lies beside the files of the tree.
func (rm *Room) madeNow() (map[string]stamp, error) {
	return stampTree(rm.Dir, rm.Dir, func(rel string, d fs.DirEntry) bool {
		if rel == ".git" || slices.Contains(rm.links, rel) {
			return false
		}
		_, tracked := rm.tracked[rel]
		return !tracked && !cache(rel)
	})
}

// cache tells files that tools write beside what they use, and that decide nothing.
func cache(rel string) bool {
	for part := range strings.SplitSeq(rel, "/") {
		switch part {
		case "__pycache__", ".pytest_cache", ".cache", ".vite", ".vitest", ".mypy_cache", ".ruff_cache":
			return true
		}
	}
	return strings.HasSuffix(rel, ".pyc")
}

// Release gives the room back. It is cleared in the background; the next [Rooms.Take] waits for that.
func (rm *Room) Release() {
	r := rm.pool
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return
	}
	rm.ready = make(chan struct{})
	r.free = append(r.free, rm)
	r.idle.Go(func() {
		defer close(rm.ready)
		if rm.broken == nil {
			rm.broken = rm.clear()
		}
	})
}

// clear removes what gates left beside the tree and what Prepare made.
func (rm *Room) clear() error {
	kept := rm.keptFolders()
	return filepath.WalkDir(rm.Dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(rm.Dir, path)
		if err != nil || rel == "." {
			return err
		}
		rel = filepath.ToSlash(rel)
		if rel == ".git" {
			return nil
		}
		if d.IsDir() {
			if slices.Contains(rm.links, rel) {
				return fs.SkipDir
			}
			if kept[rel] {
				return nil
			}
			if err := git.RemoveAll(path); err != nil {
				return err
			}
			return fs.SkipDir
		}
		_, tracked := rm.tracked[rel]
		_, made := rm.made[rel]
		if tracked || made {
			return nil
		}
		return os.Remove(path)
	})
}

// keptFolders are the folders that hold files of the tree or files that Prepare made.
func (rm *Room) keptFolders() map[string]bool {
	kept := map[string]bool{}
	note := func(path string) {
		for i := strings.LastIndexByte(path, '/'); i >= 0 && !kept[path[:i]]; i = strings.LastIndexByte(path, '/') {
			path = path[:i]
			kept[path] = true
		}
	}
	for p := range rm.tracked {
		note(p)
	}
	for p := range rm.made {
		note(p)
	}
	return kept
}

func (rm *Room) hasGoWork() bool {
	for path := range rm.tracked {
		if path == "go.work" || strings.HasSuffix(path, "/go.work") {
			return true
		}
	}
	return false
}

// Close removes all rooms that nobody has, with their folder.
func (r *Rooms) Close(ctx context.Context) error {
	r.mu.Lock()
	r.closed = true
	free := r.free
	r.free = nil
	r.mu.Unlock()
	r.idle.Wait()
	var errs []error
	tie := r.Tie
	if tie == nil {
		tie = func(do func() error) error { return do() }
	}
	if len(free) > 0 {
		errs = append(errs, tie(func() error {
			for _, rm := range free {
				if err := r.Repo.RemoveWorkspace(context.WithoutCancel(ctx), rm.Dir); err != nil {
					return err
				}
			}
			return nil
		}))
	}
	errs = append(errs, git.RemoveAll(r.Dir))
	return errors.Join(errs...)
}

func renewFolder(dir string) error {
	if err := git.RemoveAll(dir); err != nil {
		return fmt.Errorf("clear %s: %w", dir, err)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("make a folder for temporary files: %w", err)
	}
	return nil
}

func sortedKeys(m map[string]string) []string { return slices.Sorted(maps.Keys(m)) }
