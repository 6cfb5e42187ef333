package proc

import (
	"bufio"
	"errors"
	"io"
	"net"
	"os"
)

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
