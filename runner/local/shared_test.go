package local

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/runplan/runplan/runner"
	"github.com/runplan/runplan/runner/journal"
)

// hook writes a hook into the repository of b.
func (b *bench) hook(name string) string {
	b.t.Helper()
	path := filepath.Join(b.Repo.Common, "hooks", name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		b.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"), 0o755); err != nil {
		b.t.Fatal(err)
	}
	return path
}

func (b *bench) shiftOf(batch string) *shift {
	b.t.Helper()
	return b.shift(runner.Command{Batch: batch, Attempt: 1}, b.acquire(batch, b.base), "the agent")
}

func TestHooksAndSettingsAreRestored(t *testing.T) {
	gone := func(t *testing.T, path string) {
		t.Helper()
		if _, err := os.Lstat(path); err == nil {
			t.Errorf("%s is still there", path)
		}
	}
	t.Run("one alone is blamed", func(t *testing.T) {
		b := newBench(t)
		s := b.shiftOf("1")
		b.begin(s, true)
		path := b.hook("pre-commit.d/evil")
		if got := b.end(s); len(got) != 1 || got[0].name != "hooks/pre-commit.d/evil" {
			t.Errorf("blamed for %v", got)
		}
		gone(t, path)
	})
	t.Run("an agent is responsible for its changes before others started", func(t *testing.T) {
		b := newBench(t)
		one, two := b.shiftOf("1"), b.shiftOf("2")
		b.begin(one, true)
		path := b.hook("pre-commit")
		b.begin(two, true)
		gone(t, path)
		if got := b.end(two); len(got) != 0 {
			t.Errorf("the change is attributed to the other batch: %v", got)
		}
		if got := b.end(one); len(got) != 1 {
			t.Errorf("blamed for %v", got)
		}
	})
	t.Run("with several running agents, none is responsible", func(t *testing.T) {
		b := newBench(t)
		one, two := b.shiftOf("1"), b.shiftOf("2")
		b.begin(one, true)
		b.begin(two, true)
		path := b.hook("pre-commit")
		for _, s := range []*shift{one, two} {
			if got := b.end(s); len(got) != 0 {
				t.Errorf("the changes are attributed to %s: %v", s.of, got)
			}
			gone(t, path)
		}
		if all := strings.Join(b.said, "\n"); !strings.Contains(all, "author is unknown and no attempt fails for it") ||
			!strings.Contains(all, "found-git-hooks-pre-commit") {
			t.Errorf("said %q", all)
		}
	})
	t.Run("the user may change it between attempts, not before a commit", func(t *testing.T) {
		b := newBench(t)
		s := b.shiftOf("1")
		b.begin(s, true)
		b.end(s)
		mine := b.hook("pre-push")
		b.begin(s, true)
		b.end(s)
		if _, err := os.Stat(mine); err != nil {
			t.Errorf("the user's hook was removed: %v", err)
		}
		late := b.hook("pre-commit")
		b.begin(s, false)
		gone(t, late)
		b.end(s)
	})
	t.Run("a hook of the repository may change hooks", func(t *testing.T) {
		b := newBench(t)
		s := b.shiftOf("1")
		b.begin(s, false)
		path := b.hook("pre-push")
		b.adopt(s)
		b.begin(s, false)
		b.end(s)
		if _, err := os.Stat(path); err != nil {
			t.Error(err)
		}
	})
	t.Run("settings of the workspace alone", func(t *testing.T) {
		b := newBench(t)
		b.git("git config extensions.worktreeConfig true")
		s := b.shiftOf("1")
		b.begin(s, true)
		b.in(b.pool.using("1"), "git config --worktree core.hooksPath evil")
		if got := b.end(s); len(got) != 1 || !strings.HasSuffix(got[0].name, "/config.worktree") {
			t.Errorf("blamed for %v", got)
		}
		gone(t, filepath.Join(b.pool.using("1").GitDir, "config.worktree"))
	})
	t.Run("a file becomes a link, and a link another", func(t *testing.T) {
		b := newBench(t)
		b.git(
			"ln -s ../../mine .git/hooks/pre-push 2>/dev/null || { mkdir -p .git/hooks; ln -s ../../mine .git/hooks/pre-push; }")
		was := b.git("cat .git/config; ls -l .git/hooks/pre-push | cut -d'>' -f2; stat -c %a .git/config")
		s := b.shiftOf("1")
		b.begin(s, true)
		b.git(
			"ln -sf evil .git/hooks/pre-push; mv .git/config .git/other; ln -s other .git/config; git config core.pager evil")
		if got := b.end(s); len(got) != 2 {
			t.Errorf("blamed for %v", got)
		}
		if now := b.git("cat .git/config; ls -l .git/hooks/pre-push | cut -d'>' -f2; stat -c %a .git/config"); now != was {
			t.Errorf("put back to\n%s\nand it was\n%s", now, was)
		}
	})
}

func TestForeignCommitOnRunBranchSurvives(t *testing.T) {
	b := newBench(t)
	run := journal.RunBranch("p")
	b.git("git branch " + run + " && git commit --quiet --allow-empty -m mine")
	mine := b.git("git rev-parse HEAD")
	b.refs.move(run)(b.base)
	for _, c := range []string{mine, mine, ""} {
		if c == "" {
			b.git("git update-ref -d refs/heads/" + run)
		} else {
			b.git("git branch -f " + run + " " + c)
		}
		if err := b.putBack(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := b.git("git rev-parse " + run); got != b.base {
			t.Errorf("the run branch is at %s", got)
		}
		if got := b.git("git rev-parse " + FoundBranch("p", mine)); got != mine {
			t.Errorf("found %s", got)
		}
	}
	if n := len(b.said); n != 2 {
		t.Errorf("said %q", b.said)
	}
	if got := b.git("git for-each-ref refs/heads/runplan | wc -l"); got != "2" {
		t.Errorf("%s branches", got)
	}
}

// An attempt records the state of git before its agent starts. It waits while another worker updates the list of
// running agents, because the list is incomplete until then.
func TestAttemptRecordsGitStateBeforeAgent(t *testing.T) {
	b := newBench(t)
	dir := b.acquire("1", b.base).GitDir
	b.keeper.mu.Lock()
	b.keeper.busy = []*shift{nil}
	done := make(chan map[string]string)
	go func() { done <- b.digests(dir) }()
	time.Sleep(50 * time.Millisecond) // the other goroutine reaches the list
	b.keeper.busy = nil
	b.keeper.mu.Unlock()
	if got := <-done; got["config"] == "" {
		t.Errorf("no digest of the repository's settings: %v", got)
	}
}
