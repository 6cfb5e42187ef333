package gates

import "time"

// Settings say which gates [Builtin] makes.
type Settings struct {
	Detect       bool          // find linters and test runners by the project's files (GATE-02)
	RequireTests bool          // a tree without tests, or whose tests do not run, fails (GATE-04)
	Disable      []string      // gates to leave out, by name: "lint:go", or "lint" for all of them
	Commands     []CommandGate // gates of the configuration's own
}

// DefaultSettings finds the gates by the project's files.
func DefaultSettings() Settings { return Settings{Detect: true} }

// CommandGate is a program that has to exit with 0. One that has the name of a detected gate takes its place, and so
// does one named "tests" or "lint" for all of that sort.
type CommandGate struct {
	Name     string
	Command  []string // program and arguments
	Shell    string   // shell text instead of Command, run with bash -eu -o pipefail, or with sh -eu where there is no bash
	Dir      string   // where it runs, relative to the tree
	Paths    []string // globs; skipped when nothing that changed matches, see [github.com/bmatcuk/doublestar]
	Blocking *bool    // false only warns
	Timeout  time.Duration
	Env      []string // KEY=VALUE, set on top of the subject's
}
