package report

import (
	"iter"
	"slices"

	"github.com/runplan/runplan/gates"
	"github.com/runplan/runplan/internal/ui"
	"github.com/runplan/runplan/runner"
	"github.com/runplan/runplan/runner/story"
)

// Past holds the history of a run for its report: the failures and the timeline. It reads events one at a time and
// keeps little of each, because long runs have many large events.
type Past struct {
	attempts map[string][]attempt // by batch
	course   story.Course
}

// PastOf reads the events of a run, in journal order. It returns the error of the iterator.
func PastOf(events iter.Seq2[runner.Event, error]) (*Past, error) {
	p := &Past{attempts: map[string][]attempt{}, course: story.NewCourse()}
	for e, err := range events {
		if err != nil {
			return nil, err
		}
		p.course.Apply(e)
		p.attempted(e)
	}
	p.course.End()
	return p, nil
}

// of returns the attempts at a batch, or none without events.
func (p *Past) of(batch string) []attempt {
	if p == nil {
		return nil
	}
	return p.attempts[batch]
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

// lanes returns the rows of the timeline, or none without events.
func (p *Past) lanes(s runner.Summary) (lanes []lane, total int64) {
	if p == nil {
		return nil, 0
	}
	return lanesOf(p.course, s), p.course.Total
}

// attempted adds an event to its attempt.
func (p *Past) attempted(e runner.Event) {
	switch e.Kind {
	case runner.Executed, runner.Rebased, runner.Gated, runner.Committed, runner.Merged, runner.ApprovalDenied:
	case runner.Reviewed:
		if e.Batch == "" || e.Outcome == runner.OutcomeOK || e.Outcome == runner.OutcomeSkipped ||
			e.Outcome == runner.OutcomeUndecided {
			return
		}
	default:
		return
	}
	list := p.attempts[e.Batch]
	i := slices.IndexFunc(list, func(a attempt) bool { return a.number == e.Attempt && a.candidate == e.Candidate })
	if i < 0 {
		i = len(list)
		list = append(list, attempt{number: e.Attempt, candidate: e.Candidate, variant: e.Variant})
	}
	a := &list[i]
	a.durationMS += e.DurationMS
	if e.Outcome != runner.OutcomeMoved && e.Outcome != runner.OutcomeChanged {
		a.outcome, a.reason = e.Outcome, e.Reason
	}
	if told := worthTelling(e); len(told) > 0 {
		a.reports = told
	}
	a.sawOutside(e.Reports)
	if e.Log != "" {
		a.log = e.Log
	}
	if e.Kind == runner.Executed {
		a.agent = agentName(e.Agent, e.Model)
	}
	p.attempts[e.Batch] = list
}

// worthTelling returns the reports of an event to show. Passed gates are in the summary.
func worthTelling(e runner.Event) []gates.Report {
	if e.Outcome != runner.OutcomeOK {
		return e.Reports
	}
	return slices.DeleteFunc(slices.Clone(e.Reports), func(r gates.Report) bool { return r.Gate != OutsideGate })
}
