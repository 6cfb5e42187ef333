package local

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/runplan/runplan/internal/git"
	"github.com/runplan/runplan/internal/redact"
	"github.com/runplan/runplan/runner"
	"github.com/runplan/runplan/runner/journal"
	"github.com/runplan/runplan/tools/tooltest"
)

// bench holds a repository, a pool of workspaces and the code that executes commands, without a journal and without
// an agent.
type bench struct {
	*work
	t    *testing.T
	base string
	said []string // notes
}

func newBench(t *testing.T, files ...string) *bench {
	t.Helper()
	dir := t.TempDir()
	env := append(os.Environ(), "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_NOSYSTEM=1", "HOME="+dir,
		"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.org", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.org")
	b := &bench{t: t}
	b.sh(env, dir, "git init --quiet --initial-branch=main")
	for _, f := range append(files, ".gitignore=.runplan\ncache\n") {
		name, text, _ := strings.Cut(f, "=")
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	b.sh(env, dir, "git add --all && git commit --quiet -m start")
	repo, err := git.Open(t.Context(), dir, env)
	if err != nil {
		t.Fatal(err)
	}
	layout := journal.LayoutOf(repo.Root)
	if err := layout.Make(); err != nil {
		t.Fatal(err)
	}
	b.work = &work{
		Config: Config{Repo: repo, Layout: layout, Environ: env, Now: time.Now, Line: func(string, string) {},
			Note: func(s string) { b.said = append(b.said, s) }},
		run: "run", info: runner.Info{Slug: "p", Branch: journal.RunBranch("p"), Workers: 4}, redact: redact.New(nil),
		refs: newRefs(), before: newReports(), proofs: newProofs(),
	}
	b.pool = &Pool{repo: repo, layout: layout, slug: "p", note: b.Note, used: map[string]*Space{}, refs: b.refs}
	if b.base, _, err = repo.Head(t.Context()); err != nil {
		t.Fatal(err)
	}
	return b
}

func (b *bench) sh(env []string, dir, text string) string {
	b.t.Helper()
	c := exec.Command("bash", "-eu", "-c", text)
	c.Dir, c.Env = dir, env
	out, err := c.CombinedOutput()
	if err != nil {
		b.t.Fatalf("%s: %v\n%s", text, err, out)
	}
	return strings.TrimSpace(string(out))
}

// git runs a shell command in the user's checkout.
func (b *bench) git(text string) string { b.t.Helper(); return b.sh(b.Environ, b.Repo.Root, text) }

// in runs a shell command in a workspace.
func (b *bench) in(s *Space, text string) string { b.t.Helper(); return b.sh(b.Environ, s.Dir, text) }

func (b *bench) acquire(batch, base string) *Space {
	b.t.Helper()
	s, err := b.pool.acquire(b.t.Context(), batch, base, "")
	if err != nil {
		b.t.Fatal(err)
	}
	return s
}

// change commits a candidate that writes text to file, on top of base, and returns its commit and tree.
func (b *bench) change(batch, base, file, text string) (commit, tree string) {
	b.t.Helper()
	s := b.acquire(batch, base)
	if err := os.WriteFile(filepath.Join(s.Dir, file), []byte(text), 0o644); err != nil {
		b.t.Fatal(err)
	}
	tree, _, err := s.Stage(b.t.Context(), base, nil)
	if err != nil {
		b.t.Fatal(err)
	}
	if commit, tree, err = b.candidate(b.t.Context(), batch, base, tree); err != nil {
		b.t.Fatal(err)
	}
	return commit, tree
}

func TestPoolReusesIdleWorkspaces(t *testing.T) {
	b := newBench(t)
	one, two := b.acquire("1", b.base), b.acquire("2", b.base)
	if one.Dir == two.Dir {
		t.Fatalf("two batches share %s", one.Dir)
	}
	if three := b.acquire("3", b.base); three.Dir == one.Dir || three.Dir == two.Dir {
		t.Fatalf("batch 3 got %s, in which another batch works", three.Dir)
	}
	b.pool.Rest("2", false)
	b.pool.Rest("1", false)
	if four := b.acquire("4", b.base); four.Dir != two.Dir {
		t.Errorf("batch 4 got %s, and not that of the batch that rests longest, %s", four.Dir, two.Dir)
	}
	// Batch 1 gets its own workspace again, batch 2 a new one.
	if s := b.acquire("1", b.base); s.Dir != one.Dir {
		t.Errorf("batch 1 is in %s and was in %s", s.Dir, one.Dir)
	}
	if s := b.acquire("2", b.base); slices.Contains([]string{one.Dir, two.Dir}, s.Dir) {
		t.Errorf("batch 2 is in %s, in which another batch works", s.Dir)
	}
}

func TestPoolReusesFailedWorkspacesLast(t *testing.T) {
	b := newBench(t)
	failed, other := b.acquire("1", b.base), b.acquire("2", b.base)
	b.pool.Rest("1", true)
	b.pool.Rest("2", false)
	if s := b.acquire("3", b.base); s.Dir != other.Dir {
		t.Errorf("batch 3 got %s, not %s", s.Dir, other.Dir)
	}
	if s := b.acquire("4", b.base); s.Dir != failed.Dir {
		t.Errorf("batch 4 got %s, not %s: there was no other", s.Dir, failed.Dir)
	}
}

func TestPoolRestoresCandidateWithoutWorkspace(t *testing.T) {
	b := newBench(t)
	_, tree := b.change("1", b.base, "x", "one\n")
	was := b.pool.using("1").Dir
	b.pool.Rest("1", false)
	other := b.acquire("2", b.base)
	if other.Dir != was {
		t.Fatal("batch 2 has a workspace of its own")
	}
	s, _, err := b.pool.Restore(t.Context(), "1", b.base, tree)
	if err != nil {
		t.Fatal(err)
	}
	if got := b.in(s, "cat x; git write-tree"); got != "one\n"+tree {
		t.Errorf("restored %q", got)
	}
	if diff := cmp.Diff([]string{"x"}, s.Paths); diff != "" {
		t.Error(diff)
	}
	if _, err := os.Stat(filepath.Join(other.Dir, "x")); err == nil {
		t.Error("batch 2 has a file of batch 1")
	}
}

func TestPoolRetireCleansWorkspace(t *testing.T) {
	b := newBench(t)
	s := b.acquire("1", b.base)
	b.in(s, "echo junk >junk; mkdir cache; echo warm >cache/x; git add junk; git commit --quiet -m junk; echo more >more")
	if err := b.pool.Retire(t.Context(), "1", b.base); err != nil {
		t.Fatal(err)
	}
	if got := b.git(
		"ls -A .runplan/worktrees/p-w1 | tr '\\n' ' '; git for-each-ref --format='%(refname)' refs/heads/runplan; git -C " +
			".runplan/worktrees/p-w1 status --porcelain"); got != ".git .gitignore cache" {
		t.Errorf("left: %q", got)
	}
	if s := b.acquire("2", b.base); s.Dir != b.Layout.Workspace("p", 1) {
		t.Errorf("its workspace is not used again: %s", s.Dir)
	}
}

func TestPoolRemovesUnkeptWorkspaces(t *testing.T) {
	b := newBench(t)
	for _, batch := range []string{"1", "2", "3"} {
		b.acquire(batch, b.base)
	}
	os.RemoveAll(b.Layout.Workspace("p", 1)) // a gap, as an agent may make one
	if err := b.pool.Remove(t.Context(), func(batch string) bool { return batch == "2" }); err != nil {
		t.Fatal(err)
	}
	if got := b.git("ls .runplan/worktrees | tr '\\n' ' '; git worktree list | wc -l"); got != "p-w2 p-w2.json 2" {
		t.Errorf("left: %q", got)
	}
	// Workspaces of another process are recognized by their marker.
	b.pool.used = map[string]*Space{}
	if err := b.pool.Remove(t.Context(), func(string) bool { return false }); err != nil {
		t.Fatal(err)
	}
	if got := b.git("ls .runplan/worktrees; git worktree list | wc -l"); got != "1" {
		t.Errorf("left: %q", got)
	}
}

// A workspace that is about to be detached from its branch is not given to another batch: its agent would work
// without a branch, and its stashes and commits could not be attributed.
func TestPoolSkipsDetachingWorkspace(t *testing.T) {
	b := newBench(t)
	first := b.acquire("1", b.base)
	b.pool.Rest("1", false)
	off := b.pool.Detaching("1", b.base)
	second := b.acquire("2", b.base)
	if len(off) != 1 || second.Dir == first.Dir {
		t.Fatalf("%v; batch 2 got %s, of which HEAD is about to be moved", off, second.Dir)
	}
	b.pool.Rest("1", false)
	if third := b.acquire("3", b.base); third.Dir != first.Dir {
		t.Errorf("batch 3 got %s and not the free workspace %s", third.Dir, first.Dir)
	}
}

func TestPoolConcurrentAcquire(t *testing.T) {
	b := newBench(t)
	var mu sync.Mutex
	busy := map[string]string{}
	var wg sync.WaitGroup
	for n := range 4 {
		wg.Go(func() {
			for k := range 4 {
				batch := fmt.Sprint(n*10 + k)
				s, err := b.pool.acquire(context.Background(), batch, b.base, "")
				if err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				if other := busy[s.Dir]; other != "" {
					t.Errorf("%s is given to %s while %s works in it", s.Dir, batch, other)
				}
				busy[s.Dir] = batch
				mu.Unlock()
				if ref, err := s.HeadRef(); err != nil || ref != "refs/heads/"+journal.BatchBranch("p", batch) {
					t.Errorf("batch %s is on %s: %v", batch, ref, err)
				}
				mu.Lock()
				delete(busy, s.Dir)
				mu.Unlock()
				b.pool.Rest(batch, false)
			}
		})
	}
	wg.Wait()
	if dirs, err := b.pool.made(); err != nil || len(dirs) > 4 {
		t.Errorf("four hands made %d workspaces: %v", len(dirs), err)
	}
}

func TestPutBackRestoresRunRefs(t *testing.T) {
	b := newBench(t)
	a, c := b.acquire("1", b.base), b.acquire("2", b.base)
	b.in(c,
		"git commit --quiet --allow-empty -m evil; git update-ref refs/heads/runplan/p/b1 HEAD; git branch mine; git "+
			"branch runplan/p/other")
	if err := b.putBack(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, s := range []*Space{a, c} {
		if head, err := s.Head(t.Context()); err != nil || head != b.base {
			t.Errorf("%s is at %s: %v", s.Branch, head, err)
		}
	}
	if got := b.git("git log -1 --format=%s mine"); got != "evil" {
		t.Errorf("a branch that is not the run's was moved to %q", got)
	}
}

// A process can be killed after HEAD is restored and before the agent's branch is deleted; the next inspection
// deletes the branch.
func TestInspectionDeletesAgentBranches(t *testing.T) {
	b := newBench(t)
	s := b.acquire("1", b.base)
	b.in(s, "git checkout --quiet -b earlier; git checkout --quiet -; git branch --quiet -D earlier")
	g, err := b.glance(t.Context(), s, runner.Command{Batch: "1", Base: b.base})
	if err != nil {
		t.Fatal(err)
	}
	b.in(s, "git checkout --quiet -b mine; git commit --quiet --allow-empty -m mine; git symbolic-ref HEAD refs/heads/"+
		s.Branch)
	// An interrupted checkout has created its branch and done nothing else.
	b.git("git checkout --quiet -b half; git checkout --quiet -; grep -v half .git/logs/HEAD > log; mv log .git/logs/HEAD")
	// Branches that the user creates in the meantime are kept, even under a name that an agent used before.
	b.git("git branch earlier; git checkout --quiet -b theirs; git checkout --quiet -; git branch other")
	if why := b.inspect(t.Context(), s, g); why != "" {
		t.Error(why)
	}
	if left := b.git(
		"git for-each-ref --format='%(refname:short)' refs/heads"); left != "earlier\nmain\nother\nrunplan/p/b1\ntheirs" {
		t.Errorf("left: %s", left)
	}
}

// A git process that is killed with its agent leaves the lock of the ref that it was about to move; runplan removes
// the lock.
func TestKilledGitLocksAreRemoved(t *testing.T) {
	tooltest.Slow(t)
	b := newBench(t)
	s := b.acquire("1", b.base)
	b.git("git branch theirs; touch .git/refs/heads/theirs.lock") // somebody else's, from before
	g, err := b.glance(t.Context(), s, runner.Command{Batch: "1", Base: b.base})
	if err != nil {
		t.Fatal(err)
	}
	b.in(s, "git checkout --quiet -b mine")
	b.git(
		"touch .git/refs/heads/mine.lock .git/refs/heads/unborn.lock .git/packed-refs.lock; mkdir -p .git/refs/tags; touch " +
			".git/refs/tags/v1.lock")
	if why := b.lookAfter(t.Context(), s, g); why != "" {
		t.Error(why)
	}
	if left := b.git(
		"git for-each-ref --format='%(refname)' refs/heads/mine; cd .git; find . -name '*.lock'"); left != "./refs/heads/theirs.lock" {
		t.Errorf("left: %s", left)
	}
}

func TestPutBackKeepsRunCommits(t *testing.T) {
	b := newBench(t)
	s := b.acquire("1", b.base)
	to := b.refs.move(s.Branch)
	b.in(s, "git commit --quiet --allow-empty -m ours")
	if err := b.putBack(t.Context()); err != nil {
		t.Fatal(err)
	}
	head, err := s.Head(t.Context())
	if err != nil || head == b.base {
		t.Fatalf("the run's own commit was reverted: %v", err)
	}
	to(head)
	if err := b.putBack(t.Context()); err != nil {
		t.Fatal(err)
	}
	if now, _ := s.Head(t.Context()); now != head {
		t.Error("the run's own commit was reverted afterwards")
	}
}

func TestPutBackDuringConcurrentLanding(t *testing.T) {
	b := newBench(t)
	tip := b.base
	main := "refs/heads/" + b.info.Branch
	if err := b.Repo.UpdateRefs(t.Context(), git.RefUpdate{Ref: main, New: tip}); err != nil {
		t.Fatal(err)
	}
	b.refs.move(b.info.Branch)(tip)
	tree, err := b.Repo.TreeOf(t.Context(), tip)
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	var wg sync.WaitGroup
	for range 2 { // agents are looked after all the time
		wg.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
					if err := b.putBack(context.Background()); err != nil {
						t.Error(err)
						return
					}
				}
			}
		})
	}
	for n := range 15 { // while batches land
		next, err := b.Repo.CommitTree(t.Context(), tree, tip, fmt.Sprint(n))
		if err != nil {
			t.Fatal(err)
		}
		to := b.refs.move(b.info.Branch)
		if err := b.Repo.UpdateRefs(t.Context(), git.RefUpdate{Ref: main, New: next, Old: tip}); err != nil {
			t.Fatalf("landing %d: %v", n, err)
		}
		to(next)
		tip = next
	}
	close(done)
	wg.Wait()
	if now, _ := b.Repo.Resolve(t.Context(), main); now != tip {
		t.Errorf("the run branch is at %s, not at %s", now, tip)
	}
}

func TestRebase(t *testing.T) {
	b := newBench(t, "shared=start\n", "other=start\n")
	one, _ := b.change("1", b.base, "shared", "one\n")
	two, tree := b.change("2", b.base, "other", "two\n")
	e, err := b.Rebase(t.Context(), runner.Command{Batch: "2", Base: one, From: b.base, Commit: two, Tree: tree}, nil)
	if err != nil || e.Outcome != runner.OutcomeOK {
		t.Fatalf("%+v: %v", e, err)
	}
	if got := b.git("git show " + e.Commit + ":shared " + e.Commit + ":other; git rev-parse " + e.Commit + "^ " +
		e.Commit + "^{tree}"); got != "one\ntwo\n"+one+"\n"+e.Tree {
		t.Errorf("rebased: %q", got)
	}
	again, err := b.Rebase(t.Context(), runner.Command{Batch: "2", Base: one, From: b.base, Commit: two, Tree: tree}, nil)
	if err != nil || again.Commit != e.Commit {
		t.Errorf("a second rebase gives another commit: %s and %s: %v", e.Commit, again.Commit, err)
	}
}

func TestRebaseConflict(t *testing.T) {
	b := newBench(t, "shared=start\n")
	one, _ := b.change("1", b.base, "shared", "one\n")
	two, tree := b.change("2", b.base, "shared", "two\n")
	refs := b.git("git for-each-ref")
	e, err := b.Rebase(t.Context(), runner.Command{Batch: "2", Base: one, From: b.base, Commit: two, Tree: tree}, nil)
	if err != nil || e.Outcome != runner.OutcomeConflict || e.Commit != "" {
		t.Fatalf("%+v: %v", e, err)
	}
	if e.Tree != tree || e.Fingerprint == "" {
		t.Error("two conflicts of different candidates cannot be distinguished")
	}
	if !strings.Contains(e.Reason, "shared") || len(e.Reports) != 1 || e.Reports[0].Findings[0].Path != "shared" ||
		e.Reports[0].Findings[0].Rule != "merge/conflict" {
		t.Errorf("the files are not told: %+v", e)
	}
	if now := b.git("git for-each-ref"); now != refs {
		t.Errorf("refs were touched:\n%s\n%s", refs, now)
	}
}

func TestCandidatesSurviveGitGC(t *testing.T) {
	b := newBench(t)
	one, _ := b.change("1", b.base, "x", "one\n")
	two, _ := b.change("2", one, "y", "two\n")
	three, _ := b.change("3", b.base, "z", "three\n")
	for _, batch := range []string{"1", "2", "3"} {
		if err := b.pool.Retire(t.Context(), batch, b.base); err != nil {
			t.Fatal(err)
		}
	}
	b.git("git gc --quiet --prune=now")
	for _, c := range []string{one, two, three} {
		b.git("git cat-file -e " + c + "^{tree}")
	}
}

func TestSingleWorkerSkipsCandidateCommit(t *testing.T) {
	b := newBench(t)
	b.info.Workers, b.info.Speculate = 1, false
	if commit, tree, err := b.candidate(t.Context(), "1", b.base, "tree"); commit != "" || tree != "tree" || err != nil {
		t.Errorf("%q %q %v", commit, tree, err)
	}
}

func TestSweepStashesRemovesAgentStashes(t *testing.T) {
	b := newBench(t)
	s := b.acquire("1", b.base)
	b.git("git commit --quiet --allow-empty -m x; echo mine > mine.txt; git add mine.txt; git stash --quiet")
	b.in(s,
		"echo junk > junk.txt; git add junk.txt; git stash --quiet; echo more > junk.txt; git add junk.txt; git stash push "+
			"--quiet -m note")
	b.sweepStashes(t.Context())
	list, err := b.Repo.Stashes()
	if err != nil || len(list) != 1 || !strings.HasPrefix(list[0].Message, "WIP on main") {
		t.Errorf("left: %v, %v", list, err)
	}
}

func TestTidyStashesReportsOnlyUserStashes(t *testing.T) {
	b := newBench(t, "x=start\n")
	b.git("echo mine >x; git stash push --quiet -m keep")
	one, two := b.acquire("1", b.base), b.acquire("2", b.base)
	b.in(one, "echo one >x; git stash --quiet")
	before, err := b.Repo.Stashes() // as the agent of batch 2 begins
	if err != nil {
		t.Fatal(err)
	}
	b.tidyStashes(t.Context(), one.Branch, before[:1])
	b.tidyStashes(t.Context(), two.Branch, before)
	if len(b.said) != 0 {
		t.Errorf("a change is attributed to batch 2: %q", b.said)
	}
	b.git("git stash drop --quiet")
	b.tidyStashes(t.Context(), two.Branch, before)
	if len(b.said) != 1 || !strings.Contains(b.said[0], "keep") {
		t.Errorf("the user's own stash is gone, or its message is wrong: %q", b.said)
	}
}

func TestGuardAlwaysAdmitsOneAgent(t *testing.T) {
	var notes []string
	available := uint64(1 << 30)
	g := guard{floor: 8 << 30, memory: func() (uint64, error) { return available, nil },
		note: func(s string) { notes = append(notes, s) }}
	never := make(chan struct{})
	leave, err := g.enter(t.Context(), never)
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if g.admit() {
			t.Fatal("a second agent is started without memory for it")
		}
	}
	if len(notes) != 1 || !strings.HasPrefix(notes[0], runner.FallbackNote) || !strings.Contains(notes[0], "1.0 GB") {
		t.Fatalf("told: %q", notes)
	}
	available = 16 << 30
	second, err := g.enter(t.Context(), never)
	if err != nil || len(notes) != 2 {
		t.Fatalf("with enough memory again: %v, notes %q", err, notes)
	}
	available = 0
	if g.admit() {
		t.Fatal("a third agent is started without memory for it")
	}
	second()
	leave()
	if !g.admit() {
		t.Error("no agent runs, but not even one may start")
	}
}

func TestGuardAdmitsOneIfMemoryUnknown(t *testing.T) {
	var notes []string
	g := guard{floor: 1, memory: func() (uint64, error) { return 0, errors.New("no /proc") },
		note: func(s string) { notes = append(notes, s) }}
	if !g.admit() || g.admit() || g.admit() {
		t.Error("with unknown memory, exactly one agent may start")
	}
	if len(notes) != 1 || !strings.Contains(notes[0], "no /proc") {
		t.Errorf("told: %q", notes)
	}
}

func TestGuardStopsWaitingWithRun(t *testing.T) {
	g := guard{floor: 1 << 30, memory: func() (uint64, error) { return 0, nil }, note: func(string) {}}
	if !g.admit() {
		t.Fatal("not even one is let through")
	}
	stopping := make(chan struct{})
	close(stopping)
	if _, err := g.enter(t.Context(), stopping); !errors.Is(err, errStopped) {
		t.Errorf("got %v", err)
	}
}

func TestTakeLockWaitsBriefly(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.lock")
	first, err := TakeLock(path, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := TakeLock(path, time.Now()); !errors.Is(err, ErrLocked) {
		t.Fatalf("got %v", err)
	}
	time.AfterFunc(50*time.Millisecond, first.Release) // as a child does that is only just started
	second, err := TakeLock(path, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	second.Release()
}

// The process that holds a lock is known wherever the repository is, also in a folder whose path looks like a pattern.
func TestOwnersInFolderLikePattern(t *testing.T) {
	for _, name := range []string{"shop", "shop[1]"} {
		l := journal.LayoutOf(filepath.Join(t.TempDir(), name))
		lock, err := TakeLock(l.Lock("a"), time.Now())
		if err != nil {
			t.Fatal(err)
		}
		if got := Owners(l); len(got) != 1 || got[0].PID != os.Getpid() {
			t.Errorf("%s: %v", name, got)
		}
		lock.Release()
	}
}
