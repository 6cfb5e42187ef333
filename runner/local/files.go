package local

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/gofrs/flock"

	"github.com/runplan/runplan/internal/atomicfile"
	"github.com/runplan/runplan/runner/journal"
)

// unlink removes symbolic links that appeared in runplan's own folder while an agent worked: because its logs and
// reports would be written to their targets. It returns the removed links.
func (w *work) unlink() (found []change) {
	for range 100 {
		var link *journal.LinkError
		if err := w.Layout.CheckLinks(); !errors.As(err, &link) {
			return found
		}
		found = append(found, change{name: link.Path, steers: "where runplan writes its files",
			stuck: os.Remove(link.Path) != nil})
		if found[len(found)-1].stuck {
			return found
		}
	}
	return found
}

// writeFile replaces path in one step, and makes its folder. It does not sync to disk, because the journal is
// authoritative.
func writeFile(path string, data []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return atomicfile.WriteLoose(path, data, 0o644)
}

func writeJSON(path string, v any) error {
	data, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return writeFile(path, append(data, '\n'))
}

// copyFile copies a file from one folder to the same place in another, with its rights and its time.
func copyFile(from, to *os.Root, path string) error {
	in, err := from.Open(path)
	if err != nil {
		return err
	}
	defer in.Close()
	info, err := in.Stat()
	if err != nil {
		return err
	}
	if err := to.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	if err := to.RemoveAll(path); err != nil {
		return err
	}
	out, err := to.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, info.Mode().Perm())
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	err = errors.Join(err, out.Close())
	if err == nil {
		err = to.Chtimes(path, info.ModTime(), info.ModTime())
	}
	return err
}

// lastLines returns the last n lines of text that are not blank, joined to one line.
func lastLines(text string, n int) string {
	lines := filled(text)
	return strings.Join(lines[max(0, len(lines)-n):], " / ")
}

// filled returns the lines of text that are not blank.
func filled(text string) []string {
	var lines []string
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" {
			lines = append(lines, line)
		}
	}
	return lines
}

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
	// A process that is killed while it starts another one leaves the lock to that one, for the moment until it is
	// started.
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

// takeRemovable takes a lock without waiting. The file of such a lock goes with [Lock.remove], so takeRemovable checks that
// it has locked the file that is at path now.
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
