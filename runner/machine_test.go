package runner

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/runplan/runplan/gates"
)

func TestMachine(t *testing.T) {
	tell(t, map[string]scenario{
		"a batch that goes well is executed, gated, committed and merged": {plan: "a", script: `
			start                                  -> a/r1-c0/execute base=base after=0
			a/r1-c0/execute ok commit=c tree=t     -> a/r1-c0/gate base=base commit=c tree=t before=unknown
			a/r1-c0/gate ok                        -> a/r1-c0/commit base=base commit=c tree=t
			a/r1-c0/commit ok commit=k tree=t      -> a/r1-c0/merge base=base commit=k tree=t
			end running
			a/r1-c0/merge ok commit=k              ->
			status a=merged
			tip k
			end done`},
		"a batch starts from where the run branch is": {plan: "a b:a", script: `
			start                                  -> a/r1-c0/execute base=base
			a/r1-c0/execute ok                     -> a/r1-c0/gate
			a/r1-c0/gate ok                        -> a/r1-c0/commit
			a/r1-c0/commit ok commit=k             -> a/r1-c0/merge
			a/r1-c0/merge ok commit=k              -> b/r1-c0/execute base=k`},
		"an agent works on the next batch while gates check the last one": {plan: "a b c", script: `
			start                                  -> a/r1-c0/execute
			a/r1-c0/execute ok                     -> a/r1-c0/gate b/r1-c0/execute base=base
			a/r1-c0/gate failed                    ->
			b/r1-c0/execute ok                     -> b/r1-c0/gate a/r2-c0/execute`},
		"after a red gate, another attempt gets the failure": {plan: "a", script: `
			start                                  -> a/r1-c0/execute
			a/r1-c0/execute ok tree=t              -> a/r1-c0/gate
			a/r1-c0/gate failed findings=vet       -> a/r2-c0/execute base=base after=3
			a/r2-c0/execute ok tree=u              -> a/r2-c0/gate
			a/r2-c0/gate ok                        -> a/r2-c0/commit`},
		"attempts run out": {plan: "a", info: Info{MaxAttempts: 2}, script: `
			start                                  -> a/r1-c0/execute
			a/r1-c0/execute ok tree=t              -> a/r1-c0/gate
			a/r1-c0/gate failed findings=vet       -> a/r2-c0/execute
			a/r2-c0/execute ok tree=u              -> a/r2-c0/gate
			a/r2-c0/gate failed reason=red         ->
			status a=failed
			end failed batch 1: red`},
		"the same tree with the same findings twice is stuck": {plan: "a", script: `
			start                                  -> a/r1-c0/execute
			a/r1-c0/execute ok tree=t              -> a/r1-c0/gate
			a/r1-c0/gate failed findings=vet       -> a/r2-c0/execute
			a/r2-c0/execute ok tree=t              -> a/r2-c0/gate
			a/r2-c0/gate failed findings=vet reason=red
			status a=failed
			reason a stuck: two attempts in a row left the same tree and the same findings; red`},
		"the same findings on another tree are not stuck": {plan: "a", script: `
			start                                  -> a/r1-c0/execute
			a/r1-c0/execute ok tree=t              -> a/r1-c0/gate
			a/r1-c0/gate failed findings=vet       -> a/r2-c0/execute
			a/r2-c0/execute ok tree=u              -> a/r2-c0/gate
			a/r2-c0/gate failed findings=vet       -> a/r3-c0/execute`},
		"an attempt without a change is repeated; two in a row are stuck": {plan: "a", script: `
			start                                  -> a/r1-c0/execute
			a/r1-c0/execute unchanged              -> a/r2-c0/execute after=2
			a/r2-c0/execute unchanged              ->
			status a=failed`},
		"an agent that runs out of time is tried again": {plan: "a", script: `
			start                                  -> a/r1-c0/execute
			a/r1-c0/execute timed_out              -> a/r2-c0/execute
			a/r2-c0/execute failed                 -> a/r3-c0/execute`},
		"what a hook changed is gated again": {plan: "a", script: `
			start                                  -> a/r1-c0/execute
			a/r1-c0/execute ok commit=c tree=t     -> a/r1-c0/gate
			a/r1-c0/gate ok                        -> a/r1-c0/commit
			a/r1-c0/commit changed commit=d tree=u -> a/r1-c1/gate base=base commit=d tree=u
			a/r1-c1/gate ok                        -> a/r1-c1/commit commit=d tree=u
			a/r1-c1/commit ok commit=k             -> a/r1-c1/merge commit=k tree=u`},
		"a hook that never leaves the tree alone fails the batch": {plan: "a", info: Info{MaxAttempts: 1}, script: `
			start                                  -> a/r1-c0/execute
			a/r1-c0/execute ok tree=t              -> a/r1-c0/gate
			a/r1-c0/gate ok                        -> a/r1-c0/commit
			a/r1-c0/commit changed tree=u          -> a/r1-c1/gate
			a/r1-c1/gate ok                        -> a/r1-c1/commit
			a/r1-c1/commit changed tree=v          ->
			status a=failed`},
		"a hook that refuses leads to another attempt": {plan: "a", script: `
			start                                  -> a/r1-c0/execute
			a/r1-c0/execute ok tree=t              -> a/r1-c0/gate
			a/r1-c0/gate ok                        -> a/r1-c0/commit
			a/r1-c0/commit failed reason=hook      -> a/r2-c0/execute after=4`},
		"conflicts lead to a limited number of attempts on the new base": {plan: "a", info: Info{MaxAttempts: 1}, script: `
			start                                  -> a/r1-c0/execute
			a/r1-c0/execute ok commit=c            -> a/r1-c0/gate
			a/r1-c0/gate ok                        -> a/r1-c0/commit
			a/r1-c0/commit ok commit=k             -> a/r1-c0/merge
			a/r1-c0/merge moved base=x             -> a/r1-c0/rebase base=x from=base commit=c
			a/r1-c0/rebase conflict                -> a/r2-c0/execute base=x after=6
			a/r2-c0/execute ok commit=d            -> a/r2-c0/gate
			a/r2-c0/gate ok                        -> a/r2-c0/commit
			a/r2-c0/commit ok commit=l             -> a/r2-c0/merge
			a/r2-c0/merge moved base=y             -> a/r2-c0/rebase base=y from=x commit=d
			a/r2-c0/rebase conflict reason=twice   ->
			status a=failed
			end failed batch 1: twice`},
		"failures with a conflict between them are not in a row": {plan: "a", info: Info{MaxAttempts: 9}, script: `
			start                                  -> a/r1-c0/execute
			a/r1-c0/execute unchanged              -> a/r2-c0/execute
			a/r2-c0/execute ok                     -> a/r2-c0/gate
			a/r2-c0/gate ok                        -> a/r2-c0/commit
			a/r2-c0/commit ok commit=k             -> a/r2-c0/merge
			a/r2-c0/merge moved base=x             -> a/r2-c0/rebase
			a/r2-c0/rebase conflict                -> a/r3-c0/execute
			a/r3-c0/execute unchanged              -> a/r4-c0/execute`},
		"commits of another process on the run branch become part of the next base": {plan: "a", script: `
			start                                  -> a/r1-c0/execute
			a/r1-c0/execute ok commit=c tree=t     -> a/r1-c0/gate
			a/r1-c0/gate ok tests=9                -> a/r1-c0/commit
			a/r1-c0/commit ok commit=k             -> a/r1-c0/merge base=base commit=k
			a/r1-c0/merge moved base=x             -> a/r1-c0/rebase base=x from=base commit=c tree=t
			a/r1-c0/rebase ok commit=d tree=u      -> a/r1-c1/gate base=x commit=d tree=u before=unknown
			a/r1-c1/gate ok                        -> a/r1-c1/commit base=x commit=d tree=u
			a/r1-c1/commit ok commit=l             -> a/r1-c1/merge base=x commit=l
			a/r1-c1/merge ok                       ->
			tip l`},
		"a candidate that was to be committed moves to where the run branch is found": {plan: "a", script: `
			start                                  -> a/r1-c0/execute
			a/r1-c0/execute ok commit=c            -> a/r1-c0/gate
			a/r1-c0/gate ok                        -> a/r1-c0/commit base=base
			a/r1-c0/commit error                   ->
			resume commit=x                        -> a/r1-c0/rebase base=x
			a/r1-c0/rebase ok commit=d             -> a/r1-c1/gate base=x commit=d`},
		"a merge without a report is issued again unchanged": {plan: "a", script: `
			start                                  -> a/r1-c0/execute
			a/r1-c0/execute ok                     -> a/r1-c0/gate
			a/r1-c0/gate ok                        -> a/r1-c0/commit
			a/r1-c0/commit ok commit=k             -> a/r1-c0/merge base=base
			a/r1-c0/merge error                    ->
			resume commit=k                        -> a/r1-c0/merge base=base commit=k
			a/r1-c0/merge ok                       ->
			tip k
			end done`},
		"one batch lands at a time, in the order in which their agents ended": {plan: "a b", info: Info{Workers: 2, Speculate: true}, script: `
			start                                  -> a/r1-c0/execute b/r1-c0/execute
			b/r1-c0/execute ok commit=cb           -> b/r1-c0/gate base=base
			a/r1-c0/execute ok commit=ca           -> a/r1-c0/rebase base=cb
			a/r1-c0/rebase ok commit=da            -> a/r1-c0/gate base=cb commit=da
			a/r1-c0/gate ok                        ->
			b/r1-c0/gate ok                        -> b/r1-c0/commit
			b/r1-c0/commit ok commit=k             -> b/r1-c0/merge
			b/r1-c0/merge ok                       -> a/r1-c0/commit base=k commit=da`},
		"the required number of tests is that of the base, with batches merged meanwhile": {plan: "a b", info: Info{Workers: 2}, script: `
			start                                  -> a/r1-c0/execute b/r1-c0/execute
			a/r1-c0/execute ok                     -> a/r1-c0/gate before=unknown
			a/r1-c0/gate ok tests=9                -> a/r1-c0/commit
			a/r1-c0/commit ok commit=k             -> a/r1-c0/merge
			a/r1-c0/merge ok                       ->
			b/r1-c0/execute ok commit=c            -> b/r1-c0/rebase base=k commit=c
			b/r1-c0/rebase ok commit=d             -> b/r1-c0/gate base=k commit=d before=9`},
		"a candidate that never merged does not raise the number of tests to keep": {plan: "a", script: `
			start                                  -> a/r1-c0/execute
			a/r1-c0/execute ok                     -> a/r1-c0/gate
			a/r1-c0/gate ok tests=9                -> a/r1-c0/commit
			a/r1-c0/commit failed                  -> a/r2-c0/execute
			a/r2-c0/execute ok                     -> a/r2-c0/gate before=unknown`},
		"a failed batch blocks what needs it, but not others": {plan: "a b:a c d:b", info: Info{MaxAttempts: 1}, script: `
			start                                  -> a/r1-c0/execute
			a/r1-c0/execute failed reason=no       -> c/r1-c0/execute
			c/r1-c0/execute failed reason=neither  ->
			status a=failed b=waiting c=failed d=waiting
			end failed batch 1: no`},
		"a skipped batch gets no command, and what needs it need not wait": {plan: "a!empty b:a", script: `
			start                                  -> b/r1-c0/execute
			status a=skipped b=working
			reason a empty`},
		"a plan of skipped batches is done": {plan: "a!empty", info: Info{Land: "ff"}, script: `
			start                                  ->
			status a=skipped
			end done`},
		"a plan without batches is done": {plan: "", info: Info{Land: "ff"}, script: `
			start                                  ->
			end done`},
		"a report on nothing changes nothing": {plan: "a b", script: `
			start                                  -> a/r1-c0/execute
			a/r9-c0/execute ok                     ->
			b/r1-c0/execute ok                     ->
			z/r1-c0/execute ok                     ->
			run/land ok                            ->
			pending                                -> a/r1-c0/execute
			status a=working b=waiting`},
		"a repeated report changes nothing": {plan: "a", script: `
			start                                  -> a/r1-c0/execute
			a/r1-c0/execute ok commit=c            -> a/r1-c0/gate commit=c
			a/r1-c0/execute ok commit=d            ->
			a/r1-c0/execute failed                 ->
			pending                                -> a/r1-c0/gate commit=c`},
		"a report of the wrong kind changes nothing": {plan: "a", script: `
			start                                  -> a/r1-c0/execute
			a/r1-c0/execute ok kind=gated          ->
			a/r1-c0/execute moved                  ->
			a/r1-c0/execute conflict               ->
			a/r1-c0/execute ok kind=note           ->
			a/r1-c0/execute what                   ->
			pending                                -> a/r1-c0/execute`},
	})
}

func TestNew(t *testing.T) {
	tests := map[string]struct {
		plan string
		bend func(*Info)
		want []string // lines of the error
	}{
		"a missing dependency is reported once": {plan: "a:x b:a c:b",
			want: []string{"batch a needs batch x, which does not exist"}},
		"a cycle is reported once": {plan: "d:a a:b b:a c:b",
			want: []string{"batch a depends on itself through other batches"}},
		"a batch must not need itself": {plan: "a:a", want: []string{"batch a depends on itself through other batches"}},
		"batch keys are unique":        {plan: "a a", want: []string{`the batch key "a" is repeated`}},
		"a batch has a key": {
			plan: "a b", bend: func(i *Info) { i.Batches[1].Key = "" },
			want: []string{`batch 2 "Batch b" has no key`},
		},
		"at least one worker is needed": {
			plan: "a", bend: func(i *Info) { i.Workers = 0 },
			want: []string{"workers 0 and max_attempts 1 must be at least 1"},
		},
		"there has to be an attempt": {
			plan: "a", bend: func(i *Info) { i.MaxAttempts = 0 },
			want: []string{"workers 1 and max_attempts 0 must be at least 1"},
		},
		"agents have names": {
			plan: "a", bend: func(i *Info) { i.Agents = agentsOf("x,") },
			want: []string{`agent 2 of the run: the name "" is invalid or repeated`},
		},
		"the names of agents are unique": {
			plan: "a", bend: func(i *Info) { i.Agents = agentsOf("x,y,x") },
			want: []string{`agent 3 of the run: the name "x" is invalid or repeated`},
		},
		"a run of another version of the loop is not mixed with this one": {
			plan: "a", bend: func(i *Info) { i.LoopVersion = 7 },
			want: []string{"loop version: the run has version 7, but this runplan supports versions 3 to 5; finish it with the " +
				"runplan that started it, or start it again"},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			info := plans(Info{Workers: 1, MaxAttempts: 1}, tt.plan)
			if tt.bend != nil {
				tt.bend(&info)
			}
			_, err := New(info)
			if err == nil {
				t.Fatal("no error")
			}
			if diff := cmp.Diff(tt.want, strings.Split(err.Error(), "\n")); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestMachineStartsOnce(t *testing.T) {
	m := machine(t, Info{Workers: 1, MaxAttempts: 1}, "a")
	m.Start()
	if cmds := m.Start(); len(cmds) > 0 {
		t.Errorf("started twice: %v", cmds)
	}
	if _, ok := m.Batch("z"); ok {
		t.Error("found a missing batch")
	}
	passes(m, "a/r1-c0/execute")
	v, _ := m.Batch("a")
	want := View{
		BatchInfo: m.info.Batches[0], Status: Passed, State: End, Attempt: 1, Base: "base", Commit: "a/r1-c0/commit",
	}
	if diff := cmp.Diff(want, v); diff != "" {
		t.Error(diff)
	}
	if m.before != (*gates.TestCount)(nil) {
		t.Errorf("no tests were counted, but there are %v", m.before)
	}
}

// Each kind of command has its own set of outcomes; the machine ignores all others.
func TestAnswers(t *testing.T) {
	all := "execute sample judge rebase gate trial fidelity review ask commit merge land wait"
	for outcome, want := range map[Outcome]string{
		OutcomeOK: all, OutcomeError: all, OutcomeCancelled: all,
		OutcomeFailed:    "execute sample judge gate trial fidelity commit",
		OutcomeUndecided: "judge review", OutcomeShallow: "review", OutcomeComplex: "review",
		OutcomeSkipped:   "fidelity review",
		OutcomeUnchanged: "execute", OutcomeTimedOut: "execute", OutcomeLimited: "execute", OutcomeHuman: "execute",
		OutcomeUnstarted: "execute", OutcomeChanged: "commit", OutcomeConflict: "rebase", OutcomeMoved: "merge",
		OutcomeRefused: "sample land", "unknown": "",
	} {
		var got []string
		for _, k := range []CommandKind{
			Execute, Sample, Judge, Rebase, Gate, Trial, Fidelity, Review, Ask, Commit, Merge, LandRun, Wait,
		} {
			if answers(k, outcome) {
				got = append(got, string(k))
			}
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s answers %q, not %q", outcome, got, want)
		}
	}
}
