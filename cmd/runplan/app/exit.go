package app

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/signal"
	"syscall"

	"github.com/runplan/runplan/internal/proc"
	"github.com/runplan/runplan/internal/store"
	"github.com/runplan/runplan/planparse"
	"github.com/runplan/runplan/runner/local"
)

// The exit codes. The help prints exitCodes.
const (
	exitOK          = 0
	exitFailed      = 1
	exitUsage       = 2
	exitHuman       = 3
	exitLimit       = 4
	exitCannotRun   = 5
	exitLocked      = 6
	exitInterrupted = 130
)

type exitCode struct {
	Code    int
	Meaning string
}

func exitCodes() []exitCode {
	return []exitCode{
		{exitOK, "done"},
		{exitFailed, "a batch, a gate or a check failed"},
		{exitUsage, "usage, configuration or an invalid plan"},
		{exitHuman, "waiting for a human"},
		{exitLimit, "stopped by a limit: cost, time, or a rate limit"},
		{exitCannotRun, "an agent, gate, plugin or tool could not run"},
		{exitLocked, "another run holds the lock"},
		{exitInterrupted, "interrupted; runplan resume continues"},
	}
}

// failure is an error with an exit code and a hint.
type failure struct {
	code int
	err  error
	hint string
}

func (f *failure) Error() string { return f.err.Error() }
func (f *failure) Unwrap() error { return f.err }

// usage returns a failure with exit code 2.
func usage(err error, hint string, args ...any) error {
	return &failure{exitUsage, err, fmt.Sprintf(hint, args...)}
}

// fail returns a failure with the given exit code.
func fail(code int, err error, hint string, args ...any) error {
	return &failure{code, err, fmt.Sprintf(hint, args...)}
}

// codeOf returns the exit code and the hint of an error.
func codeOf(err error) (code int, hint string) {
	var f *failure
	var out *outputError
	switch {
	case err == nil:
		return exitOK, ""
	case errors.As(err, &out):
		return exitCannotRun, "the output is incomplete; check where standard output goes, and its free space"
	case errors.As(err, &f):
		return f.code, f.hint
	case errors.Is(err, local.ErrLocked):
		return exitLocked, "wait for it or stop it (runplan cancel); other plans can run at the same time"
	case errors.Is(err, store.ErrCorrupt):
		return exitCannotRun, "the file was not changed; move it to start with a new journal, or restore a backup"
	case errors.Is(err, store.ErrNewer):
		return exitCannotRun, ""
	case errors.Is(err, proc.ErrNotFound):
		return exitCannotRun, ""
	case errors.Is(err, syscall.EROFS), errors.Is(err, syscall.ENOSPC), errors.Is(err, fs.ErrPermission):
		return exitCannotRun, "runplan writes under .runplan and .git; check that the disk has free space and is writable"
	case errors.Is(err, planparse.ErrTooBig), errors.Is(err, planparse.ErrEmpty), errors.Is(err, planparse.ErrBinary):
		return exitUsage, ""
	}
	return exitCannotRun, ""
}

// interruptible returns a context that ends on SIGINT, SIGTERM and the signals in more. Commands that leave something
// behind when the terminal closes add SIGHUP. A command that stops softly uses [execution.signals].
func interruptible(ctx context.Context, more ...os.Signal) (context.Context, context.CancelFunc) {
	return signal.NotifyContext(ctx, append([]os.Signal{os.Interrupt, syscall.SIGTERM}, more...)...)
}
