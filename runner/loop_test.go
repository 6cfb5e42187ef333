package runner

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestLoop(t *testing.T) {
	loop := DefaultLoop()
	tests := map[string]func(t *testing.T){
		"there are seven stages and twenty states": func(t *testing.T) {
			got := map[Stage][]State{}
			for _, s := range loop.States {
				got[s.Stage] = append(got[s.Stage], s.Name)
			}
			want := map[Stage][]State{
				Intake:     {StateLoad, StateParse, StatePreflight},
				Understand: {StateIndex, StateRetrieve, StateBrief},
				Design:     {StateRoute, StatePlanReview, StatePlanRefine},
				Build:      {StateEdit, StateSample, StateSynthesize, StateDebug},
				Verify:     {StateGate, StateFidelityReview, StateSelfReview},
				Publish:    {StatePublish, StateCommit},
				Land:       {StateMerge, StateLearn},
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
			if len(loop.Stages) != 7 || len(loop.States) != 20 {
				t.Errorf("%d stages, %d states", len(loop.Stages), len(loop.States))
			}
		},
		"each state has a scope and a description": func(t *testing.T) {
			for _, s := range loop.States {
				if s.Scope != "run" && s.Scope != "batch" || s.Does == "" {
					t.Errorf("%+v", s)
				}
			}
		},
		"self_review has exactly three ways out": func(t *testing.T) {
			var got []Transition
			for _, tr := range loop.Transitions {
				if tr.From == StateSelfReview {
					got = append(got, tr)
				}
			}
			want := []Transition{
				{StateSelfReview, OnGreen, StatePublish},
				{StateSelfReview, OnShallow, StateEdit},
				{StateSelfReview, OnComplex, StateDebug},
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
		},
		"each state can be reached from load": func(t *testing.T) {
			seen := reach(loop, StateLoad)
			for _, s := range loop.States {
				if !seen[s.Name] {
					t.Errorf("%s cannot be reached", s.Name)
				}
			}
		},
		"the end can be reached from each state": func(t *testing.T) {
			for _, s := range loop.States {
				if !reach(loop, s.Name)[End] {
					t.Errorf("%s has no way to the end", s.Name)
				}
			}
		},
		"a trigger leads to one place only": func(t *testing.T) {
			seen := map[string]bool{}
			for _, tr := range loop.Transitions {
				way := fmt.Sprint(tr.From, " on ", tr.On)
				if seen[way] {
					t.Errorf("%s is repeated", way)
				}
				seen[way] = true
			}
		},
		"transitions name known states": func(t *testing.T) {
			for _, tr := range loop.Transitions {
				for _, s := range []State{tr.From, tr.To} {
					if _, err := loop.State(s); err != nil && s != End {
						t.Errorf("%v: %v", tr, err)
					}
				}
			}
		},
		"a caller cannot change the loop of other callers": func(t *testing.T) {
			mine := DefaultLoop()
			mine.Stages[0], mine.States[0].Name, mine.Transitions[0].To = "", "", End
			if diff := cmp.Diff(loop, DefaultLoop()); diff != "" {
				t.Error(diff)
			}
		},
		"the loop has the version that journals carry": func(t *testing.T) {
			if loop.Version != LoopVersion {
				t.Errorf("%d", loop.Version)
			}
		},
	}
	for name, test := range tests {
		t.Run(name, test)
	}
}

func TestLoopState(t *testing.T) {
	loop := DefaultLoop()
	got, err := loop.State(StateGate)
	if err != nil {
		t.Fatal(err)
	}
	want := StateInfo{StateGate, Verify, "batch", "check the tree that will be merged"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	_, err = loop.State("gaet")
	if err == nil || !strings.Contains(err.Error(), `"gaet"`) {
		t.Fatalf("an unknown state is %v", err)
	}
	for _, s := range loop.States {
		if !strings.Contains(err.Error(), string(s.Name)) {
			t.Errorf("%q does not list %s", err, s.Name)
		}
	}
}

func TestLoopMermaid(t *testing.T) {
	got := DefaultLoop().Mermaid()
	want, err := os.ReadFile("testdata/loop.mmd")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Error(diff)
	}
	if !strings.HasPrefix(got, "stateDiagram-v2\n") {
		t.Errorf("another dialect: %.40q", got)
	}
	blocks, states := 0, 0
	for line := range strings.Lines(got) {
		switch {
		case strings.HasPrefix(line, "    state "):
			blocks++
		case strings.HasPrefix(line, "        "):
			states++
		}
	}
	if blocks != 7 || states != 20 {
		t.Errorf("%d blocks, %d states", blocks, states)
	}
}

// ways lists all transitions by hand, as "from trigger to", so that each change of the table must be made in two
// places.
const ways = `
load done parse, parse done preflight, preflight done index, index done route, index skipped route
route done plan_review, plan_review done retrieve, plan_review skipped retrieve, plan_review failed plan_refine
plan_refine done plan_review, retrieve done brief, brief done edit, brief sample sample
edit done gate, edit failed debug, debug again edit, debug sample sample, debug exhausted [*]
sample done gate, sample skipped edit, sample undecided synthesize, sample failed debug
synthesize done gate, synthesize failed debug
gate done fidelity_review, gate failed debug, gate conflict edit
fidelity_review done self_review, fidelity_review skipped self_review, fidelity_review failed debug
self_review green publish, self_review shallow edit, self_review complex debug
publish done commit, publish moved gate, publish failed debug
commit done merge, commit changed gate, commit failed debug, commit moved gate
merge done learn, merge moved gate, learn done [*]`

// The machine accepts exactly the transitions in ways: in each state, each trigger either leads to the state that
// ways lists, or stops the run with an internal error and leaves the batch in its state.
func TestMachineAcceptsOnlyLoopTransitions(t *testing.T) {
	want := map[string]State{}
	states, triggers := []State{End, "", "unknown"}, []Trigger{"", "unknown"}
	for _, way := range strings.FieldsFunc(ways, func(r rune) bool { return r == ',' || r == '\n' }) {
		f := strings.Fields(way)
		want[f[0]+" "+f[1]] = State(f[2])
		states, triggers = append(states, State(f[0])), append(triggers, Trigger(f[1]))
	}
	for _, from := range states {
		for _, on := range triggers {
			m := machine(t, Info{Workers: 1, MaxAttempts: 1}, "a")
			track := m.byKey["a"]
			track.status, track.state = Working, from
			m.fire(track, on)
			if to, ok := want[fmt.Sprint(from, " ", on)]; ok {
				if track.state != to || m.stop != nil {
					t.Errorf("%s on %s: went to %s, %+v", from, on, track.state, m.stop)
				}
			} else if track.state != from || m.stop == nil || m.stop.Outcome != OutcomeError ||
				!strings.Contains(m.stop.Reason, "internal error: batch a: the loop has no transition") {
				t.Errorf("%s on %s: went to %s, %+v", from, on, track.state, m.stop)
			}
		}
	}
	if got := len(DefaultLoop().Transitions); got != len(want) {
		t.Errorf("the table has %d transitions, not %d", got, len(want))
	}
}

// The plan of this self-fix was refused twice and accepted in round three; the run has an index.
func TestStartPassesPlanReviews(t *testing.T) {
	m := machine(t, Info{Workers: 1, MaxAttempts: 1, Indexed: true, Round: 3}, "a")
	var took []string
	m.took = func(tr Transition) { took = append(took, fmt.Sprint(tr.From, " ", tr.On)) }
	m.Start()
	want := []string{
		"load done", "parse done", "preflight done", "index done", "route done",
		"plan_review failed", "plan_refine done", "plan_review failed", "plan_refine done", "plan_review done",
		"retrieve done", "brief done",
	}
	if diff := cmp.Diff(want, took); diff != "" || m.stop != nil {
		t.Error(diff, m.stop)
	}
}

// The start of a run passes through the loop up to the state in which its batches begin.
func TestStartPassesStatesBeforeBatches(t *testing.T) {
	m := machine(t, Info{Workers: 1, MaxAttempts: 1}, "a")
	var took []Transition
	m.took = func(tr Transition) { took = append(took, tr) }
	m.Start()
	want := []Transition{
		{StateLoad, OnDone, StateParse},
		{StateParse, OnDone, StatePreflight},
		{StatePreflight, OnDone, StateIndex},
		{StateIndex, OnSkipped, StateRoute},
		{StateRoute, OnDone, StatePlanReview},
		{StatePlanReview, OnSkipped, StateRetrieve},
		{StateRetrieve, OnDone, StateBrief}, // of the first batch
		{StateBrief, OnDone, StateEdit},
	}
	if diff := cmp.Diff(want, took); diff != "" {
		t.Error(diff)
	}
}

// reach returns all states that can be reached from s.
func reach(l Loop, s State) map[State]bool {
	seen := map[State]bool{s: true}
	for again := true; again; {
		again = false
		for _, tr := range l.Transitions {
			if seen[tr.From] && !seen[tr.To] {
				seen[tr.To], again = true, true
			}
		}
	}
	return seen
}
