package ui

import (
	"io"
	"sync"
)

// Plain writes one line after another, for logs and non-interactive terminals. It is safe for concurrent use.
type Plain struct {
	w     io.Writer
	style Style
	mu    sync.Mutex
	err   error
}

// NewPlain returns a Plain that writes to w.
func NewPlain(w io.Writer, s Style) *Plain { return &Plain{w: w, style: s} }

// Line writes text as exactly one line. After the first error it writes nothing.
func (p *Plain) Line(t Tone, text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.err == nil {
		_, p.err = io.WriteString(p.w, p.style.Line(t, text)+"\n")
	}
}

// Line returns text as one clean line in the colour of t.
func (s Style) Line(t Tone, text string) string { return s.Tone(t, Sanitize(text)) }
