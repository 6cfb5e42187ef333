package report

import (
	"encoding/xml"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/runplan/runplan/gates"
	"github.com/runplan/runplan/internal/ui"
	"github.com/runplan/runplan/routing"
	"github.com/runplan/runplan/runner"
)

// draw returns a board as text, for golden files that do not depend on widths.
func draw(b ui.Board) string {
	var out strings.Builder
	fmt.Fprintf(&out, "%s  %s\n", b.Title, b.Subtitle)
	for _, r := range b.Rows {
		tone := string(r.Tone)
		if r.Still {
			tone += ", still"
		}
		fmt.Fprintf(&out, "%s %-13s %-14s %-11s", r.Number, r.Label, r.State, tone)
		for _, m := range r.Marks {
			fmt.Fprintf(&out, "  %s %s", ui.Style{}.Icon(m.Tone), m.Text)
		}
		fmt.Fprintf(&out, "  %s\n", r.Detail)
	}
	return out.String() + strings.Join(b.Footer, "\n") + "\n"
}

// The golden file shows the board of a team at moments that do not occur in a run with one worker.
func TestTeamBoard(t *testing.T) {
	var w Watch
	var out strings.Builder
	seen := map[string]bool{}
	for _, e := range team(t) {
		if err := w.Apply(e); err != nil {
			t.Fatal(err)
		}
		s := w.Standing()
		text := draw(Board(s, map[string]string{"b2": "writing handlers.go"}, s.Updated))
		for _, what := range []string{"parked", "on the candidate of", "queued", "red on top of", "sampling", "✓ c2 1 312",
			"c4", "done"} {
			if !seen[what] && (strings.Contains(text, what) || what == "done" && e.Kind == runner.RunFinished) {
				seen[what] = true
				fmt.Fprintf(&out, "--- after %s %s: %s\n%s\n", e.Kind, e.Command, what, text)
			}
		}
	}
	golden(t, "team-board.txt", out.String())
}

// All outputs at the end of a run show the same speed-up. The final review is work on no batch, so it is part of the
// time and not of the work.
func TestOutputsAgreeOnSpeedUp(t *testing.T) {
	events := team(t)
	end := len(events) - 1
	events = slices.Insert(slices.Clone(events), end, runner.Event{Kind: runner.Reviewed, Command: "run/r1/review",
		At: events[end].At, Outcome: runner.OutcomeOK, DurationMS: 600_000})
	s := fold(t, events)
	want := times(realSpeedUp(s))
	var d Decisions
	logged := ""
	for _, e := range events {
		for _, l := range d.Lines(e) {
			if l.Kind == routing.LogMode {
				logged = l.Text
			}
		}
	}
	if !strings.Contains(lines(events), "speed-up "+want) || !strings.Contains(decisionOf(s), "real "+want) ||
		!strings.Contains(totals(s), want) {
		t.Errorf("not all tell of %s: %s; %s", want, decisionOf(s), totals(s))
	}
	if told := routing.SpeedUpText(s.SpeedUp, realSpeedUp(s)); logged != told {
		t.Errorf("the log of decisions says %q, want %q", logged, told)
	}
	s.Status = runner.RunActive
	if realSpeedUp(s) != 0 || strings.Contains(decisionOf(s), "real") {
		t.Error("a run that is not done has a real speed-up")
	}
}

func TestEscalation(t *testing.T) {
	for want, b := range map[string]runner.BatchSummary{
		"haiku":                      {Routed: "haiku", Tier: "small"},
		"haiku → sonnet (escalated)": {Routed: "haiku", Tier: "medium"},
		"small → large (escalated)":  {Routed: "small", Tier: "large"},
		"qwen3:8b (medium)":          {Routed: "qwen3:8b", Tier: "medium"},
		"":                           {Tier: "medium"},
	} {
		if got := tierOf(b); got != want {
			t.Errorf("tier of %+v: %q, want %q", b, got, want)
		}
	}
}

// A return to a lower tier is not printed as an escalation.
func TestLowerTierIsNotEscalation(t *testing.T) {
	p := Printer{}
	p.Lines(runner.Event{Kind: runner.RunStarted,
		Job: &runner.Info{Batches: []runner.BatchInfo{{Key: "1", Number: "1", Title: "One", Tier: "medium",
			Label: "sonnet"}}}})
	for n, step := range []struct{ tier, want string }{
		{"medium", "attempt 1"}, {"large", "attempt 2, escalated sonnet → opus"},
		{"medium", "attempt 3, back from opus to sonnet"},
		{"small", "attempt 4, back from sonnet to haiku"}, {"large", "attempt 5, escalated haiku → opus"},
		{"small", "attempt 6, back from opus to haiku"},
	} {
		command := fmt.Sprintf("1/r%d-c0/execute", n+1)
		got := p.Lines(runner.Event{Kind: runner.Dispatched, Command: command, Batch: "1", Title: "One", Attempt: n + 1,
			Tier: step.tier})
		if len(got) != 1 || got[0].Text != "batch 1 (One): "+step.want {
			t.Errorf("got %+v, want %q", got, step.want)
		}
	}
}

func TestSkippedBatchesShareLine(t *testing.T) {
	var batches []runner.BatchInfo
	for n, skip := range []string{"", "outside --from/--to", "(dry)", "outside --from/--to", "outside --from/--to"} {
		number := fmt.Sprint(n + 1)
		batches = append(batches, runner.BatchInfo{Key: number, Number: number, Title: "One", Skip: skip})
	}
	var got []string
	for _, l := range new(Printer).Lines(runner.Event{Kind: runner.RunStarted, Job: &runner.Info{Batches: batches}})[1:] {
		got = append(got, l.Text)
	}
	want := []string{"batches 2, 4 and 5: skipped, outside --from/--to", "batch 3 (One): skipped (dry)"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// Failures of the base are in the reports of every batch, but are printed once.
func TestBaseFailuresArePrintedOnce(t *testing.T) {
	finding := func(message string, known bool) gates.Finding {
		return gates.Finding{Rule: "test", Severity: gates.Warning, Message: message, Known: known}
	}
	var p Printer
	gated := func(findings ...gates.Finding) []string {
		var out []string
		for _, l := range p.Lines(runner.Event{Kind: runner.Gated, Batch: "1", Attempt: 1, Outcome: runner.OutcomeOK,
			Reports: []gates.Report{{Gate: "tests", Status: gates.Warn, Findings: findings}}})[1:] {
			out = append(out, strings.TrimPrefix(l.Text, "batch 1: tests: "))
		}
		return out
	}
	if got := gated(finding("TestOld", true)); !slices.Equal(got, []string{"TestOld"}) {
		t.Errorf("first: %q", got)
	}
	got := gated(finding("TestOld", true), finding("TestOther", true), finding("flaky", false))
	if !slices.Equal(got, []string{"TestOther", "flaky"}) {
		t.Errorf("second: %q", got)
	}
}

// The attempt's line has the reason of one gate, so each other failing gate gets a line with its first error.
func TestEachFailingGateHasItsLine(t *testing.T) {
	failed := func(gate string, findings ...gates.Finding) gates.Report {
		return gates.Report{Gate: gate, Status: gates.Fail, Findings: findings}
	}
	var p Printer
	var got []string
	for _, l := range p.Lines(runner.Event{Kind: runner.Gated, Batch: "1", Attempt: 1, Outcome: runner.OutcomeFailed,
		Reason: "secrets failed: a.go:8 a\nsecret", Reports: []gates.Report{
			failed("secrets", gates.Finding{Severity: gates.Error, Message: "a\nsecret", Path: "a.go", Line: 8}),
			failed("lessons", gates.Finding{Severity: gates.Warning, Message: "perhaps"},
				gates.Finding{Severity: gates.Error, Message: "shadowed", Path: "b.go", Line: 3, Col: 2}),
			failed("mine"),
		}})[1:] {
		got = append(got, strings.TrimPrefix(l.Text, "batch 1: "))
	}
	if want := []string{"lessons: b.go:3:2 shadowed", "failed attempt 1: secrets failed: a.go:8 a secret"}; !slices.Equal(
		got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// The last line of a failed agent's output is printed, because the exit status alone does not say what to do.
func TestLastAgentLineIsPrinted(t *testing.T) {
	failed := func(kind runner.EventKind, gate, reason, output string) runner.Event {
		return runner.Event{Kind: kind, Outcome: runner.OutcomeFailed, Attempt: 1, Reason: reason,
			Reports: []gates.Report{{Gate: gate, Status: gates.Fail, Output: output}}}
	}
	for _, c := range []struct {
		event runner.Event
		want  string
	}{
		{failed(runner.Executed, "agent", "exited with status 1", "looking\nnot signed in\n\n"),
			"exited with status 1; its last output: not signed in"},
		{failed(runner.Executed, "agent", "exited with status 1", ""), "exited with status 1"},
		{failed(runner.Executed, "agent", "exited with status 1: not signed in", "not signed in\n"),
			"exited with status 1: not signed in"},
		{failed(runner.Executed, "agent", "stuck", "\x1b[31m"+strings.Repeat("x", 500)), "stuck; its last output: " +
			strings.Repeat("x", maxLastWords-1) + "…"},
		{failed(runner.Gated, "mine", "mine failed", "FAIL\n"), "mine failed"},
	} {
		if got := firstReason(c.event); got != c.want {
			t.Errorf("got %q, want %q", got, c.want)
		}
		if got := new(Printer).wentWrong(c.event); got != "failed attempt 1: "+c.want {
			t.Errorf("got %q, want %q", got, c.want)
		}
	}
}

func TestTestsAdded(t *testing.T) {
	n := func(i int) *int { return &i }
	for want, b := range map[string]runner.BatchSummary{
		"3 tests added":           {TestsBefore: n(4), TestsAfter: n(7)},
		"no tests added":          {TestsBefore: n(4), TestsAfter: n(4)},
		"1 test fewer":            {TestsBefore: n(4), TestsAfter: n(3)},
		"7 tests, before unknown": {TestsAfter: n(7)},
		"tests not counted":       {TestsBefore: n(4)},
	} {
		if got := testsAdded(b); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestScoreText(t *testing.T) {
	for want, terms := range map[string][]runner.ScoreTerm{
		"1 312 points = tests 120 + diff 1 192": {{Name: "tests", Points: 120}, {Name: "diff", Points: 1192},
			{Name: "lint"}},
		"1 312 points = diff 1 512 - lessons 200": {{Name: "diff", Points: 1512}, {Name: "lessons", Value: 1, Points: -200}},
		"1 312 points": nil,
	} {
		if got := scoreText(1312, terms); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	for want, n := range map[string]int{"0": 0, "999": 999, "1 000": 1000, "-1 234 567": -1234567} {
		if got := points(n); got != want {
			t.Errorf("points(%d) = %q, want %q", n, got, want)
		}
	}
}

// The line about the gates omits skipped gates. The end of the run lists them, with each reason once.
func TestSkippedGatesAreListedOnce(t *testing.T) {
	skip := func(note string) gates.Report {
		return gates.Report{Gate: "patterns", Status: gates.Skipped, Note: note}
	}
	if got := gateLine([]gates.Report{{Gate: "lint", Status: gates.Pass, Command: "lint"}, skip("install it")},
		nil); got != "lint pass" {
		t.Errorf("the line of the gates is %q", got)
	}
	var s runner.Summary
	for _, note := range []string{"install it", "install it", "it is off"} {
		s.Batches = append(s.Batches,
			runner.BatchSummary{Gates: []runner.GateResult{{Gate: "patterns", Status: gates.Skipped, Note: note}}})
	}
	if diff := cmp.Diff([]string{"patterns (install it)", "patterns (it is off)"}, skippedGates(s)); diff != "" {
		t.Error(diff)
	}
}

// With two suites the number of tests before is their sum, so that no suite is shown as having lost tests.
func TestCountOfOneSuiteIsNotComparedWithSum(t *testing.T) {
	suite := func(name string, passed int) gates.Report {
		return gates.Report{Gate: name, Status: gates.Pass, Command: "test", Tests: &gates.TestCount{Passed: passed}}
	}
	before := 12
	if got := gateLine([]gates.Report{suite("tests:go", 13)}, &before); got != "tests:go pass 13 (+1)" {
		t.Errorf("one suite: %q", got)
	}
	if got := gateLine([]gates.Report{suite("tests:go", 10), suite("tests:js", 3)}, &before); got !=
		"tests:go pass 10 · tests:js pass 3" {
		t.Errorf("two suites: %q", got)
	}
}

// A quiet skip is shown nowhere, and does not count as one of many gates.
func TestQuietSkipsAreNotShown(t *testing.T) {
	var list []runner.GateResult
	for i := range fewGates {
		list = append(list, runner.GateResult{Gate: fmt.Sprint("gate", i), Status: gates.Pass})
	}
	list = append(list, runner.GateResult{Gate: "mutants", Status: gates.Skipped, Note: "the suite is quick", Quiet: true})
	if got := skippedGates(runner.Summary{Batches: []runner.BatchSummary{{Gates: list}}}); len(got) > 0 {
		t.Errorf("listed as skipped: %q", got)
	}
	if apart, passed := telling(list); len(apart) != fewGates || len(passed) > 0 {
		t.Errorf("%d gates are shown one by one, and %d together", len(apart), len(passed))
	}
}

// The same note is printed once.
func TestPrinterPrintsNoteOnce(t *testing.T) {
	var p Printer
	p.Lines(runner.Event{Kind: runner.Note, Reason: "x"})
	if n := len(p.Lines(runner.Event{Kind: runner.Note, Reason: "x"})); n != 0 {
		t.Error("the note is printed twice")
	}
}

// A plain retry is an attempt after a failure of the batch itself. Failures caused by others, sampled candidates and
// interrupted attempts do not count.
func TestMetrics(t *testing.T) {
	events := team(t)
	var m Metrics
	m.Add(fold(t, events), events)
	if m.Retries != 1 || m.Successes != 1 { // batch 3; batch 4 was sampled, batch 5 met a conflict
		t.Errorf("%d of %d retries succeeded", m.Successes, m.Retries)
	}
	if m.Merged != 6 || m.GivenUp != 0 || m.Escalated != 2 || m.Saved != 2 {
		t.Errorf("%+v", m)
	}
	if len(m.SpeedUps) != 1 || m.SpeedUps[0].Off == nil {
		t.Fatalf("speed-ups: %+v", m.SpeedUps)
	}
	failed, events := example(t)
	m.Add(failed, events)
	if m.Retries != 3 || m.Successes != 2 || m.GivenUp != 1 || len(m.SpeedUps) != 1 {
		t.Errorf("%+v", m)
	}
	golden(t, "metrics.txt", strings.Join(m.Lines(), "\n")+"\n")
	if text := strings.Join(Metrics{}.Lines(), "\n"); strings.Count(text, noData) != 7 || strings.Contains(text, ": 0 b") {
		t.Errorf("empty metrics are printed as\n%s", text)
	}
}

// An attempt after the winner of a tournament failed to land is a plain retry, also without another tournament.
func TestMetricsCountRetryAfterTournament(t *testing.T) {
	events := []runner.Event{
		{Kind: runner.Sampled, Outcome: runner.OutcomeOK, Slots: []runner.Slot{{Number: 1}, {Number: 2}, {Number: 3}}},
		{Kind: runner.Dispatched, Command: "a/r1-c1/execute"},
		{Kind: runner.Executed, Command: "a/r1-c1/execute", Outcome: runner.OutcomeOK, Candidate: 1},
		{Kind: runner.Gated, Command: "a/r1-c1/gate", Outcome: runner.OutcomeOK, Candidate: 1},
		{Kind: runner.Judged, Command: "a/r1-c3/judge", Outcome: runner.OutcomeOK, Candidate: 1},
		{Kind: runner.Committed, Command: "a/r1-c4/commit", Outcome: runner.OutcomeFailed, Reason: "a hook refused"},
		{Kind: runner.Dispatched, Command: "a/r2-c0/execute", Attempt: 2},
		{Kind: runner.Executed, Command: "a/r2-c0/execute", Attempt: 2, Outcome: runner.OutcomeOK},
		{Kind: runner.Merged, Command: "a/r2-c3/merge", Attempt: 2, Outcome: runner.OutcomeOK},
	}
	for i := range events {
		events[i].Batch, events[i].Attempt = "a", max(1, events[i].Attempt)
	}
	var m Metrics
	m.Add(runner.Summary{}, events)
	if m.Retries != 1 || m.Successes != 1 {
		t.Errorf("%d of %d retries succeeded, want 1 of 1", m.Successes, m.Retries)
	}
}

// The metrics compare attempts with and without a context block. Attempts that did not succeed, and those of older
// journals without this information, do not count (MET-04).
func TestMetricsCompareContextBlocks(t *testing.T) {
	some, none := 900, 0
	done := func(ms int64, context *int) runner.Event {
		return runner.Event{Kind: runner.Executed, Outcome: runner.OutcomeOK, DurationMS: ms, Context: context}
	}
	failed := done(1, &some)
	failed.Outcome = runner.OutcomeTimedOut
	var m Metrics
	m.Add(runner.Summary{}, []runner.Event{done(9000, &some), failed, done(20000, &none), done(3000, &some), done(5, nil),
		done(4000, &some)})
	got := strings.Join(m.Lines(), "\n")
	for _, want := range []string{"\nattempts with a context block: 4s, the median of 3 attempts\n",
		"\nattempts without a context block: 20s, the median of 1 attempt"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is not in\n%s", want, got)
		}
	}
}

func TestSamplingLog(t *testing.T) {
	var b strings.Builder
	for _, l := range SamplingLog(team(t)) {
		fmt.Fprintf(&b, "%-5s %s\n", l.Tone, l.Text)
	}
	golden(t, "team-sampling.txt", b.String())
}

// A timeline can be computed from results alone, without the dispatched commands; pauses between sessions do not
// count.
func TestTimelineWorksWithoutCommands(t *testing.T) {
	var back []runner.Event
	for _, e := range team(t) {
		if e.Kind != runner.Dispatched {
			back = append(back, e)
		}
	}
	all, some := courseOf(team(t)), courseOf(back)
	if all.Total != some.Total {
		t.Errorf("%d and %d milliseconds", all.Total, some.Total)
	}
	at := time.Date(2026, 5, 4, 10, 0, 0, 0, time.UTC)
	c := courseOf([]runner.Event{
		{Kind: runner.RunStarted, At: at},
		{Kind: runner.Dispatched, At: at, Batch: "b", Command: "b/r1-c0/execute"},
		{Kind: runner.Note, At: at.Add(2 * time.Second)},
		{Kind: runner.RunResumed, At: at.Add(9 * time.Hour)},
		{Kind: runner.Dispatched, At: at.Add(9 * time.Hour), Batch: "b", Command: "b/r1-c0/execute"},
		{Kind: runner.Executed, At: at.Add(9*time.Hour + 3*time.Second), Batch: "b", Command: "b/r1-c0/execute",
			Outcome: runner.OutcomeOK},
	})
	got := []string{}
	for _, s := range c.Spans {
		got = append(got, fmt.Sprintf("%s %d-%d %s", s.Kind, s.From, s.To, s.End))
	}
	if d := cmp.Diff([]string{"edit 0-2000 cut short", "edit 2000-5000 ended"}, got); d != "" {
		t.Error(d)
	}
}

// The timeline shows hostile titles and reasons as plain text.
func TestTimelineEscapesHostileText(t *testing.T) {
	events := team(t)
	s := fold(t, events)
	for i := range s.Batches {
		s.Batches[i].Title, s.Batches[i].Number = nasty, nasty
	}
	for i := range events {
		events[i].Reason, events[i].Variant = nasty, nasty
	}
	text := Timeline(s, pastOf(events))
	wellFormed(t, text)
	inert(t, text)
	for i := range s.Batches {
		s.Batches[i].Title, s.Batches[i].Number = "```", "```"
	}
	if report := Markdown(s, pastOf(events)); !strings.Contains(report, "\n````text\n``` ```") {
		t.Error("a title may end the block of the timeline")
	}
	if err := xml.Unmarshal([]byte(text), new(struct{})); err != nil {
		t.Error(err)
	}
	page, err := pageOf(s, events)
	if err != nil {
		t.Fatal(err)
	}
	inert(t, page)
}

// A queued batch shows the candidates it is based on, and what it waits for.
func TestStandingShowsWhyBatchWaits(t *testing.T) {
	gate := runner.Event{Kind: runner.Dispatched, Batch: "b", Command: "b/r1-c0/gate", On: []string{"x", "y"}}
	at := time.Date(2026, 5, 4, 14, 5, 0, 0, time.UTC)
	for want, c := range map[string]struct {
		state  runner.State
		events []runner.Event
	}{
		"checking, on 3, 4": {runner.StateGate, []runner.Event{gate}},
		"rebasing, ": {runner.StateGate,
			[]runner.Event{{Kind: runner.Dispatched, Batch: "b", Command: "b/r1-c0/rebase"}}},
		"queued, waits to be checked": {runner.StateGate,
			[]runner.Event{{Kind: runner.Executed, Batch: "b", Command: "b/r1-c0/execute", Outcome: runner.OutcomeOK}}},
		"queued, checked, waits to be merged": {runner.StatePublish,
			[]runner.Event{gate, {Kind: runner.Gated, Batch: "b", Command: gate.Command, Outcome: runner.OutcomeOK}}},
		"queued, red on top of 3, 4, waits for its result": {runner.StateGate,
			[]runner.Event{gate, {Kind: runner.Gated, Batch: "b", Command: gate.Command, Outcome: runner.OutcomeFailed}}},
		"parked, until 14:05 UTC (rate limit): 429": {runner.StateEdit,
			[]runner.Event{{Kind: runner.Executed, Batch: "b", Outcome: runner.OutcomeLimited, RetryAt: at}}},
		"parked, outage: 429": {runner.StateEdit,
			[]runner.Event{{Kind: runner.Executed, Batch: "b", Outcome: runner.OutcomeLimited, Outage: true}}},
		"parked, waits for a person: 429": {runner.StateEdit,
			[]runner.Event{{Kind: runner.Executed, Batch: "b", Outcome: runner.OutcomeHuman}}},
		"editing, on the candidate of 3": {runner.StateEdit,
			[]runner.Event{{Kind: runner.Dispatched, Batch: "b", Command: "b/r1-c0/execute", On: []string{"x", "done"}}}},
	} {
		var w Watch
		for _, e := range c.events {
			_ = w.Apply(e)
		}
		b := runner.BatchSummary{Key: "b", Number: "5", State: string(c.state), Reason: "429"}
		s := w.Standing()
		s.Summary = runner.Summary{Status: runner.RunActive, Batches: []runner.BatchSummary{
			b, {Key: "x", Number: "3", State: "gate"}, {Key: "y", Number: "4", State: "gate"},
			{Key: "done", Number: "1", State: string(runner.Passed)},
		}}
		f, _ := s.face(b)
		if got := f.Word + ", " + s.now(b); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// With StopAtFirst, the first candidate that passes ends the tournament, and the others are cancelled.
func TestStopAtFirstCancelsOtherCandidates(t *testing.T) {
	info := runner.Info{
		Plan: "p.md", Mode: "team", Workers: 3, MaxAttempts: 1, LoopVersion: runner.LoopVersion, Base: "3f2c1a9",
		StopAtFirst: true, Agent: "claude",
		Batches: []runner.BatchInfo{{Key: "b1", Number: "1", Title: "One", Sample: 3}},
	}
	text := lines(run(t, info, 100, func(c runner.Command, e runner.Event) runner.Event {
		switch {
		case c.Kind == runner.Sample:
			e.AtOnce, e.Reason = 3, "--sample asks for 3 candidates"
			e.Slots = []runner.Slot{{Number: 1, Variant: "vanilla"}, {Number: 2, Variant: "minimal-change"},
				{Number: 3, Variant: "test-first"}}
		case c.Kind == runner.Execute && c.Slot.Number != 2:
			e.DurationMS = 60_000
		case c.Kind == runner.Judge:
			e.Candidate, e.Reason = 2, "it passed first"
			e.Scores = []runner.CandScore{{Candidate: 2, Variant: "minimal-change", Passed: true, Score: 7},
				{Candidate: 3, Variant: "test-first", Void: "it was cancelled: another candidate had passed"}}
		}
		return e
	}))
	for _, want := range []string{
		"muted batch 1 (One): candidate 1 is cancelled: another candidate has passed\n",
		"muted batch 1 (One): candidate 3 is cancelled", "good  batch 1 (One): candidate 2 wins: it passed first\n",
		"muted batch 1 (One): candidate 3 (test-first) has no verdict: ",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not told:\n%s", want, text)
		}
	}
	if strings.Contains(text, "put back") {
		t.Errorf("a batch whose candidates are cancelled is not put back:\n%s", text)
	}
}
