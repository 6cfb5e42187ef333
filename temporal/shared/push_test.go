package shared

import (
	"strings"
	"testing"

	"github.com/runplan/runplan/runner"
)

// A report that no other command needs is pushed with the next push, or by itself if no push follows for a while. If
// another worker has reported that command first, the other reports are still pushed.
func TestNextPushIncludesDeferredReports(t *testing.T) {
	one, two, base := team(t)
	ctx := t.Context()
	must(t, one.Offer(ctx, base, nil))
	report := func(text string) Done {
		return Done{Command: text, Event: runner.Event{Outcome: runner.OutcomeOK, Base: base}}
	}
	has := func(want string) {
		t.Helper()
		out, err := one.git(ctx, "", "ls-remote", one.Remote, one.prefix()+"done/*")
		must(t, err)
		var got []string
		for line := range strings.Lines(out) {
			got = append(got, strings.TrimSpace(line[strings.LastIndexByte(line, '/')+1:]))
		}
		if strings.Join(got, " ") != want {
			t.Errorf("the shared repository has %q, not %q", got, want)
		}
	}
	must(t, one.putOff(ctx, 1, report("a gate"), nil))
	has("")
	must(t, one.keep(ctx, 2, report("a commit"), nil, nil))
	has("1 2")
	must(t, one.settle(ctx))

	must(t, one.putOff(ctx, 3, report("a gate"), nil))
	must(t, one.settle(ctx))
	has("1 2 3")
	if last := one.Latest(); last.Ref != one.doneRef(3) {
		t.Errorf("the last step is %s", last.Ref)
	}

	must(t, one.putOff(ctx, 4, report("a gate, by a host that was frozen"), nil))
	must(t, one.putOff(ctx, 6, report("another gate"), nil))
	must(t, two.keep(ctx, 4, report("a gate, by another"), nil, nil))
	tree, err := one.Repo.TreeOf(ctx, base)
	must(t, err)
	commit, err := one.Repo.CommitTree(ctx, tree, base, "next")
	must(t, err)
	must(t, one.keep(ctx, 5, report("a merge"), nil, []Move{{Branch: one.Branch, From: base, To: commit}}))
	has("1 2 3 4 5")
	must(t, one.settle(ctx))
	has("1 2 3 4 5 6")
	must(t, one.Collect(ctx))
	if done, ok, err := one.done(ctx, 4); err != nil || !ok || done.Command != "a gate, by another" {
		t.Errorf("%+v %v %v", done, ok, err)
	}

	must(t, one.putOff(ctx, 7, report("a gate"), nil))
	one.Remote = "https://127.0.0.1:1/x.git"
	if err := one.settle(ctx); err == nil {
		t.Error("logs were lost without an error")
	}
}

// A worker pushes a result before it reports it only if other workers need it; the logs of a gate that passed can
// wait.
func TestNeededResultsArePushedFirst(t *testing.T) {
	gate := runner.Command{Kind: runner.Gate, Tree: "t"}
	for name, tt := range map[string]struct {
		c    runner.Command
		e    runner.Event
		want bool
	}{
		"a gate that passed": {gate, runner.Event{Outcome: runner.OutcomeOK, Tree: "t"}, false},
		"a gate that failed": {gate, runner.Event{Outcome: runner.OutcomeFailed, Tree: "t"}, true},
		"a candidate that is a tree": {runner.Command{Kind: runner.Execute},
			runner.Event{Outcome: runner.OutcomeOK, Tree: "t"}, true},
		"a candidate that is a commit": {runner.Command{Kind: runner.Rebase, Tree: "t"},
			runner.Event{Outcome: runner.OutcomeOK, Tree: "t", Commit: "c"}, true},
		"a landing with a pull request": {runner.Command{Kind: runner.LandRun},
			runner.Event{Outcome: runner.OutcomeOK}, true},
		"the report on the choice of candidates": {runner.Command{Kind: runner.Sample},
			runner.Event{Outcome: runner.OutcomeOK}, false},
	} {
		if got := builtOn(tt.c, Done{Event: tt.e}); got != tt.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
