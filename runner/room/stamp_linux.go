package room

import (
	"io/fs"
	"syscall"
)

// systemStamp returns the change time in nanoseconds and the inode.
func systemStamp(info fs.FileInfo) (change int64, inode uint64) {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return st.Ctim.Nano(), st.Ino
	}
	return 0, 0
}
