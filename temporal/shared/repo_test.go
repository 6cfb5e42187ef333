package shared

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/runplan/runplan/internal/git"
	"github.com/runplan/runplan/internal/proc"
	"github.com/runplan/runplan/runner"
	"github.com/runplan/runplan/runner/journal"
	"github.com/runplan/runplan/runner/local"
)

// team creates a shared repository with two clones of it.
func team(t *testing.T) (one, two *SharedRepo, base string) {
	t.Helper()
	dir := t.TempDir()
	env := []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "GIT_CONFIG_NOSYSTEM=1", "GIT_AUTHOR_NAME=t",
		"GIT_AUTHOR_EMAIL=t@t", "GIT_COMMITTER_NAME=t", "GIT_COMMITTER_EMAIL=t@t"}
	run := func(args ...string) {
		if _, err := proc.Output(t.Context(),
			proc.Cmd{Args: append([]string{"git"}, args...), Dir: dir, Env: env}); err != nil {
			t.Fatal(err)
		}
	}
	run("init", "-q", "--bare", "-b", "main", "origin.git")
	run("init", "-q", "-b", "main", "one")
	run("-C", "one", "commit", "-q", "--allow-empty", "-m", "start")
	run("-C", "one", "remote", "add", "origin", filepath.Join(dir, "origin.git"))
	run("-C", "one", "push", "-q", "origin", "main")
	if err := git.Clone(t.Context(), filepath.Join(dir, "origin.git"), filepath.Join(dir, "two"), env); err != nil {
		t.Fatal(err)
	}
	run("-C", "two", "checkout", "-q", "--detach", "origin/main")
	sharedRepo := func(name string) *SharedRepo {
		repo, err := git.Open(t.Context(), filepath.Join(dir, name), env)
		if err != nil {
			t.Fatal(err)
		}
		l := journal.LayoutOf(repo.Root)
		if err := l.Make(); err != nil {
			t.Fatal(err)
		}
		return &SharedRepo{Repo: repo, Layout: l, Remote: "origin", Prefix: local.EvidencePrefix, Run: "r",
			Branch: journal.RunBranch("p")}
	}
	one, two = sharedRepo("one"), sharedRepo("two")
	base, _, err := one.Repo.Head(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return one, two, base
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// The result of a command is recorded once: a second writer is refused, and its move of the branch is refused too.
func TestSecondResultIsRefused(t *testing.T) {
	one, two, base := team(t)
	ctx := t.Context()
	must(t, one.Offer(ctx, base, map[string][]byte{"plan.md": []byte("# p\n")}))
	must(t, one.Offer(ctx, base, map[string][]byte{"plan.md": []byte("# p\n")})) // once more is nothing new
	must(t, two.Fetch(ctx))
	if tip, err := two.Tip(ctx); err != nil || tip != base {
		t.Fatalf("%s %v", tip, err)
	}
	tree, err := two.Repo.TreeOf(ctx, base)
	must(t, err)
	commit := func(d *SharedRepo, text string) string {
		hash, err := d.Repo.CommitTree(ctx, tree, base, text)
		must(t, err)
		return hash
	}
	first, second := commit(one, "first"), commit(two, "second")
	log := filepath.Join(one.Layout.Attempt("r", "1", 1), "agent.log")
	must(t, os.MkdirAll(filepath.Dir(log), 0o755))
	must(t, os.WriteFile(log, []byte("what it said\n"), 0o644))
	keep := func(d *SharedRepo, to string, files ...string) error {
		e := runner.Event{Outcome: runner.OutcomeOK, Base: base, Commit: to, Tree: tree}
		return d.keep(ctx, 7, Done{Command: "1/r1-c0/merge", Event: e}, files,
			[]Move{{Branch: one.Branch, From: base, To: to}})
	}
	must(t, keep(one, first, one.Layout.Rel(filepath.Dir(log))))
	if err := keep(two, second); err == nil {
		t.Fatal("a second writer was let in")
	}
	must(t, two.Collect(ctx))
	done, ok, err := two.done(ctx, 7)
	if err != nil || !ok || done.Event.Commit != first {
		t.Errorf("%+v %v %v", done, ok, err)
	}
	if tip, _ := two.Tip(ctx); tip != first {
		t.Errorf("the run branch is at %s, not %s", tip, first)
	}
	if text, err := os.ReadFile(filepath.Join(two.Layout.Attempt("r", "1", 1), "agent.log")); err != nil ||
		string(text) != "what it said\n" {
		t.Errorf("%q %v", text, err)
	}
}

// A clone unpacks from other workers' pushes only the logs and reports of the run.
func TestOnlyLogsAndReportsAreUnpacked(t *testing.T) {
	one, two, base := team(t)
	ctx := t.Context()
	must(t, one.Offer(ctx, base, nil))
	for _, name := range []string{"config.toml", "logs/other/x", "reports/r/receipts/1.json"} {
		must(t, os.MkdirAll(filepath.Dir(filepath.Join(one.Layout.Root, name)), 0o755))
		must(t, os.WriteFile(filepath.Join(one.Layout.Root, name), []byte("x"), 0o644))
	}
	must(t, one.keep(ctx, 1, Done{Command: "c", Event: runner.Event{Outcome: runner.OutcomeOK}},
		[]string{"config.toml", "logs/other/x", "reports/r/receipts/1.json"}, nil))
	must(t, two.Collect(ctx))
	if _, err := os.Stat(two.Layout.Receipt("r", "1")); err != nil {
		t.Error(err)
	}
	for _, name := range []string{"config.toml", "logs/other/x"} {
		if _, err := os.Stat(filepath.Join(two.Layout.Root, name)); err == nil {
			t.Errorf("%s was copied too", name)
		}
	}
}

// The address of the shared repository may contain a password, which no message shows.
func TestGitMessagesHidePassword(t *testing.T) {
	one, _, _ := team(t)
	one.Remote = "https://user:s3cr3tPassw0rd9@127.0.0.1:1/x.git"
	err := one.Fetch(context.Background())
	if err == nil || strings.Contains(err.Error(), "s3cr3tPassw0rd9") {
		t.Errorf("%v", err)
	}
}

// A journal that is kept in the shared repository is read back unchanged.
func TestKeptJournalReadsBack(t *testing.T) {
	one, two, base := team(t)
	ctx := t.Context()
	must(t, one.Offer(ctx, base, nil))
	events := []runner.Event{{Seq: 1, Run: "r", Kind: runner.RunStarted, Reason: "a\nb"},
		{Seq: 2, Run: "r", Kind: runner.Note}}
	_, err := one.KeepJournal(ctx, events)
	must(t, err)
	got, err := two.Journal(ctx)
	if err != nil || len(got) != 2 || got[0].Reason != events[0].Reason {
		t.Errorf("%+v %v", got, err)
	}
}
