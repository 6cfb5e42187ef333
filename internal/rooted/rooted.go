// Package rooted reads and writes files below a folder, such as a repository, by their names with slashes. It follows
// no link out of the folder: what a repository contains is foreign data, and a link in it could lead anywhere.
package rooted

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"

	"github.com/runplan/runplan/internal/atomicfile"
)

// Read reads a regular file of at most limit bytes.
func Read(root, name string, limit int) ([]byte, error) {
	f, err := os.OpenInRoot(root, filepath.FromSlash(name))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a regular file", name)
	}
	if info.Size() > int64(limit) {
		return nil, fmt.Errorf("%s has %d KiB; the limit is %d", name, info.Size()>>10, limit>>10)
	}
	text := make([]byte, info.Size()) // a file that got shorter meanwhile is an error
	_, err = io.ReadFull(f, text)
	return text, err
}

// ReadJSON reads a file like Read, and decodes it.
func ReadJSON(root, name string, limit int, v any) error {
	text, err := Read(root, name, limit)
	if err != nil {
		return err
	}
	return json.Unmarshal(text, v)
}

// ReadAll reads the JSON files that match a pattern, and returns their names too.
func ReadAll[T any](root, pattern string, limit int) (all []T, names []string, err error) {
	if names, err = fs.Glob(os.DirFS(root), pattern); err != nil {
		return nil, nil, err
	}
	for _, n := range names {
		var v T
		if err := ReadJSON(root, n, limit, &v); err != nil {
			return nil, nil, fmt.Errorf("read %s: %w", n, err)
		}
		all = append(all, v)
	}
	return all, names, nil
}

// Write replaces a file. A link at its path is an error, so nothing is written outside.
func Write(root, name string, text []byte) error {
	dir, err := os.OpenRoot(root)
	if err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	defer dir.Close()
	if err := dir.MkdirAll(filepath.FromSlash(path.Dir(name)), 0o755); err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	if info, err := dir.Lstat(filepath.FromSlash(name)); err == nil && !info.Mode().IsRegular() {
		return fmt.Errorf("write %s: it is a link or a special file; move it away", name)
	}
	if err := atomicfile.Write(filepath.Join(root, filepath.FromSlash(name)), text, 0o644); err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	return nil
}

// Remove removes a file if it exists.
func Remove(root, name string) error {
	dir, err := os.OpenRoot(root)
	if err != nil {
		return err
	}
	defer dir.Close()
	if err := dir.Remove(filepath.FromSlash(name)); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// Exists reports whether there is anything at a name; it does not follow a link.
func Exists(root, name string) bool {
	_, err := os.Lstat(filepath.Join(root, filepath.FromSlash(name)))
	return err == nil
}
