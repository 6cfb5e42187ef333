package differential

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
)

// maxFile limits the bytes of a test, or of a file that it reads.
const maxFile = 8 << 20

// file is copied onto the base.
type file struct {
	path string
	mode fs.FileMode
	data []byte
}

// goneError reports that a file cannot be copied from the candidate.
type goneError struct{ path, why string }

func (e *goneError) Error() string { return e.path + " " + e.why }

// read reads the files of the candidate. No path and no link may lead out of the tree.
func read(dir string, paths []string) ([]file, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("read the regression test: %w", err)
	}
	defer root.Close()
	var out []file
	for _, p := range paths {
		if !fs.ValidPath(p) || p == "." {
			return nil, &goneError{p, "is not a path in the project"}
		}
		f, err := one(root, p)
		if err != nil {
			return nil, err
		}
		out = append(out, f)
	}
	return out, nil
}

func one(root *os.Root, p string) (file, error) {
	name := filepath.FromSlash(p)
	info, err := root.Lstat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return file{}, &goneError{p, "does not exist"}
	case err != nil:
		return file{}, fmt.Errorf("read %s: %w", p, err)
	case !info.Mode().IsRegular():
		return file{}, &goneError{p, "is not a file"}
	case info.Size() > maxFile:
		return file{}, &goneError{p, fmt.Sprintf("is longer than %d MiB", maxFile>>20)}
	}
	data, err := root.ReadFile(name)
	if err != nil {
		return file{}, fmt.Errorf("read %s: %w", p, err)
	}
	return file{p, info.Mode().Perm(), data}, nil
}

// lay writes the files into the tree of the base and replaces existing ones. It replaces a link in the way and does not
// follow it.
func lay(dir string, files []file) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	for _, f := range files {
		name := filepath.FromSlash(f.path)
		if parent := path.Dir(f.path); parent != "." {
			if err := root.MkdirAll(filepath.FromSlash(parent), 0o755); err != nil {
				return err
			}
		}
		if err := root.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		if err := root.WriteFile(name, f.data, f.mode); err != nil {
			return err
		}
	}
	return nil
}
