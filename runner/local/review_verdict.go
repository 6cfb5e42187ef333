package local

import (
	"fmt"
	"slices"
	"strings"

	"github.com/runplan/runplan/gates"
	"github.com/runplan/runplan/gates/review"
	"github.com/runplan/runplan/runner"
)

// verdict is the outcome of a candidate's review.
func (w *work) verdict(e runner.Event, v review.Review) (runner.Event, error) {
	why := w.redact.String(strings.Join(v.Reasons, ", "))
	switch {
	case v.Verdict == review.OK:
		e.Outcome = runner.OutcomeOK
		return e, nil
	case v.Verdict == review.NoVerdict:
		for _, p := range v.Passes {
			if p.Status == gates.Errored {
				why += "; " + p.Name + ": " + p.Note
			}
		}
		return e, &reviewError{fmt.Sprintf("the review has no result: %s", w.redact.String(why))}
	}
	reports, ids, again := blocking(v)
	if len(reports) == 0 {
		e.Outcome, e.Reason = runner.OutcomeUndecided, why
		return e, nil
	}
	e.Reports, e.Fingerprint, e.Outcome = w.trim(reports), fingerprint(strings.Join(ids, " ")), runner.OutcomeShallow
	if failureIsComplex(v, reports, again) {
		e.Outcome = runner.OutcomeComplex
	}
	e.Reason = w.redact.String(reasonOf(gates.Verdict{Reports: reports}))
	return e, nil
}

// blocking returns the failed passes of a review, with only their blocking findings. again reports whether one of
// these was found before.
func blocking(v review.Review) (reports []gates.Report, ids []string, again bool) {
	for _, p := range v.Passes {
		if p.Status != gates.Fail {
			continue
		}
		r := p.Report
		r.Findings = nil
		for _, f := range p.Findings {
			if f.Severity != gates.Error || f.Unproven || f.State != "" && f.State != review.Open {
				continue
			}
			again = again || !f.New && !f.Fact
			ids = append(ids, f.ID)
			r.Findings = append(r.Findings, f.Finding)
		}
		reports = append(reports, r)
	}
	if len(v.Open) > 0 {
		r := gates.Report{Gate: "review:earlier", Status: gates.Fail,
			Note: "found by an earlier review, but not checked since"}
		for _, f := range v.Open {
			again = true
			ids = append(ids, f.ID)
			r.Findings = append(r.Findings,
				gates.Finding{Rule: f.Rule, Path: f.Path, Line: f.Line, Severity: f.Severity, Message: f.Message})
		}
		reports = append(reports, r)
	}
	slices.Sort(ids)
	return reports, ids, again
}

// shallowFiles limits the number of files of a small fix.
const shallowFiles = 3

// failureIsComplex reports whether a failure needs more than a small fix (REV-11): the design is wrong, many
// places are wrong, or an attempt to correct it failed.
func failureIsComplex(v review.Review, reports []gates.Report, again bool) bool {
	files := map[string]bool{}
	for _, r := range reports {
		for _, f := range r.Findings {
			files[f.Path] = true
		}
	}
	return again || len(files) > shallowFiles || v.Passes[review.Architectural-1].Status == gates.Fail
}
