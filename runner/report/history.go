package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/runplan/runplan/gates"
	"github.com/runplan/runplan/internal/redact"
	"github.com/runplan/runplan/internal/ui"
	"github.com/runplan/runplan/runner"
)

// attempt is one attempt at a batch, from the events.
type attempt struct {
	number     int
	candidate  int // in a tournament
	variant    string
	agent      string
	outcome    runner.Outcome
	reason     string
	durationMS int64
	reports    []gates.Report
	outside    []finding // changes outside the workspace, from any event
	log        string
}

// name names the attempt, and its candidate in a tournament.
func (a attempt) name() string {
	name := fmt.Sprintf("attempt %d", a.number)
	if a.candidate > 0 {
		name += " " + candidateName(a.candidate, a.variant)
	}
	return name
}

// by appends the agent, if it is known.
func (a attempt) by(text string) string {
	if a.agent == "" {
		return text
	}
	return text + ", " + a.agent
}

func (a attempt) failed() bool { return a.outcome != runner.OutcomeOK && a.outcome != "" }

// OutsideGate is the gate name of reports on changes outside the workspace.
const OutsideGate = "outside"

// sawOutside adds changes outside the workspace, without duplicates.
func (a *attempt) sawOutside(reports []gates.Report) {
	for _, r := range reports {
		if r.Gate != OutsideGate {
			continue
		}
		g := failedGateOf(r)
		if g.More > 0 {
			g.Findings = append(g.Findings, finding{Message: fmt.Sprintf("and %d more, which the journal has", g.More)})
		}
		for _, f := range g.Findings {
			if !slices.Contains(a.outside, f) {
				a.outside = append(a.outside, f)
			}
		}
	}
}

// sight lists an agent's changes outside its workspace in a successful attempt.
type sight struct {
	Batch, Title, Attempt string
	Findings              []finding
}

// sights returns the outside changes of successful attempts. Those of failed attempts are part of the failure.
func sights(s runner.Summary, past *Past) []sight {
	var out []sight
	for _, b := range s.Batches {
		for _, a := range past.of(b.Key) {
			if len(a.outside) == 0 || a.failed() {
				continue
			}
			out = append(out, sight{ui.Sanitize(b.Number), ui.Sanitize(b.Title), a.by(a.name()), a.outside})
		}
	}
	return out
}

// failure is a failed attempt, prepared for display.
type failure struct {
	Head    string // "attempt 1, 8.1s, failed"
	Reason  string
	Gates   []failedGate
	Log     string
	Last    bool // no attempt followed
	Batch   string
	Outcome string
}

type failedGate struct {
	Name     string
	Command  string
	Findings []finding
	More     int // number of omitted findings
	Output   string
	Log      string
}

type finding struct{ Place, Rule, Message, Fix, Severity string }

// maxFindings limits the findings of a gate in a report. The gate's log has all.
const maxFindings = 20

// failures returns the failures of batch b. Without events, only the last reason is known.
func failures(b runner.BatchSummary, list []attempt) []failure {
	var out []failure
	for i, a := range list {
		if !a.failed() {
			continue
		}
		word := strings.ReplaceAll(ui.Sanitize(string(a.outcome)), "_", " ")
		f := failure{
			Head:   a.by(fmt.Sprintf("%s %s after %s", a.name(), word, ui.Duration(millis(a.durationMS)))),
			Reason: ui.Sanitize(a.reason), Log: ui.Sanitize(a.log), Last: i == len(list)-1,
			Batch: b.Key, Outcome: word,
		}
		for _, r := range a.reports {
			if r.Status == gates.Fail || r.Status == gates.Warn {
				f.Gates = append(f.Gates, failedGateOf(r))
			}
		}
		out = append(out, f)
	}
	if len(out) == 0 && b.State == string(runner.Failed) {
		out = append(out, failure{Head: "failed", Reason: ui.Sanitize(b.Reason), Last: true, Batch: b.Key})
	}
	return out
}

func failedGateOf(r gates.Report) failedGate {
	g := failedGate{
		Name: gateText(runner.GateResult{Gate: r.Gate, Status: r.Status, Note: r.Note, Tests: r.Tests,
			Findings: len(r.Findings)}, nil),
		// Clean keeps line ends and removes all other control codes.
		Output: strings.TrimRight(redact.Clean(r.Output), " \t\n"), Command: ui.Sanitize(r.Command), Log: ui.Sanitize(r.Log),
	}
	for i, f := range r.Findings {
		if i == maxFindings {
			g.More = len(r.Findings) - i
			break
		}
		g.Findings = append(g.Findings, finding{
			Place: place(f), Rule: ui.Sanitize(f.Rule), Message: ui.Sanitize(f.Message), Fix: ui.Sanitize(f.Fix),
			Severity: ui.Sanitize(string(f.Severity)),
		})
	}
	return g
}

// nextStep is a suggested command with its purpose.
type nextStep struct{ Why, Command string }

// nextSteps returns the suggested commands after a run.
func nextSteps(s runner.Summary) []nextStep {
	f := figuresOf(s)
	branch, base := shell(s.Branch), shell(cmp.Or(s.BaseBranch, s.Base))
	var out []nextStep
	if s.Status == runner.RunStopped || s.Status == runner.RunFailed {
		out = append(out, nextStep{"continue the run", "runplan resume " + shell(s.Run)})
	}
	if f.Merged > 0 && s.Branch != "" {
		out = append(out, nextStep{"show the result", "git log --oneline " + base + ".." + branch})
		out = append(out, nextStep{"see all changes at once", "git diff " + base + "..." + branch})
		if s.BaseBranch != "" {
			out = append(out, nextStep{"bring it to " + ui.Sanitize(s.BaseBranch), "git switch " + base +
				" && git merge --no-ff " + branch})
		} else {
			out = append(out, nextStep{"bring it to the branch you are on", "git merge --no-ff " + branch})
		}
	}
	return out
}

// shell quotes a word for a POSIX shell if necessary.
func shell(s string) string {
	s = ui.Sanitize(s)
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("._/-", r)
	}
	if s != "" && strings.IndexFunc(s, func(r rune) bool { return !plain(r) }) < 0 {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
