package runner

import "testing"

// Agents continue started batches first, then take the longest chain of dependents.
func TestScheduleOrder(t *testing.T) {
	tell(t, map[string]scenario{
		"nothing known: the longest chain goes first, then plan order": {plan: "a b c:b d:c e", info: Info{Workers: 2}, script: `
			start                                  -> b/r1-c0/execute a/r1-c0/execute`},
		"the chain that takes longest goes first, however many batches it has": {plan: "a#10 b#10:a c#10:b d#90 e#5", info: Info{Workers: 2}, script: `
			start                                  -> d/r1-c0/execute a/r1-c0/execute`},
		"many short batches behind one are no long chain": {plan: "a#3 b#1:a c#1:a d#1:a e#5", info: Info{Workers: 2}, script: `
			start                                  -> e/r1-c0/execute a/r1-c0/execute`},
		"a batch of unknown length counts as long as the average": {plan: "a#10 b#50 c d#29 e#31", info: Info{Workers: 5}, script: `
			start                                  -> b/r1-c0/execute e/r1-c0/execute c/r1-c0/execute d/r1-c0/execute a/r1-c0/execute`},
		"a skipped batch takes no time, but the batches after it do": {plan: "a#4 s:a!empty c#4:s b#9 d#7", info: Info{Workers: 4}, script: `
			start                                  -> b/r1-c0/execute a/r1-c0/execute d/r1-c0/execute c/r1-c0/execute`},
		"started batches continue before new ones start": {plan: "a b c:b", script: `
			start                                  -> b/r1-c0/execute
			b/r1-c0/execute failed                 -> b/r2-c0/execute`},
		"the longest chain comes first, be it on the run branch or on a candidate": {plan: "a#9 b#9:a* c#1", info: Info{Workers: 1, Speculate: true}, script: `
			start                                  -> a/r1-c0/execute
			a/r1-c0/execute ok commit=a1           -> a/r1-c0/gate b/r1-c0/execute base=a1
			b/r1-c0/execute ok commit=b1           -> c/r1-c0/execute base=base`},
		"of two equally ranked batches, the one on the run branch starts first": {plan: "a#9 b#5:a* c#5", info: Info{Workers: 1, Speculate: true}, script: `
			start                                  -> a/r1-c0/execute
			a/r1-c0/execute ok commit=a1           -> a/r1-c0/gate c/r1-c0/execute base=base`},
		"a worker is kept for a longer chain that waits for a rebase only": {plan: "a#9 b#8 c#7:b* d#1", info: Info{Workers: 2, Speculate: true}, script: `
			start                                  -> b/r1-c0/execute a/r1-c0/execute
			a/r1-c0/execute ok commit=a1           -> a/r1-c0/gate d/r1-c0/execute
			b/r1-c0/execute ok commit=b1           -> b/r1-c0/rebase base=a1
			b/r1-c0/rebase ok commit=b2            -> b/r1-c0/gate c/r1-c0/execute base=b2 on=b`},
		"a shorter one waits as long, and no longer": {plan: "a#9 b#8 c#7:b* d#1 e#1", info: Info{Workers: 2, Speculate: true}, script: `
			start                                  -> b/r1-c0/execute a/r1-c0/execute
			a/r1-c0/execute ok commit=a1           -> a/r1-c0/gate d/r1-c0/execute
			b/r1-c0/execute ok commit=b1           -> b/r1-c0/rebase base=a1
			b/r1-c0/rebase conflict                -> e/r1-c0/execute`},
		"no more agents are running than there are workers": {plan: "a b c d", info: Info{Workers: 3}, script: `
			start                                  -> a/r1-c0/execute b/r1-c0/execute c/r1-c0/execute
			b/r1-c0/execute failed                 -> b/r2-c0/execute
			b/r2-c0/execute timed_out              -> b/r3-c0/execute
			b/r3-c0/execute failed                 -> d/r1-c0/execute`},
		"a resumed run may have more workers": {plan: "a b c", script: `
			start                                  -> a/r1-c0/execute
			resume workers=3                       -> b/r1-c0/execute c/r1-c0/execute`},
		"or fewer: running work ends first": {plan: "a b c", info: Info{Workers: 2}, script: `
			start                                  -> a/r1-c0/execute b/r1-c0/execute
			resume workers=1                       ->
			a/r1-c0/execute failed                 ->
			b/r1-c0/execute failed                 -> a/r2-c0/execute
			a/r2-c0/execute timed_out              -> a/r3-c0/execute`},
		"a resume that does not say how many keeps them": {plan: "a b c", info: Info{Workers: 2}, script: `
			start                                  -> a/r1-c0/execute b/r1-c0/execute
			resume                                 ->
			a/r1-c0/execute ok                     -> a/r1-c0/gate c/r1-c0/execute`},
	})
}

// A batch may start early on an unmerged candidate (TEAM-04), and shares the fate of that candidate.
func TestEarlyStart(t *testing.T) {
	team := Info{Workers: 3, Speculate: true}
	tell(t, map[string]scenario{
		"a batch starts on a candidate, which is then merged: nothing has to be done again": {plan: "a b:a*", info: team, script: `
			start                                  -> a/r1-c0/execute
			a/r1-c0/execute ok commit=a1           -> a/r1-c0/gate b/r1-c0/execute base=a1 on=a
			a/r1-c0/gate ok                        -> a/r1-c0/commit
			a/r1-c0/commit ok commit=a9            -> a/r1-c0/merge
			a/r1-c0/merge ok                       ->
			pending                                -> b/r1-c0/execute base=a1
			b/r1-c0/execute ok commit=b1           -> b/r1-c0/gate base=a9 commit=b1 on=
			b/r1-c0/gate ok                        -> b/r1-c0/commit base=a9`},
		"a red candidate withdraws the batches that started on it": {plan: "a b:a* c:b* d", info: Info{Workers: 4, Speculate: true}, script: `
			start                                  -> a/r1-c0/execute d/r1-c0/execute
			a/r1-c0/execute ok commit=a1           -> a/r1-c0/gate b/r1-c0/execute base=a1 on=a
			b/r1-c0/execute ok commit=b1           -> b/r1-c0/gate base=a1 commit=b1 on=a c/r1-c0/execute base=b1 on=b
			queue a b
			a/r1-c0/gate failed                    -> a/r2-c0/execute
			status a=working b=waiting c=waiting d=working
			queue
			pending                                -> a/r2-c0/execute d/r1-c0/execute
			b/r1-c0/gate ok                        ->
			c/r1-c0/execute ok commit=c1           ->
			a/r2-c0/execute ok commit=a2           -> a/r2-c0/gate b/r2-c0/execute base=a2 on=a`},
		"a red candidate withdraws them in any order of the plan": {plan: "c:b* b:a* a", info: team, script: `
			start                                  -> a/r1-c0/execute
			a/r1-c0/execute ok commit=a1           -> a/r1-c0/gate b/r1-c0/execute base=a1 on=a
			b/r1-c0/execute ok commit=b1           -> b/r1-c0/gate base=a1 commit=b1 on=a c/r1-c0/execute base=b1 on=b
			a/r1-c0/gate failed                    -> a/r2-c0/execute
			status c=waiting b=waiting a=working
			pending                                -> a/r2-c0/execute`},
		"a batch that started on a red candidate waits until the cause is known": {plan: "a b c:b*", info: team, script: `
			start                                  -> b/r1-c0/execute a/r1-c0/execute
			a/r1-c0/execute ok commit=a1           -> a/r1-c0/gate
			b/r1-c0/execute ok commit=b1           -> b/r1-c0/rebase base=a1
			b/r1-c0/rebase ok commit=b2            -> b/r1-c0/gate c/r1-c0/execute base=b2 on=b
			c/r1-c0/execute ok commit=c1           -> c/r1-c0/gate base=b2
			b/r1-c0/gate failed                    ->
			c/r1-c0/gate ok                        ->
			queue a b=red c=green
			a/r1-c0/gate failed                    -> b/r1-c1/gate base=base commit=b1 c/r1-c0/rebase base=b1 from=b2 commit=c1 a/r2-c0/execute
			queue b c`},
		"an agent gets the test count of its base, if it is known": {plan: "a b:a c:b*", info: team, script: `
			start                                  -> a/r1-c0/execute before=unknown
			a/r1-c0/execute ok commit=a1           -> a/r1-c0/gate
			a/r1-c0/gate ok tests=9                -> a/r1-c0/commit
			a/r1-c0/commit ok commit=a9            -> a/r1-c0/merge
			a/r1-c0/merge ok                       -> b/r1-c0/execute base=a9 before=9
			b/r1-c0/execute ok commit=b1           -> b/r1-c0/gate before=9 c/r1-c0/execute base=b1 before=unknown`},
		"no batch starts on a red candidate": {plan: "b c:b* a d e", info: Info{Workers: 2, Speculate: true}, script: `
			start                                  -> b/r1-c0/execute a/r1-c0/execute
			a/r1-c0/execute ok commit=a1           -> a/r1-c0/gate d/r1-c0/execute
			b/r1-c0/execute ok commit=b1           -> b/r1-c0/rebase base=a1
			b/r1-c0/rebase ok commit=b2            -> b/r1-c0/gate e/r1-c0/execute
			b/r1-c0/gate failed                    ->
			d/r1-c0/execute ok commit=d1           -> d/r1-c0/rebase base=a1
			queue a b=red d
			a/r1-c0/gate failed                    -> b/r1-c1/gate base=base commit=b1 d/r1-c1/rebase base=b1 a/r2-c0/execute`},
		"a batch starts early only if all that it needs is in the queue": {plan: "a b c:a*,b*", info: team, script: `
			start                                  -> a/r1-c0/execute b/r1-c0/execute
			a/r1-c0/execute ok commit=a1           -> a/r1-c0/gate
			b/r1-c0/execute ok commit=b1           -> b/r1-c0/rebase base=a1
			b/r1-c0/rebase ok commit=b2            -> b/r1-c0/gate c/r1-c0/execute base=b2 on=a,b`},
		"a batch does not start early if its files overlap too much with one dependency": {plan: "a b c:a*,b", info: team, script: `
			start                                  -> a/r1-c0/execute b/r1-c0/execute
			a/r1-c0/execute ok commit=a1           -> a/r1-c0/gate
			b/r1-c0/execute ok commit=b1           -> b/r1-c0/rebase
			b/r1-c0/rebase ok commit=b2            -> b/r1-c0/gate
			status a=working b=working c=waiting`},
		"without speculation nothing starts early": {plan: "a b:a*", info: Info{Workers: 2}, script: `
			start                                  -> a/r1-c0/execute
			a/r1-c0/execute ok commit=a1           -> a/r1-c0/gate
			status a=working b=waiting`},
		"batches that started on a candidate follow it to its new base": {plan: "a b c:b*", info: team, script: `
			start                                  -> b/r1-c0/execute a/r1-c0/execute
			a/r1-c0/execute ok commit=a1           -> a/r1-c0/gate
			b/r1-c0/execute ok commit=b1           -> b/r1-c0/rebase base=a1
			b/r1-c0/rebase ok commit=b2            -> b/r1-c0/gate c/r1-c0/execute base=b2 on=b
			a/r1-c0/gate failed                    -> b/r1-c1/gate base=base commit=b1 a/r2-c0/execute
			c/r1-c0/execute ok commit=c1           -> c/r1-c0/rebase base=b1 from=b2 commit=c1`},
		"a batch whose ground went has all its attempts again": {plan: "a b:a*", info: Info{Workers: 2, Speculate: true, MaxAttempts: 2}, script: `
			start                                  -> a/r1-c0/execute
			a/r1-c0/execute ok commit=a1           -> a/r1-c0/gate b/r1-c0/execute
			b/r1-c0/execute failed                 -> b/r2-c0/execute base=a1
			a/r1-c0/gate failed                    -> a/r2-c0/execute
			a/r2-c0/execute ok commit=a2           -> a/r2-c0/gate b/r3-c0/execute base=a2
			b/r3-c0/execute failed                 -> b/r4-c0/execute
			b/r4-c0/execute timed_out              ->
			status a=working b=failed`},
		"a batch that failed on a candidate which did not hold has not failed": {plan: "a b:a*", info: Info{Workers: 2, Speculate: true, MaxAttempts: 2}, script: `
			start                                  -> a/r1-c0/execute
			a/r1-c0/execute ok commit=a1           -> a/r1-c0/gate b/r1-c0/execute base=a1
			b/r1-c0/execute failed                 -> b/r2-c0/execute base=a1
			b/r2-c0/execute timed_out              ->
			status a=working b=failed
			a/r1-c0/gate failed                    -> a/r2-c0/execute base=base
			status a=working b=waiting
			a/r2-c0/execute ok commit=a2           -> a/r2-c0/gate b/r3-c0/execute base=a2`},
		"a batch that failed on a candidate which holds has failed": {plan: "a b:a*", info: Info{Workers: 2, Speculate: true, MaxAttempts: 1}, script: `
			start                                  -> a/r1-c0/execute
			a/r1-c0/execute ok commit=a1           -> a/r1-c0/gate b/r1-c0/execute base=a1
			b/r1-c0/execute failed                 ->
			a/r1-c0/gate ok                        -> a/r1-c0/commit
			a/r1-c0/commit ok commit=a9            -> a/r1-c0/merge
			a/r1-c0/merge ok                       ->
			status a=merged b=failed`},
		"where the gates of a batch counted no tests, the count before it is the one to keep": {plan: "a b:a c:b", script: `
			start                                  -> a/r1-c0/execute
			a/r1-c0/execute ok commit=a1           -> a/r1-c0/gate
			a/r1-c0/gate ok tests=9                -> a/r1-c0/commit
			a/r1-c0/commit ok commit=a9            -> a/r1-c0/merge
			a/r1-c0/merge ok                       -> b/r1-c0/execute before=9
			b/r1-c0/execute ok commit=b1           -> b/r1-c0/gate
			b/r1-c0/gate ok                        -> b/r1-c0/commit
			b/r1-c0/commit ok commit=b9            -> b/r1-c0/merge
			b/r1-c0/merge ok                       -> c/r1-c0/execute before=9`},
	})
}

// If a candidate fails, each batch that started early on it is returned to the queue and reported, in any state
// (TEAM-04).
func TestFailedCandidateRequeuesEarlyStarts(t *testing.T) {
	team := Info{Workers: 2, Speculate: true}
	const begin = `
			start                                  -> a/r1-c0/execute
			a/r1-c0/execute ok commit=a1           -> a/r1-c0/gate b/r1-c0/execute base=a1 on=a
`
	tell(t, map[string]scenario{
		"its agent is running": {plan: "a b:a*", info: team, script: begin + `
			a/r1-c0/gate failed                    -> a/r2-c0/execute
			lost b/r1 on=a its agent is stopped
			status a=working b=waiting`},
		"its agent has ended, and it is queued": {plan: "a b:a*", info: Info{Workers: 1, Speculate: true}, script: `
			start                                  -> a/r1-c0/execute
			a/r1-c0/execute ok commit=a1           -> a/r1-c0/gate b/r1-c0/execute base=a1 on=a
			b/r1-c0/execute ok commit=b1           ->
			queue a b
			a/r1-c0/gate failed                    -> a/r2-c0/execute
			lost b/r1 on=a its candidate is dropped
			status a=working b=waiting`},
		"its gates run": {plan: "a b:a*", info: team, script: begin + `
			b/r1-c0/execute ok commit=b1           -> b/r1-c0/gate base=a1 commit=b1
			a/r1-c0/gate failed                    -> a/r2-c0/execute
			lost b/r1 on=a its gates are stopped and its candidate is dropped`},
		"its gates are green already": {plan: "a b:a*", info: team, script: begin + `
			b/r1-c0/execute ok commit=b1           -> b/r1-c0/gate base=a1 commit=b1
			b/r1-c0/gate ok                        ->
			queue a b=green
			a/r1-c0/gate failed                    -> a/r2-c0/execute
			lost b/r1 on=a its candidate is dropped`},
		"a hook refuses the commit of its base": {plan: "a b:a*", info: team, script: begin + `
			b/r1-c0/execute ok commit=b1           -> b/r1-c0/gate base=a1 commit=b1
			a/r1-c0/gate ok                        -> a/r1-c0/commit
			b/r1-c0/gate ok                        ->
			a/r1-c0/commit failed                  -> a/r2-c0/execute
			lost b/r1 on=a its candidate is dropped`},
		"its base is being merged, and the merge fails": {plan: "a b:a*", info: Info{Workers: 2, Speculate: true, MaxAttempts: 1}, script: begin + `
			b/r1-c0/execute ok commit=b1           -> b/r1-c0/gate base=a1 commit=b1
			b/r1-c0/gate ok                        ->
			a/r1-c0/gate ok                        -> a/r1-c0/commit
			a/r1-c0/commit ok commit=a9            -> a/r1-c0/merge
			a/r1-c0/merge moved base=x             -> a/r1-c0/rebase
			lost
			a/r1-c0/rebase conflict                -> a/r2-c0/execute
			lost b/r1 on=a its candidate is dropped`},
		"it failed by then": {plan: "a b:a*", info: Info{Workers: 2, Speculate: true, MaxAttempts: 1}, script: begin + `
			b/r1-c0/execute failed                 ->
			status a=working b=failed
			a/r1-c0/gate failed                    ->
			lost b/r1 on=a its failure does not count`},
		"a merged base is not speculation": {plan: "a b:a*", info: team, script: begin + `
			a/r1-c0/gate ok                        -> a/r1-c0/commit
			a/r1-c0/commit ok commit=a9            -> a/r1-c0/merge
			a/r1-c0/merge ok                       ->
			lost
			reopen a base=x                        -> a/r2-c0/execute
			status a=working b=waiting`},
	})
}
