package runner

import "testing"

// A limit applies to the whole account of an agent: it blocks the agent for all batches, and another agent takes them
// over if there is one.
func TestLimits(t *testing.T) {
	one := func(onLimit string) Info { return Info{Workers: 2, OnLimit: onLimit, Agents: agentsOf("x")} }
	two := func(onLimit string) Info { return Info{Workers: 2, OnLimit: onLimit, Agents: agentsOf("x,y")} }
	tell(t, map[string]scenario{
		"each command names its agent": {plan: "a@small", info: two("exit"), script: `
			start                                  -> a/r1-c0/execute agent=x model= instead=`},
		"no other batch starts with a limited agent": {plan: "a b c d", info: one("exit"), script: `
			start                                  -> a/r1-c0/execute b/r1-c0/execute
			a/r1-c0/execute limited retry=9 reason=five_hours ->
			parked a=limited
			end running
			b/r1-c0/execute ok commit=b1           -> b/r1-c0/gate
			b/r1-c0/gate ok                        -> b/r1-c0/commit
			b/r1-c0/commit ok commit=b9            -> b/r1-c0/merge
			b/r1-c0/merge ok                       ->
			status a=working b=merged c=waiting d=waiting
			end stopped limited
			because batch 1: five_hours
			resume                                 -> a/r1-c1/execute c/r1-c0/execute
			parked`},
		"all batches wait once, until the latest reported time": {plan: "a b c", info: one("wait"), script: `
			start                                  -> a/r1-c0/execute b/r1-c0/execute
			a/r1-c0/execute limited retry=9        -> run/l1/wait until=9
			b/r1-c0/execute limited retry=12       -> run/l2/wait until=12
			pending                                -> run/l2/wait
			at 12
			run/l2/wait ok                         -> a/r1-c0/execute b/r1-c0/execute`},
		"the run does not wait for a limit that is already over": {plan: "a b c", info: one("wait"), script: `
			start                                  -> a/r1-c0/execute b/r1-c0/execute
			a/r1-c0/execute limited retry=9        -> run/l1/wait until=9
			at 10
			b/r1-c0/execute ok commit=b1           -> b/r1-c0/gate a/r1-c0/execute c/r1-c0/execute
			pending                                -> a/r1-c0/execute b/r1-c0/gate c/r1-c0/execute`},
		"the run does not wait for a limit without due work": {plan: "a b:a c", info: Info{Workers: 2, OnLimit: "wait", MaxAttempts: 1, Agents: agentsOf("x")}, script: `
			start                                  -> a/r1-c0/execute c/r1-c0/execute
			a/r1-c0/execute ok commit=a1           -> a/r1-c0/gate
			c/r1-c0/execute limited retry=9        -> run/l1/wait
			stop cancelled                         ->
			run/l1/wait cancelled                  ->
			a/r1-c0/gate ok                        ->
			resume onlimit=exit                    -> a/r1-c0/commit c/r1-c0/execute`},
		"a batch that failed keeps no other from waiting": {plan: "a b c:a", info: Info{Workers: 2, OnLimit: "wait", MaxAttempts: 1, Speculate: true, Agents: agentsOf("x")}, script: `
			start                                  -> a/r1-c0/execute b/r1-c0/execute
			b/r1-c0/execute ok commit=b1           -> b/r1-c0/gate
			a/r1-c0/execute limited retry=9        -> run/l1/wait
			b/r1-c0/gate failed                    ->
			end running
			run/l1/wait ok                         -> a/r1-c0/execute
			a/r1-c0/execute failed reason=no       ->
			end failed batch 1: no`},
		"what has lost its ground is not waited for": {plan: "a b:a*", info: Info{Workers: 2, OnLimit: "wait", MaxAttempts: 1, Speculate: true, Agents: agentsOf("x")}, script: `
			start                                  -> a/r1-c0/execute
			a/r1-c0/execute ok commit=a1           -> a/r1-c0/gate b/r1-c0/execute
			b/r1-c0/execute limited retry=9        -> run/l1/wait
			a/r1-c0/gate failed reason=red         ->
			pending                                ->
			end failed batch 1: red`},
		"a run is paused if nothing else can continue": {plan: "a b", info: one("wait"), script: `
			start                                  -> a/r1-c0/execute b/r1-c0/execute
			a/r1-c0/execute limited retry=9 reason=five_hours -> run/l1/wait
			b/r1-c0/execute ok commit=b1           -> b/r1-c0/gate
			b/r1-c0/gate ok                        -> b/r1-c0/commit
			b/r1-c0/commit ok commit=b9            -> b/r1-c0/merge
			b/r1-c0/merge ok                       ->
			paused 9 batch 1: five_hours
			end running`},
		"a resume waits for the remaining time": {plan: "a", info: one("wait"), script: `
			start                                  -> a/r1-c0/execute
			a/r1-c0/execute limited retry=9        -> run/l1/wait until=9
			at 5
			resume                                 ->
			pending                                -> run/l1/wait until=9
			at 20
			resume                                 -> a/r1-c0/execute
			pending                                -> a/r1-c0/execute`},
		"a limit without a time is not waited for, and a resume tries": {plan: "a b", info: one("wait"), script: `
			start                                  -> a/r1-c0/execute b/r1-c0/execute
			a/r1-c0/execute limited reason=429     ->
			b/r1-c0/execute limited reason=429     ->
			end stopped limited
			because batch 1: 429
			resume                                 -> a/r1-c0/execute b/r1-c0/execute`},
		// Each wait is up to a tenth shorter, so that several runs do not continue in the same second.
		"without a time each wait is twice as long as the one before": {plan: "a b", info: Info{Workers: 1, OnLimit: "wait", BackoffMS: 10_000, MaxBackoffMS: 30_000, Agents: agentsOf("x")}, script: `
			start                                  -> a/r1-c0/execute
			a/r1-c0/execute limited reason=429     -> run/l1/wait until=9
			paused 9 batch 1: 429; its end is unknown, wait 1 takes 9.4s
			at 10
			run/l1/wait ok                         -> a/r1-c0/execute
			a/r1-c0/execute limited reason=429     -> run/l2/wait until=28
			at 30
			run/l2/wait ok                         -> a/r1-c0/execute
			a/r1-c0/execute limited reason=429     -> run/l3/wait until=57`},
		"an outage is waited for a few times, also by a run that stops at limits": {plan: "a", info: Info{Workers: 1, OnLimit: "exit", BackoffMS: 1_000, MaxBackoffMS: 2_000, Agents: agentsOf("x")}, script: `
			start                                  -> a/r1-c0/execute
			a/r1-c0/execute limited outage         -> run/l1/wait
			run/l1/wait ok                         -> a/r1-c0/execute
			a/r1-c0/execute limited outage         -> run/l2/wait
			run/l2/wait ok                         -> a/r1-c0/execute
			a/r1-c0/execute limited outage         -> run/l3/wait
			run/l3/wait ok                         -> a/r1-c0/execute
			a/r1-c0/execute limited outage         -> run/l4/wait
			run/l4/wait ok                         -> a/r1-c0/execute
			a/r1-c0/execute limited outage         -> run/l5/wait
			run/l5/wait ok                         -> a/r1-c0/execute
			a/r1-c0/execute limited outage reason=gone ->
			end stopped limited
			because batch 1: gone`},
		"a limit of the account stops a run that stops at limits": {plan: "a", info: Info{Workers: 1, OnLimit: "exit", BackoffMS: 1_000, Agents: agentsOf("x")}, script: `
			start                                  -> a/r1-c0/execute
			a/r1-c0/execute limited reason=429     ->
			end stopped limited`},
		"a reset time that is reported later applies to all batches of the agent": {plan: "a b", info: one("wait"), script: `
			start                                  -> a/r1-c0/execute b/r1-c0/execute
			a/r1-c0/execute limited reason=429     ->
			b/r1-c0/execute limited retry=9        -> run/l2/wait until=9
			at 9
			run/l2/wait ok                         -> a/r1-c0/execute b/r1-c0/execute`},
		"after several wrong reset times the end counts as unknown": {plan: "a", info: one("wait"), script: `
			start                                  -> a/r1-c0/execute
			a/r1-c0/execute limited retry=1        -> run/l1/wait
			run/l1/wait ok                         -> a/r1-c0/execute
			a/r1-c0/execute limited retry=2        -> run/l2/wait
			run/l2/wait ok                         -> a/r1-c0/execute
			a/r1-c0/execute limited retry=3        -> run/l3/wait
			run/l3/wait ok                         -> a/r1-c0/execute
			a/r1-c0/execute limited retry=4        -> run/l4/wait
			run/l4/wait ok                         -> a/r1-c0/execute
			a/r1-c0/execute limited retry=5        -> run/l5/wait
			run/l5/wait ok                         -> a/r1-c0/execute
			a/r1-c0/execute limited retry=6        ->
			end stopped limited`},
		"an agent that did something may wait as often again": {plan: "a", info: one("wait"), script: `
			start                                  -> a/r1-c0/execute
			a/r1-c0/execute limited retry=1        -> run/l1/wait
			run/l1/wait ok                         -> a/r1-c0/execute
			a/r1-c0/execute failed                 -> a/r2-c0/execute
			a/r2-c0/execute limited retry=2        -> run/l2/wait`},
		"a reset time in the past means that the clocks differ": {plan: "a", info: one("wait"), script: `
			start                                  -> a/r1-c0/execute
			at 50
			a/r1-c0/execute limited retry=49       -> run/l1/wait until=110
			at 110
			run/l1/wait ok                         -> a/r1-c0/execute
			a/r1-c0/execute limited retry=49       -> run/l2/wait until=230`},
		"a person is waited for by one batch alone": {plan: "a b c", info: one("wait"), script: `
			start                                  -> a/r1-c0/execute b/r1-c0/execute
			a/r1-c0/execute needs_human            -> c/r1-c0/execute
			parked a=needs_human`},
		"another agent takes over from the same base, and its brief has the reason": {plan: "a@small", info: two("exit"), script: `
			start                                  -> a/r1-c0/execute agent=x base=base
			a/r1-c0/execute limited retry=9 reason=five_hours -> a/r1-c1/execute agent=y base=base model=y-mini instead=x_met_a_limit:_five_hours
			a/r1-c1/execute ok commit=a1           -> a/r1-c1/gate commit=a1`},
		"running batches continue, and new ones get another agent": {plan: "a b c", info: two("exit"), script: `
			start                                  -> a/r1-c0/execute agent=x b/r1-c0/execute agent=x
			a/r1-c0/execute limited retry=9        -> a/r1-c1/execute agent=y
			b/r1-c0/execute ok commit=b1           -> b/r1-c0/gate c/r1-c0/execute agent=y instead=`},
		"the first is the first again once its limit is over": {plan: "a b c", info: two("exit"), script: `
			start                                  -> a/r1-c0/execute agent=x b/r1-c0/execute agent=x
			a/r1-c0/execute limited retry=9        -> a/r1-c1/execute agent=y
			at 9
			b/r1-c0/execute ok commit=b1           -> b/r1-c0/gate c/r1-c0/execute agent=x`},
		"once all are limited the run stops": {plan: "a b", info: two("exit"), script: `
			start                                  -> a/r1-c0/execute b/r1-c0/execute
			a/r1-c0/execute limited retry=9 reason=five_hours -> a/r1-c1/execute agent=y
			b/r1-c0/execute limited reason=429     -> b/r1-c1/execute agent=y
			a/r1-c1/execute limited reason=daily   ->
			b/r1-c1/execute limited reason=daily   ->
			end stopped limited
			because batch 1: x: five_hours; y: daily
			resume                                 -> a/r1-c2/execute agent=y b/r1-c2/execute agent=y`},
		"or waits for the one whose limit ends first": {plan: "a", info: two("wait"), script: `
			start                                  -> a/r1-c0/execute agent=x
			a/r1-c0/execute limited retry=90       -> a/r1-c1/execute agent=y
			a/r1-c1/execute limited retry=30       -> run/l2/wait until=30
			at 30
			run/l2/wait ok                         -> a/r1-c2/execute agent=y instead=`},
		"a resume continues with the agent that took over": {plan: "a", info: two("exit"), script: `
			start                                  -> a/r1-c0/execute agent=x
			a/r1-c0/execute limited retry=9        -> a/r1-c1/execute agent=y
			at 5
			resume                                 ->
			pending                                -> a/r1-c1/execute agent=y`},
		"what a limited agent was given before a kill is given to the other": {plan: "a b", info: two("exit"), script: `
			start                                  -> a/r1-c0/execute agent=x b/r1-c0/execute agent=x
			a/r1-c0/execute limited retry=9        -> a/r1-c1/execute agent=y
			resume                                 -> b/r1-c1/execute agent=y
			pending                                -> a/r1-c1/execute b/r1-c1/execute`},
		"a resume with other agents moves the work of the missing ones": {plan: "a", info: two("exit"), script: `
			start                                  -> a/r1-c0/execute agent=x
			resume agents=x,z                      ->
			resume agents=z                        -> a/r1-c1/execute agent=z
			a/r1-c0/execute limited                ->
			a/r1-c1/execute limited                ->
			end stopped limited`},
		"a failure moves a batch one tier up, no matter who it was": {plan: "a@small", info: Info{Escalate: true, Agents: agentsOf("x,y"), Models: map[string]string{"medium": "m"}}, script: `
			start                                  -> a/r1-c0/execute agent=x tier=small
			a/r1-c0/execute limited retry=9        -> a/r1-c1/execute agent=y tier=small model=y-mini
			a/r1-c1/execute failed                 -> a/r2-c0/execute agent=y tier=medium model= instead=
			at 9
			a/r2-c0/execute timed_out              -> a/r3-c0/execute agent=x tier=large`},
		"a candidate goes to another agent, too": {plan: "a+2", info: two("exit"), script: `
			start                                  -> a/r1-c0/sample
			a/r1-c0/sample ok slots=v,w atonce=2   -> a/r1-c1/execute agent=x a/r1-c2/execute agent=x
			a/r1-c2/execute limited retry=9 reason=429 -> a/r1.1-c2/execute agent=y variant=w instead=x_met_a_limit:_429
			a/r1.1-c2/execute limited retry=12     ->
			a/r1-c1/execute ok commit=a1           -> a/r1-c1/gate
			a/r1-c1/gate ok                        ->
			end stopped limited
			at 9
			resume                                 -> a/r1.2-c2/execute agent=x instead=y_met_a_limit:_`},
		"no money, no other agent": {plan: "a", info: Info{MaxCostUSD: 1, Agents: agentsOf("x,y")}, script: `
			start                                  -> a/r1-c0/execute agent=x
			a/r1-c0/execute limited cost=1 retry=9 ->
			end stopped limited
			because the cost limit of $1.00: $1.00 is spent, and the next attempt is likely to cost $1.00`},
		"an earlier run waits on, for all": {plan: "a", info: Info{OnLimit: "wait"}, script: `
			start                                  -> a/r1-c0/execute
			a/r1-c0/execute limited retry=9        -> a/r1-c0/wait
			resume agents=x                        -> run/l1/wait until=9
			pending                                -> run/l1/wait
			run/l1/wait ok                         -> a/r1-c1/execute agent=x`},
	})
}
