package git

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Special is a file that git neither commits nor removes, and that may block programs that read a tree.
type Special struct {
	Path   string // in the workspace, with slashes
	Kind   string // "named pipe", "socket" or "device"
	Socket bool   // a stopped server leaves one
}

// DropSpecial removes named pipes, sockets and devices from the workspace and returns them. It skips installed
// packages, which are in no commit.
func (w *Workspace) DropSpecial() (found []Special, err error) {
	var left []error
	walk := func() {
		left = nil
		filepath.WalkDir(w.Dir, func(path string, d fs.DirEntry, err error) error {
			switch {
			case err != nil:
				return nil // git prints this for unreadable paths
			case d.IsDir() && (d.Name() == "node_modules" || d.Name() == ".venv" || path == filepath.Join(w.Dir, ".git")):
				return fs.SkipDir
			case d.Type()&(fs.ModeNamedPipe|fs.ModeSocket|fs.ModeDevice) == 0:
				return nil
			}
			rel, err := filepath.Rel(w.Dir, path)
			if err == nil {
				err = os.Remove(path)
			}
			if err != nil {
				left = append(left, err)
				return nil
			}
			found = append(found, special(filepath.ToSlash(rel), d.Type()))
			return nil
		})
	}
	if walk(); len(left) > 0 {
		loosen(w.Dir)
		walk()
	}
	if err := errors.Join(left...); err != nil {
		return found, fmt.Errorf("remove special files from %s: %w", w.Dir, err)
	}
	return found, nil
}

func special(path string, mode fs.FileMode) Special {
	switch {
	case mode&fs.ModeNamedPipe != 0:
		return Special{path, "named pipe", false}
	case mode&fs.ModeSocket != 0:
		return Special{path, "socket", true}
	}
	return Special{path, "device", false}
}

// clean removes special files, and all files that are neither in the index nor ignored.
func (w *Workspace) clean(ctx context.Context) error {
	if _, err := w.DropSpecial(); err != nil {
		return err
	}
	return w.force(ctx, "clean", "-ffdq")
}
