//go:build !unix

package stamps

import (
	"fmt"
	"os"
)

// statOf identifies the state of a file without reading it, and returns "" if it does not exist.
func statOf(path string) string {
	fi, err := os.Lstat(path)
	if err != nil {
		return ""
	}
	return fmt.Sprint(fi.Mode(), fi.Size(), fi.ModTime().UnixNano())
}

// writable reports whether this user may change the file at path. On this system that is unknown, so it returns true.
func writable(string) bool { return true }

// folderState says whether the folder at path exists. Here nothing shows that its entries are unchanged.
func folderState(path string) (state string, settled bool) {
	if _, err := os.Stat(path); err != nil {
		return "", true
	}
	return "exists", false
}
