package adapters

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/runplan/runplan/internal/proc"
)

// workshop is a temporary folder for a new version. It is renamed into place at the end, or removed.
type workshop struct {
	registry Registry
	name     string // of the adapter
	dir      string
	owner    *os.File // locked while its process is running
}

const workPrefix = ".new-"

// workshop creates a folder, and removes folders whose process was killed.
func (s Registry) workshop(adapter string) (*workshop, error) {
	home := filepath.Join(s.Dir, adapter)
	entries, err := os.ReadDir(home)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", home, err)
	}
	for _, e := range entries {
		dir := filepath.Join(home, e.Name())
		owner := filepath.Join(dir, "owner")
		if _, err := os.Lstat(owner); err != nil || !strings.HasPrefix(e.Name(), workPrefix) {
			continue
		}
		if open, known := proc.Opened(owner); known && !open {
			if err := os.RemoveAll(dir); err != nil {
				return nil, fmt.Errorf("remove what a killed training left: %w", err)
			}
		}
	}
	dir, err := os.MkdirTemp(home, workPrefix)
	if err != nil {
		return nil, fmt.Errorf("make a folder for the training: %w", err)
	}
	w := &workshop{registry: s, name: adapter, dir: dir}
	if w.owner, err = os.Create(filepath.Join(dir, "owner")); err != nil {
		w.close()
		return nil, fmt.Errorf("make a folder for the training: %w", err)
	}
	return w, nil
}

// close removes the folder unless it was kept.
func (w *workshop) close() {
	if w.owner != nil {
		w.owner.Close()
	}
	_ = os.RemoveAll(w.dir) // the next training removes leftovers
}

// failed keeps only the trainer's log of a failed training and returns an error with its path.
func (w *workshop) failed(why error, now time.Time) error {
	log := filepath.Join(w.registry.Dir, w.name, "failed-"+now.UTC().Format("20060102T150405.000")+".log")
	if err := os.Rename(filepath.Join(w.dir, trainerLog), log); err != nil {
		return why // the trainer printed nothing
	}
	if f, ok := errors.AsType[*FailedError](why); ok {
		f.Log = log
		return why
	}
	return fmt.Errorf("%w; the output of the trainer is in %s", why, log)
}

// keep renames the folder into place. Two trainings that end at the same time get different version numbers.
func (w *workshop) keep(v *Version) error {
	w.owner.Close()
	if err := os.Remove(filepath.Join(w.dir, "owner")); err != nil {
		return fmt.Errorf("keep %s: %w", v.Name(), err)
	}
	to := filepath.Join(w.registry.Dir, w.name, fmt.Sprintf("v%d", v.Number))
	if _, err := os.Lstat(to); err == nil {
		return fmt.Errorf("store %s: another training created it meanwhile; train again", v.Name())
	}
	if err := os.Rename(w.dir, to); err != nil {
		return fmt.Errorf("keep %s: %w", v.Name(), err)
	}
	v.dir = to
	return nil
}
