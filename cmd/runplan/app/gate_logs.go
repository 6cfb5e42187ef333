package app

import (
	"fmt"
	"os"
	"path/filepath"
	"time"
)

type logFolder struct {
	dir       string
	temporary bool
}

// logs makes a folder for what gates print: under .runplan where there is one that can be written to, else a temporary
// one. Nothing else may appear in the tree.
func (x *inspection) logs() (logFolder, error) {
	l := x.project.layout
	if _, err := os.Stat(l.Root); err == nil && l.Make() == nil {
		parent := filepath.Join(l.Root, "logs", "gate")
		if os.MkdirAll(parent, 0o755) == nil {
			prune(parent)
			if dir, err := os.MkdirTemp(parent, time.Now().UTC().Format("20060102-150405-")); err == nil {
				return logFolder{dir: dir}, nil
			}
		}
	}
	dir, err := os.MkdirTemp("", "runplan-gate-")
	if err != nil {
		return logFolder{}, fail(exitCannotRun, fmt.Errorf("make a folder for logs: %w", err), "")
	}
	return logFolder{dir, true}, nil
}

// keptLogs is how many looks keep their logs.
const keptLogs = 20

// prune removes the oldest logs. One that cannot be removed is no reason not to look.
func prune(parent string) {
	entries, err := os.ReadDir(parent) // sorted by name, which begins with the time
	if err != nil {
		return
	}
	for _, e := range entries[:max(0, len(entries)-keptLogs)] {
		os.RemoveAll(filepath.Join(parent, e.Name()))
	}
}
