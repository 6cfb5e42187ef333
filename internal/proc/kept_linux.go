package proc

import (
	"errors"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// kept is a program under a keeper.
type kept struct {
	cmd    Cmd
	pid    int
	born   string
	keeper *keeper
	guest  *guest
	input  *feed
	kills  int // calls of kill
}

// patience is the number of rounds in which processes are killed one by one, before the kernel kills the cgroup.
const patience = 10

// keeps reports whether keepers are available. A closed reaper has none.
func (r *Reaper) keeps() bool {
	if r == nil {
		return false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return !r.closing
}

func (p *process) kept(c Cmd, path string, outputs [2]*os.File) error {
	if c.Dir != "" { // a keeper's cgroup is the one in which this process was started
		dir, err := filepath.Abs(c.Dir)
		if err != nil {
			return err
		}
		c.Dir = dir
	}
	in, err := newFeed(c.Stdin)
	if err != nil {
		return err
	}
	for {
		k, err := c.Reaper.keeper()
		if err != nil {
			in.close()
			return err
		}
		answer, g, err := k.run(path, c, []*os.File{in.r, outputs[0], outputs[1]})
		if errors.Is(err, errKeeperLost) { // while it was idle
			c.Reaper.dismiss(k)
			continue
		}
		in.sent()
		if err != nil {
			c.Reaper.release(k)
			in.close()
			return err
		}
		h := &kept{cmd: c, keeper: k, guest: g, born: answer[1], input: in}
		h.pid, _ = strconv.Atoi(answer[0])
		p.pid, p.ended, p.holder = h.pid, g.ended, h
		return nil
	}
}

func (h *kept) outcome() (exit int, signal syscall.Signal) {
	if h.guest.status.Signaled() {
		return -1, h.guest.status.Signal()
	}
	return h.guest.status.ExitStatus(), 0
}

func (h *kept) asking() {}

func (h *kept) left() ([]member, bool) {
	if isClosed(h.guest.clean) || isClosed(h.keeper.gone) {
		return nil, true // leave kills the processes of a dead keeper
	}
	return below(h.keeper.pid, nil), false // may miss a process during its adoption; only clean proves that none remains
}

func (h *kept) kill() {
	if h.kills++; h.kills > patience {
		killCgroup(h.keeper.group)
	}
}

func (h *kept) leave() (int, error) {
	h.input.close()
	if isClosed(h.guest.clean) && h.kills <= patience {
		h.cmd.Reaper.release(h.keeper)
		return 0, nil
	}
	h.cmd.Reaper.dismiss(h.keeper)
	if isClosed(h.guest.clean) {
		// Linux 6.18 kills processes started in a cgroup that was killed before, so this one is not reused.
		h.cmd.Reaper.send("settle", h.keeper.id)
		return 0, nil
	}
	if !isClosed(h.keeper.gone) {
		return 0, nil // it still tries to end its processes
	}
	n, err := h.cmd.Reaper.settle(h.keeper)
	if errors.Is(err, ErrReaperLost) { // both were killed: end the processes that can still be recognized
		killMembers(survivors(h.pid, h.born, h.cmd.Sweep, nil))
	}
	return n, err
}

// feed is the standard input of a program under a keeper.
type feed struct {
	r, w *os.File
	own  bool // r was opened here
	done chan struct{}
}

func newFeed(in io.Reader) (*feed, error) {
	if f, ok := in.(*os.File); ok {
		return &feed{r: f}, nil
	}
	if in == nil {
		r, err := os.Open(os.DevNull)
		return &feed{r: r, own: true}, err
	}
	r, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	f := &feed{r: r, w: w, own: true, done: make(chan struct{})}
	go func() {
		defer close(f.done)
		_, _ = io.Copy(w, in) // a program need not read to the end
		_ = w.Close()
	}()
	return f, nil
}

// sent closes this process's copy of the end that was passed to the program.
func (f *feed) sent() {
	if f.own {
		_ = f.r.Close()
	}
}

// close ends the copying. It does not wait for a reader that never ends.
func (f *feed) close() {
	f.sent()
	if f.w == nil {
		return
	}
	_ = f.w.Close()
	select {
	case <-f.done:
	case <-time.After(stdinDelay):
	}
}

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
