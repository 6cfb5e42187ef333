//go:build unix

package prepare

import "golang.org/x/sys/unix"

// FreeMiB returns the free space for unprivileged users under path, in MiB.
func FreeMiB(path string) (uint64, error) {
	var s unix.Statfs_t
	if err := unix.Statfs(path, &s); err != nil {
		return 0, err
	}
	return uint64(s.Bavail) * uint64(s.Bsize) >> 20, nil
}
