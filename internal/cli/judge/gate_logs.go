package judge

import (
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/runplan/runplan/internal/cli"
)

type logFolder struct {
	dir       string
	temporary bool
}

// logs creates the folder for the output of gates. It is under .runplan if that is writable, else a temporary folder,
// because nothing else may appear in the tree.
func (x *Inspection) logs() (logFolder, error) {
	l := x.Project.Layout
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
		return logFolder{}, cli.Fail(cli.ExitCannotRun, fmt.Errorf("make a folder for logs: %w", err), "")
	}
	return logFolder{dir, true}, nil
}

// keptLogs is the number of checks whose logs are kept.
const keptLogs = 20

// prune removes the oldest logs. An error is ignored, because it must not stop the check.
func prune(parent string) {
	entries, err := os.ReadDir(parent) // sorted by name, which begins with the time
	if err != nil {
		return
	}
	for _, e := range entries[:max(0, len(entries)-keptLogs)] {
		os.RemoveAll(filepath.Join(parent, e.Name()))
	}
}
