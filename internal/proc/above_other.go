//go:build !linux

package proc

import "os"

// Above returns only the parent, because this system does not report more.
func Above() []int { return []int{os.Getppid()} }
