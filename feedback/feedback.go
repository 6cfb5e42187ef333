// Package feedback turns the owner's feedback into a change with a regression test, for people to merge.
//
// A row of feedback moves through stages: triage, localise, plan, approval if the job is large, fix, differential
// check, review, publish, notify, verify on merge, learn. Each stage is one file with a typed result, and can be
// replaced ([Stages]). [Driver] only sequences them. It records the result of a stage in the history of the row before
// it uses the result. After a crash the next process continues from the row (FIX-05).
//
// The fix itself is a markdown plan. The normal runner executes it, with the normal gates. This package edits no code.
package feedback

import (
	"embed"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/runplan/runplan/internal/lazyre"
	"github.com/runplan/runplan/internal/lists"
	"github.com/runplan/runplan/internal/prompt"
)

// Status is the state of a feedback (FIX-04).
type Status string

// The states in order.
const (
	Pending  Status = "pending"
	Triaged  Status = "triaged"
	InFix    Status = "in-fix"
	PROpen   Status = "fix-pr-open"
	Verified Status = "verified"
	Rejected Status = "rejected"
	Closed   Status = "closed"
)

// next returns the allowed transitions. A row may get notes in any state without a transition.
func next() map[Status][]Status {
	return map[Status][]Status{
		"":       {Pending},
		Pending:  {Triaged, Rejected}, // rejected when a person withdraws it
		Triaged:  {InFix, Rejected},
		InFix:    {PROpen, Rejected, Triaged}, // back to triaged for another plan
		PROpen:   {Verified, Rejected},
		Verified: {Closed},
		Rejected: {Closed},
		Closed:   {},
	}
}

func (s Status) valid() bool {
	_, ok := next()[s]
	return ok && s != ""
}

// Severity is the severity of a feedback (FIX-03).
type Severity string

// Severities lists the severities in ascending order.
func Severities() []string { return []string{"low", "medium", "high", "critical"} }

// ParseSeverity reads a severity.
func ParseSeverity(s string) (Severity, error) {
	if !slices.Contains(Severities(), s) {
		return "", fmt.Errorf("unknown severity %q; use one of %s", s, strings.Join(Severities(), ", "))
	}
	return Severity(s), nil
}

// Class is the kind of fix that a feedback needs (FIX-07).
type Class string

// The eight classes.
const (
	Prompt        Class = "prompt"
	Doc           Class = "doc"
	TestOnly      Class = "test"
	ToolFix       Class = "tool"
	Policy        Class = "policy"
	Architectural Class = "architectural"
	StateMachine  Class = "state-machine"
	OutOfScope    Class = "out-of-scope"
)

type classMeaning struct {
	class   Class
	meaning string
}

// classes describes the classes in the order in which the prompt lists them.
func classes() []classMeaning {
	return []classMeaning{
		{Prompt, "a prompt says the wrong thing, and only a prompt has to change"},
		{Doc, "a document is wrong or missing"},
		{TestOnly, "a test is wrong or missing, and the code is right"},
		{ToolFix, "a function, a command or a tool does the wrong thing; most bugs"},
		{Policy, "a rule, a limit or a default is wrong"},
		{Architectural, "several parts of the code need another structure"},
		{StateMachine, "states or transitions of a process are wrong"},
		{OutOfScope, "no change of this repository could fix it, or it cannot be understood"},
	}
}

func classNames() []Class {
	return lists.Map(classes(), func(k classMeaning) Class { return k.class })
}

// Approval is the state of the approval of a large job; "" if none is needed (C-40).
type Approval string

// States of an approval.
const (
	NotAsked Approval = ""
	Waiting  Approval = "waiting"
	Deferred Approval = "deferred" // the owner could not be asked; retried later
	Given    Approval = "given"
	Denied   Approval = "denied"
)

// MinConfidence is the least confidence of triage in percent. Below it the feedback is out of scope (FIX-08).
const MinConfidence = 60

// MaxRounds is the highest number of plans for one feedback (FIX-15).
const MaxRounds = 3

const maxBody = 64 << 10

var idForm = lazyre.New(`^[a-z0-9](?:[a-z0-9-]{0,46}[a-z0-9])?$`)

// CheckID rejects an id that cannot be part of a branch name and a file name.
func CheckID(id string) error {
	if !idForm.MatchString(id) || strings.Contains(id, "--") {
		return fmt.Errorf("%q is not a valid id: use lower-case letters, digits and single dashes, at most 48", id)
	}
	return nil
}

// BranchPrefix is the prefix of the branches of fixes (FIX-16).
const BranchPrefix = "auto/runplan/"

// Branch returns the branch for the fix of a feedback.
func Branch(id string) string { return BranchPrefix + id }

// Refusal is a decision against a change or a request, with a hint. The history of the row records it.
type Refusal struct {
	What string
	Do   string
}

func (r *Refusal) Error() string { return r.What }

// Blocked reports an obstacle outside of the change. The row waits until it is removed.
type Blocked struct {
	What string
	Do   string
}

func (b *Blocked) Error() string { return b.What }

// Stopped reports that the run of a fix did not finish. The row waits.
type Stopped struct{ Err error }

func (s *Stopped) Error() string { return s.Err.Error() }
func (s *Stopped) Unwrap() error { return s.Err }

func blocked(do, format string, args ...any) error {
	return &Blocked{fmt.Sprintf(format, args...), do}
}

func refuse(do, format string, args ...any) error {
	return &Refusal{fmt.Sprintf(format, args...), do}
}

// refused distinguishes a refusal from a technical error.
func refused(err error) (*Refusal, bool) { return errors.AsType[*Refusal](err) }

//go:embed prompts/*.md
var promptFiles embed.FS

// LoadPrompts reads the prompts of this package. Files of the same name in the given layers override them (FIX-31).
func LoadPrompts(more ...prompt.Layer) (prompt.Set, error) {
	return prompt.LoadEmbedded("feedback", promptFiles, more...)
}
