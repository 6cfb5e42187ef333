package report

import (
	"cmp"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/runplan/runplan/gates"
	"github.com/runplan/runplan/internal/redact"
	"github.com/runplan/runplan/internal/ui"
	"github.com/runplan/runplan/runner"
	"github.com/runplan/runplan/runner/story"
)

// attemptName names an attempt, and its candidate in a tournament.
func attemptName(a *story.Attempt) string {
	name := fmt.Sprintf("attempt %d", a.Number)
	if a.Candidate > 0 {
		name += " " + candidateName(a.Candidate, a.Variant)
	}
	return name
}

// by appends the agent of an attempt, if it is known.
func by(a *story.Attempt, text string) string {
	if a.Agent == "" {
		return text
	}
	return text + ", " + agentName(a.Agent, a.Model)
}

// outsideOf returns the changes outside the workspace, without duplicates.
func outsideOf(a *story.Attempt) (out []finding) {
	for _, r := range a.Reports {
		if r.Gate != story.OutsideGate {
			continue
		}
		g := failedGateOf(r)
		if g.More > 0 {
			g.Findings = append(g.Findings, finding{Message: fmt.Sprintf("and %d more, which the journal has", g.More)})
		}
		for _, f := range g.Findings {
			if !slices.Contains(out, f) {
				out = append(out, f)
			}
		}
	}
	return out
}

// outsideChange lists an agent's changes outside its workspace in a successful attempt.
type outsideChange struct {
	Batch, Title, Attempt string
	Findings              []finding
}

// outsideChanges returns the outside changes of successful attempts. Those of failed attempts are part of the failure.
func outsideChanges(s runner.Summary, past *Past) []outsideChange {
	var out []outsideChange
	for _, b := range s.Batches {
		for _, a := range past.of(b.Key) {
			if found := outsideOf(a); len(found) > 0 && !a.Failed() {
				out = append(out, outsideChange{ui.Sanitize(b.Number), ui.Sanitize(b.Title), by(a, attemptName(a)), found})
			}
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

type finding struct{ Place, Rule, Message, Fix string }

// maxFindings limits the findings of a gate in a report. The gate's log has all.
const maxFindings = 20

// failures returns the failures of batch b. Without events, only the last reason is known.
func failures(b runner.BatchSummary, list []*story.Attempt) []failure {
	var out []failure
	for i, a := range list {
		if !a.Failed() {
			continue
		}
		word := strings.ReplaceAll(ui.Sanitize(string(a.Outcome)), "_", " ")
		f := failure{
			Head:   by(a, fmt.Sprintf("%s %s after %s", attemptName(a), word, ui.Duration(millis(a.DurationMS)))),
			Reason: ui.Sanitize(a.Reason), Log: ui.Sanitize(a.Log), Last: i == len(list)-1,
			Batch: b.Key, Outcome: word,
		}
		reports := a.Reports
		if a.Step == runner.Reviewed {
			reports = append(slices.Clip(reports), a.Reviews[len(a.Reviews)-1].Reports...)
		}
		for _, r := range reports {
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
		Name: gateText(resultOf(r), nil),
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
		})
	}
	return g
}

type nextStep struct{ Why, Command string }

func nextSteps(s runner.Summary) []nextStep {
	f := figuresOf(s)
	branch, base := shell(s.Branch), shell(cmp.Or(s.BaseBranch, s.Base))
	var out []nextStep
	if s.Status == runner.RunStopped || s.Status == runner.RunFailed {
		out = append(out, nextStep{"continue the run", "runplan resume " + shell(s.Run)})
	}
	if f.Merged > 0 && s.Branch != "" {
		out = append(out, nextStep{"show the result", "git log --oneline " + base + ".." + branch},
			nextStep{"see all changes at once", "git diff " + base + "..." + branch})
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
	special := func(r rune) bool { return !isWord(r) && !strings.ContainsRune("._/-", r) }
	if s != "" && !strings.ContainsFunc(s, special) {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// Past holds the history of a run for its report: the failures and the timeline. It reads events one at a time and
// keeps little of each, because long runs have many large events.
type Past struct {
	attempts story.Attempts
	course   story.Course
}

// PastOf reads the events of a run, in journal order. It returns the error of the iterator.
func PastOf(events iter.Seq2[runner.Event, error]) (*Past, error) {
	p := &Past{course: story.NewCourse()}
	for e, err := range events {
		if err != nil {
			return nil, err
		}
		p.course.Apply(e)
		if a := p.attempts.Apply(e); a != nil && !a.Failed() { // passed gates are in the summary
			a.Reviews = nil
			a.Reports = slices.DeleteFunc(slices.Clone(a.Reports),
				func(r gates.Report) bool { return r.Gate != story.OutsideGate })
		}
	}
	p.course.End()
	return p, nil
}

// of returns the attempts at a batch, or none without events.
func (p *Past) of(batch string) []*story.Attempt {
	if p == nil {
		return nil
	}
	return p.attempts.Of(batch)
}

// waited formats the time that a batch waited, or with "" the run; "" if it did not wait, or without events.
func (p *Past) waited(batch string) string {
	if p == nil {
		return ""
	}
	if d := p.course.Clock(batch).Waited(); d > 0 {
		return "waited " + ui.Duration(d)
	}
	return ""
}

// timelineRows returns the rows of the timeline, or none without events.
func (p *Past) timelineRows(s runner.Summary) (rows []timelineRow, total int64) {
	if p == nil {
		return nil, 0
	}
	return timelineRows(p.course, s), p.course.Total
}
