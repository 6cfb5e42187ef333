//go:build unix

package app

import "golang.org/x/sys/unix"

// freeMiB returns the free space for unprivileged users under path, in MiB.
func freeMiB(path string) (uint64, error) {
	var s unix.Statfs_t
	if err := unix.Statfs(path, &s); err != nil {
		return 0, err
	}
	return uint64(s.Bavail) * uint64(s.Bsize) >> 20, nil
}
