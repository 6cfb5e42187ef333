//go:build unix

package cli

import (
	"context"
	"errors"
	"fmt"
	"syscall"
	"testing"

	"github.com/spf13/cobra"

	"github.com/runplan/runplan/internal/proc"
)

// After a signal only what it caused is an interruption. A command that failed for another reason says so.
func TestStoppableKeepsOtherErrors(t *testing.T) {
	for name, c := range map[string]struct {
		err  func(ctx context.Context) error
		want int
	}{
		"the end of the context": {func(ctx context.Context) error { return fmt.Errorf("read: %w", ctx.Err()) },
			ExitInterrupted},
		"its cause": {func(ctx context.Context) error { return Usage(context.Cause(ctx), "") },
			ExitInterrupted},
		"a program with a signal": {func(context.Context) error { return &proc.ExitError{Code: -1, Signal: "interrupt"} },
			ExitInterrupted},
		"a program that says 130": {func(context.Context) error { return &proc.ExitError{Code: 130} }, ExitInterrupted},
		"another error":           {func(context.Context) error { return Usage(errors.New("no such file"), "") }, ExitUsage},
		"a program that failed":   {func(context.Context) error { return &proc.ExitError{Code: 128} }, ExitCannotRun},
		"findings": {func(context.Context) error { return Fail(ExitFailed, errors.New("one finding"), "") },
			ExitFailed},
		"nothing": {func(context.Context) error { return nil }, ExitOK},
	} {
		cmd := &cobra.Command{}
		cmd.SetContext(t.Context())
		err := Stoppable(func(ctx context.Context, _ []string) error {
			if err := syscall.Kill(syscall.Getpid(), syscall.SIGTERM); err != nil {
				return err
			}
			<-ctx.Done()
			return c.err(ctx)
		})(cmd, nil)
		code := ExitOK
		if err != nil {
			code, _ = CodeOf(err)
		}
		if code != c.want {
			t.Errorf("%s: %v, status %d, want %d", name, err, code, c.want)
		}
	}
}
