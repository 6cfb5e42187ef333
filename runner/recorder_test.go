package runner

import (
	"slices"
	"testing"
	"time"
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
