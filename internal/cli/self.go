package cli

import "github.com/runplan/runplan/internal/proc"

// Internal commands with which runplan starts itself: the reaper, which ends its children if runplan is killed, and
// the testscript engine, which runs under the limits of an attempt.
const (
	ReapCommand       = "__reap"
	TestscriptCommand = "__testscript"
)

// StartReaper starts the process that ends the children of runplan if runplan is killed. self is the path of runplan.
func StartReaper(self string) (*proc.Reaper, error) {
	return proc.StartReaper([]string{self, ReapCommand})
}
