package proc

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/runplan/runplan/internal/atomicfile"
	"github.com/runplan/runplan/internal/redact"
)

const (
	maxLine     = 4 << 10
	defaultKeep = 64 << 10
	maxLog      = 64 << 20
)

// sink splits the output of a program into live lines, log file, tail and standard output. Its memory is bounded. It is
// safe for concurrent use by several streams.
type sink struct {
	mu      sync.Mutex
	closed  bool
	line    func(string)
	redact  func(string) string
	tail    ring
	stdout  []byte
	outCap  int
	cut     bool
	feed    io.Writer
	bytes   int64
	last    atomic.Int64
	log     *os.File
	logLeft int64
	logErr  error
	streams []*stream
}

// stream is one of the two outputs, or both in one.
type stream struct {
	stdout bool // this is standard output, which is kept separately
	buf    []byte
	long   bool   // the line in buf was cut
	cr     bool   // the last byte was a carriage return
	whole  []byte // received data that cannot be redacted yet
}

func newSink(c Cmd) (*sink, error) {
	s := &sink{line: c.Line, redact: c.Redact, outCap: c.KeepStdout, feed: c.Stdout}
	s.tail.max = c.Keep
	if c.Keep <= 0 {
		s.tail.max = defaultKeep
	}
	s.last.Store(time.Now().UnixNano())
	if c.Log == "" {
		return s, nil
	}
	f, err := atomicfile.Append(c.Log, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open its log: %w", err)
	}
	s.log, s.logLeft = f, maxLog
	if fi, err := f.Stat(); err == nil {
		s.logLeft -= fi.Size()
	}
	return s, nil
}

func (s *sink) stream(stdout bool) *stream {
	st := &stream{stdout: stdout}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.streams = append(s.streams, st)
	return st
}

// lastByte returns the time of the last output, or of the start.
func (s *sink) lastByte() time.Time { return time.Unix(0, s.last.Load()) }

func (s *sink) write(st *stream, p []byte) {
	s.last.Store(time.Now().UnixNano())
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return
	}
	s.bytes += int64(len(p))
	if st.stdout {
		room := min(max(s.outCap-len(s.stdout), 0), len(p))
		s.stdout = append(s.stdout, p[:room]...)
		s.cut = s.cut || s.outCap > 0 && room < len(p)
		if s.feed != nil {
			_, _ = s.feed.Write(p)
		}
	}
	if s.redact != nil {
		st.whole = append(st.whole, p...)
		n := redact.Cut(st.whole)
		p = []byte(s.redact(string(st.whole[:n])))
		st.whole = append(st.whole[:0], st.whole[n:]...)
	}
	s.tell(st, p)
	s.last.Store(time.Now().UnixNano()) // the time of a slow Line does not count as idle
}

// tell passes redacted output on.
func (s *sink) tell(st *stream, p []byte) {
	if len(p) == 0 {
		return
	}
	s.tail.write(p)
	if s.log != nil {
		s.logWrite(p)
	}
	if s.line != nil {
		s.lines(st, p)
	}
}

// lines splits p into lines for Line. A carriage return alone restarts the line, as on a terminal, so a progress bar is
// one line.
func (s *sink) lines(st *stream, p []byte) {
	for len(p) > 0 {
		if st.cr {
			st.cr = false
			if p[0] != '\n' {
				st.buf, st.long = st.buf[:0], false
			}
		}
		i := bytes.IndexAny(p, "\r\n")
		text := p
		if i >= 0 {
			text = p[:i]
		}
		room := min(max(maxLine+1-len(st.buf), 0), len(text))
		st.buf = append(st.buf, text[:room]...)
		st.long = st.long || room < len(text)
		if i < 0 {
			return
		}
		if p[i] == '\r' {
			st.cr = true
		} else {
			s.emit(st)
		}
		p = p[i+1:]
	}
}

func (s *sink) emit(st *stream) {
	text := redact.Clean(string(st.buf))
	if st.long = st.long || len(text) > maxLine; st.long {
		text = strings.ToValidUTF8(text[:min(len(text), maxLine)], "")
		text += " […]"
	}
	st.buf, st.long = st.buf[:0], false
	s.line(text)
}

func (s *sink) logWrite(p []byte) {
	if s.logErr != nil || s.logLeft < 0 {
		return
	}
	room := min(s.logLeft, int64(len(p)))
	if _, err := s.log.Write(p[:room]); err != nil {
		s.logErr = fmt.Errorf("write log %s: %w", s.log.Name(), err)
		return
	}
	s.logLeft -= room
	if room < int64(len(p)) {
		s.logLeft = -1
		_, s.logErr = s.log.WriteString("\n[runplan: the log has reached its maximum size; the rest of the output is " +
			"missing]\n")
	}
}

// finish passes on the rest and fills res.
func (s *sink) finish(res *Result) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, st := range s.streams {
		if len(st.whole) > 0 {
			s.tell(st, []byte(s.redact(string(st.whole))))
			st.whole = nil
		}
		if s.line != nil && len(st.buf) > 0 {
			s.emit(st)
		}
	}
	res.Tail = string(s.tail.bytes())
	res.Stdout, res.Truncated, res.Bytes = s.stdout, s.cut, s.bytes
	s.shut()
	res.LogErr = s.logErr
}

func (s *sink) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.shut()
}

func (s *sink) shut() {
	s.closed = true
	if s.log == nil {
		return
	}
	if err := s.log.Close(); err != nil && s.logErr == nil {
		s.logErr = fmt.Errorf("close log: %w", err)
	}
	s.log = nil
}

// ring keeps the last max bytes.
type ring struct {
	buf []byte
	max int
}

func (r *ring) write(p []byte) {
	if len(p) >= r.max {
		r.buf = append(r.buf[:0], p[len(p)-r.max:]...)
		return
	}
	r.buf = append(r.buf, p...)
	if len(r.buf) > 2*r.max { // moved occasionally, not at each write
		r.buf = append(r.buf[:0], r.buf[len(r.buf)-r.max:]...)
	}
}

func (r *ring) bytes() []byte { return r.buf[max(len(r.buf)-r.max, 0):] }

// Records is a writer for programs that print one record after another, each ended by the same byte. It passes on
// complete records as they arrive and buffers only the incomplete one.
type Records struct {
	End  byte
	Take func(record []byte) error // record is valid until it returns; not called again after its first error

	rest []byte
	err  error
}

// Write takes a piece of the output. It never fails, so it does not stop the program: Close returns the error of Take.
func (r *Records) Write(p []byte) (int, error) {
	for more := p; r.err == nil; {
		record, next, ok := bytes.Cut(more, []byte{r.End})
		if !ok {
			r.rest = append(r.rest, record...)
			break
		}
		more = next
		if len(r.rest) > 0 {
			record = append(r.rest, record...)
			r.rest = record[:0]
		}
		r.err = r.Take(record)
	}
	return len(p), nil
}

// Close passes on an unterminated last record and returns the first error of Take.
func (r *Records) Close() error {
	if r.err == nil && len(r.rest) > 0 {
		r.err = r.Take(r.rest)
		r.rest = nil
	}
	return r.err
}

const (
	drainStep  = 200 * time.Millisecond // without a byte, while another process still holds the other end
	drainTotal = 3 * time.Second
	mostInPipe = 1 << 20 // bytes; more than that comes from another process
)

type pipe struct {
	r, w  *os.File
	until atomic.Int64 // if set: the program has ended; read the rest, at most until this time
}

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
