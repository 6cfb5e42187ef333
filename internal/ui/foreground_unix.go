//go:build unix

package ui

import (
	"os"

	"golang.org/x/sys/unix"
)

// foreground reports whether this process may change the settings of its terminal f.
func foreground(f *os.File) bool {
	group, err := unix.IoctlGetInt(int(f.Fd()), unix.TIOCGPGRP)
	return err != nil || group == unix.Getpgrp()
}
