package runner

import (
	"fmt"
	"slices"
	"strings"

	"github.com/runplan/runplan/internal/phrase"
)

// Stage is a group of states of the loop.
type Stage string

// The seven stages, in order (LOOP-02).
const (
	Intake     Stage = "Intake"
	Understand Stage = "Understand"
	Design     Stage = "Design"
	Build      Stage = "Build"
	Verify     Stage = "Verify"
	Publish    Stage = "Publish"
	Land       Stage = "Land"
)

// State is the position of a run or a batch in the loop.
type State string

// The twenty states (LOOP-02).
const (
	StateLoad           State = "load"
	StateParse          State = "parse"
	StatePreflight      State = "preflight"
	StateIndex          State = "index"
	StateRetrieve       State = "retrieve"
	StateBrief          State = "brief"
	StateRoute          State = "route"
	StatePlanReview     State = "plan_review"
	StatePlanRefine     State = "plan_refine"
	StateEdit           State = "edit"
	StateSample         State = "sample"
	StateSynthesize     State = "synthesize"
	StateDebug          State = "debug"
	StateGate           State = "gate"
	StateSelfReview     State = "self_review"
	StateFidelityReview State = "fidelity_review"
	StateCommit         State = "commit"
	StatePublish        State = "publish"
	StateMerge          State = "merge"
	StateLearn          State = "learn"
)

// End is the end of a path through the loop. It is not a state.
const End State = "[*]"

// Trigger is the event that causes a transition.
type Trigger string

// The triggers.
const (
	OnDone      Trigger = "done"
	OnSkipped   Trigger = "skipped"   // nothing is configured for this state; always reported
	OnFailed    Trigger = "failed"    // the result is not good
	OnAgain     Trigger = "again"     // another attempt is worthwhile
	OnSample    Trigger = "sample"    // several candidates compete
	OnUndecided Trigger = "undecided" // no candidate won clearly
	OnExhausted Trigger = "exhausted" // no attempts left, or the last two were equal
	OnGreen     Trigger = "green"
	OnShallow   Trigger = "shallow"  // a small fix is enough
	OnComplex   Trigger = "complex"  // the cause is unknown
	OnChanged   Trigger = "changed"  // a hook of the repository changed the gated tree
	OnConflict  Trigger = "conflict" // conflict with later merges
	OnMoved     Trigger = "moved"    // the base of a candidate has changed
)

// StateInfo describes a state.
type StateInfo struct {
	Name  State  `json:"name"`
	Stage Stage  `json:"stage"`
	Scope string `json:"scope"` // "run" or "batch"
	Does  string `json:"does"`
}

// Transition is a transition between two states, or to [End].
type Transition struct {
	From State   `json:"from"`
	On   Trigger `json:"on"`
	To   State   `json:"to"`
}

// Loop is the control flow of a run as data (LOOP-01). [DefaultLoop] is its only definition; the machine and the
// diagrams use it. Each transition occurs in some run. A command that fails before a run begins, because its plan
// cannot be parsed for instance, leaves no run and so has no transition.
type Loop struct {
	Version     int          `json:"version"`
	Stages      []Stage      `json:"stages"`
	States      []StateInfo  `json:"states"`
	Transitions []Transition `json:"transitions"`
}

// LoopVersion increases with each change of the table or of the machine's reaction to events (LOOP-06). Journals
// contain it.
const LoopVersion = 5

// oldestLoop is the oldest version whose runs this program can still read and finish: as that version did it.
const oldestLoop = 3

// trialLoop is the first version in which a candidate that is red on top of merged work is gated again without that
// work.
const trialLoop = 4

// DefaultLoop returns the loop. Each call returns a new copy, so callers cannot change a shared one.
func DefaultLoop() Loop {
	return Loop{
		Version: LoopVersion,
		Stages:  []Stage{Intake, Understand, Design, Build, Verify, Publish, Land},
		States: []StateInfo{
			{StateLoad, Intake, "run", "read the plan and the configuration"},
			{StateParse, Intake, "run", "turn the markdown into batches"},
			{StatePreflight, Intake, "run", "check git, disk, agent and tools before any cost"},
			{StateIndex, Understand, "run", "open the index of the code, if it exists"},
			{StateRetrieve, Understand, "batch", "find the code that the batch needs"},
			{StateBrief, Understand, "batch", "write the text that the agent gets"},
			{StateRoute, Design, "run", "choose mode, order and agents"},
			{StatePlanReview, Design, "run", "review the plan of a self-fix before it costs something"},
			{StatePlanRefine, Design, "run", "draft the plan again, at most three rounds"},
			{StateEdit, Build, "batch", "run the agent in its workspace"},
			{StateSample, Build, "batch", "run several candidates in competition"},
			{StateSynthesize, Build, "batch", "combine the best parts into one candidate"},
			{StateDebug, Build, "batch", "analyse the failure and decide whether to retry"},
			{StateGate, Verify, "batch", "check the tree that will be merged"},
			{StateFidelityReview, Verify, "batch", "compare the code with its blueprint"},
			{StateSelfReview, Verify, "batch", "review the change in seven passes"},
			{StatePublish, Publish, "batch", "queue the accepted candidate for landing"},
			{StateCommit, Publish, "batch", "make the one commit, with the repository's hooks"},
			{StateMerge, Land, "batch", "move the run branch to the commit"},
			{StateLearn, Land, "batch", "record the result"},
		},
		Transitions: []Transition{
			{StateLoad, OnDone, StateParse},
			{StateParse, OnDone, StatePreflight},
			{StatePreflight, OnDone, StateIndex},
			{StateIndex, OnDone, StateRoute},
			{StateIndex, OnSkipped, StateRoute},
			{StateRoute, OnDone, StatePlanReview},
			{StatePlanReview, OnDone, StateRetrieve},
			{StatePlanReview, OnSkipped, StateRetrieve},
			{StatePlanReview, OnFailed, StatePlanRefine},
			{StatePlanRefine, OnDone, StatePlanReview},

			{StateRetrieve, OnDone, StateBrief},
			{StateBrief, OnDone, StateEdit},
			{StateBrief, OnSample, StateSample},
			{StateEdit, OnDone, StateGate},
			{StateEdit, OnFailed, StateDebug},
			{StateDebug, OnAgain, StateEdit},
			{StateDebug, OnSample, StateSample},
			{StateDebug, OnExhausted, End},
			{StateSample, OnDone, StateGate},
			{StateSample, OnSkipped, StateEdit},
			{StateSample, OnUndecided, StateSynthesize},
			{StateSample, OnFailed, StateDebug},
			{StateSynthesize, OnDone, StateGate},
			{StateSynthesize, OnFailed, StateDebug},

			{StateGate, OnDone, StateFidelityReview},
			{StateGate, OnFailed, StateDebug},
			{StateGate, OnConflict, StateEdit},
			{StateFidelityReview, OnDone, StateSelfReview},
			{StateFidelityReview, OnSkipped, StateSelfReview},
			{StateFidelityReview, OnFailed, StateDebug},
			{StateSelfReview, OnGreen, StatePublish},
			{StateSelfReview, OnShallow, StateEdit},
			{StateSelfReview, OnComplex, StateDebug},

			{StatePublish, OnDone, StateCommit},
			{StatePublish, OnMoved, StateGate},
			{StatePublish, OnFailed, StateDebug},
			{StateCommit, OnDone, StateMerge},
			{StateCommit, OnChanged, StateGate},
			{StateCommit, OnFailed, StateDebug},
			{StateCommit, OnMoved, StateGate},
			{StateMerge, OnDone, StateLearn},
			{StateMerge, OnMoved, StateGate},
			{StateLearn, OnDone, End},
		},
	}
}

// Next returns the target of a transition. False means that the loop has no such transition.
func (l Loop) Next(s State, t Trigger) (State, bool) {
	for _, tr := range l.Transitions {
		if tr.From == s && tr.On == t {
			return tr.To, true
		}
	}
	return "", false
}

// State returns a state by name (LOOP-05). The error lists the valid names.
func (l Loop) State(name State) (StateInfo, error) {
	i := slices.IndexFunc(l.States, func(s StateInfo) bool { return s.Name == name })
	if i < 0 {
		known := phrase.Join(l.States, ", ", func(s StateInfo) string { return string(s.Name) })
		return StateInfo{}, fmt.Errorf("loop: unknown state %q; states are %s", name, known)
	}
	return l.States[i], nil
}

// Mermaid draws the loop as a stateDiagram-v2, stages as blocks (LOOP-07).
func (l Loop) Mermaid() string {
	var b strings.Builder
	b.WriteString("stateDiagram-v2\n")
	for _, stage := range l.Stages {
		fmt.Fprintf(&b, "    state %s {\n", stage)
		for _, s := range l.States {
			if s.Stage == stage {
				fmt.Fprintf(&b, "        %s\n", s.Name)
			}
		}
		b.WriteString("    }\n")
	}
	fmt.Fprintf(&b, "    %s --> %s\n", End, l.States[0].Name)
	for _, t := range l.Transitions {
		fmt.Fprintf(&b, "    %s --> %s: %s\n", t.From, t.To, t.On)
	}
	return b.String()
}
