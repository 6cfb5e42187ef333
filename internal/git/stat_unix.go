//go:build unix

package git

import "golang.org/x/sys/unix"

// statFile returns the stat data of a file as git records it in an index.
func statFile(path string) (fileStat, bool) {
	var st unix.Stat_t
	if err := unix.Lstat(path, &st); err != nil {
		return fileStat{}, false
	}
	mode := uint32(0o100644)
	switch st.Mode & unix.S_IFMT {
	case unix.S_IFREG:
		if st.Mode&0o100 != 0 {
			mode = 0o100755
		}
	case unix.S_IFLNK:
		mode = 0o120000
	default:
		return fileStat{}, false
	}
	return fileStat{
		uint32(st.Ctim.Sec), uint32(st.Ctim.Nsec), uint32(st.Mtim.Sec), uint32(st.Mtim.Nsec),
		uint32(st.Dev), uint32(st.Ino), mode, st.Uid, st.Gid, uint32(st.Size),
	}, true
}
