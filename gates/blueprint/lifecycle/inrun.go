package lifecycle

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"

	"github.com/runplan/runplan/gates"
	"github.com/runplan/runplan/gates/blueprint"
	"github.com/runplan/runplan/internal/phrase"
	"github.com/runplan/runplan/internal/rooted"
	"github.com/runplan/runplan/knowledge/summary"
	"github.com/runplan/runplan/llm"
)

// Reviewer lets a model review units in trees that runplan owns, such as the candidates of a run. It writes neither to
// the tree under review nor to the user's repository. All files of a review go to a folder of the caller. It asks no
// person: the agent gets a rejected unit again.
type Reviewer struct {
	Deps    // its Summary is called again for each tree
	Sources func(ctx context.Context, root string) (summary.Options, error)
	Model   llm.Model
	LLM     llm.Completer
}

// Opinion is a reviewer's answer about one unit. Paths are relative to the folder that the caller gave.
type Opinion struct {
	Unit      string
	Record    Record
	Stored    string       // the review
	Returned  string       // the list for the author of a rejected unit
	Questions []string     // for the blueprint's open questions; not added yet
	Said      llm.Response // with its cost
}

// Concerned lists the live units of the tree at root whose source files or blueprint are among the changed files.
func Concerned(root string, changed []string) ([]string, error) {
	units, err := blueprint.Units(root, blueprint.Live)
	if err != nil {
		return nil, err
	}
	var out []string
	for _, unit := range units {
		b, err := blueprint.Load(root, unit, blueprint.Live)
		if err != nil {
			return nil, err
		}
		if slices.Contains(changed, blueprint.PathOf(unit, blueprint.Live)) ||
			slices.ContainsFunc(b.Paths(), func(p string) bool { return slices.Contains(changed, p) }) {
			out = append(out, unit)
		}
	}
	return out, nil
}

// Review makes the cold review of one live unit of the tree at root. An invalid answer is an error; its text is stored.
func (v Reviewer) Review(ctx context.Context, root, unit, out string) (Opinion, error) {
	o := Opinion{Unit: unit}
	d := v.Deps
	var err error
	if d.Summary, err = v.Sources(ctx, root); err != nil {
		return o, err
	}
	r, err := Prepare(ctx, root, Options{Unit: unit, State: blueprint.Live, Reviewer: "agent", Out: out}, d)
	if err != nil {
		return o, err
	}
	heard := llm.CompleterFunc(func(ctx context.Context, q llm.Request) (llm.Response, error) {
		res, err := v.LLM.Complete(ctx, q)
		o.Said = res
		return res, err
	})
	res, cold, err := r.Ask(ctx, heard, v.Model)
	if err != nil {
		raw := o.Said.Text
		if answer := (*llm.AnswerError)(nil); errors.As(err, &answer) {
			raw = answer.Raw
		}
		if raw != "" {
			if _, keepErr := r.Keep(v.hide(safe(raw))); keepErr != nil {
				return o, errors.Join(err, keepErr)
			}
		}
		return o, err
	}
	o.Record = r.Judged(res, cold, v.Now())
	o.Stored = r.AnswerPath()
	if err := v.writeJSON(out, o.Stored, o.Record); err != nil {
		return o, err
	}
	switch rec := o.Record; rec.Decision {
	case ApproveWithNotes: // all discrepancies that cost fidelity, because this is a candidate
		rec.State = blueprint.Candidate
		o.Questions = notes(rec)
	case Approve:
		o.Questions = notes(rec)
	default:
		o.Returned = path.Join(path.Dir(o.Stored), "returned_"+r.Stamp+".md")
		err = rooted.Write(out, o.Returned, []byte(v.hide(returned(o.Record))))
	}
	return o, err
}

// ReviewGate is the name of a reviewer's report among the reports of gates.
const ReviewGate = "blueprint:review"

// Report returns the report about a rejected unit for its author. It omits observations, because they do not lower the
// fidelity.
func (o Opinion) Report() gates.Report {
	rep := gates.Report{Gate: ReviewGate, Status: gates.Fail, Note: fmt.Sprintf("%s: %s", o.Unit, o.Record.DecisionReason)}
	for _, d := range o.Record.Discrepancies {
		if d.Severity == Observation {
			continue
		}
		f := gates.Finding{Rule: "blueprint/" + d.Dimension, Severity: gates.Error,
			Fix: phrase.Cut(phrase.Line(d.Recommendation), 600)}
		f.Message = fmt.Sprintf("%s (%s): the blueprint says: %s; the code: %s", o.Unit, d.Severity,
			phrase.Cut(phrase.Line(d.BlueprintClaim), 300), phrase.Cut(phrase.Line(d.CodeEvidence), 300))
		if blueprint.SafePath(d.AffectedFile) == nil {
			f.Path = d.AffectedFile
		}
		rep.Findings = append(rep.Findings, f)
	}
	if len(rep.Findings) == 0 {
		rep.Findings = []gates.Finding{{Rule: "blueprint/intent", Severity: gates.Error, Message: o.Unit + ": " +
			phrase.Cut(phrase.Line(o.Record.SummaryNote), 600)}}
	}
	return rep
}

// Text summarizes the outcome for the unit in a few words.
func (o Opinion) Text() string {
	text := fmt.Sprintf("%s, fidelity %.2f", o.Record.Decision, o.Record.GroundTruthFidelity)
	if n := len(o.Questions); n > 0 {
		text += fmt.Sprintf(", %d for its open questions", n)
	}
	if n := len(o.Record.Unseen); n > 0 {
		text += ", " + phrase.Count(n, "file") + " not seen"
	}
	return text
}
