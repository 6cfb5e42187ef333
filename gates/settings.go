package gates

import "time"

// Settings selects the gates that [Builtin] makes.
type Settings struct {
	Detect       bool          // find linters and test runners by the project's files (GATE-02)
	RequireTests bool          // a tree without tests, or whose tests do not run, fails (GATE-04)
	Disable      []string      // gates to leave out, by name: "lint:go", or "lint" for all of them
	Commands     []CommandGate // configured gates

	FlakyReruns int  // how often failing tests run again, to detect flaky tests
	Affected    bool // gates of a project below the root run only if a change may affect it

	ChangedTests ChangedTests // decides about tests that pass only in the candidate's version

	When      []When     // conditions under which gates run
	Overrides []Override // configured severities

	// For the gates of package gates/suite.
	Protected    []string               // globs of files that only a batch that names them may change
	StrictTypes  []string               // globs of files in which a type error blocks (GATE-10)
	MaxFileLines int                    // of a source file; 0 does not look (GATE-17)
	MinMemoryMB  int                    // of free memory, below which it warns; 0 does not look (GATE-07)
	Memory       func() (uint64, error) `json:"-"` // tells how much is free, in bytes
	Acceptance   string                 // folder of testscripts of the project's own; "" has none
	Engine       []string               `json:"-"` // program and arguments of the testscript engine
	Found        *Detection             `json:"-"` // what was detected already; nil detects
	Promises     Promises               // how strictly the plan's own checks are kept
	More         []Gate                 `json:"-"` // made by the caller: libraries of rules, plugins
}

// Whole returns the settings for a tree that is not a candidate. Its gates check the whole tree, and use nothing that
// was detected in another tree.
func (s Settings) Whole() Settings {
	s.When, s.Affected, s.RequireTests, s.Found = nil, false, false, nil
	return s
}

// Promises configures how strictly a batch must keep the promises of the plan. See package gates/promise.
type Promises struct {
	Severity Severity      // of a broken promise; "" is error
	Off      bool          // nothing is checked
	Timeout  time.Duration // of one command; 0 is the default
}

// Projects returns the projects of the tree in dir.
func (s Settings) Projects(dir string) []Project {
	if s.Found != nil && s.Found.Dir == dir {
		return s.Found.Projects
	}
	return Detect(dir)
}

// CommandGate is a program that must exit with 0. It replaces a detected gate of the same name; one named "tests" or
// "lint" replaces all of that kind.
type CommandGate struct {
	Name    string
	Command []string // program and arguments
	// shell text instead of Command; it runs with bash -eu -o pipefail, or with sh -eu if bash is missing
	Shell    string
	Dir      string   // where it runs, relative to the tree
	Paths    []string // globs; skipped when nothing that changed matches, see [github.com/bmatcuk/doublestar]
	Blocking *bool    // false only warns
	Timeout  time.Duration
	Env      []string // KEY=VALUE, set on top of the subject's
}
