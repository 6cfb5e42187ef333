package cli

import (
	"errors"
	"io"
	"os"
	"sync"
	"syscall"

	"github.com/runplan/runplan/internal/ui"
)

// Output is standard output that remembers its first write error. A truncated output must not look complete, and few
// callers check the errors of printing.
type Output struct {
	To io.Writer

	mu  sync.Mutex
	err *outputError
}

func (o *Output) Write(p []byte) (int, error) {
	n, err := o.To.Write(p)
	if err == nil {
		return n, nil
	}
	failed := &outputError{err}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.err == nil && !errors.Is(err, syscall.EPIPE) { // on EPIPE the reader has read enough
		o.err = failed
	}
	return n, failed
}

// Columns returns the width of the terminal that the output goes to, or 0.
func (o *Output) Columns() int {
	f, _ := o.To.(*os.File)
	return ui.Columns(f)
}

// outcome returns err, or else the write error.
func (o *Output) outcome(err error) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if err == nil && o.err != nil {
		return o.err
	}
	return err
}

// outputError is a write error of standard output.
type outputError struct{ err error }

func (e *outputError) Error() string { return "write to standard output: " + e.err.Error() }
func (e *outputError) Unwrap() error { return e.err }

// StdoutFile returns the file of standard output, or nil if it is not a file.
func (a *App) StdoutFile() *os.File {
	to := a.Stdout
	if o, ok := to.(*Output); ok {
		to = o.To
	}
	f, _ := to.(*os.File)
	return f
}
