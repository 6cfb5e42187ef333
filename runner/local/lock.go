package local

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/gofrs/flock"

	"github.com/runplan/runplan/internal/atomicfile"
	"github.com/runplan/runplan/runner/journal"
)

// ErrLocked means that another run holds the lock.
var ErrLocked = errors.New("another runplan is running")

// Owner is the process that holds a lock.
type Owner struct {
	PID     int       `json:"pid"`
	Host    string    `json:"host"`
	Started time.Time `json:"started"`
}

// Lock is a lock of one process. The system releases it when the process ends for any reason, so only a living
// process can hold it.
type Lock struct{ f *flock.Flock }

// Owners lists the processes on this machine that hold a lock of a repository's runs. A released lock still names its
// process. That process has ended, and its PID may be in use again.
func Owners(l journal.Layout) []Owner {
	here, _ := os.Hostname()
	var out []Owner
	for _, path := range l.Glob(l.Lock("*")) {
		f := flock.New(path, flock.SetFlag(os.O_RDONLY))
		free, err := f.TryRLock()
		f.Close()
		if err == nil && free {
			continue
		}
		var o Owner
		if atomicfile.ReadJSON(path, &o) == nil && o.Host == here && o.PID > 1 {
			out = append(out, o)
		}
	}
	return out
}

// TakeLock takes the lock at path, or returns the process that has it.
func TakeLock(path string, now time.Time) (*Lock, error) {
	// If a process is killed while it starts a child, the child holds the lock for a moment.
	return takeLock(path, now, 10)
}

func takeLock(path string, now time.Time, tries int) (*Lock, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return nil, fmt.Errorf("take the lock: %w", err)
	}
	f := flock.New(path)
	ok, err := f.TryLock()
	for try := 0; err == nil && !ok && try < tries; try++ {
		time.Sleep(30 * time.Millisecond)
		ok, err = f.TryLock()
	}
	if err != nil {
		return nil, fmt.Errorf("take the lock %s: %w", path, err)
	}
	if !ok {
		f.Close()
		who := "unknown process"
		var o Owner
		if atomicfile.ReadJSON(path, &o) == nil {
			who = fmt.Sprintf("process %d on %s, since %s", o.PID, o.Host, o.Started.Local().Format("2006-01-02 15:04:05"))
		}
		return nil, fmt.Errorf("%w: %s (%s)", ErrLocked, who, path)
	}
	host, _ := os.Hostname()
	data, _ := json.Marshal(Owner{PID: os.Getpid(), Host: host, Started: now})
	if err := os.WriteFile(path, data, 0o644); err != nil {
		f.Close()
		return nil, fmt.Errorf("take the lock %s: %w", path, err)
	}
	return &Lock{f}, nil
}

// Release releases the lock. The file stays: otherwise two processes could hold two locks with one name.
func (l *Lock) Release() { l.f.Close() }

// takeRemovable takes a lock without waiting. [Lock.remove] may have removed the file meanwhile, so takeRemovable
// checks that it has locked the present file at path.
func takeRemovable(path string) (*Lock, error) {
	for {
		l, err := takeLock(path, time.Now(), 0)
		if err != nil {
			return nil, err
		}
		own, err := l.f.Stat()
		if there, lerr := os.Lstat(path); err == nil && lerr == nil && os.SameFile(own, there) {
			return l, nil
		}
		l.Release()
	}
}

// remove removes the file of a lock that [takeRemovable] took, and releases the lock.
func (l *Lock) remove() {
	os.Remove(l.f.Path())
	l.f.Close()
}

// with holds a lock while do runs, waiting for it without a time limit. It is for short work only.
func with(path string, do func() error) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	f := flock.New(path)
	if err := f.Lock(); err != nil {
		return fmt.Errorf("take the lock %s: %w", path, err)
	}
	defer f.Close()
	return do()
}
