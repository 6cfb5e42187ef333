package git

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/runplan/runplan/internal/proc"
)

// ErrShut reports that a folder is unreadable even after a change of its permissions; usually it belongs to another
// user.
var ErrShut = errors.New("the folder cannot be read; give this user access to it, remove it, or add it to .gitignore")

// loosen restores the permissions of files and folders below dir that programs took from their own user, as some caches
// and tests do: git can neither read nor remove such files. It does not follow links. It returns their number, and the
// folders that are still unreadable, as slash-separated paths below dir.
func loosen(dir string) (n int, shut []string) {
	filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			if name, rerr := filepath.Rel(dir, path); rerr == nil && d != nil && d.IsDir() {
				shut = append(shut, filepath.ToSlash(name))
			}
			return nil // a later access reports the error
		}
		var least fs.FileMode
		switch {
		case d.IsDir():
			least = 0o700 // before it is read
		case d.Type().IsRegular():
			least = 0o400
		}
		if info, err := d.Info(); err == nil && info.Mode()&least != least && os.Chmod(path, info.Mode()|least) == nil {
			n++
		}
		return nil
	})
	return n, shut
}

// force is [Workspace.Run] for commands that must reach all files, even with restrictive permissions. Git skips
// unreadable folders with a localised message and exits with 0. Here that is an error that wraps [ErrShut].
func (w *Workspace) force(ctx context.Context, args ...string) error {
	said, err := w.complaints(ctx, args...)
	if err == nil && len(said) == 0 {
		return nil
	}
	n, shut := loosen(w.Dir)
	if n > 0 {
		said, err = w.complaints(ctx, args...)
	}
	if err != nil || len(said) == 0 || len(shut) == 0 {
		return err
	}
	ignored, err := w.Ignored(ctx, shut)
	if err != nil {
		return err
	}
	for _, name := range shut {
		if !ignored[name] {
			return fmt.Errorf("%s: %w", name, ErrShut)
		}
	}
	return nil
}

// complaints runs git like [Workspace.Run] and returns its standard error.
func (w *Workspace) complaints(ctx context.Context, args ...string) ([]byte, error) {
	_, said, err := proc.Outputs(context.WithoutCancel(ctx),
		proc.Cmd{Args: append([]string{"git"}, args...), Dir: w.Dir, Env: w.env})
	return said, err
}

// RemoveAll is [os.RemoveAll] that also removes folders with restrictive permissions.
func RemoveAll(dir string) error {
	err := os.RemoveAll(dir)
	if err == nil {
		return nil
	}
	if n, _ := loosen(dir); n > 0 {
		err = os.RemoveAll(dir)
	}
	return err
}
