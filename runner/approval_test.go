package runner

import (
	"strings"
	"testing"
	"time"
)

// A person approves one tree and no other. Other batches continue while an approval is pending; only the end of the
// run waits for it.
func TestApproval(t *testing.T) {
	tell(t, map[string]scenario{
		"an approved candidate is merged, and the person is asked once": {plan: "a?", script: `
			start -> a/r1-c0/execute
			a/r1-c0/execute ok commit=c tree=t -> a/r1-c0/gate
			a/r1-c0/gate ok -> a/r1-c0/ask commit=c tree=t why=the_plan_asks_for_a_person's_approval
			state a publish
			a/r1-c0/ask ok ->
			waiting a/r1-c0/ask
			end stopped needs_human
			resume ->
			waiting a/r1-c0/ask
			end stopped needs_human
			because batch 1 waits for a person: the plan asks for a person's approval
			approve a/r1-c0/ask tree=other ->
			waiting a/r1-c0/ask
			approve a/r1-c0/ask -> a/r1-c0/commit tree=t
			waiting
			approve a/r1-c0/ask ->
			a/r1-c0/commit ok commit=k -> a/r1-c0/merge
			a/r1-c0/merge ok ->
			end done`},
		"a no goes to the next attempt, and counts as one": {plan: "a?", info: Info{MaxAttempts: 2}, script: `
			start -> a/r1-c0/execute
			a/r1-c0/execute ok commit=c tree=t -> a/r1-c0/gate
			a/r1-c0/gate ok -> a/r1-c0/ask
			a/r1-c0/ask ok ->
			deny a/r1-c0/ask reason=no -> a/r2-c0/execute after=5
			a/r2-c0/execute ok commit=d tree=u -> a/r2-c0/gate
			a/r2-c0/gate ok -> a/r2-c0/ask
			a/r2-c0/ask ok ->
			deny a/r2-c0/ask reason=never ->
			end failed batch 1: never`},
		"other batches continue, and after their merges the person is asked again": {plan: "a? b c:a,b", info: Info{Workers: 2}, script: `
			start -> a/r1-c0/execute b/r1-c0/execute
			a/r1-c0/execute ok commit=c tree=t -> a/r1-c0/gate
			a/r1-c0/gate ok -> a/r1-c0/ask
			a/r1-c0/ask ok ->
			b/r1-c0/execute ok commit=d tree=u -> b/r1-c0/gate
			b/r1-c0/gate ok -> b/r1-c0/commit
			b/r1-c0/commit ok commit=k -> b/r1-c0/merge
			waiting a/r1-c0/ask
			b/r1-c0/merge ok commit=k -> a/r1-c0/rebase base=k
			waiting
			approve a/r1-c0/ask ->
			a/r1-c0/rebase ok commit=e tree=tu -> a/r1-c1/gate base=k tree=tu
			a/r1-c1/gate ok -> a/r1-c1/ask tree=tu why=the_plan_asks_for_a_person's_approval;_asked_again:_the_run_branch_has_moved,_so_other_code_would_be_merged
			a/r1-c1/ask ok ->
			approve a/r1-c1/ask -> a/r1-c1/commit base=k tree=tu
			a/r1-c1/commit ok commit=l -> a/r1-c1/merge
			a/r1-c1/merge ok commit=l -> c/r1-c0/execute base=l`},
		"who is being merged is not overtaken by a yes": {plan: "a? b", info: Info{Workers: 2}, script: `
			start -> a/r1-c0/execute b/r1-c0/execute
			a/r1-c0/execute ok commit=c tree=t -> a/r1-c0/gate
			b/r1-c0/execute ok commit=d tree=u -> b/r1-c0/gate
			a/r1-c0/gate ok -> a/r1-c0/ask
			a/r1-c0/ask ok ->
			b/r1-c0/gate ok -> b/r1-c0/commit
			approve a/r1-c0/ask ->
			b/r1-c0/commit failed reason=hook -> a/r1-c0/commit b/r2-c0/execute
			a/r1-c0/commit ok commit=k -> a/r1-c0/merge`},
		"no batch starts on a candidate that waits for approval": {plan: "a? b:a*", info: Info{Workers: 2, Speculate: true}, script: `
			start -> a/r1-c0/execute
			a/r1-c0/execute ok commit=c tree=t -> a/r1-c0/gate
			a/r1-c0/gate ok -> a/r1-c0/ask
			a/r1-c0/ask ok ->
			approve a/r1-c0/ask -> a/r1-c0/commit b/r1-c0/execute on=a`},
		"a change by a hook invalidates the approval": {plan: "a?", script: `
			start -> a/r1-c0/execute
			a/r1-c0/execute ok commit=c tree=t -> a/r1-c0/gate
			a/r1-c0/gate ok -> a/r1-c0/ask
			a/r1-c0/ask ok ->
			approve a/r1-c0/ask -> a/r1-c0/commit
			a/r1-c0/commit changed commit=d tree=u -> a/r1-c1/gate tree=u
			a/r1-c1/gate ok -> a/r1-c1/ask tree=u why=the_plan_asks_for_a_person's_approval;_asked_again:_a_hook_of_the_repository_has_changed_the_files_since`},
	})
}

// A candidate is reviewed once for its changes, and the verdict decides the next step.
func TestReview(t *testing.T) {
	tell(t, map[string]scenario{
		"green": {plan: "a", info: Info{Review: "all", Fidelity: true}, script: `
			start -> a/r1-c0/execute
			a/r1-c0/execute ok commit=c tree=t -> a/r1-c0/gate
			a/r1-c0/gate ok -> a/r1-c0/fidelity
			state a fidelity_review
			a/r1-c0/fidelity skipped -> a/r1-c0/review commit=c tree=t
			state a self_review
			a/r1-c0/review ok -> a/r1-c0/commit`},
		"a small fix goes to edit; if it is found again, the failure is analysed": {plan: "a", info: Info{Review: "all"}, script: `
			start -> a/r1-c0/execute
			a/r1-c0/execute ok commit=c tree=t -> a/r1-c0/gate
			a/r1-c0/gate ok -> a/r1-c0/review
			a/r1-c0/review shallow findings=x -> a/r2-c0/execute after=4
			state a edit
			a/r2-c0/execute ok commit=c tree=t -> a/r2-c0/gate
			a/r2-c0/gate ok -> a/r2-c0/review
			a/r2-c0/review shallow findings=x reason=x ->
			end failed batch 1: stuck: two attempts in a row left the same tree and the same findings; x`},
		"what goes deeper goes to debug": {plan: "a@small", info: Info{Review: "all", Escalate: true}, script: `
			start -> a/r1-c0/execute tier=small
			a/r1-c0/execute ok commit=c tree=t -> a/r1-c0/gate
			a/r1-c0/gate ok -> a/r1-c0/review
			a/r1-c0/review complex findings=x -> a/r2-c0/execute tier=medium`},
		"small fixes end with the attempts": {plan: "a", info: Info{Review: "all", MaxAttempts: 1}, script: `
			start -> a/r1-c0/execute
			a/r1-c0/execute ok commit=c tree=t -> a/r1-c0/gate
			a/r1-c0/gate ok -> a/r1-c0/review
			a/r1-c0/review shallow reason=x ->
			end failed batch 1: x`},
		"each small fix takes an attempt": {plan: "a", info: Info{Review: "all", MaxAttempts: 2}, script: `
			start -> a/r1-c0/execute
			a/r1-c0/execute ok commit=c tree=t -> a/r1-c0/gate
			a/r1-c0/gate ok -> a/r1-c0/review
			a/r1-c0/review shallow findings=x -> a/r2-c0/execute after=4
			a/r2-c0/execute ok commit=d tree=u -> a/r2-c0/gate
			a/r2-c0/gate ok -> a/r2-c0/review
			a/r2-c0/review shallow findings=y reason=y ->
			end failed batch 1: y`},
		"what a review is not sure of is for a person": {plan: "a", info: Info{Review: "programs"}, script: `
			start -> a/r1-c0/execute
			a/r1-c0/execute ok commit=c tree=t -> a/r1-c0/gate
			a/r1-c0/gate ok -> a/r1-c0/review
			a/r1-c0/review undecided reason=45% -> a/r1-c0/ask why=the_review_leaves_it_to_a_person:_45%
			a/r1-c0/ask ok ->
			approve a/r1-c0/ask -> a/r1-c0/commit`},
		"what the gates leave to a person is asked": {plan: "a", script: `
			start -> a/r1-c0/execute
			a/r1-c0/execute ok commit=c tree=t -> a/r1-c0/gate
			a/r1-c0/gate ok asks=TestA -> a/r1-c0/ask why=the_gates_defer_to_a_person:_tests:_TestA
			a/r1-c0/ask ok ->
			approve a/r1-c0/ask -> a/r1-c0/commit`},
		"a review continues while its base moves, and is not repeated": {plan: "a b", info: Info{Review: "all", Workers: 2, Speculate: true}, script: `
			start -> a/r1-c0/execute b/r1-c0/execute
			a/r1-c0/execute ok commit=c tree=t -> a/r1-c0/gate
			b/r1-c0/execute ok commit=d tree=u -> b/r1-c0/rebase base=c
			b/r1-c0/rebase ok commit=e tree=tu -> b/r1-c0/gate base=c
			b/r1-c0/gate ok -> b/r1-c0/review base=c tree=tu
			a/r1-c0/gate failed findings=x -> a/r2-c0/execute
			state b self_review
			b/r1-c0/review ok -> b/r1-c1/gate base=base tree=u
			b/r1-c1/gate ok -> b/r1-c1/commit tree=u`},
		"a reviewer that cannot look stops the run, and is asked again": {plan: "a", info: Info{Review: "all"}, script: `
			start -> a/r1-c0/execute
			a/r1-c0/execute ok commit=c tree=t -> a/r1-c0/gate
			a/r1-c0/gate ok -> a/r1-c0/review
			a/r1-c0/review error reason=garbage ->
			end stopped error
			resume -> a/r1-c0/review`},
	})
}

// The whole run is reviewed before it lands; if the confidence is below the owner's threshold, a person decides.
func TestFinalReview(t *testing.T) {
	merged := `
			start -> a/r1-c0/execute
			a/r1-c0/execute ok commit=c tree=t -> a/r1-c0/gate
			a/r1-c0/gate ok -> a/r1-c0/commit
			a/r1-c0/commit ok commit=k -> a/r1-c0/merge`
	tell(t, map[string]scenario{
		"without a landing it is the last thing": {plan: "a", info: Info{FinalReview: "all"}, script: merged + `
			a/r1-c0/merge ok commit=k -> run/review base=base commit=k
			run/review ok verdict=block sure=40 ->
			end done`},
		"--land needs no signature if the owner set no threshold": {plan: "a", info: Info{FinalReview: "all", Land: "ff"}, script: merged + `
			a/r1-c0/merge ok commit=k -> run/review
			run/review ok verdict=block sure=40 -> run/land commit=k
			run/land ok ->
			end done`},
		"above the bar it lands by itself": {plan: "a", info: Info{FinalReview: "all", Land: "ff", LandBar: 80}, script: merged + `
			a/r1-c0/merge ok commit=k -> run/review
			run/review ok verdict=pass sure=80 -> run/land`},
		"below the bar it asks": {plan: "a", info: Info{FinalReview: "all", Land: "ff", LandBar: 80}, script: merged + `
			a/r1-c0/merge ok commit=k -> run/review
			run/review ok verdict=pass sure=79 -> run/ask commit=k why=the_final_review_says_pass_and_is_79_%_sure;_the_owner's_threshold_is_pass_with_80_%
			run/ask ok ->
			end stopped needs_human
			resume ->
			approve run/ask -> run/land
			run/land ok ->
			end done`},
		"a no leaves the work on the run branch": {plan: "a", info: Info{Land: "ff", LandBar: 80}, script: merged + `
			a/r1-c0/merge ok commit=k -> run/ask why=the_final_review_is_missing;_the_owner's_threshold_is_pass_with_80_%
			run/ask ok ->
			deny run/ask reason=wait ->
			end failed landing: somebody denied it: wait
			resume -> run/ask`},
	})
}

// Approval ids are short, and an abbreviation is accepted if it is unambiguous.
func TestFindApproval(t *testing.T) {
	list := []Approval{{ID: "1f0c2a7b/1", Run: "1f0c2a7b-x"}, {ID: "1f0c2a7b/12", Run: "1f0c2a7b-x"},
		{ID: "20aa00bb/1", Run: "20aa00bb-y"}}
	for id, want := range map[string]string{"1f0c2a7b/1": "1f0c2a7b/1", "1f/12": "1f0c2a7b/12", "20": "20aa00bb/1",
		"/12": "1f0c2a7b/12", "20aa00bb-y/1": "20aa00bb/1"} {
		if got, err := FindApproval(list, id); err != nil || got.ID != want {
			t.Errorf("%s is %s, %v", id, got.ID, err)
		}
	}
	for id, want := range map[string]string{"1f": "1f0c2a7b/1, 1f0c2a7b/12", "/1": "1f0c2a7b/1, 20aa00bb/1",
		"3": `no waiting item has the id "3"; runplan approve lists them`, "": "may be any of"} {
		if _, err := FindApproval(list, id); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", id, err, want)
		}
	}
	a := Approval{Command: "b/r1-c0/ask", Batch: "b", Since: time.Time{}}.of("1f0c2a7b-7a31")
	if a.ID != "1f0c2a7b/b" || a.Run != "1f0c2a7b-7a31" {
		t.Errorf("%+v", a)
	}
}

// The question to a person at a checkpoint includes the text of the checkpoint.
func TestApprovalIncludesCheckpointText(t *testing.T) {
	info := plans(Info{Workers: 1, MaxAttempts: 1}, "a?")
	info.Batches[0].Asks = "open the page"
	m, err := New(info)
	if err != nil {
		t.Fatal(err)
	}
	cmds := m.Start()
	for seq, e := range []Event{{Kind: Executed, Commit: "c", Tree: "t"}, {Kind: Gated}} {
		if len(cmds) != 1 {
			t.Fatalf("%+v", cmds)
		}
		e.Seq, e.Command, e.Batch, e.Outcome = seq+1, cmds[0].ID, "a", OutcomeOK
		cmds = m.Apply(e)
	}
	if len(cmds) != 1 || cmds[0].Kind != Ask || cmds[0].Why != "the plan asks for a person's approval: open the page" {
		t.Errorf("%+v", cmds)
	}
}

// The first answer to a question counts, as in the run; an answer about another tree is none.
func TestFirstAnswerCounts(t *testing.T) {
	a := Approval{Command: "a/r1-c0/ask", Batch: "a", Commit: "c", Tree: "t"}
	other := a
	other.Tree = "u"
	for _, tt := range []struct {
		events []Event
		want   EventKind
	}{
		{nil, ""},
		{[]Event{other.Yes("Ada", ""), {Kind: Note, Command: a.Command, Commit: "c", Tree: "t"}}, ""},
		{[]Event{other.Yes("Ada", ""), a.No("Ada", "no"), a.Yes("Bob", "")}, ApprovalDenied},
	} {
		if got := a.Answer(tt.events); got != tt.want {
			t.Errorf("the answer in %v is %q, want %q", tt.events, got, tt.want)
		}
	}
}
