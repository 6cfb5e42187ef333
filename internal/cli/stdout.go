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
	To   io.Writer
	wrap *ui.Wrapper // writes to To

	mu  sync.Mutex
	err *outputError
}

func (o *Output) Write(p []byte) (int, error) {
	n, err := o.wrap.Write(p)
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

func newOutput(to io.Writer) *Output {
	return &Output{To: to, wrap: wrapper(to)}
}

// wrapper returns a writer to w that breaks long lines between words if w is a terminal.
func wrapper(w io.Writer) *ui.Wrapper {
	f := fileOf(w)
	return &ui.Wrapper{To: w, Width: func() int { return ui.Columns(f) }}
}

// Columns returns the width of the terminal that the output goes to, or 0.
func (o *Output) Columns() int { return o.wrap.Columns() }

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
func (a *App) StdoutFile() *os.File { return fileOf(a.Stdout) }

// StderrFile returns the file of standard error, or nil if it is not a file.
func (a *App) StderrFile() *os.File { return fileOf(a.Stderr) }

func fileOf(w io.Writer) *os.File {
	switch to := w.(type) {
	case *os.File:
		return to
	case *Output:
		return fileOf(to.To)
	case *ui.Wrapper:
		return fileOf(to.To)
	}
	return nil
}
