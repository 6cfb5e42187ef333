package local

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/runplan/runplan/internal/checksum"
	"github.com/runplan/runplan/internal/git"
	"github.com/runplan/runplan/internal/proc"
	"github.com/runplan/runplan/runner/journal"
	"github.com/runplan/runplan/runner/room"
)

// Rooms are the rooms of one process: a pool, the preparation of its rooms, and a lock that shows other processes
// that they are in use.
type Rooms struct {
	*room.Rooms
	lock *Lock
	pool Pool // copies files and runs the set-up
	deps deps

	keys sync.Map // tree → key
}

// roomsOf returns the folder for the rooms of a repository. It is below home, the folder of runplan's own files, or below
// the layout's folder if home is "".
func roomsOf(home string, repo *git.Repo, l journal.Layout) string {
	home = cmp.Or(home, l.Root)
	if abs, err := filepath.Abs(home); err == nil {
		home = abs
	}
	if real, err := filepath.EvalSymlinks(home); err == nil {
		home = real
	}
	return filepath.Join(home, "rooms", checksum.SHA256(repo.Common)[:8])
}

// takeRooms makes the first folder for rooms that no other process uses, and locks it. Later runs of the repository
// reuse the folder, because Go compiles a package again if its folder has another name.
func takeRooms(ctx context.Context, home string, repo *git.Repo, l journal.Layout) (dir string, lock *Lock, err error) {
	for n := 1; ; n++ {
		dir = filepath.Join(roomsOf(home, repo, l), strconv.Itoa(n))
		lock, err = takeRemovable(dir + ".lock")
		if errors.Is(err, ErrLocked) {
			continue
		}
		if err == nil {
			err = clearRooms(ctx, repo, l, dir)
		}
		if err == nil {
			err = os.Mkdir(dir, 0o700) // an error if a program has put something else there
		}
		if err != nil && lock != nil {
			lock.Release()
		}
		return dir, lock, err
	}
}

// NewRooms records the present inputs of rooms: the user's settings, the files that the set-up copies, and the
// dependencies in the user's checkout. dir is the folder of runplan's own files, outside of the repository. The caller
// must close the rooms.
func NewRooms(ctx context.Context, dir string, repo *git.Repo, layout journal.Layout, setup Setup, environ []string,
	note func(string)) (*Rooms, error) {
	if note == nil {
		note = func(string) {}
	}
	r := &Rooms{pool: Pool{repo: repo, layout: layout, setup: setup, note: note, used: map[string]*Space{}}}
	own, lock, err := takeRooms(ctx, dir, repo, layout)
	if err != nil {
		return nil, fmt.Errorf("make a folder for the rooms of gates: %w", err)
	}
	r.lock = lock
	r.Rooms = room.New(room.Config{Repo: repo, Dir: own, Environ: environ, Note: note,
		Tie: func(do func() error) error { return tie(layout, do) }, Prepare: r.prepare, Key: r.key})
	if err := r.Settle(ctx); err != nil {
		return nil, err
	}
	if setup.none {
		return r, nil
	}
	if err := r.seed(); err != nil {
		return nil, err
	}
	watched := userSites(repo.Root, environ)
	if setup.Command == "" {
		if r.deps, err = findDeps(ctx, repo); err != nil {
			return nil, err
		}
		for _, folder := range r.deps.found {
			watched = append(watched, filepath.Join(repo.Root, folder))
		}
	}
	if err := r.Watch(watched); err != nil {
		return nil, err
	}
	return r, nil
}

// Close removes the rooms.
func (r *Rooms) Close(ctx context.Context) error {
	if r == nil {
		return nil
	}
	err := r.Rooms.Close(ctx)
	r.lock.remove()
	os.Remove(filepath.Dir(r.Dir))
	return errors.Join(err, forgetRooms(r.pool.repo, r.pool.layout, filepath.Dir(r.Dir)))
}

// seed copies the files that workspaces get in addition to the files in git, so that rooms get their current content.
func (r *Rooms) seed() (err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("keep the files that rooms get: %w", err)
		}
	}()
	from, files, err := r.pool.included()
	if err != nil {
		return err
	}
	defer from.Close()
	at := filepath.Join(r.Dir, "copied")
	if err := os.MkdirAll(at, 0o700); err != nil {
		return err
	}
	to, err := os.OpenRoot(at)
	if err != nil {
		return err
	}
	defer to.Close()
	for _, path := range files {
		if err := copyFile(from, to, path); err != nil {
			return err
		}
	}
	r.pool.from = at
	return nil
}

// prepare makes a new room ready: submodules, copied files, dependencies, the project's set-up.
func (r *Rooms) prepare(ctx context.Context, ws *git.Workspace, env []string) error {
	s := &Space{Workspace: ws}
	r.pool.submodules(ctx, s)
	if r.pool.setup.none {
		return nil
	}
	if _, err := r.pool.copyIncluded(ctx, s); err != nil {
		return err
	}
	if r.pool.setup.Command != "" {
		return r.pool.runSetup(ctx, ws.Dir, env)
	}
	for _, folder := range r.deps.found {
		if err := r.deps.mirror(folder, ws.Dir); err != nil {
			return fmt.Errorf("take the dependencies of %s: %w", folder, err)
		}
	}
	return r.install(ctx, ws.Dir, env)
}

// install installs the dependencies of packages whose lock file differs from the user's checkout. If that fails, the
// suite reports what is missing.
func (r *Rooms) install(ctx context.Context, dir string, env []string) error {
	for _, at := range r.deps.stale(dir) {
		modules := filepath.Join(dir, at, "node_modules")
		old := modules + ".old"
		if err := os.Rename(modules, old); err != nil && !errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("set old dependencies aside: %w", err)
		}
		_, command := lockOf(dir, at)
		args := strings.Fields(command)
		r.pool.note(fmt.Sprintf("%s installs the dependencies of %s, because your checkout does not have them", command,
			path.Join(filepath.ToSlash(at), "package.json")))
		res, err := proc.Run(ctx, proc.Cmd{
			Args: args, Dir: filepath.Join(dir, at), Env: env, Sweep: proc.NewTag(), Reaper: r.pool.setup.Reaper,
			Limits: proc.Limits{Total: installTime, Grace: r.pool.setup.Grace},
		})
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case err != nil:
			r.pool.note(fmt.Sprintf("%s could not install the dependencies of %s: %v; set a command in [workspace] setup",
				args[0], path.Join(filepath.ToSlash(at), "package.json"), err))
		case !res.OK():
			r.pool.note(fmt.Sprintf("%s %s: %s; name a command in [workspace] setup", strings.Join(args, " "), res.How(),
				lastLines(res.Tail, 2)))
		default:
			if err := git.RemoveAll(old); err != nil {
				return fmt.Errorf("remove old dependencies: %w", err)
			}
			continue
		}
		if _, err := os.Lstat(old); err == nil { // the old dependencies are better than none
			if err := errors.Join(git.RemoveAll(modules), os.Rename(old, modules)); err != nil {
				return fmt.Errorf("bring old dependencies back: %w", err)
			}
		}
	}
	return nil
}

const installTime = 10 * time.Minute

// key returns the cache key of a room's preparation: the set-up, its scripts, and the files that list dependencies.
func (r *Rooms) key(ctx context.Context, tree string) (string, error) {
	if r.pool.setup.Command == "" && r.deps.none() {
		return "", nil
	}
	if known, ok := r.keys.Load(tree); ok {
		return known.(string), nil
	}
	out, err := r.Repo.Run(ctx, "ls-tree", "-r", "-z", tree)
	if err != nil {
		return "", fmt.Errorf("list the tree: %w", err)
	}
	sum := sha256.New()
	io.WriteString(sum, r.pool.setup.Command+"\x00")
	for entry := range strings.SplitSeq(out, "\x00") {
		if _, name, _ := strings.Cut(entry, "\t"); listsDependencies(name) || r.pool.setup.names(name) {
			io.WriteString(sum, entry+"\x00")
		}
	}
	key := hex.EncodeToString(sum.Sum(nil))
	r.keys.Store(tree, key)
	return key, nil
}

// listsDependencies reports whether package managers install from a file.
func listsDependencies(name string) bool {
	base := path.Base(name)
	if strings.HasPrefix(base, "requirements") && strings.HasSuffix(base, ".txt") {
		return true
	}
	return slices.Contains([]string{
		"package.json", "package-lock.json", "npm-shrinkwrap.json", "yarn.lock", "pnpm-lock.yaml", "pnpm-workspace.yaml",
		"bun.lock", "bun.lockb", "pyproject.toml", "setup.py", "setup.cfg", "poetry.lock", "uv.lock", "Pipfile",
		"Pipfile.lock", "environment.yml", ".python-version", "go.mod", "go.sum", "Cargo.toml", "Cargo.lock", "Gemfile",
		"Gemfile.lock", "composer.json", "composer.lock", "pom.xml", "build.gradle", "build.gradle.kts", "gradle.lockfile",
		"Package.resolved", "packages.lock.json",
	}, base)
}

// In calls do in a room with the files of tree and with HEAD at base. do gets the room's folder, its folder for
// temporary files and its environment. In then removes all new files from the room.
func (r *Rooms) In(ctx context.Context, base, tree string, do func(dir, temp string, env []string) error) error {
	rm, err := r.Take(ctx, base, tree)
	if err != nil {
		return err
	}
	defer rm.Release()
	return do(rm.Dir, rm.Temp, rm.Env)
}
