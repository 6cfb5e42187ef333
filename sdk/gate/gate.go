// Package gate makes a gate plugin of runplan: a program that checks the changes of an agent and reports faults.
//
//	func main() {
//		gate.Serve(&todo{}) // todo implements gate.Gate
//	}
//
// Package gatetest tests a gate, with a small tree and the expected findings. The guide is docs/plugins.md of runplan.
//
// This module is small on purpose: a plugin compiles it in seconds, and it does not depend on runplan. It speaks the
// protocol of hashicorp/go-plugin, with gRPC by connectrpc.com/connect.
package gate

import (
	"context"
	"encoding/json"
	"time"
)

// Gate checks a tree.
type Gate interface {
	// Info describes the gate. It always returns the same.
	Info() Info
	// Check checks the tree of s and reports. It changes nothing in the tree. A fault in the code is a finding. An
	// error says that the check could not run: it stops the run, and the code is not the cause.
	Check(ctx context.Context, s Subject) (Report, error)
}

// Configurer is implemented by gates with settings. A gate without it rejects all settings.
type Configurer interface {
	// Configure gets the plugin's settings from the configuration of runplan, a JSON object, "{}" without any. It is
	// called before Info and Check, and again if the settings change. The error names the wrong setting and the allowed
	// values.
	Configure(settings json.RawMessage) error
}

// Info describes a gate.
type Info struct {
	Name     string // reports have the name from the configuration instead
	Kind     Kind   // "" is Static
	Cost     Cost   // "" is Cheap
	Blocking bool   // a failure stops the batch; otherwise it only warns. The configuration may say otherwise
}

// Kind distinguishes programs, which report facts, from models, which give opinions.
type Kind string

// The kinds of gates.
const (
	Static Kind = "static"
	LLM    Kind = "llm"
)

// Cost orders the gates: cheap ones run first. After a failure, gates of higher costs do not run.
type Cost string

// The costs, from the lowest.
const (
	Instant Cost = "instant" // reads files
	Cheap   Cost = "cheap"   // runs a linter
	Costly  Cost = "costly"  // runs a test suite
	Dear    Cost = "dear"    // asks a model
)

// Subject holds a tree, and what is known about its change.
type Subject struct {
	Dir  string // root of the tree, an absolute path. The working directory of a plugin is another folder
	Base string // commit from which the change starts, "" if unknown
	Tree string // hash of the tree, "" if unknown

	// Changed has the paths that changed since Base, with deleted files: with slashes, relative to Dir, sorted. It is nil
	// if they are unknown; then the whole tree is to be checked.
	Changed []string
	Batch   *Batch        // nil if no plan is running
	Before  *TestCount    // counts of the last batch that passed; nil if there is none
	Timeout time.Duration // after which runplan ends the plugin; the deadline of the context, too
}

// Batch is the unit of work of a plan.
type Batch struct {
	Key    string // unique within the plan
	Number string // as written: "3", "4b"
	Title  string
	Files  Files
}

// Files lists the paths that a batch names, by the action on them.
type Files struct{ Create, Modify, Test, Delete []string }

// TestCount counts test cases.
type TestCount struct{ Passed, Failed, Skipped int }

// Report is the result of a check.
type Report struct {
	Status   Status
	Findings []Finding
	Tests    *TestCount // nil if the gate runs no tests
	Note     string     // why the gate was skipped, or what it tolerated
	Output   string     // the important part of a tool's output; runplan keeps 4 KiB
}

// Status is the result in one word. A finding with severity [Error] makes any report a failure.
type Status string

// The results of a check. Skipped needs a note with the reason.
const (
	Pass    Status = "pass"
	Fail    Status = "fail"
	Warn    Status = "warn"
	Skipped Status = "skipped"
)

// Finding is one problem at one place.
type Finding struct {
	Rule     string // name of the check, in kebab-case
	Path     string // with slashes, relative to the tree; "" for no place
	Line     int    // from 1; 0 for none
	Col      int    // from 1, in bytes; 0 for none
	Severity Severity
	Message  string
	Fix      string // how to correct it
}

// Severity says what a finding means for the report.
type Severity string

// The severities: the report fails, it warns, or neither.
const (
	Error   Severity = "error"
	Warning Severity = "warning"
	Note    Severity = "info"
)
