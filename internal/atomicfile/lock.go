package atomicfile

import (
	"fmt"

	"github.com/gofrs/flock"
)

// Lock keeps other processes from changing the file at path. The lock is a separate file next to it, which stays,
// because each change replaces the file itself.
func Lock(path string) (unlock func() error, err error) {
	lock := flock.New(path + ".lock")
	if err := lock.Lock(); err != nil {
		return nil, fmt.Errorf("take the lock %s.lock: %w", path, err)
	}
	return lock.Close, nil
}

// SweepLocked is [Sweep] for a file that is written under its [Lock]. It takes no lock if there is nothing to remove.
func SweepLocked(path string) error {
	if left, err := Left(path); err != nil || len(left) == 0 {
		return err
	}
	unlock, err := Lock(path)
	if err != nil {
		return err
	}
	defer unlock()
	return Sweep(path)
}

// TryLock is [Lock] without waiting: free is false if another process has the lock.
func TryLock(path string) (unlock func() error, free bool, err error) {
	lock := flock.New(path + ".lock")
	if free, err = lock.TryLock(); err != nil {
		return nil, false, fmt.Errorf("take the lock %s.lock: %w", path, err)
	}
	return lock.Close, free, nil
}
