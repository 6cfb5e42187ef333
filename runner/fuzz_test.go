package runner

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/runplan/runplan/agents"
	"github.com/runplan/runplan/gates"
)

// For any journal, Apply does not panic, ignores reports without a matching command, and returns the same commands on
// a replay.
func FuzzApply(f *testing.F) {
	f.Add([]byte{0, 0, 0})
	// The plan has three workers and five batches, some of which may start early. The seeds cover a run without
	// failures, a mixture of outcomes, and competing candidates.
	plan := []byte{2, 2, 1, 1, 1, 1, 0, 1, 0, 0, 2, 5, 0, 1, 1, 0, 5, 0, 1, 2, 0, 0, 2, 3, 0, 6, 1, 0, 0, 0, 4, 2, 1, 1, 0}
	const well = 119
	f.Add(append(slices.Clone(plan), bytes.Repeat([]byte{well}, 400)...))
	f.Add(append(slices.Clone(plan), bytes.Repeat([]byte{well, well, 38, well, 71, well, well, 106, 8}, 60)...))
	f.Add(append([]byte{1, 2, 1, 1, 1, 1, 0, 1, 1, 0, 0, 2, 0, 1, 1, 5, 5, 0, 1, 2, 5},
		bytes.Repeat([]byte{well}, 400)...))
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
			if e.Job != nil {
				a.info.Workers = e.Job.Workers
			}
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
		if got, want := again.Pending(), d.Pending(); !slices.EqualFunc(got, want, sameCommand) {
			t.Errorf("replay: pending is\n%v\nit was\n%v", got, want)
		}
		want, _ := d.Done()
		got, _ := again.Done()
		if diff := gocmp.Diff(want, got); diff != "" {
			t.Errorf("replay: the run ended otherwise (-before +after):\n%s", diff)
		}
	})
}

// input converts bytes to plans and events.
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
		Land: []string{"branch", "ff", "pr"}[in.next(3)], Speculate: in.next(3) > 0, Escalate: in.next(2) == 1,
		OnLimit: []string{"exit", "wait"}[in.next(2)], MaxCostUSD: float64(in.next(4)) * 2,
		UnknownCost: []string{"stop", "allow"}[in.next(2)], Models: map[string]string{"large": "opus"},
		Resample: in.next(3) == 1, StopAtFirst: in.next(2) == 1,
	}
	bits := in.next(32)
	if info.Fidelity = bits&1 > 0; bits&2 > 0 {
		info.Review = "all"
	}
	if bits&4 > 0 {
		info.FinalReview = "programs"
	}
	if bits&8 > 0 {
		info.LandBar = 70
	}
	for i := range in.next(3) {
		info.Agents = append(info.Agents,
			AgentInfo{Name: fmt.Sprint("agent", i), Models: map[string]string{"small": fmt.Sprint("mini", i)}})
	}
	for i := range in.next(6) {
		b := BatchInfo{Key: fmt.Sprint("b", i)}
		switch n := in.next(8); {
		case n == 7:
			b.Skip = "empty"
		case n > 3 && i > 0:
			b.Needs = []string{info.Batches[in.next(i)].Key}
			if n > 4 {
				b.Early = b.Needs
			}
		}
		b.Tier, b.ExpectMS = []string{"", "small", "medium", "what"}[in.next(4)], int64(in.next(4)-1)
		b.Sample = max(0, in.next(6)-3)
		b.Approve = bits&16 > 0 && in.next(3) == 1
		info.Batches = append(info.Batches, b)
	}
	return info
}

func (in *input) event(d decider, seq int) Event {
	e := Event{Seq: seq, At: at(seq / 8), Outcome: in.outcome(), Commit: in.name(seq), Base: in.name(seq),
		Tree: in.name(seq), Fingerprint: in.name(seq)}
	kinds := append(EventKinds(), "what")
	switch n := in.next(60); {
	case n < len(kinds):
		e.Kind, e.Batch, e.Command = kinds[n], fmt.Sprint("b", in.next(6)), in.command(d)
	case len(d.Waiting()) > 0 && n > 53: // an answer
		asked := d.Waiting()
		a := asked[in.next(len(asked))]
		if e = a.Yes("ada", ""); in.next(3) == 1 {
			e = a.No("ada", in.name(seq))
		}
		e.Seq, e.At = seq, at(seq/8)
		return e
	default: // mostly a report that fits
		if pending := d.Pending(); len(pending) > 0 {
			c := pending[in.next(len(pending))]
			e.Kind, e.Batch, e.Command = reportOf(c.Kind), c.Batch, c.ID
		}
	}
	if in.next(2) == 1 {
		e.Tests = &gates.TestCount{Passed: in.next(9)}
	}
	switch e.Kind {
	case Merged:
		e.Commit = cmp.Or(e.Commit, "k") // who moved the run branch knows where to
	case Executed:
		if in.next(4) > 0 {
			usd := float64(in.next(5)) / 4
			e.Usage = &agents.Usage{CostUSD: &usd}
		}
		if in.next(2) == 1 {
			e.RetryAt = at(in.next(40))
		}
	case Sampled:
		for i := range in.next(4) {
			e.Slots = append(e.Slots, Slot{Number: i + 1, Variant: in.name(seq)})
		}
		e.AtOnce = in.next(4)
	case Judged:
		e.Candidate = in.next(5)
	case RunResumed:
		if in.next(2) == 1 {
			e.Job = &Info{
				Workers: 1 + in.next(4), OnLimit: []string{"exit", "wait"}[in.next(2)], MaxCostUSD: float64(in.next(4)) * 3,
				UnknownCost: []string{"stop", "allow"}[in.next(2)],
			}
			for i := range in.next(3) {
				e.Job.Agents = append(e.Job.Agents, AgentInfo{Name: fmt.Sprint("agent", 1+i)})
			}
		}
	}
	return e
}

func (in *input) outcome() Outcome {
	outcomes := []Outcome{
		OutcomeOK, OutcomeOK, OutcomeOK, OutcomeFailed, OutcomeUnchanged, OutcomeTimedOut, OutcomeLimited, OutcomeHuman,
		OutcomeChanged,
		OutcomeConflict, OutcomeMoved, OutcomeRefused, OutcomeUndecided, OutcomeCancelled, OutcomeError, OutcomeSkipped,
		OutcomeShallow, OutcomeComplex, "", "what",
	}
	return outcomes[in.next(len(outcomes))]
}

func (in *input) command(d decider) string {
	if pending := d.Pending(); len(pending) > 0 && in.next(3) > 0 {
		return pending[in.next(len(pending))].ID
	}
	return fmt.Sprintf("b%d/r%d-c%d/%s", in.next(6), in.next(4), in.next(3),
		[]CommandKind{Sample, Execute, Rebase, Gate, Judge, Commit, Merge, LandRun, Wait, Review, Fidelity, Ask,
			Trial}[in.next(13)])
}

// name returns the name of a commit or tree, usually a new one.
func (in *input) name(seq int) string {
	if n := in.next(8); n > 3 {
		return fmt.Sprint("k", seq)
	} else {
		return []string{"k", "l", "m", ""}[n]
	}
}
