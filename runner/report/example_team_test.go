package report

import (
	"fmt"
	"testing"
	"time"

	"github.com/runplan/runplan/agents"
	"github.com/runplan/runplan/gates"
	"github.com/runplan/runplan/runner"
)

// team returns the events of a run with five workers and many incidents: an early start that succeeds and one that
// does not, a conflict, an escalation, a rate limit, a tournament without a clear winner, and a note about fewer
// workers.
func team(t *testing.T) []runner.Event {
	t.Helper()
	info := runner.Info{
		Plan: "docs/plans/service.md", Title: "Service", Slug: "service", Branch: "runplan/service/main",
		Base: "3f2c1a9e8d7b6a5f", BaseBranch: "main",
		Agent: "claude", Mode: "team", Workers: 5, Land: "branch", MaxAttempts: 3, LoopVersion: runner.LoopVersion, Score: 72,
		SpeedUp:   3,
		Speculate: true, Escalate: true, Resample: true, OnLimit: "wait",
		Models: map[string]string{"small": "haiku", "medium": "sonnet", "large": "opus"},
		Batches: []runner.BatchInfo{
			{Key: "b1", Number: "1", Title: "Storage", Class: "implementation", Tier: "medium", Label: "sonnet",
				ExpectMS: 20000},
			{Key: "b2", Number: "2", Title: "Handlers", Class: "implementation", Tier: "medium", Label: "sonnet",
				Needs: []string{"b1"}, Early: []string{"b1"}},
			{Key: "b3", Number: "3", Title: "Command line", Class: "wiring", Tier: "small", Label: "haiku"},
			{Key: "b4", Number: "4", Title: "Rate limiter", Class: "implementation", Tier: "medium", Label: "sonnet"},
			{Key: "b5", Number: "5", Title: "Metrics", Class: "implementation", Tier: "medium", Label: "sonnet"},
			{Key: "b6", Number: "6", Title: "Manual", Class: "docs", Tier: "small", Label: "haiku", Needs: []string{"b3"},
				Early: []string{"b3"}},
		},
	}
	edits := map[string]int64{
		"b1/1": 12000, "b2/1": 14000, "b2/2": 6000, "b3/1": 8500, "b3/2": 12000, "b4/1": 3000, "b5/1": 15000, "b5/2": 7000,
		"b6/1": 9000, "b6/2": 5000, "b6/3": 5000,
		"b4/2": 11000,
	}
	count, limited := 117, false
	return run(t, info, 1000, func(c runner.Command, e runner.Event) runner.Event {
		at := fmt.Sprintf("%s/%d", c.Batch, c.Attempt)
		red := func(reason string, r gates.Report) runner.Event {
			e.Outcome, e.Reason, e.Fingerprint, e.Reports = runner.OutcomeFailed, reason, at+reason,
				[]gates.Report{report("lint", gates.Pass), r}
			return e
		}
		switch c.Kind {
		case runner.Execute:
			e.DurationMS = edits[at]
			if c.Slot != nil {
				e.DurationMS += int64(c.Slot.Number) * 1500
			}
			if at == "b5/1" && !limited { // it meets a limit, and goes on later
				limited = true
				e.Outcome, e.Reason, e.DurationMS, e.Commit, e.Tree = runner.OutcomeLimited, "HTTP 429: too many requests", 3000,
					"", ""
				e.RetryAt, e.Usage = time.Date(2026, 5, 4, 10, 0, 8, 0, time.UTC), &agents.Usage{CostUSD: e.Usage.CostUSD}
			}
		case runner.Wait:
			e.DurationMS = 5000
		case runner.Sample:
			if c.Batch != "b4" {
				e.Outcome, e.Reason = runner.OutcomeRefused,
					"not sampled: sampling.on_retry is off for wiring; one more attempt instead, one tier up"
				break
			}
			e.Reason, e.AtOnce = "attempt 1 failed, and sampling.on_retry is on; Sampling B4: ~$0.09 for 3 candidates vs "+
				"$0.03 single", 3
			e.Slots = []runner.Slot{{Number: 1, Variant: "vanilla"}, {Number: 2, Variant: "minimal-change"},
				{Number: 3, Variant: "test-first", Digest: true}}
		case runner.Rebase:
			if at == "b5/1" {
				e.Outcome, e.Reason, e.Commit, e.Tree = runner.OutcomeConflict, "conflicts with candidates ahead of it in app.go", "",
					c.Tree
				e.Reports = []gates.Report{{Gate: "merge", Status: gates.Fail,
					Findings: []gates.Finding{{Rule: "conflict", Path: "app.go", Line: 12, Severity: gates.Error,
						Message: "both change this"}}}}
			}
		case runner.Gate:
			e.DurationMS = 5000
			if at == "b3/1" {
				return red("tests: 2 failed", tests(115, 2))
			}
			if at == "b4/1" || c.Slot != nil && c.Slot.Number == 1 {
				return red("tests: 1 failed", tests(117, 1))
			}
			if c.Slot == nil {
				count += 3
			}
			r := tests(count+3*bitOf(c.Slot != nil), 0)
			e.Tests = r.Tests
			e.Reports = []gates.Report{report("lint", gates.Pass), r,
				{Gate: "patterns", Status: gates.Skipped, Note: "install ast-grep for structural analysis"}}
			if c.Slot == nil && at == "b2/1" && len(c.On) > 0 { // together with what is ahead it is red, alone it is not
				return red("vet: 1 finding",
					gates.Report{Gate: "vet", Status: gates.Fail,
						Findings: []gates.Finding{{Path: "handlers.go", Line: 7, Severity: gates.Error,
							Message: "undefined: store.Open"}}})
			}
		case runner.Judge:
			score := func(n int, variant string, diff, points int) runner.CandScore {
				return runner.CandScore{Candidate: n, Variant: variant, Passed: true, Score: points, Terms: []runner.ScoreTerm{
					{Name: "tests", Value: 12, Points: 120}, {Name: "diff", Value: diff, Points: points - 1120},
					{Name: "lint", Points: 1000}, {Name: "lessons"},
				}}
			}
			e.Scores = []runner.CandScore{{Candidate: 1, Variant: "vanilla"}, score(2, "minimal-change", 51, 1312),
				score(3, "test-first", 53, 1305)}
			e.Outcome, e.Candidate = runner.OutcomeUndecided, 2
			e.Reason = "2 of 3 passed their gates; candidate 2 (minimal-change) scores 1312, candidate 3 (test-first) 1305"
			if c.ID != "b4/r2-c3/judge" {
				e.Scores = append(e.Scores, score(4, runner.SynthesisVariant, 41, 1358))
				e.Outcome, e.Candidate, e.Reason = runner.OutcomeOK, 4, "the synthesis passed its gates (score 1358), so it is used"
			}
		case runner.Merge:
			if c.Batch == "b1" {
				e.DurationMS = 100
			}
		}
		return e
	})
}

func bitOf(b bool) int {
	if b {
		return 1
	}
	return 0
}
