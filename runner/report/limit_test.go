package report

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/runplan/runplan/gates"
	"github.com/runplan/runplan/internal/ui"
	"github.com/runplan/runplan/runner"
	"github.com/runplan/runplan/runner/story"
)

// limited returns the events of a run in which a second agent takes over and also meets a limit, so the run waits for
// it.
func limited(t *testing.T) []runner.Event {
	t.Helper()
	at := func(minute int) time.Time { return time.Date(2026, 5, 4, 14, minute, 0, 0, time.UTC) }
	info := runner.Info{
		Plan: "p.md", Title: "P", Mode: "headless", Workers: 1, MaxAttempts: 1, LoopVersion: runner.LoopVersion,
		Base: "3f2c1a9", Agent: "claude", OnLimit: "wait",
		Agents:  []runner.AgentInfo{{Name: "claude"}, {Name: "codex", Models: map[string]string{"small": "mini"}}},
		Batches: []runner.BatchInfo{{Key: "a", Number: "1", Title: "One", Tier: "small"}},
	}
	events := []runner.Event{
		{Kind: runner.RunStarted, Job: &info, At: at(0)},
		{Kind: runner.BatchStarted, Batch: "a", Attempt: 1, At: at(0)},
		{Kind: runner.Dispatched, Command: "a/r1-c0/execute", Batch: "a", Attempt: 1, Tier: "small", Agent: "claude",
			At: at(0)},
		{Kind: runner.Executed, Command: "a/r1-c0/execute", Batch: "a", Attempt: 1, Agent: "claude",
			Outcome: runner.OutcomeLimited, Reason: "five hours", RetryAt: at(50), At: at(1)},
		{Kind: runner.Dispatched, Command: "a/r1-c1/execute", Batch: "a", Attempt: 1, Tier: "small", Agent: "codex",
			Model: "mini", Reason: "claude met a limit: five hours", At: at(1)},
		{Kind: runner.Executed, Command: "a/r1-c1/execute", Batch: "a", Attempt: 1, Agent: "codex", Model: "mini",
			Outcome: runner.OutcomeLimited, Reason: "429", RetryAt: at(5), At: at(2)},
		{Kind: runner.Dispatched, Command: "run/l2/wait", Agent: "codex", RetryAt: at(5), At: at(2)},
		{Kind: runner.Waited, Command: "run/l2/wait", Agent: "codex", Outcome: runner.OutcomeOK, At: at(5)},
		{Kind: runner.Dispatched, Command: "a/r1-c2/execute", Batch: "a", Attempt: 1, Tier: "small", Agent: "codex",
			Model: "mini", At: at(5)},
	}
	for i := range events {
		events[i].Seq, events[i].Run = i+1, "01kq2v7"
	}
	return events
}

// TestOutageIsNotRateLimit checks that an outage and a rate limit are printed with different words.
func TestOutageIsNotRateLimit(t *testing.T) {
	at := time.Date(2026, 5, 4, 14, 5, 0, 0, time.UTC)
	for want, e := range map[string]runner.Event{
		"parked (outage): no route":             {Outage: true, Reason: "no route"},
		"parked until 14:05 UTC (outage): busy": {Outage: true, Reason: "busy", RetryAt: at},
		"parked (rate limit): 429":              {Reason: "429"},
		"parked (rate limit)":                   {},
	} {
		e.Kind, e.Outcome, e.At = runner.Executed, runner.OutcomeLimited, at.Add(-time.Minute)
		if got := (&Printer{}).wentWrong(e); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// The output lines, the status and the board show which agent takes over, whether a run is paused, and until when.
func TestOutputShowsLimits(t *testing.T) {
	events := limited(t)
	text := lines(events)
	for _, want := range []string{
		"warn  batch 1 (One): parked until 14:50 UTC (rate limit): five hours\n",
		"busy  batch 1 (One): attempt 1 continues with codex: claude met a limit: five hours\n",
		"warn  paused until 2026-05-04 14:05:00 UTC: batch 1: claude: five hours; codex: 429; runplan cancel 01kq2v7 ends " +
			"the wait\n",
		"idle  continues, the limit of codex has ended\n",
	} {
		if strings.Count(text, want) != 1 {
			t.Errorf("%q is not reported exactly once:\n%s", want, text)
		}
	}
	var w Watch
	stand := func(n int) (string, string, []string) {
		for _, e := range events[:n] {
			if err := w.Apply(e); err != nil {
				t.Fatal(err)
			}
		}
		events = events[n:]
		var table, plain strings.Builder
		if err := Status(&table, []Standing{w.Standing()}, ui.Style{}, 120); err != nil {
			t.Fatal(err)
		}
		if err := StatusLines(&plain, []Standing{w.Standing()}); err != nil {
			t.Fatal(err)
		}
		return table.String(), plain.String(), Board(w.Standing(), nil, time.Time{}).Footer
	}
	const until = "until 2026-05-04 14:05:00 UTC: batch 1: claude: five hours; codex: 429"
	table, plain, footer := stand(7)
	if !strings.Contains(table, "P  ! paused") || !strings.Contains(table, "\n"+until+"\n") ||
		!strings.Contains(table, "parked") {
		t.Errorf("the status does not tell of the pause:\n%s", table)
	}
	if !strings.HasPrefix(plain, "Run 01kq2v7: P: paused "+until+"\n") {
		t.Errorf("the lines do not tell of the pause:\n%s", plain)
	}
	if footer[len(footer)-1] != "paused "+until {
		t.Errorf("the board does not tell of the pause: %q", footer)
	}
	if table, _, _ := stand(2); strings.Contains(table, "paused") || !strings.Contains(table, "codex/mini") {
		t.Errorf("it goes on, with codex:\n%s", table)
	}
}

func TestDecisionsIncludeFallback(t *testing.T) {
	var d Decisions
	var text strings.Builder
	for _, e := range limited(t) {
		for _, l := range d.Lines(e) {
			text.WriteString(string(l.Kind) + ": " + l.Text + "\n")
		}
	}
	if want := "FALLBACK: B1 continues with codex: claude met a limit: five hours\n"; text.String() != want {
		t.Errorf("got\n%swant\n%s", text.String(), want)
	}
}

// The report lists each file and ref that an agent changed outside of its workspace once, with the words of the
// finding, whether or not the agent failed for it.
func TestReportListsOutsideChanges(t *testing.T) {
	s, events := example(t)
	saw := gates.Report{Gate: story.OutsideGate, Status: gates.Warn, Findings: []gates.Finding{
		{Rule: "outside/checkout", Message: "kept.txt in your checkout changed <b>", Severity: gates.Warning},
		{Rule: "outside/refs", Message: "your branch old was deleted", Severity: gates.Warning},
	}}
	for i, e := range events {
		if e.Kind == runner.Gated && e.Outcome == runner.OutcomeOK {
			events[i].Reports = append(events[i].Reports, saw, saw)
		}
	}
	n := figuresOf(s).Merged // of the others it stands with what went wrong
	text := Markdown(s, pastOf(events))
	page, err := pageOf(s, events)
	if err != nil {
		t.Fatal(err)
	}
	if want := "  - kept.txt in your checkout changed &lt;b\\> (outside/checkout)\n  - your branch old was deleted " +
		"(outside/refs)\n"; n == 0 || strings.Count(text, want) != n {
		t.Errorf("%d batches changed something outside:\n%s", n, text)
	}
	if got := strings.Count(page, "kept.txt in your checkout changed &lt;b&gt;"); got != n {
		t.Errorf("%d batches changed something outside, the page shows %d", n, got)
	}
}

// The timeline shows how long a batch waited, without the time before another agent took over.
func TestTimelineShowsWaitingTime(t *testing.T) {
	minute := int64(60_000)
	var got []string
	for _, s := range courseOf(limited(t)).Spans {
		got = append(got, fmt.Sprintf("%s %d-%d %s", s.Kind, s.From/minute, s.To/minute, s.End))
	}
	want := "edit 0-1 cut short, edit 1-2 cut short, wait 2-5 ended, edit 5-5 cut short"
	if text := strings.Join(got, ", "); text != want {
		t.Errorf("got %s, want %s", text, want)
	}
}

// A time on another day is printed with its date.
func TestClock(t *testing.T) {
	now := time.Date(2026, 5, 4, 23, 30, 0, 0, time.UTC)
	berlin := time.FixedZone("CEST", 7200)
	for want, c := range map[string]struct {
		at   time.Time
		zone *time.Location
	}{
		"23:45 UTC":            {now.Add(15 * time.Minute), nil},
		"2026-05-05 00:30 UTC": {now.Add(time.Hour), nil},
		"02:30":                {now.Add(time.Hour), berlin},
		"2101-01-01 00:00 UTC": {time.Unix(4133980800, 0), nil},
	} {
		if got := clock(c.at, now, c.zone); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
	if got := clock(now, time.Time{}, nil); got != "23:30 UTC" {
		t.Errorf("without a day to compare with: %s", got)
	}
}
