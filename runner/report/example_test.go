package report

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/runplan/runplan/agents"
	"github.com/runplan/runplan/gates"
	"github.com/runplan/runplan/runner"
)

// play runs a job on the machine, with answer as its driver, and collects the events as the driver would write them.
// Its clock is simulated: commands run in parallel, and each ends when its duration is over.
type play struct {
	machine *runner.Machine
	events  []runner.Event
	now     time.Time
	told    map[string]runner.Status
	jobs    []job
	answer  func(runner.Command, runner.Event) runner.Event
}

// job is a command that is in progress.
type job struct {
	cmd    runner.Command
	report runner.Event
	until  time.Time
}

func (p *play) add(e runner.Event) {
	e.Seq, e.At, e.Run = len(p.events)+1, p.now, "01kq2v7"
	p.events = append(p.events, e)
}

// record adds a fact and its consequences, as the driver does: cancelled commands, batches that started or ended, and
// new commands.
func (p *play) record(e runner.Event) {
	cmds := p.machine.Start()
	p.add(e)
	cmds = append(cmds, p.machine.Apply(p.events[len(p.events)-1])...)
	for _, l := range p.machine.Lost() {
		p.add(l)
	}
	pending := map[string]bool{}
	for _, c := range p.machine.Pending() {
		pending[c.ID] = !slices.ContainsFunc(cmds, func(next runner.Command) bool { return next.ID == c.ID })
	}
	p.jobs = slices.DeleteFunc(p.jobs, func(j job) bool {
		if !pending[j.cmd.ID] {
			p.add(runner.Event{Kind: runner.Withdrawn, Command: j.cmd.ID, Batch: j.cmd.Batch, Attempt: j.cmd.Attempt,
				On: j.cmd.On, Reason: "cancelled: its base no longer exists"})
		}
		return !pending[j.cmd.ID]
	})
	for _, v := range p.machine.Batches() {
		kind, ok := map[runner.Status]runner.EventKind{
			runner.Working: runner.BatchStarted, runner.Passed: runner.BatchPassed, runner.Failed: runner.BatchFailed,
		}[v.Status]
		if ok && p.told[v.Key] != v.Status {
			p.add(runner.Event{Kind: kind, Batch: v.Key, Title: v.Title, Attempt: v.Attempt, Commit: v.Commit, Reason: v.Reason})
		}
		p.told[v.Key] = v.Status
	}
	for _, c := range cmds {
		p.add(runner.Event{Kind: runner.Dispatched, Command: c.ID, Batch: c.Batch, Attempt: c.Attempt, Base: c.Base, On: c.On,
			Tier: c.Tier, Model: c.Model})
		report := p.answer(c, good(c))
		p.jobs = append(p.jobs, job{c, report, p.now.Add(time.Duration(report.DurationMS) * time.Millisecond)})
	}
}

// run plays a job until the machine is done or steps commands are answered, and returns the events.
func run(t *testing.T, info runner.Info, steps int,
	answer func(runner.Command, runner.Event) runner.Event) []runner.Event {
	t.Helper()
	m, err := runner.New(info)
	if err != nil {
		t.Fatal(err)
	}
	p := &play{machine: m, now: time.Date(2026, 5, 4, 10, 0, 0, 0, time.UTC), told: map[string]runner.Status{},
		answer: answer}
	p.record(runner.Event{Kind: runner.RunStarted, Job: &info})
	for ; len(p.jobs) > 0 && steps > 0; steps-- {
		first := 0
		for i, j := range p.jobs {
			if j.until.Before(p.jobs[first].until) {
				first = i
			}
		}
		j := p.jobs[first]
		p.jobs = slices.Delete(p.jobs, first, first+1)
		p.now = j.until
		if j.report.Kind == "" {
			t.Fatalf("nobody answers %s", j.cmd.ID)
		}
		p.record(j.report)
	}
	if res, done := m.Done(); done {
		e := runner.Event{Kind: runner.RunFinished, Outcome: runner.OutcomeOK, Commit: res.Tip, Reason: res.Reason}
		if res.Status == runner.RunFailed {
			e.Outcome = runner.OutcomeFailed
		}
		if res.Stop != nil {
			e.Outcome, e.Reason = res.Stop.Outcome, res.Stop.Reason
		}
		p.record(e)
	}
	return p.events
}

// good returns the report of a successful command.
func good(c runner.Command) runner.Event {
	e := runner.Event{Command: c.ID, Batch: c.Batch, Attempt: c.Attempt, Outcome: runner.OutcomeOK, Base: c.Base}
	if c.Slot != nil {
		e.Candidate, e.Variant = c.Slot.Number, c.Slot.Variant
	}
	hash := fmt.Sprintf("%x%s0123456789abcdef", len(c.Batch), strings.Repeat("c", 2))
	switch c.Kind {
	case runner.Execute:
		cost := 0.031
		e.Kind, e.Commit, e.Tree, e.Agent, e.Model, e.DurationMS = runner.Executed, "cand"+c.ID, "tree"+c.ID, "claude",
			"sonnet", 8100
		e.Usage, e.Files, e.Tier = &agents.Usage{CostUSD: &cost}, 2, c.Tier
		if c.Model != "" {
			e.Model = c.Model
		}
	case runner.Sample:
		e.Kind = runner.Sampled
	case runner.Judge:
		e.Kind, e.DurationMS = runner.Judged, 40
	case runner.Rebase:
		e.Kind, e.Commit, e.Tree, e.DurationMS = runner.Rebased, "moved"+c.ID, "moved tree"+c.ID, 40
	case runner.Gate:
		e.Kind, e.Tree, e.DurationMS = runner.Gated, c.Tree, 2400
	case runner.Commit:
		e.Kind, e.Tree, e.Commit, e.DurationMS = runner.Committed, c.Tree, strings.TrimPrefix(c.Batch, "b")+hash, 300
	case runner.Merge:
		e.Kind, e.Tree, e.Commit, e.Receipt = runner.Merged, c.Tree, c.Commit, ".runplan/receipts/01kq2v7/"+c.Batch+".json"
	case runner.Wait:
		e.Kind = runner.Waited
	case runner.LandRun:
		e.Kind = runner.Landed
	}
	return e
}

func report(gate string, s gates.Status) gates.Report { return gates.Report{Gate: gate, Status: s} }

func tests(passed, failed int) gates.Report {
	r := gates.Report{Gate: "tests", Status: gates.Pass, Tests: &gates.TestCount{Passed: passed, Failed: failed},
		Command: "go test ./..."}
	if failed > 0 {
		r.Status = gates.Fail
	}
	return r
}

// nasty is a title with markup, quotes and control characters that could break a report.
const nasty = "Report <script>alert(1)</script> \"quoted\" & 'so' \x1b[31m\x07\u202e]]> 漢字 | `x` #1;"

// example returns a run that contains one case of each kind.
func example(t *testing.T) (runner.Summary, []runner.Event) {
	t.Helper()
	info := runner.Info{
		Plan: "docs/plans/expressions.md", Title: "Expression language", Slug: "expressions",
		Branch: "runplan/expressions/main", Base: "3f2c1a9e8d7b6a5f", BaseBranch: "main",
		Agent: "claude", Model: "sonnet", Mode: "team", Workers: 2, Score: 64, SpeedUp: 1.6, Land: "branch", MaxAttempts: 2,
		LoopVersion: runner.LoopVersion,
		Batches: []runner.BatchInfo{
			{Key: "b1", Number: "1", Title: "Skeleton and module"},
			{Key: "b2", Number: "2", Title: "Lexer", Needs: []string{"b1"}},
			{Key: "b3", Number: "3", Title: "Notes", Skip: "(empty batch -- skipping)"},
			{Key: "b4", Number: "4", Title: "Parser with precedence climbing and error recovery", Needs: []string{"b2", "b1"}},
			{Key: "b5", Number: "5", Title: "字句解析器の印刷", Needs: []string{"b2"}},
			{Key: "b6", Number: "6", Title: nasty, Needs: []string{"b4"}},
			{Key: "b7", Number: "7", Title: "Evaluator", Needs: []string{"b4", "b5"}},
			{Key: "b8", Number: "8", Title: "Command line", Needs: []string{"b6", "b7"}},
		},
	}
	count := 4
	events := run(t, info, 1000, func(c runner.Command, e runner.Event) runner.Event {
		switch {
		case c.Kind == runner.Gate && c.Batch == "b2" && c.Attempt == 1:
			e.Outcome, e.Reason, e.Fingerprint = runner.OutcomeFailed, "tests: 2 failed", "f1"
			r := tests(5, 2)
			r.Findings = []gates.Finding{
				{Rule: "TestNumbers", Path: "lexer_test.go", Line: 14, Severity: gates.Error, Message: "want 3 got 4"},
				{Rule: "TestStrings", Path: "lexer_test.go", Line: 41, Severity: gates.Error,
					Message: `want "a" got </pre><script>alert(2)</script>`},
			}
			r.Output = "--- FAIL: TestNumbers (0.00s)\n    lexer_test.go:14: want 3 got 4\n--- FAIL: TestStrings " +
				"(0.00s)\n\x1b[31m    lexer_test.go:41: want \"a\" got </pre><script>alert(2)</script>\n```\nFAIL"
			r.Log = "logs/01kq2v7/b2-1/tests.log"
			e.Reports = []gates.Report{report("lint", gates.Pass), r,
				{Gate: "format", Status: gates.Skipped, Note: "no formatter"}}
		case c.Kind == runner.Execute && c.Batch == "b7":
			e.Outcome, e.Reason, e.DurationMS, e.Fingerprint = runner.OutcomeTimedOut,
				"the agent ran for 20m0s, which is its limit", 1_200_000, fmt.Sprint(c.Attempt)
			e.Log, e.Usage = "logs/01kq2v7/b7.log", nil
		case c.Kind == runner.Commit && c.Batch == "b5" && c.ID == "b5/r1-c0/commit":
			e.Outcome, e.Tree = runner.OutcomeChanged, "tree that the hook left"
		case c.Kind == runner.Gate:
			count += 3
			r := tests(count, 0)
			e.Tests = r.Tests
			e.Reports = []gates.Report{report("lint", gates.Pass), r,
				{Gate: "format", Status: gates.Skipped, Note: "no formatter"}}
			if c.Batch == "b4" {
				e.Reports = append(e.Reports,
					gates.Report{Gate: "lessons", Status: gates.Warn,
						Findings: []gates.Finding{{Rule: "0007", Path: "parser.go", Line: 3, Severity: gates.Warning,
							Message: "panics on user input"}}})
			}
		}
		return e
	})
	return fold(t, events), events
}

func fold(t *testing.T, events []runner.Event) runner.Summary {
	t.Helper()
	var f runner.Fold
	for _, e := range events {
		if err := f.Apply(e); err != nil {
			t.Fatal(err)
		}
	}
	return f.Summary()
}

// chain returns a run of n batches in sequence; the first done are merged, and the next one is running.
func chain(t *testing.T, n, done int, needs func(i int) []int) runner.Summary {
	t.Helper()
	info := runner.Info{
		Plan: "chain.md", Title: fmt.Sprintf("%d batches", n), Slug: "chain", Branch: "runplan/chain/main", Base: "3f2c1a9",
		Agent: "script", Mode: "headless",
		Workers: 1, Land: "branch", MaxAttempts: 1, LoopVersion: runner.LoopVersion,
	}
	for i := range n {
		b := runner.BatchInfo{Key: fmt.Sprintf("b%d", i), Number: fmt.Sprint(i + 1),
			Title: []string{"Skeleton", "Lexer", "A parser that recovers from errors", "Docs"}[i%4]}
		for _, j := range needs(i) {
			b.Needs = append(b.Needs, fmt.Sprintf("b%d", j))
		}
		info.Batches = append(info.Batches, b)
	}
	events := run(t, info, 4*done+1, func(_ runner.Command, e runner.Event) runner.Event { return e })
	return fold(t, events)
}

func before(i int) []int {
	if i == 0 {
		return nil
	}
	return []int{i - 1}
}
