package local

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/runplan/runplan/agents"
	"github.com/runplan/runplan/gates"
	"github.com/runplan/runplan/gates/blueprint"
	"github.com/runplan/runplan/gates/review"
	"github.com/runplan/runplan/runner"
)

// BlueprintReviews is the folder beside a run's report with what reviewers said of blueprints, by unit.
const BlueprintReviews = "blueprints"

// Fidelity holds the candidate against its live blueprints: what a program can tell, the blueprint gate has told of this
// very tree; for the rest a cold reviewer is asked, where there is one. A unit that is rejected goes back to its author
// with the list; notes are kept for the open questions and hold up nothing (BP-23).
func (w *work) Fidelity(ctx context.Context, c runner.Command, p runner.Progress) (runner.Event, error) {
	e := w.mechanical(c)
	if e.Outcome == runner.OutcomeFailed {
		return e, nil
	}
	if w.info.Review != ReviewAll || w.Reviews.Blueprint == nil {
		why := "no model is set up for it"
		if w.info.Review != ReviewAll {
			why = "reviews are those of programs"
		}
		if e.Outcome == runner.OutcomeOK { // else nobody had anything to look at
			e.Reason += "; no reviewer was asked: " + why
		}
		return e, nil
	}
	space, err := w.restore(ctx, c)
	if err != nil {
		return e, err
	}
	units, err := blueprint.Concerned(space.Dir, space.Paths)
	if err != nil || len(units) == 0 {
		return e, err
	}
	out := filepath.Join(w.Layout.Report(w.run), BlueprintReviews)
	var heard []blueprint.Opinion
	var blind []string // units of which nothing could be shown
	for _, unit := range units {
		p.Line(c.Batch, "blueprint review of "+unit)
		o, err := w.Reviews.Blueprint.Review(ctx, space.Dir, unit, out)
		switch {
		case ctx.Err() != nil:
			return e, context.Cause(ctx)
		case errors.Is(err, blueprint.ErrNothingSeen):
			blind = append(blind, fmt.Sprintf("%s: skipped, %s", unit, firstWords(w.redact.String(err.Error()))))
			continue
		case err != nil:
			e.Usage = w.opinionsTook(append(heard, o)) // it was asked, whatever it said
			return e, &reviewError{"the blueprint review says nothing: " + w.redact.String(err.Error())}
		}
		heard = append(heard, o)
	}
	w.lookout.drop()
	return w.opinions(e, heard, blind, out), nil
}

// mechanical is what the blueprint gate said of the candidate.
func (w *work) mechanical(c runner.Command) runner.Event {
	e := runner.Event{Base: c.Base, Tree: c.Tree, Outcome: runner.OutcomeSkipped, Reason: "the blueprint gate did not look"}
	for _, r := range w.factsOf(c.Batch, c.Base).last.reports {
		if r.Gate != "blueprint" {
			continue
		}
		switch e.Reason = r.Note; r.Status {
		case gates.Skipped:
		case gates.Fail:
			e.Outcome, e.Reports, e.Fingerprint = runner.OutcomeFailed, []gates.Report{r}, fingerprint(r.Note)
		default:
			e.Outcome, e.Reason = runner.OutcomeOK, "mechanical: the blueprint gate is "+string(r.Status)
		}
	}
	return e
}

// mostQuestions bounds how many open questions an event tells of; the record has all.
const mostQuestions = 10

// opinions makes one event of what was said of the units.
func (w *work) opinions(e runner.Event, heard []blueprint.Opinion, blind []string, out string) runner.Event {
	info := &runner.ReviewInfo{Verdict: runner.VerdictPass, Passes: blind}
	e.Review = info
	var claims []string
	for _, o := range heard {
		info.Passes = append(info.Passes, o.Unit+": "+o.Text())
		for _, q := range o.Questions {
			info.Questions = append(info.Questions, o.Unit+": "+firstWords(w.redact.String(q)))
		}
		name := o.Record.Cold.Model
		if !slices.Contains(info.Reviewers, name) {
			info.Reviewers = append(info.Reviewers, name)
		}
		info.File = w.Layout.Rel(filepath.Join(out, filepath.FromSlash(o.Stored)))
		if o.Record.Decision != blueprint.Reject {
			continue
		}
		rep := o.Report()
		e.Reports = append(e.Reports, rep)
		for _, d := range o.Record.Discrepancies {
			claims = append(claims, o.Unit+" "+d.Dimension+" "+d.BlueprintClaim)
		}
	}
	if len(heard) == 0 {
		info.Verdict, info.Note = string(runner.OutcomeSkipped), "nobody could look"
		e.Reason += "; nobody could look: " + strings.Join(blind, "; ")
		return e
	}
	if info.Calls = len(heard); len(heard) > 1 {
		info.File = w.Layout.Rel(out)
	}
	if n := len(info.Questions) - mostQuestions; n > 0 {
		info.Questions = append(info.Questions[:mostQuestions], fmt.Sprintf("and %d more", n))
	}
	e.Usage = w.opinionsTook(heard)
	e.Outcome, e.Reason = runner.OutcomeOK, strings.Join(info.Passes, "; ")
	if len(e.Reports) > 0 {
		slices.Sort(claims)
		info.Verdict, e.Outcome = "reject", runner.OutcomeFailed
		e.Reports, e.Fingerprint = w.trim(e.Reports), fingerprint(strings.Join(claims, "\x00"))
		e.Reason = w.redact.String(reasonOf(gates.Verdict{Reports: e.Reports}))
	}
	return e
}

// opinionsTook sums up what the reviewer used.
func (w *work) opinionsTook(heard []blueprint.Opinion) *agents.Usage {
	var p review.Pass
	model := w.Reviews.Blueprint.Model
	for _, o := range heard {
		p.Calls = append(p.Calls, review.Call{Provider: model.Provider, Model: model.Name, PromptTokens: o.Said.PromptTokens, CompletionTokens: o.Said.CompletionTokens})
	}
	return w.spentOn(review.Review{Passes: []review.Pass{p}})
}
