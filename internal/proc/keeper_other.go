//go:build !linux

package proc

import (
	"errors"
	"io"
	"net"
	"os"
	"os/exec"
)

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
