package ui

import (
	"io"
	"os"
	"sync"
	"time"
)

// Status shows the running work in one line at the bottom of a terminal. It leaves no trace.
type Status struct {
	out   io.Writer
	width func() int
	text  func(now time.Time) string
	mu    sync.Mutex
	shown bool
	stop  chan struct{}
	done  chan struct{}
}

// ShowStatus redraws the text that text returns until [Status.Close]. It returns nil, and draws nothing, if out is
// not a terminal that can move its cursor, or if NO_COLOR or CI is set. text must be safe for concurrent use.
func ShowStatus(env Lookup, in, out *os.File, text func(now time.Time) string) *Status {
	if !ColorAllowed(env, out) || !Interactive(env, in, out) {
		return nil
	}
	s := newStatus(out, func() int { return Columns(out) }, text)
	go s.redraw()
	return s
}

func newStatus(out io.Writer, width func() int, text func(now time.Time) string) *Status {
	return &Status{out: out, width: width, text: text, stop: make(chan struct{}), done: make(chan struct{})}
}

// redraw draws the line several times a second, and removes it at the end.
func (s *Status) redraw() {
	defer close(s.done)
	ticks := time.NewTicker(2 * tick)
	defer ticks.Stop()
	for {
		select {
		case now := <-ticks.C:
			s.draw(s.text(now))
		case <-s.stop:
			s.draw("")
			return
		}
	}
}

// draw replaces the line. An empty text removes it.
func (s *Status) draw(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if text == "" && !s.shown {
		return
	}
	s.shown = text != ""
	_, _ = io.WriteString(s.out, "\r\x1b[2K"+Brief(text, s.width()-1))
}

// Close removes the line. A nil Status may be closed.
func (s *Status) Close() {
	if s == nil {
		return
	}
	close(s.stop)
	<-s.done
}
