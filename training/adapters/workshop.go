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

// workshop is the folder in which a version is made. It becomes the version's own in one step, or is removed.
type workshop struct {
	shelf Shelf
	name  string // of the adapter
	dir   string
	owner *os.File // open while somebody is at work
}

const workPrefix = ".new-"

// workshop makes a folder, and removes those whose owner was killed.
func (s Shelf) workshop(adapter string) (*workshop, error) {
	home := filepath.Join(s.Dir, adapter)
	entries, err := os.ReadDir(home)
	if err != nil {
		return nil, fmt.Errorf("look into %s: %w", home, err)
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
	w := &workshop{shelf: s, name: adapter, dir: dir}
	if w.owner, err = os.Create(filepath.Join(dir, "owner")); err != nil {
		w.close()
		return nil, fmt.Errorf("make a folder for the training: %w", err)
	}
	return w, nil
}

// close removes what was not kept.
func (w *workshop) close() {
	if w.owner != nil {
		w.owner.Close()
	}
	_ = os.RemoveAll(w.dir) // the next training removes what is left
}

// failed keeps the trainer's log of a training that failed, and nothing else, and says where it is.
func (w *workshop) failed(why error, now time.Time) error {
	log := filepath.Join(w.shelf.Dir, w.name, "failed-"+now.UTC().Format("20060102T150405.000")+".log")
	if err := os.Rename(filepath.Join(w.dir, trainerLog), log); err != nil {
		return why // it printed nothing
	}
	var f *FailedError
	if errors.As(why, &f) {
		f.Log = log
		return why
	}
	return fmt.Errorf("%w; what the trainer printed is in %s", why, log)
}

// keep gives the version its folder. Two trainings that end at a time do not get the same one.
func (w *workshop) keep(v *Version) error {
	w.owner.Close()
	if err := os.Remove(filepath.Join(w.dir, "owner")); err != nil {
		return fmt.Errorf("keep %s: %w", v.Name(), err)
	}
	to := filepath.Join(w.shelf.Dir, w.name, fmt.Sprintf("v%d", v.Number))
	if _, err := os.Lstat(to); err == nil {
		return fmt.Errorf("keep %s: another training made it meanwhile; train again", v.Name())
	}
	if err := os.Rename(w.dir, to); err != nil {
		return fmt.Errorf("keep %s: %w", v.Name(), err)
	}
	v.dir = to
	return nil
}
