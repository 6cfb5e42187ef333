package proc

import (
	"errors"
	"os"
	"slices"

	"golang.org/x/sys/unix"
)

// oneKernel are the file systems on which all who have a file open are processes of this kernel. Others, such as those of
// a network or of the machine around a virtual one, may have it open elsewhere.
var oneKernel = []int64{
	unix.EXT4_SUPER_MAGIC, unix.XFS_SUPER_MAGIC, unix.BTRFS_SUPER_MAGIC, unix.TMPFS_MAGIC, unix.OVERLAYFS_SUPER_MAGIC,
	unix.F2FS_SUPER_MAGIC, unix.BCACHEFS_SUPER_MAGIC,
}

// Opened tells whether somebody has the file at path open; known is false where that cannot be told for certain. The kernel
// itself is asked, which leases a file to nobody while another has it open: so also those are seen whose processes
// are not, in another container or of another user.
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
	return false, is.Dev == at.Dev && is.Ino == at.Ino // else another file took its place
}
