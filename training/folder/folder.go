// Package folder creates a folder of files atomically: it writes a temporary folder next to the target and renames it
// at the end.
package folder

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// ErrExists reports that the target already exists.
var ErrExists = errors.New("it already exists")

// Folder is a folder under construction.
type Folder struct {
	Dir  string            // temporary folder
	Sums map[string]string // sha256 of each file, by name
	out  string
}

// abandoned is the age from which a temporary folder counts as left over.
const abandoned = 24 * time.Hour

// New starts a folder for the target out. If out exists and is not empty, it returns [ErrExists]. With replace, a
// folder that contains the file mark may be replaced.
func New(out, mark string, replace bool) (*Folder, error) {
	if err := vacant(out, mark, replace); err != nil {
		return nil, err
	}
	parent := filepath.Dir(filepath.Clean(out))
	if err := os.MkdirAll(parent, 0o755); err != nil {
		return nil, fmt.Errorf("create a folder for %s: %w", out, err)
	}
	begin := "." + filepath.Base(out) + ".building-"
	entries, err := os.ReadDir(parent)
	if err != nil {
		return nil, fmt.Errorf("create a folder for %s: %w", out, err)
	}
	for _, e := range entries {
		if name := e.Name(); len(name) > len(begin) && name[:len(begin)] == begin {
			if info, err := e.Info(); err == nil && time.Since(info.ModTime()) > abandoned {
				_ = os.RemoveAll(filepath.Join(parent, name)) // a leftover must not prevent a new start
			}
		}
	}
	dir, err := os.MkdirTemp(parent, begin)
	if err != nil {
		return nil, fmt.Errorf("create a folder for %s: %w", out, err)
	}
	return &Folder{Dir: dir, Sums: map[string]string{}, out: out}, nil
}

func vacant(out, mark string, replace bool) error {
	entries, err := os.ReadDir(out)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return fmt.Errorf("check %s: %w", out, err)
	case len(entries) == 0:
		return nil
	}
	if _, err := os.Stat(filepath.Join(out, mark)); replace && err == nil {
		return nil
	}
	if replace {
		return fmt.Errorf("%s has no %s and is not changed: %w", out, mark, ErrExists)
	}
	return fmt.Errorf("%s is not empty: %w", out, ErrExists)
}

// Path returns the path of a file in the temporary folder.
func (f *Folder) Path(name string) string { return filepath.Join(f.Dir, name) }

// File writes and syncs one file and records its hash.
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
	err = errors.Join(err, file.Close())
	if err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	f.Sums[name] = hex.EncodeToString(sum.Sum(nil))
	return nil
}

// JSON fills a file with the indented JSON of v.
func JSON(v any) func(io.Writer) error {
	return func(w io.Writer) error {
		e := json.NewEncoder(w)
		e.SetIndent("", "  ")
		return e.Encode(v)
	}
}

// Lines fills a file with the JSON of one element on each line.
func Lines[T any](all []T) func(io.Writer) error {
	return func(w io.Writer) error {
		e := json.NewEncoder(w)
		for _, v := range all {
			if err := e.Encode(v); err != nil {
				return err
			}
		}
		return nil
	}
}

// Text fills a file with a text.
func Text(text string) func(io.Writer) error {
	return func(w io.Writer) error { _, err := io.WriteString(w, text); return err }
}

// Publish moves the folder to its target. Readers see the old folder, the new one, or briefly none.
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
		_ = os.Rename(old, f.out) // restore the old folder
		return fmt.Errorf("finish %s: %w", f.out, err)
	}
	return nil
}

// Discard removes an unpublished folder.
func (f *Folder) Discard() error { return os.RemoveAll(f.Dir) }
