package tasks

import (
	"cmp"
	"fmt"
	"strings"
)

// Reason is why a commit is not a task.
type Reason string

// The reasons, in the order of the checks.
const (
	Unfit         Reason = "message"        // see [history.Reason]
	NoTest        Reason = "no_test"        // no test file changes
	NoCode        Reason = "no_code"        // only tests change
	OtherLanguage Reason = "language"       // no runner of single tests
	Secret        Reason = "secret"         //
	Address       Reason = "address"        // a mail address in the request
	CannotRun     Reason = "cannot_run"     // no runner, no time, no room
	NotBuilt      Reason = "does_not_build" // the tests do not build or load without the commit's code
	GreenBefore   Reason = "green_before"   // they pass without it
	RedAfter      Reason = "red_after"      // no test that fails without it passes with it
	Flaky         Reason = "flaky"          // passing and failing on one tree
	ProofGreen    Reason = "proof_green"    // the exported tests pass without the answer
	ProofRed      Reason = "proof_red"      // the exported tests fail with it
)

// Reasons returns all reasons in order.
func Reasons() []Reason {
	return []Reason{Unfit, NoTest, NoCode, OtherLanguage, Secret, Address, CannotRun, NotBuilt, GreenBefore, RedAfter, Flaky,
		ProofGreen, ProofRed}
}

// Text describes a reason in words.
func (r Reason) Text() string { return cmp.Or(reasonTexts[r], string(r)) }

var reasonTexts = map[Reason]string{
	Unfit:         "its message or size",
	NoTest:        "it changes no test",
	NoCode:        "it changes only tests",
	OtherLanguage: "its tests are neither of Go nor of pytest",
	Secret:        "it contains a probable secret",
	Address:       "its message contains a mail address",
	CannotRun:     "its tests could not be run",
	NotBuilt:      "its tests do not build without its code",
	GreenBefore:   "its tests pass without its code",
	RedAfter:      "no test that fails without its code passes with it",
	Flaky:         "its tests pass and fail on the same tree",
	ProofGreen:    "the exported tests pass without the answer",
	ProofRed:      "the exported tests fail with the answer",
}

// Receipt is the result for a commit.
type Receipt struct {
	Commit  string `json:"commit"`
	Parent  string `json:"parent,omitempty"`
	Subject string `json:"subject"`
	Task    string `json:"task,omitempty"`   // name of the task; "" if it is not a task
	Reason  Reason `json:"reason,omitempty"` // why it is not a task
	Says    string `json:"says,omitempty"`   // the same in words

	Files    []string `json:"files,omitempty"`        // test files that were run
	Before   []string `json:"before,omitempty"`       // results without the commit's code
	After    []string `json:"after,omitempty"`        // results with the commit's code
	Runs     int      `json:"runs,omitempty"`         // of each side
	Fixed    []string `json:"fail_to_pass,omitempty"` // tests that fail before and pass after
	Kept     []string `json:"pass_to_pass,omitempty"` // tests that pass on both sides
	LeftOut  []string `json:"left_out,omitempty"`     // unused tests: flaky, skipped, failing on both sides
	Tools    []string `json:"tools,omitempty"`        // versions of the tools
	Base     *Proof   `json:"proof_base,omitempty"`   // the exported tests on the repository before the commit
	Solution *Proof   `json:"proof_solved,omitempty"` // the same after the exported solution

	tried bool // tests were run
}

// Proof is one run of an exported tests/test.sh.
type Proof struct {
	Reward string `json:"reward"`         // the reward: 0 or 1
	Exit   int    `json:"exit"`           // its exit status
	Said   string `json:"said,omitempty"` // its last line
}

// refusedError ends the work on a commit.
type refusedError struct {
	reason Reason
	says   string
}

func (e *refusedError) Error() string { return e.says }

// refuse ends the work on a commit. The reason's own words are followed by more.
func refuse(r Reason, format string, args ...any) error {
	says := r.Text()
	if more := fmt.Sprintf(format, args...); more != "" {
		says += ": " + more
	}
	return &refusedError{r, says}
}

func subjectOf(message string) string {
	subject, _, _ := strings.Cut(message, "\n")
	return strings.TrimSpace(subject)
}
