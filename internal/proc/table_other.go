//go:build !linux

package proc

import "os"

// Without /proc, a program's processes are known only by their group: one that left the group is not found.

func survivors(pid int, _, _ string, _ []member) []member {
	if groupAlive(pid) {
		return []member{{pid: pid, group: true}}
	}
	return nil
}

func familyOf(int) []member { return nil }

func nobodyNew(int, string) bool { return false }

func nameOf(int) string { return "" }

// Above returns only the parent, because this system does not report more.
func Above() []int { return []int{os.Getppid()} }

// Opened reports whether a process has the file at path open; known is false if the system does not report it.
func Opened(string) (open, known bool) { return false, false }
