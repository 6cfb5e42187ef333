package runner

import "testing"

func TestMachineStopAndResume(t *testing.T) {
	tell(t, map[string]scenario{
		"a stopping run finishes running commands and starts no others": {plan: "a b", script: `
			start                                  -> a/r1-c0/execute
			stop cancelled                         ->
			end running
			a/r1-c0/execute ok commit=c            ->
			end stopped cancelled
			pending                                ->
			status a=working b=waiting
			resume                                 -> a/r1-c0/gate commit=c b/r1-c0/execute
			end running`},
		"the first reason to stop is kept": {plan: "a", script: `
			start                                  -> a/r1-c0/execute
			stop needs_human                       ->
			stop cancelled                         ->
			a/r1-c0/execute cancelled              ->
			end stopped needs_human`},
		"work that was cancelled is handed out again": {plan: "a", script: `
			start                                  -> a/r1-c0/execute
			stop cancelled                         ->
			a/r1-c0/execute cancelled              ->
			resume                                 -> a/r1-c0/execute`},
		"work that could not be done at all stops the run and is handed out again": {plan: "a b", info: Info{Workers: 2}, script: `
			start                                  -> a/r1-c0/execute b/r1-c0/execute
			a/r1-c0/execute ok                     -> a/r1-c0/gate
			a/r1-c0/gate error reason=git          ->
			pending                                -> b/r1-c0/execute
			end running
			b/r1-c0/execute ok commit=c            ->
			end stopped error
			resume                                 -> a/r1-c0/gate
			queue a b`},
		"a rate limit stops the run": {plan: "a", script: `
			start                                  -> a/r1-c0/execute
			a/r1-c0/execute limited                ->
			end stopped limited
			resume                                 -> a/r1-c0/execute`},
		"an agent that needs a person stops the run": {plan: "a", script: `
			start                                  -> a/r1-c0/execute
			a/r1-c0/execute needs_human            ->
			end stopped needs_human`},
		"a gate that could not run is not a failure of the code": {plan: "a", info: Info{MaxAttempts: 1}, script: `
			start                                  -> a/r1-c0/execute
			a/r1-c0/execute ok                     -> a/r1-c0/gate
			a/r1-c0/gate error                     ->
			status a=working
			resume                                 -> a/r1-c0/gate`},
		"resume gives failed batches a new allowance, with ids that were never used": {plan: "a", info: Info{MaxAttempts: 2}, script: `
			start                                  -> a/r1-c0/execute
			a/r1-c0/execute failed tree=t          -> a/r2-c0/execute
			a/r2-c0/execute failed tree=u reason=no ->
			end failed batch 1: no
			resume                                 -> a/r3-c0/execute after=3
			a/r3-c0/execute failed tree=u          -> a/r4-c0/execute
			a/r4-c0/execute failed tree=v          ->
			status a=failed`},
		"a new allowance also applies to conflicts": {plan: "a", info: Info{MaxAttempts: 1}, script: `
			start                                  -> a/r1-c0/execute
			resume commit=x                        ->
			a/r1-c0/execute ok                     -> a/r1-c0/rebase base=x
			a/r1-c0/rebase conflict                -> a/r2-c0/execute
			resume commit=y                        ->
			a/r2-c0/execute ok                     -> a/r2-c0/rebase base=y
			a/r2-c0/rebase conflict                ->
			status a=failed
			resume                                 -> a/r3-c0/execute
			resume commit=z                        ->
			a/r3-c0/execute ok                     -> a/r3-c0/rebase base=z
			a/r3-c0/rebase conflict                -> a/r4-c0/execute`},
		"failed batches share the workers there are": {plan: "a b", info: Info{MaxAttempts: 1}, script: `
			start                                  -> a/r1-c0/execute
			a/r1-c0/execute failed                 -> b/r1-c0/execute
			b/r1-c0/execute failed                 ->
			resume                                 -> a/r2-c0/execute
			status a=working b=waiting
			a/r2-c0/execute failed                 -> b/r2-c0/execute`},
		"a reopened batch is run again": {plan: "a b", script: `
			start                                  -> a/r1-c0/execute
			a/r1-c0/execute ok                     -> a/r1-c0/gate b/r1-c0/execute base=base
			a/r1-c0/gate ok tests=9                -> a/r1-c0/commit
			a/r1-c0/commit ok commit=k             -> a/r1-c0/merge
			a/r1-c0/merge ok commit=k              ->
			b/r1-c0/execute cancelled              ->
			reopen a base=x                        ->
			status a=waiting b=working
			resume                                 -> b/r1-c1/execute base=x
			b/r1-c1/execute failed                 -> b/r2-c0/execute base=x
			b/r2-c0/execute ok                     -> b/r2-c0/gate before=unknown a/r2-c0/execute base=x after=0
			b/r2-c0/gate ok                        -> b/r2-c0/commit base=x`},
		"a reopened batch has nothing to learn from failures that it got over": {plan: "a", script: `
			start                                  -> a/r1-c0/execute
			a/r1-c0/execute failed                 -> a/r2-c0/execute after=2
			a/r2-c0/execute ok                     -> a/r2-c0/gate
			a/r2-c0/gate ok                        -> a/r2-c0/commit
			a/r2-c0/commit ok commit=k             -> a/r2-c0/merge
			a/r2-c0/merge ok commit=k              ->
			end done
			reopen a                               -> a/r3-c0/execute base=k after=0
			end running`},
		"only a merged batch can be reopened": {plan: "a b", script: `
			start                                  -> a/r1-c0/execute
			reopen a base=x                        ->
			reopen b base=x                        ->
			reopen z base=x                        ->
			tip base
			pending                                -> a/r1-c0/execute`},
		"what needs a reopened batch waits for it": {plan: "a b:a", script: `
			start                                  -> a/r1-c0/execute
			a/r1-c0/execute ok                     -> a/r1-c0/gate
			a/r1-c0/gate ok                        -> a/r1-c0/commit
			a/r1-c0/commit ok commit=k             -> a/r1-c0/merge
			a/r1-c0/merge ok commit=k              -> b/r1-c0/execute
			reopen a base=base                     -> a/r2-c0/execute base=base
			b/r1-c0/execute ok                     ->
			status a=working b=waiting`},
		"the run branch decides about a running merge whose base is lost": {plan: "a b:a", script: `
			start                                  -> a/r1-c0/execute
			a/r1-c0/execute ok                     -> a/r1-c0/gate
			a/r1-c0/gate ok                        -> a/r1-c0/commit
			a/r1-c0/commit ok commit=k             -> a/r1-c0/merge
			a/r1-c0/merge ok commit=k              -> b/r1-c0/execute
			b/r1-c0/execute ok                     -> b/r1-c0/gate
			b/r1-c0/gate ok                        -> b/r1-c0/commit
			b/r1-c0/commit ok commit=l             -> b/r1-c0/merge base=k
			reopen a base=base                     -> a/r2-c0/execute base=base
			pending                                -> a/r2-c0/execute b/r1-c0/merge base=k
			b/r1-c0/merge moved base=base          ->
			status a=working b=waiting`},
		"the run lands once all is merged": {plan: "a b", info: Info{Workers: 2, Land: "ff"}, script: `
			start                                  -> a/r1-c0/execute b/r1-c0/execute
			a/r1-c0/execute ok                     -> a/r1-c0/gate
			a/r1-c0/gate ok                        -> a/r1-c0/commit
			a/r1-c0/commit ok commit=k             -> a/r1-c0/merge
			a/r1-c0/merge ok commit=k              ->
			b/r1-c0/execute ok                     -> b/r1-c0/rebase base=k
			b/r1-c0/rebase ok commit=d             -> b/r1-c0/gate
			b/r1-c0/gate ok                        -> b/r1-c0/commit
			b/r1-c0/commit ok commit=l             -> b/r1-c0/merge
			b/r1-c0/merge ok commit=l              -> run/land base=base commit=l
			end running
			run/land ok                            ->
			end done
			resume                                 ->
			end done`},
		"a run with a failed batch does not land": {plan: "a b", info: Info{Workers: 2, MaxAttempts: 1, Land: "ff"}, script: `
			start                                  -> a/r1-c0/execute b/r1-c0/execute
			a/r1-c0/execute failed reason=no       ->
			b/r1-c0/execute ok                     -> b/r1-c0/gate
			b/r1-c0/gate ok                        -> b/r1-c0/commit
			b/r1-c0/commit ok commit=l             -> b/r1-c0/merge
			b/r1-c0/merge ok commit=l              ->
			end failed batch 1: no`},
		"a refused landing fails the run, and resume tries it again": {plan: "a", info: Info{Land: "ff"}, script: `
			start                                  -> a/r1-c0/execute
			a/r1-c0/execute ok                     -> a/r1-c0/gate
			a/r1-c0/gate ok                        -> a/r1-c0/commit
			a/r1-c0/commit ok commit=k             -> a/r1-c0/merge
			a/r1-c0/merge ok commit=k              -> run/land commit=k
			run/land refused reason=dirty          ->
			end failed landing: dirty
			resume                                 -> run/land commit=k
			run/land refused reason=dirty          ->
			resume commit=x                        -> run/r2/land commit=x
			run/r2/land ok                         ->
			end done`},
		"a landing that was cut off is handed out again": {plan: "a", info: Info{Land: "ff"}, script: `
			start                                  -> a/r1-c0/execute
			a/r1-c0/execute ok                     -> a/r1-c0/gate
			a/r1-c0/gate ok                        -> a/r1-c0/commit
			a/r1-c0/commit ok commit=k             -> a/r1-c0/merge
			a/r1-c0/merge ok commit=k              -> run/land
			run/land error                         ->
			end stopped error
			resume                                 -> run/land commit=k`},
		"a reopened batch cancels the landing, and a new landing follows": {plan: "a", info: Info{Land: "ff"}, script: `
			start                                  -> a/r1-c0/execute
			a/r1-c0/execute ok                     -> a/r1-c0/gate
			a/r1-c0/gate ok                        -> a/r1-c0/commit
			a/r1-c0/commit ok commit=k             -> a/r1-c0/merge
			a/r1-c0/merge ok commit=k              -> run/land commit=k
			run/land cancelled                     ->
			reopen a base=base                     ->
			resume                                 -> a/r2-c0/execute base=base
			run/land ok                            ->
			a/r2-c0/execute ok                     -> a/r2-c0/gate
			a/r2-c0/gate ok                        -> a/r2-c0/commit
			a/r2-c0/commit ok commit=l             -> a/r2-c0/merge
			a/r2-c0/merge ok commit=l              -> run/r2/land commit=l`},
	})
}
