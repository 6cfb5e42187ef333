package runner

import "testing"

// The merge queue tests the tree that will be merged.
func TestQueue(t *testing.T) {
	team := Info{Workers: 5, Speculate: true}
	tell(t, map[string]scenario{
		"five candidates are gated at once, each on all ahead of it, and are not gated again": {
			plan: "a b c d e", info: team, script: `
			start                                  -> a/r1-c0/execute b/r1-c0/execute c/r1-c0/execute d/r1-c0/execute e/r1-c0/execute
			a/r1-c0/execute ok commit=a1           -> a/r1-c0/gate base=base commit=a1 on=
			b/r1-c0/execute ok commit=b1           -> b/r1-c0/rebase base=a1 from=base commit=b1
			c/r1-c0/execute ok commit=c1           ->
			b/r1-c0/rebase ok commit=b2            -> b/r1-c0/gate base=a1 commit=b2 on=a c/r1-c0/rebase base=b2 from=base commit=c1
			c/r1-c0/rebase ok commit=c2            -> c/r1-c0/gate base=b2 commit=c2 on=a,b
			d/r1-c0/execute ok commit=d1           -> d/r1-c0/rebase base=c2
			d/r1-c0/rebase ok commit=d2            -> d/r1-c0/gate base=c2 commit=d2
			e/r1-c0/execute ok commit=e1           -> e/r1-c0/rebase base=d2
			e/r1-c0/rebase ok commit=e2            -> e/r1-c0/gate base=d2 commit=e2 on=a,b,c,d
			e/r1-c0/gate ok                        ->
			c/r1-c0/gate ok                        ->
			b/r1-c0/gate ok                        ->
			queue a b=green c=green d e=green
			a/r1-c0/gate ok                        -> a/r1-c0/commit base=base commit=a1
			a/r1-c0/commit ok commit=a9            -> a/r1-c0/merge
			a/r1-c0/merge ok                       -> b/r1-c0/commit base=a9 commit=b2
			b/r1-c0/commit ok commit=b9            -> b/r1-c0/merge
			b/r1-c0/merge ok                       -> c/r1-c0/commit base=b9 commit=c2
			c/r1-c0/commit ok commit=c9            -> c/r1-c0/merge
			c/r1-c0/merge ok                       ->
			d/r1-c0/gate ok                        -> d/r1-c0/commit base=c9 commit=d2
			d/r1-c0/commit ok commit=d9            -> d/r1-c0/merge
			d/r1-c0/merge ok                       -> e/r1-c0/commit base=d9 commit=e2
			e/r1-c0/commit ok commit=e9            -> e/r1-c0/merge
			e/r1-c0/merge ok                       ->
			tip e9
			end done`},
		"no more gates run at once than there are workers": {plan: "a b c", info: Info{Workers: 2, Speculate: true}, script: `
			start                                  -> a/r1-c0/execute b/r1-c0/execute
			a/r1-c0/execute ok commit=a1           -> a/r1-c0/gate c/r1-c0/execute
			b/r1-c0/execute ok commit=b1           -> b/r1-c0/rebase
			b/r1-c0/rebase ok commit=b2            -> b/r1-c0/gate
			c/r1-c0/execute ok commit=c1           -> c/r1-c0/rebase
			c/r1-c0/rebase ok commit=c2            ->
			b/r1-c0/gate ok                        -> c/r1-c0/gate base=b2`},
		"a failure in the middle leaves the chain: those behind it move up, those ahead of it stay": {
			plan: "a b c d", info: team, script: `
			start                                  -> a/r1-c0/execute b/r1-c0/execute c/r1-c0/execute d/r1-c0/execute
			a/r1-c0/execute ok commit=a1           -> a/r1-c0/gate
			b/r1-c0/execute ok commit=b1           -> b/r1-c0/rebase
			b/r1-c0/rebase ok commit=b2            -> b/r1-c0/gate
			c/r1-c0/execute ok commit=c1           -> c/r1-c0/rebase base=b2
			c/r1-c0/rebase ok commit=c2            -> c/r1-c0/gate base=b2 commit=c2
			d/r1-c0/execute ok commit=d1           -> d/r1-c0/rebase base=c2
			d/r1-c0/rebase ok commit=d2            -> d/r1-c0/gate base=c2
			d/r1-c0/gate ok                        ->
			b/r1-c0/gate failed                    -> c/r1-c1/rebase base=a1 from=base commit=c1
			queue a b=red c d=green
			c/r1-c0/gate ok                        ->
			c/r1-c1/rebase ok commit=c3            -> c/r1-c1/gate base=a1 commit=c3 on=a d/r1-c1/rebase base=c3 from=base commit=d1
			d/r1-c1/rebase ok commit=d3            -> d/r1-c1/gate base=c3 on=a,c
			a/r1-c0/gate ok                        -> a/r1-c0/commit base=base commit=a1
			queue a=green b=red c d`},
		"the cause of a red gate is decided when everything below it is merged": {plan: "a b", info: team, script: `
			start                                  -> a/r1-c0/execute b/r1-c0/execute
			a/r1-c0/execute ok commit=a1           -> a/r1-c0/gate
			b/r1-c0/execute ok commit=b1           -> b/r1-c0/rebase base=a1
			b/r1-c0/rebase ok commit=b2            -> b/r1-c0/gate
			b/r1-c0/gate failed                    ->
			queue a b=red
			a/r1-c0/gate ok                        -> a/r1-c0/commit
			a/r1-c0/commit ok commit=a9            -> a/r1-c0/merge
			a/r1-c0/merge ok                       -> b/r1-c0/trial base=base commit=b1
			queue
			b/r1-c0/trial ok                        -> b/r2-c0/execute base=a9 after=5`},
		"a run of version 3 keeps its rules: a candidate that is red on others is rebuilt at once": {plan: "a b", info: Info{Workers: 2, Speculate: true, LoopVersion: 3}, script: `
			start                                  -> a/r1-c0/execute b/r1-c0/execute
			a/r1-c0/execute ok commit=a1           -> a/r1-c0/gate
			b/r1-c0/execute ok commit=b1           -> b/r1-c0/rebase base=a1
			b/r1-c0/rebase ok commit=b2            -> b/r1-c0/gate
			b/r1-c0/gate failed                    ->
			a/r1-c0/gate ok                        -> a/r1-c0/commit
			a/r1-c0/commit ok commit=a9            -> a/r1-c0/merge
			a/r1-c0/merge ok                       -> b/r2-c0/execute base=a9`},
		"a candidate that is also red alone has failed itself, and escalates": {plan: "a b@small c", info: Info{Workers: 3, Speculate: true, Escalate: true}, script: `
			start                                  -> a/r1-c0/execute b/r1-c0/execute tier=small c/r1-c0/execute
			a/r1-c0/execute ok commit=a1           -> a/r1-c0/gate
			b/r1-c0/execute ok commit=b1           -> b/r1-c0/rebase base=a1
			b/r1-c0/rebase ok commit=b2            -> b/r1-c0/gate
			b/r1-c0/gate failed                    ->
			a/r1-c0/gate ok                        -> a/r1-c0/commit
			a/r1-c0/commit ok commit=a9            -> a/r1-c0/merge
			a/r1-c0/merge ok                       -> b/r1-c0/trial base=base commit=b1
			c/r1-c0/execute ok commit=c1           -> c/r1-c0/rebase base=a9
			b/r1-c0/trial failed                   -> b/r2-c0/execute base=a9 after=10 tier=medium
			c/r1-c0/rebase ok commit=c2            -> c/r1-c0/gate base=a9`},
		"a candidate that passed alone is not gated alone again": {plan: "a b", info: team, script: `
			start                                  -> a/r1-c0/execute b/r1-c0/execute
			b/r1-c0/execute ok commit=b1           -> b/r1-c0/gate base=base commit=b1
			b/r1-c0/gate ok                        -> b/r1-c0/commit
			b/r1-c0/commit ok commit=b9            -> b/r1-c0/merge
			b/r1-c0/merge moved base=x             -> b/r1-c0/rebase base=x
			b/r1-c0/rebase ok commit=b2            -> b/r1-c1/gate base=x commit=b2
			b/r1-c1/gate failed                    -> b/r2-c0/execute base=x after=7`},
		"an interrupted trial is repeated": {plan: "a b", info: team, script: `
			start                                  -> a/r1-c0/execute b/r1-c0/execute
			a/r1-c0/execute ok commit=a1           -> a/r1-c0/gate
			a/r1-c0/gate ok                        -> a/r1-c0/commit
			a/r1-c0/commit ok commit=a9            -> a/r1-c0/merge
			a/r1-c0/merge ok                       ->
			b/r1-c0/execute ok commit=b1           -> b/r1-c0/rebase base=a9
			b/r1-c0/rebase ok commit=b2            -> b/r1-c0/gate
			b/r1-c0/gate failed                    -> b/r1-c0/trial base=base commit=b1
			b/r1-c0/trial cancelled                ->
			resume                                 -> b/r1-c0/trial base=base commit=b1
			b/r1-c0/trial ok                       -> b/r2-c0/execute base=a9 after=8`},
		"a candidate that was red on a bad one passes without it": {plan: "a b", info: team, script: `
			start                                  -> a/r1-c0/execute b/r1-c0/execute
			a/r1-c0/execute ok commit=a1           -> a/r1-c0/gate
			b/r1-c0/execute ok commit=b1           -> b/r1-c0/rebase base=a1
			b/r1-c0/rebase ok commit=b2            -> b/r1-c0/gate base=a1 commit=b2
			b/r1-c0/gate failed                    ->
			a/r1-c0/gate failed                    -> b/r1-c1/gate base=base commit=b1 a/r2-c0/execute base=base after=6
			b/r1-c1/gate ok                        -> b/r1-c1/commit base=base commit=b1`},
		"what an agent made on the run branch itself is its own fault": {plan: "a b", info: Info{Workers: 2, Speculate: true, MaxAttempts: 1}, script: `
			start                                  -> a/r1-c0/execute b/r1-c0/execute
			a/r1-c0/execute ok commit=a1           -> a/r1-c0/gate
			a/r1-c0/gate failed reason=red         ->
			status a=failed b=working`},
		"failures caused by merges of others are not counted, up to a limit": {plan: "a b", info: Info{Workers: 2, Speculate: true, MaxAttempts: 1}, script: `
			start                                  -> a/r1-c0/execute b/r1-c0/execute
			a/r1-c0/execute ok commit=a1           -> a/r1-c0/gate
			a/r1-c0/gate ok                        -> a/r1-c0/commit
			a/r1-c0/commit ok commit=a9            -> a/r1-c0/merge
			a/r1-c0/merge ok                       ->
			b/r1-c0/execute ok commit=b1           -> b/r1-c0/rebase base=a9
			b/r1-c0/rebase ok commit=b2            -> b/r1-c0/gate
			b/r1-c0/gate failed                    -> b/r1-c0/trial base=base commit=b1
			b/r1-c0/trial ok                       -> b/r2-c0/execute base=a9 after=8
			resume commit=x                        ->
			b/r2-c0/execute ok commit=b3           -> b/r2-c0/rebase base=x from=a9
			b/r2-c0/rebase ok commit=b4            -> b/r2-c0/gate
			b/r2-c0/gate failed reason=red         ->
			end failed batch 2: red`},
		"a candidate based on another one is based on its commit, also during gates": {plan: "a b", info: team, script: `
			start                                  -> a/r1-c0/execute b/r1-c0/execute
			a/r1-c0/execute ok commit=a1           -> a/r1-c0/gate
			b/r1-c0/execute ok commit=b1           -> b/r1-c0/rebase base=a1
			b/r1-c0/rebase ok commit=b2            -> b/r1-c0/gate base=a1
			a/r1-c0/gate ok                        -> a/r1-c0/commit
			a/r1-c0/commit ok commit=a9            -> a/r1-c0/merge
			a/r1-c0/merge ok                       ->
			pending                                -> b/r1-c0/gate base=a1
			b/r1-c0/gate ok                        -> b/r1-c0/commit base=a9 commit=b2`},
		"a hook that changes the head moves those behind it": {plan: "a b", info: team, script: `
			start                                  -> a/r1-c0/execute b/r1-c0/execute
			a/r1-c0/execute ok commit=a1           -> a/r1-c0/gate
			b/r1-c0/execute ok commit=b1           -> b/r1-c0/rebase base=a1
			b/r1-c0/rebase ok commit=b2            -> b/r1-c0/gate base=a1
			b/r1-c0/gate ok                        ->
			a/r1-c0/gate ok                        -> a/r1-c0/commit
			a/r1-c0/commit changed commit=a2       -> a/r1-c1/gate base=base commit=a2 b/r1-c1/rebase base=a2 from=base commit=b1
			b/r1-c1/rebase ok commit=b3            -> b/r1-c1/gate base=a2 commit=b3
			queue a b`},
		"a hook that refuses the head sends it back, and those behind it move up": {plan: "a b", info: team, script: `
			start                                  -> a/r1-c0/execute b/r1-c0/execute
			a/r1-c0/execute ok commit=a1           -> a/r1-c0/gate
			b/r1-c0/execute ok commit=b1           -> b/r1-c0/rebase base=a1
			b/r1-c0/rebase ok commit=b2            -> b/r1-c0/gate
			b/r1-c0/gate ok                        ->
			a/r1-c0/gate ok                        -> a/r1-c0/commit
			a/r1-c0/commit failed                  -> b/r1-c1/gate base=base commit=b1 a/r2-c0/execute base=base
			queue b`},
		"a repeated command has the same id, a new one another id": {plan: "a b", info: team, script: `
			start                                  -> a/r1-c0/execute b/r1-c0/execute
			a/r1-c0/execute ok commit=a1           -> a/r1-c0/gate
			b/r1-c0/execute ok commit=b1           -> b/r1-c0/rebase
			b/r1-c0/rebase cancelled               ->
			resume                                 -> b/r1-c0/rebase base=a1
			b/r1-c0/rebase ok commit=b2            -> b/r1-c0/gate
			b/r1-c0/gate error                     ->
			resume                                 -> b/r1-c0/gate base=a1 commit=b2
			a/r1-c0/gate error                     ->
			resume commit=x                        -> a/r1-c0/rebase base=x
			a/r1-c0/rebase ok commit=a2            -> a/r1-c1/gate base=x commit=a2 b/r1-c1/rebase base=a2`},
		"a conflict with something ahead is over when that leaves": {plan: "a b c", info: team, script: `
			start                                  -> a/r1-c0/execute b/r1-c0/execute c/r1-c0/execute
			a/r1-c0/execute ok commit=a1           -> a/r1-c0/gate
			b/r1-c0/execute ok commit=b1           -> b/r1-c0/rebase base=a1
			b/r1-c0/rebase conflict                ->
			c/r1-c0/execute ok commit=c1           -> c/r1-c0/rebase base=a1
			queue a b=red c
			a/r1-c0/gate failed                    -> b/r1-c0/gate base=base commit=b1 c/r1-c1/rebase base=b1 a/r2-c0/execute
			queue b c`},
		"a batch that conflicts with merged work is rebuilt on top of it": {plan: "a b", info: Info{Workers: 2, Speculate: true, MaxAttempts: 1}, script: `
			start                                  -> a/r1-c0/execute b/r1-c0/execute
			a/r1-c0/execute ok commit=a1           -> a/r1-c0/gate
			b/r1-c0/execute ok commit=b1           -> b/r1-c0/rebase base=a1
			b/r1-c0/rebase conflict                ->
			a/r1-c0/gate ok                        -> a/r1-c0/commit
			a/r1-c0/commit ok commit=a9            -> a/r1-c0/merge
			a/r1-c0/merge ok                       -> b/r2-c0/execute base=a9 after=4
			b/r2-c0/execute failed                 ->
			status a=merged b=failed`},
		"without speculation only the head is gated, on the run branch": {plan: "a b c", info: Info{Workers: 3}, script: `
			start                                  -> a/r1-c0/execute b/r1-c0/execute c/r1-c0/execute
			b/r1-c0/execute ok commit=b1           -> b/r1-c0/gate base=base
			a/r1-c0/execute ok commit=a1           ->
			c/r1-c0/execute ok commit=c1           ->
			b/r1-c0/gate failed                    -> a/r1-c0/gate base=base b/r2-c0/execute
			a/r1-c0/gate ok                        -> a/r1-c0/commit
			a/r1-c0/commit ok commit=a9            -> a/r1-c0/merge
			a/r1-c0/merge ok                       -> c/r1-c0/rebase base=a9
			queue c`},
		"a candidate gated before the test count below was known is gated again if it has fewer tests": {plan: "a b", info: team, script: `
			start                                  -> a/r1-c0/execute b/r1-c0/execute
			a/r1-c0/execute ok commit=a1           -> a/r1-c0/gate
			b/r1-c0/execute ok commit=b1           -> b/r1-c0/rebase base=a1
			b/r1-c0/rebase ok commit=b2            -> b/r1-c0/gate base=a1 before=unknown
			b/r1-c0/gate ok tests=8                ->
			a/r1-c0/gate ok tests=9                -> a/r1-c0/commit
			a/r1-c0/commit ok commit=a9            -> a/r1-c0/merge
			a/r1-c0/merge ok                       -> b/r1-c1/rebase base=a9
			b/r1-c1/rebase ok commit=b3            -> b/r1-c1/gate base=a9 before=9
			b/r1-c1/gate failed                    -> b/r1-c1/trial base=base commit=b1
			b/r1-c1/trial ok                       -> b/r2-c0/execute base=a9`},
		"a repeated gate keeps the test count of its first start": {plan: "a b", info: team, script: `
			start                                  -> a/r1-c0/execute b/r1-c0/execute
			a/r1-c0/execute ok commit=a1           -> a/r1-c0/gate
			b/r1-c0/execute ok commit=b1           -> b/r1-c0/rebase base=a1
			b/r1-c0/rebase ok commit=b2            -> b/r1-c0/gate before=unknown
			b/r1-c0/gate cancelled                 ->
			a/r1-c0/gate ok tests=9                ->
			resume                                 -> a/r1-c0/commit b/r1-c0/gate before=unknown`},
		"so is a batch that started on a candidate": {plan: "a b:a*", info: team, script: `
			start                                  -> a/r1-c0/execute
			a/r1-c0/execute ok commit=a1           -> a/r1-c0/gate b/r1-c0/execute base=a1
			b/r1-c0/execute ok commit=b1           -> b/r1-c0/gate base=a1 commit=b1 before=unknown
			b/r1-c0/gate ok tests=8                ->
			a/r1-c0/gate ok tests=9                -> a/r1-c0/commit
			a/r1-c0/commit ok commit=a9            -> a/r1-c0/merge
			a/r1-c0/merge ok                       -> b/r1-c1/gate base=a9 commit=b1 before=9
			b/r1-c1/gate failed                    -> b/r2-c0/execute base=a9 on=`},
		"a candidate with at least as many tests as its base is not gated again": {plan: "a b", info: team, script: `
			start                                  -> a/r1-c0/execute b/r1-c0/execute
			a/r1-c0/execute ok commit=a1           -> a/r1-c0/gate
			b/r1-c0/execute ok commit=b1           -> b/r1-c0/rebase
			b/r1-c0/rebase ok commit=b2            -> b/r1-c0/gate before=unknown
			b/r1-c0/gate ok tests=9                ->
			a/r1-c0/gate ok tests=9                -> a/r1-c0/commit
			a/r1-c0/commit ok commit=a9            -> a/r1-c0/merge
			a/r1-c0/merge ok                       -> b/r1-c0/commit base=a9`},
		"the tests of a green candidate are those to keep behind it": {plan: "a b", info: team, script: `
			start                                  -> a/r1-c0/execute b/r1-c0/execute
			a/r1-c0/execute ok commit=a1           -> a/r1-c0/gate
			b/r1-c0/execute ok commit=b1           -> b/r1-c0/rebase
			a/r1-c0/gate ok tests=9                -> a/r1-c0/commit
			b/r1-c0/rebase ok commit=b2            -> b/r1-c0/gate before=9`},
		"a commit of another process moves the whole queue": {plan: "a b", info: team, script: `
			start                                  -> a/r1-c0/execute b/r1-c0/execute
			a/r1-c0/execute ok commit=a1           -> a/r1-c0/gate
			b/r1-c0/execute ok commit=b1           -> b/r1-c0/rebase
			b/r1-c0/rebase ok commit=b2            -> b/r1-c0/gate
			b/r1-c0/gate ok                        ->
			a/r1-c0/gate ok                        -> a/r1-c0/commit
			a/r1-c0/commit ok commit=a9            -> a/r1-c0/merge
			a/r1-c0/merge moved base=x             -> a/r1-c0/rebase base=x from=base commit=a1
			a/r1-c0/rebase ok commit=a2            -> a/r1-c1/gate base=x b/r1-c1/rebase base=a2 from=base commit=b1`},
	})
}
