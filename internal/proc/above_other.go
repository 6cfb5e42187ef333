//go:build !linux

package proc

import "os"

// Above returns the parent alone: this system tells no more.
func Above() []int { return []int{os.Getppid()} }
