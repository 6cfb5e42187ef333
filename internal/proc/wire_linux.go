package proc

import (
	"io"
	"net"
	"os"
	"os/exec"

	"golang.org/x/sys/unix"
)

// mostFiles is the number of file descriptors in one message.
const mostFiles = 3

// socketPair makes a connection. The far end is for a child.
func socketPair() (near *net.UnixConn, far *os.File, err error) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, nil, os.NewSyscallError("socketpair", err)
	}
	far = os.NewFile(uintptr(fds[1]), "far")
	file := os.NewFile(uintptr(fds[0]), "near")
	defer file.Close()
	if near, err = connOf(file); err != nil {
		_ = far.Close()
		return nil, nil, err
	}
	return near, far, nil
}

func connOf(f *os.File) (*net.UnixConn, error) {
	c, err := net.FileConn(f)
	if err != nil {
		return nil, err
	}
	conn, ok := c.(*net.UnixConn)
	if !ok {
		_ = c.Close()
		return nil, os.ErrInvalid
	}
	return conn, nil
}

// connect makes the connection to the reaper x, which uses it as its standard input.
func connect(x *exec.Cmd) (near io.WriteCloser, far *os.File, err error) {
	conn, far, err := socketPair()
	if err != nil {
		return nil, nil, err
	}
	x.Stdin = far
	return conn, far, nil
}

// receive returns the reaper's end of connect. Any other reader cannot send answers.
func receive(in io.Reader) *wire {
	if f, ok := in.(*os.File); ok {
		if conn, err := connOf(f); err == nil {
			_ = f.Close()
			return newWire(conn, conn)
		}
	}
	return newWire(in, nil)
}

// sendFiles sends a line and open files with it.
func sendFiles(conn *net.UnixConn, line string, files []*os.File) error {
	fds := make([]int, len(files))
	for i, f := range files {
		fds[i] = int(f.Fd())
	}
	// The files go with the first byte: a longer message could be sent in parts.
	if _, _, err := conn.WriteMsgUnix([]byte(line[:1]), unix.UnixRights(fds...), nil); err != nil {
		return err
	}
	_, err := io.WriteString(conn, line[1:])
	return err
}

func (w *wire) readFiles(conn *net.UnixConn, p []byte) (int, error) {
	oob := make([]byte, unix.CmsgSpace(mostFiles*4))
	n, m, _, _, err := conn.ReadMsgUnix(p, oob)
	n = max(n, 0) // it is -1 with an error
	if m > 0 {
		messages, err := unix.ParseSocketControlMessage(oob[:m])
		if err != nil {
			return 0, err
		}
		for i := range messages {
			fds, err := unix.ParseUnixRights(&messages[i])
			if err != nil {
				return 0, err
			}
			for _, fd := range fds {
				w.files = append(w.files, os.NewFile(uintptr(fd), "received"))
			}
		}
	}
	if n == 0 && err == nil {
		return 0, io.EOF
	}
	return n, err
}
