package proc

import (
	"errors"
	"os"
	"slices"

	"golang.org/x/sys/unix"
)

// oneKernel lists the file systems whose files only processes of this kernel can open. Files of other file systems,
// such as network ones, may be open on another machine.
var oneKernel = []int64{
	unix.EXT4_SUPER_MAGIC, unix.XFS_SUPER_MAGIC, unix.BTRFS_SUPER_MAGIC, unix.TMPFS_MAGIC, unix.OVERLAYFS_SUPER_MAGIC,
	unix.F2FS_SUPER_MAGIC, unix.BCACHEFS_SUPER_MAGIC,
}

// Opened reports whether another process has the file at path open; known is false if that is uncertain. It asks the
// kernel for a lease, which the kernel refuses while the file is open. So it also sees processes of other users and in
// other containers.
func Opened(path string) (open, known bool) {
	f, err := os.OpenFile(path, unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if err != nil {
		return false, false
	}
	defer f.Close() // which gives the lease back
	var on unix.Statfs_t
	if err := unix.Fstatfs(int(f.Fd()), &on); err != nil || !slices.Contains(oneKernel, int64(uint32(on.Type))) {
		return false, false
	}
	_, err = unix.FcntlInt(f.Fd(), unix.F_SETLEASE, unix.F_WRLCK)
	if errors.Is(err, unix.EAGAIN) {
		return true, true
	}
	var is, at unix.Stat_t
	if err != nil || unix.Fstat(int(f.Fd()), &is) != nil || unix.Lstat(path, &at) != nil {
		return false, false
	}
	return false, is.Dev == at.Dev && is.Ino == at.Ino // otherwise another file replaced it
}
