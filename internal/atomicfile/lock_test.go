package atomicfile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// SweepLocked removes the leftovers of a killed writer as soon as no other writer has the lock.
func TestSweepLockedWaitsForWriter(t *testing.T) {
	path := filepath.Join(t.TempDir(), "rows.json")
	left := path + ".0123456789abcdef.tmp"
	if err := os.WriteFile(left, []byte("half"), 0o644); err != nil {
		t.Fatal(err)
	}
	unlock, err := Lock(path)
	if err != nil {
		t.Fatal(err)
	}
	swept := make(chan error, 1)
	go func() { swept <- SweepLocked(path) }()
	select {
	case err := <-swept:
		t.Errorf("SweepLocked did not wait for the lock: %v", err)
	case <-time.After(50 * time.Millisecond):
	}
	if err := unlock(); err != nil {
		t.Fatal(err)
	}
	if err := <-swept; err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(left); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%s is still there: %v", left, err)
	}
}

// If there are no leftovers, SweepLocked creates nothing, not even a lock.
func TestSweepLockedWithoutLeftovers(t *testing.T) {
	dir := t.TempDir()
	if err := SweepLocked(filepath.Join(dir, "logs", "rows.json")); err != nil {
		t.Error(err)
	}
	if all, err := os.ReadDir(dir); err != nil || len(all) > 0 {
		t.Errorf("%v was made (%v)", all, err)
	}
}
