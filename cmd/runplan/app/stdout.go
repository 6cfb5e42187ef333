package app

import (
	"errors"
	"io"
	"os"
	"sync"
	"syscall"
)

// output is standard output that remembers what went wrong: half an answer must not pass for a whole one, and hardly
// anybody looks at what printing returns.
type output struct {
	to io.Writer

	mu  sync.Mutex
	err *outputError
}

func (o *output) Write(p []byte) (int, error) {
	n, err := o.to.Write(p)
	if err == nil {
		return n, nil
	}
	failed := &outputError{err}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.err == nil && !errors.Is(err, syscall.EPIPE) { // whoever closes the pipe has read what they wanted
		o.err = failed
	}
	return n, failed
}

// outcome is err, or where there is none what went wrong with printing.
func (o *output) outcome(err error) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if err == nil && o.err != nil {
		return o.err
	}
	return err
}

// outputError is what could not be printed.
type outputError struct{ err error }

func (e *outputError) Error() string { return "write to standard output: " + e.err.Error() }
func (e *outputError) Unwrap() error { return e.err }

// stdoutFile is the file that standard output is, nil where it is none.
func (a *App) stdoutFile() *os.File {
	to := a.Stdout
	if o, ok := to.(*output); ok {
		to = o.to
	}
	f, _ := to.(*os.File)
	return f
}
