package atomicfile

import (
	"fmt"

	"github.com/gofrs/flock"
)

// Lock keeps other processes from changing the file at path. The lock is a file of its own beside it, which stays: the
// file itself is replaced with each change.
func Lock(path string) (unlock func() error, err error) {
	lock := flock.New(path + ".lock")
	if err := lock.Lock(); err != nil {
		return nil, fmt.Errorf("take the lock %s.lock: %w", path, err)
	}
	return lock.Close, nil
}

// SweepLocked is [Sweep] for a file that is written under its [Lock]. Where nothing was left it takes none.
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

// TryLock is [Lock] for who would rather not wait: where another process has it, free is false.
func TryLock(path string) (unlock func() error, free bool, err error) {
	lock := flock.New(path + ".lock")
	if free, err = lock.TryLock(); err != nil {
		return nil, false, fmt.Errorf("take the lock %s.lock: %w", path, err)
	}
	return lock.Close, free, nil
}
