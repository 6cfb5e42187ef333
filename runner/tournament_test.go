package runner

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/runplan/runplan/gates"
)

// Several candidates of a batch compete on one base, outside the merge queue; the winner enters the merge queue.
func TestTournament(t *testing.T) {
	again := Info{Resample: true}
	team := Info{Workers: 3, Speculate: true, Resample: true}
	tell(t, map[string]scenario{
		"after a failure candidates compete, one after the other, and the winner is merged": {plan: "a", info: again, script: `
			start                                  -> a/r1-c0/execute
			a/r1-c0/execute ok tree=t              -> a/r1-c0/gate
			a/r1-c0/gate failed findings=vet       -> a/r2-c0/sample after=3
			a/r2-c0/sample ok slots=plain,small    -> a/r2-c1/execute base=base after=3 variant=plain
			a/r2-c1/execute ok commit=c1 tree=t1   -> a/r2-c1/gate base=base commit=c1 tree=t1 variant=plain a/r2-c2/execute base=base after=3 variant=small
			a/r2-c1/gate failed                    ->
			a/r2-c2/execute ok commit=c2 tree=t2   -> a/r2-c2/gate commit=c2 tree=t2
			a/r2-c2/gate ok tests=7                -> a/r2-c2/judge base=base variant=none
			end running
			a/r2-c2/judge ok candidate=2           -> a/r2-c2/commit base=base commit=c2 tree=t2
			a/r2-c2/commit ok commit=k             -> a/r2-c2/merge base=base commit=k
			a/r2-c2/merge ok                       ->
			tip k
			end done`},
		"where no tournament can be held, one attempt has to do": {plan: "a", info: again, script: `
			start                                  -> a/r1-c0/execute
			a/r1-c0/execute timed_out              -> a/r2-c0/sample after=2
			a/r2-c0/sample refused                 -> a/r2-c0/execute base=base after=2 variant=none
			a/r2-c0/execute ok                     -> a/r2-c0/gate`},
		"where nothing could help any more, the batch fails": {plan: "a b:a", info: again, script: `
			start                                  -> a/r1-c0/execute
			a/r1-c0/execute failed                 -> a/r2-c0/sample
			a/r2-c0/sample failed reason=hopeless  ->
			status a=failed b=waiting
			end failed batch 1: hopeless`},
		"a batch that is sampled from the start has no attempt before": {plan: "a+2", script: `
			start                                  -> a/r1-c0/sample after=0
			a/r1-c0/sample ok slots=x,y            -> a/r1-c1/execute base=base after=0
			status a=working`},
		"candidates go up a tier, as an attempt after a failure does": {plan: "a@small", info: Info{
			Resample: true, Escalate: true, Models: map[string]string{"small": "s", "medium": "m"}}, script: `
			start                                  -> a/r1-c0/execute tier=small model=s
			a/r1-c0/execute failed                 -> a/r2-c0/sample tier=medium
			a/r2-c0/sample ok slots=x,y            -> a/r2-c1/execute tier=medium model=m`},
		"a conflict, or a refusing hook, does not cause a tournament": {plan: "a", info: again, script: `
			start                                  -> a/r1-c0/execute
			a/r1-c0/execute ok commit=c            -> a/r1-c0/gate
			a/r1-c0/gate ok                        -> a/r1-c0/commit
			a/r1-c0/commit failed                  -> a/r2-c0/execute
			a/r2-c0/execute ok commit=d            -> a/r2-c0/gate
			a/r2-c0/gate ok                        -> a/r2-c0/commit
			a/r2-c0/commit ok commit=k             -> a/r2-c0/merge
			a/r2-c0/merge moved base=x             -> a/r2-c0/rebase
			a/r2-c0/rebase conflict                -> a/r3-c0/execute base=x`},

		"only as many candidates run at once as the run has workers": {plan: "a+3", info: team, script: `
			start                                  -> a/r1-c0/sample
			a/r1-c0/sample ok slots=x,y,z atonce=2 -> a/r1-c1/execute a/r1-c2/execute
			a/r1-c2/execute ok                     -> a/r1-c2/gate a/r1-c3/execute
			pending                                -> a/r1-c1/execute a/r1-c2/gate a/r1-c3/execute`},
		"candidates share the workers with other batches": {plan: "a+3 b", info: Info{Workers: 2}, script: `
			start                                  -> a/r1-c0/sample b/r1-c0/execute
			a/r1-c0/sample ok slots=x,y,z atonce=2 -> a/r1-c1/execute
			a/r1-c1/execute ok                     -> a/r1-c1/gate a/r1-c2/execute
			b/r1-c0/execute failed                 -> a/r1-c3/execute
			a/r1-c2/execute ok                     -> a/r1-c2/gate b/r2-c0/execute`},
		"no more gates look at candidates than there are workers": {plan: "a+3", info: Info{Workers: 2}, script: `
			start                                  -> a/r1-c0/sample
			a/r1-c0/sample ok slots=x,y,z atonce=3 -> a/r1-c1/execute a/r1-c2/execute
			a/r1-c1/execute ok                     -> a/r1-c1/gate a/r1-c3/execute
			a/r1-c2/execute ok                     -> a/r1-c2/gate
			a/r1-c3/execute ok                     ->
			a/r1-c1/gate failed                    -> a/r1-c3/gate
			a/r1-c3/gate ok                        ->
			a/r1-c2/gate ok                        -> a/r1-c3/judge`},
		"what an agent could not finish is judged without gates": {plan: "a+2", script: `
			start                                  -> a/r1-c0/sample
			a/r1-c0/sample ok slots=x,y            -> a/r1-c1/execute
			a/r1-c1/execute timed_out              -> a/r1-c2/execute
			a/r1-c2/execute unchanged              -> a/r1-c2/judge`},
		"a candidate that cannot start concurrently starts alone": {plan: "a+2", info: Info{Workers: 2}, script: `
			start                                  -> a/r1-c0/sample
			a/r1-c0/sample ok slots=x,y atonce=2   -> a/r1-c1/execute a/r1-c2/execute
			a/r1-c2/execute not_started            ->
			a/r1-c1/execute ok                     -> a/r1-c1/gate a/r1-c2/execute
			a/r1-c2/execute not_started reason=gone
			a/r1-c1/gate ok                        ->
			end stopped error
			because gone`},

		"a candidate that meets a limit parks the batch, and takes its turn after the resume": {plan: "a+3", info: Info{Workers: 2}, script: `
			start                                  -> a/r1-c0/sample
			a/r1-c0/sample ok slots=x,y,z atonce=2 -> a/r1-c1/execute a/r1-c2/execute
			a/r1-c1/execute limited                ->
			parked a=limited
			a/r1-c2/execute ok commit=c2           -> a/r1-c2/gate
			a/r1-c2/gate ok                        ->
			end stopped limited
			resume                                 -> a/r1-c1/execute a/r1-c3/execute
			parked
			a/r1-c1/execute failed                 ->
			a/r1-c3/execute failed                 -> a/r1-c3/judge
			a/r1-c3/judge ok candidate=2           -> a/r1-c3/commit commit=c2`},
		"where limits are waited for, a candidate takes its turn by itself": {plan: "a+2", info: Info{OnLimit: "wait"}, script: `
			start                                  -> a/r1-c0/sample
			a/r1-c0/sample ok slots=x,y            -> a/r1-c1/execute
			a/r1-c1/execute limited retry=60       -> a/r1-c0/wait until=60
			a/r1-c0/wait ok                        -> a/r1-c1/execute`},

		"without a winner one more candidate is made of all, on the same base, and used if it passes": {plan: "a+2", script: `
			start                                  -> a/r1-c0/sample
			a/r1-c0/sample ok slots=x,y            -> a/r1-c1/execute
			a/r1-c1/execute failed                 -> a/r1-c2/execute
			a/r1-c2/execute ok                     -> a/r1-c2/gate
			a/r1-c2/gate failed                    -> a/r1-c2/judge
			a/r1-c2/judge undecided                -> a/r1-c3/execute base=base variant=synthesis
			a/r1-c3/execute ok commit=c3           -> a/r1-c3/gate commit=c3
			a/r1-c3/gate ok                        -> a/r1-c3/judge
			a/r1-c3/judge ok candidate=3           -> a/r1-c3/commit commit=c3`},
		"if it fails, the leader is used": {plan: "a+2", script: `
			start                                  -> a/r1-c0/sample
			a/r1-c0/sample ok slots=x,y            -> a/r1-c1/execute
			a/r1-c1/execute ok commit=c1           -> a/r1-c1/gate a/r1-c2/execute
			a/r1-c2/execute ok commit=c2           ->
			a/r1-c1/gate ok                        -> a/r1-c2/gate
			a/r1-c2/gate ok                        -> a/r1-c2/judge
			a/r1-c2/judge undecided candidate=1    -> a/r1-c3/execute variant=synthesis
			a/r1-c3/execute ok                     -> a/r1-c3/gate
			a/r1-c3/gate failed                    -> a/r1-c3/judge
			a/r1-c3/judge ok candidate=1           -> a/r1-c3/commit commit=c1`},
		"if no candidate passed, the batch fails, even if attempts are left": {plan: "a+2", info: Info{Resample: true, MaxAttempts: 5}, script: `
			start                                  -> a/r1-c0/sample
			a/r1-c0/sample ok slots=x,y            -> a/r1-c1/execute
			a/r1-c1/execute failed                 -> a/r1-c2/execute
			a/r1-c2/execute failed                 -> a/r1-c2/judge
			a/r1-c2/judge undecided                -> a/r1-c3/execute
			a/r1-c3/execute failed                 -> a/r1-c3/judge
			a/r1-c3/judge failed reason=nobody     ->
			status a=failed
			end failed batch 1: nobody`},
		"the attempt after a resume gets the failure of the tournament": {plan: "a", info: Info{Resample: true, MaxAttempts: 5}, script: `
			start                                  -> a/r1-c0/execute
			a/r1-c0/execute failed                 -> a/r2-c0/sample
			a/r2-c0/sample ok slots=x,y            -> a/r2-c1/execute
			a/r2-c1/execute failed                 -> a/r2-c2/execute
			a/r2-c2/execute failed                 -> a/r2-c2/judge
			a/r2-c2/judge undecided                -> a/r2-c3/execute
			a/r2-c3/execute failed                 -> a/r2-c3/judge
			a/r2-c3/judge failed                   ->
			status a=failed
			resume                                 -> a/r3-c0/execute after=8`},
		"a candidate that did not pass never wins": {plan: "a+2", script: `
			start                                  -> a/r1-c0/sample
			a/r1-c0/sample ok slots=x,y            -> a/r1-c1/execute
			a/r1-c1/execute ok                     -> a/r1-c1/gate a/r1-c2/execute
			a/r1-c1/gate failed                    ->
			a/r1-c2/execute failed                 -> a/r1-c2/judge
			a/r1-c2/judge ok candidate=1 reason=no ->
			status a=failed`},
		"there is no second synthesis": {plan: "a+2", script: `
			start                                  -> a/r1-c0/sample
			a/r1-c0/sample ok slots=x,y            -> a/r1-c1/execute
			a/r1-c1/execute failed                 -> a/r1-c2/execute
			a/r1-c2/execute failed                 -> a/r1-c2/judge
			a/r1-c2/judge undecided                -> a/r1-c3/execute
			a/r1-c3/execute failed                 -> a/r1-c3/judge
			a/r1-c3/judge undecided                ->
			status a=failed`},

		"with stop_at_first the first candidate that passes ends the tournament": {plan: "a+3", info: Info{Workers: 3, StopAtFirst: true}, script: `
			start                                  -> a/r1-c0/sample
			a/r1-c0/sample ok slots=x,y,z atonce=3 -> a/r1-c1/execute a/r1-c2/execute a/r1-c3/execute
			a/r1-c2/execute ok commit=c2           -> a/r1-c2/gate
			a/r1-c3/execute ok                     -> a/r1-c3/gate
			a/r1-c2/gate ok                        -> a/r1-c3/judge
			pending                                -> a/r1-c3/judge
			a/r1-c1/execute ok                     ->
			a/r1-c3/gate ok                        ->
			a/r1-c3/judge ok candidate=2           -> a/r1-c3/commit commit=c2`},

		"the winner is rebased onto work merged meanwhile, and gated again": {plan: "a+2 b", info: Info{Workers: 2}, script: `
			start                                  -> a/r1-c0/sample b/r1-c0/execute
			a/r1-c0/sample ok slots=x,y            -> a/r1-c1/execute base=base
			b/r1-c0/execute ok commit=b1           -> b/r1-c0/gate
			b/r1-c0/gate ok                        -> b/r1-c0/commit
			b/r1-c0/commit ok commit=b9            -> b/r1-c0/merge
			b/r1-c0/merge ok                       ->
			a/r1-c1/execute ok commit=c1           -> a/r1-c1/gate base=base a/r1-c2/execute base=base
			a/r1-c1/gate ok                        ->
			a/r1-c2/execute failed                 -> a/r1-c2/judge base=base
			a/r1-c2/judge ok candidate=1           -> a/r1-c2/rebase base=b9 from=base commit=c1
			a/r1-c2/rebase ok commit=c7 tree=t7    -> a/r1-c2/gate base=b9 commit=c7 variant=none
			a/r1-c2/gate ok                        -> a/r1-c2/commit base=b9 commit=c7`},
		"the winner enters the queue behind earlier candidates": {plan: "a+2 b", info: Info{Workers: 2, Speculate: true}, script: `
			start                                  -> a/r1-c0/sample b/r1-c0/execute
			a/r1-c0/sample ok slots=x,y            -> a/r1-c1/execute
			a/r1-c1/execute ok commit=c1           -> a/r1-c1/gate a/r1-c2/execute
			a/r1-c1/gate ok                        ->
			a/r1-c2/execute failed                 -> a/r1-c2/judge
			b/r1-c0/execute ok commit=b1           -> b/r1-c0/gate
			a/r1-c2/judge ok candidate=1           -> a/r1-c2/rebase base=b1 from=base commit=c1
			a/r1-c2/rebase ok commit=c7            -> a/r1-c2/gate base=b1 commit=c7 on=b
			queue b a`},
		"candidates may start on unmerged work, and stay on it after its merge": {plan: "a b+2:a*", info: team, script: `
			start                                  -> a/r1-c0/execute
			a/r1-c0/execute ok commit=a1           -> a/r1-c0/gate b/r1-c0/sample
			b/r1-c0/sample ok slots=x,y            -> b/r1-c1/execute base=a1 on=a
			a/r1-c0/gate ok                        -> a/r1-c0/commit
			a/r1-c0/commit ok commit=a9            -> a/r1-c0/merge
			a/r1-c0/merge ok                       ->
			b/r1-c1/execute ok commit=c1           -> b/r1-c1/gate base=a1 b/r1-c2/execute base=a1
			b/r1-c2/execute failed                 ->
			b/r1-c1/gate ok                        -> b/r1-c2/judge
			b/r1-c2/judge ok candidate=1           -> b/r1-c2/commit base=a9 commit=c1`},
		"a tournament on what did not hold is cancelled, and held again on what does": {plan: "a b+2:a*", info: Info{Workers: 3, Speculate: true}, script: `
			start                                  -> a/r1-c0/execute
			a/r1-c0/execute ok commit=a1           -> a/r1-c0/gate b/r1-c0/sample
			b/r1-c0/sample ok slots=x,y atonce=2   -> b/r1-c1/execute base=a1 on=a b/r1-c2/execute base=a1
			b/r1-c1/execute ok                     -> b/r1-c1/gate
			a/r1-c0/gate failed                    -> a/r2-c0/execute
			status a=working b=waiting
			pending                                -> a/r2-c0/execute
			b/r1-c1/gate ok                        ->
			b/r1-c2/execute ok                     ->
			a/r2-c0/execute ok commit=a2           -> a/r2-c0/gate b/r2-c0/sample
			b/r2-c0/sample ok slots=x,y            -> b/r2-c1/execute base=a2 on=a`},
		"what hooks change of the winner is gated again": {plan: "a+2", script: `
			start                                  -> a/r1-c0/sample
			a/r1-c0/sample ok slots=x,y            -> a/r1-c1/execute
			a/r1-c1/execute ok commit=c1 tree=t1   -> a/r1-c1/gate a/r1-c2/execute
			a/r1-c1/gate ok                        ->
			a/r1-c2/execute failed                 -> a/r1-c2/judge
			a/r1-c2/judge ok candidate=1           -> a/r1-c2/commit tree=t1
			a/r1-c2/commit changed tree=t8         -> a/r1-c2/gate tree=t8 variant=none
			a/r1-c2/gate ok                        -> a/r1-c3/commit tree=t8`},

		"only interrupted commands are due again": {plan: "a+3", info: Info{Workers: 2}, script: `
			start                                  -> a/r1-c0/sample
			a/r1-c0/sample ok slots=x,y,z atonce=2 -> a/r1-c1/execute a/r1-c2/execute
			a/r1-c1/execute ok                     -> a/r1-c1/gate a/r1-c3/execute
			a/r1-c1/gate ok                        ->
			stop cancelled
			a/r1-c2/execute ok                     ->
			a/r1-c3/execute cancelled              ->
			end stopped cancelled
			resume                                 -> a/r1-c2/gate a/r1-c3/execute
			pending                                -> a/r1-c2/gate a/r1-c3/execute`},
		"a judge that was cut off is asked again": {plan: "a+2", script: `
			start                                  -> a/r1-c0/sample
			a/r1-c0/sample cancelled               ->
			resume                                 -> a/r1-c0/sample
			a/r1-c0/sample ok slots=x,y            -> a/r1-c1/execute
			a/r1-c1/execute failed                 -> a/r1-c2/execute
			a/r1-c2/execute failed                 -> a/r1-c2/judge
			a/r1-c2/judge cancelled                ->
			end stopped cancelled
			resume                                 -> a/r1-c2/judge
			a/r1-c2/judge undecided                -> a/r1-c3/execute`},
		"the cost of each candidate counts, and no further one is made that would overrun the limit": {plan: "a+3", info: Info{MaxCostUSD: 1}, script: `
			start                                  -> a/r1-c0/sample
			a/r1-c0/sample ok slots=x,y,z          -> a/r1-c1/execute
			a/r1-c1/execute ok cost=0.4            -> a/r1-c1/gate a/r1-c2/execute
			a/r1-c1/gate ok                        ->
			a/r1-c2/execute failed cost=0.4        ->
			end stopped limited
			resume limit=2 workers=1               -> a/r1-c3/execute`},
	})
}

// The summary lists each candidate, and takes the values of the batch from the winner.
func TestTournamentSummary(t *testing.T) {
	passed := func(n int) *gates.TestCount { return &gates.TestCount{Passed: n} }
	of := func(kind EventKind, candidate int, e Event) Event {
		e.Kind, e.Batch, e.Attempt, e.Candidate = kind, "a", 1, candidate
		command := map[EventKind]string{Sampled: "c0/sample", Executed: "c%/execute", Gated: "c%/gate",
			Judged: "c3/judge"}[kind]
		e.Command = "a/r1-" + strings.ReplaceAll(command, "%", strconv.Itoa(candidate))
		return e
	}
	sum := folded(t, "a+3",
		Event{Kind: BatchStarted, Batch: "a"},
		of(Sampled, 0, Event{Outcome: OutcomeOK, Reason: "asked for",
			Slots: []Slot{{Number: 1, Variant: "x"}, {Number: 2, Variant: "y"}, {Number: 3, Variant: "z"}}}),
		of(Executed, 1, Event{Outcome: OutcomeOK, Usage: cost(0.5), Tree: "t1"}),
		of(Gated, 1, Event{Outcome: OutcomeOK, Tests: passed(4), Reports: []gates.Report{{Gate: "one"}}}),
		of(Executed, 2, Event{Outcome: OutcomeTimedOut, Usage: cost(0.25), Reason: "too long"}),
		of(Executed, 3, Event{Outcome: OutcomeOK, Usage: cost(0.25), Tree: "t3"}),
		of(Gated, 3, Event{Outcome: OutcomeOK, Tests: passed(9), Reports: []gates.Report{{Gate: "three"}}}),
		of(Judged, 1, Event{Outcome: OutcomeOK, Reason: "the best",
			Scores: []CandScore{{Candidate: 1, Variant: "x", Passed: true, Score: -7}, {Candidate: 2, Variant: "y"},
				{Candidate: 3, Variant: "z", Passed: true, Score: -9}}}),
	)
	b := sum.Batches[0]
	var states []string
	for _, c := range b.Candidates {
		states = append(states, fmt.Sprintf("%d %s %s %d %s", c.Number, c.Variant, c.State, *c.Score, c.Reason))
	}
	if diff := cmp.Diff([]string{"1 x won -7 ", "2 y failed 0 too long", "3 z passed -9 "}, states); diff != "" {
		t.Error(diff)
	}
	if b.Sampling != "the best" || *b.CostUSD != 1 || *b.TestsAfter != 4 || len(b.Gates) != 1 || b.Gates[0].Gate != "one" {
		t.Errorf("%q, cost %v, %v tests, gates %+v", b.Sampling, *b.CostUSD, *b.TestsAfter, b.Gates)
	}
}

// Candidates of one batch run in parallel even if the run has fewer workers (C-11); other batches keep to the run's
// workers. If an agent cannot start in parallel, the remaining candidates run one at a time.
func TestCandidatesRunInParallel(t *testing.T) {
	team := Info{Workers: 2, Candidates: 5, Speculate: true}
	tell(t, map[string]scenario{
		"five at once, and no third batch": {plan: "a+5 b c", info: team, script: `
			start                                  -> a/r1-c0/sample b/r1-c0/execute
			a/r1-c0/sample ok slots=v,w,x,y,z atonce=5 -> a/r1-c1/execute a/r1-c2/execute a/r1-c3/execute a/r1-c4/execute
			b/r1-c0/execute ok commit=b1           -> b/r1-c0/gate a/r1-c5/execute
			a/r1-c1/execute failed                 ->
			a/r1-c2/execute failed                 ->
			a/r1-c3/execute failed                 ->
			a/r1-c4/execute failed                 -> c/r1-c0/execute`},
		"one at a time after a failed concurrent start": {plan: "a+3", info: Info{Workers: 1, Candidates: 5}, script: `
			start                                  -> a/r1-c0/sample
			a/r1-c0/sample ok slots=x,y,z atonce=3 -> a/r1-c1/execute a/r1-c2/execute a/r1-c3/execute
			a/r1-c1/execute not_started            ->
			a/r1-c2/execute ok commit=a2           -> a/r1-c2/gate
			a/r1-c3/execute ok commit=a3           -> a/r1-c1/execute
			end running`},
	})
}
