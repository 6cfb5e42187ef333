package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/runplan/runplan/agents/sandbox"
	"github.com/runplan/runplan/internal/git"
	"github.com/runplan/runplan/internal/proc"
	"github.com/runplan/runplan/internal/seal"
	"github.com/runplan/runplan/internal/store"
	"github.com/runplan/runplan/internal/web"
	"github.com/runplan/runplan/knowledge/retrieve"
	"github.com/runplan/runplan/llm"
	"github.com/runplan/runplan/planparse"
	"github.com/runplan/runplan/runner/local"
)

// The exit codes. The help prints exitCodes.
const (
	ExitOK          = 0
	ExitFailed      = 1
	ExitUsage       = 2
	ExitHuman       = 3
	ExitLimit       = 4
	ExitCannotRun   = 5
	ExitLocked      = 6
	ExitInterrupted = 130
)

type exitCode struct {
	Code    int
	Meaning string
}

// ExitCodes returns all exit codes with their meanings.
func ExitCodes() []exitCode {
	return []exitCode{
		{ExitOK, "done"},
		{ExitFailed, "a batch, a gate or a check failed"},
		{ExitUsage, "usage, configuration or an invalid plan"},
		{ExitHuman, "waiting for a human"},
		{ExitLimit, "stopped by a limit: cost, time, or a rate limit"},
		{ExitCannotRun, "an agent, gate, plugin or tool could not run"},
		{ExitLocked, "another run holds the lock"},
		{ExitInterrupted, "interrupted; runplan resume continues"},
	}
}

// Failure is an error with an exit code and a hint.
type Failure struct {
	Code int
	Err  error
	Hint string
	Page string // code that runplan explain explains; "" for none, or for that of Err
}

func (f *Failure) Error() string { return f.Err.Error() }
func (f *Failure) Unwrap() error { return f.Err }

// Usage returns a failure with exit code 2.
func Usage(err error, hint string, args ...any) error {
	return &Failure{Code: ExitUsage, Err: err, Hint: fmt.Sprintf(hint, args...)}
}

// Fail returns a failure with the given exit code.
func Fail(code int, err error, hint string, args ...any) error {
	return &Failure{Code: code, Err: err, Hint: fmt.Sprintf(hint, args...)}
}

// Interrupted returns the error of a command that a signal ended. what says what became of its work; "" says nothing.
func Interrupted(what, hint string) error {
	return Fail(ExitInterrupted, errors.New(strings.TrimSuffix("interrupted; "+what, "; ")), "%s", hint)
}

// Named sets the code of a new failure's page in runplan explain. [ErrorCodes] lists the codes.
func Named(page string, err error) error {
	if f, ok := errors.AsType[*Failure](err); ok {
		f.Page = page
	}
	return err
}

// Advice is the exit code and the hint of some kinds of errors.
type Advice struct {
	code  int
	hint  string
	kinds []any
}

// On returns the advice for kinds of errors: values for [errors.Is], or, such as new(*fs.PathError), pointers for
// [errors.As].
func On(code int, hint string, kinds ...any) Advice { return Advice{code, hint, kinds} }

// Advise adds the first fitting advice to an error. It returns an error without one, and one that has an exit code
// already, as it is.
func Advise(err error, list ...Advice) error {
	if errors.As(err, new(*Failure)) {
		return err
	}
	for _, x := range list {
		for _, kind := range x.kinds {
			if target, ok := kind.(error); ok && errors.Is(err, target) || !ok && errors.As(err, kind) {
				return Fail(x.code, err, "%s", x.hint)
			}
		}
	}
	return err
}

// CodeOf returns the exit code and the hint of an error.
func CodeOf(err error) (code int, hint string) {
	var f *Failure
	var at *fs.PathError
	switch {
	case err == nil:
		return ExitOK, ""
	case errors.As(err, new(*outputError)):
		return ExitCannotRun, "the output is incomplete; check where standard output goes, and its free space"
	case errors.As(err, &f) && f.Hint == "":
		_, hint = CodeOf(f.Err)
		return f.Code, hint
	case errors.As(err, &f):
		return f.Code, f.Hint
	case errors.Is(err, local.ErrLocked):
		return ExitLocked, "wait for it or stop it (runplan cancel); other plans can run at the same time"
	case errors.Is(err, store.ErrCorrupt):
		return ExitCannotRun, "the file was not changed; move it to start with a new journal, or restore a backup"
	case errors.Is(err, git.ErrNoCommits):
		return ExitUsage, "make a first commit: git add -A && git commit -m start"
	case errors.Is(err, proc.ErrNotFound):
		return ExitCannotRun, ""
	case errors.Is(err, syscall.EROFS), errors.Is(err, syscall.ENOSPC), errors.Is(err, fs.ErrPermission),
		errors.Is(err, store.ErrDisk):
		return ExitCannotRun, "runplan writes under .runplan and .git; check that the disk has free space and is writable"
	case errors.As(err, &at) && at.Path == os.TempDir():
		return ExitCannotRun, "set TMPDIR to an existing folder, for temporary files"
	case errors.Is(err, planparse.ErrTooBig), errors.Is(err, planparse.ErrEmpty), errors.Is(err, planparse.ErrBinary):
		return ExitUsage, ""
	}
	return ExitCannotRun, ""
}

type runE = func(cmd *cobra.Command, args []string) error

// Stoppable returns the RunE function of a command. The context of do ends like that of [Interruptible]; an error that
// comes from it is an interruption.
func Stoppable(do func(ctx context.Context, args []string) error) runE {
	return func(cmd *cobra.Command, args []string) error {
		ctx, stop := Interruptible(cmd.Context())
		defer stop()
		err := do(ctx, args)
		if code, _ := CodeOf(err); (code == ExitUsage || code == ExitCannotRun) && byInterrupt(ctx, err) {
			return Interrupted("", "")
		}
		return err
	}
}

// byInterrupt reports whether an error comes from the end of a context, or from a program that got the same signal.
// Another error stays one, also after the signal.
func byInterrupt(ctx context.Context, err error) bool {
	if ctx.Err() == nil {
		return false
	}
	exit, ended := errors.AsType[*proc.ExitError](err)
	return errors.Is(err, context.Canceled) || errors.Is(err, context.Cause(ctx)) ||
		ended && (exit.Signal != "" || exit.Code == 128+int(syscall.SIGINT) || exit.Code == 128+int(syscall.SIGTERM))
}

// Interruptible returns a context that ends on SIGINT, SIGTERM and the signals in more. Commands that must clean up
// when the terminal closes add SIGHUP. A command that stops softly uses [app.execution.signals].
func Interruptible(ctx context.Context, more ...os.Signal) (context.Context, context.CancelFunc) {
	OutliveReader()
	return signal.NotifyContext(ctx, append([]os.Signal{os.Interrupt, syscall.SIGTERM}, more...)...)
}

// OutliveReader makes a write to a pipe that nobody reads fail instead of ending this process. Ctrl-C also ends the other
// programs of a pipeline, such as tee, and work must still end in order and with its own exit code.
func OutliveReader() { signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE) }

type errorCode struct {
	Code string
	Err  error // nil for a code of [Named]
}

// ErrorCodes returns the kinds of errors that have a page, special ones first.
func ErrorCodes() []errorCode {
	return []errorCode{
		{"bare-repository", git.ErrBare}, {"foreign-repository", git.ErrForeign}, {"not-a-repository", git.ErrNotRepo},
		{"no-commits", git.ErrNoCommits}, {"git-too-old", git.ErrNoMergeTree},
		{"run-locked", local.ErrLocked}, {"plan-changed", local.ErrPlanChanged},
		{"journal-damaged", store.ErrCorrupt}, {"journal-newer", store.ErrNewer}, {"journal-forged", store.ErrForged},
		{"journal-gone", store.ErrGone}, {"journal-gone", store.ErrReplaced}, {"journal-gone", store.ErrCut},
		{"key-unusable", seal.ErrKey}, {"program-not-found", proc.ErrNotFound},
		{"no-models", llm.ErrNoModels}, {"no-index", retrieve.ErrNoIndex},
		{"plan-empty", planparse.ErrEmpty}, {"plan-binary", planparse.ErrBinary}, {"plan-too-big", planparse.ErrTooBig},
		{"address-reachable", web.ErrReachable}, {"unknown-agent", ErrNoAgent}, {"sandbox-unusable", sandbox.ErrUnusable},
		{"index-old", store.ErrOlder}, {"database-busy", store.ErrBusy},
		{"config-not-trusted", nil}, {"no-agent", nil}, {"plan-in-prose", nil}, {"no-identity", nil},
		{"uncommitted-changes", nil}, {"disk-full", nil}, {"cannot-land", nil}, {"no-git-lfs", nil}, {"cannot-sign", nil},
		{"run-not-finished", nil}, {"branch-conflict", nil}, {"branch-checked-out", nil}, {"settings-changed", nil},
		{"run-active", nil}, {"no-active-run", nil}, {"plan-not-found", nil}, {"plan-invalid", nil},
		{"settings-invalid", nil}, {"link-refused", nil}, {"run-unverified", nil}, {"no-fallback", nil},
		{"no-ast-grep", nil}, {"answer-unusable", nil}, {"model-failed", nil}, {"unknown-commit", nil},
		{"gate-not-run", nil}, {"run-not-found", nil}, {"tier-too-low", nil}, {"no-runs", nil},
	}
}

// explainable returns the code of an error that has a page, or "".
func explainable(err error) string {
	for _, e := range ErrorCodes() {
		if errors.Is(err, e.Err) {
			return e.Code
		}
	}
	if f := (*Failure)(nil); errors.As(err, &f) {
		return f.Page
	}
	return ""
}
