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
	"github.com/runplan/runplan/gates/blueprint/lifecycle"
	"github.com/runplan/runplan/gates/review"
	"github.com/runplan/runplan/internal/lists"
	"github.com/runplan/runplan/internal/phrase"
	"github.com/runplan/runplan/runner"
)

// Fidelity compares the candidate with its live blueprints. The blueprint gate has already made the mechanical checks
// of this tree. A reviewer without context, if configured, checks the rest. If the reviewer rejects a unit, the agent
// gets the list of faults. Notes become open questions and block nothing (BP-23).
func (w *work) Fidelity(ctx context.Context, c runner.Command, p runner.Progress) (runner.Event, error) {
	e := w.mechanical(c)
	if e.Outcome == runner.OutcomeFailed {
		return e, nil
	}
	if w.info.Review != ReviewAll || w.Reviews.Blueprint == nil {
		why := "no model is set up for it"
		if w.info.Review != ReviewAll {
			why = "only programs review"
		}
		if e.Outcome == runner.OutcomeOK { // otherwise there was nothing to review
			e.Reason += "; no reviewer was asked: " + why
		}
		return e, nil
	}
	space, err := w.restore(ctx, c)
	if err != nil {
		return e, err
	}
	units, err := lifecycle.Concerned(space.Dir, space.Paths)
	if err != nil || len(units) == 0 {
		return e, err
	}
	out := w.Layout.BlueprintReviews(w.run)
	var heard []lifecycle.Opinion
	var blind []string // units whose content could not be shown to the reviewer
	for _, unit := range units {
		p(c.Batch, "blueprint review of "+unit)
		o, err := w.Reviews.Blueprint.Review(ctx, space.Dir, unit, out)
		switch {
		case ctx.Err() != nil:
			return e, context.Cause(ctx)
		case errors.Is(err, lifecycle.ErrNothingSeen):
			blind = append(blind, fmt.Sprintf("%s: skipped, %s", unit, firstWords(w.redact.String(err.Error()))))
			continue
		case err != nil:
			e.Usage = w.opinionsTook(append(heard, o)) // the call counts whatever the answer
			return e, &reviewError{"the blueprint review has no result: " + w.redact.String(err.Error())}
		}
		heard = append(heard, o)
	}
	return w.opinions(e, heard, blind, out), nil
}

// mechanical returns the result of the blueprint gate for the candidate.
func (w *work) mechanical(c runner.Command) runner.Event {
	e := runner.Event{Base: c.Base, Tree: c.Tree, Outcome: runner.OutcomeSkipped, Reason: "the blueprint gate did not run"}
	for _, r := range w.factsOf(c.Batch, c.Base).last.reports {
		if r.Gate != "blueprint" {
			continue
		}
		switch e.Reason = r.Note; r.Status {
		case gates.Skipped:
		case gates.Fail:
			e.Outcome, e.Reports, e.Fingerprint = runner.OutcomeFailed, []gates.Report{r}, runner.Fingerprint(r.Note)
		default:
			e.Outcome, e.Reason = runner.OutcomeOK, "mechanical: the blueprint gate is "+string(r.Status)
		}
	}
	return e
}

// mostQuestions limits the open questions in an event; the review record has all.
const mostQuestions = 10

// opinions combines the reviews of all units into one event.
func (w *work) opinions(e runner.Event, heard []lifecycle.Opinion, blind []string, out string) runner.Event {
	info := &runner.ReviewInfo{Verdict: runner.VerdictPass, Passes: blind}
	e.Review = info
	var claims []string
	for _, o := range heard {
		info.Passes = append(info.Passes, o.Unit+": "+o.Text())
		for _, q := range o.Questions {
			info.Questions = append(info.Questions, o.Unit+": "+firstWords(w.redact.String(q)))
		}
		name := o.Record.Cold.Model
		info.Reviewers = lists.Add(info.Reviewers, name)
		info.File = w.Layout.Rel(filepath.Join(out, filepath.FromSlash(o.Stored)))
		if o.Record.Decision != lifecycle.Reject {
			continue
		}
		rep := o.Report()
		e.Reports = append(e.Reports, rep)
		for _, d := range o.Record.Discrepancies {
			claims = append(claims, o.Unit+" "+d.Dimension+" "+d.BlueprintClaim)
		}
	}
	if len(heard) == 0 {
		info.Verdict, info.Note = string(runner.OutcomeSkipped), "no review was possible"
		e.Reason += "; no review was possible: " + strings.Join(blind, "; ")
		return e
	}
	if info.Calls = len(heard); len(heard) > 1 {
		info.File = w.Layout.Rel(out)
	}
	info.Questions = phrase.First(info.Questions, mostQuestions)
	e.Usage = w.opinionsTook(heard)
	e.Outcome, e.Reason = runner.OutcomeOK, strings.Join(info.Passes, "; ")
	if len(e.Reports) > 0 {
		slices.Sort(claims)
		info.Verdict, e.Outcome = "reject", runner.OutcomeFailed
		e.Reports, e.Fingerprint = w.trim(e.Reports), runner.Fingerprint(strings.Join(claims, "\x00"))
		e.Reason = w.redact.String(reasonOf(gates.Verdict{Reports: e.Reports}))
	}
	return e
}

// opinionsTook adds up the usage of the reviewer.
func (w *work) opinionsTook(heard []lifecycle.Opinion) *agents.Usage {
	var p review.Pass
	model := w.Reviews.Blueprint.Model
	for _, o := range heard {
		p.Calls = append(p.Calls,
			review.Call{Provider: model.Provider, Model: model.Name, PromptTokens: o.Said.PromptTokens,
				CompletionTokens: o.Said.CompletionTokens})
	}
	return w.spentOn(p)
}
