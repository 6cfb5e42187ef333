package sampling_test

import (
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/runplan/runplan/sampling"
)

// This example runs a whole tournament, as a runner does. A table replaces the agents and their gates.
func Example() {
	dir, err := os.MkdirTemp("", "sampling")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	store := sampling.Store{Path: filepath.Join(dir, "logs", "sampling-outcomes.json")}
	options, scorer := sampling.DefaultOptions(), sampling.Scorer{}
	memory, cost := uint64(32)<<30, 0.40

	t, err := sampling.Plan(sampling.Request{
		Batch: "4", Attempt: 2, Failure: &sampling.Failure{Outcome: "failed", Reason: "2 tests fail"},
		Escalate: true,
		Settings: sampling.Settings{OnRetry: true, Count: 3, MaxCount: 5, GBPerCandidate: 4}, Memory: &memory, Cost: &cost,
	})
	if err != nil || t.Action != sampling.Sample {
		fmt.Println(err, t.Reasons)
		return
	}
	fmt.Println(t.Reasons[0])
	fmt.Println(t.Cost)

	history, err := store.Read()
	if err != nil {
		fmt.Println(err) // a broken file: go on with the fixed list
	}
	ask := sampling.Ask{BatchType: "refactoring", Count: t.N, Digest: true}
	seen := []sampling.Measure{{Tests: 7}, {Passed: true, Tests: 9, DiffLines: 80},
		{Passed: true, Tests: 9, DiffLines: 90}}
	var cands []sampling.Candidate
	for i, slot := range sampling.Allocate(ask, history, sampling.Rand(1, "4"), options) {
		// the agent and the gates run here, with slot.Variant.Prompt in the brief
		c := sampling.Candidate{Number: slot.Number, Slot: slot, Measure: seen[i]}
		if c.Score, err = scorer.Score(c.Measure); err != nil {
			fmt.Println(err)
			return
		}
		fmt.Printf("%d %s: %d\n", c.Number, slot.Variant.Name, c.Score)
		cands = append(cands, c)
	}
	round1 := sampling.Decide(cands, options)
	held := sampling.Held{BatchType: ask.BatchType, Run: "r", Batch: "4", Attempt: 2, Trigger: t.Trigger,
		At: time.Unix(0, 0), Round1: cands, Decision: round1, Final: round1}
	if round1.Next == sampling.Synthesize {
		in := sampling.SynthesisInput{Batch: "4", Decision: round1, Tokens: 6000}
		for _, c := range cands {
			in.Attempts = append(in.Attempts, sampling.Attempt{Candidate: c, Terms: scorer.Explain(c.Measure)})
		}
		brief, err := sampling.Brief(in)
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println("synthesis:", brief[:15])
		s := sampling.Candidate{Number: len(cands) + 1} // its gates failed
		held.Synthesis, held.Final = &s, sampling.AfterSynthesis(round1, s)
	}
	fmt.Println(held.Final.Next, held.Final.Leader)
	if err := store.Append(held.Outcomes()...); err != nil {
		fmt.Println(err)
		return
	}
	outcomes, err := store.Read()
	fmt.Println(len(outcomes), "outcomes", err)
	fmt.Println(sampling.Rates(outcomes, sampling.Retries{}).Lines()[0])
	// Output:
	// attempt 1 failed: 3 candidates instead of a plain retry
	// Sampling B4: ~$1.20 for 3 candidates vs $0.40 single
	// 1 vanilla: 0
	// 2 different-approach: 1213
	// 3 minimal-change: 1199
	// synthesis: # Batch `4`: on
	// use 2
	// 4 outcomes <nil>
	// after a failed attempt, sampling: 1 of 1 (100 %, 21 to 100 %)
}
