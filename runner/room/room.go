// Package room makes the rooms in which gates check a candidate.
//
// A room is a checkout of exactly one tree, in a folder outside every repository. It has its own home and temporary
// folders. It holds no ignored file, setting or build cache of an agent. [Config.Prepare] adds other files that builds
// need. After the gates, [Room.Check] compares each file with the tree and names the changed ones.
//
// Rooms are pooled: a free room is updated to the next tree, and only the differing files are written.
//
// Limit: without a sandbox, an agent has the user's rights and can write into a room that it finds. Check notices
// this for the files of the tree but cannot prevent it.
package room

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/runplan/runplan/internal/git"
	"github.com/runplan/runplan/internal/lists"
	"github.com/runplan/runplan/internal/phrase"
	"github.com/runplan/runplan/internal/proc"
)

// Config says where rooms are and what they contain.
type Config struct {
	Repo    *git.Repo
	Dir     string   // folder for the rooms of this process; removed by [Rooms.Close]
	Environ []string // environment for programs in rooms, read before the run

	// Tie runs do while it locks the list of worktrees; [New] replaces nil by a function that only runs it.
	Tie func(do func() error) error
	// Prepare prepares a new room: submodules, untracked files, the project's setup. The files that it adds stay
	// until the key of the room changes. nil prepares nothing.
	Prepare func(ctx context.Context, ws *git.Workspace, env []string) error
	// Note gets messages for the user; nil drops them.
	Note func(string)
	// Key returns a key for the files of a tree on which Prepare depends. If the key changes, the room is made again. nil
	// gives all trees the same key.
	Key func(ctx context.Context, tree string) (string, error)
}

// Rooms is a pool of rooms. It is safe for concurrent use.
type Rooms struct {
	Config

	once  sync.Once
	cache goCache
	user  *home
	err   error

	mu        sync.Mutex
	free      []*Room
	number    int
	closed    bool
	habits    map[string]bool // files that the test suites rewrite at the base too
	watch     []string        // folders outside the rooms to watch
	watched   map[string]stamp
	compiled  map[string]stamp // Python bytecode in those folders
	recompile bool             // the bytecode changed: by the user's programs or by an agent
	idle      sync.WaitGroup   // rooms that are being cleared
}

// New returns an empty pool. The first call of [Rooms.Settle] or [Rooms.Take] reads the user's settings.
func New(c Config) *Rooms {
	if c.Tie == nil {
		c.Tie = func(do func() error) error { return do() }
	}
	r := &Rooms{Config: c, habits: map[string]bool{}}
	if proc.Getenv(c.Environ, "RUNPLAN_GATE_GOCACHE") == "" { // a cache that the user names belongs to the user
		r.cache.dir = r.goCache()
	}
	return r
}

// Room is a room in use.
type Room struct {
	Dir  string   // the checkout
	Temp string   // folder for temporary files; initially empty
	Env  []string // complete environment for programs

	pool    *Rooms
	root    string
	user    *home
	ws      *git.Workspace
	key     string
	tree    string
	tracked map[string]stamp
	links   []string         // submodules, whose content is not compared
	made    map[string]stamp // files that Prepare added to the tree
	kept    map[string]bool  // folders with files of the tree or of Prepare; nil if unknown
	litter  bool             // the last check found other files
	looked  bool             // the room was checked after the gates
	atHome  map[string]stamp // stamps of the home when it was made
	ready   chan struct{}    // closed once the room is cleared
	broken  error            // why the room cannot be reused
}

// GitDir returns the room's folder below .git/worktrees of the repository.
func (rm *Room) GitDir() string { return rm.ws.GitDir }

func (rm *Room) home() string { return filepath.Join(rm.root, "home") }

// Settle reads the user's settings once. Call it before any program that could change them.
func (r *Rooms) Settle(ctx context.Context) error {
	r.once.Do(func() {
		h, err := readHome(ctx, r.Repo, r.Environ)
		r.user, r.err = &h, err
	})
	return r.err
}

// Take returns a room with the files of tree, and HEAD at commit base. Return it with [Room.Release].
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
	if err != nil && rm.ws != nil && ctx.Err() == nil { // retry with a new room
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

// pick reserves a free room. It prefers one that holds tree, then one with the same key, then any, else a new one.
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

// Files returns the paths of the tree's files, sorted.
func (rm *Room) Files() []string { return slices.Sorted(maps.Keys(rm.tracked)) }

// Ignored returns the paths that git ignores in the tree.
func (rm *Room) Ignored(ctx context.Context, paths []string) (map[string]bool, error) {
	return rm.ws.Ignored(ctx, paths)
}

// move brings the room to tree. It makes the worktree again if the room is broken, has another key, or changed.
func (rm *Room) move(ctx context.Context, key, base, tree string) error {
	spoilt := rm.broken != nil || rm.ws == nil || rm.key != key || rm.ws.Check() != nil
	same := false
	if !spoilt {
		differ, made, err := rm.look()
		spoilt, same = err != nil || !maps.Equal(made, rm.made), len(differ) == 0
	}
	if spoilt {
		if err := rm.renew(ctx, base); err != nil {
			return err
		}
	}
	if !same || !rm.refill(ctx, base, tree) {
		if err := rm.fill(ctx, base, tree); err != nil {
			return err
		}
	}
	if err := rm.makeHome(); err != nil {
		return err
	}
	if err := emptyFolder(rm.Temp); err != nil {
		return err
	}
	if err := rm.pool.checkGoCache(ctx, rm); err != nil {
		return err
	}
	rm.Env = rm.pool.env(rm)
	if !spoilt || rm.pool.Prepare == nil {
		return nil
	}
	if err := rm.pool.Prepare(ctx, rm.ws, rm.Env); err != nil {
		return err
	}
	differ, made, err := rm.look()
	if err != nil || len(differ) > 0 || !rm.ws.Filled(ctx, base, tree) {
		// Prepare changed files of the tree, which gates check next.
		if err := rm.fill(ctx, base, tree); err != nil {
			return err
		}
		_, made, err = rm.look()
	}
	rm.key, rm.made, rm.kept = key, made, nil
	return err
}

// checkGoCache verifies the Go build cache before the gates of a room with a Go module.
func (r *Rooms) checkGoCache(ctx context.Context, rm *Room) error {
	if r.cache.dir == "" || !rm.holds("go.mod") {
		return nil
	}
	n, err := r.cache.check(ctx)
	if n > 0 && r.Note != nil {
		r.Note(fmt.Sprintf("another program changed %s in the build cache of the gates, %s; they were removed",
			phrase.Count(n, "file"), r.cache.dir))
	}
	return err
}

// Fresh returns an environment for the room with a new home and a new temporary folder, without files of earlier
// programs.
func (rm *Room) Fresh() ([]string, error) {
	again := filepath.Join(rm.root, "again")
	if err := emptyFolder(again); err != nil {
		return nil, err
	}
	home, temp := filepath.Join(again, "home"), filepath.Join(again, "tmp")
	if err := rm.user.make(home); err != nil {
		return nil, err
	}
	if err := emptyFolder(temp); err != nil {
		return nil, err
	}
	out := slices.Clone(rm.Env)
	for i, kv := range out {
		name, value, _ := strings.Cut(kv, "=")
		for from, to := range map[string]string{rm.home(): home, rm.Temp: temp} {
			if value == from || strings.HasPrefix(value, from+string(filepath.Separator)) {
				out[i] = name + "=" + to + value[len(from):]
			}
		}
	}
	return out, nil
}

// renew makes the room's worktree again.
func (rm *Room) renew(ctx context.Context, base string) error {
	rm.made, rm.tracked, rm.kept, rm.key, rm.broken = nil, nil, nil, "", nil
	return rm.pool.Tie(func() error {
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

// fill checks out tree and stamps its files.
func (rm *Room) fill(ctx context.Context, base, tree string) error {
	if err := rm.ws.Fill(ctx, base, tree); err != nil {
		return err
	}
	entries, err := rm.ws.Index()
	if err != nil {
		return err
	}
	rm.tree, rm.kept = tree, nil
	rm.tracked, rm.links = make(map[string]stamp, len(entries)), nil
	for _, e := range entries {
		if e.Mode == gitlink {
			rm.links = append(rm.links, e.Path)
			continue
		}
		info, err := os.Lstat(filepath.Join(rm.Dir, filepath.FromSlash(e.Path)))
		if err != nil {
			if errors.Is(err, fs.ErrNotExist) && e.Size == 0 {
				continue // a sparse checkout omits it
			}
			return fmt.Errorf("git wrote %s, but it does not exist: %w", e.Path, err)
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

// refill brings an unchanged room to tree by rewriting only the files that differ. It reports whether that succeeded.
func (rm *Room) refill(ctx context.Context, base, tree string) bool {
	changed, ok := rm.ws.Refill(ctx, base, rm.tree, tree)
	if !ok {
		return false
	}
	for _, path := range changed {
		delete(rm.tracked, path)
		if info, err := os.Lstat(filepath.Join(rm.Dir, filepath.FromSlash(path))); err == nil {
			rm.tracked[path] = stampOf(info)
		}
	}
	rm.tree = tree
	if len(changed) > 0 {
		rm.kept = nil
	}
	return true
}

// look compares the room with its tree. It returns the changed files of the tree, sorted, and stamps of the other
// files except caches. It also records whether [Room.clear] has anything to remove.
func (rm *Room) look() (differ []string, made map[string]stamp, err error) {
	made, rm.litter = map[string]stamp{}, false
	kept := rm.keptFolders()
	met := make([]string, 0, len(rm.tracked))
	var visit func(dir string) error
	visit = func(dir string) error {
		entries, err := os.ReadDir(filepath.Join(rm.Dir, filepath.FromSlash(dir)))
		if err != nil && !(os.IsNotExist(err) && dir != "") {
			return err
		}
		for _, d := range entries {
			rel := path.Join(dir, d.Name())
			was, tracked := rm.tracked[rel]
			switch {
			case rel == ".git" || slices.Contains(rm.links, rel):
				continue
			case d.IsDir() && !tracked:
				rm.litter = rm.litter || !kept[rel]
				if !cache(rel) || kept[rel] {
					if err := visit(rel); err != nil {
						return err
					}
				}
				continue
			case !tracked && cache(rel):
				rm.litter = true
				continue
			}
			info, err := d.Info()
			if os.IsNotExist(err) {
				continue
			}
			if err != nil {
				return err
			}
			is := stampOf(info)
			if !tracked {
				made[rel] = is
				if _, ours := rm.made[rel]; !ours {
					rm.litter = true
				}
				continue
			}
			met = append(met, rel)
			if is != was {
				differ = append(differ, rel)
			}
		}
		return nil
	}
	if err := visit(""); err != nil {
		return nil, nil, err
	}
	if len(met) < len(rm.tracked) { // deleted, or behind a link that replaced a folder
		there := lists.Set(met)
		for path := range rm.tracked {
			if !there[path] {
				differ = append(differ, path)
			}
		}
	}
	slices.Sort(differ)
	return differ, made, nil
}

// pythonCache reports whether rel is Python bytecode. Python may run it without reading the source.
func pythonCache(rel string) bool {
	return strings.HasSuffix(rel, ".pyc") || rel == "__pycache__" || strings.HasSuffix(rel, "/__pycache__")
}

// cache reports whether rel is a tool's cache file, which does not affect results.
func cache(rel string) bool {
	for part := range strings.SplitSeq(rel, "/") {
		switch part {
		case "__pycache__", ".pytest_cache", ".cache", ".vite", ".vitest", ".mypy_cache", ".ruff_cache":
			return true
		}
	}
	return strings.HasSuffix(rel, ".pyc")
}

// Release returns the room to the pool and clears it in the background. The next [Rooms.Take] waits for that.
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
		if rm.broken == nil && !(rm.looked && !rm.litter) {
			rm.broken = rm.clear()
		}
		rm.looked = false
	})
}

// clear removes all files except those of the tree and those that Prepare made.
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

// keptFolders returns the folders that hold files of the tree or files that Prepare made.
func (rm *Room) keptFolders() map[string]bool {
	if rm.kept != nil {
		return rm.kept
	}
	rm.kept = map[string]bool{}
	for _, files := range []map[string]stamp{rm.tracked, rm.made} {
		for file := range files {
			for dir := path.Dir(file); dir != "." && !rm.kept[dir]; dir = path.Dir(dir) {
				rm.kept[dir] = true
			}
		}
	}
	return rm.kept
}

// holds reports whether the tree has a file with that name, in any folder.
func (rm *Room) holds(name string) bool {
	for path := range rm.tracked {
		if path == name || strings.HasSuffix(path, "/"+name) {
			return true
		}
	}
	return false
}

// Close removes all free rooms and their folder.
func (r *Rooms) Close(ctx context.Context) error {
	r.mu.Lock()
	r.closed = true
	free := r.free
	r.free = nil
	r.mu.Unlock()
	r.idle.Wait()
	var errs []error
	if len(free) > 0 {
		errs = append(errs, r.Tie(func() error {
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

// makeHome makes the home of the room, unless the existing one is unchanged.
func (rm *Room) makeHome() error {
	if len(rm.atHome) > 0 {
		if now, err := stampFolder(rm.home()); err == nil && maps.Equal(now, rm.atHome) {
			return nil
		}
	}
	rm.atHome = nil
	if err := rm.user.make(rm.home()); err != nil {
		return err
	}
	now, err := stampFolder(rm.home())
	if err != nil {
		return fmt.Errorf("check the home of a room: %w", err)
	}
	rm.atHome = now
	return nil
}

// emptyFolder makes an empty folder for temporary files, unless one exists.
func emptyFolder(dir string) error {
	if info, err := os.Lstat(dir); err == nil && info.Mode() == fs.ModeDir|0o700 {
		if entries, err := os.ReadDir(dir); err == nil && len(entries) == 0 {
			return nil
		}
	}
	if err := git.RemoveAll(dir); err != nil {
		return fmt.Errorf("clear %s: %w", dir, err)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("make a folder for temporary files: %w", err)
	}
	return nil
}
