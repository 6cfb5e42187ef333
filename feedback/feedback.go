// Package feedback turns what the owner finds wrong into a change with a regression test, for people to merge.
//
// A row of feedback is walked through stages: triage, localise, plan, approval where the job is large, fix, differential
// check, review, publish, notify, verify on merge, learn. Each stage is one file with a typed result, and can be replaced
// ([Stages]). [Driver] does no more than walk: what a stage found is written into the history of the row before anything
// follows from it, so a process that was killed anywhere is followed by one that goes on from the row (FIX-05).
//
// The fix itself is a markdown plan that the ordinary runner executes, with the ordinary gates. Nothing here edits code.
package feedback

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/runplan/runplan/internal/lazyre"
)

// Status is where a feedback stands (FIX-04).
type Status string

// The states, in their order.
const (
	Pending  Status = "pending"
	Triaged  Status = "triaged"
	InFix    Status = "in-fix"
	PROpen   Status = "fix-pr-open"
	Verified Status = "verified"
	Rejected Status = "rejected"
	Closed   Status = "closed"
)

// next says which states may follow on which. A row that is not moved may always be told more of.
func next() map[Status][]Status {
	return map[Status][]Status{
		"":       {Pending},
		Pending:  {Triaged, Rejected}, // rejected by a person, who took it back
		Triaged:  {InFix, Rejected},
		InFix:    {PROpen, Rejected, Triaged}, // back to triaged with another plan
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

// Severity is how bad it is (FIX-03).
type Severity string

// Severities lists them, the least first.
func Severities() []string { return []string{"low", "medium", "high", "critical"} }

// ParseSeverity reads a severity.
func ParseSeverity(s string) (Severity, error) {
	if !slices.Contains(Severities(), s) {
		return "", fmt.Errorf("%q is no severity; it is %s", s, strings.Join(Severities(), ", "))
	}
	return Severity(s), nil
}

// Class is the kind of fix that a feedback asks for (FIX-07).
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

// classes says what each is, in the order in which a model reads them.
func classes() []struct {
	class   Class
	meaning string
} {
	return []struct {
		class   Class
		meaning string
	}{
		{Prompt, "a prompt says the wrong thing, and only a prompt has to change"},
		{Doc, "a document is wrong or missing"},
		{TestOnly, "a test is wrong or missing, and the code is right"},
		{ToolFix, "a function, a command or a tool does the wrong thing; most bugs"},
		{Policy, "a rule, a limit or a default is wrong"},
		{Architectural, "several parts of the code have to be put together in another way"},
		{StateMachine, "states or transitions of a process are wrong"},
		{OutOfScope, "nothing that a change of this repository could put right, or nothing that can be understood"},
	}
}

func (c Class) valid() bool {
	for _, k := range classes() {
		if k.class == c {
			return true
		}
	}
	return false
}

// Approval is where the approval of a large job stands; "" where none is needed (C-40).
type Approval string

// What can be said of an approval.
const (
	NotAsked Approval = ""
	Waiting  Approval = "waiting"
	Deferred Approval = "deferred" // nobody could be asked; the next go tries again
	Given    Approval = "given"
	Denied   Approval = "denied"
)

// MinConfidence is what triage has to be sure of, in percent; below, the feedback is out of scope (FIX-08).
const MinConfidence = 60

// MaxRounds bounds the plans that are drafted for one feedback (FIX-15).
const MaxRounds = 3

// maxBody bounds the words of a feedback.
const maxBody = 64 << 10

var idForm = lazyre.New(`^[a-z0-9](?:[a-z0-9-]{0,46}[a-z0-9])?$`)

// CheckID refuses an id that could not be part of a branch's and a file's name.
func CheckID(id string) error {
	if !idForm.MatchString(id) || strings.Contains(id, "--") {
		return fmt.Errorf("%q is no id of a feedback: it has small letters, digits and single dashes, 48 at most", id)
	}
	return nil
}

// BranchPrefix heads the branches of fixes (FIX-16).
const BranchPrefix = "auto/runplan/"

// Branch is the branch of the fix of a feedback.
func Branch(id string) string { return BranchPrefix + id }

// Refusal is a decision against a change or a wish, with what to do about it. The row's history has it.
type Refusal struct {
	What string
	Do   string
}

func (r *Refusal) Error() string { return r.What }

// Blocked says that something around the change is in the way: the row waits as it is until it is put right.
type Blocked struct {
	What string
	Do   string
}

func (b *Blocked) Error() string { return b.What }

// Stopped says that the run of a fix came to no end: something could not be looked at, and the row waits as it is.
type Stopped struct{ Err error }

func (s *Stopped) Error() string { return s.Err.Error() }
func (s *Stopped) Unwrap() error { return s.Err }

func blocked(do, format string, args ...any) error {
	return &Blocked{fmt.Sprintf(format, args...), do}
}

func refuse(do, format string, args ...any) error {
	return &Refusal{fmt.Sprintf(format, args...), do}
}

// refused tells a refusal from a failure of the machinery.
func refused(err error) (*Refusal, bool) {
	var r *Refusal
	ok := errors.As(err, &r)
	return r, ok
}
