package story

import (
	"testing"
	"time"

	"github.com/runplan/runplan/runner"
)

// Waiting time and working time are counted separately; parallel work counts once, and the pause between two sessions
// counts as neither.
func TestClockSeparatesWaitingFromWorking(t *testing.T) {
	c := NewCourse()
	begin := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for n, e := range []struct {
		at      int // seconds
		kind    runner.EventKind
		command string
		batch   string
	}{
		{0, runner.RunStarted, "", ""},
		{1, runner.Dispatched, "a/r1-c1/execute", "a"},
		{1, runner.Dispatched, "b/r1-c2/execute", "b"},
		{5, runner.Executed, "a/r1-c1/execute", "a"},
		{7, runner.Executed, "b/r1-c2/execute", "b"},
		{7, runner.Dispatched, "run/r1-c3/wait", ""},
		{17, runner.Waited, "run/r1-c3/wait", ""},
		{17, runner.Dispatched, "a/r1-c4/gate", "a"},
		{18, runner.RunFinished, "", ""},
		{900, runner.RunResumed, "", ""},
		{901, runner.Dispatched, "a/r2-c1/gate", "a"},
		{903, runner.Gated, "a/r2-c1/gate", "a"},
	} {
		c.Apply(runner.Event{Seq: n, At: begin.Add(time.Duration(e.at) * time.Second), Kind: e.kind, Command: e.command,
			Batch: e.batch})
	}
	seconds := func(ms int64) int64 { return ms / 1000 }
	if got := seconds(c.Clock("").Working); got != 6+1+2 {
		t.Errorf("the run worked for %d s, want 9", got)
	}
	if got := c.Clock("a").Working; seconds(got) != 4+1+2 {
		t.Errorf("a worked for %d ms, want 7 s", got)
	}
	if got := c.Clock("a").Waited(); got != 13*time.Second { // from 5 to 17, and from 900 to 901
		t.Errorf("a waited %v, want 13s", got)
	}
	if got := c.Clock("b").Waited(); got != 0 {
		t.Errorf("b waited %v, want none", got)
	}
	if got := c.Clock("").Waited(); got != 12*time.Second { // from 0 to 1, from 7 to 17, and from 900 to 901
		t.Errorf("the run waited %v, want 12s", got)
	}
}

// An agent that waits for the tests of the base does not edit yet.
func TestEditBeginsAfterTestsOfBase(t *testing.T) {
	c := NewCourse()
	begin := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	c.Apply(runner.Event{At: begin, Kind: runner.RunStarted})
	for n, edited := range []int64{300, 30_000} {
		at, command := begin.Add(time.Duration(n)*30*time.Second), []string{"a/r1-c1/execute", "a/r1-c2/execute"}[n]
		c.Apply(runner.Event{At: at, Kind: runner.Dispatched, Command: command, Batch: "a"})
		c.Apply(runner.Event{At: at.Add(30 * time.Second), Kind: runner.Executed, Command: command, Batch: "a",
			DurationMS: edited})
	}
	if a, b := c.Spans[0], c.Spans[1]; a.To-a.From != 300 || b.To-b.From != 30_000 {
		t.Errorf("the agent edited from %d to %d, then from %d to %d; it edited for 300 ms, then for 30 s", a.From, a.To,
			b.From, b.To)
	}
}
