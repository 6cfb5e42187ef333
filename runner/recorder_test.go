package runner

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/runplan/runplan/gates"
)

func recorderOf(t *testing.T) (*Recorder, Info) {
	t.Helper()
	info := Info{Base: "b0", LoopVersion: LoopVersion, Workers: 2, MaxAttempts: 2, Speculate: true, Batches: []BatchInfo{
		{Key: "1", Number: "1", Title: "one"},
		{Key: "2", Number: "2", Title: "two", Needs: []string{"1"}, Early: []string{"1"}},
	}}
	m, err := New(info)
	if err != nil {
		t.Fatal(err)
	}
	clock := time.Unix(1000, 0)
	return NewRecorder("run", m, func() time.Time { clock = clock.Add(time.Second); return clock }), info
}

func kinds(events []Event) []EventKind {
	var out []EventKind
	for _, e := range events {
		out = append(out, e.Kind)
	}
	return out
}

// The recorder numbers all events without gaps, including those that only inform readers.
func TestRecorderNumbersWithoutGaps(t *testing.T) {
	s, info := recorderOf(t)
	step := s.Begin(info)
	if got := kinds(step.Events); !slices.Equal(got, []EventKind{RunStarted, BatchStarted, Dispatched}) {
		t.Errorf("a run begins with %v", got)
	}
	all := step.Events
	c := step.Commands[0]
	step = s.Fold(c.Report(Event{Outcome: OutcomeOK, Base: "b0", Commit: "c1", Tree: "t1"}), nil)
	all = append(all, step.Events...)
	for i, e := range all {
		if e.Seq != i+1 || e.Run != "run" || e.At.IsZero() {
			t.Errorf("event %d: %+v", i, e)
		}
	}
	if s.Seq() != len(all) {
		t.Errorf("%d events, the recorder knows %d", len(all), s.Seq())
	}
}

// A recorder that reads back the journal continues with the next number and repeats no event to readers.
func TestRecorderContinuesJournal(t *testing.T) {
	one, info := recorderOf(t)
	first := one.Begin(info)
	two, _ := recorderOf(t)
	for _, e := range first.Events {
		two.Recall(e)
	}
	done := first.Commands[0].Report(Event{Outcome: OutcomeOK, Base: "b0", Commit: "c1", Tree: "t1"})
	a, b := one.Fold(done, nil), two.Fold(done, nil)
	if !slices.Equal(kinds(a.Events), kinds(b.Events)) || a.Events[0].Seq != b.Events[0].Seq {
		t.Errorf("%v\n%v", a.Events, b.Events)
	}
}

// A command whose base was lost is cancelled with an event; a command that is still needed is not.
func TestRecorderCancelsCommandsWithoutBase(t *testing.T) {
	s, info := recorderOf(t)
	step := s.Begin(info)
	edit := step.Commands[0]
	step = s.Fold(edit.Report(Event{Outcome: OutcomeOK, Base: "b0", Commit: "c1", Tree: "t1"}), nil)
	underWay := step.Commands // the gates of 1, and the agent of 2 on top of it
	if len(underWay) != 2 {
		t.Fatalf("%+v", underWay)
	}
	gate := underWay[slices.IndexFunc(underWay, func(c Command) bool { return c.Kind == Gate })]
	other := slices.DeleteFunc(slices.Clone(underWay), func(c Command) bool { return c.ID == gate.ID })
	step = s.Fold(gate.Report(Event{Outcome: OutcomeFailed, Tree: "t1", Fingerprint: "f"}), other)
	if len(step.CalledOff) != 1 || step.CalledOff[0].ID != other[0].ID || !slices.Contains(kinds(step.Events), Withdrawn) {
		t.Errorf("%+v", step)
	}
	s, info = recorderOf(t)
	step = s.Begin(info)
	if step = s.Fold(Event{Kind: Note, Reason: "x"}, step.Commands); len(step.CalledOff) != 0 {
		t.Errorf("a note cancelled %+v", step.CalledOff)
	}
}

// Commands are cancelled in the order of their ids, independent of the order in which they started.
func TestCancellationOrder(t *testing.T) {
	s := NewRecorder("r", machine(t, Info{Workers: 1, MaxAttempts: 1}, "a"), func() time.Time { return at(0) })
	var got []string
	for _, c := range s.calledOff(nil, []Command{{ID: "b/2"}, {ID: "c/3"}, {ID: "a/1"}}) {
		got = append(got, c.ID)
	}
	if want := []string{"a/1", "b/2", "c/3"}; !slices.Equal(got, want) {
		t.Error(got)
	}
}

// The report on a command names the command, its batch and its candidate.
func TestReports(t *testing.T) {
	ask := Command{ID: "a/r2-c0/ask", Kind: Ask, Batch: "a", Attempt: 2, Base: "b", Commit: "c", Tree: "t", Why: "good?"}
	usage := cost(1)
	for name, c := range map[string]struct{ got, want Event }{
		"on a command of a batch": {
			Command{ID: "a/r2-c0/gate", Kind: Gate, Batch: "a", Attempt: 2}.Report(Event{Outcome: OutcomeFailed, Tree: "t"}),
			Event{Kind: Gated, Command: "a/r2-c0/gate", Batch: "a", Attempt: 2, Outcome: OutcomeFailed, Tree: "t"}},
		"on a command of a candidate": {
			Command{ID: "a/r1-c3/execute", Kind: Execute, Batch: "a", Attempt: 1, Slot: &Slot{Number: 3, Variant: "x"}}.Report(
				Event{Outcome: OutcomeOK}),
			Event{Kind: Executed, Command: "a/r1-c3/execute", Batch: "a", Attempt: 1, Candidate: 3, Variant: "x",
				Outcome: OutcomeOK}},
		"on a question": {ask.Asked(),
			Event{Kind: reportOf(Ask), Command: "a/r2-c0/ask", Batch: "a", Attempt: 2, Outcome: OutcomeOK, Base: "b",
				Commit: "c",
				Tree:   "t", Reason: "good?"}},
		"on the cost of ignored work": {
			Command{ID: "a/r2-c0/execute", Kind: Execute, Batch: "a", Attempt: 2}.Spending(Event{Kind: Executed, Agent: "x",
				Model: "m", Usage: usage, Critique: &CritiqueCost{Calls: 2}, Commit: "c", Outcome: OutcomeOK}),
			Event{Kind: Spent, Batch: "a", Attempt: 2, Agent: "x", Model: "m", Usage: usage, Critique: &CritiqueCost{Calls: 2},
				Reason: "a/r2-c0/execute"}},
	} {
		if diff := cmp.Diff(c.want, c.got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// The last event of a session has the outcome of the run, the reason and the commit of the run branch.
func TestEnding(t *testing.T) {
	for _, c := range []struct {
		result  Result
		outcome Outcome
		reason  string
	}{
		{Result{Status: RunDone, Tip: "k"}, OutcomeOK, ""},
		{Result{Status: RunFailed, Tip: "k", Reason: "red"}, OutcomeFailed, "red"},
		{Result{Status: RunStopped, Tip: "k", Stop: &Stop{OutcomeLimited, "five hours"}}, OutcomeLimited, "five hours"},
	} {
		want := Event{Kind: RunFinished, Outcome: c.outcome, Reason: c.reason, Commit: "k"}
		if diff := cmp.Diff(want, c.result.Ending()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.result.Status, diff)
		}
	}
}

// Only a person's answers, requests to stop and notes may come from outside of the run.
func TestOutsideEvents(t *testing.T) {
	for _, k := range []EventKind{ApprovalGiven, ApprovalDenied, StopAsked, Note} {
		if !k.Outside() {
			t.Errorf("%s may not come from outside", k)
		}
	}
	for _, k := range []EventKind{RunStarted, Executed, Merged, Withdrawn, RunFinished} {
		if k.Outside() {
			t.Errorf("%s may come from outside", k)
		}
	}
}

// A post of a person belongs to the current attempt. A denial becomes a report for the next attempt. A request to stop
// that arrives between two sessions is only noted.
func TestHeard(t *testing.T) {
	m := machine(t, Info{Workers: 1, MaxAttempts: 2}, "a b")
	m.Start()
	for name, c := range map[string]struct {
		post     Event
		resuming bool
		want     Event
	}{
		"an approval": {Event{Kind: ApprovalGiven, Batch: "a", Post: 4}, true,
			Event{Kind: ApprovalGiven, Batch: "a", Attempt: 1, Post: 4}},
		"about no batch": {Event{Kind: ApprovalGiven, Attempt: 7}, false, Event{Kind: ApprovalGiven, Attempt: 7}},
		"a denial": {Event{Kind: ApprovalDenied, Batch: "a", Reason: "too big"}, false,
			Event{Kind: ApprovalDenied, Batch: "a", Attempt: 1, Reason: "too big", Fingerprint: Fingerprint("too big"),
				Reports: []gates.Report{{Gate: "approval", Status: gates.Fail, Note: "a person did not agree to the change",
					Findings: []gates.Finding{{Rule: "approval", Severity: gates.Error, Message: "too big"}}}}}},
		"a stop during the run": {Event{Kind: StopAsked, Post: 4, Reason: "x"}, false,
			Event{Kind: StopAsked, Post: 4, Reason: "x"}},
		"a stop before the resume": {Event{Kind: StopAsked, Post: 4, Reason: "x"}, true,
			Event{Kind: Note, Post: 4, Reason: "a request to stop arrived after the run had stopped"}},
		"a note before the resume": {Event{Kind: Note, Reason: "x"}, true, Event{Kind: Note, Reason: "x"}},
	} {
		if diff := cmp.Diff(c.want, m.Heard(c.post, c.resuming)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	if a, b := Fingerprint("a"), Fingerprint("b"); a == b || len(a) != 16 {
		t.Errorf("fingerprints %s and %s", a, b)
	}
}

// The journal says what each dispatched command starts from, and why another agent does the work.
func TestDispatchedEvents(t *testing.T) {
	c := Command{ID: "a/r1-c0/execute", Kind: Execute, Batch: "a", Attempt: 1, Base: "b", On: []string{"x"},
		Tier:  "small",
		Model: "m", Agent: "codex", Instead: "claude met a limit", Until: at(9)}
	want := Event{Kind: Dispatched, Command: c.ID, Batch: "a", Attempt: 1, Base: "b", On: []string{"x"},
		Tier: "small", Model: "m",
		Agent: "codex", Reason: "claude met a limit", RetryAt: at(9)}
	if diff := cmp.Diff(want, c.dispatched()); diff != "" {
		t.Error("-want +got:\n", diff)
	}
}

// The journal tells readers once that a batch started, passed, failed or was skipped, with its number of the attempt,
// its commit and the reason.
func TestRecorderTellsReaders(t *testing.T) {
	info := plans(Info{Workers: 1, MaxAttempts: 1}, "a b!empty c:a")
	m, err := New(info)
	if err != nil {
		t.Fatal(err)
	}
	s := NewRecorder("run", m, func() time.Time { return at(0) })
	step := s.Begin(info)
	var got []Event
	keep := func() {
		for _, e := range step.Events {
			switch e.Kind {
			case BatchStarted, BatchPassed, BatchFailed, BatchSkipped:
				got = append(got, Event{Kind: e.Kind, Batch: e.Batch, Title: e.Title, Attempt: e.Attempt, Commit: e.Commit,
					Reason: e.Reason})
			}
		}
	}
	keep()
	for _, e := range []Event{{Outcome: OutcomeOK, Base: "base", Commit: "c", Tree: "t"}, {Outcome: OutcomeOK},
		{Outcome: OutcomeOK, Commit: "k"}, {Outcome: OutcomeOK, Commit: "k"}, {Outcome: OutcomeFailed, Reason: "gave up"}} {
		step = s.Fold(step.Commands[0].Report(e), nil)
		keep()
	}
	want := []Event{
		{Kind: BatchStarted, Batch: "a", Title: "Batch a", Attempt: 1},
		{Kind: BatchSkipped, Batch: "b", Title: "Batch b", Reason: "empty"},
		{Kind: BatchPassed, Batch: "a", Title: "Batch a", Attempt: 1, Commit: "k"},
		{Kind: BatchStarted, Batch: "c", Title: "Batch c", Attempt: 1},
		{Kind: BatchFailed, Batch: "c", Title: "Batch c", Attempt: 1, Reason: "gave up"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error("-want +got:\n", diff)
	}
}

// A note says that the run has fewer workers from now on.
func TestRecorderNotesFewerWorkers(t *testing.T) {
	s := NewRecorder("run", machine(t, Info{Workers: 2, MaxAttempts: 2}, "a b"), func() time.Time { return at(0) })
	step := s.Begin(Info{})
	second := step.Commands[1]
	step = s.Fold(second.Report(Event{Outcome: OutcomeUnstarted, Reason: "no memory"}), nil)
	want := FallbackNote + "an agent could not start in parallel with others (no memory), " +
		"so one works at a time from now on"
	if step.Note != want {
		t.Errorf("the note is %q", step.Note)
	}
	if step = s.Fold(Event{Kind: Note}, nil); step.Note != "" {
		t.Errorf("again: %q", step.Note)
	}
}
