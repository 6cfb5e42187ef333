// Package gates decides whether an agent's change may be kept.
//
// A [Gate] checks a tree, reports and changes nothing. If it finds a problem, it returns a [Finding]. If it cannot run,
// it returns an error, which is neither a pass nor a failure of the code.
//
// [Report] is the common format: lint, tests, lessons, rules, plugins and reviews all return it.
package gates

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/runplan/runplan/gates/testout"
	"github.com/runplan/runplan/internal/proc"
	"github.com/runplan/runplan/planparse"
)

// Gate checks a tree and reports.
type Gate interface {
	Info() Info
	// Check checks s. The error says why the gate could not run.
	Check(ctx context.Context, s Subject) (Report, error)
}

// Info describes a gate before it runs.
type Info struct {
	Name     string `json:"name"`
	Kind     Kind   `json:"kind"`
	Cost     Cost   `json:"cost"`
	Blocking bool   `json:"blocking"`          // a failure stops the batch; else it only warns
	Command  string `json:"command,omitempty"` // what it runs, for people; "" for built-in checks
	Root     string `json:"-"`                 // folder of the project that it checks, "" or "." for the whole tree

	// Pure says that the answer depends only on the subject, the configuration and the installed programs, so it can be
	// cached.
	Pure bool `json:"pure,omitempty"`
	// Compares says that the gate compares the tree with its base. It cannot check a tree without a base.
	Compares bool `json:"compares,omitempty"`
	// WithLinters says that a test suite may run in parallel with linters on the same tree, because its runner locks no
	// build folder.
	WithLinters bool `json:"-"`
	// Parallel says that WithLinters holds and that the runner tests several packages in parallel anyway. Then the tests
	// of two such suites may run in parallel too.
	Parallel bool `json:"-"`
	// Scoped says that the gate itself separates old findings from new ones, so that it need not run on the base.
	Scoped bool `json:"scoped,omitempty"`

	Tools []Tool `json:"-"` // the programs that it needs, see [Examine]; nil for built-in checks
	// Quiet says that it is not shown in the terminal when the gate is skipped. The receipt gives the reason.
	Quiet bool `json:"-"`

	Unset string `json:"-"` // why it is skipped: the project does not configure it
	Off   bool   `json:"-"` // the configuration turns it off
}

// Nested reports whether the gate checks a project below the root of the tree.
func (i Info) Nested() bool { return i.Root != "" && i.Root != "." }

// Untouched reports whether a change has no file in the nested project of the gate. Then what is wrong with it as
// before hides no failure of the change.
func (i Info) Untouched(changed []string) bool {
	return i.Nested() && len(changed) > 0 &&
		!slices.ContainsFunc(changed, func(c string) bool { return within(c, i.Root) })
}

// Kind distinguishes programs, which report facts, from models, which give opinions.
type Kind string

// The kinds of gates.
const (
	Static Kind = "static"
	LLM    Kind = "llm"
)

// Cost orders gates, cheap first.
type Cost int

// The cost classes.
const (
	Instant Cost = iota // reads files
	Cheap               // runs a linter
	Costly              // runs a test suite
	Dear                // asks a model, or runs a test suite many times
)

// String returns the name of the cost class.
func (c Cost) String() string {
	names := []string{"instant", "cheap", "costly", "dear"}
	return names[max(0, min(int(c), len(names)-1))]
}

// Room checks out s.Tree, or the tree of s.Base if s has none. The caller may write to it. env is the environment for
// programs there; nil means the subject's. Call done, unless it is nil, when the tree is no longer needed, also after
// an error.
type Room func(ctx context.Context, s Subject) (dir string, env []string, done func(), err error)

// Subject is the tree that a gate checks.
type Subject struct {
	Dir     string   // root of the tree
	Base    string   // commit the change starts from, "" when unknown
	Tree    string   // tree hash of Dir, "" if unknown
	Changed []string // paths changed since Base, slashes, relative to Dir, sorted
	Batch   planparse.Batch
	Before  *TestCount // counts of the last passed batch; nil if there is none
	Earlier []Report   // of the gates that ended before this one began, in their order

	// Sealed says that Dir is a room of the runner with exactly the files of Tree. Gates may put their own files into it.
	Sealed bool
	// Planted, if set, is called with the path of each file of the tree to which a gate added tests and then restored the
	// content.
	Planted func(path string)
	// Fresh, if set, is called before failing tests are run again. It reverts the changes of the first run outside of the
	// tree, and returns the environment for the second run.
	Fresh func() ([]string, error)
	// BaseTests returns the names of a gate's tests on Base, or nil if they are unknown. It may run that gate's suite, so
	// call it only if you need the answer.
	BaseTests func(ctx context.Context, gate string) ([]testout.Case, error)
	// BaseCount returns the number of a gate's tests on Base, or nil if it is unknown. It may run the suite as well.
	BaseCount func(ctx context.Context, gate string) *TestCount
	// FailedBefore returns the tests of the gate that failed on Base, by ID or else by name, if that is known. It runs
	// nothing. The field may be nil.
	FailedBefore func(ctx context.Context) []string
	// BaseSuites returns the names of the test gates of Base, nil if they are unknown.
	BaseSuites func(ctx context.Context) ([]string, error)
	// Held runs a gate's suite with the tests of Base on the candidate's code. The field is nil if that is not possible.
	Held func(ctx context.Context, gate string) (HeldRun, error)
	// ChangedTests is the setting for tests that pass only in the candidate's version.
	ChangedTests ChangedTests

	Env     []string // environment for programs, complete
	Timeout time.Duration
	Diff    Diff   // the changes, with content; nil if unknown
	Literal bool   // the plan was executed literally: its content is the user's own choice
	LogDir  string // each gate that runs a program leaves its full output here as NAME.log; "" keeps none

	// Redact, if set, removes secrets from reports, logs and errors. It gets whole lines.
	Redact func(string) string
	// Reaper, if not nil, ends the gate's processes if this process is killed.
	Reaper *proc.Reaper
}

// Status is a gate's answer.
type Status string

// The answers. Skipped is not a pass: the gate did not run, and its note says why.
const (
	Pass    Status = "pass"
	Fail    Status = "fail"
	Warn    Status = "warn"
	Skipped Status = "skipped"

	// Errored is the status of a gate that could not run. Gates never return it: they return an error. See [RunAll].
	Errored Status = "error"
)

// Report is the result of one gate.
type Report struct {
	Gate     string        `json:"gate"`
	Status   Status        `json:"status"`
	Findings []Finding     `json:"findings,omitempty"`
	Tests    *TestCount    `json:"tests,omitempty"`
	Duration time.Duration `json:"duration_ns"`
	Note     string        `json:"note,omitempty"`     // why it was skipped, or what was tolerated
	Output   string        `json:"output,omitempty"`   // the part of the output that matters; at most 4 KiB
	Quiet    bool          `json:"quiet,omitempty"`    // it was skipped, and the terminal does not show it
	Command  string        `json:"command,omitempty"`  // what ran
	Exit     *int          `json:"exit,omitempty"`     // its exit status
	Log      string        `json:"log,omitempty"`      // file with the full output
	LogHash  string        `json:"log_hash,omitempty"` // hex SHA-256 of that file
	Proof    *Proof        `json:"proof,omitempty"`    // the reliability of a test suite's result; nil for other gates

	// Cases lists the tests that ran, by name. They are not in the journal, because there may be thousands.
	Cases []testout.Case `json:"-"`
}

// Proof describes how far the result of a test suite can be trusted.
type Proof struct {
	Calibration Calibration `json:"calibration"`
	Why         string      `json:"why,omitempty"`     // why it is uncalibrated
	Named       bool        `json:"named,omitempty"`   // the tests were compared by name with those of the base
	Missing     []string    `json:"missing,omitempty"` // tests that ran on the base and do not run now; at most 50
	// tests that pass on the base; nil if they are counted in another way
	Base *int `json:"base,omitempty"`
	// with Named: passing tests that did not run on the base, including renamed ones; at most 100
	New     []string `json:"new,omitempty"`
	MoreNew int      `json:"more_new,omitempty"` // the number of omitted ones
	Held    *Held    `json:"held,omitempty"`     // nil where no test of the base changed
	Asks    string   `json:"asks,omitempty"`     // what a person has to approve before the merge
}

// Calibration says whether a suite failed a test that must fail and passed one that must pass.
type Calibration string

// If a suite cannot be calibrated, such as a shell script, its result still counts, and its receipt says so.
const (
	Calibrated   Calibration = "calibrated"
	Uncalibrated Calibration = "uncalibrated"
)

// Held is the result of running the base's tests, as they were before a batch, on the candidate's code.
type Held struct {
	Ran    int `json:"ran"`
	Passed int `json:"passed"`
	// tests that pass in the candidate's version and fail in the base's version
	Changed []string `json:"changed,omitempty"`
	Why     string   `json:"why,omitempty"` // why they could not be run, "" where they were
}

// HeldRun is the result of one run of the base's tests on the candidate's code.
type HeldRun struct {
	Nothing  bool           // no test or test setup changed, so nothing was run
	Chance   bool           // the change uses random numbers, so the tests ran several times
	Cases    []testout.Case // the tests that ran
	Why      string         // why they could not be run, "" where they were
	Left     []string       // test files of the base that do not build with the candidate's code; they were removed
	Reverted bool           // the change only restores an older commit
}

// ChangedTests is the setting for a test that passes in the candidate's version and fails in the base's.
type ChangedTests string

// Such a test warns, asks for a person's approval, or fails. The zero value warns.
const (
	ChangedWarn    ChangedTests = "warn"
	ChangedApprove ChangedTests = "approve"
	ChangedFail    ChangedTests = "fail"
)

// AddNote appends a sentence to the note.
func (r *Report) AddNote(text string) {
	if strings.Contains(r.Note, text) {
		return
	}
	if r.Note != "" {
		text = r.Note + "; " + text
	}
	r.Note = text
}

// Finding is one problem at one place.
type Finding struct {
	Rule     string   `json:"rule"`
	Path     string   `json:"path,omitempty"`
	Line     int      `json:"line,omitempty"`
	Col      int      `json:"col,omitempty"`
	Severity Severity `json:"severity"`
	Message  string   `json:"message"`
	Fix      string   `json:"fix,omitempty"`
	Test     string   `json:"test,omitempty"`  // the test that it concerns, by its runner's name
	Known    bool     `json:"known,omitempty"` // it existed before the change

	// Same is the name of an equivalent rule of another gate. If that rule reports the same line, this finding is omitted.
	Same string `json:"-"`

	// Advice marks a finding that comes only from reading the text of tests. It blocks if the tests could not be run or
	// cannot be trusted. Otherwise it warns, because a real test run is better evidence.
	Advice bool `json:"advice,omitempty"`
}

// Severity ranks a finding.
type Severity string

// A finding at severity error blocks.
const (
	Error   Severity = "error"
	Warning Severity = "warning"
	Note    Severity = "info"
)

// TestCount holds the counts that a test runner reported.
type TestCount struct {
	Passed  int `json:"passed"`
	Failed  int `json:"failed"`
	Skipped int `json:"skipped"`
}

// OnBase returns the number of tests that pass on the base, over all suites; nil if it is unknown for one of them.
func OnBase(reports []Report) *int {
	n, known := 0, false
	for _, r := range reports {
		switch {
		case r.Tests == nil:
		case r.Proof == nil || r.Proof.Base == nil:
			return nil
		default:
			n, known = n+*r.Proof.Base, true
		}
	}
	if !known {
		return nil
	}
	return &n
}

// Total returns the number of tests that ran.
func (t TestCount) Total() int { return t.Passed + t.Failed }
