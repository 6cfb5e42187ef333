package story

import (
	"cmp"
	"reflect"
	"slices"

	"github.com/runplan/runplan/gates"
	"github.com/runplan/runplan/runner"
)

// OutsideGate is the gate name of reports on changes outside the workspace.
const OutsideGate = "outside"

// Attempt is an attempt at a batch, or a candidate of a tournament in one. What happens to the winner of a tournament
// afterwards, such as its merge or its denial, is an attempt of the same number without a candidate.
type Attempt struct {
	Number, Candidate  int
	Variant            string
	Agent, Model, Tier string
	Base, Commit, Log  string
	Sums               map[string]string  // SHA-256 of its brief and log, by file name
	Doing              runner.CommandKind // of the command that runs; "" if none
	Step               runner.EventKind   // the last one that decided something; "" before the first
	Outcome            runner.Outcome     // of that step; "" while the agent works
	Reason, By         string
	DurationMS         int64 // of all its steps
	Reports            []gates.Report
	Reviews            []Review
	Score              *runner.CandScore // nil until it is judged
	Won                bool
}

// Review is a review of an attempt.
type Review struct {
	Kind    runner.CommandKind
	Info    *runner.ReviewInfo
	Reports []gates.Report
}

// Failed reports whether the attempt ended without success, or was stopped.
func (a *Attempt) Failed() bool { return a.Outcome != runner.OutcomeOK && a.Outcome != "" }

// Attempts collects the attempts of a run from its events, by batch. The zero value is ready. The report and the page
// use it.
type Attempts struct {
	lists    map[string][]*Attempt
	contests Contests
}

// Of returns the attempts at a batch, in the order of their starts.
func (l *Attempts) Of(batch string) []*Attempt { return l.lists[batch] }

// Apply adds an event, in the order of the journal, and returns the attempt that it is about, or nil.
func (l *Attempts) Apply(e runner.Event) *Attempt {
	if l.lists == nil {
		l.lists, l.contests = map[string][]*Attempt{}, Contests{}
	}
	if e.Batch == "" {
		return nil
	}
	l.contests.Apply(e)
	switch e.Kind {
	case runner.Sampled:
		for _, s := range e.Slots {
			e.Candidate = s.Number
			l.of(e).Variant = s.Variant
		}
	case runner.Judged:
		for _, s := range e.Scores {
			won := e.Outcome == runner.OutcomeOK && e.Candidate == s.Candidate
			a := l.of(runner.Event{Batch: e.Batch, Attempt: e.Attempt, Candidate: s.Candidate})
			a.Variant, a.Score, a.Won = cmp.Or(s.Variant, a.Variant), &s, won
		}
	case runner.Dispatched:
		kind := runner.KindOf(e.Command)
		if kind == runner.Sample || kind == runner.Judge || kind == runner.Wait {
			return nil // about no attempt
		}
		e.Candidate = l.contests.Candidate(e)
		a := l.of(e)
		a.begin(e, kind)
		return a
	case runner.Withdrawn:
		for _, a := range l.lists[e.Batch] {
			if a.Number == e.Attempt {
				a.Doing = ""
			}
		}
	case runner.Executed, runner.Rebased, runner.Gated, runner.Tried, runner.Committed, runner.Merged, runner.Reviewed,
		runner.ApprovalDenied:
		a := l.of(e)
		a.end(e)
		return a
	}
	return nil
}

// of returns the attempt that an event names.
func (l *Attempts) of(e runner.Event) *Attempt {
	list := l.lists[e.Batch]
	i := slices.IndexFunc(list, func(a *Attempt) bool { return a.Number == e.Attempt && a.Candidate == e.Candidate })
	if i >= 0 {
		return list[i]
	}
	a := &Attempt{Number: e.Attempt, Candidate: e.Candidate, Variant: e.Variant}
	l.lists[e.Batch] = append(list, a)
	return a
}

func (a *Attempt) begin(e runner.Event, kind runner.CommandKind) {
	a.Doing = kind
	if kind == runner.Execute {
		a.Step, a.Outcome, a.Reason, a.Base, a.Tier = e.Kind, "", "", e.Base, e.Tier
		a.Agent, a.Model = cmp.Or(e.Agent, a.Agent), cmp.Or(e.Model, a.Model)
	}
}

func (a *Attempt) end(e runner.Event) {
	a.Doing = ""
	a.DurationMS += e.DurationMS
	a.Variant = cmp.Or(e.Variant, a.Variant)
	a.decide(e)
	switch e.Kind {
	case runner.Reviewed:
		a.Reviews = append(a.Reviews, Review{runner.KindOf(e.Command), e.Review, e.Reports})
		return // its reports are not those of gates
	case runner.Executed:
		a.Agent, a.Model, a.Tier = e.Agent, e.Model, cmp.Or(e.Tier, a.Tier)
		a.Log, a.Sums = cmp.Or(e.Log, a.Log), e.Sums
	case runner.ApprovalDenied: // the gates' reports stay true
		a.Reports = append(slices.Clip(a.Reports), e.Reports...)
		return
	}
	if e.Base != "" && e.Commit != "" {
		a.Base, a.Commit = e.Base, e.Commit
	}
	if len(e.Reports) > 0 || e.Kind == runner.Executed {
		// changes outside happened, whatever later gates say
		kept := slices.DeleteFunc(slices.Clone(a.Reports), func(r gates.Report) bool {
			return r.Gate != OutsideGate ||
				slices.ContainsFunc(e.Reports, func(o gates.Report) bool { return reflect.DeepEqual(r, o) })
		})
		a.Reports = append(kept, e.Reports...)
	}
}

// decide sets the result of the attempt. A step that is repeated, because a hook or another process changed something,
// decides nothing, and neither does a review without objections.
func (a *Attempt) decide(e runner.Event) {
	outcome, reason := e.Outcome, e.Reason
	switch {
	case outcome == runner.OutcomeMoved, outcome == runner.OutcomeChanged:
		return
	case e.Kind == runner.Tried && outcome == runner.OutcomeOK:
		outcome, reason = runner.OutcomeConflict, "green alone, but red together with changes merged meanwhile"
	case e.Kind == runner.Reviewed && (outcome == runner.OutcomeOK || outcome == runner.OutcomeSkipped ||
		outcome == runner.OutcomeUndecided):
		if a.Step != runner.Reviewed {
			return
		}
		outcome, reason = runner.OutcomeOK, "" // the review was repeated
	}
	a.Step, a.Outcome, a.Reason, a.By = e.Kind, outcome, reason, e.By
}
