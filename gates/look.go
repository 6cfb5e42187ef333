package gates

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/runplan/runplan/internal/proc"
)

// New makes a gate from a function. It handles the common parts: a missing tree, an ended context, the status from the
// findings, logs, and redaction. The subpackages use it for their gates.
func New(info Info, look func(ctx context.Context, l *Look) error) Gate {
	return builtin{info: info, do: look}
}

// Subject returns the tree to check.
func (w *Look) Subject() Subject { return w.subject }

// Count sets the number of tests.
func (w *Look) Count(t TestCount) { w.rep.Tests = &t }

// Exists reports whether the tree has a file of this name.
func (w *Look) Exists(path string) bool {
	info, err := os.Lstat(filepath.Join(w.subject.Dir, filepath.FromSlash(path)))
	return err == nil && info.Mode().IsRegular()
}

// SourcePath returns the environment in which Python imports the packages below src of the tree, see [Look.sourcePath].
func (w *Look) SourcePath(ctx context.Context) []string { return w.sourcePath(ctx, ".") }

// SourcePath is [Look.SourcePath] for programs that are not gates.
func SourcePath(ctx context.Context, dir string, env []string) []string {
	w := &Look{subject: Subject{Dir: dir, Env: env}, limit: time.Minute, end: time.Now().Add(time.Minute)}
	return w.sourcePath(ctx, ".")
}

// Program is a program to run in the tree.
type Program struct {
	Args   []string
	Dir    string        // below the tree, slashes
	Env    []string      // set on top of the subject's
	Stdout bool          // keep its standard output apart
	Limit  time.Duration // its own time limit; 0 sets only the gate's limit
}

// Ended is the result of a [Program].
type Ended struct {
	Exit   int
	How    string // "exit 2", or the signal it died of
	Stdout []byte
	Text   string // all of its output
}

// OK reports whether it ended with status 0.
func (e Ended) OK() bool { return e.How == "exit 0" }

// Run runs p. It returns an error if the result is not usable. The error wraps [ErrNoProgram] if the program is
// missing.
func (w *Look) Run(ctx context.Context, p Program) (Ended, error) {
	out, err := w.run(ctx, program{args: p.Args, dir: p.Dir, env: p.Env, stdout: p.Stdout, limit: p.Limit})
	if err != nil {
		if errors.Is(err, proc.ErrNotFound) {
			err = fmt.Errorf("%w: %w", ErrNoProgram, err)
		}
		return Ended{}, err
	}
	return Ended{Exit: out.exit, How: out.how(), Stdout: out.stdout, Text: out.text}, nil
}

// Command sets the command in the report, if a person would type another command.
func (w *Look) Command(text string) { w.rep.Command = text }

// ErrNoProgram reports that a program is not installed.
var ErrNoProgram = errors.New("not installed")

// Show sets the output in the report, for programs with machine-readable output.
func (w *Look) Show(text string) { w.said, w.spoke = text, true }

// Changed reads the changed files that want accepts. If the change is unknown, ok is false and the report is a skip.
// Files that are too large are listed in the note.
func (w *Look) Changed(ctx context.Context, want func(Change) bool) (files []File, ok bool, err error) {
	if w.subject.Diff == nil {
		w.Skip("the base commit of the change is unknown, so nothing can be compared")
		return nil, false, nil
	}
	files, large, err := Files(ctx, w.subject.Diff, want)
	if err != nil {
		return nil, false, err
	}
	if len(large) > 0 {
		w.Note("not checked because too large: %s", strings.Join(large[:min(len(large), 10)], ", "))
	}
	return files, true, ctx.Err()
}
