// Package gates decides whether what an agent left behind may be kept.
//
// A [Gate] looks at a tree, reports and changes nothing. A gate that sees a problem returns a [Finding];
// a gate that cannot look returns an error, and an error is never a pass and never a failure of the code.
// [Report] is the one envelope: lint, tests, lessons, rules, plugins and reviews all answer in it.
package gates

import (
	"context"
	"time"

	"github.com/runplan/runplan/internal/proc"
	"github.com/runplan/runplan/planparse"
)

// Gate looks at a tree and reports.
type Gate interface {
	Info() Info
	// Check looks at s. The error says why the gate could not look.
	Check(ctx context.Context, s Subject) (Report, error)
}

// Info describes a gate before it runs.
type Info struct {
	Name     string `json:"name"`
	Kind     Kind   `json:"kind"`
	Cost     Cost   `json:"cost"`
	Blocking bool   `json:"blocking"`          // a failure stops the batch; else it only warns
	Command  string `json:"command,omitempty"` // what it runs, for people; "" for built-in checks

	// Pure says that the answer follows from the subject, the configuration and the programs that are installed,
	// so that it holds as long as they stay as they are.
	Pure bool `json:"pure,omitempty"`
	// Compares says that it looks at what became of what was there before, so that a whole tree tells it nothing.
	Compares bool `json:"compares,omitempty"`
}

// Kind tells programs that state facts from models that judge.
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
	Dear                // asks a model
)

// String is the word for people.
func (c Cost) String() string {
	names := []string{"instant", "cheap", "costly", "dear"}
	return names[max(0, min(int(c), len(names)-1))]
}

// Subject is the tree a gate looks at.
type Subject struct {
	Dir     string   // root of the tree
	Base    string   // commit the change starts from, "" when unknown
	Tree    string   // tree hash of what is looked at, "" when it is not known
	Changed []string // paths changed since Base, slashes, relative to Dir, sorted
	Batch   planparse.Batch
	Before  *TestCount // counts of the last batch that passed; nil when there was none
	Env     []string   // environment for programs, complete
	Timeout time.Duration
	Diff    Diff   // what changed, with its content; nil where it is not known
	Literal bool   // the plan was carried out to the letter: what it spells out is the user's own wish
	LogDir  string // each gate that runs a program leaves its full output here as NAME.log; "" keeps none

	// Redact, if set, takes secrets out of what a report, a log or an error may hold. It gets whole lines.
	Redact func(string) string
	// Reaper, if not nil, ends what a gate started should this process be killed.
	Reaper *proc.Reaper
}

// Status is a gate's answer.
type Status string

// The answers. Skipped is not a pass: it says that nobody looked, and why.
const (
	Pass    Status = "pass"
	Fail    Status = "fail"
	Warn    Status = "warn"
	Skipped Status = "skipped"

	// Errored stands where a gate could not look. No gate answers so: it returns an error. See [RunAll].
	Errored Status = "error"
)

// Report is what one gate saw.
type Report struct {
	Gate     string        `json:"gate"`
	Status   Status        `json:"status"`
	Findings []Finding     `json:"findings,omitempty"`
	Tests    *TestCount    `json:"tests,omitempty"`
	Duration time.Duration `json:"duration_ns"`
	Note     string        `json:"note,omitempty"`     // why it was skipped, what was tolerated
	Output   string        `json:"output,omitempty"`   // the part of the output that matters; at most 4 KiB
	Command  string        `json:"command,omitempty"`  // what ran
	Exit     *int          `json:"exit,omitempty"`     // its exit status
	Log      string        `json:"log,omitempty"`      // file with the full output
	LogHash  string        `json:"log_hash,omitempty"` // hex SHA-256 of that file
}

// AddNote puts a sentence behind what the note says.
func (r *Report) AddNote(text string) {
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
	Test     string   `json:"test,omitempty"`  // the test that it is about, as its runner calls it
	Known    bool     `json:"known,omitempty"` // it was there before the change, so that the change is not to blame
}

// Severity ranks a finding.
type Severity string

// A finding at severity error blocks.
const (
	Error   Severity = "error"
	Warning Severity = "warning"
	Note    Severity = "info"
)

// TestCount is what a test runner said of itself.
type TestCount struct {
	Passed  int `json:"passed"`
	Failed  int `json:"failed"`
	Skipped int `json:"skipped"`
}

// Total is the number of tests that ran.
func (t TestCount) Total() int { return t.Passed + t.Failed }
