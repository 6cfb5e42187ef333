package cli

import (
	"fmt"
	"os"
	"slices"

	"github.com/runplan/runplan/internal/proc"
)

// Internal commands with which runplan starts itself: the reaper, which ends its children if runplan is killed, and
// the testscript engine, which runs under the limits of an attempt.
const (
	ReapCommand       = "__reap"
	TestscriptCommand = "__testscript"
)

// Self returns the path of this program.
func Self() (string, error) {
	self, err := os.Executable()
	if err != nil {
		return "", Fail(ExitCannotRun, fmt.Errorf("find the runplan executable: %w", err), "")
	}
	return self, nil
}

// StartReaper starts the process that ends the children of runplan if runplan is killed. self is the path of runplan.
func StartReaper(self string) (*proc.Reaper, error) {
	r, err := proc.StartReaper([]string{self, ReapCommand})
	if err != nil {
		return nil, Fail(ExitCannotRun, err, "")
	}
	return r, nil
}

// StartOwnReaper is [StartReaper] with the path of this program, which it returns too.
func StartOwnReaper() (self string, r *proc.Reaper, err error) {
	if self, err = Self(); err == nil {
		r, err = StartReaper(self)
	}
	return self, r, err
}

// Closers are the ends of what was opened, in the order of opening.
type Closers []func()

// Add adds the end of what was opened last.
func (c *Closers) Add(end func()) { *c = append(*c, end) }

// Close ends all, the last one first.
func (c *Closers) Close() {
	for _, end := range slices.Backward(*c) {
		end()
	}
}

// CloseAfter ends all if there is an error. It is for defer.
func (c *Closers) CloseAfter(err *error) {
	if *err != nil {
		c.Close()
	}
}
