package store

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
)

// The reasons why the file that a process writes to is no longer the one at its path.
var (
	ErrGone     = errors.New("the file was deleted while it was in use")
	ErrReplaced = errors.New("another file replaced it while it was in use")
	ErrCut      = errors.New("the file was truncated while it was in use")
)

// place is the path of an open database and the file that was opened. SQLite keeps writing to a deleted file, so the
// two are compared.
type place struct {
	path string
	file os.FileInfo
	wal  *mark
}

// mark is the last seen state of a file.
type mark struct{ info os.FileInfo }

func placeOf(path string) place {
	info, err := os.Lstat(path)
	if err != nil {
		return place{}
	}
	return place{path, info, &mark{}}
}

// Present checks that the journal is still the file that was opened. Otherwise the error wraps [ErrGone], [ErrReplaced]
// or [ErrCut]. It calls stat for two files, which takes a few microseconds.
func (j *Journal) Present() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.present()
}

func (j *Journal) present() error {
	p := &j.place
	if p.file == nil {
		return nil
	}
	now, err := os.Lstat(p.path)
	if err := same(p.path, p.file, now, err); err != nil {
		return err
	}
	if now.Size() < p.file.Size() {
		return fmt.Errorf("%w: %s: %d bytes, but it had %d", ErrCut, p.path, now.Size(), p.file.Size())
	}
	p.file = now
	// The write-ahead log exists from the first write until the last process closes the database.
	wal := p.path + "-wal"
	now, err = os.Lstat(wal)
	if p.wal.info == nil {
		if err == nil {
			p.wal.info = now
		}
		return nil
	}
	return same(wal, p.wal.info, now, err)
}

// same compares a file with its earlier state.
func same(path string, was, now os.FileInfo, err error) error {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%w: %s", ErrGone, path)
	case err != nil:
		return err
	case !os.SameFile(was, now):
		return fmt.Errorf("%w: %s", ErrReplaced, path)
	}
	return nil
}

// Save writes the content of the journal to a new file. An open journal can be read even if it was deleted.
func (j *Journal) Save(ctx context.Context, path string) error {
	if _, err := j.db.ExecContext(ctx, "VACUUM INTO ?", path); err != nil {
		return fmt.Errorf("save the journal as %s: %w", path, explain(err))
	}
	return nil
}
