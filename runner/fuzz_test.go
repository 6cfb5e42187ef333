package runner

import (
	"fmt"
	"testing"

	"github.com/runplan/runplan/gates"
)

// Whatever a journal holds, Apply does not panic, acts on no report on nothing, and answers a replay alike.
func FuzzApply(f *testing.F) {
	f.Add([]byte{0, 0, 0})
	f.Add([]byte{1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0})                 // goes well
	f.Add([]byte{5, 2, 2, 7, 0, 6, 3, 0, 0, 1, 1, 0, 8, 0, 0, 9, 0, 0, 10, 1, 2}) // stops, resumes, reopens
	f.Add([]byte("a plan that nobody wrote, and a journal that nobody kept"))
	f.Fuzz(func(t *testing.T, data []byte) {
		in := &input{data: data}
		info := in.info()
		a := newAudit(info, nil)
		d, err := sound(info, a.took)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := a.start(d); err != nil {
			t.Fatal(err)
		}
		var journal []Event
		for len(in.data) > 0 {
			e := in.event(d, len(journal)+1)
			journal = append(journal, e)
			if _, err := a.apply(d, e); err != nil {
				t.Fatalf("event %d, %+v: %v", e.Seq, e, err)
			}
			if d.Tip() == "" {
				t.Fatalf("event %d, %+v: the tip is lost", e.Seq, e)
			}
		}
		again, err := sound(info, nil)
		if err != nil {
			t.Fatal(err)
		}
		again.Start()
		for _, e := range journal {
			again.Apply(e)
		}
		if got, want := fmt.Sprintf("%+v", again.Batches()), fmt.Sprintf("%+v", d.Batches()); got != want {
			t.Errorf("replay: batches are\n%s\nthey were\n%s", got, want)
		}
		if got, want := again.Pending(), d.Pending(); len(got) != len(want) {
			t.Errorf("replay: pending is\n%v\nit was\n%v", got, want)
		}
	})
}

// input makes plans and events of bytes.
type input struct{ data []byte }

func (in *input) next(n int) int {
	if len(in.data) == 0 {
		return 0
	}
	b := int(in.data[0])
	in.data = in.data[1:]
	return b % n
}

func (in *input) info() Info {
	info := Info{
		Base: "base", LoopVersion: LoopVersion, Workers: 1 + in.next(3), MaxAttempts: 1 + in.next(3),
		Land: []string{"branch", "ff", "pr"}[in.next(3)],
	}
	for i := range in.next(6) {
		b := BatchInfo{Key: fmt.Sprint("b", i)}
		switch n := in.next(8); {
		case n == 7:
			b.Skip = "empty"
		case n > 3 && i > 0:
			b.Needs = []string{info.Batches[in.next(i)].Key}
		}
		info.Batches = append(info.Batches, b)
	}
	return info
}

func (in *input) event(d decider, seq int) Event {
	e := Event{Seq: seq, Outcome: in.outcome(), Commit: in.name(), Base: in.name(), Tree: in.name()}
	kinds := []EventKind{
		Executed, Gated, Committed, Merged, Landed, StopAsked, RunResumed, Reopened, RunStarted, RunFinished, Dispatched, Note, "what",
	}
	switch n := in.next(20); {
	case n < len(kinds):
		e.Kind, e.Batch, e.Command = kinds[n], fmt.Sprint("b", in.next(6)), in.command(d)
	default: // mostly a report that fits
		if pending := d.Pending(); len(pending) > 0 {
			c := pending[in.next(len(pending))]
			e.Kind, e.Batch, e.Command = reportOf(c.Kind), c.Batch, c.ID
		}
	}
	if in.next(2) == 1 {
		e.Tests = &gates.TestCount{Passed: in.next(9)}
	}
	return e
}

func (in *input) outcome() Outcome {
	outcomes := []Outcome{
		OutcomeOK, OutcomeOK, OutcomeOK, OutcomeFailed, OutcomeUnchanged, OutcomeTimedOut, OutcomeLimited, OutcomeHuman, OutcomeChanged,
		OutcomeConflict, OutcomeMoved, OutcomeRefused, OutcomeCancelled, OutcomeError, "", "what",
	}
	return outcomes[in.next(len(outcomes))]
}

func (in *input) command(d decider) string {
	if pending := d.Pending(); len(pending) > 0 && in.next(3) > 0 {
		return pending[in.next(len(pending))].ID
	}
	return fmt.Sprintf("b%d/r%d-c%d/%s", in.next(6), in.next(4), in.next(3), []CommandKind{Execute, Gate, Commit, Merge, LandRun}[in.next(5)])
}

func (in *input) name() string { return []string{"k", "l", "m", ""}[in.next(4)] }
