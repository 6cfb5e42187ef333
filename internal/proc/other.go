//go:build !linux

package proc

import (
	"errors"
	"io"
	"net"
	"os"
	"os/exec"
)

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

// Without a child subreaper there are no keepers: the reaper ends the process groups that were registered with it.

type keepers struct{}

func (*Reaper) open() {}

func (*Reaper) shut() {}

// Hire starts keepers in the background, where there are any.
func (*Reaper) Hire(int) {}

func (*Reaper) keeps() bool { return false }

func (*process) kept(Cmd, string, [2]*os.File) error { return errors.ErrUnsupported }

type minder struct{}

func newMinder(*wire) minder { return minder{} }

func (minder) do(string, []string) {}

func (minder) end() {}

// connect makes the connection to the reaper x, which uses it as its standard input.
func connect(x *exec.Cmd) (near io.WriteCloser, far *os.File, err error) {
	near, err = x.StdinPipe()
	return near, nil, err
}

func receive(in io.Reader) *wire { return newWire(in, nil) }

func (*wire) readFiles(conn *net.UnixConn, p []byte) (int, error) { return conn.Read(p) }
