// Package room makes the rooms in which gates look at a candidate.
//
// A room is a checkout of exactly one tree, with a home and temporary folders of its own, in a folder outside of
// every repository. Nothing that an agent left beside its tree is in it: no ignored file, no setting, no build
// cache. What builds need besides the tree is made in the room itself, see [Config.Prepare]. After the gates
// [Room.Check] compares the room with its tree, file by file, so that a file that somebody swapped meanwhile is
// named.
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
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/runplan/runplan/internal/git"
	"github.com/runplan/runplan/internal/phrase"
	"github.com/runplan/runplan/internal/proc"
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
	// Note is told what a user may want to know; nil tells nobody.
	Note func(string)
	// Key names what Prepare follows from in a tree; a room of another key is made anew. nil is one key for all
	// trees.
	Key func(ctx context.Context, tree string) (string, error)
}

// Rooms is a pool of rooms. Its methods may be called by several goroutines.
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
	habits    map[string]bool // files that the suites rewrite at the base as well
	watch     []string        // folders outside of the rooms
	watched   map[string]stamp
	compiled  map[string]stamp // what Python compiled in those folders
	recompile bool             // that is not as it was: programs of the user may have done so, or an agent
	idle      sync.WaitGroup   // rooms that are being cleared
}

// New returns a pool without rooms. The user's settings are read now, or at the first [Rooms.Take] if that is
// earlier.
func New(c Config) *Rooms {
	r := &Rooms{Config: c, habits: map[string]bool{}}
	if proc.Getenv(c.Environ, "RUNPLAN_GATE_GOCACHE") == "" { // what the user names is the user's own
		r.cache.dir = r.goCache()
	}
	return r
}

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
	kept    map[string]bool  // folders that hold files of the tree, or that Prepare made; nil is not known
	litter  bool             // the last look found something else
	looked  bool             // the room was looked at after the gates
	atHome  map[string]stamp // the home, as it was made
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
	// Prepare may have changed files of the tree, which gates are about to look at.
	if err := rm.fill(ctx, base, tree); err != nil {
		return err
	}
	var err error
	rm.key = key
	_, rm.made, err = rm.look()
	rm.kept = nil
	return err
}

// checkGoCache looks at the build cache before the gates of a room that holds a module of Go.
func (r *Rooms) checkGoCache(ctx context.Context, rm *Room) error {
	if r.cache.dir == "" || !rm.holds("go.mod") {
		return nil
	}
	n, err := r.cache.check(ctx)
	if n > 0 && r.Note != nil {
		r.Note(fmt.Sprintf("%s in the build cache of the gates, %s, were not as go wrote them and were removed: another program changed them",
			phrase.Count(n, "file"), r.cache.dir))
	}
	return err
}

// Fresh returns an environment for the room with another home and another folder for temporary files, in which
// nothing is of what ran before.
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

// renew makes the room's worktree anew.
func (rm *Room) renew(ctx context.Context, base string) error {
	tie := rm.pool.Tie
	if tie == nil {
		tie = func(do func() error) error { return do() }
	}
	rm.made, rm.tracked, rm.kept, rm.key, rm.broken = nil, nil, nil, "", nil
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
	rm.base, rm.tree, rm.kept = base, tree, nil
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

// refill brings a room that is as it was left to tree, by the files that differ. It reports whether that was enough.
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
	rm.base, rm.tree = base, tree
	if len(changed) > 0 {
		rm.kept = nil
	}
	return true
}

// look compares the room with what it was filled with. It returns the files of the tree that are not as they were, sorted,
// and stamps what lies beside them. It notes whether there is anything that [Room.clear] removes.
func (rm *Room) look() (differ []string, made map[string]stamp, err error) {
	made, rm.litter = map[string]stamp{}, false
	if rm.kept == nil {
		rm.kept = rm.keptFolders()
	}
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
				rm.litter = rm.litter || !rm.kept[rel]
				if !cache(rel) || rm.kept[rel] {
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
	if len(met) < len(rm.tracked) { // gone, or behind a link that took the place of a folder
		there := make(map[string]bool, len(met))
		for _, path := range met {
			there[path] = true
		}
		for path := range rm.tracked {
			if !there[path] {
				differ = append(differ, path)
			}
		}
	}
	slices.Sort(differ)
	return differ, made, nil
}

// pythonCache tells what Python compiled. It is used without a look at the source, if it says so.
func pythonCache(rel string) bool {
	return strings.HasSuffix(rel, ".pyc") || rel == "__pycache__" || strings.HasSuffix(rel, "/__pycache__")
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
		if rm.broken == nil && !(rm.looked && !rm.litter) {
			rm.broken = rm.clear()
		}
		rm.looked = false
	})
}

// clear removes what gates left beside the tree and what Prepare made.
func (rm *Room) clear() error {
	if rm.kept == nil {
		rm.kept = rm.keptFolders()
	}
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
			if rm.kept[rel] {
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

// holds reports whether the tree has a file of that name, in any folder.
func (rm *Room) holds(name string) bool {
	for path := range rm.tracked {
		if path == name || strings.HasSuffix(path, "/"+name) {
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

// makeHome makes the home of the room, unless nothing changed there since it was made.
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
		return fmt.Errorf("look at the home of a room: %w", err)
	}
	rm.atHome = now
	return nil
}

// emptyFolder makes an empty folder for temporary files, unless it is there.
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

func sortedKeys(m map[string]string) []string { return slices.Sorted(maps.Keys(m)) }
