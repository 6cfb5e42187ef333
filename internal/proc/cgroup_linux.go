package proc

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// cgroups makes cgroups (version 2) for keepers, below this process's own cgroup. The kernel kills all members of a
// cgroup in one operation: no fork escapes, and it works even if keepers and reaper are dead. They are not a security
// boundary: a process that may write to the parent cgroup can move there.
type cgroups struct {
	base string // "" if cgroups cannot be used
	name string // prefix of our names
}

const cgroupPrefix = "runplan-"

// findCgroups checks whether cgroups can be made. It removes those of dead reapers with the processes in them.
func findCgroups() *cgroups {
	self, prefix := os.Getpid(), cgroupPrefix+pidNamespace()
	c := &cgroups{base: ownCgroup(), name: fmt.Sprintf("%s%d-%s-", prefix, self, bornAt(self))}
	if c.base == "" {
		return c
	}
	entries, _ := os.ReadDir(c.base) // nothing to remove if it is unreadable
	for _, e := range entries {
		name, ours := strings.CutPrefix(e.Name(), prefix)
		f := strings.Split(name, "-")
		if pid, err := strconv.Atoi(f[0]); err == nil && ours && len(f) == 3 && f[1] != "" && bornAt(pid) != f[1] {
			dir := filepath.Join(c.base, e.Name())
			killCgroup(dir)
			removeCgroup(dir)
		}
	}
	return c
}

// pidNamespace returns a prefix that identifies the namespace of this process's ids. A reaper in another one, such as a
// container that shares the cgroup, cannot tell whether a process of this one is alive.
func pidNamespace() string {
	link, err := os.Readlink("/proc/self/ns/pid") // pid:[4026531836]
	if err != nil {
		return ""
	}
	return strings.Trim(strings.TrimPrefix(link, "pid:"), "[]") + "."
}

// ownCgroup returns the folder of this process's cgroup, "" if others cannot be made below it: it is not writable,
// the kernel cannot kill a cgroup (before 5.14), or systemd manages it and did not delegate it.
func ownCgroup() string {
	data, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return ""
	}
	for line := range bytes.Lines(data) {
		path, ok := bytes.CutPrefix(bytes.TrimSpace(line), []byte("0::"))
		if !ok {
			continue
		}
		for _, mount := range []string{"/sys/fs/cgroup", "/sys/fs/cgroup/unified"} {
			var on unix.Statfs_t
			if unix.Statfs(mount, &on) != nil || on.Type != unix.CGROUP2_SUPER_MAGIC {
				continue
			}
			dir := filepath.Join(mount, string(path))
			if unix.Access(dir, unix.W_OK) != nil || unix.Access(filepath.Join(dir, "cgroup.procs"), unix.W_OK) != nil ||
				!delegated(mount, dir) {
				return ""
			}
			return dir
		}
	}
	return ""
}

// delegated reports whether dir is free for our cgroups: systemd does not manage cgroups here, or has delegated dir.
func delegated(mount, dir string) bool {
	if _, err := os.Stat("/run/systemd/system"); err != nil {
		return true
	}
	for ; len(dir) > len(mount); dir = filepath.Dir(dir) {
		for _, name := range []string{"user.delegate", "trusted.delegate"} {
			var value [1]byte
			if n, err := unix.Getxattr(dir, name, value[:]); err == nil && n == 1 && value[0] == '1' {
				return true
			}
		}
	}
	return false
}

// create makes the cgroup of a keeper. It returns "" if that is not possible.
func (c *cgroups) create(id string) string {
	if c.base == "" {
		return ""
	}
	dir := filepath.Join(c.base, c.name+id)
	if err := os.Mkdir(dir, 0o755); err != nil {
		c.base = ""
		return ""
	}
	if _, err := os.Stat(filepath.Join(dir, "cgroup.kill")); err != nil {
		_ = os.Remove(dir)
		c.base = ""
		return ""
	}
	return dir
}

// killCgroup kills all processes in a cgroup and below it.
func killCgroup(dir string) {
	if dir != "" {
		_ = os.WriteFile(filepath.Join(dir, "cgroup.kill"), []byte("1"), 0)
	}
}

// removeCgroup removes a cgroup and its children. Killed processes may need a moment to disappear.
func removeCgroup(dir string) {
	if dir == "" {
		return
	}
	for range 100 {
		entries, err := os.ReadDir(dir)
		if err != nil {
			return
		}
		for _, e := range entries {
			if e.IsDir() {
				removeCgroup(filepath.Join(dir, e.Name()))
			}
		}
		if os.Remove(dir) == nil {
			return
		}
		time.Sleep(time.Millisecond)
	}
}
