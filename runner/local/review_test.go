package local

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/runplan/runplan/gates"
	"github.com/runplan/runplan/gates/review"
	"github.com/runplan/runplan/runner"
)

// passes returns a review of seven passes; the passes in failed have findings in the given number of files.
func passes(v review.Verdict, failed map[int]int, again bool) review.Review {
	out := review.Review{Verdict: v, Reasons: []string{"because"}}
	for n := 1; n <= 7; n++ {
		p := review.Pass{Number: n, Name: fmt.Sprint("p", n),
			Report: gates.Report{Gate: fmt.Sprint("review:p", n), Status: gates.Pass}}
		for i := range failed[n] {
			p.Status = gates.Fail
			f := review.Finding{ID: fmt.Sprint(n, i), New: !again, State: review.Open,
				Finding: gates.Finding{Rule: "r", Path: fmt.Sprint("f", i), Line: 1, Severity: gates.Error, Message: "wrong"}}
			p.Findings = append(p.Findings, f,
				review.Finding{ID: "w", Finding: gates.Finding{Severity: gates.Warning, Message: "only a remark"}})
		}
		out.Passes = append(out.Passes, p)
	}
	return out
}

// The verdict of a review decides the next step of a candidate (REV-11).
func TestReviewVerdictDecidesOutcome(t *testing.T) {
	b := newBench(t)
	for name, c := range map[string]struct {
		v    review.Review
		want runner.Outcome
	}{
		"nothing to say": {passes(review.OK, nil, false), runner.OutcomeOK},
		"one thing in one file": {passes(review.RequestChanges, map[int]int{6: 1}, false),
			runner.OutcomeShallow},
		"what programs found": {passes(review.Block, map[int]int{4: 1}, false), runner.OutcomeShallow},
		"it does not fit": {passes(review.RequestChanges, map[int]int{3: 1}, false),
			runner.OutcomeComplex},
		"many files": {passes(review.RequestChanges, map[int]int{6: 4}, false),
			runner.OutcomeComplex},
		"it was asked before": {passes(review.RequestChanges, map[int]int{6: 1}, true),
			runner.OutcomeComplex},
		"not sure enough and nothing to correct": {passes(review.Block, nil, false), runner.OutcomeUndecided},
	} {
		e, err := b.verdict(runner.Event{}, c.v)
		if err != nil || e.Outcome != c.want {
			t.Errorf("%s: %s, %v, want %s", name, e.Outcome, err, c.want)
		}
		for _, r := range e.Reports {
			for _, f := range r.Findings {
				if f.Severity != gates.Error {
					t.Errorf("%s: an agent must correct a finding that is only a remark: %+v", name, f)
				}
			}
		}
		if again, _ := b.verdict(runner.Event{}, c.v); again.Fingerprint != e.Fingerprint {
			t.Errorf("%s: the same review has two fingerprints", name)
		}
	}
	blind := passes(review.NoVerdict, nil, false)
	blind.Passes[5].Status, blind.Passes[5].Note = gates.Errored, "the answer is no JSON"
	_, err := b.verdict(runner.Event{}, blind)
	if known := (*reviewError)(nil); !errors.As(err, &known) || !infrastructure(err) ||
		!strings.Contains(err.Error(), "p6: the answer is no JSON") {
		t.Errorf("a reviewer that cannot run must be an infrastructure error: %v", err)
	}
	// A finding of an earlier round that was not checked again must still be fixed.
	open := passes(review.RequestChanges, nil, false)
	open.Open = []review.Entry{{ID: "x", Rule: "r", Path: "f", Severity: gates.Error, Message: "still there"}}
	if e, err := b.verdict(runner.Event{}, open); err != nil || e.Outcome != runner.OutcomeComplex ||
		len(e.Reports) != 1 || e.Reports[0].Findings[0].Message != "still there" {
		t.Errorf("%+v, %v", e, err)
	}
}

// An unknown price makes the total cost unknown; a review without calls has no cost.
func TestReviewCost(t *testing.T) {
	b := newBench(t)
	v := passes(review.OK, nil, false)
	if u := b.spentOn(v.Passes...); u != nil {
		t.Errorf("no reviewer was called, and it cost %+v", u)
	}
	n := 100
	v.Passes[2].Calls = []review.Call{{Reviewer: "a", PromptTokens: &n, CompletionTokens: &n}}
	v.Passes[5].Calls = []review.Call{{Reviewer: "b", PromptTokens: &n}}
	if u := b.spentOn(v.Passes...); u == nil || u.CostUSD != nil || *u.InputTokens != 200 || *u.OutputTokens != 100 {
		t.Errorf("%+v", u)
	}
}
