//go:build unix

package stamps

import (
	"fmt"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
)

// statOf identifies the state of a file without reading it, and returns "" if it does not exist. The change time is
// part of it: a program can set the modification time of a file, but not this one.
func statOf(path string) string {
	var st unix.Stat_t
	if err := unix.Lstat(path, &st); err != nil {
		return ""
	}
	return fmt.Sprint(st.Dev, st.Ino, st.Mode, st.Size, st.Mtim, st.Ctim)
}

// writable reports whether this user may change the file at path, or its folder.
func writable(path string) bool {
	return unix.Access(path, unix.W_OK) == nil || unix.Access(filepath.Dir(path), unix.W_OK) == nil
}

// coarse is the longest time in which two changes can get the same time stamp on a file system.
const coarse = 2 * time.Second

// folderState identifies the state of the folder at path, through symbolic links, and returns "" if it does not exist.
// settled says that another file in it would change the state: its time stamps are older than [coarse].
func folderState(path string) (state string, settled bool) {
	var st unix.Stat_t
	if err := unix.Stat(path, &st); err != nil {
		return "", true
	}
	old := func(t unix.Timespec) bool { return time.Since(time.Unix(t.Unix())) > coarse }
	return fmt.Sprint(st.Dev, st.Ino, st.Mtim, st.Ctim), old(st.Mtim) && old(st.Ctim)
}
