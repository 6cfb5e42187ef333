package shared

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/runplan/runplan/runner"
	"github.com/runplan/runplan/runner/journal"
	"github.com/runplan/runplan/runner/local"
)

// offered adds a run to the shared repository as a client does, with the work of one command on its branch.
func offered(t *testing.T, d *SharedRepo, run, slug, base string) *SharedRepo {
	t.Helper()
	ctx := t.Context()
	r := &SharedRepo{Repo: d.Repo, Layout: d.Layout, Remote: d.Remote, Prefix: d.Prefix, Run: run,
		Branch: journal.RunBranch(slug)}
	about, err := json.Marshal(runner.Info{Slug: slug, Branch: r.Branch, Base: base, BaseBranch: "main"})
	must(t, err)
	must(t, r.Offer(ctx, base, map[string][]byte{OfferedInfo: about}))
	tree, err := r.Repo.TreeOf(ctx, base)
	must(t, err)
	commit, err := r.Repo.CommitTree(ctx, tree, base, "work of "+run)
	must(t, err)
	e := runner.Event{Outcome: runner.OutcomeOK, Base: base, Commit: commit, Tree: tree}
	must(t, r.keep(ctx, 2, Done{Command: "1/r1-c0/merge", Event: e}, nil,
		[]Move{{Branch: r.Branch, From: base, To: commit}}))
	return r
}

// ended stores a journal that records how a run ended.
func ended(t *testing.T, d *SharedRepo, at time.Time, how runner.Outcome) {
	t.Helper()
	_, err := d.KeepJournal(t.Context(),
		[]runner.Event{{Seq: 1, Run: d.Run, Kind: runner.RunStarted, At: at},
			{Seq: 2, Run: d.Run, Kind: runner.RunFinished, Outcome: how, At: at}})
	must(t, err)
}

// Data of runs in the shared repository can be removed when nobody needs it: logs and reports some time after the run
// is done, its branch once it is merged. Data of a run that is active, can be resumed, or is kept by the settings
// stays, with the reason.
func TestGCRemovesUnneededRunData(t *testing.T) {
	one, two, base := team(t)
	ctx := t.Context()
	now := time.Date(2026, 3, 31, 0, 0, 0, 0, time.UTC)
	long, lately := now.AddDate(0, 0, -31), now.AddDate(0, 0, -1)
	ended(t, offered(t, one, "r-old", "old", base), long, runner.OutcomeOK)
	ended(t, offered(t, one, "r-lately", "lately", base), lately, runner.OutcomeOK)
	ended(t, offered(t, one, "r-failed", "failed", base), long, runner.OutcomeFailed)
	offered(t, one, "r-work", "work", base)
	merged := offered(t, one, "r-merged", "merged", base)
	ended(t, merged, lately, runner.OutcomeOK)
	fresh := &SharedRepo{Repo: one.Repo, Layout: one.Layout, Remote: one.Remote, Prefix: one.Prefix, Run: "r-fresh",
		Branch: journal.RunBranch("fresh")}
	about, err := json.Marshal(runner.Info{Slug: "fresh", Branch: fresh.Branch, Base: base, BaseBranch: "main"})
	must(t, err)
	must(t, fresh.Offer(ctx, base, map[string][]byte{OfferedInfo: about})) // nothing is on its branch yet
	must(t, merged.Fetch(ctx))
	tip, err := merged.Tip(ctx)
	must(t, err)
	must(t, one.push(ctx, []Move{{Branch: "main", From: base, To: tip}}))
	must(t, one.push(ctx, []Move{{Branch: "mine", To: tip}})) // no business of ours

	rules := SharedRules{Keep: 30 * 24 * time.Hour, Now: now,
		Live: func(_ context.Context, run string) (bool, error) { return false, nil }}
	list := func(d *SharedRepo) (got []string, all []local.Leftover) {
		t.Helper()
		all, err := d.SharedLeftovers(ctx, rules)
		must(t, err)
		for _, x := range all {
			what := map[bool]string{true: "goes: ", false: "stays: "}[x.Remove]
			got = append(got, what+x.Kind+" "+x.Name+": "+x.Why)
		}
		return got, all
	}
	want := []string{
		"stays: evidence refs/runplan/r-failed/: 3 refs, its run is not finished",
		"stays: evidence refs/runplan/r-fresh/: 1 refs, its run is not finished",
		"stays: evidence refs/runplan/r-lately/: 3 refs, its run is done; kept until 2026-04-29",
		"stays: evidence refs/runplan/r-merged/: 3 refs, its run is done; kept until 2026-04-29",
		"goes: evidence refs/runplan/r-old/: 3 refs, its run was done on 2026-02-28",
		"stays: evidence refs/runplan/r-work/: 2 refs, its run is not finished",
		"stays: shared branch runplan/failed/main: its run is not finished",
		"stays: shared branch runplan/fresh/main: its run is not finished",
		"stays: shared branch runplan/lately/main: not merged into main",
		"goes: shared branch runplan/merged/main: merged into main",
		"stays: shared branch runplan/old/main: not merged into main",
		"stays: shared branch runplan/work/main: its run is not finished",
	}
	got, all := list(two) // another clone than the one that made them
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	old := &SharedRepo{Repo: two.Repo, Layout: two.Layout, Remote: two.Remote, Prefix: two.Prefix, Run: "r-old",
		Branch: journal.RunBranch("old")}
	must(t, old.Fetch(ctx)) // as one that followed the run has it
	before, err := two.remoteRefs(ctx)
	must(t, err)
	for _, x := range all {
		if x.Remove {
			must(t, two.RemoveShared(ctx, x))
		} else if err := two.RemoveShared(ctx, x); err == nil {
			t.Errorf("%s was removed", x.Name)
		}
	}
	after, err := two.remoteRefs(ctx)
	must(t, err)
	for ref := range before {
		gone := strings.HasPrefix(ref, "refs/runplan/r-old/") || ref == "refs/heads/runplan/merged/main"
		if (after[ref] == "") != gone {
			t.Errorf("%s: gone: %v", ref, after[ref] == "")
		}
	}
	if here, err := two.Repo.Run(ctx, "for-each-ref", "refs/runplan/r-old*"); err != nil || here != "" {
		t.Errorf("copies are left: %q %v", here, err)
	}
}

// A clone removes its copies after another clone has removed the originals.
func TestCopiesAreRemovedWithOriginals(t *testing.T) {
	one, two, base := team(t)
	ctx := t.Context()
	at := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	r := offered(t, one, "r", "p", base)
	ended(t, r, at, runner.OutcomeOK)
	theirs := &SharedRepo{Repo: two.Repo, Layout: two.Layout, Remote: two.Remote, Prefix: two.Prefix, Run: "r",
		Branch: r.Branch}
	must(t, theirs.Fetch(ctx))
	rules := SharedRules{Now: at, Live: func(context.Context, string) (bool, error) { return false, nil }}
	remove := func(d *SharedRepo, kind string) {
		t.Helper()
		all, err := d.SharedLeftovers(ctx, rules)
		must(t, err)
		found := false
		for _, x := range all {
			if x.Kind == kind {
				found = true
				must(t, d.RemoveShared(ctx, x))
			}
		}
		if !found {
			t.Fatalf("nothing of kind %s in %+v", kind, all)
		}
	}
	remove(one, LeftEvidence)
	remove(two, LeftEvidenceCopy)
	if here, err := two.Repo.Run(ctx, "for-each-ref", "refs/runplan/"); err != nil || here != "" {
		t.Errorf("%q %v", here, err)
	}
}

// A run that its engine reports as active keeps all of its data, whatever its journal records.
func TestGCKeepsDataOfActiveRun(t *testing.T) {
	one, _, base := team(t)
	at := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	ended(t, offered(t, one, "r", "p", base), at, runner.OutcomeOK)
	all, err := one.SharedLeftovers(t.Context(),
		SharedRules{Now: at.AddDate(1, 0, 0),
			Live: func(_ context.Context, run string) (bool, error) { return run == "r", nil }})
	must(t, err)
	if len(all) != 2 || all[0].Remove {
		t.Errorf("%+v", all)
	}
}

// A branch that another clone has moved in the meantime is not removed.
func TestGCKeepsMovedBranch(t *testing.T) {
	one, two, base := team(t)
	ctx := t.Context()
	must(t, one.push(ctx, []Move{{Branch: "runplan/p/main", To: base}}))
	refs, err := two.remoteRefs(ctx)
	must(t, err)
	tree, err := one.Repo.TreeOf(ctx, base)
	must(t, err)
	commit, err := one.Repo.CommitTree(ctx, tree, base, "more")
	must(t, err)
	must(t, one.push(ctx, []Move{{Branch: "runplan/p/main", From: base, To: commit}}))
	if err := two.removeRefs(ctx, refs, []string{"refs/heads/runplan/p/main"}); err == nil {
		t.Error("a branch was removed that had moved")
	}
	after, err := two.remoteRefs(ctx)
	must(t, err)
	if at := after["refs/heads/runplan/p/main"]; at != commit {
		t.Errorf("the branch is at %q, not at %s", at, commit)
	}
}
