package edit

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// file is an edited file: its old and its new content.
type file struct {
	path string // path in messages
	at   string // its path on disk
	text string
	mode fs.FileMode

	there, gone bool // before the edits; after them
	was         string
	written     bool
	madeBelow   string // the topmost folder that was created for it
}

// Files applies edits to the files under root, all of them or none. It returns the paths that it wrote or deleted, in
// the order of the edits. Several edits of one file build on each other. If a file cannot be written, it restores those
// already written.
func Files(root string, edits []Edit) ([]string, error) {
	if len(edits) == 0 {
		return nil, fmt.Errorf("edit: %w", ErrNone)
	}
	var order []*file
	byPath := map[string]*file{}
	for _, e := range edits {
		at, err := SafePath(root, e.Path)
		if err != nil {
			return nil, err
		}
		f := byPath[at]
		if f == nil {
			if f, err = open(at, e); err != nil {
				return nil, err
			}
			byPath[at], order = f, append(order, f)
		}
		if err := f.apply(e); err != nil {
			return nil, err
		}
	}
	var paths []string
	for i, f := range order {
		if err := f.write(); err != nil {
			err = fmt.Errorf("edit %s: %w", f.path, err)
			for _, done := range order[:i+1] {
				err = errors.Join(err, done.restore())
			}
			return nil, err
		}
		paths = append(paths, f.path)
	}
	return paths, nil
}

// open reads the file of an edit. A missing one can only be made.
func open(at string, e Edit) (*file, error) {
	f := &file{path: filepath.ToSlash(filepath.Clean(e.Path)), at: at, mode: 0o644}
	b, err := os.ReadFile(at)
	switch {
	case err == nil:
		f.text, f.was, f.there = string(b), string(b), true
		if fi, err := os.Stat(at); err == nil {
			f.mode = fi.Mode().Perm()
		}
	case errors.Is(err, fs.ErrNotExist) && e.Delete:
		return nil, fmt.Errorf("edit %s: %w; remove the edit that deletes it", e.Path, fs.ErrNotExist)
	case errors.Is(err, fs.ErrNotExist) && e.Search == "":
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("edit %s: %w; leave the search text empty to create it", e.Path, fs.ErrNotExist)
	default:
		return nil, fmt.Errorf("edit %s: %w", e.Path, err)
	}
	return f, nil
}

func (f *file) apply(e Edit) (err error) {
	if e.Delete {
		f.text, f.gone = "", true
		return nil
	}
	if f.gone && e.Search != "" {
		return fmt.Errorf("edit %s: an earlier edit deletes the file: %w", e.Path, fs.ErrNotExist)
	}
	if f.text, err = Apply(f.text, e); err == nil {
		f.gone = false
	}
	return err
}

func (f *file) write() error {
	if f.gone {
		if !f.there {
			return nil // made and deleted by the same edits
		}
		f.written = true
		return os.Remove(f.at)
	}
	if err := f.makeFolder(); err != nil {
		return err
	}
	f.written = true
	return os.WriteFile(f.at, []byte(f.text), f.mode)
}

// makeFolder makes the folder of the file, and records which folders are new.
func (f *file) makeFolder() error {
	for dir := filepath.Dir(f.at); ; dir = filepath.Dir(dir) {
		if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
			break
		}
		f.madeBelow = dir
	}
	return os.MkdirAll(filepath.Dir(f.at), 0o755)
}

func (f *file) restore() error {
	var err error
	switch {
	case f.written && f.there:
		if err = os.WriteFile(f.at, []byte(f.was), f.mode); err == nil {
			err = os.Chmod(f.at, f.mode) // a new file has the umask applied
		}
	case f.madeBelow != "":
		err = os.RemoveAll(f.madeBelow)
	case f.written:
		if err = os.Remove(f.at); errors.Is(err, fs.ErrNotExist) {
			err = nil
		}
	}
	if err != nil {
		return fmt.Errorf("put %s back: %w", f.path, err)
	}
	return nil
}
