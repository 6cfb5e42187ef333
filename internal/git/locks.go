package git

import (
	"errors"
	"io/fs"
	"path/filepath"
	"strings"
)

// RefLocks lists the present lock files of refs, as slash-separated paths in the git folder. A running git holds them
// for milliseconds. A killed one leaves them behind, and then the ref can neither be moved nor removed.
func (r *Repo) RefLocks() ([]string, error) {
	var locks []string
	err := filepath.WalkDir(filepath.Join(r.Common, "refs"), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".lock") {
			return nil // a file removed meanwhile counts as missing
		}
		name, err := filepath.Rel(r.Common, path)
		locks = append(locks, filepath.ToSlash(name))
		return err
	})
	if exists(filepath.Join(r.Common, packedLock)) {
		locks = append(locks, packedLock)
	}
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return locks, err
}

const packedLock = "packed-refs.lock"

// RemoveLock removes a lock of [Repo.RefLocks] that still exists after a second, because its owner was killed.
func (r *Repo) RemoveLock(name string) error {
	return removeLocks([]string{filepath.Join(r.Common, filepath.FromSlash(name))})
}
