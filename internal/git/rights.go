package git

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
)

// loosen gives back the rights to files and folders below dir that programs took from their own user, as some do with
// their caches and some tests do: git can neither read nor remove such files. Links are not followed. It returns how
// many there were.
func loosen(dir string) (n int) {
	filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return nil // whoever needs it says so
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
	return n
}

// force is [Workspace.Run] for what has to get at all files, whatever rights somebody left there.
func (w *Workspace) force(ctx context.Context, args ...string) error {
	_, err := w.Run(ctx, args...)
	if err != nil && loosen(w.Dir) > 0 {
		_, err = w.Run(ctx, args...)
	}
	return err
}

// removeAll is [os.RemoveAll], whatever rights somebody left below dir.
func removeAll(dir string) error {
	err := os.RemoveAll(dir)
	if err != nil && loosen(dir) > 0 {
		err = os.RemoveAll(dir)
	}
	return err
}
