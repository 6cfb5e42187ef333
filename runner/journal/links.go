package journal

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// LinkError reports that runplan would read or write through a symbolic link in its own folder. A repository can
// contain such a link, which could point to any file of the user.
type LinkError struct {
	Path string // of the link
	To   string // its target
}

func (e *LinkError) Error() string {
	return fmt.Sprintf("%s is a symbolic link to %s, and runplan does not follow links in its own folder", e.Path, e.To)
}

// CheckLinks returns a [LinkError] if the folder itself, or a file or folder with a fixed name in it, is a symbolic
// link. It costs one lstat for each path. It does not check deeper levels, because their names are not known in
// advance.
func (l Layout) CheckLinks() error {
	if err := noLink(l.Root); err != nil {
		return err
	}
	entries, err := os.ReadDir(l.Root)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("check %s: %w", l.Root, err)
	}
	for _, e := range entries {
		path := filepath.Join(l.Root, e.Name())
		if err := noLink(path); err != nil {
			return err
		}
		if !e.IsDir() {
			continue
		}
		inside, err := os.ReadDir(path)
		if err != nil {
			return fmt.Errorf("check %s: %w", path, err)
		}
		for _, i := range inside {
			if i.Type()&fs.ModeSymlink == 0 {
				continue
			}
			if err := noLink(filepath.Join(path, i.Name())); err != nil {
				return err
			}
		}
	}
	return nil
}

func noLink(path string) error {
	to, err := os.Readlink(path)
	if err != nil {
		return nil // not a link
	}
	return &LinkError{path, to}
}
