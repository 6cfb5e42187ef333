package report

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/runplan/runplan/internal/ui"
	"github.com/runplan/runplan/runner"
)

// The output lines, the status table and both reports show the approvals and reviews of a run; text from persons and
// reviewers cannot inject control characters or markup.
func TestOutputShowsReviewsAndApprovals(t *testing.T) {
	at := time.Date(2026, 5, 4, 10, 0, 0, 0, time.UTC)
	job := runner.Info{
		Plan: "plan.md", Title: "P", Base: "b", LoopVersion: runner.LoopVersion, Workers: 1, MaxAttempts: 1, Review: "all",
		FinalReview: "all", Land: "ff", LandBar: 80,
		Batches: []runner.BatchInfo{{Key: "1", Number: "1", Title: "one", Approve: true}},
	}
	sure, low := 90, 40
	var p Printer
	var all []runner.Event
	var lines []string
	ask := runner.Event{Kind: runner.ApprovalAsked, Command: "1/r1-c0/ask", Batch: "1", Attempt: 1,
		Outcome: runner.OutcomeOK, Commit: "c", Tree: "t", Reason: "the plan asks"}
	given := runner.Event{Kind: runner.ApprovalGiven, Command: "1/r1-c0/ask", Batch: "1", Commit: "c", Tree: "t",
		By: "ada\x1b[31m", Reason: "<b>fine</b>"}
	var asking runner.Summary
	var shown Face
	var board ui.Board
	for i, e := range []runner.Event{
		{Kind: runner.RunStarted, Job: &job},
		{Kind: runner.Executed, Command: "1/r1-c0/execute", Batch: "1", Attempt: 1, Outcome: runner.OutcomeOK, Commit: "c",
			Tree: "t"},
		{Kind: runner.Gated, Command: "1/r1-c0/gate", Batch: "1", Attempt: 1, Outcome: runner.OutcomeOK, Tree: "t"},
		{Kind: runner.Reviewed, Command: "1/r1-c0/review", Batch: "1", Attempt: 1, Outcome: runner.OutcomeOK, Tree: "t",
			Review: &runner.ReviewInfo{Verdict: "pass", Confidence: &sure, Reviewers: []string{"judge"}}},
		ask, given,
		{Kind: runner.Committed, Command: "1/r1-c0/commit", Batch: "1", Attempt: 1, Outcome: runner.OutcomeOK, Commit: "k",
			Tree: "t"},
		{Kind: runner.Merged, Command: "1/r1-c0/merge", Batch: "1", Attempt: 1, Outcome: runner.OutcomeOK, Commit: "k",
			Tree: "t"},
		{Kind: runner.Reviewed, Command: "run/review", Outcome: runner.OutcomeOK,
			Review: &runner.ReviewInfo{Verdict: "block", Confidence: &low,
				Passes: []string{"1 static: pass", "3 architectural: skipped, <i>nobody</i>"}, Note: "too little"}},
		{Kind: runner.ApprovalAsked, Command: "run/ask", Outcome: runner.OutcomeOK, Commit: "k", Reason: "below the bar"},
	} {
		e.Seq, e.At, e.Run = i+1, at.Add(time.Duration(i)*time.Second), "1f0c2a7b-7a31"
		all = append(all, e)
		for _, l := range p.Lines(e) {
			lines = append(lines, l.Text)
		}
		if e.Kind == runner.ApprovalAsked && e.Batch != "" {
			asking = p.Standing().Summary
			shown = faceOf(asking, asking.Batches[0]) // the batches are the fold's own, and go on
			board = Board(p.Standing(), nil, e.At)
		}
	}
	told := strings.Join(lines, "\n")
	for _, want := range []string{
		"batch 1 (one): review pass, 90 % sure, by judge",
		"batch 1 (one): waits for a person, the plan asks: runplan approve 1f0c2a7b/1",
		"batch 1 (one): approved by ada", "final review block, 40 % sure, by programs only",
		"landing: waits for a person, below the bar: runplan approve 1f0c2a7b/land",
	} {
		if !strings.Contains(told, want) {
			t.Errorf("no line says %q:\n%s", want, told)
		}
	}
	if strings.Contains(told, "\x1b") {
		t.Error("a name with control codes was printed unchanged")
	}
	if shown.Word != "to approve" || len(asking.Waiting) != 1 || asking.Waiting[0].ID != "1f0c2a7b/1" {
		t.Errorf("%+v %+v", shown, asking.Waiting)
	}
	if r := board.Rows[0]; r.State != "to approve" || r.Detail != "the plan asks for a person's approval" {
		t.Errorf("the live view shows %+v", r)
	}
	if !slices.Contains(board.Footer, "waits for a person: runplan approve 1f0c2a7b/1") {
		t.Errorf("the live view does not say what to type: %q", board.Footer)
	}
	s := p.Standing().Summary
	md := Markdown(s, pastOf(all))
	page, err := pageOf(s, all)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"## Waiting for a person", "runplan approve 1f0c2a7b/land", "## Final review",
		"| 1 static | pass |", "block, 40 % sure, by programs only: too little"} {
		if !strings.Contains(md, want) {
			t.Errorf("report.md does not say %q:\n%s", want, md)
		}
	}
	for _, want := range []string{"<h2>Waiting for a person</h2>", "<h2>Final review</h2>",
		"<dt>1 static</dt><dd>pass</dd>"} {
		if !strings.Contains(page, want) {
			t.Errorf("report.html does not say %q", want)
		}
	}
	if strings.Contains(page, "<i>nobody</i>") {
		t.Error("the text of a reviewer is not escaped")
	}
}
