package runner

import "testing"

// With escalation enabled, a failure moves the batch up by one tier (MODEL-10).
func TestTiers(t *testing.T) {
	models := map[string]string{"small": "haiku", "medium": "sonnet", "large": "opus"}
	up := Info{Escalate: true, MaxAttempts: 4, Models: models}
	tell(t, map[string]scenario{
		"each failure moves a batch one tier up, until the highest tier": {plan: "a@small", info: up, script: `
			start                                  -> a/r1-c0/execute tier=small model=haiku
			a/r1-c0/execute unchanged              -> a/r2-c0/execute tier=medium model=sonnet
			a/r2-c0/execute failed tree=t          -> a/r3-c0/execute tier=large model=opus
			a/r3-c0/execute timed_out              -> a/r4-c0/execute tier=large model=opus`},
		"a red gate moves it up, too": {plan: "a@small", info: up, script: `
			start                                  -> a/r1-c0/execute tier=small
			a/r1-c0/execute ok commit=a1           -> a/r1-c0/gate
			a/r1-c0/gate failed                    -> a/r2-c0/execute tier=medium`},
		"escalation is off": {plan: "a@small", info: Info{Models: models}, script: `
			start                                  -> a/r1-c0/execute tier=small
			a/r1-c0/execute failed                 -> a/r2-c0/execute tier=small model=haiku`},
		"work that has no tier gets none": {plan: "a", info: up, script: `
			start                                  -> a/r1-c0/execute tier= model=
			a/r1-c0/execute failed                 -> a/r2-c0/execute tier= model=`},
		"work that the model refuses is tried once more in the same tier": {plan: "a@small", info: up, script: `
			start                                   -> a/r1-c0/execute tier=small
			a/r1-c0/execute failed hopeless tree=t  -> a/r2-c0/execute tier=small
			a/r2-c0/execute failed hopeless tree=u  ->
			status a=failed`},
		"a conflict does not change the tier": {plan: "a@small", info: up, script: `
			start                                  -> a/r1-c0/execute
			resume commit=x                        ->
			a/r1-c0/execute ok commit=a1           -> a/r1-c0/rebase base=x
			a/r1-c0/rebase conflict                -> a/r2-c0/execute base=x tier=small`},
		"a limit does not change the tier": {plan: "a@small", info: up, script: `
			start                                  -> a/r1-c0/execute
			a/r1-c0/execute limited                ->
			resume                                 -> a/r1-c0/execute tier=small`},
		"a new allowance starts with the tier of the plan": {plan: "a@small", info: Info{Escalate: true, MaxAttempts: 2}, script: `
			start                                  -> a/r1-c0/execute tier=small
			a/r1-c0/execute failed                 -> a/r2-c0/execute tier=medium
			a/r2-c0/execute timed_out              ->
			resume                                 -> a/r3-c0/execute tier=small`},
		"an interrupted attempt continues in its tier": {plan: "a@small", info: up, script: `
			start                                  -> a/r1-c0/execute tier=small
			a/r1-c0/execute failed                 -> a/r2-c0/execute tier=medium
			a/r2-c0/execute cancelled              ->
			resume                                 -> a/r2-c0/execute tier=medium`},
	})
}

// If an agent cannot continue for now, only its batch is parked.
func TestParking(t *testing.T) {
	wait := Info{Workers: 2, OnLimit: "wait"}
	tell(t, map[string]scenario{
		"other work continues, and the run stops when none is left": {plan: "a b c:a", info: Info{Workers: 2}, script: `
			start                                  -> a/r1-c0/execute b/r1-c0/execute
			a/r1-c0/execute limited retry=9 reason=five_hours ->
			parked a=limited
			end running
			b/r1-c0/execute ok commit=b1           -> b/r1-c0/gate
			b/r1-c0/gate ok                        -> b/r1-c0/commit
			b/r1-c0/commit ok commit=b9            -> b/r1-c0/merge
			b/r1-c0/merge ok                       ->
			end stopped limited
			because batch 1: five_hours
			resume                                 -> a/r1-c1/execute base=b9
			parked`},
		"the run waits for a limit with a known end": {plan: "a b", info: wait, script: `
			start                                  -> a/r1-c0/execute b/r1-c0/execute
			a/r1-c0/execute limited retry=9        -> a/r1-c0/wait until=9
			parked a=limited
			end running
			b/r1-c0/execute failed                 -> b/r2-c0/execute
			a/r1-c0/wait ok                        -> a/r1-c0/execute
			parked`},
		"a parked batch needs no worker": {plan: "a b", info: Info{OnLimit: "wait"}, script: `
			start                                  -> a/r1-c0/execute
			a/r1-c0/execute limited retry=9        -> a/r1-c0/wait b/r1-c0/execute
			a/r1-c0/wait ok                        ->
			b/r1-c0/execute ok commit=b1           -> b/r1-c0/gate a/r1-c0/execute`},
		"a limit without a time is not waited for": {plan: "a", info: wait, script: `
			start                                  -> a/r1-c0/execute
			a/r1-c0/execute limited                ->
			end stopped limited`},
		"a person is not waited for": {plan: "a b", info: wait, script: `
			start                                  -> a/r1-c0/execute b/r1-c0/execute
			a/r1-c0/execute needs_human retry=9    ->
			parked a=needs_human
			b/r1-c0/execute needs_human            ->
			end stopped needs_human`},
		"after several wrong reset times the end counts as unknown": {plan: "a", info: wait, script: `
			start                                  -> a/r1-c0/execute
			a/r1-c0/execute limited retry=1        -> a/r1-c0/wait until=1
			a/r1-c0/wait ok                        -> a/r1-c0/execute
			a/r1-c0/execute limited retry=2        -> a/r1-c1/wait until=2
			a/r1-c1/wait ok                        -> a/r1-c1/execute
			a/r1-c1/execute limited retry=3        -> a/r1-c2/wait until=3
			a/r1-c2/wait ok                        -> a/r1-c2/execute
			a/r1-c2/execute limited retry=4        -> a/r1-c3/wait until=4
			a/r1-c3/wait ok                        -> a/r1-c3/execute
			a/r1-c3/execute limited retry=5        -> a/r1-c4/wait until=5
			a/r1-c4/wait ok                        -> a/r1-c4/execute
			a/r1-c4/execute limited retry=6        ->
			end stopped limited
			resume                                 -> a/r1-c4/execute
			a/r1-c4/execute limited retry=7        -> a/r1-c5/wait until=7`},
		"a stop ends the waiting, and a resume need not wait": {plan: "a", info: wait, script: `
			start                                  -> a/r1-c0/execute
			a/r1-c0/execute limited retry=9        -> a/r1-c0/wait
			stop cancelled                         ->
			a/r1-c0/wait cancelled                 ->
			end stopped cancelled
			resume                                 -> a/r1-c0/execute`},
		"a stopping run does not start to wait": {plan: "a", info: wait, script: `
			start                                  -> a/r1-c0/execute
			stop cancelled                         ->
			a/r1-c0/execute limited retry=9        ->
			end stopped cancelled`},
		"a resume may set that the run waits": {plan: "a", script: `
			start                                  -> a/r1-c0/execute
			a/r1-c0/execute limited retry=9        ->
			end stopped limited
			resume onlimit=wait                    -> a/r1-c0/execute
			a/r1-c0/execute limited retry=9        -> a/r1-c0/wait`},
		"a limit uses up no attempt": {plan: "a", info: Info{MaxAttempts: 1, OnLimit: "wait"}, script: `
			start                                  -> a/r1-c0/execute
			a/r1-c0/execute limited retry=9        -> a/r1-c0/wait
			a/r1-c0/wait ok                        -> a/r1-c0/execute
			a/r1-c0/execute ok commit=a1           -> a/r1-c0/gate`},
		"a batch that waits on ground that goes, goes too": {plan: "a b:a*", info: Info{Workers: 2, Speculate: true, OnLimit: "wait"}, script: `
			start                                  -> a/r1-c0/execute
			a/r1-c0/execute ok commit=a1           -> a/r1-c0/gate b/r1-c0/execute
			b/r1-c0/execute limited retry=9        -> b/r1-c0/wait
			a/r1-c0/gate failed                    -> a/r2-c0/execute
			parked
			b/r1-c0/wait ok                        ->
			status a=working b=waiting`},
		"a failed batch is reported before a waiting one": {plan: "a b", info: Info{Workers: 2, MaxAttempts: 1}, script: `
			start                                  -> a/r1-c0/execute b/r1-c0/execute
			a/r1-c0/execute limited                ->
			b/r1-c0/execute failed reason=no       ->
			end failed batch 2: no`},
		"each attempt may wait as often": {plan: "a", info: wait, script: `
			start                                  -> a/r1-c0/execute
			a/r1-c0/execute limited retry=9        -> a/r1-c0/wait
			a/r1-c0/wait ok                        -> a/r1-c0/execute
			a/r1-c0/execute failed                 -> a/r2-c0/execute
			a/r2-c0/execute limited retry=9        -> a/r2-c0/wait`},
		"a resume that does not want to wait asks the agent at once": {plan: "a", info: wait, script: `
			start                                  -> a/r1-c0/execute
			a/r1-c0/execute limited retry=9        -> a/r1-c0/wait
			resume onlimit=exit                    -> a/r1-c0/execute`},
	})
}

// The run starts no agent that would probably exceed the cost limit.
func TestCostLimit(t *testing.T) {
	two := Info{Workers: 2, MaxCostUSD: 2}
	tell(t, map[string]scenario{
		"the next attempt is likely to cost what those before it cost in the middle": {plan: "a b c d", info: Info{MaxCostUSD: 10}, script: `
			start                                  -> a/r1-c0/execute
			a/r1-c0/execute ok cost=6 commit=a1    -> a/r1-c0/gate
			end running
			a/r1-c0/gate ok                        -> a/r1-c0/commit
			a/r1-c0/commit ok commit=a9            -> a/r1-c0/merge
			a/r1-c0/merge ok                       ->
			status a=merged b=waiting c=waiting d=waiting
			end stopped limited
			because the cost limit of $10.00: $6.00 is spent, and the next attempt is likely to cost $6.00`},
		"one dear attempt among cheap ones does not stop the run": {plan: "a b c d", info: Info{MaxCostUSD: 10}, script: `
			start                                  -> a/r1-c0/execute
			a/r1-c0/execute ok cost=1              -> a/r1-c0/gate b/r1-c0/execute
			b/r1-c0/execute ok cost=1              -> c/r1-c0/execute
			c/r1-c0/execute ok cost=7              -> d/r1-c0/execute`},
		"before any cost is known one agent works, however many could": {plan: "a b c", info: Info{Workers: 3, MaxCostUSD: 9}, script: `
			start                                  -> a/r1-c0/execute
			a/r1-c0/execute ok cost=1              -> a/r1-c0/gate b/r1-c0/execute c/r1-c0/execute`},
		"agents that are running are counted as well": {plan: "a b c d", info: Info{Workers: 3, MaxCostUSD: 3}, script: `
			start                                  -> a/r1-c0/execute
			a/r1-c0/execute ok cost=1 commit=a1    -> a/r1-c0/gate b/r1-c0/execute c/r1-c0/execute
			status a=working b=working c=working d=waiting`},
		"an agent gets what is left of the limit": {plan: "a b", info: Info{MaxCostUSD: 4}, script: `
			start                                  -> a/r1-c0/execute left=4
			a/r1-c0/execute ok cost=1              -> a/r1-c0/gate b/r1-c0/execute left=3`},
		"an agent gets what is left of a limit of one dollar": {plan: "a b", info: Info{MaxCostUSD: 1}, script: `
			start                                  -> a/r1-c0/execute left=1
			a/r1-c0/execute ok cost=0.25           -> a/r1-c0/gate b/r1-c0/execute left=0.75`},
		"before any cost is known one agent works, also below a small limit": {plan: "a b c", info: Info{Workers: 3, MaxCostUSD: 0.9}, script: `
			start                                  -> a/r1-c0/execute
			a/r1-c0/execute ok cost=0.25           -> a/r1-c0/gate b/r1-c0/execute c/r1-c0/execute`},
		"without a limit nothing is left or spent": {plan: "a b", script: `
			start                                  -> a/r1-c0/execute left=0
			a/r1-c0/execute ok cost=1              -> a/r1-c0/gate b/r1-c0/execute left=0`},
		"reviews count, but do not foretell the cost of an attempt": {plan: "a b:a", info: Info{MaxCostUSD: 3, Review: "all", Fidelity: true}, script: `
			start                                  -> a/r1-c0/execute left=3
			a/r1-c0/execute ok cost=0.5            -> a/r1-c0/gate
			a/r1-c0/gate ok                        -> a/r1-c0/fidelity
			a/r1-c0/fidelity ok cost=0.25          -> a/r1-c0/review
			a/r1-c0/review ok cost=1               -> a/r1-c0/commit
			a/r1-c0/commit ok commit=k             -> a/r1-c0/merge
			a/r1-c0/merge ok                       -> b/r1-c0/execute left=1.25`},
		"no agent starts once reviews have spent the limit": {plan: "a b:a", info: Info{MaxCostUSD: 2, Review: "all"}, script: `
			start                                  -> a/r1-c0/execute
			a/r1-c0/execute ok cost=0.5            -> a/r1-c0/gate
			a/r1-c0/gate ok                        -> a/r1-c0/review
			a/r1-c0/review shallow cost=1.5        ->
			end stopped limited
			because the cost limit of $2.00: $2.00 is spent, and the next attempt is likely to cost $0.50`},
		"a cost equal to the limit is allowed": {plan: "a b", info: Info{MaxCostUSD: 2}, script: `
			start                                  -> a/r1-c0/execute
			a/r1-c0/execute ok cost=1              -> a/r1-c0/gate b/r1-c0/execute`},
		"an attempt of unknown cost keeps the run from starting another": {plan: "a b", info: two, script: `
			start                                  -> a/r1-c0/execute
			a/r1-c0/execute failed                 ->
			end stopped limited
			resume                                 ->
			end stopped limited
			because the cost limit of $2.00 cannot be kept: an attempt at batch 1 did not report its cost; with [run] unknown_cost = "allow" such attempts do not count, and --max-cost 0 lifts the limit
			resume unknown=allow                   -> a/r2-c0/execute
			resume limit=0                         -> b/r1-c0/execute`},
		"an agent that never started has no unknown cost": {plan: "a", info: Info{MaxCostUSD: 1}, script: `
			start                                  -> a/r1-c0/execute
			a/r1-c0/execute cancelled              ->
			resume                                 -> a/r1-c0/execute`},
		"candidates still land when the money is spent, and what failed stays as it is": {plan: "a b", info: two, script: `
			start                                  -> a/r1-c0/execute
			a/r1-c0/execute ok cost=1 commit=a1    -> a/r1-c0/gate b/r1-c0/execute
			b/r1-c0/execute failed cost=1          ->
			a/r1-c0/gate ok                        -> a/r1-c0/commit
			a/r1-c0/commit ok commit=a9            -> a/r1-c0/merge
			a/r1-c0/merge ok                       ->
			status a=merged b=working
			end stopped limited`},
		"a run that resumes with a higher limit continues": {plan: "a b", info: Info{MaxCostUSD: 1}, script: `
			start                                  -> a/r1-c0/execute
			a/r1-c0/execute ok cost=1 commit=a1    -> a/r1-c0/gate
			a/r1-c0/gate error                     ->
			resume                                 -> a/r1-c0/gate
			resume limit=1.9                       ->
			resume limit=2                         -> b/r1-c0/execute`},
		"a finished run is not stopped by its cost": {plan: "a", info: Info{MaxCostUSD: 1}, script: `
			start                                  -> a/r1-c0/execute
			a/r1-c0/execute ok cost=3 commit=a1    -> a/r1-c0/gate
			a/r1-c0/gate ok                        -> a/r1-c0/commit
			a/r1-c0/commit ok commit=a9            -> a/r1-c0/merge
			a/r1-c0/merge ok                       ->
			end done`},
		"what an agent cost whose command was cancelled counts": {plan: "a b:a*", info: Info{Workers: 2, Speculate: true, MaxCostUSD: 3}, script: `
			start                                  -> a/r1-c0/execute
			a/r1-c0/execute ok cost=1 commit=a1    -> a/r1-c0/gate b/r1-c0/execute
			a/r1-c0/gate failed                    -> a/r2-c0/execute
			b/r1-c0/execute ok kind=spent cost=1.5 ->
			a/r2-c0/execute timed_out cost=1       ->
			end stopped limited`},
	})
}

// If agents cannot be started in parallel, the run starts them one after the other (TEAM-10).
func TestFallbackToOneWorker(t *testing.T) {
	tell(t, map[string]scenario{
		"after a failed concurrent start, agents run one at a time": {plan: "a b c", info: Info{Workers: 2}, script: `
			start                                  -> a/r1-c0/execute b/r1-c0/execute
			b/r1-c0/execute not_started reason=memory    ->
			end running
			a/r1-c0/execute ok commit=a1           -> a/r1-c0/gate b/r1-c0/execute
			b/r1-c0/execute ok commit=b1           -> c/r1-c0/execute`},
		"an agent that cannot be started alone either stops the run": {plan: "a b", info: Info{Workers: 2}, script: `
			start                                  -> a/r1-c0/execute b/r1-c0/execute
			a/r1-c0/execute not_started reason=memory    ->
			b/r1-c0/execute not_started reason=memory    -> a/r1-c0/execute
			a/r1-c0/execute not_started reason=memory    ->
			end stopped error`},
		"a single worker has nothing to fall back to": {plan: "a b", script: `
			start                                  -> a/r1-c0/execute
			a/r1-c0/execute not_started                  ->
			end stopped error`},
		"a resume starts them concurrently again": {plan: "a b", info: Info{Workers: 2}, script: `
			start                                  -> a/r1-c0/execute b/r1-c0/execute
			a/r1-c0/execute not_started                  ->
			b/r1-c0/execute not_started                  -> a/r1-c0/execute
			a/r1-c0/execute not_started                  ->
			resume                                 -> a/r1-c0/execute b/r1-c0/execute`},
	})
}

// With resample, candidates compete after a failure of the work itself. After a failed commit, a denial, or a failure
// that a repetition cannot change, the agent edits once more.
func TestResampleFollowsWorkFailures(t *testing.T) {
	for _, tt := range []struct {
		from State
		e    Event
		want State
	}{
		{StateEdit, Event{Kind: Executed}, StateSample}, {StateGate, Event{Kind: Gated}, StateSample},
		{StateGate, Event{Kind: Tried}, StateSample}, {StateSample, Event{Kind: Judged}, StateSample},
		{StateCommit, Event{Kind: Committed}, StateEdit}, {StatePublish, Event{Kind: ApprovalDenied}, StateEdit},
		{StateEdit, Event{Kind: Executed, Hopeless: true}, StateEdit},
	} {
		m := machine(t, Info{Workers: 1, MaxAttempts: 2, Resample: true}, "a")
		b := m.byKey["a"]
		b.status, b.state, b.tries = Working, tt.from, 1
		if m.failed(b, tt.e); b.state != tt.want || m.stop != nil {
			t.Errorf("%s in %s: %s, not %s", tt.e.Kind, tt.from, b.state, tt.want)
		}
	}
}
