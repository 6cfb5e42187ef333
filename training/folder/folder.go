// Package folder makes a folder of files that is there as a whole or not at all: it is made beside its place, and moved
// there when it is finished.
package folder

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// ErrExists says that something is where the folder should go.
var ErrExists = errors.New("it is there already")

// Folder is one that is being made.
type Folder struct {
	Dir  string            // where it is made
	Sums map[string]string // sha256 of the files, by name
	out  string
}

// abandoned is the age from which a folder that is being made belongs to nobody any more.
const abandoned = 24 * time.Hour

// New begins a folder that will be out. One that is there and not empty is an [ErrExists], unless it may be replaced and
// holds a file called mark, by which it is known to be of the same kind.
func New(out, mark string, replace bool) (*Folder, error) {
	if err := vacant(out, mark, replace); err != nil {
		return nil, err
	}
	parent := filepath.Dir(filepath.Clean(out))
	if err := os.MkdirAll(parent, 0o755); err != nil {
		return nil, fmt.Errorf("make room for %s: %w", out, err)
	}
	begin := "." + filepath.Base(out) + ".building-"
	entries, err := os.ReadDir(parent)
	if err != nil {
		return nil, fmt.Errorf("make room for %s: %w", out, err)
	}
	for _, e := range entries {
		if name := e.Name(); len(name) > len(begin) && name[:len(begin)] == begin {
			if info, err := e.Info(); err == nil && time.Since(info.ModTime()) > abandoned {
				_ = os.RemoveAll(filepath.Join(parent, name)) // what was killed once is no reason to fail now
			}
		}
	}
	dir, err := os.MkdirTemp(parent, begin)
	if err != nil {
		return nil, fmt.Errorf("make room for %s: %w", out, err)
	}
	return &Folder{Dir: dir, Sums: map[string]string{}, out: out}, nil
}

func vacant(out, mark string, replace bool) error {
	entries, err := os.ReadDir(out)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return fmt.Errorf("look at %s: %w", out, err)
	case len(entries) == 0:
		return nil
	}
	if _, err := os.Stat(filepath.Join(out, mark)); replace && err == nil {
		return nil
	}
	if replace {
		return fmt.Errorf("%s has no %s and is left as it is: %w", out, mark, ErrExists)
	}
	return fmt.Errorf("%s is not empty: %w", out, ErrExists)
}

// Path is where a file is while the folder is made.
func (f *Folder) Path(name string) string { return filepath.Join(f.Dir, name) }

// File writes one file, to the disk, and notes its sum.
func (f *Folder) File(name string, fill func(io.Writer) error) error {
	file, err := os.Create(f.Path(name))
	if err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	sum := sha256.New()
	w := bufio.NewWriterSize(io.MultiWriter(file, sum), 1<<20)
	if err = fill(w); err == nil {
		err = w.Flush()
	}
	if err == nil {
		err = file.Sync()
	}
	if cerr := file.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	f.Sums[name] = hex.EncodeToString(sum.Sum(nil))
	return nil
}

// Publish moves the folder to its place. Whoever looks sees the old one, the new one, or for a moment none.
func (f *Folder) Publish() error {
	if err := os.Chmod(f.Dir, 0o755); err != nil {
		return fmt.Errorf("finish %s: %w", f.out, err)
	}
	old := f.Dir + ".old"
	switch err := os.Rename(f.out, old); {
	case err == nil:
		defer os.RemoveAll(old)
	case !errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("finish %s: %w", f.out, err)
	}
	if err := os.Rename(f.Dir, f.out); err != nil {
		_ = os.Rename(old, f.out) // as it was
		return fmt.Errorf("finish %s: %w", f.out, err)
	}
	return nil
}

// Discard removes what was made, if it was not published.
func (f *Folder) Discard() error { return os.RemoveAll(f.Dir) }
