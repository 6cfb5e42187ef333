package runner

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

// night is the driver of an unattended run: its clock jumps from wait to wait, its agents follow a script, and a
// person answers only if nothing else can be done.
type night struct {
	t        *testing.T
	now      time.Time
	recorder *Recorder
	script   map[string][]Event // outcomes of the attempts at a batch, in order; after them it succeeds
	journal  []Event
	queue    []Command
	answered int
}

func (n *night) take(s Step) {
	n.journal = append(n.journal, s.Events...)
	n.queue = append(n.queue, s.Commands...)
	for _, c := range s.CalledOff {
		n.queue = slices.DeleteFunc(n.queue, func(q Command) bool { return q.ID == c.ID })
	}
}

// do executes one command and returns its event.
func (n *night) do(c Command) Event {
	e := Event{Kind: reportOf(c.Kind), Command: c.ID, Batch: c.Batch, Attempt: c.Attempt, Outcome: OutcomeOK, Base: c.Base}
	switch c.Kind {
	case Wait:
		if !c.Until.After(n.now) {
			n.t.Errorf("%s waits until %s, and it is %s", c.ID, c.Until, n.now)
		}
		n.now = c.Until
	case Execute:
		n.now = n.now.Add(10 * time.Minute)
		if list := n.script[c.Batch]; len(list) > 0 {
			n.script[c.Batch] = list[1:]
			e.Outcome, e.Reason, e.Outage = list[0].Outcome, list[0].Reason, list[0].Outage
			if d := list[0].DurationMS; d > 0 {
				e.RetryAt = n.now.Add(time.Duration(d) * time.Millisecond)
			}
			break
		}
		e.Commit, e.Tree = "c-"+c.Batch, "t-"+c.Batch
	case Rebase:
		e.Commit, e.Tree = "c-"+c.Batch+"-on-"+c.Base, "t-"+c.Batch
	case Gate:
		n.now = n.now.Add(time.Minute)
	case Commit:
		e.Commit, e.Tree = "f-"+c.Batch, c.Tree
	case Merge:
		e.Commit = c.Commit
	case Ask:
		e.Commit, e.Tree, e.Reason = c.Commit, c.Tree, c.Why
	}
	return e
}

// An unattended run meets three limits, two lost connections, one runaway attempt and one question. It completes all
// batches, each wait is in the journal, and waits use up neither attempts nor tiers (LIMIT-01, LIMIT-02).
func TestUnattendedRunCompletesAllBatches(t *testing.T) {
	limited := func(wait time.Duration) Event {
		return Event{Outcome: OutcomeLimited, Reason: "rate limit", DurationMS: wait.Milliseconds()}
	}
	lost := Event{Outcome: OutcomeLimited, Outage: true, Reason: "no connection to the provider"}
	runaway := Event{Outcome: OutcomeFailed,
		Reason: "stopped: runaway attempt: its last 100 tool calls were all repetitions"}
	info := Info{
		LoopVersion: DefaultLoop().Version, Workers: 1, MaxAttempts: 3, Base: "base", OnLimit: "wait", BackoffMS: 30_000,
		MaxBackoffMS: 1_800_000, Escalate: true, Agent: "one", Agents: []AgentInfo{{Name: "one"}},
	}
	for i := range 8 {
		info.Batches = append(info.Batches,
			BatchInfo{Key: fmt.Sprint(i + 1), Number: fmt.Sprint(i + 1), Tier: "medium", Approve: i == 4})
	}
	m, err := New(info)
	if err != nil {
		t.Fatal(err)
	}
	evening := time.Date(2026, 5, 4, 22, 0, 0, 0, time.UTC)
	n := &night{t: t, now: evening, script: map[string][]Event{
		"1": {limited(2 * time.Hour)}, "2": {limited(0)}, "3": {lost}, "4": {runaway}, "6": {limited(90 * time.Minute)},
		"7": {lost},
	}}
	n.recorder = NewRecorder("r", m, func() time.Time { return n.now })
	n.take(n.recorder.Begin(info))
	for range 500 {
		if _, done := m.Done(); done && len(m.Waiting()) == 0 {
			break
		}
		if len(n.queue) == 0 {
			waiting := m.Waiting()
			if len(waiting) == 0 {
				t.Fatalf("nothing is due, and the run is not finished: %v", statuses(m))
			}
			n.answered++
			n.now = n.now.Add(time.Minute)
			n.take(n.recorder.Fold(waiting[0].Yes("ada", "fine"), nil))
			continue
		}
		c := n.queue[0]
		n.queue = n.queue[1:]
		n.take(n.recorder.Fold(n.do(c), n.queue))
	}
	res, done := m.Done()
	if !done || res.Status != RunDone {
		t.Fatalf("%+v after %d events: %v", res, len(n.journal), statuses(m))
	}
	if morning := evening.Add(10 * time.Hour); n.now.After(morning) {
		t.Errorf("it ends at %s", n.now)
	}
	attempts := map[string]int{}
	for _, e := range n.journal {
		if e.Kind == Executed && e.Outcome == OutcomeOK {
			attempts[e.Batch] = e.Attempt
		}
	}
	if n.answered != 1 {
		t.Errorf("%d answers of a person, want 1", n.answered)
	}
	for key, s := range statuses(m) {
		if s != Passed {
			t.Errorf("batch %s is %v", key, s)
		}
	}
	var waits, limits, outages, runaways, asked, given int
	var named time.Time // by the last limit; zero for none
	for i, e := range n.journal {
		switch {
		case e.Kind == Dispatched && strings.HasSuffix(e.Command, "/wait"):
			waits++
			over := slices.ContainsFunc(n.journal[i:], func(w Event) bool { // other work may have taken longer than the wait
				return w.Command == e.Command && (w.Kind == Waited || w.Kind == Withdrawn) && !w.At.Before(e.RetryAt)
			})
			if !e.RetryAt.After(e.At) || e.RetryAt.Before(named) || !over {
				t.Errorf("the journal has %s at %s until %s, and the limit ends %s; it was waited for: %v", e.Command, e.At,
					e.RetryAt, named, over)
			}
		case e.Kind == Executed && e.Outcome == OutcomeLimited && e.Outage:
			outages, named = outages+1, e.RetryAt
		case e.Kind == Executed && e.Outcome == OutcomeLimited:
			limits, named = limits+1, e.RetryAt
		case e.Kind == Executed && e.Outcome == OutcomeFailed:
			runaways++
		case e.Kind == ApprovalAsked:
			asked++
		case e.Kind == ApprovalGiven:
			given++
		}
		if e.Kind == Dispatched && e.Batch != "4" && e.Tier != "" && e.Tier != "medium" {
			t.Errorf("batch %s got tier %s", e.Batch, e.Tier)
		}
	}
	got := fmt.Sprintf("%d limits, %d outages, %d waits, %d runaway, %d asked, %d given", limits, outages, waits, runaways,
		asked, given)
	if want := "3 limits, 2 outages, 5 waits, 1 runaway, 1 asked, 1 given"; got != want {
		t.Errorf("the journal has %s, want %s", got, want)
	}
	for key, want := range map[string]int{"1": 1, "2": 1, "3": 1, "4": 2, "5": 1, "6": 1, "7": 1, "8": 1} {
		if attempts[key] != want {
			t.Errorf("batch %s took %d attempts, want %d", key, attempts[key], want)
		}
	}
}
