package room

import (
	"context"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/runplan/runplan/internal/lists"
)

// Difference lists the changes to the files of a room during its gates. Paths are relative to the tree, sorted.
type Difference struct {
	Changed []string // changed compared with the tree, or missing
	Touched []string // rewritten, and as in the tree again
	Made    []string // changed, added or removed dependencies
}

// Empty reports whether there are no changes.
func (d Difference) Empty() bool { return len(d.Changed)+len(d.Touched)+len(d.Made) == 0 }

// Check compares the room with its tree, by the content and the change time of each file. New files outside of the tree
// are build output and do not count.
func (rm *Room) Check(ctx context.Context) (Difference, error) {
	var d Difference
	differ, now, err := rm.look()
	if err != nil {
		return d, fmt.Errorf("check the room: %w", err)
	}
	rm.looked = true
	var suspects []string
	for _, path := range differ {
		if _, err := os.Lstat(filepath.Join(rm.Dir, filepath.FromSlash(path))); err != nil {
			d.Changed = append(d.Changed, path)
		} else {
			suspects = append(suspects, path)
		}
	}
	if len(suspects) > 0 {
		args := append([]string{"-c", "core.fsmonitor=false", "diff", "--no-ext-diff", "--no-textconv", "--name-only",
			"--no-renames", "-z", rm.tree, "--"}, lists.Map(suspects, func(path string) string { return ":(literal)" + path })...)
		out, err := rm.ws.Run(ctx, args...)
		if err != nil {
			return d, fmt.Errorf("compare the room with its tree: %w", err)
		}
		differs := strings.Split(out, "\x00")
		for _, path := range suspects {
			if slices.Contains(differs, path) {
				d.Changed = append(d.Changed, path)
			} else {
				d.Touched = append(d.Touched, path)
			}
		}
		slices.Sort(d.Changed)
	}
	for _, path := range slices.Sorted(maps.Keys(rm.made)) {
		if now[path] != rm.made[path] {
			d.Made = append(d.Made, path)
		}
	}
	return d, nil
}

// Expect records files that the suites rewrite on the base too, so later changes of them do not count.
func (r *Rooms) Expect(d Difference) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, path := range slices.Concat(d.Changed, d.Touched, d.Made) {
		r.habits[path] = true
	}
}

// Unexpected returns d without the paths given to [Rooms.Expect].
func (r *Rooms) Unexpected(d Difference) Difference {
	r.mu.Lock()
	defer r.mu.Unlock()
	known := func(path string) bool { return r.habits[path] }
	d.Changed = slices.DeleteFunc(slices.Clone(d.Changed), known)
	d.Touched = slices.DeleteFunc(slices.Clone(d.Touched), known)
	d.Made = slices.DeleteFunc(slices.Clone(d.Made), known)
	return d
}

// Watch records the state of the folders outside the rooms to which rooms have links. [Rooms.Watched] reports changes
// of them.
func (r *Rooms) Watch(dirs []string) error {
	now, compiled, err := watchedNow(dirs)
	if err != nil {
		return fmt.Errorf("check the dependencies in the checkout: %w", err)
	}
	r.watch, r.watched, r.compiled = dirs, now, compiled
	return nil
}

// watchedNow returns the stamps of the files in folders, and separately of the files that Python compiled.
func watchedNow(dirs []string) (files, compiled map[string]stamp, err error) {
	files, compiled = map[string]stamp{}, map[string]stamp{}
	for _, dir := range dirs {
		found, err := stampTree(dir, func(rel string, _ fs.DirEntry) bool { return !cache(rel) || pythonCache(rel) })
		if err != nil {
			return nil, nil, err
		}
		for rel, s := range found {
			to := files
			if pythonCache(rel) {
				to = compiled
			}
			to[filepath.Join(dir, filepath.FromSlash(rel))] = s
		}
	}
	return files, compiled, nil
}

// Watched returns a changed file in the folders of [Rooms.Watch], or "" if there is none.
func (r *Rooms) Watched() (string, error) {
	if len(r.watch) == 0 {
		return "", nil
	}
	now, compiled, err := watchedNow(r.watch)
	if err != nil {
		return "", fmt.Errorf("check the dependencies in the checkout: %w", err)
	}
	r.mu.Lock()
	r.recompile = !maps.Equal(compiled, r.compiled)
	r.mu.Unlock()
	for path, s := range r.watched {
		if now[path] != s {
			return path, nil
		}
	}
	for path := range now {
		if _, ok := r.watched[path]; !ok {
			return path, nil
		}
	}
	return "", nil
}
