package proc

import (
	"bufio"
	"errors"
	"io"
	"net"
	"os"
	"sync/atomic"
	"time"
)

const (
	drainStep  = 200 * time.Millisecond // without a byte, while another process still holds the other end
	drainTotal = 3 * time.Second
	mostInPipe = 1 << 20 // bytes; more than that comes from another process
)

// pipe carries the output of a program to a sink.
type pipe struct {
	r, w  *os.File
	until atomic.Int64 // if set: the program has ended; read the rest, at most until this time
}

// newPipe makes a pipe and adds it to all.
func newPipe(all *[]*pipe) (*pipe, error) {
	r, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	p := &pipe{r: r, w: w}
	*all = append(*all, p)
	return p, nil
}

// copy feeds data to out until EOF. While draining it stops when no more arrives. The time that out needs does not
// count, so a slow reader never loses output of the program itself.
func (p *pipe) copy(out *sink, s *stream) {
	buf := make([]byte, 32<<10)
	var waited time.Duration // for data, since the program ended
	after := 0               // bytes since then
	for {
		draining := p.until.Load() != 0
		if draining {
			_ = p.r.SetReadDeadline(time.Now().Add(drainStep))
		}
		began := time.Now()
		n, err := p.r.Read(buf)
		if draining {
			waited, after = waited+time.Since(began), after+n
		}
		if n > 0 {
			out.write(s, buf[:n])
		}
		switch {
		case errors.Is(err, os.ErrDeadlineExceeded) && !draining: // it ended in the middle of the read
		case err != nil || waited > drainTotal || after > mostInPipe && time.Now().UnixNano() > p.until.Load():
			return
		}
	}
}

// drain tells copy to finish. The program's own output is already in the pipe; only a process that survived the sweep
// can hold the other end open now.
func (p *pipe) drain() {
	p.until.Store(time.Now().Add(drainTotal).UnixNano())
	_ = p.w.Close()
	if err := p.r.SetReadDeadline(time.Now().Add(drainStep)); err != nil {
		// Pipes of this system have no deadlines: closing is the other way to end a read.
		time.AfterFunc(drainStep, func() { _ = p.r.Close() })
		return
	}
}

func (p *pipe) close() {
	_ = p.w.Close()
	_ = p.r.Close()
}

// wire carries lines of encodeLine between runplan, the reaper and the keepers, together with file descriptors.
type wire struct {
	from  io.Reader
	to    io.Writer // nil if no answer is possible
	lines *bufio.Reader
	files []*os.File // received files, in their order
}

func newWire(from io.Reader, to io.Writer) *wire {
	w := &wire{from: from, to: to}
	w.lines = bufio.NewReader(w)
	return w
}

// next waits for a line. It drops an incomplete last line.
func (w *wire) next() (verb string, args []string, err error) {
	line, err := w.lines.ReadString('\n')
	if err != nil {
		return "", nil, err
	}
	verb, args = decodeLine(line)
	return verb, args, nil
}

// take returns the next n received files, in their order.
func (w *wire) take(n int) ([]*os.File, error) {
	if len(w.files) < n {
		return nil, errors.New("a message arrived without its files")
	}
	out := w.files[:n:n]
	w.files = w.files[n:]
	return out, nil
}

// Read reads bytes for lines, and keeps the files that come with them.
func (w *wire) Read(p []byte) (int, error) {
	if conn, ok := w.from.(*net.UnixConn); ok {
		return w.readFiles(conn, p)
	}
	return w.from.Read(p)
}

func (w *wire) send(verb string, args ...string) error {
	if w.to == nil {
		return errors.New("this end only listens")
	}
	_, err := io.WriteString(w.to, encodeLine(verb, args...))
	return err
}
