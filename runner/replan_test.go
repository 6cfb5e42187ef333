package runner

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// replanned brings a run to a state in which a is merged, b has a candidate that waits for its gates, and c has not
// started.
func replanned(t *testing.T) (*Recorder, *Fold) {
	t.Helper()
	info := Info{LoopVersion: DefaultLoop().Version, Workers: 2, MaxAttempts: 2, Base: "base", Batches: []BatchInfo{
		{Key: "a", Number: "1", Digest: "a1"}, {Key: "b", Number: "2", Digest: "b1"},
		{Key: "c", Number: "3", Digest: "c1", Needs: []string{"b"}},
	}}
	m, err := New(info)
	if err != nil {
		t.Fatal(err)
	}
	recorder, fold := NewRecorder("r", m, func() time.Time { return time.Unix(1, 0) }), new(Fold)
	take := func(s Step) {
		for _, e := range s.Events {
			if err := fold.Apply(e); err != nil {
				t.Fatal(err)
			}
		}
	}
	take(recorder.Begin(info))
	tell := func(e Event) { take(recorder.Fold(e, m.Pending())) }
	for _, e := range []Event{
		{Kind: Executed, Command: "a/r1-c0/execute", Batch: "a", Outcome: OutcomeOK, Commit: "ca", Tree: "ta"},
		{Kind: Gated, Command: "a/r1-c0/gate", Batch: "a", Outcome: OutcomeOK},
		{Kind: Committed, Command: "a/r1-c0/commit", Batch: "a", Outcome: OutcomeOK, Commit: "fa", Tree: "ta"},
		{Kind: Merged, Command: "a/r1-c0/merge", Batch: "a", Outcome: OutcomeOK, Commit: "fa"},
		{Kind: Executed, Command: "b/r1-c0/execute", Batch: "b", Outcome: OutcomeOK, Commit: "cb", Tree: "tb"},
		{Kind: StopAsked, Outcome: OutcomeCancelled},
	} {
		tell(e)
	}
	if s := statuses(m); s["a"] != Passed || s["b"] != Working || s["c"] != Waiting {
		t.Fatal(s)
	}
	return recorder, fold
}

func statuses(m *Machine) map[string]Status {
	out := map[string]Status{}
	m.EachStatus(func(key string, s Status) { out[key] = s })
	return out
}

func TestReplan(t *testing.T) {
	job := func(list ...BatchInfo) *Info {
		return &Info{LoopVersion: DefaultLoop().Version, Workers: 2, MaxAttempts: 2, Base: "base", Batches: list}
	}
	a, b, c := BatchInfo{Key: "a", Number: "1", Digest: "a2"}, BatchInfo{Key: "b", Number: "3", Digest: "b2"},
		BatchInfo{Key: "c", Number: "4", Digest: "c1", Needs: []string{"b"}}
	gone := c
	gone.Skip = "it is no longer in the plan"
	for name, tt := range map[string]struct {
		e        Event
		want     map[string]Status
		attempts int // of b, once the run goes on
		order    []string
	}{
		"a merged batch stays merged, a started one continues, and a new one is due": {
			Event{Job: job(a, BatchInfo{Key: "d", Number: "2"}, b, c)},
			map[string]Status{"a": Passed, "b": Working, "c": Waiting, "d": Working}, 1, []string{"a", "d", "b", "c"},
		},
		"a candidate of another text starts again": {
			Event{Job: job(a, b, c), Anew: []string{"b"}}, map[string]Status{"a": Passed, "b": Working, "c": Waiting}, 2,
			[]string{"a", "b", "c"},
		},
		"a removed batch is skipped": {
			Event{Job: job(a, b, gone)}, map[string]Status{"a": Passed, "b": Working, "c": Skipped}, 1, []string{"a", "b", "c"},
		},
		"a plan without a batch of the run is rejected": {
			Event{Job: job(a, b)}, map[string]Status{"a": Passed, "b": Working, "c": Waiting}, 1, []string{"a", "b", "c"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			recorder, fold := replanned(t)
			m := recorder.Machine()
			tt.e.Kind = PlanChanged
			for _, e := range []Event{tt.e, {Kind: RunResumed, Commit: "fa"}} {
				for _, e := range recorder.Fold(e, nil).Events {
					if err := fold.Apply(e); err != nil {
						t.Fatal(err)
					}
				}
			}
			if d := cmp.Diff(tt.want, statuses(m)); d != "" {
				t.Error(d)
			}
			if v, _ := m.Batch("b"); v.Attempt != tt.attempts {
				t.Errorf("b is at attempt %d, want %d", v.Attempt, tt.attempts)
			}
			var order []string
			for _, b := range fold.Summary().Batches {
				order = append(order, b.Key)
			}
			if d := cmp.Diff(tt.order, order); d != "" {
				t.Error(d)
			}
			if len(m.Pending()) == 0 {
				t.Error("there is no pending command")
			}
		})
	}
}

// A changed plan changes the order of the batches that have not started: those that others wait for come first.
func TestReplanChangesOrder(t *testing.T) {
	one := Info{Workers: 1, MaxAttempts: 1}
	m := machine(t, one, "x w y")
	started := m.Start()
	job := plans(one, "x w y z:y")
	job.Title = "Another title"
	m.Apply(Event{Kind: PlanChanged, Job: &job})
	next := m.Apply(started[0].Report(Event{Outcome: OutcomeFailed}))
	if len(next) != 1 || next[0].Batch != "y" {
		t.Errorf("after x, %+v starts", next)
	}
}

// A changed plan without a description of the run, or with an invalid one, changes nothing.
func TestReplanRejectsInvalidJobs(t *testing.T) {
	info := plans(Info{Workers: 1, MaxAttempts: 1}, "x")
	broken := plans(Info{Workers: 1, MaxAttempts: 1}, "x y:gone")
	for _, job := range []*Info{nil, {}, &broken} {
		m, err := New(info)
		if err != nil {
			t.Fatal(err)
		}
		m.Start()
		if cmds := m.Apply(Event{Kind: PlanChanged, Job: job}); cmds != nil || len(m.Batches()) != 1 ||
			len(m.Pending()) != 1 {
			t.Errorf("%+v: %+v", job, cmds)
		}
	}
}

// A batch that started early on a candidate starts again if the plan has another text for that candidate, already while
// the run is stopped.
func TestReplanWithdrawsEarlyStarts(t *testing.T) {
	team := Info{Workers: 2, MaxAttempts: 1, Speculate: true}
	m := machine(t, team, "a b:a*")
	m.Apply(m.Start()[0].Report(Event{Outcome: OutcomeOK, Commit: "ca", Tree: "ta"}))
	if s := statuses(m); s["b"] != Working {
		t.Fatal(s)
	}
	m.Apply(Event{Kind: StopAsked, Outcome: OutcomeCancelled})
	job := plans(team, "a b:a*")
	m.Apply(Event{Kind: PlanChanged, Job: &job, Anew: []string{"a"}})
	if s := statuses(m); s["b"] != Waiting {
		t.Errorf("b is %s", s["b"])
	}
}
