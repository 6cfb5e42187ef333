// Package clones manages a worker's files on disk: a clone of the shared repository for each of its runs. A note
// next to each clone holds the run, the time of the last use, and the mark of the processes that work there.
//
// A folder belongs to one worker at a time. So when a worker takes a folder, its previous owner has ended. All
// processes with one of its marks are then orphans, and are killed. Processes are identified by their environment,
// which only Linux exposes. A process that cleared its environment is not found.
//
// All durable data of a run is in the shared repository, so an unused clone can be removed.
package clones

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/runplan/runplan/internal/atomicfile"
	"github.com/runplan/runplan/internal/git"
	"github.com/runplan/runplan/internal/glob"
	"github.com/runplan/runplan/internal/proc"
	"github.com/runplan/runplan/runner/local"
)

// DefaultKeep limits how long an unused clone is kept.
const DefaultKeep = 7 * 24 * time.Hour

// Folder is the folder of a worker. It belongs to this process until the process closes it or dies.
type Folder struct {
	Dir  string
	Now  func() time.Time
	lock *local.Lock
}

// Clone is the clone of one run.
type Clone struct {
	Run  string
	Dir  string // may not exist yet
	Mark string // KEY=VALUE, for the environment of all processes in it
}

// note is the stored information about a clone.
type note struct {
	Run  string    `json:"run"`
	Mark string    `json:"mark,omitempty"` // while a worker uses it
	Used time.Time `json:"used"`
}

// half is the suffix of the folder of an incomplete or partly removed clone.
const half = ".half"

// Take takes the folder and creates it if necessary. It kills the processes that an earlier worker left, and
// returns their number. If another worker has the folder, the error wraps [local.ErrLocked].
func Take(dir string, now func() time.Time) (f *Folder, killed int, err error) {
	lock, err := local.TakeLock(filepath.Join(dir, "worker.lock"), now())
	if err != nil {
		return nil, 0, err
	}
	f = &Folder{Dir: dir, Now: now, lock: lock}
	defer func() {
		if err != nil {
			f.Close()
		}
	}()
	if err := atomicfile.SweepFolder(dir); err != nil {
		return nil, 0, err
	}
	for _, h := range glob.Below(dir, "*"+half) {
		if err := git.RemoveAll(h); err != nil {
			return nil, 0, err
		}
	}
	names, err := names(dir)
	if err != nil {
		return nil, 0, err
	}
	for _, name := range names {
		n, err := f.read(name)
		if err != nil {
			return nil, killed, err
		}
		if n.Mark == "" {
			continue
		}
		killed += proc.Sweep(n.Mark)
		if err := f.write(name, note{Run: n.Run, Used: now()}); err != nil {
			return nil, killed, err
		}
	}
	return f, killed, nil
}

// Close releases the folder.
func (f *Folder) Close() { f.lock.Release() }

// Begin reserves the clone of a run, with a mark that is unique to this session. The folder of the clone may be
// missing: see [Folder.Fill].
func (f *Folder) Begin(run string) (Clone, error) {
	c := Clone{Run: run, Dir: filepath.Join(f.Dir, nameOf(run)), Mark: "RUNPLAN_WORKER=" + rand.Text()}
	// Record the mark before starting anything: without it the processes that carry it would not be found.
	return c, f.write(nameOf(run), note{Run: run, Mark: c.Mark, Used: f.Now()})
}

// Fill makes the clone if it is missing.
func (f *Folder) Fill(ctx context.Context, c Clone, url string, env []string) (*git.Repo, error) {
	if _, err := os.Stat(filepath.Join(c.Dir, ".git")); err == nil {
		return git.Open(ctx, c.Dir, env)
	}
	if err := git.RemoveAll(c.Dir + half); err != nil {
		return nil, err
	}
	if err := git.Clone(ctx, url, c.Dir+half, env); err != nil {
		return nil, err
	}
	if err := os.Rename(c.Dir+half, c.Dir); err != nil {
		return nil, err
	}
	return git.Open(ctx, c.Dir, env)
}

// End kills the remaining processes of a clone and marks it as unused.
func (f *Folder) End(c Clone) error {
	proc.Sweep(c.Mark)
	return f.write(nameOf(c.Run), note{Run: c.Run, Used: f.Now()})
}

// List describes each clone in a folder and reports whether it can be removed: if it was unused for the time keep.
// List does not lock the folder.
func List(dir string, keep time.Duration, now time.Time) ([]local.Leftover, error) {
	f := &Folder{Dir: dir}
	names, err := names(dir)
	if err != nil {
		return nil, err
	}
	var out []local.Leftover
	for _, name := range names {
		n, err := f.read(name)
		if err != nil {
			return nil, err
		}
		x := local.Leftover{Kind: "clone", Name: name, Bytes: local.Size(filepath.Join(dir, name))}
		day := n.Used.UTC().Format(time.DateOnly)
		switch gone := n.Used.Add(keep); {
		case n.Mark != "":
			x.Why = "a worker works in it for run " + n.Run
		case now.Before(gone):
			x.Why = fmt.Sprintf("of run %s, last used on %s; it stays until %s", n.Run, day, gone.UTC().Format(time.DateOnly))
		default:
			x.Remove, x.Why = true, fmt.Sprintf("of run %s, not used since %s", n.Run, day)
		}
		out = append(out, x)
	}
	return out, nil
}

// Prune removes the clones that can go, and returns them.
func (f *Folder) Prune(keep time.Duration) ([]local.Leftover, error) {
	all, err := List(f.Dir, keep, f.Now())
	if err != nil {
		return nil, err
	}
	var gone []local.Leftover
	for _, x := range all {
		if !x.Remove {
			continue
		}
		dir := filepath.Join(f.Dir, x.Name)
		if err := os.Rename(dir, dir+half); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return gone, err
		}
		if err := git.RemoveAll(dir + half); err != nil {
			return gone, err
		}
		if err := os.Remove(f.noteOf(x.Name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return gone, err
		}
		gone = append(gone, x)
	}
	return gone, nil
}

// nameOf returns the folder name of a run's clone: a hash, because run ids may contain any character.
func nameOf(run string) string { return fmt.Sprintf("%x", sha256.Sum256([]byte(run)))[:16] }

// names lists the clones of a folder: those with a note, and those of earlier builds without one.
func names(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var out []string
	clone := regexp.MustCompile(`^[0-9a-f]{16}(\.json)?$`)
	for _, e := range entries { // sorted by name: a folder comes before its note
		name := strings.TrimSuffix(e.Name(), ".json")
		if clone.MatchString(e.Name()) && (len(out) == 0 || out[len(out)-1] != name) {
			out = append(out, name)
		}
	}
	return out, nil
}

func (f *Folder) noteOf(name string) string { return filepath.Join(f.Dir, name+".json") }

// read returns the note of a clone; without a note, it returns the modification time of the clone.
func (f *Folder) read(name string) (note, error) {
	var n note
	err := atomicfile.ReadJSON(f.noteOf(name), &n)
	if errors.Is(err, fs.ErrNotExist) {
		info, err := os.Stat(filepath.Join(f.Dir, name))
		if err != nil {
			return note{}, err
		}
		return note{Run: "unknown", Used: info.ModTime()}, nil
	}
	if err != nil {
		return note{}, fmt.Errorf("the note of a clone: %w; remove the note and the clone", err)
	}
	return n, nil
}

func (f *Folder) write(name string, n note) error {
	return atomicfile.WriteJSON(f.noteOf(name), n, 0o600)
}
