package page

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/runplan/runplan/internal/git"
	"github.com/runplan/runplan/runner"
)

// The page shows a limited part of a very large change and says that it is truncated; only a limited number of
// changes is cached.
func TestHugeChangeIsTruncated(t *testing.T) {
	b := newBook(t, team(1))
	dir := t.TempDir()
	g := func(args ...string) string {
		t.Helper()
		cmd := exec.Command("git",
			append([]string{"-C", dir, "-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "core.autocrlf=false"},
				args...)...)
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
		return strings.TrimSpace(string(out))
	}
	g("init", "-q")
	g("commit", "-q", "--allow-empty", "-m", "start")
	base := g("rev-parse", "HEAD")
	if err := os.WriteFile(filepath.Join(dir, "a.txt"), []byte("one\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "data.csv"), []byte(strings.Repeat("1,2,3,4,5,6,7,8,9,10\n", 3_000_000)),
		0o644); err != nil {
		t.Fatal(err)
	}
	g("add", "-A")
	g("commit", "-q", "-m", "data")
	commit := g("rev-parse", "HEAD")
	b.add(
		runner.Event{Kind: runner.Dispatched, Command: "1/r1-c1/execute", Batch: "1", Attempt: 1, Base: base},
		runner.Event{Kind: runner.Executed, Command: "1/r1-c1/execute", Batch: "1", Attempt: 1, Outcome: runner.OutcomeOK,
			Base: base, Commit: commit},
	)
	s := siteOf(t, b)
	repo, err := git.Open(t.Context(), dir, os.Environ())
	if err != nil {
		t.Fatal(err)
	}
	s.Repo = repo
	began := time.Now()
	v, parts, err := s.batchParts(t.Context(), b.run, "1", nil)
	if err != nil {
		t.Fatal(err)
	}
	size := 0
	for _, p := range parts {
		size += len(p.HTML)
	}
	t.Logf("63 MB were changed; the page has %d kB of parts, made in %v", size/1000, time.Since(began))
	if !strings.Contains(v.Diff.Note, "larger than 2 MB") || len(v.Diff.Files) != 2 || v.Diff.Files[0].Added != 1 ||
		len(v.Diff.Files[1].Lines) > maxDiffLines {
		t.Errorf("note %q, %d files", v.Diff.Note, len(v.Diff.Files))
	}
	if size > 1<<20 {
		t.Errorf("the page has %d bytes", size)
	}
	for n := range 3 * keptDiffs {
		s.diffs.Put([2]string{fmt.Sprint(n), commit}, diff{})
	}
	kept := 0
	for n := range 3 * keptDiffs {
		if _, ok := s.diffs.Get([2]string{fmt.Sprint(3*keptDiffs - 1 - n), commit}); ok {
			kept++
		}
	}
	if kept < keptDiffs || kept > 2*keptDiffs+2 {
		t.Errorf("%d changes are kept", kept)
	}
}

// The hub, which all other pages need, is not locked while a change is read.
func TestReadingChangeKeepsHubUnlocked(t *testing.T) {
	b := newBook(t, team(1))
	b.add(
		runner.Event{Kind: runner.Dispatched, Command: "1/r1-c1/execute", Batch: "1", Attempt: 1, Base: "b0"},
		runner.Event{Kind: runner.Executed, Command: "1/r1-c1/execute", Batch: "1", Attempt: 1, Outcome: runner.OutcomeOK,
			Base: "b0", Commit: "c"},
	)
	s := siteOf(t, b)
	real, err := exec.LookPath("git")
	if err != nil {
		t.Fatal(err)
	}
	bin := t.TempDir()
	read := filepath.Join(bin, "done")
	script := fmt.Sprintf("#!/bin/sh\ncase \"$*\" in *--no-textconv*) while [ ! -e %s ]; do sleep 0.1; done;; esac\nexec %s \"$@\"\n",
		read, real)
	if err := os.WriteFile(filepath.Join(bin, "git"), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if out, err := exec.Command("git", "init", "-q", dir).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	environ := append(os.Environ(), "PATH="+bin+string(os.PathListSeparator)+os.Getenv("PATH"))
	if s.Repo, err = git.Open(t.Context(), dir, environ); err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() {
		_, _, err := s.batchParts(t.Context(), b.run, "1", nil)
		done <- err
	}()
	time.Sleep(200 * time.Millisecond)
	free := make(chan struct{})
	go func() { s.hub.find(t.Context(), b.run); close(free) }()
	select {
	case <-free:
	case <-time.After(10 * time.Second):
		t.Error("the hub is blocked")
	}
	if err := os.WriteFile(read, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Fatal(err)
	}
}
